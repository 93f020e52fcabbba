"""A match as plain text: what is printed when input or output is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from trick_envs.errors import InputError
from trick_envs.matches.events import DealScored, TrickTaken, items_told, tell_all
from trick_envs.matches.events import tell as tell_event
from trick_envs.play.advice import summary, table
from trick_envs.play.session import Session
from trick_envs.play.terminal.card_input import named
from trick_envs.view import TableView, ansi

UNDO = "undo"


def play_plain(session: Session, lines: Iterator[str], tell: Callable[[str], None]) -> None:
    """Plays until the match is over or there are no more lines.

    A line names a card; an empty one names the first that is legal, ``?`` asks for advice, ``undo`` takes back the
    person's last card.

    Args:
        session: the match.
        lines: what the person writes.
        tell: prints a text.
    """
    while not session.match.over:
        if not session.asks:
            _play(session, session.choose(), tell)
            continue
        view = session.view()
        tell(f"\n{_drawn(view)}\na card (? for advice, undo to take back):")
        for line in lines:
            text = line.strip()
            if text == "?":
                hint = session.question().hint
                tell("\n".join([summary(view, hint), *table(view, hint)]))
                continue
            if text == UNDO:
                if session.take_back():
                    break
                tell("you have played no card yet")
                continue
            try:
                kind = named(view, text) if text else view.legal[0]
                if kind not in view.legal:
                    raise InputError(session.why_illegal(kind))
                _play(session, kind, tell)
                break
            except ValueError as error:
                tell(str(error))
        else:
            return
    tell(f"\n{_drawn(session.view())}")


def _drawn(view: TableView) -> str:
    """A table in which the person is called so, too."""
    seats = tuple(replace(seat, name=view.you(seat.seat)) for seat in view.seats)
    return ansi(replace(view, seats=seats))


def _play(session: Session, action: int, tell: Callable[[str], None]) -> None:
    done = session.play(action)
    view = done.look(session.seat)
    for event in done.events(session.seat):
        if isinstance(event, DealScored):
            tell("\n".join([f"\n{_drawn(view)}", tell_event(event, view), *items_told(event, view)]))
        elif isinstance(event, TrickTaken):
            tell(f"{tell_all([event], view)}.")
