"""Games that people play in a browser: each is a match, the person's seat, and the players of the other seats."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from anyio import Lock

from trick_envs.agents import Agent, make_agent
from trick_envs.agents.spec import parse_spec
from trick_envs.engine.game import Game
from trick_envs.engine.inspect import observe, why_illegal
from trick_envs.engine.rng import MAX_SEED
from trick_envs.engine.state import States
from trick_envs.errors import InputError
from trick_envs.matches.events import number_of_plays
from trick_envs.matches.match import Match
from trick_envs.play.hints import Hint, advisor_of
from trick_envs.play.session import to_you
from trick_envs.play.web.frames import Snapshot, look, play
from trick_envs.play.web.validation import ApiError

LOG = 200  # lines that a reload gets back
SHRINK = 4  # a search shrinks in steps of this, so that a game needs few agents
LEAST_EFFORT = {"pimc": 5, "ismcts": 50}
STAND_IN = "greedy"  # plays on for a player that fails
_LOG = logging.getLogger("trick_envs.serve")


class Kept(Protocol):
    """What a ``Store`` keeps."""

    id: str
    used: float


T = TypeVar("T", bound=Kept)


class Store(Generic[T]):
    """A limited number of things, by their ids; the one unused for longest makes room.

    Args:
        what: what they are, for messages.
        limit: how many there may be.
        max_age: seconds without use after which one is dropped.
        min_age: seconds for which one is safe from making room.
    """

    def __init__(self, what: str, limit: int, max_age: float, min_age: float) -> None:
        self._what, self._limit, self._max_age, self._min_age = what, limit, max_age, min_age
        self._kept: dict[str, T] = {}
        self._lock = threading.Lock()

    def put(self, one: T) -> None:
        """Keeps one more.

        Raises:
            ApiError: if there are too many that were used just now.
        """
        with self._lock:
            now = one.used = time.monotonic()
            for old in [old for old in self._kept.values() if now - old.used > self._max_age]:
                del self._kept[old.id]
            if len(self._kept) >= self._limit:
                oldest = min(self._kept.values(), key=lambda old: old.used)
                if now - oldest.used < self._min_age:
                    raise ApiError(429, f"there are {self._limit} {self._what} already: try again in a few minutes")
                del self._kept[oldest.id]
            self._kept[one.id] = one

    def get(self, name: str) -> T:
        """The one of this id.

        Raises:
            ApiError: if there is none (any more).
        """
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                raise ApiError(404, f"this is none of the {self._what} here: they last as long as the server runs")
            found.used = time.monotonic()
            return found

    def __len__(self) -> int:
        return len(self._kept)


class Load:
    """How many moves are being computed at this moment; requests that wait for their turn do not count."""

    def __init__(self) -> None:
        self.busy = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Load:
        with self._lock:
            self.busy += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.busy -= 1


@lru_cache(maxsize=64)
def _shared(spec: str, game: Game) -> Agent:
    """A player without a state of its own, one for all games: a policy takes megabytes."""
    return make_agent(spec, game)


class Player:
    """The player of a seat; a search shrinks while many games want to move at once.

    Args:
        spec: as ``checked_player`` returns it.
        game: what it plays.
        seed: seed of its choices.
    """

    def __init__(self, spec: str, game: Game, seed: int) -> None:
        self.spec, self._game, self._seed = spec, game, seed
        parsed = parse_spec(spec)
        self._method, self._effort = parsed.method, parsed.effort
        self._agents: dict[int, Agent] = {}
        self.act(1)  # an error now, not in mid-game

    def act(self, busy: int) -> Agent:
        """The agent that plays now.

        Args:
            busy: how many moves are being computed, this one included.
        """
        effort = self._effort
        if self._method is None:
            if self.spec != "random":
                return _shared(self.spec, self._game)
        else:
            while effort * busy > self._effort and effort // SHRINK >= LEAST_EFFORT[self._method]:
                effort //= SHRINK
        if effort not in self._agents:
            spec = self.spec if self._method is None else f"{self._method}:{effort}"
            self._agents[effort] = make_agent(spec, self._game, self._seed)
        return self._agents[effort]


class Session:
    """A game in a browser. Callers hold ``lock``.

    Args:
        match: the match, at its start or later.
        seat: where the person sits.
        specs: the players of the other seats, clockwise from the person's left.

    Attributes:
        id: what its address holds.
        used: when it was last asked for, as ``time.monotonic()``.
        lock: for one request at a time.
        log: what was told about the plays so far.
        notice: what went wrong at the last plays; empty if nothing did.
        ended: whether the person has ended the match before its end.
    """

    def __init__(self, match: Match, seat: int, specs: Sequence[str]) -> None:
        self.id, self.used, self.lock = secrets.token_urlsafe(9), time.monotonic(), Lock()
        self.match, self.game, self.seat = match, match.game, seat
        n, seed = self.game.num_players, secrets.randbelow(MAX_SEED)
        self.players = {
            (seat + 1 + number) % n: Player(spec, self.game, seed ^ number) for number, spec in enumerate(specs)
        }
        self.log: list[str] = []
        self.notice = ""
        self._hint: tuple[int, Hint] | None = None
        self.ended = False

    @property
    def over(self) -> bool:
        """Whether nobody plays any more."""
        return self.match.over or self.ended

    def look(self) -> Snapshot:
        """What the person sees: its seat's view, and everything once the match is over."""
        return look(self.match, None if self.over else self.seat)

    def check(self, number: int) -> None:
        """Refuses a request that was made for another position.

        Args:
            number: how many plays there have been, as the page believes.
        """
        if self.over:
            raise ApiError(409, "this match is over")
        if number != number_of_plays(self.match):
            raise ApiError(409, "this page shows an older position of this game: load it again")

    def play(self, number: int, card: str, load: Load) -> Iterator[Snapshot]:
        """Plays the person's card, then for the others until the person is to act again.

        Raises:
            ApiError: for an illegal card; says the rule.
        """
        self.check(number)
        game, states = self.game, self.match.states
        try:
            action = game.deck.parse(card)
        except ValueError as error:
            raise ApiError(422, str(error)) from None
        if not observe(game, states, self.seat)[1][action]:
            raise ApiError(422, to_you(why_illegal(game, states, action), self.seat))
        self.notice = ""
        yield self._step(action)
        yield from self.play_on(load)

    def play_on(self, load: Load) -> Iterator[Snapshot]:
        """Plays for the others until the person is to act. A player that fails leaves its seat to another one."""
        while not self.over and (seat := int(self.match.states["seat"][0])) != self.seat:
            try:
                action = self._choose(seat, load.busy)
            except Exception as error:
                name, spec = f"player_{seat}", self.players[seat].spec
                if spec == STAND_IN:
                    raise
                _LOG.error("%s, %s, failed", name, spec, exc_info=error)
                self.notice = f"{name} ({spec}) failed ({type(error).__name__}): {STAND_IN} plays on for it"
                self.players[seat] = Player(STAND_IN, self.game, 0)
                continue
            yield self._step(action)

    def _choose(self, seat: int, busy: int) -> int:
        """The card of another seat."""
        observation, mask = observe(self.game, self.match.states, seat)
        action = int(self.players[seat].act(busy).act(observation[None], mask[None], self.match.states)[0])
        if not mask[action]:
            raise InputError(f"{self.players[seat].spec} plays {self.game.deck.names[action]}, which is illegal")
        return action

    def _step(self, action: int) -> Snapshot:
        shot = play(self.match, action, self.seat)
        self.log = [*self.log[1 - LOG :], shot.told]
        return shot

    def hint(self, number: int, states: States) -> Hint:
        """What policy and search think of the person's decision. Needs no ``lock``: it may take long.

        Args:
            number: how many plays there were before it.
            states: the position then.
        """
        known = self._hint
        if known is None or known[0] != number:
            known = self._hint = number, advisor_of(self.game).advise(states)
        return known[1]
