"""Finds games and players, built-in ones and those of installed plug-ins, without importing them.

A plug-in is a package with entry points in the groups ``trick_envs.games`` (a name and a ``GameType``) or
``trick_envs.agents`` (a name and a function ``(game, seed) -> Agent``)::

    [project.entry-points."trick_envs.games"]
    my_game = "my_package.my_game:GAME"
"""

from __future__ import annotations

import ast
import pkgutil
import warnings
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trick_envs.errors import InputError, in_a_line

GAMES, AGENTS, COMMANDS = "trick_envs.games", "trick_envs.agents", "trick_envs.commands"


@cache
def built_in_games() -> tuple[str, ...]:
    """The names of the built-in games: the folders in ``trick_envs/games``."""
    folder = Path(__file__).parent / "games"
    return tuple(sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if module.ispkg))


@cache
def plug_ins(group: str) -> dict[str, EntryPoint]:
    """The entry points of installed packages in a group, by name; built-in games keep their names.

    Warns of a name that is taken already, and of one that no game can have.
    """
    taken, found = built_in_games() if group == GAMES else (), dict[str, EntryPoint]()
    for point in entry_points(group=group):
        why = "is taken already" if point.name in taken or found.get(point.name, point) != point else ""
        if group == GAMES and not is_name(point.name):
            why = "is no lower-case word"
        if why:
            warnings.warn(f"{group}: {point.value} is ignored, because {point.name!r} {why}", stacklevel=2)
        else:
            found[point.name] = point
    return found


def is_name(name: object) -> bool:
    """Whether a game may be called so: ids in registries and names of modules are made of it."""
    return isinstance(name, str) and name.isidentifier() and name == name.lower()


def load_point(point: EntryPoint) -> Any:
    """What an entry point names.

    Raises:
        ValueError: if there is no such thing, or its module raises anything; says what.
    """
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # a module of others may do anything
        told = f"{point.value!r} cannot be loaded: {in_a_line(error)}"
        if point.dist is None and isinstance(error, ModuleNotFoundError) and error.name == point.module.split(".")[0]:
            told += " (for a module in the current folder, set PYTHONPATH=.)"
        raise InputError(told if point.value == point.name else f"{point.name!r}: {told}") from error


def declaration_of(game: str) -> EntryPoint | None:
    """Where a game is declared, built in or in a plug-in; ``None`` if there is no such game."""
    if game in built_in_games():
        return EntryPoint(game, f"{GAMES}.{game}:GAME", GAMES)
    return plug_ins(GAMES).get(game)


@cache
def game_names() -> tuple[str, ...]:
    """The names of all games, in alphabetical order."""
    return tuple(sorted({*built_in_games(), *plug_ins(GAMES)}))


@cache
def version_of(game: str) -> int:
    """The version that a game declares, read from the source of its declaration; 0 if it declares none.

    The games are registered under their versions without being imported.
    """  # nor does a package that is broken break the others: ``load_game`` says what is wrong with it
    if (declared := declaration_of(game)) is None:
        return 0
    module, _, attribute = declared.value.partition(":")
    try:
        statements = ast.parse(_source(module)).body
    except (ImportError, OSError, SyntaxError, ValueError):
        return 0
    for statement in statements:
        targets = [*getattr(statement, "targets", []), getattr(statement, "target", None)]
        call = getattr(statement, "value", None)
        if isinstance(call, ast.Call) and attribute.strip() in [getattr(target, "id", None) for target in targets]:
            for keyword in call.keywords:
                if keyword.arg == "version" and isinstance(found := getattr(keyword.value, "value", None), int):
                    return found
    return 0


def _source(module: str) -> str:
    """The source of a module that is not imported, nor a package that it is in; empty if there is none."""
    first, *rest = module.split(".")
    name, found = first, find_spec(first)
    for part in rest:
        name = f"{name}.{part}"
        found = None if found is None else PathFinder.find_spec(name, found.submodule_search_locations)
    get_source = getattr(found and found.loader, "get_source", None)
    return (get_source(name) if get_source else None) or ""


def gymnasium_id(game: str, kind: str = "") -> str:
    """The id of a game in Gymnasium's registry, such as ``trick_envs/Pepper-v0`` or ``trick_envs/Pepper-text-v0``."""
    title = "".join(map(str.capitalize, game.split("_")))
    return f"trick_envs/{title}{f'-{kind}' if kind else ''}-v{version_of(game)}"
