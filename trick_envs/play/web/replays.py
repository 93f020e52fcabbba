"""Records in the viewer: every step of a match as every seat saw it, and what policy and search think of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextvars import copy_context
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.routing import Route

from trick_envs.engine.positions import observe, why_illegal
from trick_envs.engine.state import PHASES
from trick_envs.errors import InputError
from trick_envs.matches.events import Play, match_after, number_of_plays
from trick_envs.matches.match import Match
from trick_envs.matches.replay import plays_in, start_match
from trick_envs.play.advice import hint_data, retry_told
from trick_envs.play.characters import names_in
from trick_envs.play.hints import LEAST, Hint, advisor_of
from trick_envs.play.players import is_allowed
from trick_envs.play.review import AGAIN, Belief, OnProgress, belief, duplicate, review
from trick_envs.play.saved import new_id
from trick_envs.play.session import default_player
from trick_envs.play.web.frames import Snapshot, frame_data, look, shot
from trick_envs.play.web.http import answer, owners_of, post
from trick_envs.play.web.pages import about_game
from trick_envs.play.web.sessions import HOUR, Kept, Store
from trick_envs.play.web.validation import MAX_DEALS, MAX_PLAYS, MAX_REPLAYS, ApiError, read_json, read_object, whole
from trick_envs.view.messages import said
from trick_envs.view.table import YOU, seat_name

REVIEW_SECONDS = 120.0  # after which a review on the page judges no further decision
_LOG = logging.getLogger("trick_envs.serve")


class Step(NamedTuple):
    """A moment of a match: before a play, after one that ended a trick which still lies on the table, or the end.

    Attributes:
        number: how many plays there were before.
        play: the play; ``None`` at the end.
        ended: whether it is the moment after the play.
    """

    number: int
    play: Play | None
    ended: bool = False


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


class Replay(Kept):
    """A record, played again, at an address that holds its id.

    Args:
        record: as ``record()`` returns it.
        owners: who looks at it, for limits.

    Attributes:
        lock: for one search at a time.
        match: the match as the record leaves it; if a person has played it, its seats have names.
        steps: its moments, in order.
        job: its review, which begins when somebody asks for it.

    Raises:
        ValueError: if it is too long, or not a record, or its match breaks a rule; says where.
    """

    def __init__(self, record: Mapping[str, Any], owners: tuple[str, ...] = ()) -> None:
        super().__init__(new_id(), owners)
        self.lock = threading.Lock()
        check_size(record)
        self.match = start_match(record)
        self.game = self.match.game
        self.match.names = names_in(record.get("players"), self.game.num_players)
        self.steps: list[Step] = []
        for done in plays_in(record, self.match):
            self.steps.append(Step(done.number - 1, done))
            if done.ends:
                self.steps.append(Step(done.number - 1, done, True))
        self.steps.append(Step(number_of_plays(self.match), None))
        self._hints: dict[int, Hint] = {}
        self.job = ReviewJob(self.match)

    def shot(self, number: int, observer: int | None) -> Snapshot:
        """What an observer saw at a step; ``None``: everything open."""
        at, play, ended = self.steps[number]
        if play is None:
            return look(self.match, observer)
        return shot(play, observer) if ended else Snapshot(play.look_before(observer), at, play.events(observer)[:1])

    def _asked(self, number: int) -> Play | None:
        """The decision at a step; ``None`` if nobody plays there."""
        _, play, ended = self.steps[number]
        return None if ended else play

    def hint(self, number: int) -> Hint | None:
        """What policy and search think of the decision at a step, from what its seat knows; ``None`` if it is none."""
        play = self._asked(number)
        if play is None:
            return None
        with self.lock:
            if number not in self._hints:
                self._hints[number] = advisor_of(self.game).advise(play.before)
            return self._hints[number]

    def retry(self, number: int, kind: int) -> dict[str, Any]:
        """What another card would have been worth at a step, from what its seat knew. JSON-serialisable.

        Args:
            number: of the step.
            kind: the other card.

        Returns:
            ``told``, a sentence; ``gain``: points over the card that was played, and ``error``, half the width of the
            95 % interval, at least ``LEAST``; ``same``: whether it is that card; ``best``: whether the review finds no
            better one; ``short``: by how many points it falls short of that one, 0 if not by more than the noise or if
            nothing was judged.

        Raises:
            ValueError: if nobody plays at the step, or the card was not legal.
        """
        play = self._asked(number)
        if play is None:
            raise InputError("nobody plays at this step")
        if not observe(self.game, play.before, play.seat)[1][kind]:
            raise InputError(why_illegal(self.game, play.before, kind))
        best, most = play.action, 0.0
        if self.job.result is not None:
            judged = self.job.result["decisions"][play.number - 1]
            best, most = int(judged["best"]), float(judged["loss"] or 0.0)
        gain = error = 0.0
        if kind != play.action:
            played, other = (np.array([each], np.int64) for each in (play.action, kind))
            with self.lock:  # in the worlds of the review
                found = advisor_of(self.game).judge(play.before, played, AGAIN, 1, other)
            gain, error = float(found.advantages[0, kind]), max(float(found.errors[0, kind]), LEAST)
        short = 0.0 if kind == best or most - gain <= error else most - gain
        tried = {
            "same": kind == play.action, "gain": round(gain, 2), "error": round(error, 2), "best": kind == best,
            "short": round(short, 2),
        }  # fmt: skip
        return {**tried, "told": retry_told(tried)}

    def rest(self, number: int) -> Match:
        """A match at the position of a step, to be played on."""
        return match_after(self.match, self.steps[number].number)

    def timeline(self) -> dict[str, Any]:
        """The whole record at a glance: for every deal its tricks, and for every trick its steps. JSON-serialisable.

        A trick has ``plays``, each ``[step, seat, card, phase]``, and once it has ended the ``end`` step and ``taker``.
        Cards passed before the first trick form a trick of their own.
        """
        game, names = self.game, self.match.names or [seat_name(seat) for seat in range(self.game.num_players)]
        deals: list[dict[str, Any]] = [{"score": deal.score, "tricks": []} for deal in self.match.deals]
        for number, (_, play, ended) in enumerate(self.steps):
            if play is None:
                continue
            tricks = deals[play.deal]["tricks"]
            if ended:
                tricks[-1].update(end=number, taker=play.trick.taker if play.trick else None)
                continue
            phase = PHASES[int(play.before["phase"][0])]
            group = "pass" if phase == "pass" else int(play.before["tricks"][0])
            if not tricks or (tricks[-1]["name"] != group and phase not in ("pick", "keep")):
                tricks.append({"name": group, "plays": [], "end": None, "taker": None})
            tricks[-1]["plays"].append([number, play.seat, game.deck.format(play.action), phase])
        return {
            "names": [said("words.you") if name == YOU else name for name in names],
            "steps": len(self.steps),
            "deals": deals,
            "score": [int(score) for score in self.match.states["score"][0][: game.num_players]],
            "winners": self.match.winners(),
            "over": self.match.over,
            "seed": str(self.match.seed),  # JavaScript has no room for 64 bits
        }

    def belief(self, number: int, seat: int) -> Belief:
        """What a seat could tell of the others' hands at a step."""
        play = self.steps[number].play
        return belief(self.game, self.match.states if play is None else play.before, seat)

    def opponents(self, seat: int) -> list[str]:
        """The specs of the others, clockwise from a seat's left, as far as a browser may ask for them."""
        found, n = self.match.notes.get("players"), self.game.num_players
        known = found if isinstance(found, list) and len(found) == n else [None] * n
        others = [known[(seat + 1 + number) % n] for number in range(n - 1)]
        return [str(spec) if is_allowed(spec) else default_player(self.game) for spec in others]


