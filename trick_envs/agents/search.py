"""Players that look ahead (``trick_envs/engine/search.py``): they see of a game only what the seat to act has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.game import Setup
from trick_envs.engine.search import ISMCTS, PIMC, ROWS, WIDTH

# How the spec's first word searches: the method, and whether it looks at the true world.
METHODS = {"pimc": (PIMC, False), "ismcts": (ISMCTS, False), "cheat": (ISMCTS, True)}
BEST = "pimc"  # what ``search:N`` means
MAX_EFFORT = 1_000_000


class SearchAgent:
    """A searching player. Needs ``states``.

    ``pimc:N`` samples N hidden worlds, plays out every action in each by the rule of thumb, and takes the best on
    average. ``ismcts:N`` grows one tree over N sampled worlds. ``cheat:N`` is ``ismcts:N`` on the true world: the
    upper bound of what search can do, and no player. ``search:N`` is the better of the first two as measured.

    Args:
        spec: one of these.
        game: the game it is to play.
        seed: of its random choices; a decision's depend on nothing else but what everybody knows of the position.

    Raises:
        ValueError: if the spec means nothing.
    """

    def __init__(self, spec: str, game: Setup, seed: int = 0) -> None:
        word, _, number = spec.partition(":")
        method = BEST if word == "search" else word
        if method not in METHODS or not number.isdigit() or not 1 <= int(number) <= MAX_EFFORT:
            allowed = ", ".join(f"'{one}:N'" for one in (*METHODS, "search"))
            raise ValueError(f"{spec!r} is no search: expected {allowed}, N from 1 to {MAX_EFFORT:,}")
        self.name = spec
        self.game = game
        self._method, self._cheat = METHODS[method]
        self._effort = int(number)
        nodes = 2 * self._effort + WIDTH if self._method == ISMCTS else 1
        self._scratch = np.zeros(2, game.rules.dtype)
        self._work = np.zeros((ROWS, WIDTH), np.int64)
        self._sums = np.zeros((4, WIDTH), np.float64)
        self._tree = np.zeros((5, nodes), np.int64)
        self._gains = np.zeros(nodes, np.float64)
        self._path = np.zeros((2, 4096), np.int64)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Starts its random choices anew."""
        self._seed = np.uint64(seed)

    def act(
        self, observations: Any, action_masks: Any, states: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[np.int64]:
        """Searches, row by row."""
        if states is None:
            raise ValueError(
                f"{self.name} computes on the game itself: call act(observations, action_masks, env.states)"
            )
        actions = np.zeros(len(states), np.int64)
        self.game.kernels.search_actions(
            states, self._method, self._effort, self._cheat, self._seed, actions, np.zeros(len(states), np.uint64),
            self._scratch, self._work, self._sums, self._tree, self._gains, self._path,
        )  # fmt: skip
        return actions
