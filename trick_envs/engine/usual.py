"""What most games share. A rules file that defines a function of the same name replaces it."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.compile import rule
from trick_envs.engine.table import left


@rule
def next_dealer(state: Any) -> int:
    """The deal passes to the left."""
    return left(state, state.dealer)


@rule
def match_over(state: Any) -> bool:
    """A match is a number of deals."""
    return state.deal_number >= state.num_deals


@rule
def standing(state: Any, seat: int) -> int:
    """What decides the match; the highest wins, equals share: the match score."""
    return state.score[seat]


@rule
def secrets(state: Any, out: Any, at: int) -> int:
    """What no hand shows and nobody may know, for ``state()``: nothing here. Returns where it ends."""
    return at


__all__ = ["match_over", "next_dealer", "secrets", "standing"]
