"""What a seat sees of Slobberhannes beside the cards: the game's own part of the observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slobberhannes_game.slobberhannes.rules import SlobberhannesState
from trick_envs.engine.build import rule
from trick_envs.engine.observation import Block, write_by_seat, write_taking

ALL_COSTS = 3  # the first trick, the last, and the queen of clubs


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("cost", num_players, "by seat: what the tricks cost that it has taken", ALL_COSTS),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


@rule
def features(state: SlobberhannesState, observer: int, out: Any, at: int) -> int:
    at = write_by_seat(state, state.cost, 1, observer, out, at)
    return write_taking(state, observer, out, at)
