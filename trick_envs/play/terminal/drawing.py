"""A table as styled text for the terminal, from its view.

Cards are written with letters: suit symbols are two columns wide in some terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.text import Text

from trick_envs.play.advice import percent
from trick_envs.play.hints import CardHint, Hint
from trick_envs.play.terminal.card_input import Choice
from trick_envs.view import TableView
from trick_envs.view.style import GOLD, LED, suit_style
from trick_envs.view.table import SeatView
from trick_envs.view.words import place_words

CELLS = (6, 5)  # columns of a card of the hand: the wider ones, unless all cards then fit in one row
LABELS = 8  # columns to the left of them
BETWEEN = "  |  "  # lines side by side
FAINT = "#8a948e"
BAR = "#35566e"


class Drawing:
    """How cards are written.

    Args:
        symbols: whether suits are symbols rather than letters.
    """

    def __init__(self, symbols: bool = False) -> None:
        self.symbols = symbols

    def card(self, view: TableView, kind: int, style: str = "") -> Text:
        """A card in the colour of its suit."""
        suit = suit_style(view.suit_of(kind), view.suits)
        name = view.ranks[kind % len(view.ranks)] + (suit.symbol if self.symbols else view.suit_of(kind))
        return Text(name, f"{style} {suit.light}")

    def cards(self, view: TableView, kinds: Iterable[int | None]) -> Text:
        """Cards side by side; those that are not seen are counted."""
        kinds = list(kinds)
        seen = [self.card(view, kind) for kind in kinds if kind is not None]
        hidden = kinds.count(None)
        return Text(" ").join([*seen, *([Text(f"{hidden} hidden", FAINT)] if hidden else [])])

    def _written(self, view: TableView, line: str) -> str:
        """A line with its cards as all others are written."""
        if not self.symbols:
            return line
        cards = rf"\b({'|'.join(view.ranks)})([{view.suits}])\b"
        return re.sub(cards, lambda found: found[1] + suit_style(found[2], view.suits).symbol, line)

    def plays(self, view: TableView, plays: Sequence[tuple[int, int]]) -> Text:
        """A trick in a line."""
        by_seat = groupby(plays, key=lambda play: play[0])
        return Text(", ").join(
            Text(" ").join([Text(view.you(seat)), *(self.card(view, kind) for _, kind in group)])
            for seat, group in by_seat
        )

    # --- the table --------------------------------------------------------------------------------------------------

    def table(self, view: TableView, width: int, apart: bool = False) -> Text:
        """Everything but the hand: a line or two per seat, clockwise from the left neighbour of the observer.

        Args:
            view: the table.
            width: columns.
            apart: whether to leave a line between seats.
        """
        first = 0 if view.observer is None else view.observer + 1
        seats = [*view.seats[first:], *view.seats[:first]]
        tricks = [self._played(view, seat.seat) for seat in seats]
        names = max(len(view.you(seat.seat)) for seat in seats)
        scores = max(len(f"{seat.score:+d}") for seat in seats)
        room = max(9, *(cell_len(trick.plain) for trick in tricks))
        lines = []
        for seat, trick in zip(seats, tricks, strict=True):
            acts = view.acting == seat.seat
            trick.pad_right(room - cell_len(trick.plain))
            line = Text.assemble(
                (" > " if acts else "   ", GOLD),
                (f"{view.you(seat.seat):{names}}", "bold" if acts else ""),
                (" D" if seat.dealer else "  ", FAINT),
                f" {seat.score:+{scores}d}  ",
                trick,
                "  ",
            )
            lines += self._beside(view, seat, line, width) + [Text()] * apart
        lines += [
            Text.assemble("   ", (f"{place_words(name)}: ", FAINT), self.cards(view, held))
            for name, held in view.places.items()
            if any(kind is not None for kind in held)
        ]
        lines += [Text(f"   {line}") for line in _flow([self._written(view, line) for line in view.lines], width - 4)]
        return Text("\n").join(lines)

    def _played(self, view: TableView, seat: int) -> Text:
        """The cards that a seat has in the trick, with marks."""
        found = [self.card(view, kind, "bold") for who, kind in view.trick if who == seat]
        marks = [("led", LED)] if view.led == seat and found else []
        marks += [("takes", GOLD)] if view.taking == seat and found else []
        return Text(" ").join([*found, *(Text(mark, colour) for mark, colour in marks)])

    def _beside(self, view: TableView, seat: SeatView, line: Text, width: int) -> list[Text]:
        """The line of a seat with its hand, places and note; what does not fit goes to a second line."""
        parts = [self._held(view, seat), *self._own_places(view, seat)]
        if seat.taken:
            parts.append(Text(f"{len(seat.taken)} taken", FAINT))
        if seat.note:
            parts.append(Text(seat.note))
        lines, indent = [line], cell_len(line.plain)
        for part in parts:
            if cell_len(lines[-1].plain) + cell_len(part.plain) > width and len(lines) == 1:
                lines.append(Text(" " * min(indent, max(width - cell_len(part.plain), 3))))
            lines[-1] = Text.assemble(lines[-1], part, "  ")
        return lines

    def _held(self, view: TableView, seat: SeatView) -> Text:
        """The hand of a seat: how many cards, or which as far as they are seen."""
        if seat.seat != view.observer and any(kind is not None for kind in seat.hand):
            return Text.assemble(("holds ", FAINT), self.cards(view, seat.hand))
        return Text(f"{len(seat.hand)} cards", FAINT)

    def _own_places(self, view: TableView, seat: SeatView) -> list[Text]:
        return [
            Text.assemble((f"{place_words(name)} ", FAINT), self.cards(view, held))
            for name, held in seat.places.items()
            if held
        ]

    # --- the hand ---------------------------------------------------------------------------------------------------

    def hand(self, view: TableView, found: Sequence[Choice], selected: int, advice: Hint | None, width: int) -> Text:
        """The cards to choose from, each with its number, and with advice how good it is.

        Args:
            view: the table.
            found: the choices.
            selected: the place of the highlighted one.
            advice: for this decision, if it is wanted.
            width: columns.
        """
        cell = next((cell for cell in CELLS if LABELS + cell * len(found) <= width), CELLS[0])
        rows = -(-len(found) * cell // max(width - LABELS, cell)) or 1
        size = max(1, -(-len(found) // rows))
        lines = []
        for start in range(0, len(found), size):
            part = list(enumerate(found))[start : start + size]
            lines += [
                self._row("", [self._number(i, each, i == selected, cell) for i, each in part]),
                self._row("", [self._face(view, i, each, i == selected, cell) for i, each in part]),
            ]
            hints = [advice.of(each.kind) if advice is not None and each.legal else None for _, each in part]
            if advice is not None and any(hints):
                lines += self._hints(advice, hints, cell)
        return Text("\n").join(lines)

    def _hints(self, found: Hint, hints: Sequence[CardHint | None], cell: int) -> list[Text]:
        """How often the trained player would play some cards, and by how many points each is better looking ahead."""
        rows = []
        if len(found.sources) > 1:
            rows.append(self._row("trained", [_bar(hint, cell) for hint in hints]))
        if len(found.cards) > 1:
            rows.append(self._row("points", [_gain(found, hint, cell) for hint in hints]))
            rows.append(self._row("+-", [_error(hint, cell) for hint in hints]))
        return rows

    def _row(self, label: str, cells: Sequence[Text]) -> Text:
        return Text.assemble((f"{label:>{LABELS - 1}} ", FAINT), *cells)

    def _number(self, place: int, choice: Choice, selected: bool, cell: int) -> Text:
        number = f"{place + 1}" if choice.held else f"({place + 1})"
        return Text(f"{number:^{cell - 1}} ", GOLD if selected else FAINT)

    def _face(self, view: TableView, place: int, choice: Choice, selected: bool, cell: int) -> Text:
        face = self.card(view, choice.kind, "bold" if choice.legal else "dim")
        space = cell - 1 - cell_len(face.plain)
        face.pad_left(space - space // 2)
        face.pad_right(space // 2)
        if selected:
            face.stylize(f"reverse {suit_style(view.suit_of(choice.kind), view.suits).light}")
        face.apply_meta({"place": place})
        face.pad_right(1)
        return face


def _flow(lines: Iterable[str], width: int) -> list[str]:
    """Lines side by side, as many as fit."""
    rows: list[str] = []
    for line in lines:
        if rows and cell_len(rows[-1]) + cell_len(line) + len(BETWEEN) <= width:
            rows[-1] += BETWEEN + line
        else:
            rows.append(line)
    return rows


def _bar(hint: CardHint | None, cell: int) -> Text:
    """A probability, over a bar of its length."""
    share = hint.probability if hint else None
    if share is None:
        return Text(" " * cell)
    text = Text(f"{percent(share).replace(' ', ''):^{cell - 1}} ")
    text.stylize(f"on {BAR}", 0, round(share * (cell - 1)))
    return text


def _gain(found: Hint, hint: CardHint | None, cell: int) -> Text:
    """By how many points the search finds a card better than the one with which it compares; its own is marked."""
    if hint is None or hint.advantage is None:
        return Text(" " * cell)
    points, baseline = round(hint.advantage, 1) + 0.0, hint.kind == found.baseline  # + 0.0: no minus before zero
    told = "0" if baseline else f"{points:+.0f}" if abs(points) > 9.9 else f"{points:+.1f}"
    return Text(f"{told:^{cell - 1}} ", f"bold {GOLD}" if found.disagree and hint.kind == found.search else "")


def _error(hint: CardHint | None, cell: int) -> Text:
    points = hint.error if hint else None
    return Text(f"{f'{points:.1f}' if points else '':^{cell - 1}} ", FAINT)
