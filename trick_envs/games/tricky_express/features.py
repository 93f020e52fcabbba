"""Tricky Express's own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.intrinsics import spill_zeros
from trick_envs.engine.observation import Block, write_by_seat, write_flags, write_taking
from trick_envs.engine.state import PASS
from trick_envs.engine.table import left
from trick_envs.games.tricky_express.rules import DEALS, EXCHANGED, STATIONS, TrickyExpressState, forced

SLOT = 4 + 13  # a card as one of the suits and one of the ranks


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    card = "as one of 4 suits and one of 13 ranks"
    order = "by exchange, given then got, right then left neighbour"
    since = "stations from its last stop on, 0 if it has none"
    return (
        Block("passing", 4, "what is named now: forced right, forced left, free right, free left; none in play"),
        Block("exchanged", EXCHANGED * SLOT, f"{order}: the card, {card}", unit="suit and rank"),
        Block("line", num_players * STATIONS, "by seat and trick: 1 if it stopped there"),
        Block(
            "passes",
            num_players * 3,
            f"by seat: first and second long pass so far; {since}",
            STATIONS,
        ),
        Block("first_passes", num_players * DEALS, "by seat and deal (match of 4): first long pass", STATIONS - 2),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


def hidden_blocks(num_players: int) -> Sequence[Block]:
    """The block that ``hidden_state`` writes."""
    return (Block("exchanges", num_players * EXCHANGED * SLOT, "by seat: its block exchanged", unit="suit and rank"),)


@rule
def features(state: TrickyExpressState, observer: int, out: Any, at: int) -> int:
    """What is named now, the exchanges, the line, long passes, and who takes the trick so far."""
    spill_zeros(out, at, 4)
    if state.phase == PASS:
        out[at + (0 if forced(state) else 2) + (state.named & 1)] = 1
    at += 4
    at = write_notes(state, observer, out, at)
    at = write_by_seat(state, state.stops, STATIONS, observer, out, at)
    seat = observer
    for _ in range(state.num_players):
        out[at], out[at + 1], out[at + 2] = state.longest[seat], state.second[seat], state.since[seat]
        seat, at = left(state, seat), at + 3
    at = write_by_seat(state, state.first_passes, DEALS, observer, out, at)
    return write_taking(state, observer, out, at)


@rule
def hidden_state(state: TrickyExpressState, out: Any, at: int) -> int:
    """The cards that every seat gave and got."""
    for seat in range(state.num_players):
        at = write_notes(state, seat, out, at)
    return at


@rule
def write_notes(state: TrickyExpressState, seat: int, out: Any, at: int) -> int:
    """Writes the cards that a seat gave and got, each as its suit and its rank; returns where it ends."""
    for i in range(seat * EXCHANGED, (seat + 1) * EXCHANGED, 2):
        flags = state.exchanged[i] | (state.exchanged[i + 1] << SLOT)
        at = write_flags(flags, 2 * SLOT, out, at)
    return at
