"""Cards: how they are numbered, written and read, and sets of them.

A card's **kind** is the action that names it: ``suit * number_of_ranks + rank``. The card itself is its kind, or,
for the second copy in a game of two packs, ``WORD + kind``. A **card set** is a pair of words of ``WORD`` bits, so
it holds up to 108 cards; in a game of two packs, each pack has a word of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.engine.build import rule
from trick_envs.engine.intrinsics import lowest_bit, popcount
from trick_envs.errors import InputError, checked_list, shown

# Why 54 bits of a word of 64: two words then hold the 108 cards of two packs with jokers, each pack in one of them, so
# that the second copy of a card is the same bit of the other word. And no bit of a card is ever the sign of an
# ``int64``: shifts and comparisons do the same in compiled code, in NumPy and in plain Python.
WORD = 54
FULL_WORD = (1 << WORD) - 1
CardSet = tuple[int, int]
Words: TypeAlias = npt.NDArray[np.int64]  # a set in a record, such as ``state.hand[seat]``
EMPTY: CardSet = (0, 0)


# --- sets of cards, compiled --------------------------------------------------------------------------------------


@rule
def cards(row: Words) -> CardSet:
    """The set that lies in a place of the record, such as ``state.hand[seat]``."""
    return row[0], row[1]


@rule
def union(one: CardSet, other: CardSet) -> CardSet:
    return one[0] | other[0], one[1] | other[1]


@rule
def intersection(one: CardSet, other: CardSet) -> CardSet:
    return one[0] & other[0], one[1] & other[1]


@rule
def without(one: CardSet, other: CardSet) -> CardSet:
    return one[0] & ~other[0], one[1] & ~other[1]


@rule
def is_empty(some: CardSet) -> bool:
    return (some[0] | some[1]) == 0


@rule
def size(some: CardSet) -> int:
    return popcount(some[0]) + popcount(some[1])


@rule
def just(card: int) -> CardSet:
    """The set of one card."""
    return (1 << card, 0) if card < WORD else (0, 1 << (card - WORD))


@rule
def has(some: CardSet, card: int) -> bool:
    word, bit = (some[0], card) if card < WORD else (some[1], card - WORD)
    return (word >> bit) & 1 == 1


@rule
def first(some: CardSet) -> int:
    """The lowest-numbered card of a set that is not empty."""
    return lowest_bit(some[0]) if some[0] != 0 else WORD + lowest_bit(some[1])


@rule
def rest(some: CardSet) -> CardSet:
    """The set without its lowest-numbered card."""
    return (some[0] & (some[0] - 1), some[1]) if some[0] != 0 else (0, some[1] & (some[1] - 1))


@rule
def nth(some: CardSet, n: int) -> int:
    """The card with ``n`` lower-numbered ones before it."""
    word, base = some[0], 0
    in_first = popcount(word)
    if n >= in_first:
        n -= in_first
        word, base = some[1], WORD
    for _ in range(n):
        word &= word - 1
    return base + lowest_bit(word)


@rule
def put(row: Words, card: int) -> None:
    """Adds a card to a place of the record."""
    if card < WORD:
        row[0] |= 1 << card
    else:
        row[1] |= 1 << (card - WORD)


@rule
def take(row: Words, card: int) -> None:
    """Removes a card from a place of the record."""
    if card < WORD:
        row[0] &= ~(1 << card)
    else:
        row[1] &= ~(1 << (card - WORD))


@rule
def put_all(row: Words, some: CardSet) -> None:
    """Adds cards to a place of the record."""
    row[0] |= some[0]
    row[1] |= some[1]


@rule
def take_all(row: Words, some: CardSet) -> None:
    """Removes cards from a place of the record."""
    row[0] &= ~some[0]
    row[1] &= ~some[1]


def members(some: Sequence[int] | Words) -> list[int]:
    """The cards of a set or of a place of the record, ascending (Python, for reading records)."""
    found = []
    for first, word in ((0, int(some[0])), (WORD, int(some[1]))):
        while word:
            found.append(first + (word & -word).bit_length() - 1)
            word &= word - 1
    return found


# --- how cards are written ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deck:
    """The cards of a game at one number of players.

    Attributes:
        suits: one letter per suit, in order.
        ranks: the ranks as written, weakest first.
        copies: how many of each kind there are (1 or 2).
    """

    suits: str
    ranks: tuple[str, ...]
    copies: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "ranks", tuple(checked_list(self.ranks, str, "ranks", "strings"))
        )  # a list has no hash
        if self.copies not in (1, 2) or self.kinds > (WORD if self.copies == 2 else 2 * WORD):
            raise InputError(f"a deck holds up to {2 * WORD} kinds once or {WORD} kinds twice, not {self}")

    @property
    def kinds(self) -> int:
        """How many kinds of card there are: the number of actions."""
        return len(self.suits) * len(self.ranks)

    @property
    def size(self) -> int:
        """How many cards there are."""
        return self.kinds * self.copies

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """Every card of the deck, as numbered in card sets."""
        return tuple(WORD * copy + kind for copy in range(self.copies) for kind in range(self.kinds))

    def kind(self, card: int) -> int:
        """The kind of a card: what a player names to play it.

        Raises:
            ValueError: if there is no such card; says which numbers they have.
        """
        try:
            kind = card - WORD if self.copies == 2 and card >= WORD else card
            if 0 <= kind < len(self.names) and not isinstance(card, bool):
                return index(kind)
        except (TypeError, ValueError):  # the second of arrays
            pass
        second = f", or {WORD} to {WORD + self.kinds - 1} of the second pack" if self.copies == 2 else ""
        raise InputError(f"card: expected a whole number of 0 to {self.kinds - 1}{second}, not {shown(card)}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """How each kind is written: rank, then suit."""
        return tuple(rank + suit for suit in self.suits for rank in self.ranks)

    @cached_property
    def _kinds(self) -> dict[str, int]:
        return {name: kind for kind, name in enumerate(self.names)}

    def format(self, card: int) -> str:
        """A card as written, such as ``10S``."""
        return self.names[self.kind(card)]

    def format_all(self, some: Iterable[int]) -> list[str]:
        """Cards as written, in the order of suits and ranks."""
        return [self.names[kind] for kind in sorted(map(self.kind, checked_list(some, object, "some", "cards")))]

    def parse(self, text: str) -> int:
        """The kind of a card as written.

        Raises:
            ValueError: if there is no such card in this deck; lists the suits and ranks.
        """
        kind = self._kinds.get(text.strip().upper()) if isinstance(text, str) else None
        if kind is None:
            raise InputError(
                f"{shown(text)} is no card of this deck: write a rank ({' '.join(self.ranks)}) "
                f"and then a suit ({' '.join(self.suits)}), such as {self.names[-1]!r}"
            )
        return kind

    def parse_deal(self, hands: Sequence[Sequence[str]], stock: Sequence[str], hand_size: int) -> list[int]:
        """The cards of a whole deal in dealing order: hand after hand, then the stock.

        Raises:
            ValueError: if a card is unknown, missing or there too often, or a hand or the stock has the wrong size.
        """
        order: list[int] = []
        dealt = [0] * self.kinds
        places = [
            (f"the hand of player_{seat}", hand, hand_size)
            for seat, hand in enumerate(checked_list(hands, object, "hands", "a list of cards for each seat"))
        ]
        places.append(("the stock", stock, self.size - hand_size * len(hands)))
        for place, held, _ in places:
            if isinstance(held, str) or not isinstance(held, Sequence):
                raise InputError(f"{place} is no list of cards")
            for text in held:
                kind = self.parse(text)
                if dealt[kind] == self.copies:
                    times = "twice" if self.copies == 1 else "three times"
                    raise InputError(f"card {text} is dealt {times}: there again in {place}")
                order.append(WORD * dealt[kind] + kind)
                dealt[kind] += 1
        missing = [name for name, count in zip(self.names, dealt, strict=True) if count < self.copies]
        for place, held, expected in places:
            if len(held) != expected:
                lacking = f"; nowhere dealt: {' '.join(missing)}" if missing else ""
                raise InputError(f"{place} has {len(held)} cards, expected {expected}{lacking}")
        return order
