"""Many games in lock step: every call plays one card in each, in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.deprecation import warn_renamed
from trick_envs.engine.arguments import load_game_for
from trick_envs.engine.game import Game
from trick_envs.engine.inspect import why_illegal
from trick_envs.engine.kernels.playing import REWARDS
from trick_envs.engine.rng import MAX_SEED, checked_seed, fresh_seed
from trick_envs.engine.threads import Crew
from trick_envs.errors import IllegalAction, InputError

MIN_GAMES = 1024  # in a thread: with fewer, threads wait longer for each other than they work


def reward_mode(reward: str) -> int:
    """The number of a reward mode.

    Raises:
        ValueError: if there is no such mode.
    """
    if reward not in REWARDS:
        raise InputError(f"reward: expected one of {', '.join(map(repr, REWARDS))}, not {reward!r}")
    return REWARDS.index(reward)


class BatchEnv:
    """``num_envs`` games of one kind in lock step, all seats in turn.

    Every ``step`` names one card in every game (or in some), for whichever seat acts there. A finished match is
    followed at once by the next one, with a seed from its own stream. The arrays below are written in place: copy what
    you keep.

    Args:
        game: the game, such as ``"pepper"``.
        num_envs: how many games.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length of a match; ``None`` plays what the original plays or recommends.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        num_threads: how many threads share the games. The results are the same for every number. It pays from some
            thousand games on, up to the number of cores.
        options: the game's own options.

    Attributes:
        observations: ``(num_envs, D) int8``: what the seat to act sees (``game.layout`` says what is where).
        action_masks: ``(num_envs, A) int8``: 1 for every legal action.
        seats: ``(num_envs,) int64``: the seat to act.
        rewards: ``(num_envs, players) float32``: what the last step paid every seat.
        terminated: ``(num_envs,) bool``: matches that the last step ended.
        states: ``(num_envs,)`` records: the positions. They are trusted (in a pickle, too): compiled code checks no
            bounds, so write only records here that come from such ``states`` or from ``game.resample``.
        game: the game.
    """

    def __init__(
        self,
        game: str,
        num_envs: int,
        num_players: int | None = None,
        num_deals: int | None = None,
        reward: str = "score",
        num_threads: int = 1,
        **options: Any,
    ) -> None:
        for name, number in (("num_envs", num_envs), ("num_threads", num_threads)):
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                raise InputError(f"{name}: expected a whole number of 1 or more, not {number!r}")
        self.game: Game = load_game_for(BatchEnv.__init__, game, num_players, num_deals, options)
        self.num_envs, self.num_players = int(num_envs), self.game.num_players
        self.num_threads = int(num_threads)
        self.reward = reward
        self._mode = reward_mode(reward)
        self.states = np.zeros(num_envs, self.game.dtype)
        self.observations = np.zeros((num_envs, self.game.layout.size), np.int8)
        self.action_masks = np.zeros((num_envs, self.game.num_actions), np.int8)
        self.seats = np.zeros(num_envs, np.int64)
        self.rewards = np.zeros((num_envs, self.num_players), np.float32)
        self.terminated = np.zeros(num_envs, np.bool_)
        self._all = np.arange(self.num_envs)
        self._cards = np.zeros(self.num_envs, np.int64)
        self._started = False
        self._crew = Crew(self.num_threads)

    def reset(self, seed: int | Sequence[int] | npt.NDArray[Any] | None = None) -> None:
        """Starts a match in every game.

        Args:
            seed: game ``i`` gets ``seed + i`` (the match that the other interfaces play with that seed), or a
                sequence with one seed per game. ``None`` continues each game's own random stream.

        Raises:
            ValueError: for an invalid seed.
        """
        if seed is None and self._started:
            seeds = [int(self.game.kernels.next_seed(self.states[i : i + 1])) for i in range(self.num_envs)]
        elif seed is None or isinstance(seed, (int, np.integer)):
            first = fresh_seed() if seed is None else checked_seed(seed)
            seeds = [(first + i) % (MAX_SEED + 1) for i in range(self.num_envs)]
        else:
            seeds = [checked_seed(one) for one in seed]
            if len(seeds) != self.num_envs:
                raise InputError(f"seed: expected {self.num_envs} seeds, one per game, not {len(seeds)}")
        drawn, states = np.array(seeds, np.uint64), self.states
        if not self._started:  # where nothing is compiled yet, all of it is compiled side by side
            self._prepare(drawn)
        self._share(self.num_envs, lambda at: self.game.kernels.reset_batch(states[at], self.game.template, drawn[at]))
        self.observe()
        self.rewards[:] = 0
        self.terminated[:] = False

    def observe(self) -> None:
        """Recomputes observations, masks and seats, after a change to ``states``.

        Raises:
            ValueError: if the game's ``features`` does not write as many numbers as its ``blocks`` have.
        """
        written = self._share(
            self.num_envs,
            lambda at: self.game.kernels.observe_batch(
                self.states[at], self.observations[at], self.action_masks[at], self.seats[at]
            ),
        )
        if written[0] != (size := self.game.layout.size):
            raise InputError(
                f"the game {self.game.name!r}: features(): expected it to end at number {size} of the observation, "
                f"where its blocks end, not at {written[0]}"
            )
        self._started = True

    def step(
        self,
        actions: npt.ArrayLike,
        env_ids: npt.ArrayLike | None = None,
        *,
        rows: npt.ArrayLike | None = None,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Plays one card in every game, or in some.

        Args:
            actions: ``(B,)`` integers, one for each game that is played: the action of the seat to act there.
            env_ids: indices of the games to play, ascending; the others do not change, and their rewards are 0.
                ``None`` plays all.
            rows: the old name of ``env_ids``.

        Returns:
            ``(num_envs, players) float32`` rewards, and ``(num_envs,) bool``: which matches ended. The next step
            overwrites both. Where a match ended, observations already show the next one.

        Raises:
            IllegalAction: names game, seat, card and rule. No game has moved then.
        """
        if not self._started:
            raise RuntimeError("call reset() before step()")
        if rows is not None:
            warn_renamed("BatchEnv.step(rows=…)", "env_ids=…")
            env_ids = rows
        games = self._all if env_ids is None else self._checked_rows(env_ids)
        chosen = np.asarray(actions)
        if chosen.shape != games.shape or chosen.dtype.kind not in "iu":
            raise InputError(
                f"actions: expected {len(games)} whole numbers, shape ({len(games)},), "
                f"not shape {chosen.shape} of {chosen.dtype}"
            )
        chosen = np.ascontiguousarray(chosen, np.int64)
        kernels, cards = self.game.kernels, self._cards
        illegal = self._share(
            len(games), lambda at: kernels.resolve_rows(self.states, games[at], chosen[at], cards[at])
        )
        if any(first >= 0 for first in illegal):
            wrong = next(
                at.start + first for at, first in zip(self._slices(len(games)), illegal, strict=True) if first >= 0
            )
            i = int(games[wrong])
            raise IllegalAction(f"game {i}: {why_illegal(self.game, self.states[i : i + 1], int(chosen[wrong]))}")
        if env_ids is not None:
            self.rewards[:] = 0
            self.terminated[:] = False
        self._share(
            len(games),
            lambda at: kernels.step_rows(
                self.states, self.game.template, games[at], cards[at], self._mode, self.observations,
                self.action_masks, self.seats, self.rewards, self.terminated,
            ),
        )  # fmt: skip
        return self.rewards, self.terminated

    def _prepare(self, seeds: npt.NDArray[np.uint64]) -> None:
        """Says which kernels are going to be called, those that take longest to compile first."""
        state, template, cards = self.states, self.game.template, self._cards
        shown = self.observations, self.action_masks, self.seats
        self.game.kernels.prepare(
            {
                "step_rows": (state, template, self._all, cards, self._mode, *shown, self.rewards, self.terminated),
                "observe_batch": (state, *shown),
                "reset_batch": (state, template, seeds),
                "resolve_rows": (state, self._all, cards, cards),
            }
        )

    @property
    def ends(self) -> npt.NDArray[np.bool_]:
        """The old name of ``terminated``."""
        warn_renamed("BatchEnv.ends", "BatchEnv.terminated")
        return self.terminated

    def _slices(self, count: int) -> list[slice]:
        parts = max(1, min(self.num_threads, count // MIN_GAMES))
        ends = [count * part // parts for part in range(parts + 1)]
        return [slice(start, end) for start, end in pairwise(ends)]

    def _share(self, count: int, work: Callable[[slice], Any]) -> list[Any]:
        """What ``work`` returns for every thread's part of ``count`` games."""
        parts = self._slices(count)
        return [work(parts[0])] if len(parts) == 1 else self._crew.run([partial(work, part) for part in parts])

    def _checked_rows(self, env_ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
        games = np.asarray(env_ids)
        inside = games.ndim == 1 and games.dtype.kind in "iu" and ((games >= 0) & (games < self.num_envs)).all()
        if not inside or (games[1:] <= games[:-1]).any():
            raise InputError(f"env_ids: expected ascending whole numbers of 0 to {self.num_envs - 1}, not {env_ids!r}")
        return games.astype(np.int64, copy=False)

    def __repr__(self) -> str:
        return f"<BatchEnv of {self.num_envs} x {self.game}>"
