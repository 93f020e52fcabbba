"""Two players of an arena: their deals, played in chunks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from trick_envs.agents import Actions, Agent, make_agent
from trick_envs.agents.agent import named_if_it_raises, observation_for
from trick_envs.agents.spec import LLM, PolicyFiles
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game
from trick_envs.errors import InputError
from trick_envs.evaluation.arena.schedule import MAX_DEALS, Plan, Player
from trick_envs.evaluation.duplicate import (
    Result,
    make_result,
    margins_of,
    means,
    play_points,
    reverse_margins,
    short_name,
)
from trick_envs.evaluation.intervals import (
    half_width_95,
    half_width_at_any_time_95,
    standard_errors_95,
    standard_errors_at_any_time_95,
)
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import is_list, is_number
from trick_envs.matches.loop import choose_actions

CHUNK = 20  # deals that are played and saved together, and after which a pair checks whether it may stop
MIN_DEALS = 100  # before a pair may stop early: with fewer deals the estimate of the interval itself is too noisy


@dataclass(frozen=True)
class Task:
    """A chunk to play."""

    game: Game
    players: tuple[Player, Player]
    purpose: Purpose
    seed: int
    first: int
    deals: int
    seatings: str = "alone"


@dataclass(frozen=True)
class Chunk:
    """A chunk that was played: a line of the log.

    Attributes:
        players: their ids.
        first: number of the first deal.
        margins: per deal the first player's margin over the second, both ways, as ``margins_of`` returns them.
        decisions: how many each of the two has made.
        seconds: how long they took.
    """

    players: tuple[str, str]
    first: int
    margins: list[list[float]]
    decisions: tuple[int, int]
    seconds: tuple[float, float]

    @classmethod
    def from_dict(cls, content: dict[str, Any], ways: int) -> Chunk:
        """From JSON.

        Args:
            content: what ``dataclasses.asdict`` has made of a chunk.
            ways: numbers of a deal: 2 or 3.

        Raises:
            ValueError: if it is something else.
        """
        values: list[Any] = [content.get(each.name) for each in fields(cls)]
        players, first, margins, decisions, seconds = values
        deals = margins if isinstance(margins, list) else []
        if (
            len(content) != len(fields(cls))
            or not is_list(players, 2, str)
            or not is_number(first, int)
            or not 0 <= first < MAX_DEALS
            or not 1 <= len(deals) <= CHUNK
            or not all(is_list(deal, ways, float) for deal in deals)
            or not is_list(decisions, 2, int)
            or not is_list(seconds, 2, float)
            or min(*decisions, *seconds) < 0
        ):
            raise InputError("expected a chunk of an arena")
        return cls(tuple(players), first, margins, tuple(decisions), tuple(seconds))


class _Timed:
    """A player whose decisions are counted and timed."""

    def __init__(self, agent: Agent) -> None:
        self.name, self.seed = agent.name, agent.seed
        self.observation = observation_for(agent)
        self._agent, self.decisions, self.seconds = agent, 0, 0.0

    def act(self, *seen: Any) -> Actions:
        began = time.perf_counter()
        with named_if_it_raises(self._agent):
            actions = self._agent.act(*seen)
        self.seconds += time.perf_counter() - began
        self.decisions += len(seen[0])
        return actions


_agents: dict[tuple[Player, Game], Agent] = {}


def _agent(player: Player, game: Game, files: PolicyFiles) -> Agent:
    """The player, loaded once per process, and compiled by a first decision."""
    if (player, game) in _agents:
        return _agents[player, game]
    agent = _agents[player, game] = make_agent(player.spec, game, files=files)
    if player.spec.startswith(LLM):  # nothing to compile, and every question costs
        return agent
    games = BatchEnv(game.name, 1, game.num_players, 1, "score", observation=observation_for(agent), **game.options)
    games.reset(0)
    choose_actions(games, (agent,), np.zeros((1, game.num_players), np.int64), np.zeros(1, np.int64))  # compiles it
    return agent


def play_chunk(task: Task, files: PolicyFiles) -> Chunk:
    """Plays a chunk of deals, both ways; ``files`` has the players' policies."""
    one, other = (_Timed(_agent(player, task.game, files)) for player in task.players)
    points = play_points(task.game, (one, other), task.purpose, task.seed, task.first, task.deals, None, task.seatings)
    margins = margins_of(task.game, points, task.seatings)
    return Chunk(
        (task.players[0].id, task.players[1].id), task.first, margins.tolist(),
        (one.decisions, other.decisions), (round(one.seconds, 6), round(other.seconds, 6)),
    )  # fmt: skip


