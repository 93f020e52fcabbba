"""What a seat sees of Hearts beside the cards: the game's own part of the observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearts_game.hearts.rules import HeartsState
from trick_envs.engine.compile import rule
from trick_envs.engine.observation import Block, write_by_seat, write_taking

ALL_COSTS = 13 + 13  # the hearts, and the queen of spades


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("cost", num_players, "by seat: what the cards cost that it has taken", ALL_COSTS),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


@rule
def features(state: HeartsState, observer: int, out: Any, at: int) -> int:
    at = write_by_seat(state, state.cost, 1, observer, out, at)
    return write_taking(state, observer, out, at)
