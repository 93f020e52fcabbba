"""The observation: one flat vector per seat, written and documented block by block.

Seats are relative: the observer first, then clockwise. Cards are in the order of the actions. All numbers are small
integers, which ``BatchEnv`` stores as ``int8``; all other interfaces return the same numbers as ``float32``.
``observation_layout`` in ``engine/game.py`` lists the blocks; ``write_observation`` in
``engine/kernels/observing.py`` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from trick_envs.engine.build import rule
from trick_envs.engine.cards import WORD, CardSet
from trick_envs.engine.intrinsics import append_bits, spill_bit_sums, spill_bits, spill_copy, spill_zeros
from trick_envs.engine.state import Bytes, Numbers, State
from trick_envs.engine.table import relative

VERSION = 1  # of the part that all games share; policies depend on it

Unit = Literal["number", "suit", "card", "suit and rank", "card number"]
"""What the numbers of a block stand for, which says how they move when the suits are relabelled
(``engine/symmetry.py``):

- ``number``: one number after the other, which have nothing to do with suits;
- ``suit``: runs of one number per suit;
- ``card``: runs of one number per action, that is, per suit and rank;
- ``suit and rank``: runs of one number per suit, then one per rank: cards as one of each;
- ``card number``: each number is 1 + an action, or 0.
"""


@dataclass(frozen=True)
class Block:
    """A contiguous part of the observation.

    Attributes:
        name: a short name.
        length: how many numbers it has.
        meaning: what the numbers mean.
        high: the largest value.
        low: the smallest value.
        unit: what its numbers stand for.
    """

    name: str
    length: int
    meaning: str
    high: int = 1
    low: int = 0
    unit: Unit = "number"


class Layout(tuple[Block, ...]):
    """The blocks of a vector, in order."""

    @property
    def size(self) -> int:
        """The length of the vector."""
        return sum(block.length for block in self)

    def bounds(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The lowest and the highest value of every number, each ``(size,) float32``."""
        lengths = [block.length for block in self]
        return (
            np.repeat(np.array([block.low for block in self], np.float32), lengths),
            np.repeat(np.array([block.high for block in self], np.float32), lengths),
        )

    def slices(self) -> dict[str, slice]:
        """The slice of each block, by name."""
        found, at = {}, 0
        for block in self:
            found[block.name] = slice(at, at + block.length)
            at += block.length
        return found

    def table(self) -> str:
        """The layout as a Markdown table."""
        rows = [
            f"| {block.name} | {where.start} | {block.length} | {block.low} … {block.high} | {block.meaning} |"
            for block, where in zip(self, self.slices().values(), strict=True)
        ]
        return "\n".join(["| name | offset | length | values | meaning |", "| --- | --- | --- | --- | --- |", *rows])


# --- for games that write blocks of their own -----------------------------------------------------------------------


@rule
def write_cards(state: State, held: CardSet, out: Bytes, at: int) -> int:
    """Writes how many of each kind there are in a set; returns where it ends."""
    if state.kinds > WORD:
        spill_bits(held[0], held[1], WORD, out, at, state.kinds)
    else:  # one pack leaves the second word empty
        spill_bit_sums(held[0], held[1], out, at, state.kinds)
    return at + state.kinds


@rule
def append_cards(state: State, held: CardSet, word: int, filled: int, out: Bytes, at: int) -> tuple[int, int, int]:
    """``append_bits`` of a set of cards of one pack."""
    length, low = int(state.kinds), int(held[0]) | (int(held[1]) << WORD)
    if length > 64:
        word, filled, at = append_bits(word, filled, low, 64, out, at)
        length, low = length - 64, held[1] >> (64 - WORD)
    return append_bits(word, filled, low, length, out, at)


@rule
def append_zeros(length: int, word: int, filled: int, out: Bytes, at: int) -> tuple[int, int, int]:
    """``append_bits`` of any number of zeros."""
    while length > 64:
        word, filled, at = append_bits(word, filled, 0, 64, out, at)
        length -= 64
    return append_bits(word, filled, 0, length, out, at)


@rule
def write_flags(flags: int, length: int, out: Bytes, at: int) -> int:
    """Writes the ``length`` lowest bits (64 at most) of a word as numbers 0 or 1; returns where it ends."""
    spill_bit_sums(flags, 0, out, at, length)
    return at + length


@rule
def write_by_seat(state: State, table: Numbers, width: int, observer: int, out: Bytes, at: int) -> int:
    """Writes a flat ``int8`` array of ``width`` numbers per seat, the observer's first; returns where it ends."""
    before, after = observer * width, (state.num_players - observer) * width
    spill_copy(table, before, out, at, after)
    spill_copy(table, 0, out, at + after, before)
    return at + before + after


@rule
def write_taking(state: State, observer: int, out: Bytes, at: int) -> int:
    """Writes one number per seat, the observer's first: 1 if its card takes the trick so far; returns where it ends."""
    spill_zeros(out, at, state.num_players)
    out[at + relative(state, state.taking, observer)] = state.trick_size > 0
    return at + state.num_players


@rule
def write_number(number: int, out: Bytes, at: int) -> int:
    """Writes a number as hundreds (clipped to -128 … 127) and the rest; returns where it ends."""
    if -100 < number < 100:
        out[at], out[at + 1] = 0, number
        return at + 2
    hundreds = number // 100 if number >= 0 else -(-number // 100)
    out[at] = min(max(hundreds, -128), 127)
    out[at + 1] = number - 100 * hundreds
    return at + 2


def scales(blocks: Sequence[Block]) -> npt.NDArray[np.float32]:
    """Divisors, ``(size,) float32``, that scale every number of the observation to about -1 … 1."""
    sizes = [max(abs(block.low), abs(block.high), 1) for block in blocks]
    return np.repeat(np.array(sizes, np.float32), [block.length for block in blocks])
