"""What a match record is, as types: ``docs/records.md`` says what each entry means."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class DealRecord(TypedDict):
    """A deal of a record. ``hands`` and ``stock`` are cards as dealt, ``actions`` pairs of seat and card."""

    dealer: int
    hands: list[list[str]]
    stock: list[str]
    actions: list[list[int | str]]
    score: list[int] | None  # by seat; ``None`` while it is being played


class Record(TypedDict):
    """A match, as ``record()`` returns it. It may have further entries, which are kept."""

    game: str
    version: int
    num_players: int
    num_deals: int
    options: NotRequired[dict[str, bool]]  # if one of them is not the default
    seed: int
    deals: list[DealRecord]
    score: list[int]  # by seat, so far
    winners: list[int] | None  # ``None`` while it goes on
    players: NotRequired[list[str]]  # by seat, if who made the record knows
