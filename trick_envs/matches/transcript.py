"""Match records as text for card players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trick_envs.engine.positions import dealt
from trick_envs.matches.events import CardPlayed, DealScored, Play, TrickTaken, items_told
from trick_envs.matches.record import Record
from trick_envs.matches.replay import plays_in, start_match


def narrate(record: Mapping[str, Any] | Record) -> str:
    """A record as text: for each deal the hands, every trick with who takes it and why, and what the scores consist of.

    Raises:
        ValueError: as ``replay`` does.
    """
    match = start_match(record)
    narrators = [_Narrator() for _ in record["deals"]]
    for done in plays_in(record, match):
        narrators[done.deal].note(done)
    lines = [f"{match.game.title}, {match.game.num_players} players, seed {record.get('seed')}"]
    for number, (deal, narrator) in enumerate(zip(match.deals, narrators, strict=True), 1):
        hands, stock = dealt(match.game, deal.order)
        lines += ["", f"deal {number}, dealt by player_{deal.dealer}"]
        lines += [f"  player_{seat}  {' '.join(hand)}" for seat, hand in enumerate(hands)]
        lines += [f"  stock     {' '.join(stock)}"] if stock else []
        lines += narrator.finish()
    winners = match.winners()
    if winners:
        lines += ["", f"match {_scores(record['score'])}", f"won by {', '.join(f'player_{seat}' for seat in winners)}"]
    return "\n".join(lines)


class _Narrator:
    """Writes a line for every trick, and for every card named in an exchange."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, list[str], str]] = []  # its beginning, what was named, its end
        self._score: list[str] = []
        self._row: list[str] = []

    def note(self, done: Play) -> None:
        """Notes what a play has done."""
        for event in done.events(None):
            if isinstance(event, CardPlayed) and event.kind is not None:
                plays = event.phase in ("lead", "follow")
                who = f"player_{event.seat}" if plays else f"player_{event.seat} to {event.phase}"
                named = f"{who} {done.game.deck.format(event.kind)}"
                if event.phase == "pass" or (event.phase == "pick" and not self._lines):
                    self._lines.append(("", [named], ""))
                else:  # the winner of a trick picks after it
                    (self._lines[-1][1] if event.phase == "pick" else self._row).append(named)
            elif isinstance(event, TrickTaken):
                why = f": {event.why}" if event.why else ""
                self._lines.append((f"trick {event.number:>2}  ", self._row, f"; taken by player_{event.taker}{why}"))
                self._row = []
            elif isinstance(event, DealScored):
                self._score = [f"score     {_scores(event.scores)}"]
                self._score += items_told(event, done.look(None))

    def finish(self) -> list[str]:
        """All lines, the running trick's as well."""
        running = [("running   ", self._row, "")] if self._row else []
        lines = [f"{begin}{', '.join(row)}{end}" for begin, row, end in [*self._lines, *running]]
        return [f"  {line}" for line in [*lines, *(self._score or ["not finished"])]]


def _scores(score: Sequence[int]) -> str:
    return ", ".join(f"player_{seat} {points:+d}" for seat, points in enumerate(score))
