"""Relabelling suits: of observations, actions and match records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Layout
from trick_envs.engine.symmetry import by_suit
from trick_envs.errors import InputError
from trick_envs.matches.replay import replay


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


def relabel_record(record: Mapping[str, Any], relabelling: Relabelling) -> dict[str, Any]:
    """The record of the same match with relabelled cards.

    Its deals are relabelled ones, not those that its seed gives: they count as given, as in every record. Seats and
    scores stay. Both records are replayed, which checks them.

    Args:
        record: as ``record()`` returns it, also of a running match.
        relabelling: of the record's game and number of players; length and options do not matter.

    Raises:
        ValueError: if it is not a record, its match breaks a rule, or the relabelling is of other cards; or if the
            game does not treat all suits alike, and the relabelled match breaks a rule or has other scores.
    """
    match = replay(record)
    ours, theirs = relabelling.game, match.game
    if (ours.name, ours.num_players) != (theirs.name, theirs.num_players):
        raise ValueError(f"a relabelling of {ours!r} does not fit a record of {theirs!r}")
    known = match.record()
    deals = [
        {
            **deal,
            "hands": [sorted(map(relabelling.card, hand), key=ours.deck.parse) for hand in deal["hands"]],
            "stock": [relabelling.card(card) for card in deal["stock"]],
            "actions": [[seat, relabelling.card(card)] for seat, card in deal["actions"]],
        }
        for deal in known["deals"]
    ]
    return replay({**known, "deals": deals}).record()
