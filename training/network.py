"""Loss and network: what a minibatch of decisions does to the weights. ``self_play.py`` is where they come from.

**The loss** is that of PPO (Schulman et al. 2017), as in Stable-Baselines3::

    -min(ratio * advantage, clip(ratio) * advantage) + vf_coef * (value - return)² - ent_coef * entropy

On a CPU, ``loss_gradients`` computes it and its gradients in one compiled pass that skips illegal actions. For other
devices and networks, ``SelfPlayPPO`` leaves the update to sb3-contrib. ``tests/test_selfplay.py`` compares the two.

**The network** shares its weights over suits. Most games treat all suits alike (``trick_envs/engine/symmetry.py``), so
what a network learns about one suit holds for all. Each suit's numbers go through the same layers, together with the
numbers that belong to no suit and, from layer to layer, with the mean over all suits (deep sets: Zaheer et al. 2017).
The same head gives the logits of each suit's cards. Relabelled observations therefore have relabelled logits and the
same value, but for rounding. In a game that tells suits apart (``suit_symmetric=False``), each suit's numbers say which
one it is.

Here it is as torch has it; ``suit_kernels.py`` computes the same on a CPU, several times faster.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import cache, partial
from itertools import accumulate, pairwise
from math import inf
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from training.suit_kernels import OF_HELD, ROWS, SparseRows, SuitKernels, choose
from trick_envs.agents.policy import ILLEGAL_LOGIT as ILLEGAL_LOGIT
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Layout, scales
from trick_envs.engine.play_log import history_layout
from trick_envs.engine.registry import load_game
from trick_envs.engine.symmetry import by_suit
from trick_envs.errors import InputError, InputTypeError, shown

ADAM_EPS = (
    1e-5  # added to Adam's denominator, as in SB3; the released policies were trained with 1e-8 (docs/methods.md)
)
PRECISIONS = ("auto", "float32", "bfloat16")


# --- the loss -----------------------------------------------------------------------------------------------------

FIGURES = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction")


class LossWeights(NamedTuple):
    """What the loss depends on besides decisions and network, by SB3's names; no clipping is infinite."""

    clip_range: float
    clip_range_vf: float
    vf_coef: float
    ent_coef: float


class Batch(NamedTuple):
    """Decisions, one row each.

    Attributes:
        observations: ``(B, D) int8``.
        masks: ``(B, A) int8``.
        actions: ``(B,) int64``.
        log_probs: ``(B,) float32``: of the actions, when they were chosen.
        values: ``(B,) float32``: the network's, when they were chosen.
        advantages: ``(B,) float32``.
        returns: ``(B,) float32``.
        weights: ``(B,) float32``: how many decisions each stands for, itself among them.
    """

    observations: npt.NDArray[np.int8]
    masks: npt.NDArray[np.int8]
    actions: npt.NDArray[np.int64]
    log_probs: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]
    advantages: npt.NDArray[np.float32]
    returns: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32]


class Moments(NamedTuple):
    """Of a minibatch: how many decisions its rows stand for, and what its advantages are normalised by."""

    samples: float
    mean: float = 0.0
    deviation: float = 1.0


@numba.njit(cache=True)
def moments(advantages: Any, weights: Any, rows: Any) -> Moments:
    """Those of some rows."""
    samples, total, squares = 0.0, 0.0, 0.0
    for row in rows:
        samples += weights[row]
        total += weights[row] * advantages[row]
    mean = total / samples
    for row in rows:
        squares += weights[row] * (advantages[row] - mean) ** 2
    return Moments(samples, mean, np.sqrt(squares / (samples - 1)) + 1e-8)


