"""What only one game has beside its table, in rows: declared once, laid out by page, picture and terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A row beside a table, or a fact on the plate of a seat. Plain data, in the words of the observer.

    Attributes:
        label: what it is.
        value: how much of it.
        note: in smaller letters.
        suit: a suit whose symbol stands in front; empty for none.
        icon: a small picture that the game's view draws (``icon``); empty for none.
        cards: small cards, by kind.
        bar: how far something has come: so much, of so much; ``()``: no bar.
        line: stations, by the seats that stopped there; ``None`` for one that is still free.
        span: two stations of ``line``, from 0, and the seat whose stretch lies between them; ``()`` for none.
        strong: whether it counts now: brighter than the others.
        alarm: whether it is bad news.
        small: whether it is left out where there is little room.
        about: what it means, in sentences, for who asks.
        words: the same in a line, for a terminal; empty: it is only drawn.
    """

    label: str = ""
    value: str = ""
    note: str = ""
    suit: str = ""
    icon: str = ""
    cards: tuple[int, ...] = ()
    bar: tuple[int, ...] = ()
    line: tuple[int | None, ...] = ()
    span: tuple[int, ...] = ()
    strong: bool = False
    alarm: bool = False
    small: bool = False
    about: str = ""
    words: str = ""

    @property
    def drawn(self) -> bool:
        """Whether there is something to draw."""
        return bool(self.label or self.value or self.cards or self.line or self.suit or self.icon)
