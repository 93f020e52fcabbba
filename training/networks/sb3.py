"""The network of ``suits.py`` for models of Stable-Baselines3 that are trained by its own algorithms. ::

    from sb3_contrib import MaskablePPO
    from training.networks.sb3 import SuitPolicy, suit_network

    model = MaskablePPO(SuitPolicy, games, policy_kwargs=suit_network(games))

``SuitPolicy`` is for ``MaskablePPO``. The ``policy_kwargs`` also fit ``"MlpPolicy"`` of ``PPO``, ``A2C``, ``DQN`` and
``QRDQN``: the layers are then shared over suits, and a head of SB3's own comes after them.
"""

from __future__ import annotations

from typing import Any

import torch

from training.config import Network
from training.networks.policy import SelfPlayPolicy, network_kwargs
from training.networks.suit_kernels import SparseRows
from trick_envs.engine.game import Game
from trick_envs.errors import InputError, InputTypeError


class SuitPolicy(SelfPlayPolicy):
    """sb3-contrib's masked policy with the network of ``suits.py``, compiled on a CPU; see ``suit_network``."""

    def logits_and_values(self, obs: torch.Tensor | SparseRows, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Masked logits ``(B, A)`` and values ``(B, 1)`` of observations ``(B, D)`` as the games give them.

        Raises:
            ValueError: if they are normalised; the network scales them itself.
        """
        if isinstance(obs, SparseRows):  # read from int8 numbers
            return super().logits_and_values(obs, action_masks)
        numbers = obs.to(torch.int8)
        if not torch.equal(numbers.to(obs.dtype), obs):
            raise InputError(
                "SuitPolicy: expected observations as the games give them, not normalised ones: "
                "VecNormalize(games, norm_obs=False)"
            )
        return super().logits_and_values(numbers, action_masks)


def suit_network(games: Any, width: int = 64, depth: int = 3) -> dict[str, Any]:
    """SB3's ``policy_kwargs`` for the network that shares its weights over suits.

    Args:
        games: what is learned: a ``VecEnv`` of the environments, wrapped or not, or a ``Game``.
        width: of every layer, per suit.
        depth: number of layers.

    Raises:
        TypeError: if ``games`` is neither.
        ValueError: if ``width`` or ``depth`` is not a whole number of 1 or more.
    """
    if isinstance(games, Game):
        game = games
    elif callable(getattr(games, "get_attr", None)):
        game = games.get_attr("game")[0]
    else:
        raise InputTypeError(f"games: expected a VecEnv of trick_envs, or load_game(…), not {games!r}")
    for name, value in (("width", width), ("depth", depth)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name}: expected a whole number of 1 or more, not {value!r}")
    return network_kwargs(game, Network(width=width, depth=depth))
