"""Players' random choices: a decision's hang on nothing that is decided beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_GOLDEN, _MIX_1, _MIX_2 = (
    np.array([bits], np.uint64) for bits in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_POSITION = ("deal_number", "tricks", "trick_size", "phase", "seat")


class Chance:
    """A random number for every decision.

    With the games' records it comes from the player's seed, the seed of the match, and the position as the seat to act
    knows it, so that a match is the same however games are batched; without them from a stream of its own.

    Args:
        seed: the player's.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._stream = np.uint64(seed), np.random.default_rng(seed)

    def draw(self, rows: int, states: npt.NDArray[Any] | None) -> npt.NDArray[np.float64]:
        """``(rows,)`` numbers of 0 to 1, 1 excluded.

        Args:
            rows: how many.
            states: ``(rows,)`` records, if there are.
        """
        if states is None:
            return self._stream.random(rows)
        hands = states["hand"][np.arange(rows), states["seat"]]
        bits = np.full(rows, self._seed)
        for known in (states["seed"], *(states[name] for name in _POSITION), hands[:, 0], hands[:, 1]):
            bits = _mix(bits ^ known.astype(np.uint64))
        return (bits >> np.uint64(32)) / 2.0**32


def _mix(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """One step of SplitMix64 (Steele, Lea, Flood 2014) in every place."""
    bits = bits + _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
    return bits ^ (bits >> np.uint64(31))


def pick(weights: npt.NDArray[Any], draws: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """For every row an action, as likely as its weight among the row's says.

    Args:
        weights: ``(B, A)``, none negative; a row of zeros gets action 0.
        draws: ``(B,)``, from ``Chance``.
    """
    sums = np.cumsum(weights, axis=1, dtype=np.float64)
    return np.asarray((sums > draws[:, None] * sums[:, -1:]).argmax(axis=1))
