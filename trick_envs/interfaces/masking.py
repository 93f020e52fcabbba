"""Where a learner finds its mask of legal actions: in the ``info`` only, or in the observation as well."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.engine.arguments import number_among
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Layout
from trick_envs.errors import InputError, shown

Vectors: TypeAlias = npt.NDArray[np.float32]

Masked: TypeAlias = Vectors | dict[str, npt.NDArray[np.float32 | np.int8]]

END_MASKS = ("zeros", "ones")
OBSERVATION_KEY = "observation"


class Masking:
    """The form of a learner's observations and masks.

    Args:
        game: the game.
        layout: the blocks of the vector.
        mask_key: the key of the mask in the observation, which is a dict then; ``None`` leaves the mask out of it.
        observation_key: the key of the vector beside the mask.
        end_mask: the mask of a match that is over: ``"zeros"`` or ``"ones"``.

    Attributes:
        space: the space of one observation.
        end: 0 or 1: what the mask of a match that is over consists of.

    Raises:
        ValueError: for keys that are no strings, or the same one, and an unknown ``end_mask``.
    """

    def __init__(self, game: Game, layout: Layout, mask_key: str | None, observation_key: str, end_mask: str) -> None:
        end = number_among(end_mask, END_MASKS, "end_mask")
        for key in (observation_key,) if mask_key is None else (mask_key, observation_key):
            if not isinstance(key, str):
                raise InputError(f"mask_key, observation_key: expected strings, not {shown(key)}")
        if mask_key is None and observation_key != OBSERVATION_KEY:
            raise InputError(f"observation_key: {shown(observation_key)} needs a mask_key, that of the mask beside it")
        if mask_key == observation_key:
            raise InputError(f"mask_key, observation_key: expected two different keys, not {shown(mask_key)} for both")
        self.end = end
        self._mask_key, self._observation_key = mask_key, observation_key
        vector = spaces.Box(*layout.bounds(), dtype=np.float32)
        self.space: spaces.Space[Any] = vector
        if mask_key is not None:
            mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
            self.space = spaces.Dict({observation_key: vector, mask_key: mask})

    def observation(self, vector: Vectors, mask: npt.NDArray[np.int8]) -> Masked:
        """The observation of one game, or of a batch: the vector, or a dict of it and a copy of the mask."""
        if self._mask_key is None:
            return vector
        return {self._observation_key: vector, self._mask_key: mask.copy()}
