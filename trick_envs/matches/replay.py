"""Replays match records, card by card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import checked_seed
from trick_envs.matches.fixed_deals import read_deals
from trick_envs.matches.match import Match

_NEEDED = {"game": str, "version": int, "num_players": int, "deals": list}
OnPlay = Callable[[Match, int, str], None]  # the match, who is about to name a card, and the card


def replay(record: Mapping[str, Any]) -> Match:
    """Plays a record's deals and actions again, checking each.

    Returns:
        the match as the record leaves it; its ``record()`` equals the given one.

    Raises:
        ValueError: if it is not a record, or an action is illegal or out of turn, or a score is not the one that the
            cards give; names the deal and the play.
    """
    match = start_match(record, record.get("deals") if isinstance(record, Mapping) else None, whole=True)
    for number, deal in enumerate(record["deals"]):
        if match.over:
            raise ValueError(f"deal {number + 1}: the match was over before it")
        play_deal(match, number, deal)
        score = match.deals[number].score
        if score != deal.get("score", score):
            raise ValueError(f"deal {number + 1}: the record says the score is {deal['score']}, the cards say {score}")
    return match


def start_match(record: Any, deals: Any, whole: bool) -> Match:
    """The match of a record before its first card: the whole match, or a match of one deal."""
    if not isinstance(record, Mapping):
        raise ValueError(f"a record: expected a dict such as record() returns, not {type(record).__name__}")
    for key, kind in _NEEDED.items():
        if not isinstance(record.get(key), kind):
            raise ValueError(f"a match record has {key!r}, a {kind.__name__}; found {record.get(key)!r}")
    num_deals = record.get("num_deals") if whole else 1
    game = load_game(record["game"], record["num_players"], num_deals, **record.get("options", {}))
    if record["version"] != game.type.version:
        raise ValueError(f"this is a record of version {record['version']}; the rules here are {game.type.version}")
    seed = record.get("seed")
    return Match(game, 0 if seed is None else checked_seed(seed), read_deals(game, deals, where="deals"))


def play_deal(match: Match, number: int, deal: Mapping[str, Any], on_play: OnPlay | None = None) -> None:
    """Plays the actions of one deal of a record, checking each; ``on_play`` is called before each."""
    before = len(match.deals)
    for play, action in enumerate(deal.get("actions", [])):
        where = f"deal {number + 1}, play {play + 1}"
        if not isinstance(action, (list, tuple)) or len(action) != 2:
            raise ValueError(f"{where}: expected [seat, card], not {action!r}")
        seat, card = action
        acts = int(match.states["seat"][0])
        if match.over or len(match.deals) > before:
            raise ValueError(f"{where}: the deal was over before it")
        if seat != acts:
            raise ValueError(f"{where}: it is player_{acts}'s turn to {match.phase}, not player_{seat}'s")
        try:
            named = match.game.deck.parse(card)
            if on_play is not None:
                on_play(match, seat, card)
            match.step(named)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
