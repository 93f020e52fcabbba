"""Roll-outs of a policy in sampled worlds: a search that improves on the policy (after Tesauro and Galperin 1996)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trick_envs.agents.agent import (
    Actions,
    Agent,
    Masks,
    Observations,
    checked_agent,
    legal_actions,
    required,
    takes_history,
)
from trick_envs.agents.chance import softmax
from trick_envs.agents.search import MAX_EFFORT, SearchResult
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.rng import checked_seed, decision_bits_of
from trick_envs.engine.search.playouts import MIN_STANDARD_ERRORS
from trick_envs.engine.search.worlds import ROWS, WIDTH
from trick_envs.engine.state import States
from trick_envs.errors import InputError, InputTypeError, shown

MOST_CANDIDATES = 4
LEAST_LIKELY = 0.01  # the policy's probability of an action, below which it is not tried
HORIZON = 3  # a roll-out ends with the seat's third decision
TRACE = 0.7  # how much less the value of each of its decisions counts than that of the one before
BATCH = 4096  # positions that the policy judges at once
MOST_WORLDS = 512  # in one round
CALIBRATION = 512  # deals


class ActorCritic(Agent, Protocol):
    """A player with probabilities of its actions and values, such as ``PolicyAgent``."""

    def evaluate(
        self, observations: Observations, action_masks: Masks
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Masked logits ``(B, A)`` and values ``(B,)``."""
        ...


