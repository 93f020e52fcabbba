"""Sessions that people play in a browser, and how many there may be at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from anyio import CapacityLimiter, Lock

from trick_envs.matches.events import DealScored, match_after, play, plays_of
from trick_envs.play.players import STAND_IN
from trick_envs.play.saved import new_id
from trick_envs.play.session import Session
from trick_envs.play.web.frames import Snapshot, event_data, look, shot
from trick_envs.play.web.validation import ApiError
from trick_envs.view.messages import said
from trick_envs.view.table import seat_name

_LOG = logging.getLogger("trick_envs.serve")


class Kept:
    """What a ``Store`` keeps.

    Args:
        name: its id.
        owners: who put it there: ``"browser …"``, ``"address …"``.

    Attributes:
        used: when it was last asked for, as ``time.monotonic()``.
    """

    def __init__(self, name: str, owners: tuple[str, ...] = ()) -> None:
        self.id, self.owners, self.used = name, owners, 0.0

    @property
    def weight(self) -> int:
        """0 if nobody misses it, such as a game without a card; -1 if it must not make room now."""
        return 1


T = TypeVar("T", bound=Kept)
HOUR = 3600.0  # seconds
UNTOUCHED = 60.0  # seconds after which something of no weight makes room


class Store(Generic[T]):
    """A limited number of things, by their ids. What nobody misses makes room first, then what is unused for longest.

    Args:
        what: what they are: a key of the messages.
        limit: how many there may be.
        max_age: seconds without use after which one is dropped.
        min_age: seconds for which one is safe from making room for others' things.
        of_one: how many one owner may have, by the first word of the owner's name: then its own make room.
        on_drop: is called with each that is dropped.
    """

    def __init__(
        self,
        what: str,
        limit: int,
        max_age: float,
        min_age: float,
        of_one: Mapping[str, int] = MappingProxyType({}),
        on_drop: Callable[[T], None] = lambda one: None,
    ) -> None:
        self._what, self._limit, self._max_age, self._min_age = what, limit, max_age, min_age
        self._of_one, self._on_drop = of_one, on_drop
        self._kept: dict[str, T] = {}
        self._lock = threading.Lock()

    def put(self, one: T) -> None:
        """Keeps one more.

        Raises:
            ApiError: if there are too many that were used just now.
        """
        with self._lock:
            now = one.used = time.monotonic()
            self._drop([old for old in self._kept.values() if now - old.used > self._max_age])
            for owner in one.owners:
                most = self._of_one.get(owner.partition(" ")[0])
                own = [old for old in self._kept.values() if owner in old.owners]
                if most is not None and len(own) >= most:
                    self._drop(_least(own)[: len(own) - most + 1])
            if len(self._kept) >= self._limit:
                ages = {0: UNTOUCHED, 1: self._min_age}
                ready = [old for old in self._kept.values() if old.weight >= 0 and now - old.used >= ages[old.weight]]
                if not ready:
                    raise ApiError(429, said("refused.full", limit=self._limit, what=said(f"kept.{self._what}")))
                self._drop(_least(ready)[:1])
            self._kept[one.id] = one

    def _drop(self, old: Iterable[T]) -> None:
        for each in old:
            del self._kept[each.id]
            self._on_drop(each)

    def get(self, name: str) -> T:
        """The one of this id.

        Raises:
            ApiError: if there is none (any more).
        """
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                raise ApiError(404, said("refused.unknown", what=said(f"kept.{self._what}")))
            found.used = time.monotonic()
            return found

    def of(self, owner: str) -> list[T]:
        """Those of an owner, by the owner's name."""
        with self._lock:
            return [one for one in self._kept.values() if owner in one.owners]

    def drop(self, name: str) -> None:
        """Keeps this one no longer."""
        with self._lock:
            self._drop([self._kept[name]] if name in self._kept else [])

    def __len__(self) -> int:
        return len(self._kept)


def _least(kept: Iterable[T]) -> list[T]:
    """Those that may make room, what nobody misses any more and what is unused for longest first."""
    fresh = time.monotonic() - UNTOUCHED
    return sorted(
        (one for one in kept if one.weight >= 0), key=lambda one: (one.weight > 0 or one.used > fresh, one.used)
    )


