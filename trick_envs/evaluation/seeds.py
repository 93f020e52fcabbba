"""Seeds for everything that is played: training, evaluations and arenas never share a deal.

A match seed is a 64-bit unsigned integer. Each purpose has its own range of them:

| bits | |
| --- | --- |
| 60-63 | the purpose (``Purpose``) |
| 56-59 | 0 |
| 24-55 | the seed of the run or of the arena, 0 … 2**32 - 1 |
| 0-23 | the number of the deal, or of the environment in a training batch |

After a match, a training environment continues with seeds drawn from the match's own random stream. These are below
2**53, hence in the range of ``Purpose.TRAINING``, whose four bits are 0.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import is_whole, whole_number
from trick_envs.engine.rng import checked_seed
from trick_envs.errors import InputError, shown

MAX_RUN_SEED = 2**32 - 1
SEEDS_PER_RUN = 2**24


class Purpose(IntEnum):
    """What deals are played for."""

    TRAINING = 0
    """Learning."""
    MONITORING = 1
    """Evaluations while a policy is being trained."""
    FINAL = 2
    """The evaluation at the end of a training run."""
    VALIDATION = 3
    """Development: choosing between policies, hyperparameters or versions of the code."""
    TEST = 4
    """Numbers that are published: measured on deals that no choice was based on."""


def checked_purpose(purpose: Purpose) -> Purpose:
    """A purpose, or its number.

    Raises:
        ValueError: if it is none; lists them.
    """
    if not is_whole(purpose, 0, len(Purpose) - 1):
        raise InputError(
            f"purpose: expected one of {', '.join(f'Purpose.{each.name}' for each in Purpose)}, not {shown(purpose)}"
        )
    return Purpose(purpose)


def match_seeds(purpose: Purpose, seed: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """The seeds of some consecutive deals.

    Args:
        purpose: what they are played for.
        seed: of the run or the arena.
        first: number of the first deal.
        count: how many deals.

    Returns:
        ``(count,) uint64``.

    Raises:
        ValueError: if the seed or a deal is out of range, or there is no such purpose.
    """
    purpose, seed = checked_purpose(purpose), check_run_seed(seed)
    first, count = (whole_number(each, -SEEDS_PER_RUN, SEEDS_PER_RUN, "deals") for each in (first, count))
    if first < 0 or count < 0 or first + count > SEEDS_PER_RUN:
        raise InputError(
            f"deals: expected numbers of 0 to {SEEDS_PER_RUN - 1:,}, not {first:,} to {first + count - 1:,}"
        )
    base = (int(purpose) << 60) | (seed << 24)
    return np.arange(base + first, base + first + count, dtype=np.uint64)


def player_seeds(purpose: Purpose, seed: int) -> tuple[int, int]:
    """The seeds for the random choices of a player and of its opponent.

    A player's choices depend on the match as well (``trick_envs.engine.rng.decision_bits``), so one seed serves for
    all deals.

    Raises:
        ValueError: if the seed is out of range, or there is no such purpose.
    """
    player, opponent = np.random.SeedSequence((int(checked_purpose(purpose)), check_run_seed(seed))).generate_state(
        2, np.uint64
    )
    return int(player), int(opponent)


def check_run_seed(seed: int) -> int:
    """The seed of a run or of an arena, checked.

    Raises:
        ValueError: if it is no whole number, or out of range.
    """
    return checked_seed(seed, 32)
