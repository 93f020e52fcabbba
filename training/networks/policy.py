"""The policy network."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from training.config import Network
from training.networks.choice import choose
from training.networks.suit_kernels import ROWS, SparseRows, SuitKernels
from training.networks.suits import SuitHead, SuitLayers, ValueHead
from trick_envs.agents.policy import ILLEGAL as ILLEGAL
from trick_envs.engine.game import Game
from trick_envs.engine.observation import scales
from trick_envs.files import replacing

WHOLE = 1 << 16  # rows: whole minibatches of usual sizes
Weights = dict[str, npt.NDArray[Any]]


class SharedLayers(BaseFeaturesExtractor):
    """The layers that policy and value share; the first one scales every observation to about -1 … 1.

    Args:
        observation_space: of the environment.
        divisors: ``(D,)``, by which the observations are divided.
        layers: the widths of the layers.
        activation: after each layer.
    """

    def __init__(
        self, observation_space: spaces.Box, divisors: list[float], layers: list[int], activation: type[torch.nn.Module]
    ) -> None:
        super().__init__(observation_space, layers[-1])
        widths = [len(divisors), *layers]
        self.first = torch.nn.Linear(widths[0], widths[1])
        following = [(torch.nn.Linear(one, other), activation()) for one, other in pairwise(widths[1:])]
        self.others = torch.nn.Sequential(activation(), *(module for pair in following for module in pair))
        self.register_buffer("factors", 1.0 / torch.tensor(divisors, dtype=torch.float32))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Scales the weights instead of the observations, which gives the same and is much faster."""
        scaled = torch.nn.functional.linear(observations, self.first.weight * self.factors, self.first.bias)
        return self.others(scaled)


def network_kwargs(game: Game, network: Network) -> dict[str, Any]:
    """SB3's ``policy_kwargs`` for a network: which one, and its widths.

    Args:
        game: the game it plays.
        network: from the config of a run.
    """
    common = {"optimizer_kwargs": {"fused": True}}
    if network.kind == "suit_equivariant":
        settings = {"game": game.name, "num_players": game.num_players, "width": network.width, "depth": network.depth}
        return {"features_extractor_class": SuitLayers, "features_extractor_kwargs": settings, "net_arch": [], **common}
    function = {"relu": InPlaceReLU, "tanh": torch.nn.Tanh}[network.activation]
    divisors = [float(divisor) for divisor in scales(game.layout)]
    return {
        "features_extractor_class": SharedLayers,
        "features_extractor_kwargs": {"divisors": divisors, "layers": network.shared, "activation": function},
        "net_arch": {"pi": network.policy, "vf": network.value},
        "activation_fn": function,
        **common,
    }


