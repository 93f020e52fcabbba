"""Observing: what a seat sees, what it may do, and everything at once."""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import WORD, CardSet, cards, intersection
from trick_envs.engine.hooks import HANDS_SEEN, PHASES_OF_GAME, TWO_PACKS, features, hidden_state, legal
from trick_envs.engine.intrinsics import (
    SLACK,
    append_bits,
    clear_bytes,
    copy_bytes,
    copy_state,
    flags_of,
    spill_bit_sums,
    spill_sizes,
    write_bits,
)
from trick_envs.engine.kernels.playing import kinds_of, step_one
from trick_envs.engine.observation import (
    append_cards,
    append_zeros,
    write_by_seat,
    write_cards,
    write_flags,
    write_number,
)
from trick_envs.engine.state import OVER, ByteRows, Bytes, FixedStates, Floats, Reals, State, States
from trick_envs.engine.table import left, rank, relative, suit

PLACES = (1 << 48) - 1  # no place in an array is negative, or larger: what says so needs no code for Python's -1


@kernel
def known_cards(state: State, observer: int, seat: int) -> CardSet:
    """What the observer knows of another hand."""
    return intersection(cards(state.hand[seat]), cards(state.seen[observer]))


@kernel
def write_known(state: State, observer: int, out: Bytes, at: int) -> int:
    """What the observer knows of the other hands, its left neighbour's first; returns where it ends."""
    seat = observer
    for _ in range(state.num_players - 1):
        seat = left(state, seat)
        at = write_cards(state, known_cards(state, observer, seat), out, at)
    return at


@kernel
def write_mask(state: State, out: Bytes) -> None:
    """Which actions are legal for the seat to act; none when the match is over."""
    if state.phase == OVER:
        clear_bytes(out, 0, state.kinds)
        return
    named = kinds_of(state, legal(state))
    write_bits(named[0], named[1], WORD, out, 0, state.kinds)


@kernel
def begin_row(state: State, observer: int, out: Bytes, at: int) -> int:
    """The blocks ``hand``, ``known``, ``gone``, ``table`` (still empty) and ``void``; returns where they end.

    All of them are bits, but for a game of two packs. They are put together in a word, and 64 become bytes at a time:
    a vector for each block would overlap the next one, and cross lines of memory.
    """
    n, suits, seat = state.num_players, state.num_suits, observer
    empty, voids = n * (suits + state.num_ranks), n * suits
    word, filled = 0, 0
    if not TWO_PACKS:
        word, filled, at = append_cards(state, cards(state.hand[observer]), word, filled, out, at)
        if HANDS_SEEN:
            for _ in range(n - 1):
                seat = left(state, seat)
                word, filled, at = append_cards(state, known_cards(state, observer, seat), word, filled, out, at)
            seat = observer
        for _ in range(n):
            word, filled, at = append_cards(state, cards(state.gone[seat]), word, filled, out, at)
            seat = left(state, seat)
    else:
        at = write_cards(state, cards(state.hand[observer]), out, at)
        if HANDS_SEEN:
            at = write_known(state, observer, out, at)
        for _ in range(n):
            at = write_cards(state, cards(state.gone[seat]), out, at)
            seat = left(state, seat)
    word, filled, at = append_zeros(empty, word, filled, out, at)
    if voids < 64:
        flags, before = flags_of(state.void, voids), observer * suits
        turned = (flags >> before) | ((flags & ((1 << before) - 1)) << (voids - before))
        word, filled, at = append_bits(word, filled, turned, voids, out, at)
        spill_bit_sums(word, 0, out, at, filled)
        return at + filled
    spill_bit_sums(word, 0, out, at, filled)
    return write_by_seat(state, state.void, suits, observer, out, at + filled)


