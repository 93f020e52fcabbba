"""Trick-taking card games for reinforcement learning::

    from trick_envs import pepper_v0
    env = pepper_v0.env(num_players=5)

Importing the package registers every game, built in or plugged in, with PettingZoo (``trick_envs/pepper-v0``) and with
Gymnasium (``trick_envs/Pepper-v0``, and in words ``trick_envs/Pepper-text-v0``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo

from trick_envs.discovery import game_names, gymnasium_id, version_of

if TYPE_CHECKING:
    from trick_envs.agents import make_agent
    from trick_envs.agents.export import export_policy
    from trick_envs.engine.batch import BatchEnv
    from trick_envs.engine.registry import load_game
    from trick_envs.errors import IllegalAction

__version__ = "1.0.0"
__all__ = ["BatchEnv", "IllegalAction", "__version__", "export_policy", "game_names", "load_game", "make_agent"]

_HOMES = {
    "BatchEnv": "trick_envs.engine.batch",
    "IllegalAction": "trick_envs.errors",
    "export_policy": "trick_envs.agents.export",
    "load_game": "trick_envs.engine.registry",
    "make_agent": "trick_envs.agents",
}


if not TYPE_CHECKING:  # a type checker would find any name in the package

    def __getattr__(name: str) -> Any:
        if name in _HOMES:  # imported on first use: listing environments does not need the compiler
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module 'trick_envs' has no attribute {name!r}")


def _register() -> None:
    """Registers the games that are not registered yet."""
    ids = {game: gymnasium_id(game) for game in game_names()}
    new = [game for game in ids if ids[game] not in gymnasium.registry]
    for game in new:
        gymnasium.register(
            ids[game],
            entry_point="trick_envs.interfaces.gymnasium:SeatEnv",
            vector_entry_point="trick_envs.interfaces.vector:VectorSeatEnv",
            kwargs={"game": game},
        )
        gymnasium.register(
            gymnasium_id(game, "text"), entry_point="trick_envs.interfaces.text:TextEnv", kwargs={"game": game}
        )
    for game in new if hasattr(pettingzoo, "register") else ():  # since PettingZoo 1.27
        pettingzoo.register(
            "aec", f"trick_envs/{game}-v{version_of(game)}", "trick_envs.interfaces.env:make_env", kwargs={"game": game}
        )


_register()
