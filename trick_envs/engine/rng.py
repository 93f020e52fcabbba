"""Random numbers: a game's come from its record, a player's from its seed and the position.

They depend on nothing else, so that a seed gives the same deals and the same choices on every interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.build import rule
from trick_envs.engine.intrinsics import GOLDEN, MIX_1, MIX_2, scale_bits, splitmix
from trick_envs.engine.state import State, States, Streams
from trick_envs.errors import InputError, shown

MAX_SEED = 2**64 - 1
SEED_BITS = 53  # seeds drawn from the stream are exact in JSON


@rule
def seed_rng(state: State, seed: np.uint64) -> None:
    """Seeds the stream of the record with a ``uint64``; neighbouring seeds give unrelated streams."""
    state.seed = seed
    _, state.rng = splitmix(seed)


@rule
def draw(state: State, count: int) -> int:
    """A random integer of ``0 … count - 1`` from the stream of the record."""
    state.rng, bits = splitmix(state.rng)
    return scale_bits(bits, count)


@rule
def draw_seed(state: State) -> np.uint64:
    """The seed of the next match, from the stream of this one."""
    state.rng, bits = splitmix(state.rng)
    return bits >> np.uint64(64 - SEED_BITS)


@rule
def draw_from(streams: Streams, i: int, count: int) -> int:
    """A random integer of ``0 … count - 1`` from ``streams[i]`` (an array of ``uint64``), not the record's."""
    streams[i], bits = splitmix(streams[i])
    return scale_bits(bits, count)


@rule
def decision_bits(state: State, seed: np.uint64) -> np.uint64:
    """64 random bits (``uint64``) for the decision of the seat to act, made by a player with this seed (``uint64``).

    They depend on the player's seed, the seed of the match, and the position as the seat knows it, and on nothing else:
    a match is the same however games are batched, and in worlds that look alike to the seat.
    """
    _, bits = splitmix(seed ^ np.uint64(state.seed))
    _, bits = splitmix(bits ^ np.uint64(state.deal_number))
    _, bits = splitmix(bits ^ np.uint64(state.tricks))
    _, bits = splitmix(bits ^ np.uint64(state.trick_size))
    _, bits = splitmix(bits ^ np.uint64(state.phase))
    _, bits = splitmix(bits ^ np.uint64(state.seat))
    _, bits = splitmix(bits ^ np.uint64(state.hand[state.seat, 0]))
    _, bits = splitmix(bits ^ np.uint64(state.hand[state.seat, 1]))
    return bits


def decision_bits_of(states: States, seed: np.uint64) -> npt.NDArray[np.uint64]:
    """``decision_bits`` of every record: ``(B,) uint64``."""
    rows, seats = np.arange(len(states)), states["seat"]
    bits = np.full(len(states), seed, np.uint64)
    for part in (
        *(states[name] for name in ("seed", "deal_number", "tricks", "trick_size", "phase", "seat")),
        *(states["hand"][rows, seats, word] for word in (0, 1)),
    ):
        bits = _mixed(bits ^ part.astype(np.int64).view(np.uint64))
    return bits


def _mixed(states: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The bits of ``splitmix`` in the state given for each."""
    bits = states + np.uint64(GOLDEN)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(MIX_1)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(MIX_2)
    return bits ^ (bits >> np.uint64(31))


# --- seeds from outside -------------------------------------------------------------------------------------------


def checked_seed(seed: Any, bits: int = 64) -> int:
    """A seed as an integer.

    Raises:
        ValueError: if it is not a whole number of so many bits.
    """
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_, np.timedelta64))
    if not whole or not 0 <= int(seed) < 2**bits:
        raise InputError(f"seed: expected a whole number of 0 to 2**{bits} - 1, not {shown(seed)}")
    return int(seed)


def game_seeds(seed: Any, count: int, some: bool = False) -> list[Any]:
    """A seed for each of so many games: ``seed + i``, or the one that is listed for it.

    Args:
        seed: a whole number, or a sequence of them.
        count: how many games.
        some: whether ``None`` may be listed, too.

    Raises:
        ValueError: if they are no seeds, or not so many.
    """
    if isinstance(seed, (int, np.integer)):
        first = checked_seed(seed)
        return [(first + i) % (MAX_SEED + 1) for i in range(count)]
    if not isinstance(seed, (Sequence, np.ndarray)) or isinstance(seed, (str, bytes)) or np.ndim(seed) != 1:
        raise InputError(f"seed: expected a whole number, or one for each of {count} games, not {shown(seed)}")
    if len(seed) != count:
        raise InputError(f"seed: expected {count} seeds, one per game, not {len(seed)}")
    return [None if one is None and some else checked_seed(one) for one in seed]


def fresh_seed() -> int:
    """A seed from the system's entropy."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(64 - SEED_BITS))
