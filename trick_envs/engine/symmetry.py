"""Relabelling suits: a relabelled deal, played with relabelled cards, is the same game.

This holds where the rules treat all suits alike, apart from what the position says of each, such as trump. The
relabelled game then has relabelled observations and legal actions, and the same seats to act and scores.
``tests/test_symmetry.py`` shows it of every game here.

The blocks of a layout say which of their numbers belong to which suit (``Unit`` in ``engine/observation.py``), so
relabelling needs to know no game. Networks that share their weights over suits (``training/networks/suits.py``) are
built from the same declarations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Block, Layout
from trick_envs.errors import InputError


class Relabelling:
    """A permutation of the suits: suit ``s`` becomes ``suits[s]``; ranks stay.

    It returns new arrays of the same shapes and types, and takes any number of leading axes.

    Args:
        game: the game.
        suits: every suit's new number; 0 is the first suit of the deck.

    Attributes:
        game: the game.
        suits: every suit's new number.
        actions: ``(A,) int64``: every action's new number.

    Raises:
        ValueError: if ``suits`` is not a permutation.
    """

    def __init__(self, game: Game, suits: Sequence[int]) -> None:
        count, ranks = len(game.deck.suits), len(game.deck.ranks)
        if len(suits) != count or set(suits) != set(range(count)):
            raise InputError(f"suits: expected the numbers 0 to {count - 1} in some order, not {suits!r}")
        self.game = game
        self.suits = tuple(int(suit) for suit in suits)
        self.actions = (np.array(self.suits)[:, None] * ranks + np.arange(ranks)).reshape(-1)
        self._actions_before = np.argsort(self.actions)
        self._observation = _Moves(game.layout, game.deck, self.suits, self.actions)
        self._state = _Moves(game.state_layout, game.deck, self.suits, self.actions)

    def observations(self, observations: npt.NDArray) -> npt.NDArray:
        """Relabelled observations, ``(…, D)``."""
        return self._observation.of(observations)

    def masks(self, masks: npt.NDArray) -> npt.NDArray:
        """Relabelled action masks, or other numbers by action, ``(…, A)``."""
        return masks[..., self._actions_before]

    def states(self, vectors: npt.NDArray) -> npt.NDArray:
        """Relabelled vectors of ``state()``, ``(…, S)``."""
        return self._state.of(vectors)

    def card(self, text: str) -> str:
        """The relabelled card, both as written: ``10S``.

        Raises:
            ValueError: if there is no such card in the deck.
        """
        deck = self.game.deck
        return deck.names[self.actions[deck.parse(text)]]


class _Moves:
    """How the numbers of a vector move, given every suit's and every action's new number."""

    def __init__(self, layout: Layout, deck: Deck, suits: Sequence[int], actions: npt.NDArray[np.int64]) -> None:
        before = np.argsort(suits)  # every new suit's old number
        units = np.repeat([block.unit for block in layout], [block.length for block in layout])
        self._card_numbers = np.flatnonzero(units == "card number")
        self._numbers = np.concatenate([[0], 1 + actions])  # what every card number becomes
        self._sources = np.arange(layout.size)  # from where every number comes
        for block, where in zip(layout, layout.slices().values(), strict=True):
            places = by_suit(block, deck)
            if places is not None:
                self._sources[where.start + places] = where.start + places[before]

    def of(self, vectors: npt.NDArray) -> npt.NDArray:
        """The vectors with their numbers moved."""
        moved = vectors[..., self._sources]
        moved[..., self._card_numbers] = self._numbers[moved[..., self._card_numbers].astype(np.int64)]
        return moved


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
