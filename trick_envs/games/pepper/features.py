"""Pepper's own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.observation import Block, write_by_seat, write_taking
from trick_envs.games.pepper.rules import DECKS, PepperState


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    colours, numbers = DECKS[num_players]
    return (
        Block("front", num_players * colours, "by seat and colour: 1 if its pepper lies in front", unit="suit"),
        Block("taken", num_players * colours, "by seat and colour: cards taken, no peppers", numbers - 1, unit="suit"),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


@rule
def features(state: PepperState, observer: int, out: Any, at: int) -> int:
    """Open peppers, cards taken, and who takes the trick so far."""
    at = write_by_seat(state, state.peppers, state.num_suits, observer, out, at)
    at = write_by_seat(state, state.taken, state.num_suits, observer, out, at)
    return write_taking(state, observer, out, at)
