"""The random numbers of a game, drawn from the record itself, so that a seed gives the same deals everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from trick_envs.engine.compile import rule
from trick_envs.engine.lowlevel import scale_bits, splitmix

SEED_BITS = 53  # seeds drawn from the stream are exact in JSON


@rule
def seed_rng(state: Any, seed: Any) -> None:
    """Starts the stream of the record at a ``uint64`` seed; neighbouring seeds give unrelated streams."""
    state.seed = seed
    _, state.rng = splitmix(seed)


@rule
def draw(state: Any, count: int) -> int:
    """A random integer of ``0 … count - 1`` from the stream of the record."""
    state.rng, bits = splitmix(state.rng)
    return scale_bits(bits, count)


@rule
def draw_seed(state: Any) -> Any:
    """The seed of the next match, from the stream of this one."""
    state.rng, bits = splitmix(state.rng)
    return bits >> np.uint64(64 - SEED_BITS)


@rule
def draw_from(streams: Any, i: int, count: int) -> int:
    """A random integer of ``0 … count - 1`` from ``streams[i]`` (an array of ``uint64``), apart from any game's own."""
    streams[i], bits = splitmix(streams[i])
    return scale_bits(bits, count)
