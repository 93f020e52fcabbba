"""Games by name: ``load_game("pepper", num_players=5)``. ``trick_envs/discovery.py`` finds them."""

from __future__ import annotations

import copyreg
import importlib
from functools import cache
from typing import Any

import numpy as np

from trick_envs.discovery import GAMES, built_in_games, game_names, plug_ins
from trick_envs.engine.declaration import MAX_DEALS
from trick_envs.engine.game import GAMES_BY_NAME, Game, GameType
from trick_envs.errors import InputError, InputTypeError

__all__ = ["game_names", "game_type", "load_game", "load_game_again"]


@cache
def game_type(name: str) -> GameType:
    """The declaration of a game.

    Raises:
        ValueError: if there is no such game; lists the games.
        TypeError: if an installed plug-in is not a game of this name.
    """
    if name not in game_names():
        raise InputError(f"there is no game {name!r}: choose one of {', '.join(game_names())}")
    built_in = name in built_in_games()
    found = importlib.import_module(f"{GAMES}.{name}").GAME if built_in else plug_ins(GAMES)[name].load()
    if not isinstance(found, GameType) or found.name != name:
        raise InputTypeError(f"{name}: expected a GameType with this name, not {found!r}")
    GAMES_BY_NAME[name] = found
    return found


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
    found = game_type(name)
    players = found.default_players if num_players is None else num_players
    if players not in found.players or isinstance(players, bool):
        allowed = " or ".join(map(str, found.players))
        raise InputError(f"num_players: {name} is for {allowed} players, not {num_players!r}")
    if num_deals is not None and (
        isinstance(num_deals, bool) or not isinstance(num_deals, (int, np.integer)) or not 1 <= num_deals <= MAX_DEALS
    ):
        raise InputError(f"num_deals: expected None or a whole number of 1 to {MAX_DEALS:,}, not {num_deals!r}")
    for option, value in options.items():
        if option not in found.options:
            known = ", ".join(found.options) or "none"
            raise InputTypeError(f"{name} has no option {option!r} (its options: {known})")
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{option}: expected True or False, not {value!r}")
    chosen = {option: bool(options.get(option, default)) for option, default in found.options.items()}
    return load_game_again(name, int(players), None if num_deals is None else int(num_deals), tuple(chosen.items()))


@cache
def load_game_again(name: str, num_players: int, num_deals: int | None, options: tuple[tuple[str, bool], ...]) -> Game:
    """``load_game`` of checked arguments, as pickles call it: equal games are the same object."""
    return Game(game_type(name), num_players, num_deals, dict(options))


def _reduce(game: Game) -> tuple[Any, ...]:
    return load_game_again, (game.name, game.num_players, game.num_deals, tuple(game.options.items()))


copyreg.pickle(Game, _reduce)  # here, because only the registry knows how to load a game
