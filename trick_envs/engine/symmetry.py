"""Which numbers of an observation belong to which suit.

Where the rules treat all suits alike, apart from what the position says of each, such as trump, a relabelled deal,
played with relabelled cards, is the same game (``tests/test_symmetry.py`` shows it of every game here). Networks that
share their weights over suits (``training/network.py``) rest on it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck
from trick_envs.engine.observation import Block
from trick_envs.errors import InputError


def by_suit(block: Block, deck: Deck) -> npt.NDArray[np.int64] | None:
    """Which numbers of a block belong to which suit.

    Returns:
        ``(suits, runs, numbers of a suit in a run)`` positions in the block; ``None`` for a block whose numbers belong
        to no suit. The ranks of ``suit and rank`` belong to none either, and are left out.

    Raises:
        ValueError: if the block does not consist of whole runs of its unit.
    """
    suits, ranks = len(deck.suits), len(deck.ranks)
    width = {"suit": suits, "card": suits * ranks, "suit and rank": suits + ranks}.get(block.unit)
    if width is None:
        return None
    if block.length % width:
        raise InputError(f"block {block.name!r}: {block.length} numbers are no runs of {width}, one {block.unit} each")
    runs = np.arange(block.length).reshape(-1, width)[:, : suits * ranks if block.unit == "card" else suits]
    return runs.reshape(len(runs), suits, -1).swapaxes(0, 1)
