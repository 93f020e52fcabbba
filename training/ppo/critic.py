"""The privileged critic: a value network for training alone, which also sees what is hidden.

PPO needs values only to say how much better a decision turned out than expected. What the seat to act cannot see may
serve there: advantages become less noisy, and the policy still learns from its own observation alone (Suphx; Yang et
al. 2022, "PerfectDou"). So the critic is a network of its own. It sees all other hands and what ``hidden_state`` writes
besides (stock, gifts, passes), and is never part of a policy file; the policy's own value head learns on, from the
critic's returns.

It learns what to add to the value of that head. So it begins with nothing to add, and is never worse than no critic
because it has learned little yet. It is evaluated once per rollout, over all decisions together, is narrower than the
policy, and learns from a part of the decisions, once.
"""

from __future__ import annotations

import io
import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces

from training.config import RunConfig
from training.networks.policy import matrix_precision
from training.networks.suit_kernels import ROWS, SuitKernels
from training.networks.suits import SuitHead, SuitLayers, ValueHead
from trick_envs.engine.cards import cards
from trick_envs.engine.game import Game
from trick_envs.engine.hooks import hidden_state
from trick_envs.engine.intrinsics import SLACK
from trick_envs.engine.observation import Block, Layout, write_cards
from trick_envs.engine.state import States
from trick_envs.engine.table import left

CRITIC = "critic.pt"  # in a checkpoint

WIDTH, DEPTH = 32, 2  # of the network
FRACTION = 0.5  # of the decisions of a rollout, from which it learns
BATCH = 512  # decisions per step
IMPLIED = ("known", "gone", "void")  # blocks of the observation that matter little to who sees all hands

NEXT = 6  # of hidden cards in an order, such as a stock: how many are shown in that order

COPIED, BY_SEAT, IN_ORDER = range(3)  # how a block of ``hidden_state`` is shown


class HiddenView:
    """What the seat to act does not see, in its own view: the other hands and the game's hidden blocks.

    Seats are relative. A hidden block with as many units for each seat is taken to be by seat. Card numbers become
    cards: the first ``NEXT`` of them, one after the other, then how many there are of each.

    Args:
        game: the game.

    Attributes:
        blocks: of the view.
        layout: the view, followed by what the critic sees of the observation.
        columns: ``(S,)``: where in the observation that is.
    """

    def __init__(self, game: Game) -> None:
        n, deck = game.num_players, game.deck
        width = {"card": deck.kinds, "suit": len(deck.suits), "suit and rank": len(deck.suits) + len(deck.ranks)}
        hands = Block("other_hands", (n - 1) * deck.kinds, "by other seat and card: hands", deck.copies, unit="card")
        shown, plan = [hands], []
        for block in game.type.hidden_blocks(n):
            if block.unit == "card number":
                order = Block(f"{block.name}_next", NEXT * deck.kinds, f"{block.meaning}: the next ones", unit="card")
                shown += [order, Block(block.name, deck.kinds, block.meaning, deck.copies, unit="card")]
                plan.append((IN_ORDER, block.length))
            else:
                shown.append(block)
                units = block.length // width.get(block.unit, 1)
                plan.append((BY_SEAT if units % n == 0 else COPIED, block.length))
        self.blocks = Layout(shown)
        kept = [block for block in game.layout if block.name not in IMPLIED]
        where = game.layout.slices()
        self.layout = Layout((*shown, *kept))
        self.columns = np.concatenate([np.arange(where[block.name].start, where[block.name].stop) for block in kept])
        self._game, self._plan = game, np.array(plan, np.int64).reshape(-1, 2)
        written = hands.length + sum(length for _, length in plan)
        self._scratch = np.empty(written + 3 * SLACK + 4096, np.int8)

    @cached_property
    def _write(self) -> Any:
        return self._game.kernels.bind(write_hidden)

    def write(self, states: States, out: npt.NDArray[np.int8]) -> None:
        """Writes the view of the seat to act in every record to ``out``, ``(B, size)``."""
        self._write(states, self._plan, self._scratch, out)


def write_hidden(states: States, plan: Any, scratch: Any, out: Any) -> None:
    """``HiddenView.write``; ``plan`` has a row for every block of ``hidden_state``: how it is shown, and its length."""
    for i in range(states.shape[0]):
        state = states[i]
        players, kinds, begin, other = state.num_players, state.kinds, 0, state.seat
        for _ in range(players - 1):
            other = left(state, other)
            begin = write_cards(state, cards(state.hand[other]), scratch, begin)
        hidden_state(state, scratch, begin)
        view = out[i]
        for k in range(begin):
            view[k] = scratch[k]
        at = begin
        for row in range(plan.shape[0]):
            shown, length = plan[row, 0], plan[row, 1]
            if shown == IN_ORDER:
                for k in range((NEXT + 1) * kinds):
                    view[at + k] = 0
                found = 0
                for k in range(length):
                    if scratch[begin + k] > 0:
                        if found < NEXT:
                            view[at + found * kinds + scratch[begin + k] - 1] = 1
                        view[at + NEXT * kinds + scratch[begin + k] - 1] += 1
                        found += 1
                at += (NEXT + 1) * kinds
            else:
                first = length // players * state.seat if shown == BY_SEAT else 0
                for k in range(length):
                    view[at + k] = scratch[begin + (first + k) % length]
                at += length
            begin += length


