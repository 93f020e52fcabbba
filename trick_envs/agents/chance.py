"""Random choices of players: they do not depend on batching."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trick_envs.engine.rng import checked_seed, decision_bits_of
from trick_envs.engine.state import States
from trick_envs.errors import InputError, shown


class Chance:
    """A random number for every decision.

    With the games' records it is derived from the player's seed, the match and the position as the seat to act knows it
    (``decision_bits``), so that a match is the same however games are batched. Without them it comes from a generator.

    Args:
        seed: seed of the player.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._generator = np.uint64(checked_seed(seed)), np.random.default_rng(seed)

    def draw(self, rows: int, states: States | None) -> npt.NDArray[np.float64]:
        """``(rows,) float64`` uniform random numbers from 0 to 1, 1 excluded.

        Args:
            rows: how many.
            states: ``(rows,)`` records, if available.

        Raises:
            ValueError: if they are something else.
        """
        if states is None:
            return self._generator.random(rows)
        if not isinstance(states, np.ndarray) or not states.dtype.names or states.shape != (rows,):
            told = f"shape {states.shape} of {states.dtype}" if isinstance(states, np.ndarray) else shown(states)
            raise InputError(
                f"states: expected {rows} records, shape ({rows},), such as env.unwrapped.states, not {told}"
            )
        return (decision_bits_of(states, self._seed) >> np.uint64(32)) / 2.0**32


def softmax_weights(logits: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Weights in proportion to the probabilities of logits ``(…, A)``: the largest is 1. ``-inf`` gets 0."""
    with np.errstate(under="ignore"):  # callers may have set it to raise
        return np.exp(logits - logits.max(axis=-1, keepdims=True))


def softmax(logits: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """The probabilities of logits ``(…, A)``."""
    weights = softmax_weights(logits)
    with np.errstate(under="ignore"):
        return weights / weights.sum(axis=-1, keepdims=True)


def pick(weights: npt.NDArray[np.number | np.bool_], draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Draws an action for every row, with probabilities in proportion to its weights.

    Args:
        weights: ``(B, A)``, non-negative; a row of zeros gets action 0.
        draws: ``(B,)``, from ``Chance``.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    return np.asarray((sums > draws[:, None] * sums[:, -1:]).argmax(axis=1))