class RolloutAgent(OwnCopies):
    """A policy that tries its likeliest actions in sampled worlds. Needs ``states``.

    Every candidate is played in the same worlds; the policy's best actions follow for all seats, until the seat has its
    third decision or the deal ends. What the roll-out is worth is a mean of the policy's values of these decisions, of
    which the later ones count less, as in TD(λ), and of the deal's margin if it ended. Worlds come in rounds: a
    candidate that is worse than the policy's own action by a standard error is dropped after each, and a decision ends
    when no other is left. Of those that stay, the one with the largest lower confidence bound is played
    (``MIN_STANDARD_ERRORS``).

    All decisions are searched side by side, so that the policy judges thousands of positions at once; this does not
    change a choice.

    Args:
        policy: the policy; its action is the baseline.
        worlds: how many worlds are sampled for a decision, at most.
        game: the game it is to play.
        seed: seed of its random choices, which depend only on this seed, the seed of the match, and the position as the
            seat knows it.
        name: the spec it was made from.
    """

    def __init__(self, policy: ActorCritic, worlds: int, game: Game, seed: int = 0, name: str = "") -> None:
        if not callable(getattr(checked_agent(policy, "policy"), "evaluate", None)):
            raise InputTypeError(
                f"policy: expected a policy, which has evaluate(observations, masks), not {shown(policy)}"
            )
        if takes_history(policy):
            raise InputError(
                f"{policy.name} sees the order of play, which sampled worlds do not have: '+rollout' needs a policy "
                "that sees the position alone"
            )
        self.name = name or f"{policy.name}+rollout:{worlds}"
        self.game = checked_game(game)
        self._policy, self._rounds = policy, _rounds(worlds)
        self._points: tuple[float, float, float] | None = None
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        self._seed = np.uint64(checked_seed(seed))
        self._policy.seed(seed)

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions:
        """Searches, all rows side by side."""
        return self._search(observations, action_masks, states)[0]

    def again(self, worlds: int, seed: int) -> RolloutAgent:
        """The same search with other worlds, by the same policy, which is calibrated for both and keeps its seed."""
        other = object.__new__(RolloutAgent)
        vars(other).update(vars(self) | {"_points": self._calibrated()})
        other._rounds, other._seed = _rounds(worlds), np.uint64(seed)
        return other

    def compare(
        self, observations: Observations, action_masks: Masks, states: States | None = None,
        baselines: Actions | None = None, logits: npt.NDArray[np.float32] | None = None,
    ) -> SearchResult:  # fmt: skip
        """Searches, all rows side by side; returns all that it found out: for labels, hints and analyses.

        Args:
            observations: ``(B, D)``.
            action_masks: ``(B, A)``: which actions may be compared.
            states: ``(B,)`` records.
            baselines: ``(B,)``: the actions with which others are compared; the policy's by default.
            logits: ``(B, A)``: what the policy says of these rows, where it has been asked already.

        Raises:
            ValueError: for baselines that are not legal.
        """
        actions, candidates, sums = self._search(observations, action_masks, states, baselines, logits)
        found = np.zeros((3, *np.shape(action_masks)))
        rows, columns = np.nonzero(candidates >= 0)
        found[:, rows, candidates[rows, columns]] = np.stack(_statistics(sums))[:, rows, columns]
        mean, variance, counts = found
        return SearchResult(
            actions, candidates[:, 0], mean.astype(np.float32), variance.astype(np.float32), counts.astype(np.int32)
        )

    def _search(
        self, observations: Observations, action_masks: Masks, states: States | None,
        baselines: Actions | None = None, logits: npt.NDArray[np.float32] | None = None,
    ) -> tuple[Actions, npt.NDArray[np.int64], npt.NDArray[np.float64]]:  # fmt: skip
        """The choices, the candidates ``(B, S)``, and their sums ``(3, B, S)``."""
        states = required(states, self.game, self.name)
        candidates = self._candidates(observations, action_masks, states, baselines, logits)
        sums, actions = np.zeros((3, *candidates.shape)), candidates[:, 0].copy()
        open_ = np.flatnonzero((candidates[:, 1:] >= 0).any(axis=1))
        at_once = max(1, BATCH // (MOST_CANDIDATES * max(self._rounds)))
        for start in range(0, len(open_), at_once):
            rows = open_[start : start + at_once]
            actions[rows], sums[:, rows] = self._compare(states[rows], candidates[rows])
        return actions, candidates, sums

    def _candidates(
        self, observations: Observations, action_masks: Masks, states: States, baselines: Actions | None,
        logits: npt.NDArray[np.float32] | None,
    ) -> npt.NDArray[np.int64]:  # fmt: skip
        """``(B, S)``: the baseline, the policy's action by default, then the likeliest others; -1: there are fewer."""
        if baselines is None:
            baselines = (
                self._policy.act(observations, action_masks, states) if logits is None else logits.argmax(axis=1)
            )
        else:
            baselines = legal_actions(self.game, states, baselines, "baselines")
        likely = softmax(self._policy.evaluate(observations, action_masks)[0] if logits is None else logits)
        likely[np.asarray(action_masks) == 0] = 0.0
        likely[np.arange(len(likely)), baselines] = 2.0
        best = np.argsort(-likely, axis=1, kind="stable")[:, :MOST_CANDIDATES]
        return np.where(np.take_along_axis(likely, best, axis=1) >= LEAST_LIKELY, best, -1)

    def _compare(self, states: States, candidates: npt.NDArray[np.int64]) -> tuple[Actions, npt.NDArray[np.float64]]:
        """The choices, and the sums of each candidate's advantages, of their squares, and their number."""
        streams, running = decision_bits_of(states, self._seed), candidates.copy()
        sums = np.zeros((3, *candidates.shape))
        for worlds in self._rounds:
            values = self._values(states, running, worlds, streams)
            advantages = np.where(running[:, :, None] >= 0, values - values[:, :1], 0.0)
            sums += advantages.sum(axis=2), (advantages**2).sum(axis=2), worlds * (running >= 0)
            mean, variance, counts = _statistics(sums)
            error = np.sqrt(variance / np.maximum(counts, 1))
            running[(mean + error < 0.0) & (np.arange(running.shape[1]) > 0)] = -1
            running[(running[:, 1:] < 0).all(axis=1)] = -1
            if (running < 0).all():
                break
        bound = np.where(running >= 0, mean - MIN_STANDARD_ERRORS * error, -1.0)
        bound[:, 0] = 0.0
        return np.take_along_axis(candidates, bound.argmax(axis=1)[:, None], axis=1)[:, 0], sums

    def _values(
        self, states: States, candidates: npt.NDArray[np.int64], worlds: int, streams: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.float64]:
        """What each candidate is worth in each world, in points: ``(B, S, worlds)``; 0 where there is no candidate."""
        total = worlds * int((candidates >= 0).sum())
        branches, values = np.zeros(total, self.game.dtype), np.zeros((*candidates.shape, worlds))
        actions, places, seats = np.zeros((3, total), np.int64)
        self.game.kernels.draw_branches(
            states, candidates, worlds, streams, np.zeros(1, self.game.dtype), np.zeros((ROWS, WIDTH), np.int64),
            branches, actions, places, seats,
        )  # fmt: skip
        margins, judged, share = np.zeros(total), np.zeros(total), np.ones(total)
        for rows, estimates, decision in self._play(branches, actions, seats, margins, HORIZON):
            later = TRACE if decision < HORIZON else 0.0
            judged[rows] += share[rows] * (1.0 - later) * self.in_points(estimates)
            share[rows] *= later
        values.reshape(-1)[places] = judged + share * margins
        return values

    def _play(
        self, states: States, actions: npt.NDArray[np.int64], seats: npt.NDArray[np.int64],
        margins: npt.NDArray[np.float64], horizon: int,
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], int]]:  # fmt: skip
        """Plays actions, then the policy's best ones, up to a decision of each row's seat or the end of its deal.

        Args:
            states: ``(R,)`` records; changed.
            actions: ``(R,)``.
            seats: ``(R,)``.
            margins: ``(R,)``: gets the margins in the deals that end.
            horizon: the number of the decision at which to stop.

        Yields:
            rows where the seat has a decision, the policy's values of it, and its number from 1 on.
        """
        kernels, decisions, rows = self.game.kernels, np.zeros(len(states), np.int64), np.arange(len(states))
        running = np.zeros_like(rows)
        observations = np.zeros((len(states), self.game.layout.size), np.int8)
        masks = np.zeros((len(states), self.game.num_actions), np.int8)
        while len(rows):
            left = kernels.play_to_choice(states, rows, actions, seats, margins, running, observations, masks)
            rows = running[:left].copy()
            actions, values = self._judge(observations[:left], masks[:left])
            own = states["seat"][rows] == seats[rows]
            decisions[rows] += own
            for number in np.unique(decisions[rows[own]]):
                here = own & (decisions[rows] == number)
                yield rows[here], values[here], int(number)
            goes_on = decisions[rows] < horizon
            rows, actions = rows[goes_on], actions[goes_on]

    def _judge(
        self, observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The policy's best actions and its values, ``(K,)``."""
        actions, values = np.zeros(len(masks), np.int64), np.zeros(len(masks), np.float32)
        for start in range(0, len(masks), BATCH):
            part = slice(start, start + BATCH)
            logits, values[part] = self._policy.evaluate(observations[part], masks[part])
            actions[part] = logits.argmax(axis=1)
        return actions, values

    def in_points(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Values of the policy as margins in points: they are in units of the reward that it was trained with."""
        slope, offset, _ = self._calibrated()
        return slope * values + offset

    @property
    def spread(self) -> float:
        """The standard deviation of a deal's margin, in points, where the policy plays itself."""
        return self._calibrated()[2]

    def _calibrated(self) -> tuple[float, float, float]:
        if self._points is None:
            self._points = self._calibrate()
        return self._points

    def _calibrate(self) -> tuple[float, float, float]:
        """Slope and offset that turn the policy's values into margins: least squares over deals that it plays itself.

        The deals are always the same. The third number is the standard deviation of their margins.
        """
        kernels, game = self.game.kernels, self.game
        states, seats = np.zeros(CALIBRATION, game.dtype), np.arange(CALIBRATION) % game.num_players
        kernels.reset_batch(states, game.template, np.arange(CALIBRATION, dtype=np.uint64))
        observations = np.zeros((CALIBRATION, game.layout.size), np.int8)
        masks, to_act = np.zeros((CALIBRATION, game.num_actions), np.int8), np.zeros(CALIBRATION, np.int64)
        kernels.observe_batch(states, observations, masks, to_act)
        actions, _ = self._judge(observations, masks)
        margins, judged = np.zeros(CALIBRATION), []
        for rows, values, _ in self._play(states, actions, seats, margins, np.iinfo(np.int64).max):
            judged.append((rows, values))
        rows, values = (np.concatenate(each) for each in zip(*judged, strict=True))
        outcomes, spread = margins[rows], float(values.var())
        slope = float(np.cov(values, outcomes, ddof=0)[0, 1]) / spread if spread > 0.0 else 0.0
        return slope, float(outcomes.mean() - slope * values.mean()), float(margins.std())


def _statistics(sums: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """Mean, variance and number from sums, sums of squares, and numbers."""
    counts = np.maximum(sums[2], 1.0)
    mean = sums[0] / counts
    return mean, np.maximum(sums[1] / counts - mean * mean, 0.0), sums[2]


def _rounds(worlds: int) -> list[int]:
    """How many worlds each round samples: a quarter first, then as many as before."""
    sizes, left = list[int](), whole_number(worlds, 1, MAX_EFFORT, "worlds")
    while left:
        sizes.append(min(max(-(-worlds // 4), worlds - left), left, MOST_WORLDS))
        left -= sizes[-1]
    return sizes
