"""Draws the rows that only one game has: beside the table, above it, and on plates."""

from __future__ import annotations

from collections.abc import Sequence

from trick_envs.view.cards import draw_icon, face
from trick_envs.view.pen import RATIO, Area, Pen, measure
from trick_envs.view.rows import Row
from trick_envs.view.style import CREAM, FAINT, INK, RAIL, SEATS, TRACK, WINE, suit_style
from trick_envs.view.table import TableView
from trick_envs.view.words import sentence

CARD = 26.0  # width of a card in a row, at most


def draw_panel(view: TableView, pen: Pen, area: Area) -> None:
    """The rows of a view: one below the other, or side by side where the room is low."""
    rows = [row for row in view.rows if row.drawn]
    if not rows:
        return
    if area.height > area.width:
        sizes = [3.0 if row.cards else 2.2 if row.bar else 1.2 for row in rows]
        step = min((area.height - 12) / sum(sizes), 34)
        y = area.y + 6.0
        for row, share in zip(rows, sizes, strict=True):
            high = share * step
            _draw_row(view, pen, Area(area.x + 12, y, area.width - 24, high), row)
            y += high
        return
    lines = [row for row in rows if row.line]
    others = [row for row in rows if not row.line]
    top, high = area.y, area.height / (len(lines) + (1 if others else 0))
    for row in lines:
        _draw_line(view, pen, Area(area.x + 8, top, area.width - 16, high), row)
        top += high
    for i, row in enumerate(others):
        wide = area.width / len(others)
        _draw_row(view, pen, Area(area.x + i * wide + 7, top, wide - 12, high), row)


def _draw_row(view: TableView, pen: Pen, area: Area, row: Row) -> None:
    """Its mark and words, its value at the right; below these its cards or its bar, where there is room."""
    x, right, ink = area.x, area.x + area.width, WINE if row.alarm else INK
    below = 0.0
    if area.height > 34:
        below = 26.0 if row.bar else 0.55 * area.height if row.cards else 0.0
    y = area.y + (area.height - below) / 2
    size = min(24.0, 0.7 * (area.height - below)) if row.suit or row.icon else 12.0
    x += _mark(view, pen, row, x, y, size)
    told = min(0.9 * size, 18.0) if row.suit or row.icon else 12.5
    if row.value:
        right -= pen.label(right, y, row.value, told, ink, bold=True, anchor=1, width=0.75 * (right - x)) + 6
    if row.label and right - x > 12:
        x += pen.label(x, y, row.label, 11.5, ink, bold=row.strong, width=right - x) + 6
    if row.note and not (row.bar and below) and right - x > 24:
        pen.label(right, y, row.note, 10.5, FAINT, anchor=1, width=right - x)
    if row.cards and row.bar and right - x > 90:
        high = min(0.8 * (area.height - below), RATIO * CARD)
        _small_cards(view, pen, row.cards, Area(x, y - high / 2, right - x, high))
    if not below:
        return
    top = area.y + area.height - below
    if row.bar:
        done, of = row.bar
        _bar(pen, area.x, top, area.width, min(done / of, 1.0), WINE if row.alarm else _colour(view, row))
        used = pen.label(area.x, top + 15, f"{done} of {of}", 10, FAINT)
        pen.label(area.x + area.width, top + 15, row.note, 10, ink if row.alarm else FAINT, anchor=1,
                  width=area.width - used - 6)  # fmt: skip
    elif row.cards:
        _small_cards(view, pen, row.cards, Area(area.x, top, area.width, below - 2))


def _mark(view: TableView, pen: Pen, row: Row, x: float, y: float, size: float) -> float:
    """The icon or the suit of a row; returns the room that it takes."""
    if row.icon:
        draw_icon(view.game, pen, row.icon, x + size / 2, y, size / 2)
        return size + 5
    if row.suit:
        suit = suit_style(row.suit, view.suits)
        return pen.label(x, y, suit.symbol, size, suit.colour, bold=True) + 6
    return 0.0


def _colour(view: TableView, row: Row) -> str:
    return suit_style(row.suit, view.suits).colour if row.suit else INK


def _bar(pen: Pen, x: float, y: float, width: float, share: float, colour: str) -> None:
    pen.box(x, y, width, 7, TRACK, 3.5)
    if share:
        pen.box(x, y, max(share * width, 7), 7, colour, 3.5)


def _small_cards(view: TableView, pen: Pen, cards: Sequence[int], area: Area) -> None:
    width = min(CARD, area.height / RATIO)
    step = min(width + 2, (area.width - width) / max(len(cards) - 1, 1))
    for i, kind in enumerate(cards):
        pen.card(round(area.x + i * step), round(area.y), width, face(view.game, view.suits, view.ranks, kind, width))


def _draw_line(view: TableView, pen: Pen, area: Area, row: Row) -> None:
    """Stations side by side, each in the colour of the seat that stopped there."""
    step, y = area.width / len(row.line), area.y + area.height / 2
    left, radius = area.x + step / 2, min(0.4 * step, 0.42 * area.height, 17)
    pen.box(left, y - 2, step * (len(row.line) - 1), 4, RAIL, 2)
    if row.span:
        start, end, seat = row.span
        pen.box(left + start * step, y - 5, (end - start) * step, 10, SEATS[seat], 5, opacity=0.55)
    for i, stopped in enumerate(row.line):
        x = left + i * step
        if stopped is None:
            pen.disc(x, y, 0.62 * radius, CREAM, stroke=RAIL, line=2)
            pen.label(x, y, str(i + 1), 0.5 * radius, FAINT, anchor=0.5)
            continue
        pen.disc(x, y, radius, SEATS[stopped], stroke=INK, line=1)
        name = view.seats[stopped]
        text = sentence(name.name)[0] if name.named else str(stopped)
        pen.label(x, y, text, 0.9 * radius, INK, bold=True, anchor=0.5)


def draw_facts(view: TableView, facts: Sequence[Row], pen: Pen, area: Area, dark: bool, ink: str) -> None:
    """The facts of a seat in a line; words are left out where they have no room, then what is small."""
    for words, small in ((True, True), (False, True), (False, False)):
        shown = [fact for fact in facts if small or not fact.small]
        widths = [_width(fact, words) for fact in shown]
        if sum(widths) + 7 * (len(shown) - 1) <= area.width:
            break
    x, y = area.x, area.y + area.height / 2
    gap = min(7.0, (area.width - sum(widths)) / max(len(shown) - 1, 1))
    for fact, width in zip(shown, widths, strict=True):
        at = x
        if fact.icon:
            draw_icon(view.game, pen, fact.icon, at + 6.5, y, 7.5)
            at += 15
        if fact.suit:
            suit = suit_style(fact.suit, view.suits)
            at += pen.label(at, y, suit.symbol, 12, suit.light if dark else suit.colour, bold=True) + 2
        if fact.value:
            at += pen.label(at, y, fact.value, 11.5, ink, bold=True) + 3
        if fact.label and words:
            pen.label(at, y, fact.label, 11, ink)
        elif fact.note:
            pen.label(at, y, fact.note, 11, ink, width=max(area.x + area.width - at, 1))
        x += width + gap


def _width(fact: Row, words: bool) -> float:
    told = (15.0 if fact.icon else 0.0) + (13.0 if fact.suit else 0.0)
    told += measure(fact.value, 11.5, True) + 3 if fact.value else 0
    return told + measure(fact.label if words and fact.label else fact.note, 11, False)
