"""A match as plain text: what is printed when input or output is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trick_envs.play.advice import Advice, summary, table
from trick_envs.play.hints import advisor_of
from trick_envs.play.session import Session
from trick_envs.play.terminal.card_input import named
from trick_envs.view import ansi


def play_plain(session: Session, lines: Iterator[str], tell: Callable[[str], None]) -> None:
    """Plays until the match is over or there are no more lines.

    A line names a card; an empty one names the first that is legal, ``?`` asks for advice.

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
        tell(f"\n{ansi(view)}\na card (? for advice):")
        for line in lines:
            text = line.strip()
            if text == "?":
                advice = Advice(session.number, advisor_of(session.game).advise(session.match.states))
                tell("\n".join([summary(view, advice), *table(view, advice)]))
                continue
            try:
                _play(session, named(view, text) if text else view.legal[0], tell)
                break
            except ValueError as error:
                tell(str(error))
        else:
            return
    tell(f"\n{ansi(session.view())}")


def _play(session: Session, action: int, tell: Callable[[str], None]) -> None:
    ended = session.play(action)
    if ended is not None and ended.deal_score is not None:
        view = ended.trick
        scores = ", ".join(
            f"{seat.name} {points:+d}" for seat, points in zip(view.seats, ended.deal_score, strict=True)
        )
        tell(f"\n{ansi(view)}\nthis deal: {scores}")
