"""Games by name: ``load_game("pepper", num_players=5)``. ``trick_envs/discovery.py`` finds them."""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np

from trick_envs.discovery import declaration_of, game_names, load_point, version_of
from trick_envs.engine.arguments import is_whole, unknown_argument, whole_number
from trick_envs.engine.declaration import MAX_DEALS, wrong
from trick_envs.engine.game import GAMES_BY_NAME, Game, GameType
from trick_envs.engine.state import MAX_PLAYERS
from trick_envs.errors import InputError, InputTypeError, TrickEnvsError, shown

__all__ = ["all_games", "game_names", "game_type", "load_game", "load_game_again", "load_game_for", "load_game_with"]


def game_type(name: str) -> GameType:
    """The declaration of a game.

    Raises:
        ValueError: if there is no such game, lists the games; if a plug-in cannot be loaded.
        TypeError: if an installed plug-in is not a game of this name.
    """
    if not isinstance(name, str):
        raise _no_game(name)
    return game_type_again(name)


@cache
def game_type_again(name: str) -> GameType:
    """``game_type`` of a word."""
    if (declared := declaration_of(name)) is None:
        raise _no_game(name)
    found = load_point(declared)
    if not isinstance(found, GameType) or found.name != name:
        raise InputTypeError(f"{name}: expected a GameType with this name, not {shown(found)}")
    if found.version != version_of(name):
        raise wrong(found, "version", found.version, "a number written in the module that the entry point names")
    GAMES_BY_NAME[name] = found
    return found


def _no_game(name: object) -> InputError:
    return InputError(f"there is no game {shown(name)}: choose one of {', '.join(game_names())}")


@cache
def all_games() -> tuple[GameType, ...]:
    """The declarations of all games; a plug-in's that cannot be loaded is a warning."""
    found = []
    for name in game_names():
        try:
            found.append(game_type(name))
        except TrickEnvsError as error:
            warnings.warn(f"a game is missing: {error}", stacklevel=2)
    return tuple(found)


def load_game(name: str, num_players: int | None = None, num_deals: int | None = None, **options: Any) -> Game:
    """Loads a game.

    Args:
        name: the game, such as ``"pepper"``.
        num_players: seats, where the rules allow a choice; the default is the game's own.
        num_deals: exact number of deals in a match; ``None`` plays what the original plays or recommends.
        options: the game's own options.

    Raises:
        ValueError: for an unknown game, an unsupported number of players, an invalid ``num_deals``, or an option that
            is neither ``True`` nor ``False``.
        TypeError: for an option that the game does not have.
    """
    return load_game_with(name, num_players, num_deals, options)


def load_game_with(name: str, num_players: int | None, num_deals: int | None, options: Mapping[Any, Any]) -> Game:
    """``load_game`` with options from a file, where they may have any names, such as ``num_players``."""
    found = game_type(name)
    players = found.default_players if num_players is None else num_players
    if not is_whole(players, 1, MAX_PLAYERS) or players not in found.players:
        allowed = " or ".join(map(str, found.players))
        raise InputError(f"num_players: {name} is for {allowed} players, not {shown(num_players)}")
    if num_deals is not None:
        num_deals = whole_number(num_deals, 1, MAX_DEALS, "num_deals", "None or a whole number")
    defaults = found.options
    for option, value in options.items():
        if option not in defaults:
            known = ", ".join(defaults) or "none"
            raise InputTypeError(f"{name} has no option {shown(option)} (its options: {known})")
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{option}: expected True or False, not {shown(value)}")
    chosen = {option: bool(options.get(option, default)) for option, default in defaults.items()}
    return load_game_again(name, int(players), num_deals, tuple(chosen.items()))


def load_game_for(
    caller: str,
    own: Sequence[str],
    game: str,
    num_players: int | None,
    num_deals: int | None,
    options: Mapping[str, Any],
) -> Game:
    """``load_game`` for a caller that passes on what it does not know itself: all but its ``own`` arguments.

    Raises:
        TypeError: in Python's words, for an argument that neither the caller nor the game has. Other libraries look for
            these words, to try again without it.
        ValueError: as ``load_game``.
    """
    of_game = game_type(game).options
    for name in options:
        if name not in of_game:
            raise unknown_argument(caller, name, [*own, *of_game])
    return load_game(game, num_players, num_deals, **options)


@cache
def load_game_again(name: str, num_players: int, num_deals: int | None, options: tuple[tuple[str, bool], ...]) -> Game:
    """``load_game`` of checked arguments, as pickles call it: equal games are the same object."""
    return Game(game_type(name), num_players, num_deals, dict(options))


def _reduce(game: Game) -> tuple[Any, ...]:
    return load_game_again, (game.name, game.num_players, game.num_deals, tuple(game.options.items()))


def _reduce_type(declared: GameType) -> tuple[Any, ...]:
    if GAMES_BY_NAME.get(declared.name) is not declared:
        raise InputTypeError(f"{declared!r} cannot be copied or pickled: expected one that game_type() returns")
    return game_type, (declared.name,)


def arguments_of(function: Callable[..., Any], *less: str) -> dict[str, Parameter]:
    """The arguments of a function or class that have names of their own, but for some."""
    listed = signature(function).parameters
    return {name: each for name, each in listed.items() if each.kind is each.POSITIONAL_OR_KEYWORD and name not in less}


copyreg.pickle(Game, _reduce)  # here, because only the registry knows how to load a game
copyreg.pickle(GameType, _reduce_type)
