"""Finds games and players, built-in ones and those of installed plug-ins, without importing them.

A plug-in is a package with entry points in the groups ``trick_envs.games`` (a name and a ``GameType``) or
``trick_envs.agents`` (a name and a function ``(game, seed) -> Agent``)::

    [project.entry-points."trick_envs.games"]
    my_game = "my_package.my_game:GAME"
"""

from __future__ import annotations

import pkgutil
import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

GAMES, AGENTS, COMMANDS = "trick_envs.games", "trick_envs.agents", "trick_envs.commands"


@cache
def built_in_games() -> tuple[str, ...]:
    """The names of the built-in games: the folders in ``trick_envs/games``."""
    folder = Path(__file__).parent / "games"
    return tuple(sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if module.ispkg))


@cache
def plug_ins(group: str) -> dict[str, EntryPoint]:
    """The entry points of installed packages in a group, by name; built-in games keep their names.

    Warns of a name that is taken already.
    """
    taken, found = built_in_games() if group == GAMES else (), dict[str, EntryPoint]()
    for point in entry_points(group=group):
        if point.name in taken or found.get(point.name, point) != point:
            warnings.warn(f"{group}: {point.value} is ignored, because {point.name!r} is taken already", stacklevel=2)
        else:
            found[point.name] = point
    return found


@cache
def game_names() -> tuple[str, ...]:
    """The names of all games, in alphabetical order."""
    return tuple(sorted({*built_in_games(), *plug_ins(GAMES)}))


def gymnasium_id(game: str, kind: str = "") -> str:
    """The id of a game in Gymnasium's registry, such as ``trick_envs/Pepper-v0`` or ``trick_envs/Pepper-text-v0``."""
    return f"trick_envs/{''.join(map(str.capitalize, game.split('_')))}{f'-{kind}' if kind else ''}-v0"
