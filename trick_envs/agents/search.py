"""Players that look ahead (``trick_envs/engine/search.py``): they see of a game only what the seat to act has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Agent, GreedyAgent
from trick_envs.engine.game import Setup
from trick_envs.engine.search import ROWS, WIDTH

METHODS = ("pimc", "ismcts", "cheat")
# What ``search:N`` means. At equal time (ismcts:1000 against pimc:200 or pimc:100) better in Zaraba 22 and Whist, by
# 1.5 and 1.2 points a deal; no difference to be seen in the other games.
BEST = "ismcts"
MAX_EFFORT = 1_000_000


class SearchAgent:
    """A searching player. Needs ``states``.

    ``pimc:N`` samples N hidden worlds, plays out every action in each by the rule of thumb, and takes the best on
    average. ``ismcts:N`` grows one tree over N sampled worlds. ``cheat:N`` is ``ismcts:N`` on the true world: the
    upper bound of what search can do, and no player. ``search:N`` is the better of the first two as measured.

    A search compares actions with the usual one, and prefers another only where it is better by more than chance makes
    likely. What is usual says the rule of thumb, or another player, such as a policy. A policy's value is not asked:
    looking ahead to one's next decision and taking the value there was worse than playing out (``-2.5 ± 0.9`` points a
    deal with 40 worlds and the quickstart's policy). Nor are the last tricks solved exactly: twenty times the
    iterations with four cards or fewer in hand gained nothing in any game (-0.2 to +0.2 points a deal, ± 0.3 to 0.8,
    over 100 deals with 500 iterations).

    Args:
        spec: one of these.
        game: the game it is to play.
        seed: of its random choices; a decision's depend on nothing else but what everybody knows of the position.
        usual: names the usual actions; ``greedy`` if nobody else.

    Raises:
        ValueError: if the spec means nothing.
    """

    def __init__(self, spec: str, game: Setup, seed: int = 0, usual: Agent | None = None) -> None:
        word, _, number = spec.partition(":")
        self._method = BEST if word == "search" else word
        if self._method not in METHODS or not number.isdecimal() or not 1 <= int(number) <= MAX_EFFORT:
            allowed = ", ".join(f"'{one}:N'" for one in (*METHODS, "search"))
            raise ValueError(f"{spec!r} is no search: expected {allowed}, N from 1 to {MAX_EFFORT:,}")
        self.name = spec if usual is None else f"{usual.name}+{spec}"
        self.game = game
        self._usual = usual or GreedyAgent(game)
        self._effort = int(number)
        nodes = 0 if self._method == "pimc" else 2 * self._effort + WIDTH
        self._room = (np.zeros(2, game.rules.dtype), np.zeros((ROWS, WIDTH), np.int64), np.zeros((4, WIDTH)))
        self._tree_room = (np.zeros((5, nodes), np.int64), np.zeros(nodes), np.zeros((2, 4096), np.int64))
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Starts its random choices anew."""
        self._seed = np.uint64(seed)
        self._usual.seed(seed)

    def act(
        self, observations: Any, action_masks: Any, states: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[np.int64]:
        """Searches, row by row."""
        if states is None:
            raise ValueError(
                f"{self.name} computes on the game itself: call act(observations, action_masks, env.states)"
            )
        actions = self._usual.act(observations, action_masks, states)
        kernels, streams = self.game.kernels, np.zeros(len(states), np.uint64)
        if self._method == "pimc":
            kernels.pimc(states, self._effort, self._seed, actions, streams, *self._room)
        else:
            cheat = self._method == "cheat"
            kernels.ismcts(
                states, self._effort, cheat, self._seed, actions, streams, *self._room, *self._tree_room
            )  # fmt: skip
        return actions
