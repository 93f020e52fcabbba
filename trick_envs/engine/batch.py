"""Many games in lock step: every call plays one card in each, in compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import (
    MOST_GAMES,
    action_numbers,
    reward_mode,
    seat_number,
    seat_numbers,
    whole_number,
    whole_numbers,
)
from trick_envs.engine.build.kernels import MOST_RECORDS
from trick_envs.engine.copies import InPlace, OwnArrays
from trick_envs.engine.game import Game
from trick_envs.engine.history import Events, Recall
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.kernels.batch import Games
from trick_envs.engine.play_log import PlayLog, layout_of, with_history
from trick_envs.engine.positions import why_illegal
from trick_envs.engine.registry import arguments_of, load_game_for
from trick_envs.engine.rng import fresh_seed, game_seeds
from trick_envs.engine.state import States, Streams
from trick_envs.errors import IllegalAction, InputError, ResetNeeded, shown

MIN_GAMES = 1024  # in a thread: with fewer, threads wait longer for each other than they work


class BatchEnv(OwnArrays, Interruptible):
    """``num_envs`` games of one kind in lock step, all seats in turn.

    Every ``step`` names one card in every game (or in some), for whichever seat acts there. A finished match is
    followed at once by the next one, with a seed from its own stream. The arrays below are written in place: copy what
    you keep; what is assigned to them is copied into them.

    Args:
        game: the game, such as ``"pepper"``.
        num_envs: how many games.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length of a match; ``None`` plays what the original plays or recommends.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        num_threads: how many threads share the games. The results are the same for every number. It pays from some
            thousand games on, up to the number of cores.
        observation: ``"position"``, or ``"history"``, with blocks that say when every card was played.
        options: the game's own options.

    Attributes:
        observations: ``(num_envs, D) int8``: what the seat to act sees (``layout`` says what is where).
        action_masks: ``(num_envs, A) int8``: 1 for every legal action.
        seats: ``(num_envs,) int64``: the seat to act.
        rewards: ``(num_envs, players) float32``: what the last step paid every seat.
        terminated: ``(num_envs,) bool``: matches that the last step ended.
        game: the game.
        layout: the blocks of ``observations``.
    """

    observations, action_masks = InPlace[np.int8](), InPlace[np.int8]()
    seats, rewards, terminated = InPlace[np.int64](), InPlace[np.float32](), InPlace[np.bool_]()

    def __init__(
        self,
        game: str,
        num_envs: int,
        num_players: int | None = None,
        num_deals: int | None = None,
        reward: str = "score",
        num_threads: int = 1,
        observation: str = "position",
        **options: Any,
    ) -> None:
        self.num_envs = whole_number(num_envs, 1, MOST_GAMES, "num_envs")
        self.num_threads = whole_number(num_threads, 1, inf, "num_threads")
        self.game: Game = load_game_for(
            "BatchEnv", [*arguments_of(BatchEnv, "game")], game, num_players, num_deals, options
        )
        self.num_players = self.game.num_players
        self.reward = reward
        self._mode = reward_mode(reward)
        self._states = np.zeros(num_envs, self.game.dtype)
        self._log = PlayLog(self.game, self.num_envs) if with_history(observation) else None
        self.layout = layout_of(self.game, observation)
        self.observations = np.zeros((num_envs, self.layout.size), np.int8)
        self._seen = self.observations  # what the kernels write
        if self._log is not None:
            self._seen = np.zeros((num_envs, self.game.layout.size), np.int8)
        self.action_masks = np.zeros((num_envs, self.game.num_actions), np.int8)
        self.seats = np.zeros(num_envs, np.int64)
        self.rewards = np.zeros((num_envs, self.num_players), np.float32)
        self.terminated = np.zeros(num_envs, np.bool_)
        self._template = self.game.template
        self._all = np.arange(self.num_envs)
        self._allowed = np.zeros((self.num_envs, 2), np.int64)  # the legal actions as sets, after a step of all games
        self._allowed_known = self._states_shown = False
        self._started = False

    @property
    def states(self) -> States:
        """``(num_envs,)`` records: the positions.

        They are trusted (in a pickle, too): compiled code checks no bounds, so write only records here that come from
        such ``states`` or from ``game.resample``. A batch whose ``states`` nobody has asked for steps a little faster:
        what is legal is then known from the step before.
        """
        self._states_shown = True  # whoever has them may change them: they are looked at before every step
        self._allowed_known = False
        return self._states

    def reset(self, seed: int | Sequence[int] | npt.NDArray[Any] | None = None) -> None:
        """Starts a match in every game.

        Args:
            seed: game ``i`` gets ``seed + i`` (the match that the other interfaces play with that seed), or a
                sequence with one seed per game. ``None`` continues each game's own random stream.

        Raises:
            ValueError: for an invalid seed.
        """
        if seed is None and not self._started:
            seed = fresh_seed()
        self._reset(None if seed is None else np.array(game_seeds(seed, self.num_envs), np.uint64))

    @whole
    def _reset(self, seeds: Streams | None) -> None:
        states = self._states
        if seeds is None:
            seeds = np.zeros(self.num_envs, np.uint64)
            self.game.kernels.next_seeds(states, self._all, seeds)
        if self.num_envs > MOST_RECORDS:  # where nothing is compiled yet, all of it is compiled side by side
            self.game.kernels.prepare("step_rows", "observe_batch", "reset_batch", "first_illegal", "first_unnamed")
        self._share(self.num_envs, lambda at: self.game.kernels.reset_batch(states[at], self._template, seeds[at]))
        if self._log is not None:
            self._log.begin_matches(states, self._all)
        self._observe()
        self.rewards[:] = 0
        self.terminated[:] = False

    def observe(self) -> None:
        """Recomputes observations, masks and seats, after a change to ``states``.

        Raises:
            ResetNeeded: if there is no match in one of them, or Ctrl-C has stopped the step before.
            ValueError: if the game's ``features`` does not write as many numbers as its ``blocks`` have.
        """
        self._needs_complete()
        if not self._states["num_deals"].all():
            raise ResetNeeded("call reset() before observe()")
        self._observe()

    @whole
    def _observe(self) -> None:
        self._allowed_known = False
        written = self._share(
            self.num_envs,
            lambda at: self.game.kernels.observe_batch(
                self._states[at], self._seen[at], self.action_masks[at], self.seats[at]
            ),
        )
        if written[0] != (size := self.game.layout.size):
            raise InputError(
                f"the game {self.game.name!r}: features(): expected it to end at number {size} of the observation, "
                f"where its blocks end, not at {written[0]}"
            )
        self._show_history(self._all)
        self._started = True

    def step(
        self,
        actions: npt.ArrayLike,
        env_ids: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Plays one card in every game, or in some.

        Args:
            actions: ``(B,)`` integers, one for each game that is played: the action of the seat to act there.
            env_ids: indices of the games to play, ascending; the others do not change, and their rewards are 0.
                ``None`` plays all.

        Returns:
            ``(num_envs, players) float32`` rewards, and ``(num_envs,) bool``: which matches ended. The next step
            overwrites both. Where a match ended, observations already show the next one.

        Raises:
            IllegalAction: names game, seat, card and rule. No game has moved then.
            ResetNeeded: before ``reset``, or when Ctrl-C has stopped the step before.
        """
        if not self._started:
            raise ResetNeeded("call reset() before step()")
        self._needs_complete()
        games = self._all if env_ids is None else self._checked_rows(env_ids)
        chosen = action_numbers(actions, len(games))
        if (first := self._play(games, chosen)) >= 0:
            game, why = self._why_illegal(games, chosen, first)
            raise IllegalAction(f"game {game}: {why}")
        return self.rewards, self.terminated

    def illegal_action(self, actions: npt.ArrayLike, env_ids: npt.ArrayLike) -> tuple[int, str] | None:
        """The first of these games whose action, as of ``step``, is not legal, and why; ``None`` if all are."""
        games = self._checked_rows(env_ids)
        chosen = action_numbers(actions, len(games))
        first = self._first_illegal(games, chosen)
        return None if first < 0 else self._why_illegal(games, chosen, first)

    def _why_illegal(self, games: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], first: int) -> tuple[int, str]:
        i = int(games[first])
        return i, why_illegal(self.game, self._states[i : i + 1], int(actions[first]))

    @whole
    def _play(self, games: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]) -> int:
        """Plays, and shows what follows: -1. Or the first place of an action that is not legal: none is played then."""
        step_rows = self.game.kernels.direct("step_rows")
        if self._allowed_known and self._log is None and self.num_threads == 1:
            return int(step_rows(self._arrays, games, chosen, self._mode, False))
        if (first := self._first_illegal(games, chosen)) >= 0:
            return first
        if self._log is not None:
            self._log.note(self._states, games, chosen)
        self.rewards.fill(0)
        self.terminated.fill(False)
        self._share(len(games), lambda at: step_rows(self._arrays, games[at], chosen[at], self._mode, True))
        self._allowed_known |= games is self._all and not self._states_shown
        if self._log is not None:
            ended = self.terminated[games]
            self._log.follow(self._states, games[~ended])
            self._log.begin_matches(self._states, games[ended])
            self._show_history(games)
        return -1

    @cached_property
    def _arrays(self) -> Games:
        """What a step reads and writes; a copy has its own."""
        return Games(
            self._states, self._template, self._seen, self.action_masks, self.seats, self.rewards, self.terminated,
            self._allowed,
        )  # fmt: skip

    def _first_illegal(self, games: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """The first place of an action that is not legal in its game, or -1."""
        if self._allowed_known:
            return int(self.game.kernels.direct("first_unnamed")(self._allowed, games, actions, self.game.num_actions))
        find = self.game.kernels.first_illegal
        found = self._share(len(games), lambda at: find(self._states, games[at], actions[at]))
        for at, first in zip(self._slices(len(games)), found, strict=True):
            if first >= 0:
                return int(at.start + first)
        return -1

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_pool", "_arrays")}

    def _show_history(self, games: npt.NDArray[np.int64]) -> None:
        if self._log is not None:
            shown = np.empty((len(games), self.layout.size), np.int8)
            shown[:, : self.game.layout.size] = self._seen[games]
            self._log.write(games, self.seats[games], shown)
            self.observations[games] = shown

    @property
    def knows_order(self) -> bool:
        """Whether the order of play is known: with ``observation="history"``."""
        return self._log is not None

    def plays(self, seats: npt.ArrayLike | None = None) -> Events:
        """What has been played in every running match, with ``observation="history"``.

        Args:
            seats: who looks on: a seat for all games, or ``(num_envs,)``; ``None``: the seats to act.

        Returns:
            ``(num_envs, T, 4) int16``: deal, seat, phase, card of every play in order; the card is -1 where the seat
            did not see it. Behind the last play of a match everything is -1.

        Raises:
            ValueError: if there are no such seats.
        """
        log = self._needed_log("plays()")
        looking = seat_numbers(self.seats if seats is None else seats, self.num_players, self.num_envs)
        return log.plays(self._all, looking)

    def history(self, env_id: int, seat: int) -> Events:
        """Everything that a seat has seen in the running match of a game, with ``observation="history"``.

        Returns:
            ``(T, 4) int16``, as ``history`` of the AEC environment.

        Raises:
            ValueError: if there is no such game or seat.
        """
        log = self._needed_log("history()")
        deals = log.deals(whole_number(env_id, 0, self.num_envs - 1, "env_id"))
        return Recall(self.game).history(deals, seat_number(seat, self.num_players))

    def _needed_log(self, caller: str) -> PlayLog:
        if self._log is None:
            raise InputError(f"{caller} needs the order of play: make the games with observation='history'")
        return self._log

    def _slices(self, count: int) -> list[slice]:
        parts = min(self.num_threads, count // MIN_GAMES)
        if parts < 2:
            return [slice(0, count)]
        ends = [count * part // parts for part in range(parts + 1)]
        return [slice(start, end) for start, end in pairwise(ends)]

    def _share(self, count: int, work: Callable[[slice], Any]) -> list[Any]:
        """What ``work`` returns for every thread's part of ``count`` games; all have ended when this returns."""
        first, *others = self._slices(count)
        if not others:
            return [work(first)]
        futures = [self._threads().submit(work, part) for part in others]
        try:
            own = work(first)
        finally:
            wait(futures)
        return [own, *(future.result() for future in futures)]

    def _threads(self) -> ThreadPoolExecutor:
        """This batch's threads, besides the caller's; a copy, or a forked process, has its own."""
        process = os.getpid()
        if self._pool is None or self._pool[0] != process:
            self._pool = process, ThreadPoolExecutor(self.num_threads - 1, "trick_envs kernels")
        return self._pool[1]

    _pool: tuple[int, ThreadPoolExecutor] | None = None

    def _checked_rows(self, env_ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
        games = whole_numbers(env_ids)
        inside = games is not None and games.ndim == 1 and ((games >= 0) & (games < self.num_envs)).all()
        if games is None or not inside or (games[1:] <= games[:-1]).any():
            raise InputError(
                f"env_ids: expected ascending whole numbers of 0 to {self.num_envs - 1}, not {shown(env_ids)}"
            )
        return np.array(games, np.int64)

    def __repr__(self) -> str:
        return f"<BatchEnv of {self.num_envs} x {self.game}>"
