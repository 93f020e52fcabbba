"""Trick-taking card games for reinforcement learning.

    from trick_envs import pepper_v0
    env = pepper_v0.env(num_players=5)

Importing the package registers every ``*_v0`` module with PettingZoo (``trick_envs/pepper-v0``) and with Gymnasium
(``trick_envs/Pepper-v0``).
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from trick_envs.agents import make_agent
    from trick_envs.engine.game import game_names, setup
    from trick_envs.interfaces.batch import BatchEnv

__version__ = "0.1.0"
__all__ = ["BatchEnv", "__version__", "game_names", "make_agent", "setup"]

_HOMES = {
    "BatchEnv": "trick_envs.interfaces.batch",
    "game_names": "trick_envs.engine.game",
    "make_agent": "trick_envs.agents",
    "setup": "trick_envs.engine.game",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:  # loaded when first asked for: the compiler is not needed to list environments
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'trick_envs' has no attribute {name!r}")


def _register() -> None:
    """Registers the games that are not registered yet."""
    games = [name.removesuffix("_v0") for _, name, _ in pkgutil.iter_modules(__path__) if name.endswith("_v0")]
    ids = {game: f"trick_envs/{''.join(map(str.capitalize, game.split('_')))}-v0" for game in games}
    new = [game for game in games if ids[game] not in gymnasium.registry]
    for game in new:
        gymnasium.register(
            ids[game],
            entry_point="trick_envs.interfaces.gymnasium:SeatEnv",
            vector_entry_point="trick_envs.interfaces.vector:VectorSeatEnv",
            kwargs={"game": game},
        )
    try:
        from pettingzoo import register
    except ImportError:  # PettingZoo before 1.27 has no registry
        return
    for game in new:
        register("aec", f"trick_envs/{game}-v0", f"trick_envs.{game}_v0:env")


_register()
