"""Actions drawn from masked logits, in compiled code that computes nothing of illegal actions."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True)
def choose(logits: Any, masks: Any, draws: Any, actions: Any, log_probs: Any) -> None:
    """Chooses an action in every row.

    Args:
        logits: ``(B, A) float32``.
        masks: ``(B, A)``: not 0 where an action is legal.
        draws: ``(B,) float32``, uniform in 0 … 1, for actions from the softmax; ``(0,)``: the best ones.
        actions: ``(B,) int64``: for the actions.
        log_probs: ``(B,) float32``: for their log-probabilities.
    """
    size = logits.shape[1]
    legal, chances = np.empty(size, np.int64), np.empty(size, np.float32)
    for row in range(len(actions)):
        count, best = 0, 0
        for action in range(size):
            if masks[row, action] != 0:
                legal[count] = action
                if logits[row, action] > logits[row, legal[best]]:
                    best = count
                count += 1
        highest, total = logits[row, legal[best]], np.float32(0.0)
        for k in range(count):
            chances[k] = np.exp(logits[row, legal[k]] - highest)
            total += chances[k]
        chosen = best
        if len(draws) > 0:
            left, chosen = draws[row] * total, 0
            while chosen < count - 1 and left >= chances[chosen]:
                left -= chances[chosen]
                chosen += 1
        actions[row] = legal[chosen]
        log_probs[row] = logits[row, legal[chosen]] - highest - np.log(total)
