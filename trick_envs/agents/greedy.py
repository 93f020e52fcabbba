"""The greedy player."""

from __future__ import annotations

import numpy as np

from trick_envs.agents.agent import Actions, Masks, Observations, required
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.state import States


class GreedyAgent:
    """Plays by the game's heuristic (``evaluate_card`` in its ``heuristic.py``). Needs ``states``."""

    name = "greedy"

    def __init__(self, game: Game) -> None:
        self.game = checked_game(game)

    def seed(self, seed: int) -> None:
        """It makes no random choices."""

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions:
        states = required(states, self.game, self.name)
        actions = np.zeros(len(states), np.int64)
        self.game.kernels.greedy_actions(states, actions)
        return actions