class _GivenUpError(Exception):
    """A review stops in the middle."""


class ReviewJob:
    """A review that is being made in the background.

    Args:
        match: the match.

    Attributes:
        state: ``"none"`` until it is asked for, then ``"waiting"``, ``"running"``, ``"done"`` or ``"failed"``.
        done, total: of the work.
        result: for the page, once it is done.
    """

    def __init__(self, match: Match) -> None:
        self._match, self._given_up = match, False
        self.state, self.done, self.total = "none", 0, 0
        self.result: dict[str, Any] | None = None

    def give_up(self) -> None:
        """Stops it: nobody can ask for it any more."""
        self._given_up = True

    def run(self, seat: int) -> None:
        """Makes the review; the decisions of a seat come first."""
        self.state = "running"
        try:
            self._note(0, 0)
            self.result = review_data(self._match, seat, REVIEW_SECONDS, self._note)
            self.state = "done"
        except _GivenUpError:
            self.state = "failed"
        except Exception as error:
            _LOG.error("a review of %r failed", self._match, exc_info=error)
            self.state = "failed"

    def _note(self, done: int, total: int) -> None:
        if self._given_up:
            raise _GivenUpError
        self.done, self.total = done, total

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {"state": self.state, "done": self.done, "total": self.total, "review": self.result}


