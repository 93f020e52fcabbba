"""A player that plays its lowest legal card, the first one in the order of the deck."""

from __future__ import annotations

from typing import Any

import numpy as np

from trick_envs.agents import Actions
from trick_envs.engine.game import Game


class LowestAgent:
    """Makes no random choices, so the seed does not matter."""

    name = "lowest"

    def __init__(self, game: Game, seed: int = 0) -> None:
        pass

    def seed(self, seed: int) -> None:
        pass

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Actions:
        return np.asarray(action_masks).argmax(axis=1)
