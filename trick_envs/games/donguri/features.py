"""Donguri's own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.intrinsics import spill_zeros
from trick_envs.engine.observation import Block, write_by_seat
from trick_envs.engine.table import relative
from trick_envs.games.donguri.rules import ACORNS, WILDCATS, DonguriState


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    return (
        Block("captured", num_players, "by seat: points captured in this deal", 100),
        Block("vote", 2, "acorns and wildcats that count in this trick so far", num_players),
        Block("strongest", num_players, "by seat: 1 if its card is the strongest of the trick so far"),
        Block("weakest", num_players, "by seat: 1 if its card is the weakest of the trick so far"),
    )


@rule
def features(state: DonguriState, observer: int, out: Any, at: int) -> int:
    """Captured points, the vote, and the strongest and weakest card of the trick so far."""
    n, running = state.num_players, state.trick_size > 0
    at = write_by_seat(state, state.captured, 1, observer, out, at)
    out[at], out[at + 1] = state.vote[ACORNS] * running, state.vote[WILDCATS] * running
    at += 2
    spill_zeros(out, at, 2 * n)
    out[at + relative(state, state.strongest, observer)] = running
    out[at + n + relative(state, state.weakest, observer)] = running
    return at + 2 * n
