"""What a match record is, as types: ``docs/records.md`` says what each entry means."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Record(TypedDict):
    """A match, as ``record()`` returns it. It may have further entries, which are kept."""

    game: str
    version: int
    num_players: int
    num_deals: int
    options: NotRequired[dict[str, bool]]  # if one of them is not the default
    seed: int
    deals: list[dict[str, Any]]  # dealer, hands and stock as dealt, actions as [seat, card], score by seat or None
    score: list[int]  # by seat, so far
    winners: list[int] | None  # ``None`` while it goes on
    players: NotRequired[list[str]]  # by seat, if who made the record knows
