"""The observation: one flat vector a seat, relative to that seat, written and documented block by block.

Seats are relative: the observer first, then clockwise. Cards are in the order of the actions. All numbers are small
whole numbers, so that the native batch holds them as ``int8``; every other interface shows the same numbers as
``float32``. ``observe`` in ``trick_envs/engine/kernels.py`` writes what this page lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import WORD, CardSet
from trick_envs.engine.compile import rule
from trick_envs.engine.lowlevel import clear_bytes, copy_bytes, write_bit_sums, write_bits
from trick_envs.engine.table import PHASES, relative

if TYPE_CHECKING:
    from trick_envs.engine.cards import Deck
    from trick_envs.engine.game import Game

VERSION = 1  # of the common part; policies are bound to it


@dataclass(frozen=True)
class Block:
    """A stretch of the observation.

    Attributes:
        name: a short name.
        length: how many numbers.
        meaning: what they say, in a sentence.
        high: the largest value.
        low: the smallest value.
    """

    name: str
    length: int
    meaning: str
    high: int = 1
    low: int = 0


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
        """Where each block lies."""
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


KNOWN = "how many the observer knows to be in that hand"
NUMBER = "as hundreds and the rest, both with the sign of the number (-137 is -1, -37)"


def layout(game: Game, deck: Deck, num_players: int) -> Layout:
    """The observation of a game at a number of players."""
    n, kinds, suits, ranks = num_players, deck.kinds, len(deck.suits), len(deck.ranks)
    phases = ", ".join(PHASES[phase] for phase in game.phases)
    return Layout(
        (
            Block("hand", kinds, "own hand: how many of each card", deck.copies),
            *(
                [Block("known", (n - 1) * kinds, f"by other seat and card: {KNOWN}", deck.copies)]
                if game.hands_seen
                else []
            ),
            Block("gone", n * kinds, "by seat and card: cards of finished tricks that the seat played", deck.copies),
            Block(
                "table",
                n * (suits + ranks),
                f"by seat: the card it has in the trick, as one of {suits} suits and one of {ranks} ranks",
            ),
            Block("void", n * suits, "by seat and suit: 1 if play has shown that it holds none"),
            Block("hand_size", n, "by seat: cards in hand", game.hand_size(n)),
            Block("phase", len(game.phases), f"the phase, one of {phases}"),
            Block("acts", n, "by seat: 1 if it acts (none when the match is over)"),
            Block("dealer", n, "by seat: 1 if it deals"),
            Block("deals_played", 2, f"finished deals of the match, {NUMBER}", 127),
            Block("deals_left", 2, f"deals to be played after this one (at most), {NUMBER}", 127),
            Block("score", 2 * n, f"by seat: match score before this deal, {NUMBER}", 127, -128),
            *game.blocks(n),
        )
    )


def state_layout(game: Game, deck: Deck, num_players: int) -> Layout:
    """The vector of ``state()``: all hands, whatever else is hidden, then the observation of seat 0."""
    n, kinds = num_players, deck.kinds
    hands = [Block("hands", n * kinds, "by seat and card: all hands", deck.copies)]
    if game.hands_seen:
        meaning = f"by observer, other seat and card: {KNOWN}"
        hands.append(Block("knowledge", n * (n - 1) * kinds, meaning, deck.copies))
    return Layout((*hands, *game.secret_blocks(num_players), *layout(game, deck, num_players)))


# --- what games write their own blocks with -----------------------------------------------------------------------


@rule
def write_cards(state: Any, held: CardSet, out: Any, at: int) -> int:
    """Writes how many of each kind there are in a set; returns where it ends."""
    if state.kinds > WORD:
        write_bits(held[0], held[1], WORD, out, at, state.kinds)
    else:  # one pack leaves the second word empty
        write_bit_sums(held[0], held[1], out, at, state.kinds)
    return at + state.kinds


@rule
def write_by_seat(state: Any, table: Any, width: int, observer: int, out: Any, at: int) -> int:
    """Writes a flat ``int8`` array of ``width`` numbers a seat, the observer's first; returns where it ends."""
    before, after = observer * width, (state.num_players - observer) * width
    copy_bytes(table, before, out, at, after)
    copy_bytes(table, 0, out, at + after, before)
    return at + before + after


@rule
def write_taking(state: Any, observer: int, out: Any, at: int) -> int:
    """Writes a number a seat, the observer's first: 1 if its card takes the trick so far; returns where it ends."""
    clear_bytes(out, at, state.num_players)
    out[at + relative(state, state.taking, observer)] = state.trick_size > 0
    return at + state.num_players


@rule
def write_number(number: int, out: Any, at: int) -> int:
    """Writes a number as hundreds (of which 127 at most) and the rest; returns where it ends."""
    hundreds = number // 100 if number >= 0 else -(-number // 100)
    out[at] = min(max(hundreds, -128), 127)
    out[at + 1] = number - 100 * hundreds
    return at + 2


def scales(blocks: Sequence[Block]) -> npt.NDArray[np.float32]:
    """Divisors, ``(size,) float32``, that bring every number of the observation near -1 … 1."""
    sizes = [max(abs(block.low), abs(block.high), 1) for block in blocks]
    return np.repeat(np.array(sizes, np.float32), [block.length for block in blocks])