@kernel(inline=False)
def write_observation(state: State, observer: int, out: Bytes, at: int) -> int:
    """What ``trick_envs/engine/observation.py`` lists, from ``out[at]`` on; returns where it ends."""
    n, suits, ranks = state.num_players, state.num_suits, state.num_ranks
    width = suits + ranks
    at = begin_row(state, observer, out, at) & PLACES
    table = at - n * (suits + width)
    for i in range(state.trick_size):
        card, seat = state.trick[i], state.trick_seat[i]
        its_suit, its_rank = suit(state, card), rank(state, card)
        slot = table + relative(state, seat, observer) * width
        out[slot + its_suit] = 1
        out[slot + suits + its_rank] = 1

    spill_sizes(state.hand, n, observer, out, at)
    phases, flags = len(PHASES_OF_GAME), 0
    for i in range(phases):
        flags |= (state.phase == PHASES_OF_GAME[i]) << i
    if state.phase != OVER:
        flags |= 1 << (phases + relative(state, state.seat, observer))
    flags |= 1 << (phases + n + relative(state, state.dealer, observer))
    at = write_flags(flags, phases + 2 * n, out, at + n) & PLACES

    at = write_number(state.deal_number, out, at)
    at = write_number(max(state.num_deals - state.deal_number - 1, 0), out, at)
    seat = observer
    for _ in range(n):
        at = write_number(state.score[seat], out, at)
        seat = left(state, seat)
    return features(state, observer, out, at & PLACES)


# In a buffer for one observation: blocks are written with a surplus (``engine/intrinsics.py``), and ``features`` that
# write more than their blocks say do no damage until ``BatchEnv`` has noticed it.
ROOM_BEHIND = 3 * SLACK + 4096


@kernel
def scratch_row(observations: ByteRows) -> Bytes:
    """A buffer for one observation."""
    return np.empty(observations.shape[1] + ROOM_BEHIND, np.int8)


@kernel
def write_row(state: State, observer: int, scratch: Bytes, observations: ByteRows, i: int) -> int:
    """Writes an observation to ``observations[i]`` by way of ``scratch``: whole lines go to memory faster.

    Returns how many numbers ``write_observation`` has written.
    """
    written = write_observation(state, observer, scratch, 0)
    copy_bytes(scratch, 0, observations[i], 0, observations.shape[1])
    return written


@kernel(called=True)
def observe(states: FixedStates, i: int, observer: int, observation: Bytes, mask: Bytes) -> int:
    """Writes the observation and mask of one seat of ``states[i]``, both ``int8``; returns the observation's length."""
    state = states[i]
    if observer == state.seat:
        write_mask(state, mask)
    else:
        clear_bytes(mask, 0, state.kinds)
    return write_observation(state, observer, observation, 0)


@kernel(called=True)
def observe_float(states: FixedStates, observer: int, scratch: Bytes, observation: Floats, mask: Bytes) -> None:
    """``observe`` in ``states[0]`` with an observation in ``float32``, by way of ``scratch`` (``scratch_row``)."""
    observe(states, 0, observer, scratch, mask)
    for i in range(observation.shape[0]):
        observation[i] = scratch[i]


@kernel(called=True)
def write_full_state(states: FixedStates, i: int, out: Bytes) -> int:
    """Writes the vector of ``state()``; returns its length."""
    state = states[i]
    at = 0
    for seat in range(state.num_players):
        at = write_cards(state, cards(state.hand[seat]), out, at)
    if HANDS_SEEN:
        for seat in range(state.num_players):
            at = write_known(state, seat, out, at)
    return write_observation(state, 0, out, hidden_state(state, out, at))


# --- trees of positions -------------------------------------------------------------------------------------------


@kernel(called=True)
def look(states: FixedStates, mask: Bytes) -> int:
    """Writes the mask of the seat to act in ``states[0]``; returns that seat."""
    state = states[0]
    write_mask(state, mask)
    return state.seat


@kernel(called=True)
def branch(states: FixedStates, action: int, mode: int, after: States, rewards: Reals, mask: Bytes) -> int:
    """``step_one`` in a copy of ``states[0]``, which goes to ``after[0]``; also writes the mask of who acts then."""
    copy_state(states[0], after[0])
    result = step_one(after, action, mode, rewards)
    write_mask(after[0], mask)
    return result
