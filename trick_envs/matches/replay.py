"""Replays match records, card by card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from trick_envs.engine.arguments import is_whole
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game_with
from trick_envs.engine.rng import checked_seed
from trick_envs.errors import InputError, shown
from trick_envs.matches.events import Play, replayed
from trick_envs.matches.fixed_deals import read_deals
from trick_envs.matches.match import Match
from trick_envs.matches.record import Record

_NEEDED = {"game": str, "version": int, "num_players": int, "deals": list}
_NEEDED_OF_A_DEAL = ("dealer", "hands", "actions", "score")


def replay(record: Mapping[str, Any] | Record) -> Match:
    """Plays a record's deals and actions again, checking each, and everything else that it says.

    Returns:
        the match as the record leaves it; its ``record()`` equals the given one. Keys that no record has, such as
        ``players``, are not checked: they stay in it.

    Raises:
        ValueError: if it is not a record, or lacks a part of one, or an action is illegal or out of turn, or it says
            anything else than the cards do, such as another score or other winners; says where.
    """
    match = start_match(record)
    for _ in plays_in(record, match):
        pass
    return match


def plays_in(record: Mapping[str, Any] | Record, match: Match) -> Iterator[Play]:
    """Plays a record again in its match, from ``start_match``, and yields each play; checks what ``replay`` checks."""
    deals = [_read_played(match.game, deal, f"deal {number}") for number, deal in enumerate(record["deals"], 1)]
    yield from replayed(match, deals)
    found = match.record()
    _check_same(record, found, "the record")
    match.notes = _others(record, {*found, "options"})
    for deal, told, played in zip(match.deals, record["deals"], found["deals"], strict=True):
        deal.notes = _others(told, set(played))


def _read_played(game: Game, deal: Mapping[str, Any], where: str) -> Deal:
    """What was played in a deal of a record."""
    for key in _NEEDED_OF_A_DEAL:
        if key not in deal:
            raise InputError(f"{where}: the deal of a record has {key!r}, and this one has not")
    listed, score, actions = deal["actions"], deal["score"], list[tuple[int, int]]()
    if not isinstance(listed, (list, tuple)):
        raise InputError(f"{where}: expected 'actions', a list of [seat, card], not {shown(listed)}")
    if score is not None and not isinstance(score, list):
        raise InputError(f"{where}: expected 'score', a list of points or None, not {shown(score)}")
    for count, action in enumerate(listed, 1):
        if not isinstance(action, (list, tuple)) or len(action) != 2 or not is_whole(action[0], 0, math.inf):
            raise InputError(f"{where}, play {count}: expected [seat, card], not {shown(action)}")
        try:
            actions.append((action[0], game.deck.parse(action[1])))
        except ValueError as error:
            raise InputError(f"{where}, play {count}: {error}") from None
    return Deal(actions=actions, score=score)


def _check_same(told: object, found: object, where: str) -> None:
    """Checks that a part of a record says what the match says; it may have further keys.

    Raises:
        ValueError: for the first difference; says where.
    """
    if isinstance(found, dict) and isinstance(told, Mapping):
        for key, value in found.items():
            if key not in told:
                raise InputError(f"{where} has no {key!r}: the cards say {value!r}")
            _check_same(told[key], value, f"{where}[{key!r}]")
    elif isinstance(found, list) and isinstance(told, (list, tuple)) and len(found) == len(told):
        for number, (one, other) in enumerate(zip(told, found, strict=True)):
            _check_same(one, other, f"{where}[{number}]")
    elif (
        isinstance(told, (np.ndarray, float, np.floating))  # an array compares number by number, and 1.0 is no 1
        or (isinstance(found, list) and isinstance(told, (list, tuple)))  # of another length; may hold arrays
        or told != found
        or isinstance(told, bool) != isinstance(found, bool)  # nor is true
    ):
        raise InputError(f"{where} says {_short(told)}, but the cards say {_short(found)}")


def _short(value: object) -> str:
    """A value for a message; of a long list only how long it is."""
    return f"a list of {len(value)}" if isinstance(value, list) and len(repr(value)) > 200 else shown(value)


def _others(told: Mapping[str, object], known: Set[str]) -> dict[str, object]:
    return {key: value for key, value in told.items() if key not in known}


def start_match(record: Mapping[str, Any] | Record) -> Match:
    """The match of a record before its first card.

    Raises:
        ValueError: if it is not a record, or its cards cannot be dealt; says why.
    """
    if not isinstance(record, Mapping):
        raise InputError(f"a record: expected a dict such as record() returns, not {type(record).__name__}")
    for key, expected in _NEEDED.items():
        if not isinstance(record.get(key), expected):
            raise InputError(f"a match record has {key!r}, a {expected.__name__}; found {shown(record.get(key))}")
    options, seed = record.get("options", {}), record.get("seed")
    if not isinstance(options, Mapping):
        raise InputError(f"a match record has 'options', a dict; found {shown(options)}")
    game = load_game_with(record["game"], record["num_players"], record.get("num_deals"), options)
    if record["version"] != game.type.version:
        raise InputError(
            f"this is a record of version {shown(record['version'])}; the rules here are {game.type.version}"
        )
    return Match(game, 0 if seed is None else checked_seed(seed), read_deals(game, record["deals"], where="deals"))