class Pair:
    """Two players and what they have played.

    Attributes:
        players: in the order of their digests and specs, whatever the order in which they were given. So the results of
            a policy do not depend on where its file lies.
        margins: as in a ``Chunk``, of the deals that count: from the first one up to the first that is missing, or up
            to the one after which enough was known.
    """

    def __init__(self, plan: Plan, one: Player, other: Player) -> None:
        self.players = (one, other) if one.rank < other.rank else (other, one)
        self.margins: list[list[float]] = []
        self._plan = plan
        self._chunk = 1 if one.searches or other.searches else CHUNK
        self._chunks: dict[int, Chunk] = {}
        self._started: set[int] = set()
        self._all_before = 0  # have been started
        self._enough = False
        self._interval = half_width_at_any_time_95 if plan.until_decided else half_width_95
        self._errors = standard_errors_at_any_time_95 if plan.until_decided else standard_errors_95
        self._sums = 0.0, 0.0  # of the margins of the deals that count, and of their squares

    @property
    def ids(self) -> tuple[str, str]:
        """The players' ids."""
        return self.players[0].id, self.players[1].id

    @property
    def is_open(self) -> bool:
        """Whether more deals are needed."""
        return len(self.margins) < self._plan.deals and not self._enough

    @property
    def result(self) -> Result:
        """The first player against the second, on the deals that count."""
        return make_result(self.players[0].spec, self.players[1].spec, self.margins, self._interval)

    @property
    def reverse(self) -> Result:
        """The second player against the first."""
        return make_result(self.players[1].spec, self.players[0].spec, reverse_margins(self.margins), self._interval)

    @property
    def note(self) -> str:
        """The result so far, in a line."""
        if not self.margins:
            return ""
        one, other = (short_name(player.spec) for player in self.players)
        margin, half_width = self._estimate()
        return f"{one} over {other}: {margin:+.2f} ± {half_width:.2f}"

    def _estimate(self) -> tuple[float, float]:
        """Margin and half width of ``result``, but for rounding, from sums: it is asked for after every chunk."""
        count, (total, squares) = len(self.margins), self._sums
        errors = self._errors(count)
        if not math.isfinite(errors):
            return total / count, math.inf
        variance = max(squares - total**2 / count, 0.0) / (count - 1)
        return total / count, errors * math.sqrt(variance / count)

    def next_task(self, ahead: int) -> Task | None:
        """The next chunk that has not been started, if more deals are needed.

        Args:
            ahead: how many chunks may be played beyond the deals that count, if the pair may stop early.
        """
        plan, begin = self._plan, len(self.margins)
        if self.is_open:
            end = min(begin + ahead * self._chunk, plan.deals) if plan.may_stop_early else plan.deals
            for first in range(max(begin, self._all_before), end, self._chunk):
                if first not in self._chunks and first not in self._started:
                    self._all_before = first
                    return Task(
                        plan.game, self.players, plan.purpose, plan.seed, first, self._length(first), plan.seatings
                    )
        return None

    def _length(self, first: int) -> int:
        return min(self._chunk, self._plan.deals - first)

    def start(self, task: Task) -> None:
        """Marks a chunk as being played."""
        self._started.add(task.first)

    def add(self, chunk: Chunk) -> None:
        """Counts a finished chunk; one that does not fit the plan's chunks is ignored."""
        if chunk.first % self._chunk or len(chunk.margins) != self._length(chunk.first):
            return
        self._chunks[chunk.first] = chunk
        while self.is_open and len(self.margins) in self._chunks:
            margins = self._chunks[len(self.margins)].margins
            self.margins += margins
            deals = means(margins)
            self._sums = self._sums[0] + float(deals.sum()), self._sums[1] + float(deals @ deals)
            if self._plan.may_stop_early and len(self.margins) % CHUNK == 0:
                self._enough = self._knows_enough()

    def _knows_enough(self) -> bool:
        margin, half_width = self._estimate()
        rounding, wanted = 1e-6 * (1 + abs(margin)), self._plan.half_width or 0.0
        if self._plan.until_decided:
            if abs(margin) < half_width - rounding and abs(margin) + half_width > wanted + rounding:
                return False
        elif half_width > wanted + rounding:
            return False
        if self._plan.until_decided:  # its interval knows that it is looked at again and again, also with few deals
            return self.result.verdict(self._plan.half_width) != "undecided"
        assert self._plan.half_width is not None
        return len(self.margins) >= MIN_DEALS and self.result.half_width <= self._plan.half_width

    def speed(self) -> Iterator[tuple[Player, float]]:
        """Decisions per second of each player."""
        for i, player in enumerate(self.players):
            seconds = sum(chunk.seconds[i] for chunk in self._chunks.values())
            yield player, sum(chunk.decisions[i] for chunk in self._chunks.values()) / max(seconds, 1e-9)
