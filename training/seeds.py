"""Seeds of random choices that depend on how far a run is."""

from __future__ import annotations

import numpy as np


def stream_seed(seed: int, done: int) -> int:
    """A seed for what a run does from here on.

    Args:
        seed: of the run.
        done: samples or labels so far. A run that begins has its own seed; one that continues has another stream,
            which it shares with no run of another seed, but for chance.

    Returns:
        0 to 2**32 - 1.
    """
    return seed if done == 0 else int(np.random.SeedSequence((seed, done)).generate_state(1)[0])