class WebSession(Kept):
    """A session in a browser, at an address that holds its id. Callers hold ``lock``.

    Args:
        session: the person's match.
        name: the id of a game that is known already; a new one by default.
        owners: who plays it, for limits.

    Attributes:
        lock: for one request at a time.
        notice: what went wrong at the last plays; empty if nothing did.
    """

    def __init__(self, session: Session, name: str = "", owners: tuple[str, ...] = ()) -> None:
        super().__init__(name or new_id(), owners)
        self.session, self.lock = session, Lock()
        self.notice, self._told_unsaved = "", ""

    @property
    def weight(self) -> int:
        """0 before the person's first card; -1 while a request is answered."""
        return -1 if self.lock.locked() else int(self.session.begun)

    def not_saved(self) -> str:
        """That the game is not saved, and why: once for each reason."""
        told, self._told_unsaved = self._told_unsaved, self.session.unsaved
        if not self.session.unsaved or told == self.session.unsaved:
            return ""
        return said("refused.lasts", error=self.session.unsaved)

    @property
    def stamp(self) -> str:
        """Changes with everything that a page shows: other tabs ask for it."""
        taken_back, number = self.session.moment
        return f"{taken_back}.{number}.{int(self.session.over)}{'+' * self.session.gone_on_elsewhere}"

    def last_deal(self) -> dict[str, Any] | None:
        """What the points of the last finished deal are for: its event; ``totals``: the points of the match."""
        seat, ended = self.session.seat, [done for done in plays_of(self.session.match) if done.score is not None]
        if not ended:
            return None
        view = ended[-1].look(seat)
        told = next(event for event in ended[-1].events(seat) if isinstance(event, DealScored))
        return {**event_data(told, view), "totals": [seat.score for seat in view.seats]}

    def look(self) -> Snapshot:
        """What the person sees: its seat's view, and everything once the match is over."""
        return look(self.session.match, None if self.session.over else self.session.seat)

    def deal_so_far(self) -> list[Snapshot]:
        """The running deal, play by play, as the person has seen it; before its first card, the deal before."""
        match, seat = self.session.match, self.session.seat
        played = [deal for deal in match.deals if deal.actions]
        again = match_after(match, sum(len(deal.actions) for deal in played[:-1]))
        actions = [action for _, action in played[-1].actions] if played else []
        return [look(again, seat), *(shot(play(again, action), seat) for action in actions)]

    def check(self, number: int) -> None:
        """Refuses a request that was made for another position.

        Args:
            number: how many plays there have been, as the page believes.
        """
        if self.session.over:
            raise ApiError(409, said("refused.over"))
        if number != self.session.number:
            raise ApiError(409, said("refused.older"))

    def play(self, number: int, card: str, threads: CapacityLimiter) -> Iterator[Snapshot]:
        """Plays the person's card, then for the others as ``play_on`` does.

        Raises:
            ApiError: for an illegal card; says the rule.
        """
        self.check(number)
        try:
            action = self.session.game.deck.parse(card)
        except ValueError as error:
            raise ApiError(422, str(error)) from None
        if wrong := self.session.why_illegal(action):
            raise ApiError(422, wrong)
        self.notice = ""
        yield self._step(action)
        yield from self.play_on(threads)

    def play_on(self, threads: CapacityLimiter) -> Iterator[Snapshot]:
        """Plays for the others until the person is to act. A player that fails leaves its seat to another one.

        Searches shrink while many of the threads are at work; requests that wait for their turn have none.
        """
        session = self.session
        while not session.over and not session.asks:
            try:
                action = session.choose(threads.borrowed_tokens)
            except Exception as error:
                seat = session.acts
                name, spec = seat_name(seat), session.players[seat]
                called = session.view().you(seat)
                if not session.stand_in(seat):
                    raise
                _LOG.error("%s, %s, failed", name, spec, exc_info=error)
                told = {"name": called, "spec": spec, "error": type(error).__name__, "other": STAND_IN}
                self.notice = said("refused.stands_in", **told)
                continue
            yield self._step(action)

    def _step(self, action: int) -> Snapshot:
        return shot(self.session.play(action), self.session.seat)
