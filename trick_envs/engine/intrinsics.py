"""Bits, bytes and unsigned arithmetic, under names that say what they do.

Each function here is plain Python, for records and buffers as ``build/twin.py`` has them;
``build/intrinsics.py`` makes machine code for each. Nothing else in the package touches bits, pointers or unsigned
arithmetic.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

DEAL_STARTS_AT = "hand"  # the first field of a record that belongs to the running deal alone

# What the deck and the number of seats decide. The name of a record type's last field says which of them have one value
# in all its records; compiled code has these as constants.
OF_TABLE = (
    "num_players", "teams", "hand_size", "num_suits", "num_ranks", "inverse", "copies", "kinds", "num_cards",
)  # fmt: skip
FILLER = "deal_filler"


def constants_of(names: Sequence[str]) -> dict[str, int]:
    """The ``constants`` of a ``record_dtype`` (``state.py``), from the names of its fields."""
    parts = next((name for name in names if name.startswith(FILLER)), FILLER).split("__")[1:]
    return {name: int(value) for name, value in zip(parts[::2], parts[1::2], strict=True)}


_WORD = (1 << 64) - 1
GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def popcount(word: int) -> int:
    """How many bits of a non-negative ``word`` are set."""
    return int(word).bit_count()


def lowest_bit(word: int) -> int:
    """The position of the lowest set bit of a positive ``word``."""
    return (int(word) & -int(word)).bit_length() - 1


def highest_bit(word: int) -> int:
    """The position of the highest set bit of a positive ``word``."""
    return int(word).bit_length() - 1


def splitmix(state: Any) -> tuple[Any, Any]:
    """One step of SplitMix64 (Steele, Lea, Flood 2014): the next state and 64 random bits, both ``uint64``."""
    following = (int(state) + GOLDEN) & _WORD
    bits = following
    bits = ((bits ^ (bits >> 30)) * MIX_1) & _WORD
    bits = ((bits ^ (bits >> 27)) * MIX_2) & _WORD
    return np.uint64(following), np.uint64(bits ^ (bits >> 31))


def scale_bits(bits: Any, count: int) -> int:
    """Maps 64 random ``bits`` to an integer of ``0 … count - 1`` (multiply and shift).

    The bias is below ``count / 2**32``.
    """
    return int(((int(bits) >> 32) * int(count)) >> 32)


# --- bytes of a buffer --------------------------------------------------------------------------------------------
# A buffer is an ``int8`` array or a memory view of one; an array of a record is a list.

_DIGITS = bytes.maketrans(b"01", b"\0\1")


def _store(data: bytes, out: Any, at: int) -> None:
    if isinstance(out, memoryview):
        out[at : at + len(data)] = memoryview(data).cast("b")
    else:
        out[at : at + len(data)] = np.frombuffer(data, np.int8)


def _bytes_of(bits: int, length: int) -> bytes:
    """The lowest bits of a number, one byte each."""
    return f"{int(bits) & ((1 << int(length)) - 1):0{length}b}"[::-1].encode().translate(_DIGITS)


def write_bits(low: int, high: int, split: int, out: Any, at: int, length: int) -> None:
    """Writes ``length`` bits (118 at most), ``split`` of ``low`` and then ``high``, as bytes 0 or 1 to ``out[at:]``.

    Why 118: the second word is stored from byte ``split`` on, which is ``cards.WORD`` = 54, and has 64 bits.
    """
    if length > 0:
        _store(_bytes_of(int(low) | (int(high) << split), length), out, at)


def write_bit_sums(one: int, other: int, out: Any, at: int, length: int) -> None:
    """Writes ``length`` bytes to ``out[at:]``: how many of the two words have the bit set (0, 1 or 2)."""
    if length > 0:
        data = _bytes_of(one, length)
        if other:
            data = bytes(map(int.__add__, data, _bytes_of(other, length)))
        _store(data, out, at)


def copy_bytes(source: Any, start: int, out: Any, at: int, length: int) -> None:
    """``out[at:at + length] = source[start:start + length]`` for one-dimensional arrays of one-byte items."""
    part = source[start : start + length]
    if type(part) is list:
        _store(struct.pack(f"{length}b", *part), out, at)
    else:
        out[at : at + length] = part


def clear_bytes(out: Any, at: int, length: int) -> None:
    """``out[at:at + length] = 0`` for a one-dimensional array of one-byte items."""
    _store(bytes(length), out, at)


# What is written block by block, in ascending order, need not stop exactly where a block ends: with room behind it,
# whole vectors are stored, and the next block overwrites the excess. Records have ``SLACK`` bytes at their end, so that
# whole vectors can be read from their arrays, too.
SLACK = 64


def spill_bits(low: int, high: int, split: int, out: Any, at: int, length: int) -> None:
    """``write_bits``; up to ``2 * SLACK`` bytes behind may be overwritten."""
    write_bits(low, high, split, out, at, length)


def spill_bit_sums(one: int, other: int, out: Any, at: int, length: int) -> None:
    """``write_bit_sums``; up to ``SLACK`` bytes behind may be overwritten."""
    write_bit_sums(one, other, out, at, length)


def spill_copy(source: Any, start: int, out: Any, at: int, length: int) -> None:
    """``copy_bytes`` from an array of a record; up to ``SLACK`` bytes behind may be overwritten."""
    copy_bytes(source, start, out, at, length)


def spill_zeros(out: Any, at: int, length: int) -> None:
    """``clear_bytes``; up to ``SLACK`` bytes behind may be overwritten."""
    clear_bytes(out, at, length)


def append_bits(word: int, filled: int, bits: int, length: int, out: Any, at: int) -> tuple[int, int, int]:
    """Appends the ``length`` lowest bits (64 at most; the others are 0) of ``bits`` to the ``filled`` bits in ``word``.

    Whenever 64 are together, they are stored as 64 bytes, 0 or 1, from ``out[at]`` on. Returns the new ``word`` (what
    has not been stored yet), ``filled`` (below 64) and ``at``.
    """
    filled, length = int(filled), int(length)  # what hangs on a number of an array may be one of NumPy's
    together, filled = int(word) | ((int(bits) & ((1 << length) - 1)) << filled), filled + length
    if filled < 64:
        return together, filled, at
    _store(_bytes_of(together, 64), out, at)
    return together >> 64, filled - 64, at + 64


def flags_of(numbers: Any, length: int) -> int:
    """Which of the first ``length`` (63 at most) numbers of an ``int8`` array of a record are not 0, as bits."""
    flags = 0
    for k in range(length):
        flags |= int(numbers[k] != 0) << k
    return flags


MOST_IN_VECTOR = 8  # places


def spill_sizes(places: Any, count: int, first: int, out: Any, at: int) -> None:
    """Writes how many cards lie in each of ``count`` places (an array of the record), ``first`` first, in a circle.

    With a ``count`` of up to ``MOST_IN_VECTOR``, that many bytes from ``out[at]`` on may be overwritten.
    """
    for k in range(count):
        held = places[(first + k) % count]
        out[at + k] = popcount(held[0]) + popcount(held[1])


def clear_deal(state: Any) -> None:
    """Sets everything in a record from the field ``DEAL_STARTS_AT`` on to zero."""
    state.clear_from(DEAL_STARTS_AT)


def copy_state(source: Any, target: Any) -> None:
    """Makes a record equal to another one.

    As a plain assignment (``states[i] = states[j]``) it would be compiled byte by byte, some 800 loads and stores.
    """
    target.copy_from(source)


def prefetch(states: Any, i: int) -> None:
    """Asks for the record ``states[i]`` to be brought into the cache, if there is such a record."""
