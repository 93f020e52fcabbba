"""The random player."""

from __future__ import annotations

from trick_envs.agents.agent import Actions, Masks, Observations, rows_of
from trick_envs.agents.chance import Chance, pick
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.state import States


class RandomAgent(OwnCopies):
    """Plays a random legal card; all have the same probability."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        self._chance = Chance(seed)

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions:
        masks = rows_of(action_masks, "action_masks")
        return pick(masks != 0, self._chance.draw(len(masks), states))
