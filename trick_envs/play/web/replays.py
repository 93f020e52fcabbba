"""Records in the viewer: every step of a match as every seat saw it, and what policy and search think of it."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from trick_envs.engine.deal import Trick
from trick_envs.engine.game import Game
from trick_envs.engine.state import PHASES, States
from trick_envs.errors import InputError
from trick_envs.matches.events import Play, match_after, number_of_plays, plays_of
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.play.characters import names_in
from trick_envs.play.hints import Hint, advisor_of
from trick_envs.play.review import Belief, OnProgress, belief, duplicate, review
from trick_envs.play.session import default_player
from trick_envs.play.web.frames import Snapshot, shot
from trick_envs.play.web.validation import MAX_DEALS, MAX_PLAYS, ApiError, checked_player
from trick_envs.view import table_view
from trick_envs.view.table import seat_name

REVIEW_SECONDS = 120.0  # after which a review on the page judges no further decision
_LOG = logging.getLogger("trick_envs.serve")


@dataclass(frozen=True)
class Step:
    """A moment of a match: before a play, or after one that ended a trick, when this still lies on the table.

    Attributes:
        states: the position before the play.
        previous: the last finished trick.
        number: how many plays there were before.
        deal: the number of the deal, from 0.
        seat: who plays.
        action: the card that is named; -1 at the end of the record.
        end: the play, if it has ended a trick and this is the moment after it; ``None`` before it.
    """

    states: States
    previous: Trick | None
    number: int
    deal: int
    seat: int = -1
    action: int = -1
    end: Play | None = None


def check_size(record: Any) -> None:
    """Refuses what is too long to be kept.

    Raises:
        ValueError: says what is too long.
    """
    if not isinstance(record, Mapping):
        return
    deals, length = record.get("deals"), record.get("num_deals")
    if (isinstance(length, int) and length > MAX_DEALS) or (isinstance(deals, list) and len(deals) > MAX_DEALS):
        raise InputError(f"this record is of more than {MAX_DEALS} deals")
    if isinstance(deals, list):
        listed = [deal.get("actions") for deal in deals if isinstance(deal, Mapping)]
        if sum(len(actions) for actions in listed if isinstance(actions, list)) > MAX_PLAYS:
            raise InputError(f"this record has more than {MAX_PLAYS} plays")


class Replay:
    """A record, played again.

    Args:
        record: as ``record()`` returns it.

    Attributes:
        id: what its address holds.
        used: when it was last asked for, as ``time.monotonic()``.
        lock: for one search at a time.
        match: the match as the record leaves it; if a person has played it, its seats have names.
        steps: its moments, in order.
        job: its review, if somebody has asked for it.

    Raises:
        ValueError: if it is too long, or not a record, or its match breaks a rule; says where.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.id, self.used, self.lock = secrets.token_urlsafe(9), time.monotonic(), threading.Lock()
        check_size(record)
        self.match = replay(record)
        self.match.names = names_in(self.match.notes.get("players"), self.match.game.num_players)
        self.game = self.match.game
        self.steps: list[Step] = []
        self._done: list[Play] = []
        for done in plays_of(self.match):
            self._done.append(done)
            step = Step(done.before, done.previous, done.number - 1, done.deal, done.seat, done.action)
            self.steps.append(step)
            if done.ends:
                self.steps.append(replace(step, end=done))
        match = self.match
        last = len(match.deals) - 1
        self.steps.append(Step(match.states.copy(), match.last_trick, number_of_plays(match), last))
        self._hints: dict[int, Hint] = {}
        self.job: ReviewJob | None = None

    def shot(self, number: int, observer: int | None) -> Snapshot:
        """What an observer saw at a step; ``None``: everything open."""
        step = self.steps[number]
        if step.end is not None:
            return shot(step.end, observer)
        view = table_view(self.game, step.states, observer, step.previous, names=self.match.names)
        events = () if step.action < 0 else self._done[step.number].events(observer)
        return Snapshot(view, step.number, events[:1])

    def hint(self, number: int) -> Hint | None:
        """What policy and search think of the decision at a step, from what its seat knows; ``None`` if it is none."""
        step = self.steps[number]
        if step.action < 0 or step.end is not None:
            return None
        with self.lock:
            if number not in self._hints:
                self._hints[number] = advisor_of(self.game).advise(step.states)
            return self._hints[number]

    def rest(self, number: int) -> Match:
        """A match at the position of a step, to be played on."""
        return match_after(self.match, self.steps[number].number)

    def timeline(self) -> dict[str, Any]:
        """The whole record at a glance: for every deal its tricks, and for every trick its steps. JSON-serialisable.

        A trick has ``plays``, each ``[step, seat, card, phase]``, and once it has ended the ``end`` step and ``taker``.
        Cards passed before the first trick form a trick of their own.
        """
        game = self.game
        deals: list[dict[str, Any]] = [
            {"dealer": deal.dealer, "score": deal.score, "tricks": []} for deal in self.match.deals
        ]
        for number, step in enumerate(self.steps):
            if step.action < 0:
                continue
            tricks = deals[step.deal]["tricks"]
            if step.end is None:
                phase = PHASES[int(step.states["phase"][0])]
                group = "pass" if phase == "pass" else int(step.states["tricks"][0])
                if not tricks or (tricks[-1]["name"] != group and phase not in ("pick", "keep")):
                    tricks.append({"name": group, "plays": [], "end": None, "taker": None})
                tricks[-1]["plays"].append([number, step.seat, game.deck.format(step.action), phase])
            else:
                tricks[-1].update(end=number, taker=step.end.trick.taker if step.end.trick else None)
        return {
            "names": list(self.match.names) or [seat_name(seat) for seat in range(game.num_players)],
            "steps": len(self.steps),
            "deals": deals,
            "score": [int(score) for score in self.match.states["score"][0][: game.num_players]],
            "winners": self.match.winners(),
            "over": self.match.over,
            "seed": str(self.match.seed),  # JavaScript has no room for 64 bits
        }

    def belief(self, number: int, seat: int) -> Belief:
        """What a seat could tell of the others' hands at a step."""
        return belief(self.game, self.steps[number].states, seat)

    def opponents(self, seat: int) -> list[str]:
        """The specs of the others, clockwise from a seat's left, as far as a browser may ask for them."""
        found, n = self.match.notes.get("players"), self.game.num_players
        known = found if isinstance(found, list) and len(found) == n else [None] * n
        return [_allowed(known[(seat + 1 + number) % n], self.game) for number in range(n - 1)]


