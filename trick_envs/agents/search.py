"""Players that search (``trick_envs/engine/search``); all but ``cheat`` use only what the seat to act has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trick_envs.agents.agent import (
    Actions,
    Agent,
    Masks,
    Observations,
    checked_agent,
    legal_actions,
    observation_for,
    required,
    takes_history,
)
from trick_envs.agents.greedy import GreedyAgent
from trick_envs.engine.arguments import number_among, whole_number
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.history import Events
from trick_envs.engine.rng import checked_seed
from trick_envs.engine.search.playouts import COMPARISON
from trick_envs.engine.search.tree import MOST_STEPS, NODE, STEP
from trick_envs.engine.search.worlds import ROWS, WIDTH
from trick_envs.engine.state import Records, States

METHODS = ("pimc", "ismcts", "cheat")
MAX_EFFORT = 1_000_000


@dataclass(frozen=True)
class SearchResult:
    """What a search found out about every decision: how each action compares with the baseline in the same worlds.

    Attributes:
        actions: ``(B,) int64``: the search's choices.
        baselines: ``(B,) int64``: the actions with which the others were compared.
        advantages: ``(B, A) float32``: points by which an action was better than the baseline, the mean over worlds; 0
            for the baseline and for actions that were not tried.
        variances: ``(B, A) float32``: the variance of that difference over worlds.
        counts: ``(B, A) int32``: in how many worlds an action was tried: 0 where it is illegal, or the only one, and
            for the baseline of ``pimc``, which is not compared with itself.
    """

    actions: Actions
    baselines: Actions
    advantages: npt.NDArray[np.float32]
    variances: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int32]


class SearchAgent(OwnCopies):
    """A searching player. Needs ``states``.

    ``pimc`` samples hidden worlds, plays out every action in each by the heuristic, and takes the best on average.
    ``ismcts`` grows one tree over sampled worlds. ``cheat`` is ``ismcts`` in the true world: an upper bound on what
    search can do, not a fair player.

    A search compares actions with a baseline action, and prefers another one only if it is better by more than a
    standard error. The baseline comes from the heuristic, or from another player, such as a policy. A policy's
    value estimate is not used: searching to the next own decision and taking the value there was worse than play-outs
    (``-2.5 ± 0.9`` points per deal with 40 worlds and the quickstart's policy). Nor are the last tricks solved exactly:
    twenty times the iterations with four cards or fewer in hand gained nothing in any game (-0.2 to +0.2 points per
    deal, ± 0.3 to 0.8, over 100 deals with 500 iterations).

    Args:
        method: ``"pimc"``, ``"ismcts"`` or ``"cheat"``.
        effort: worlds of ``pimc``, iterations of the others.
        game: the game it is to play.
        seed: seed of its random choices, which depend only on this seed, the seed of the match, and the position as the
            seat knows it.
        baseline: the player whose actions are the baseline; the heuristic by default.
        name: the spec it was made from.

    Raises:
        ValueError: for another method or effort.
    """

    def __init__(
        self, method: str, effort: int, game: Game, seed: int = 0, baseline: Agent | None = None, name: str = ""
    ) -> None:
        if baseline is not None:
            checked_agent(baseline, "baseline")
        self.name = name or f"{f'{baseline.name}+' if baseline else ''}{method}:{effort}"
        self.observation = observation_for(baseline)
        self.game = checked_game(game)
        number_among(method, METHODS, "method")
        self._method, self._effort = method, whole_number(effort, 1, MAX_EFFORT, "effort")
        self._baseline = baseline or GreedyAgent(game)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        self._seed = np.uint64(checked_seed(seed))
        self._baseline.seed(seed)

    def act(
        self, observations: Observations, action_masks: Masks, states: States | None = None, plays: Events | None = None
    ) -> Actions:
        """Searches, row by row; ``plays`` are for a baseline that wants to know the order of play."""
        order = () if plays is None or not takes_history(self._baseline) else (plays,)
        return self._search(observations, action_masks, states, None, order)[0]

    def compare(
        self, observations: Observations, action_masks: Masks, states: States | None = None,
        baselines: Actions | None = None,
    ) -> SearchResult:  # fmt: skip
        """Searches, row by row; returns all that it found out: for labels, hints and analyses.

        Args:
            observations: ``(B, D)``, for the baseline.
            action_masks: ``(B, A)``.
            states: ``(B,)`` records.
            baselines: ``(B,)``: the actions with which others are compared; the baseline player's by default.

        Raises:
            ValueError: for baselines that are not legal.
        """
        actions, baselines, sums = self._search(observations, action_masks, states, baselines)
        sums = sums[:, : self.game.num_actions]
        counts = sums["count"]
        mean = sums["advantage"] / np.maximum(counts, 1)
        variance = np.maximum(sums["squares"] / np.maximum(counts, 1) - mean * mean, 0.0)
        return SearchResult(
            actions, baselines, mean.astype(np.float32), variance.astype(np.float32), counts.astype(np.int32)
        )

    def _search(
        self, observations: Observations, action_masks: Masks, states: States | None,
        baselines: Actions | None = None, order: tuple[Events, ...] = (),
    ) -> tuple[Actions, Actions, Records]:  # fmt: skip
        """The choices, the baselines, and what is known of every action, ``(B, WIDTH)`` of ``COMPARISON``."""
        states = required(states, self.game, self.name)
        if baselines is None:
            named, whose = self._baseline.act(observations, action_masks, states, *order), self._baseline.name
            baselines = legal_actions(self.game, states, named, f"player {whose}")
        else:
            baselines = legal_actions(self.game, states, baselines, "baselines")
        actions, sums = baselines.copy(), np.zeros((len(states), WIDTH), COMPARISON)
        kernels, streams = self.game.kernels, np.zeros(len(states), np.uint64)
        # Scratch memory of this call: several threads may share a player.
        worlds, work = np.zeros(2, self.game.dtype), np.zeros((ROWS, WIDTH), np.int64)
        if self._method == "pimc":
            kernels.pimc(states, self._effort, self._seed, actions, streams, worlds, work, sums)
        else:
            cheat, tree = self._method == "cheat", np.zeros(2 * self._effort + WIDTH - 2, NODE)
            kernels.ismcts(
                states, self._effort, cheat, self._seed, actions, streams, worlds, work, sums, tree, np.zeros(2),
                np.zeros(MOST_STEPS, STEP),
            )  # fmt: skip
        return actions, baselines, sums
