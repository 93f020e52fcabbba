"""What decisions lose, in the eyes of a search: it chooses in some worlds and compares in others, without bias."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from trick_envs.agents.agent import Actions, Masks, Observations
from trick_envs.agents.search import SearchResult
from trick_envs.agents.spec import make_agent
from trick_envs.engine.game import Game
from trick_envs.engine.state import Reals, States
from trick_envs.errors import InputError, shown


class _Search(Protocol):
    """A player that compares cards: ``RolloutAgent`` and ``SearchAgent``."""

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions: ...
    def compare(
        self, observations: Observations, action_masks: Masks, states: States | None, baselines: Actions | None
    ) -> SearchResult: ...


class Judge:
    """A search that judges decisions.

    Args:
        spec: of the search.
        game: the game.
        expected: how the error begins for another player.

    Raises:
        ValueError: if the player is no search.
    """

    def __init__(self, spec: str, game: Game, expected: str) -> None:
        agents = [make_agent(spec, game, seed) for seed in (0, 1)]
        if not hasattr(agents[0], "compare"):
            raise InputError(f"{expected}, not {shown(spec)}")
        self._chooser, self._comparer = (cast(_Search, agent) for agent in agents)

    def lost(
        self, observations: Observations, action_masks: Masks, states: States, played: Actions
    ) -> tuple[Reals, Reals]:
        """The points that cards lose against the search's choices, and their standard errors, ``(B,)`` each.

        Args:
            observations: ``(B, D)``.
            action_masks: ``(B, A)``.
            states: ``(B,)`` records.
            played: ``(B,)``: the cards.
        """
        best = self._chooser.act(observations, action_masks, states)
        losses, errors = np.zeros((2, len(states)))
        rows = np.flatnonzero(best != played)
        if len(rows):
            played, best = played[rows], best[rows]
            two = two_actions(action_masks[rows], played, best)
            found = self._comparer.compare(observations[rows], two, states[rows], played)
            chosen = np.arange(len(rows)), best
            counts = np.maximum(found.counts[chosen], 1).astype(np.float32)
            losses[rows], errors[rows] = found.advantages[chosen], np.sqrt(found.variances[chosen] / counts)
        return losses, errors


def two_actions(action_masks: Masks, one: Actions, other: Actions) -> npt.NDArray[np.int8]:
    """Masks of the same shape, with two actions in each row."""
    masks, rows = np.zeros(action_masks.shape, np.int8), np.arange(len(action_masks))
    masks[rows, one] = masks[rows, other] = 1
    return masks