def gradients_of_loss(
    logits: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
    batch: Batch,
    rows: npt.NDArray[np.int64],
    minibatch: Moments,
    weights: LossWeights,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """The gradients of the loss with respect to what the network says.

    Args:
        logits: ``(R, A)``, not masked.
        values: ``(R, 1)``.
        batch: decisions.
        rows: ``(R,)``: which of them these are.
        minibatch: of which they are a part.
        weights: of the loss.

    Returns:
        the gradients, and ``(5,)``: what these decisions add to the means of ``FIGURES``.
    """
    to_logits, to_values = np.empty_like(logits), np.empty_like(values)
    figures = loss_gradients(logits, values, rows, *batch[1:], *minibatch, *weights, to_logits, to_values)
    return to_logits, to_values, figures


@numba.njit(cache=True, nogil=True)
def loss_gradients(
    logits: Any, values: Any, rows: Any, masks: Any, actions: Any, old_log_probs: Any, old_values: Any,
    advantages: Any, returns: Any, sample_weights: Any, samples: float, mean: float, deviation: float,
    clip_range: float, clip_range_vf: float, vf_coef: float, ent_coef: float, to_logits: Any, to_values: Any,
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Writes the gradients to ``to_logits`` and ``to_values``; returns the sums of the figures.

    Every decision counts by its weight, and everything is divided by ``samples``.
    """
    size = logits.shape[1]
    figures = np.zeros(5)
    legal, probs, log_probs = np.empty(size, np.int64), np.empty(size, np.float32), np.empty(size, np.float32)
    for row, decision in enumerate(rows):
        part, count, highest = sample_weights[decision] / samples, 0, np.float32(-np.inf)
        for action in range(size):
            to_logits[row, action] = 0.0
            if masks[decision, action] != 0:
                legal[count] = action
                count += 1
                highest = max(highest, logits[row, action])
        total = np.float32(0.0)
        for k in range(count):
            log_probs[k] = logits[row, legal[k]] - highest
            probs[k] = np.exp(log_probs[k])
            total += probs[k]
        log_total, log_prob, entropy = np.log(total), np.float32(0.0), 0.0
        for k in range(count):
            log_probs[k] -= log_total
            probs[k] /= total
            entropy -= probs[k] * log_probs[k]
            if legal[k] == actions[decision]:
                log_prob = log_probs[k]
        advantage, log_ratio = (advantages[decision] - mean) / deviation, log_prob - old_log_probs[decision]
        ratio = np.exp(np.float64(log_ratio))  # in one precision, so that within the range both gains are equal
        gain = advantage * ratio
        clipped_gain = advantage * min(max(ratio, 1.0 - clip_range), 1.0 + clip_range)
        gradient = -gain if gain <= clipped_gain else 0.0  # of the policy's loss, by the action's log-probability
        for k in range(count):
            surprise = log_probs[k] + entropy
            to_logits[row, legal[k]] = (ent_coef * probs[k] * surprise - gradient * probs[k]) * part
        to_logits[row, actions[decision]] += gradient * part
        error, moved = values[row, 0] - returns[decision], values[row, 0] - old_values[decision]
        if abs(moved) > clip_range_vf:
            error = old_values[decision] + min(max(moved, -clip_range_vf), clip_range_vf) - returns[decision]
            to_values[row, 0] = 0.0
        else:
            to_values[row, 0] = 2.0 * vf_coef * error * part
        figures[0] -= min(gain, clipped_gain) * part
        figures[1] += error * error * part
        figures[2] -= entropy * part
        figures[3] += (ratio - 1.0 - log_ratio) * part
        figures[4] += (abs(ratio - 1.0) > clip_range) * part
    return figures


# --- the network --------------------------------------------------------------------------------------------------


class CountedCards(torch.nn.Module):
    """What a player counts of every card in the hand: ``OF_HELD`` numbers of 0 to 1, and 0 of all other cards.

    How many cards of its suit are out and higher, and how many lower (neither in this hand nor in the trick nor gone);
    whether none is higher, and none lower; whether it is higher than all cards of its suit in the trick, and there are
    some. They are two layers with fixed weights, each with a ReLU.

    Args:
        inputs: how many numbers of a suit are given; the first are those of the hand.
        gone: where those of gone cards are, as runs of all ranks.
        trick: where those of cards in the trick are, likewise.
        ranks: number of ranks.
        copies: of every card in the deck, the unit of hands and gone cards.

    Attributes:
        gone, trick, copies: as given.
    """

    first: torch.Tensor
    first_bias: torch.Tensor
    second: torch.Tensor
    second_bias: torch.Tensor

    def __init__(self, inputs: int, gone: slice, trick: slice, ranks: int, copies: int) -> None:
        super().__init__()
        self.gone, self.trick, self.copies = gone, trick, copies
        one, none = torch.eye(ranks), torch.zeros(ranks, ranks)
        higher = torch.ones(ranks, ranks).tril(-1)  # whether the row's rank is higher than the column's
        part = 1 / (copies * ranks)
        first = torch.zeros(inputs, 3 * ranks + 1)
        out, there, missing = (slice(i * ranks, (i + 1) * ranks) for i in range(3))  # the last says that none is there
        first[:ranks, out] = first[:ranks, missing] = -copies * one
        first[gone, out] = -copies * one.repeat((gone.stop - gone.start) // ranks, 1)
        first[trick, there] = one.repeat((trick.stop - trick.start) // ranks, 1)
        first[trick, out] = -first[trick, there]
        first[trick, -1] = -1
        rows = (
            (part * higher, part * higher.T, -higher, -higher.T, none),  # of those out
            (none, none, none, none, -higher - one),  # of those in the trick
            OF_HELD * (-1024 * one,),  # of those not in the hand: more than any count
            (*4 * (none[:1],), none[:1] - 1),  # of none in the trick
        )
        for name, buffer in (
            ("first", first.to(torch.int8)),  # whole numbers: a quarter of the size in a policy file
            ("first_bias", torch.tensor([copies * 1.0] * ranks + [0.0] * ranks + [1.0] * (ranks + 1))),
            ("second", torch.cat([torch.cat(row, dim=1) for row in rows])),
            ("second_bias", torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0]).repeat_interleave(ranks)),
        ):
            self.register_buffer(name, buffer, persistent=False)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """``(B, suits, inputs)`` to ``(B, suits, OF_HELD * ranks)``."""
        counted = torch.relu_(numbers @ self.first.to(numbers.dtype) + self.first_bias)
        return torch.relu_(counted @ self.second + self.second_bias)


class SuitColumns(torch.nn.Module):
    """Sorts an observation, ``(B, D)``, into the numbers of each suit, ``(B, suits, C)``, and all others, ``(B, G)``.

    All are scaled to about -1 … 1. The blocks of the game's layout say which numbers belong to which suit. A card that
    is written as one suit and one rank becomes one number per suit and rank: their product.

    Then come the numbers of ``CountedCards``, which a network is slow to learn from the others.

    Args:
        game: the game.
        layout: of the observation; ``None``: that of the position.

    Attributes:
        per_suit: C, how many numbers a suit has.
        others: G, how many belong to none.
        sizes: how many numbers of an observation are a suit's, suits of cards, ranks of cards, and none of these.
        suits: number of suits.
        ranks: number of ranks.
        held_at: where those of ``CountedCards`` begin.
    """

    order: torch.Tensor
    factors: torch.Tensor
    names: torch.Tensor

    def __init__(self, game: Game, layout: Layout | None = None) -> None:
        super().__init__()
        layout = layout or game.layout
        suits, ranks = len(game.deck.suits), len(game.deck.ranks)
        own: list[np.ndarray] = []  # each (suits, numbers): positions in the observation
        flags: list[np.ndarray] = []  # each (suits, cards): those of cards that are written as suit and rank
        rank_flags: list[np.ndarray] = []  # each (cards * ranks)
        others: list[np.ndarray] = []
        gone = 0
        for block, where in zip(layout, layout.slices().values(), strict=True):
            places = by_suit(block, game.deck)
            if places is None:
                others.append(np.arange(where.start, where.stop))
            elif block.unit == "suit and rank":
                flags.append(where.start + places.reshape(suits, -1))
                written = np.arange(where.start, where.stop).reshape(-1, suits + ranks)
                rank_flags.append(written[:, suits:].reshape(-1))
            else:
                if block.name == "gone":
                    gone = sum(each.shape[1] for each in own)
                own.append(where.start + places.reshape(suits, -1))
        sections = [np.concatenate(each, axis=-1).reshape(-1) for each in (own, flags, rank_flags, others)]
        self.sizes = [len(section) for section in sections]
        self.suits, self.ranks = suits, ranks
        trick, of_seats = self.sizes[0] // suits, game.num_players * ranks
        self.held_at = trick + self.sizes[2]
        self.counted = CountedCards(
            self.held_at, slice(gone, gone + of_seats), slice(trick, trick + of_seats), ranks, game.deck.copies
        )
        self.per_suit = self.held_at + OF_HELD * ranks
        names = torch.zeros(suits, 0) if game.type.suit_symmetric else torch.eye(suits)
        self.register_buffer("names", names, persistent=False)
        self.per_suit += names.shape[1]
        self.others = self.sizes[3]
        order = np.concatenate(sections)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)
        factors = torch.from_numpy(1.0 / scales(layout)[order])
        self.register_buffer("factors", factors, persistent=False)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The suits' numbers and the others."""
        sorted_ = observations.index_select(1, self.order) * self.factors
        ends = accumulate(self.sizes, initial=0)  # slices: in an ONNX file, torch.split makes a sequence
        own, flags, ranks, others = (sorted_[:, begin:end] for begin, end in pairwise(ends))
        suits = self.suits
        cards = flags.reshape(-1, suits, self.sizes[1] // suits, 1) * ranks.reshape(
            -1, 1, self.sizes[1] // suits, self.ranks
        )
        by_suit = torch.cat([own.reshape(-1, suits, self.sizes[0] // suits), cards.flatten(2)], dim=2)
        parts = [by_suit, self.counted(by_suit)]
        if self.names.numel():
            parts.append(self.names.expand(own.shape[0], suits, suits))
        return torch.cat(parts, dim=2), others


class SuitLayers(BaseFeaturesExtractor):
    """The layers that policy and value share; its features are ``(B, suits * width)``.

    Args:
        observation_space: of the environment.
        game: name of the game.
        num_players: seats.
        width: of every layer, per suit.
        depth: number of layers.

    Attributes:
        suits: number of suits.
        width: as given.

    Raises:
        ValueError: if observations have another shape than those of the games, with history or without: compiled code
            would read elsewhere.
    """

    def __init__(self, observation_space: spaces.Box, game: str, num_players: int, width: int, depth: int) -> None:
        loaded = load_game(game, num_players)
        suits = len(loaded.deck.suits)
        super().__init__(observation_space, suits * width)
        self.suits, self.width = suits, width
        sizes = {(layout.size,): layout for layout in (loaded.layout, history_layout(loaded))}
        if observation_space.shape not in sizes:
            raise InputError(
                f"suit_network: expected observations as the games of {loaded!r} give them, of shape "
                f"{' or '.join(map(str, sizes))}, not {observation_space.shape}: not stacked, and not in a dict"
            )
        self.columns = SuitColumns(loaded, sizes[observation_space.shape])
        self.first = torch.nn.Linear(self.columns.per_suit, width)
        self.from_others = torch.nn.Linear(self.columns.others, width, bias=False)
        self.own = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth - 1))
        self.from_mean = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False) for _ in range(depth - 1))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        by_suit, others = self.columns(observations)
        hidden = torch.relu_(self.first(by_suit) + self.from_others(others).unsqueeze(1))
        for own, from_mean in zip(self.own, self.from_mean, strict=True):
            hidden = torch.relu_(own(hidden) + from_mean(hidden.mean(1)).unsqueeze(1))
        return hidden.flatten(1)


class SuitHead(torch.nn.Module):
    """Gives every suit's cards their logits: ``(B, suits * width)`` to ``(B, A)``."""

    def __init__(self, suits: int, width: int, ranks: int) -> None:
        super().__init__()
        self._suits, self._width = suits, width
        self.head = torch.nn.Linear(width, ranks)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(features.reshape(-1, self._suits, self._width)).flatten(1)


class ValueHead(torch.nn.Module):
    """The value, from the mean over suits: ``(B, suits * width)`` to ``(B, 1)``."""

    def __init__(self, suits: int, width: int) -> None:
        super().__init__()
        self._suits, self._width = suits, width
        self.layer, self.head = torch.nn.Linear(width, width), torch.nn.Linear(width, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu_(self.layer(features.reshape(-1, self._suits, self._width).mean(1))))


def game_of(games: Any) -> Game | None:
    """What a ``VecEnv`` plays; ``None`` if it is none of ours."""
    with suppress(AttributeError):
        game = games.get_attr("game")[0]
        return game if isinstance(game, Game) else None
    return None


def suit_network(games: Any, width: int = 64, depth: int = 3) -> dict[str, Any]:
    """SB3's ``policy_kwargs`` for the network that shares its weights over suits.

    For ``SuitPolicy``; ``SelfPlayPPO`` needs them only for other widths. They also fit ``"MlpPolicy"`` of ``PPO``,
    ``A2C``, ``DQN`` and ``QRDQN``: the layers are then shared over suits, and a head of SB3's own comes after them.

    Args:
        games: what is learned: a ``VecEnv`` of the environments, wrapped or not, or a ``Game``.
        width: of every layer, per suit.
        depth: number of layers.

    Raises:
        TypeError: if ``games`` is neither.
        ValueError: if ``width`` or ``depth`` is not a whole number of 1 or more.
    """
    game = games if isinstance(games, Game) else game_of(games)
    if game is None:
        raise InputTypeError(f"games: expected a VecEnv of trick_envs, or load_game(…), not {shown(games)}")
    sizes = {name: whole_number(size, 1, inf, name) for name, size in (("width", width), ("depth", depth))}
    settings = {"game": game.name, "num_players": game.num_players, **sizes}
    return {"features_extractor_class": SuitLayers, "features_extractor_kwargs": settings, "net_arch": []}


class SuitPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's masked policy with the network above, compiled on a CPU. ::

        MaskablePPO(SuitPolicy, games, policy_kwargs=suit_network(games))

    ``MaskableCategorical`` normalises the logits twice, before and after masking. A softmax of the masked logits is the
    same distribution.

    Args:
        args, kwargs: as for ``MaskableActorCriticPolicy``, the latter with what ``suit_network`` returns.
        precision: of matrix products, ``"float32"``, ``"bfloat16"``, or ``"auto"``: what the device is good at. All
            else is ``float32``.
        optimizer_class, optimizer_kwargs: SB3's; where nothing else is said, Adam has eps ``ADAM_EPS`` and is fused.

    Raises:
        ValueError: without ``suit_network``, or with a ``net_arch`` besides it.
    """

    def __init__(
        self,
        *args: Any,
        precision: str = "float32",
        optimizer_class: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"precision: expected one of {', '.join(PRECISIONS)}, not {shown(precision)}")
        parameters = inspect.signature(MaskableActorCriticPolicy.__init__).parameters
        for name, value in kwargs.items():
            ignored = name in ("activation_fn", "share_features_extractor") and value != parameters[name].default
            if ignored or name not in parameters:
                raise InputError(
                    f"SuitPolicy: {name} does not fit it: expected policy_kwargs=suit_network(games, width, depth), "
                    "and precision, ortho_init, optimizer_class or optimizer_kwargs"
                )
        layers = kwargs.get("features_extractor_kwargs") or {}
        if kwargs.get("features_extractor_class") is not SuitLayers or kwargs.get("net_arch") or len(layers) < 4:
            raise InputError("SuitPolicy: expected policy_kwargs=suit_network(games), without another net_arch")
        if optimizer_class is torch.optim.Adam:
            optimizer_kwargs = {"eps": ADAM_EPS, "fused": True} | (optimizer_kwargs or {})
        self._precision = precision
        super().__init__(*args, optimizer_class=optimizer_class, optimizer_kwargs=optimizer_kwargs, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "precision": self._precision}

    def _build(self, lr_schedule: Any) -> None:
        """With heads that are shared over suits."""
        super()._build(lr_schedule)
        layers = self.features_extractor
        self.action_net = SuitHead(layers.suits, layers.width, self.action_space.n // layers.suits)
        self.value_net = ValueHead(layers.suits, layers.width)
        if self.ortho_init:
            self.action_net.apply(partial(self.init_weights, gain=0.01))
            self.value_net.apply(partial(self.init_weights, gain=1))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
        as_it_is = type(self).extract_features is SuitPolicy.extract_features  # compiled code does not call it
        self._kernels = SuitKernels(layers, self.action_net, self.value_net) if as_it_is else None

    @classmethod
    def for_game(cls, game: Game, width: int = 64, depth: int = 3, **kwargs: Any) -> SuitPolicy:
        """An untrained policy by itself, without games and without an algorithm."""
        low, high = game.layout.bounds()
        observations, actions = spaces.Box(low, high, dtype=np.float32), spaces.Discrete(game.num_actions)
        return cls(observations, actions, lambda _: 0.0, **suit_network(game, width, depth), **kwargs)

    @property
    def precision(self) -> torch.dtype:
        """Of matrix products, on the device where the network is."""
        return matrix_precision(self._precision, self.value_net.head.weight.device)

    @property
    def compiled(self) -> SuitKernels | None:
        """The compiled code of this network, if there is any for its device."""
        return self._kernels if self.value_net.head.weight.is_cpu else None

    @property
    def compiled_update(self) -> SuitKernels | None:
        """``compiled``, if it knows how this policy learns: in a subclass that says it anew it does not."""
        says = (SuitPolicy.evaluate_actions, SuitPolicy.logits_and_values)
        as_it_is = (type(self).evaluate_actions, type(self).logits_and_values) == says
        compiled, own = self.compiled, set(map(id, self.parameters()))
        return compiled if compiled and as_it_is and own.issuperset(map(id, compiled.weights)) else None

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, values and the actions' log-probabilities."""
        logits, values = self.logits_and_values(obs, None)
        masks = torch.ones_like(logits) if action_masks is None else torch.as_tensor(action_masks)
        masks = masks.to(logits.device).reshape(logits.shape)
        if logits.device.type == "cpu":
            actions, log_probs = torch.empty(len(logits), dtype=torch.int64), torch.empty(len(logits))
            draws = torch.rand(0 if deterministic else len(logits))
            choose(logits.detach().numpy(), masks.numpy(), draws.numpy(), actions.numpy(), log_probs.numpy())
            return actions, values, log_probs
        logits = torch.where(masks != 0, logits, ILLEGAL_LOGIT)
        log_probs = torch.log_softmax(logits, 1)
        if deterministic:
            actions = logits.argmax(1)
        else:  # the Gumbel-max trick: the argmax of logits plus Gumbel noise is a sample from the softmax
            noise = torch.empty_like(logits).exponential_().log_()
            actions = (logits - noise).argmax(1)
        return actions, values, log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values, log-probabilities of the actions, and the entropy of the policy."""
        logits, values = self.logits_and_values(obs, action_masks)
        log_probs = torch.log_softmax(logits, 1)
        entropy = -(log_probs.exp() * log_probs).sum(1)
        return values, log_probs.gather(1, actions.long().reshape(-1, 1)).squeeze(1), entropy

    def parts_of(self, rows: int, threads: int) -> int:
        """In how many parts compiled code best learns from so many observations: one or more for each thread."""
        return min(rows, max(threads, -(-rows // ROWS)))

    def logits_and_values(self, obs: torch.Tensor | SparseRows, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Masked logits ``(B, A)`` and values ``(B, 1)`` of observations ``(B, D)`` as the games give them.

        They are fastest from ``int8`` on a CPU, and from what ``SuitKernels.sparse`` makes of these.

        Raises:
            ValueError: if observations are normalised; the network scales them itself.
        """
        if isinstance(obs, torch.Tensor) and obs.dtype != torch.int8:
            numbers = obs.to(torch.int8)
            if not torch.equal(numbers.to(obs.dtype), obs):
                raise InputError(
                    "SuitPolicy: expected observations as the games give them, not normalised ones: "
                    "VecNormalize(games, norm_obs=False)"
                )
            obs = numbers
        compiled = self.compiled
        if compiled is not None:
            logits, values = compiled(obs, self.precision)
        else:
            assert isinstance(obs, torch.Tensor)  # only compiled code makes something else of it
            with torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32):
                latent_pi, latent_vf = self.mlp_extractor(self.extract_features(obs.float()))
                logits, values = self.action_net(latent_pi).float(), self.value_net(latent_vf).float()
        if action_masks is not None:
            masks = torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape)
            logits = torch.where(masks != 0, logits, ILLEGAL_LOGIT)
        return logits, values


@cache
def matrix_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type in which matrix products are computed while training: ``bfloat16`` where that is faster.

    A CPU without instructions for ``bfloat16`` would emulate it, which is slower.

    Args:
        wanted: one of ``PRECISIONS``.
        device: where the network is.
    """
    if wanted != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[wanted]
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = device.type == "cpu" and torch.cpu._is_avx512_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


class NetworkAgent:
    """The policy of a model of SB3 in this process, as an agent that plays its best action.

    Args:
        policy: the network.
        name: of the agent.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, name: str = "policy") -> None:
        self._policy, self.name = policy, name

    def seed(self, seed: int) -> None:
        """It makes no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        """The best legal action for every row."""
        with torch.no_grad():
            inputs = torch.from_numpy(np.ascontiguousarray(observations)).to(self._policy.device)
            found = self._policy(inputs, deterministic=True, action_masks=np.asarray(action_masks))
            return found[0].numpy(force=True)
