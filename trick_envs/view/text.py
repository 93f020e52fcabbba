"""A table as text, for terminals."""

from __future__ import annotations

from collections.abc import Iterable

from trick_envs.view.style import rgb, suit_style
from trick_envs.view.table import TableView, checked_view
from trick_envs.view.words import place_words

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def ansi(view: TableView, color: bool = False) -> str:
    """A table as text: one line a seat, the trick, what only this game has, and what is asked.

    Args:
        view: what is seen.
        color: whether to use colours (24 bit), and bold for the cards that may be named.
    """
    width = max(len(seat.name) for seat in checked_view(view).seats)
    lines = [f"{view.title}, deal {view.deal}{view.length}, trick {view.trick_number}"]
    for seat in view.seats:
        acts = seat.seat == view.acting
        own = "".join(
            f"  {place_words(name)}: {_cards(view, held, color)}" for name, held in seat.places.items() if held
        )
        taken = f"  ({len(seat.taken)} taken)" if seat.taken else ""
        lines.append(
            f"{'>' if acts else ' '} {seat.name:{width}} {'D' if seat.dealer else ' '} [{seat.score:+d}]  "
            f"{_cards(view, seat.hand, color, view.legal if acts else ())}{own}{taken}"
            + (f"  {seat.note}" if seat.note else "")
        )
    lines += [f"  {place_words(name)}: {_cards(view, held, color)}" for name, held in view.places.items() if held]
    played = [f"{view.seats[seat].name} {_card(view, kind, color)}{_marks(view, seat)}" for seat, kind in view.trick]
    lines.append(f"  trick: {', '.join(played) or 'none'}")
    if view.previous and view.previous_taker is not None:
        before = [f"{view.seats[seat].name} {_card(view, kind, color)}" for seat, kind in view.previous]
        lines.append(f"  last trick: {', '.join(before)}; taken by {view.seats[view.previous_taker].name}")
    lines += [f"  {line}" for line in view.lines]
    lines.append(f"  {view.prompt}")
    return "\n".join(lines)


def _marks(view: TableView, seat: int) -> str:
    said = [(mark, who) for who, mark in view.remarks]
    marks = [mark for mark, who in (("led", view.led), *said, ("takes", view.taking)) if who == seat]
    return f" ({', '.join(marks)})" if marks else ""


def _cards(view: TableView, held: Iterable[int | None], color: bool, legal: tuple[int, ...] = ()) -> str:
    held = list(held)
    hidden = held.count(None)
    known = [_card(view, kind, color, kind in legal) for kind in held if kind is not None]
    return " ".join([*known, *([f"{hidden} hidden"] if hidden else [])])


def _card(view: TableView, kind: int, color: bool, bold: bool = False) -> str:
    name = view.card(kind)
    if not color:
        return name
    r, g, b = rgb(suit_style(view.suit_of(kind), view.suits).light)
    return f"{_BOLD if bold else ''}\x1b[38;2;{r};{g};{b}m{name}{_PLAIN}"