def review_data(match: Match, seat: int, seconds: float | None, on_progress: OnProgress | None) -> dict[str, Any]:
    """A review for the page, and what the policy scored with the person's cards: ``duplicate``, or ``None``."""
    found = review(match, on_progress, seconds, seat)
    again = duplicate(match, default_player(match.game), seconds)
    return {**found.as_dict(), "duplicate": None if again is None else asdict(again)}


class Replays:
    """The records that people look at.

    Args:
        threads, thinking: for answers, and for those that need a search.

    Attributes:
        kept: the records.
    """

    def __init__(self, threads: CapacityLimiter, thinking: CapacityLimiter) -> None:
        self._threads, self._thinking = threads, thinking
        self.kept: Store[Replay] = Store(
            "replays", MAX_REPLAYS, max_age=24 * HOUR, min_age=HOUR / 60, of_one={"browser": MAX_REPLAYS // 2},
            on_drop=lambda replay: replay.job.give_up(),
        )  # fmt: skip
        self._reviewing = threading.Lock()  # one review after the other: people are playing meanwhile

    def routes(self) -> list[Route]:
        """Below ``/api``."""
        threads, thinking = self._threads, self._thinking
        return [
            Route("/replays", post(self.new, threads), methods=["POST"]),
            Route("/replays/{replay}", answer(self.show, threads)),
            Route("/replays/{replay}/steps/{step}", answer(self.step, threads)),
            Route("/replays/{replay}/hints/{step}", answer(self.hint, thinking)),
            Route("/replays/{replay}/beliefs/{step}", answer(self.belief, thinking)),
            Route("/replays/{replay}/retries/{step}", post(self.retry, thinking), methods=["POST"]),
            Route("/replays/{replay}/review", answer(self.review, threads)),
            Route("/replays/{replay}/review", post(self.start_review, threads), methods=["POST"]),
        ]

    def _of(self, request: Request) -> Replay:
        return self.kept.get(request.path_params["replay"])

    def new(self, request: Request, body: bytes) -> Any:
        """A record to look at: the body is the record itself."""
        record = read_json(body)
        try:
            found = Replay(record, owners_of(request))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ApiError(422, said("refused.no_record", error=error)) from None
        self.kept.put(found)
        return {"id": found.id}

    def show(self, request: Request) -> Any:
        """What a record holds, at a glance."""
        found = self._of(request)
        return {"id": found.id, **about_game(found.game), **found.timeline(), "record": found.match.record()}

    def step(self, request: Request) -> Any:
        """A step as a seat saw it, or with everything open."""
        found, seat = self._of(request), request.query_params.get("seat", "all")
        observer = None if seat == "all" else whole(seat, "seat", 0, found.game.num_players - 1)
        return frame_data(found.shot(_step(request, found), observer))

    def hint(self, request: Request) -> Any:
        """What policy and search think of the decision at a step, from what its seat knew."""
        found = self._of(request)
        hint = found.hint(_step(request, found))
        return None if hint is None else hint_data(hint, found.game)

    def belief(self, request: Request) -> Any:
        """Where a seat could think the unseen cards to be at a step, and where they are."""
        found = self._of(request)
        seat = whole(request.query_params.get("seat"), "seat", 0, found.game.num_players - 1)
        return asdict(found.belief(_step(request, found), seat))

    def retry(self, request: Request, body: bytes) -> Any:
        """How good another card would have been at a step, compared with the one that was played and with the best."""
        found, card = self._of(request), read_object(body, {"card": str}).get("card")
        if card is None:
            raise ApiError(400, "expected card, such as '4Y'")
        try:
            return found.retry(_step(request, found), found.game.deck.parse(card))
        except ValueError as error:
            raise ApiError(422, str(error)) from None

    def start_review(self, request: Request, body: bytes) -> Any:
        """Begins to judge every play of a record, in the background."""
        seat = read_object(body, {"seat": int}).get("seat") or 0
        found = self._of(request)
        if not 0 <= seat < found.game.num_players:
            raise ApiError(400, f"seat: expected a seat of 0 to {found.game.num_players - 1}")
        job = found.job
        with found.lock:
            if job.state in ("none", "failed"):
                job.state, job.done, job.total = "waiting", 0, 0
                spoken = copy_context()  # the review is told in the language in which it is asked for
                threading.Thread(target=spoken.run, args=(self._review, job, seat), daemon=True).start()
        return job.as_dict()

    def _review(self, job: ReviewJob, seat: int) -> None:
        with self._reviewing:
            job.run(seat)

    def review(self, request: Request) -> Any:
        """How far the review of a record is, and the review once it is done."""
        return self._of(request).job.as_dict()


def _step(request: Request, found: Replay) -> int:
    return whole(request.path_params["step"], "step", 0, len(found.steps) - 1)
