"""Relabelling suits: no game distinguishes between suits, except by what its position says of each (such as trump).

A relabelled deal, played with relabelled cards, is the same game: relabelled observations and legal actions, and the
same scores. The blocks of a layout say which of their numbers belong to which suit (``Unit`` in
``engine/observation.py``), so relabelling needs to know no game. Networks that share their weights over suits
(``training/suits.py``) are built from the same declarations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Block, Layout


class Relabelling:
    """A permutation of the suits: suit ``s`` becomes ``suits[s]``.

    Args:
        game: the game.
        suits: every suit's new number.

    Attributes:
        suits: as given.
        actions: ``(A,) int64``: every action's new number.

    Raises:
        ValueError: if ``suits`` is not a permutation.
    """

    def __init__(self, game: Game, suits: Sequence[int]) -> None:
        count, ranks = len(game.deck.suits), len(game.deck.ranks)
        if sorted(suits) != list(range(count)):
            raise ValueError(f"suits: expected the numbers 0 to {count - 1} in some order, not {list(suits)}")
        self._game = game
        self.suits = tuple(int(suit) for suit in suits)
        self.actions = (np.array(self.suits)[:, None] * ranks + np.arange(ranks)).reshape(-1)
        self._before = np.argsort(self.actions)
        self._observation = _sources(game.layout, game.deck, np.argsort(self.suits))
        self._state = _sources(game.state_layout, game.deck, np.argsort(self.suits))

    def observations(self, observations: npt.NDArray) -> npt.NDArray:
        """Relabelled observations, ``(…, D)`` as given."""
        return observations[..., self._observation]

    def masks(self, masks: npt.NDArray) -> npt.NDArray:
        """Relabelled action masks, or other numbers by action, ``(…, A)`` as given."""
        return masks[..., self._before]

    def states(self, vectors: npt.NDArray) -> npt.NDArray:
        """Relabelled vectors of ``state()``, ``(…, S)`` as given."""
        moved = vectors[..., self._state]
        for block, where in zip(self._game.state_layout, self._game.state_layout.slices().values(), strict=True):
            if block.unit == "card number":
                numbers = np.concatenate([[0], 1 + self.actions])
                moved[..., where] = numbers[moved[..., where].astype(np.int64)]
        return moved

    def card(self, text: str) -> str:
        """A card's relabelled name."""
        deck = self._game.deck
        card = deck.parse(text)
        return deck.format(int(self.actions[card]))


def by_suit(block: Block, deck: Deck) -> npt.NDArray[np.int64] | None:
    """Which numbers of a block belong to which suit: ``(suits, runs, numbers of a suit in a run)`` positions.

    ``None`` for a block whose numbers belong to no suit; those of the ranks of ``suit and rank`` belong to none either.
    """
    suits, ranks = len(deck.suits), len(deck.ranks)
    width = {"suit": suits, "card": suits * ranks, "suit and rank": suits + ranks}.get(block.unit)
    if width is None:
        return None
    runs = np.arange(block.length).reshape(-1, width)[:, : suits * ranks if block.unit == "card" else suits]
    return runs.reshape(len(runs), suits, -1).swapaxes(0, 1)


def _sources(layout: Layout, deck: Deck, before: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """From where every number of a relabelled vector comes; ``before`` is every new suit's old number."""
    found = np.arange(layout.size)
    for block, where in zip(layout, layout.slices().values(), strict=True):
        places = by_suit(block, deck)
        if places is not None:
            found[where.start + places] = where.start + places[before]
    return found
