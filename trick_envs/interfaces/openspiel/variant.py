"""Small variants of the games: one deal with fewer cards, and its positions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck
from trick_envs.engine.game import Game, GameType
from trick_envs.engine.inspect import places
from trick_envs.engine.kernels.binding import Kernels
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import States
from trick_envs.errors import InputError
from trick_envs.interfaces.openspiel.deal import CHANCE, DealPosition, Mask, moves

Hand = tuple[int, ...]

SIZES = {"num_players": 2, "suits": 2, "ranks": 4, "hand_size": 3}  # the parameters of a variant, and their defaults
MOST_HANDS = 10_000  # outcomes of a chance node


def all_open(game: GameType) -> bool:
    """Whether everybody sees every play, and nothing is hidden but hands and the cards that no hand got."""
    return not game.hands_seen and all(place.open or name == "hand" for name, place in game.places.items())


NAMES = tuple(name for name in game_names() if all_open(game_type(name)))  # of the games that have variants


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
        self._declare(game_type, num_players, 1, options, deck)
        self.hand_size, self.dtype = hand_size, game_type.dtype
        self.template = self._template()
        self.view_size = max(load_game(self.name, players).layout.size for players in game_type.players)  # no more
        self.view_size = len(self.view(self.template, 0))

    @property
    def kernels(self) -> Kernels:
        """Those for any table: to compile each variant would take longer than to play it."""
        return self.type.kernels_at(None)

    def view(self, record: States, observer: int) -> npt.NDArray[np.int8]:
        """What a seat observes, ``(view_size,) int8``."""
        out, mask = np.zeros(self.view_size, np.int8), np.zeros(self.num_actions, np.int8)
        return out[: self.kernels.observe(record, 0, observer, out, mask)]

    def hands(self, dealt: tuple[Hand, ...]) -> Iterator[Hand]:
        """Every hand that the next seat may get, after these were dealt."""
        left_over = [card for card in self.deck.cards if not any(card in hand for hand in dealt)]
        return itertools.combinations(left_over, self.hand_size)

    def order(self, hands: tuple[Hand, ...]) -> list[int]:
        """The cards in dealing order: the hands, then all others."""
        order = list(itertools.chain(*hands))
        return order + [card for card in self.deck.cards if card not in order]

    def __reduce__(self) -> tuple[Any, ...]:
        sizes = (self.num_players, len(self.deck.suits), len(self.deck.ranks), self.hand_size)
        return load_variant, (self.name, *sizes, tuple(self.options.items()))


@cache
def load_variant(
    name: str, num_players: int, suits: int, ranks: int, hand_size: int, options: tuple[tuple[str, bool], ...] = ()
) -> Variant:
    """Makes a variant; ``small`` describes the arguments and the errors."""
    kind = game_type(name)
    if name not in NAMES:
        raise InputError(f"{name} has no small variants, its rules need the whole deck: choose {' or '.join(NAMES)}")
    allowed = kind.players
    _check("num_players", num_players, 2, max(allowed))
    whole = load_game(name, min(allowed, key=lambda players: abs(players - num_players)), 1, **dict(options))
    _check("suits", suits, 1, len(whole.deck.suits))
    _check("ranks", ranks, 1, len(whole.deck.ranks))
    deck = dataclasses.replace(whole.deck, suits=whole.deck.suits[:suits], ranks=whole.deck.ranks[:ranks])
    _check("hand_size", hand_size, 1, deck.size // num_players)
    if (hands := math.comb(deck.size, hand_size)) > MOST_HANDS:
        raise InputError(f"hand_size: {deck.size} cards make {hands:,} hands, expected {MOST_HANDS:,} at most")
    variant = Variant(kind, num_players, whole.options, deck, hand_size)
    _check_leads(variant)
    return variant


def _check(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{name}: expected a whole number of {low} to {high}, not {value!r}")


def _check_leads(variant: Variant) -> None:
    """Checks that every possible leader has a card to lead (in Pepper a hand may be all peppers)."""
    n, size = variant.num_players, variant.hand_size
    for hand in variant.hands(()):
        rest = [card for card in variant.deck.cards if card not in hand]
        others = tuple(tuple(rest[i * size : (i + 1) * size]) for i in range(n - 1))
        for seat in range(n):
            _, _, mask = moves(variant, variant.view_size).dealt(variant.order((*others[:seat], hand, *others[seat:])))
            if not mask.any():
                cards = " ".join(variant.deck.format_all(hand))
                raise InputError(f"hand_size: {size} cards may be {cards}, with which nobody can lead: deal more")


class Position(DealPosition):
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        variant: the game.
        hands: the hands dealt so far, by seat.
        plays: seat and action of every decision so far.
    """

    __slots__ = ("_moves", "hands", "plays", "variant")

    def __init__(
        self,
        variant: Variant,
        record: States,
        player: int,
        mask: Mask,
        returns: tuple[float, ...],
        hands: tuple[Hand, ...],
        plays: tuple[tuple[int, int], ...],
    ) -> None:
        super().__init__(variant, record, player, mask, returns)
        self.variant, self.hands, self.plays, self._moves = variant, hands, plays, moves(variant, variant.view_size)

    @classmethod
    def start(cls, variant: Variant) -> Position:
        """Before the first hand is dealt."""
        own = moves(variant, variant.view_size)
        return cls(variant, variant.template, CHANCE, own.no_action, own.nothing, (), ())

    def dealt(self, hand: Hand) -> Position:
        """The position after the next seat has got its hand."""
        hands = (*self.hands, hand)
        if len(hands) < self.variant.num_players:
            return Position(self.variant, self.record, CHANCE, self.mask, self.returns, hands, ())
        return Position(self.variant, *self._moves.dealt(self.variant.order(hands)), self.returns, hands, ())

    def played(self, action: int) -> Position:
        """The position after a legal action."""
        after = self._moves.played(self.record, action)
        return Position(self.variant, *after, self.hands, (*self.plays, (self.player, action)))

    def greedy(self) -> int:
        """The action of the game's heuristic."""
        actions = np.zeros(1, np.int64)
        self.variant.kernels.greedy_actions(self.record, actions)
        return int(actions[0])

    def drawn_anew(self, observer: int, random: Callable[[], float]) -> tuple[Hand, ...]:
        """Hands that may have been dealt: the cards that the observer has not seen are shuffled.

        Not all such hands allow what others have played. ``random`` draws from 0 … 1.
        """
        lies = places(self.variant, self.record)
        held = [lies[f"hand {seat}"] if seat != observer else [] for seat in range(self.variant.num_players)]
        unseen = list(itertools.chain(*held, set(self.variant.deck.cards).difference(*lies.values())))
        for i in range(len(unseen) - 1, 0, -1):
            j = int(random() * (i + 1))
            unseen[i], unseen[j] = unseen[j], unseen[i]
        cards = iter(unseen)
        return tuple(
            tuple(sorted({*hand}.difference(old) | {*itertools.islice(cards, len(old))}))
            for hand, old in zip(self.hands, held, strict=True)
        )
