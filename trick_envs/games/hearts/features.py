"""Hearts' own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.intrinsics import spill_zeros
from trick_envs.engine.observation import Block, write_by_seat, write_flags, write_taking
from trick_envs.games.hearts.rules import TRICKS, HeartsState, giver, passing_is_done


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    return (
        Block("direction", 4, "where cards are passed, one of: nowhere, left, across, right"),
        Block("passed", 52, "by card: 1 if the observer has passed it", unit="card"),
        Block("received", 52, "by card: 1 if it was passed to the observer", unit="card"),
        Block("hearts", num_players, "by seat: hearts taken", TRICKS),
        Block("queen", num_players, "by seat: 1 if it has taken the queen of spades"),
        Block("jack", num_players, "by seat: 1 if it has taken the jack of diamonds"),
        Block("taken", num_players, "by seat: tricks taken", TRICKS),
        Block("only_points", num_players, "by seat: 1 if it has shown that it holds points alone"),
        Block("broken", 1, "1 if hearts may be led"),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


def hidden_blocks(num_players: int) -> Sequence[Block]:
    """The block that ``hidden_state`` writes."""
    return (Block("passes", num_players * 52, "by seat and card: 1 if it has passed it", unit="card"),)


@rule
def features(state: HeartsState, observer: int, out: Any, at: int) -> int:
    """The pass, what has been taken, and who takes the trick so far."""
    spill_zeros(out, at, 4)
    out[at + state.pass_to] = 1
    at = write_flags(state.gave[observer], state.kinds, out, at + 4)
    received = state.gave[giver(state, observer)] if passing_is_done(state) else 0
    at = write_flags(received, state.kinds, out, at)
    at = write_by_seat(state, state.hearts, 1, observer, out, at)
    at = write_by_seat(state, state.queen, 1, observer, out, at)
    at = write_by_seat(state, state.jack, 1, observer, out, at)
    at = write_by_seat(state, state.taken, 1, observer, out, at)
    at = write_by_seat(state, state.only_points, 1, observer, out, at)
    out[at] = state.broken
    return write_taking(state, observer, out, at + 1)


@rule
def hidden_state(state: HeartsState, out: Any, at: int) -> int:
    """The cards that every seat has passed."""
    for seat in range(state.num_players):
        at = write_flags(state.gave[seat], state.kinds, out, at)
    return at