def _allowed(spec: Any, game: Game) -> str:
    try:
        return checked_player(spec)
    except ApiError:
        return default_player(game)


class ReviewJob:
    """A review that is being made in the background.

    Args:
        match: the match.
        seat: whose decisions come first.

    Attributes:
        state: ``"waiting"``, ``"running"``, ``"done"`` or ``"failed"``.
        done, total: of the work.
        result: for the page, once it is done.
    """

    def __init__(self, match: Match, seat: int) -> None:
        self._match, self._seat = match, seat
        self.state, self.done, self.total = "waiting", 0, 0
        self.result: dict[str, Any] | None = None

    def run(self) -> None:
        """Makes the review."""
        self.state = "running"
        try:
            self.result = review_data(self._match, self._seat, REVIEW_SECONDS, self._note)
            self.state = "done"
        except Exception as error:
            _LOG.error("a review of %r failed", self._match, exc_info=error)
            self.state = "failed"

    def _note(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {"state": self.state, "done": self.done, "total": self.total, "review": self.result}


def review_data(match: Match, seat: int, seconds: float | None, on_progress: OnProgress | None) -> dict[str, Any]:
    """A review for the page, and what the policy scored with the person's cards: ``duplicate``, or ``None``."""
    found = review(match, on_progress, seconds, seat)
    again = duplicate(match, default_player(match.game), seconds)
    return {**found.as_dict(), "duplicate": None if again is None else asdict(again)}
