"""Match records as text for card players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trick_envs.engine.registry import game_type
from trick_envs.matches.match import Match
from trick_envs.matches.replay import play_deal, replay, start_match


def narrate(record: Mapping[str, Any]) -> str:
    """A record as text: for each deal the hands, every trick with its taker, and the scores.

    Raises:
        ValueError: as ``replay`` does.
    """
    replay(record)
    lines = [f"{game_type(record['game']).title}, {record['num_players']} players, seed {record.get('seed')}"]
    for number, deal in enumerate(record["deals"]):
        lines += ["", *_narrate_deal(record, number, deal)]
    winners = record.get("winners")
    if winners:
        lines += ["", f"match {_scores(record['score'])}", f"won by {', '.join(f'player_{seat}' for seat in winners)}"]
    return "\n".join(lines)


class _Narrator:
    """Writes a line for every trick, and for every card named in an exchange."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._row: list[str] = []
        self._phase, self._tricks = "", 0

    def note(self, match: Match, seat: int, card: str) -> None:
        """Notes a card that is about to be played, after writing what came before."""
        self.tell(match)
        self._phase, self._tricks = match.phase, int(match.states["tricks"][0])
        plays = self._phase in ("lead", "follow")
        self._row.append(f"player_{seat} {card}" if plays else f"player_{seat} to {self._phase} {card}")

    def tell(self, match: Match) -> None:
        """Writes the line that the last card has completed, if it has."""
        if not self._row:
            return
        if match.over or int(match.states["tricks"][0]) > self._tricks:
            taker = f"player_{match.states['taking'][0]}"
            self.lines.append(f"  trick {self._tricks + 1:>2}  {', '.join(self._row)}; taken by {taker}")
        elif self._phase == "pass":
            self.lines.append(f"  {self._row[0]}")
        else:
            return
        self._row = []

    def finish(self, match: Match) -> list[str]:
        """All lines, the running trick's as well."""
        self.tell(match)
        return [*self.lines, *([f"  running   {', '.join(self._row)}"] if self._row else [])]


def _narrate_deal(record: Mapping[str, Any], number: int, deal: Mapping[str, Any]) -> list[str]:
    """One deal, played as a match of its own, so that its last position stays."""
    match, narrator = start_match(record, [deal], whole=False), _Narrator()
    lines = [f"deal {number + 1}, dealt by player_{deal['dealer']}"]
    lines += [f"  player_{seat}  {' '.join(hand)}" for seat, hand in enumerate(deal["hands"])]
    if deal.get("stock"):
        lines.append(f"  stock     {' '.join(deal['stock'])}")
    play_deal(match, number, deal, narrator.note)
    lines += narrator.finish(match)
    score = deal.get("score")
    lines.append(f"  score     {_scores(score)}" if score is not None else "  not finished")
    return lines


def _scores(score: list[int]) -> str:
    return ", ".join(f"player_{seat} {points:+d}" for seat, points in enumerate(score))