class PrivilegedCritic(torch.nn.Module):
    """The critic: its network and its optimizer.

    Args:
        game: the game.
        seed: of its first weights, and of the choice of decisions from which it learns.
        device: where it computes.

    Attributes:
        view: what it sees besides the observation.
        precision: of matrix products, as in ``SelfPlayPolicy``.
    """

    def __init__(self, game: Game, seed: int, device: torch.device) -> None:
        super().__init__()
        self.view, self.precision = HiddenView(game), torch.float32
        self._rng = np.random.default_rng(seed)
        low, high = self.view.layout.bounds()
        with torch.random.fork_rng(devices=[]):  # the policy draws what it draws without a critic
            torch.manual_seed(seed)
            box = spaces.Box(low, high, dtype=np.float32)
            self.layers = SuitLayers(box, game.name, game.num_players, WIDTH, DEPTH, self.view.layout)
            self.value = ValueHead(self.layers.suits, WIDTH)
            no_actions = SuitHead(self.layers.suits, WIDTH, 1).requires_grad_(False)
            for module in self.modules():
                if isinstance(module, torch.nn.Linear):
                    torch.nn.init.orthogonal_(module.weight, 2.0**0.5)
        torch.nn.init.zeros_(self.value.head.weight), torch.nn.init.zeros_(self.value.head.bias)
        self._kernels = SuitKernels(self.layers, no_actions, self.value) if device.type == "cpu" else None
        self.to(device)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3, eps=1e-5, fused=True)

    def forward(self, hidden: npt.NDArray[np.int8], seen: npt.NDArray[np.int8]) -> torch.Tensor:
        """What to add to values, ``(B, 1)``: of what is hidden, ``(B, H)``, and of observations, ``(B, D)``."""
        device = self.value.head.weight.device
        inputs = torch.from_numpy(np.concatenate([hidden, seen[:, self.view.columns]], 1)).to(device)
        if self._kernels is not None:
            return self._kernels(inputs, self.precision)[1]
        with torch.autocast(device.type, self.precision, enabled=self.precision != torch.float32):
            return self.value(self.layers(inputs.float())).float()

    def corrections(self, hidden: npt.NDArray[np.int8], seen: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """What to add to the values of any number of decisions, ``(N,)``."""
        found = np.empty(len(seen), np.float32)
        with torch.no_grad():
            for begin in range(0, len(seen), ROWS):
                part = slice(begin, begin + ROWS)
                found[part] = self(hidden[part], seen[part]).squeeze(1).numpy(force=True)
        return found

    def learn(
        self,
        hidden: npt.NDArray[np.int8],
        seen: npt.NDArray[np.int8],
        errors: npt.NDArray[np.float32],
        rows: npt.NDArray[np.int64],
        learning_rate: float,
        max_grad_norm: float,
    ) -> None:
        """Learns from a part of the decisions of a rollout, by least squares.

        Args:
            hidden: ``(N, H)``.
            seen: ``(N, D)``.
            errors: ``(N,)``: the returns, less the values of the policy's head.
            rows: of the decisions that may be learned from.
            learning_rate: of this pass.
            max_grad_norm: gradients are clipped to this norm.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        chosen = self._rng.choice(rows, max(1, round(FRACTION * len(rows))), replace=False)
        targets = torch.from_numpy(errors).to(self.value.head.weight.device).unsqueeze(1)
        for batch in np.array_split(chosen, max(1, round(len(chosen) / BATCH))):
            self.optimizer.zero_grad()
            found = self(hidden[batch], seen[batch])
            found.backward(2.0 / len(batch) * (found.detach() - targets[batch]))
            torch.nn.utils.clip_grad_norm_(self.parameters(), max_grad_norm)
            self.optimizer.step()

    def saved(self) -> bytes:
        """Everything that it needs to go on."""
        kept = {"weights": self.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save({**kept, "rng": self._rng.bit_generator.state}, buffer := io.BytesIO())
        return buffer.getvalue()

    def load(self, content: bytes) -> None:
        """Goes on from what ``saved`` returned."""
        kept = torch.load(io.BytesIO(content), map_location=self.value.head.weight.device, weights_only=True)
        self.load_state_dict(kept["weights"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self._rng.bit_generator.state = kept["rng"]


def new_critic(config: RunConfig, device: torch.device) -> PrivilegedCritic:
    """An untrained critic for a run."""
    critic = PrivilegedCritic(config.make_game(), config.seed, device)
    critic.precision = matrix_precision(config.precision, device)
    return critic


def load_critic(config: RunConfig, device: torch.device, checkpoint: Path) -> PrivilegedCritic | None:
    """The critic in a checkpoint; ``None``: it has none."""
    with zipfile.ZipFile(checkpoint) as archive:
        if CRITIC not in archive.namelist():
            return None
        content = archive.read(CRITIC)
    critic = new_critic(config, device)
    critic.load(content)
    return critic
