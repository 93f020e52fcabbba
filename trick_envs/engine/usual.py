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


@rule
def hide_own(state: Any, seat: int, old: Any, where: Any, count: int) -> int:
    """For ``resample``: takes away the cards in the game's own hidden places that the seat has not seen: here none.

    Writes each card to ``old`` and a number of its slot, ``num_players`` or more, to ``where``, from index ``count``
    on; returns the new count.
    """
    return count


@rule
def fill_own(state: Any, slot: int, card: int) -> None:
    """For ``resample``: puts a card into a slot that ``hide_own`` has emptied."""


@rule
def settle(state: Any, seat: int, streams: Any, i: int) -> None:
    """For ``resample``: whatever else has to fit the newly drawn world."""


@rule
def plausible(state: Any, seat: int) -> bool:
    """For ``resample``: whether what the seat has seen allows the newly drawn world, voids apart."""
    return True


__all__ = ["fill_own", "hide_own", "match_over", "next_dealer", "plausible", "secrets", "settle", "standing"]