class SelfPlayPolicy(MaskableActorCriticPolicy):
    """sb3-contrib's policy with a faster implementation of the two methods in which training spends its time.

    ``MaskableCategorical`` normalises the logits twice, before and after masking. A softmax of the masked logits is
    the same distribution.

    Attributes:
        precision: of matrix products (``matrix_precision``); set it before training.
    """

    precision: torch.dtype = torch.float32

    @classmethod
    def for_game(cls, game: Game, network: Network) -> SelfPlayPolicy:
        """An untrained policy by itself, without games and without an algorithm."""
        low, high = game.layout.bounds()
        observations, actions = spaces.Box(low, high, dtype=np.float32), spaces.Discrete(game.num_actions)
        return cls(observations, actions, lambda _: 0.0, **network_kwargs(game, network))

    def _build(self, lr_schedule: Any) -> None:
        """With the heads that belong to the features: shared over suits, or SB3's own."""
        self._kernels: SuitKernels | None = None
        super()._build(lr_schedule)
        if not isinstance(self.features_extractor, SuitLayers):
            return
        layers = self.features_extractor
        self.action_net = SuitHead(layers.suits, layers.width, self.action_space.n // layers.suits)
        self.value_net = ValueHead(layers.suits, layers.width)
        self.action_net.apply(partial(self.init_weights, gain=0.01))
        self.value_net.apply(partial(self.init_weights, gain=1))
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
        self._kernels = SuitKernels(layers, self.action_net, self.value_net)

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
        logits = torch.where(masks != 0, logits, ILLEGAL)
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
        chances = torch.softmax(logits, 1)
        entropy = -(chances * log_probs).sum(1)
        return values, log_probs.gather(1, actions.long().reshape(-1, 1)).squeeze(1), entropy

    @property
    def compiled(self) -> SuitKernels | None:
        """The compiled code of this network, if there is any for its device."""
        return self._kernels if self.device.type == "cpu" else None

    def parts_of(self, rows: int, threads: int = 1) -> int:
        """In how many parts so many observations are best learned from: one or more for each thread."""
        at_a_time = WHOLE if self.compiled is None else ROWS
        return min(rows, max(1 if self.compiled is None else threads, -(-rows // at_a_time)))

    def ready(self, obs: torch.Tensor) -> torch.Tensor | SparseRows:
        """Observations, ``(B, D) int8``, as ``logits_and_values`` takes them fastest, if more than once."""
        return obs if self.compiled is None else self.compiled.sparse(obs)

    def logits_and_values(self, obs: torch.Tensor | SparseRows, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Masked logits ``(B, A)`` and values ``(B, 1)`` of observations ``(B, D)``, or of what ``ready`` made of them.

        They are fastest from ``int8`` on a CPU (``suit_kernels.py``).
        """
        compiled = self.compiled
        if compiled is not None and (isinstance(obs, SparseRows) or obs.dtype == torch.int8):
            logits, values = compiled(obs, self.precision)
        else:
            assert isinstance(obs, torch.Tensor)  # without compiled code, ``ready`` returns one
            with torch.autocast(self.device.type, self.precision, enabled=self.precision != torch.float32):
                latent_pi, latent_vf = self.mlp_extractor(self.extract_features(obs.float()))
                logits, values = self.action_net(latent_pi).float(), self.value_net(latent_vf).float()
        if action_masks is not None:
            masks = torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape)
            logits = torch.where(masks != 0, logits, ILLEGAL)
        return logits, values


def matrix_precision(wanted: str, device: torch.device) -> torch.dtype:
    """The type in which matrix products are computed while training: ``bfloat16`` where that is faster.

    Weights, sums and everything else stay ``float32``. A CPU without instructions for ``bfloat16`` would emulate it,
    which is slower.

    Args:
        wanted: ``"float32"``, ``"bfloat16"``, or ``"auto"``: what the device is good at.
        device: where the network is trained.
    """
    if wanted != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[wanted]
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = device.type == "cpu" and torch.cpu._is_avx512_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


class InPlaceReLU(torch.nn.ReLU):
    """A ReLU that allocates no memory."""

    def __init__(self) -> None:
        super().__init__(inplace=True)


def save_model(model: Any, path: Path, notes: Mapping[str, str | bytes] | None = None) -> None:
    """Saves an SB3 model, and files by name in the same ZIP file, which is replaced atomically."""
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            model.save(file)
        with zipfile.ZipFile(temporary, "a") as archive:
            for name, text in (notes or {}).items():
                archive.writestr(name, text)


def weights_of(policy: torch.nn.Module) -> Weights:
    """A copy of a network's weights, by name."""
    return {name: parameter.numpy(force=True).copy() for name, parameter in policy.named_parameters()}


def policy_with_weights(game: Game, network: Network, weights: Weights) -> SelfPlayPolicy:
    """A network with the weights of another, from ``weights_of``."""
    policy = SelfPlayPolicy.for_game(game, network)
    with torch.no_grad():
        for key, parameter in policy.named_parameters():
            parameter.copy_(torch.tensor(weights[key]))
    return policy


class NetworkAgent:
    """A network in this process, as an agent that plays its best action.

    Args:
        policy: the network.
        name: of the agent.
    """

    def __init__(self, policy: Any, name: str = "policy") -> None:
        self._policy, self.name = policy, name

    @classmethod
    def with_weights(cls, game: Game, network: Network, weights: Weights, name: str = "policy") -> NetworkAgent:
        """A network that gets the weights of another, from ``weights_of``."""
        return cls(policy_with_weights(game, network, weights), name)

    def seed(self, seed: int) -> None:
        """It makes no random choices."""

    def evaluate(self, observations: Any, action_masks: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """As ``PolicyAgent.evaluate``: masked logits ``(B, A) float32``, and values ``(B,) float32``."""
        with torch.no_grad():
            inputs = torch.from_numpy(np.ascontiguousarray(observations)).to(self._policy.device)
            logits, values = self._policy.logits_and_values(inputs, np.asarray(action_masks))
            return logits.numpy(force=True), values.squeeze(1).numpy(force=True)

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        """The best legal action for every row."""
        return self.evaluate(observations, action_masks)[0].argmax(1)
