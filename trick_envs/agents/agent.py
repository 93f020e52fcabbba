"""What a player is."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.engine.state import States
from trick_envs.errors import InputError

Actions: TypeAlias = npt.NDArray[np.int64]
Observations: TypeAlias = npt.NDArray[np.float32 | np.int8]  # the same numbers: environments have floats, batches bytes
Masks: TypeAlias = npt.NDArray[np.float32 | np.int8]


class Agent(Protocol):
    """A player of one game, in many games at once.

    Attributes:
        name: the spec it was made from.
    """

    name: str

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions:
        """Chooses a card for every row.

        Args:
            observations: ``(B, D)``, what the seat to act sees.
            action_masks: ``(B, A)``, its legal actions; a row of zeros gets any action.
            states: ``(B,)`` records, for players that compute on the game itself (they read only what the seat to act
                has seen). ``BatchEnv.states``, or ``env.unwrapped.states`` of an AEC environment. Random choices of
                a player that gets them do not depend on batching.

        Returns:
            ``(B,) int64`` legal actions.
        """
        ...

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        ...


def required(states: States | None, name: str) -> States:
    """The records, for a player that cannot do without.

    Raises:
        ValueError: if there are none; names the player.
    """
    if states is None:
        raise InputError(f"{name} computes on the game itself: call act(observations, action_masks, env.states)")
    return states
