"""The greedy player."""

from __future__ import annotations

from typing import Any

import numpy as np

from trick_envs.agents.agent import Actions
from trick_envs.engine.game import Game


class GreedyAgent:
    """Plays by the game's heuristic (``evaluate_card`` in its ``heuristic.py``). Needs ``states``."""

    name = "greedy"

    def __init__(self, game: Game) -> None:
        self._greedy = game.kernels.greedy_actions

    def seed(self, seed: int) -> None:
        """It makes no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Actions:
        if states is None:
            raise ValueError("greedy computes on the game itself: call act(observations, action_masks, env.states)")
        actions = np.zeros(len(states), np.int64)
        self._greedy(states, actions)
        return actions
