"""Small variants of the games: the same rules with another deck, for one deal."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import whole_number
from trick_envs.engine.build.kernels import Kernels
from trick_envs.engine.build.twin import call
from trick_envs.engine.cards import Deck
from trick_envs.engine.game import Game, GameType
from trick_envs.engine.registry import all_games, game_type, load_game
from trick_envs.engine.state import States, copy_states
from trick_envs.errors import InputError

SIZES = {"num_players": 2, "suits": 2, "ranks": 4, "hand_size": 3}  # the parameters of a variant, and their defaults
MOST_HANDS = 10_000  # all of them are tried, whether they can lead


def all_open(game: GameType) -> bool:
    """Whether everybody sees every play, and nothing is hidden but hands and the cards that no hand got."""
    return not game.hands_seen and all(place.open or name == "hand" for name, place in game.places.items())


NAMES = tuple(kind.name for kind in all_games() if all_open(kind))  # of the games that have variants


class Variant(Game):
    """A game for one deal at a small table.

    It has no layout, because games describe their blocks for whole decks. The kernels write the observation
    nevertheless.

    Attributes:
        view_size: how many numbers a seat observes.
    """

    def __init__(
        self, game_type: GameType, num_players: int, options: dict[str, bool], deck: Deck, hand_size: int
    ) -> None:
        self._declare(game_type, num_players, 1, options, deck, hand_size)
        self.view_size = max(load_game(self.name, players).layout.size for players in game_type.players)  # no more
        self.view_size = len(self.view(self.template, 0))

    @cached_property
    def kernels(self) -> Any:
        """In plain Python: to compile a variant would take longer than to play it."""
        return _plain(self.type)

    def view(self, record: States, observer: int) -> npt.NDArray[np.int8]:
        """What a seat observes, ``(view_size,) int8``."""
        out, mask = np.zeros(self.view_size, np.int8), np.zeros(self.num_actions, np.int8)
        return out[: self.kernels.observe(record, 0, observer, out, mask)]

    def __reduce__(self) -> tuple[Any, ...]:
        sizes = (self.num_players, len(self.deck.suits), len(self.deck.ranks), self.hand_size)
        return load_variant, (self.name, *sizes, tuple(self.options.items()))


class PlainKernels:
    """The kernels of a game as plain Python, which plays at any table. (The games that have variants have one pack.)

    Args:
        kernels: those of one of its tables.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._copies = kernels.plain

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = self._copies[name]
        found = self.__dict__[name] = lambda *arguments: call(function, arguments)
        return found

    def direct(self, name: str) -> Callable[..., Any]:
        """As ``Kernels.direct``."""
        return getattr(self, name)


@cache
def _plain(game: GameType) -> PlainKernels:
    return PlainKernels(game.kernels_at(game.default_players))


def load_variant(
    name: str, num_players: int, suits: int, ranks: int, hand_size: int, options: tuple[tuple[str, bool], ...] = ()
) -> Variant:
    """Makes a variant; ``small`` describes the arguments and the errors."""
    declared = game_type(name)
    if name not in NAMES:
        raise InputError(f"{name} has no small variants, its rules need the whole deck: choose {' or '.join(NAMES)}")
    allowed = declared.players
    whole_number(num_players, 2, max(allowed), "num_players")
    whole = load_game(name, min(allowed, key=lambda players: abs(players - num_players)), 1, **dict(options))
    whole_number(suits, 1, len(whole.deck.suits), "suits")
    whole_number(ranks, 1, len(whole.deck.ranks), "ranks")
    deck = dataclasses.replace(whole.deck, suits=whole.deck.suits[:suits], ranks=whole.deck.ranks[:ranks])
    whole_number(hand_size, 1, deck.size // num_players, "hand_size")
    return _variant(declared, int(num_players), tuple(whole.options.items()), deck, int(hand_size))


@cache
def _variant(
    declared: GameType, num_players: int, options: tuple[tuple[str, bool], ...], deck: Deck, hand_size: int
) -> Variant:
    if (hands := math.comb(deck.size, hand_size)) > MOST_HANDS:
        raise InputError(f"hand_size: {deck.size} cards make {hands:,} hands, expected {MOST_HANDS:,} at most")
    variant = Variant(declared, num_players, dict(options), deck, hand_size)
    _check_leads(variant)
    return variant


def _check_leads(variant: Variant) -> None:
    """Checks that every possible leader has a card to lead (in Pepper a hand may be all peppers)."""
    n, size, cards = variant.num_players, variant.hand_size, variant.deck.cards
    mask = np.zeros(variant.num_actions, np.int8)
    for hand in itertools.combinations(cards, size):
        rest = [card for card in cards if card not in hand]
        for seat in range(n):
            record, order = copy_states(variant.template), [*rest[: seat * size], *hand, *rest[seat * size :]]
            variant.kernels.deal_order(record, np.array(order, np.int8), 0)
            variant.kernels.look(record, mask)
            if not mask.any():
                told = " ".join(variant.deck.format_all(hand))
                raise InputError(f"hand_size: {size} cards may be {told}, with which nobody can lead: deal more")
