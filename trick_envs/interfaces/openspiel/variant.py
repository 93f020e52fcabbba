"""Small variants of the games: one deal with fewer cards, and its positions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck, members
from trick_envs.engine.game import Game, GameType
from trick_envs.engine.inspect import places
from trick_envs.engine.kernels.playing import ZERO_SUM
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import copy_states
from trick_envs.interfaces.openspiel.deal import DealPosition

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
        self.hand_size = hand_size
        self.template = self._template()
        self.view_size = max(load_game(self.name, players).layout.size for players in game_type.players)  # no more
        self.view_size = len(self.view(self.template, 0))

    def view(self, record: Any, observer: int) -> npt.NDArray[np.int8]:
        """What a seat observes, ``(view_size,) int8``."""
        out, mask = np.zeros(self.view_size, np.int8), np.zeros(self.num_actions, np.int8)
        return out[: self.kernels.observe(record, 0, observer, out, mask)]

    def legal(self, record: Any) -> list[int]:
        """The legal actions, ascending."""
        return sorted({self.deck.kind(card) for card in members(self.kernels.legal_cards(record))})

    def hands(self, dealt: tuple[Hand, ...]) -> Iterator[Hand]:
        """Every hand that the next seat may get, after these were dealt."""
        left_over = [card for card in self.deck.cards if not any(card in hand for hand in dealt)]
        return itertools.combinations(left_over, self.hand_size)

    def deal(self, hands: tuple[Hand, ...]) -> Any:
        """The record, ``(1,)``, when every seat has its hand."""
        order = list(itertools.chain(*hands))
        order += [card for card in self.deck.cards if card not in order]
        record = copy_states(self.template)
        self.kernels.deal_order(record, np.array(order), 0)
        return record

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
        raise ValueError(f"{name} has no small variants, its rules need the whole deck: choose {' or '.join(NAMES)}")
    allowed = kind.players
    _check("num_players", num_players, 2, max(allowed))
    whole = load_game(name, min(allowed, key=lambda players: abs(players - num_players)), 1, **dict(options))
    _check("suits", suits, 1, len(whole.deck.suits))
    _check("ranks", ranks, 1, len(whole.deck.ranks))
    deck = dataclasses.replace(whole.deck, suits=whole.deck.suits[:suits], ranks=whole.deck.ranks[:ranks])
    _check("hand_size", hand_size, 1, deck.size // num_players)
    if (hands := math.comb(deck.size, hand_size)) > MOST_HANDS:
        raise ValueError(f"hand_size: {deck.size} cards make {hands:,} hands, expected {MOST_HANDS:,} at most")
    variant = Variant(kind, num_players, whole.options, deck, hand_size)
    _check_leads(variant)
    return variant


def _check(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name}: expected a whole number of {low} to {high}, not {value!r}")


def _check_leads(variant: Variant) -> None:
    """Checks that every possible leader has a card to lead (in Pepper a hand may be all peppers)."""
    n, size = variant.num_players, variant.hand_size
    for hand in variant.hands(()):
        rest = [card for card in variant.deck.cards if card not in hand]
        others = tuple(tuple(rest[i * size : (i + 1) * size]) for i in range(n - 1))
        for seat in range(n):
            if not variant.legal(variant.deal((*others[:seat], hand, *others[seat:]))):
                cards = " ".join(variant.deck.format_all(hand))
                raise ValueError(f"hand_size: {size} cards may be {cards}, with which nobody can lead: deal more")


@dataclass(frozen=True)
class Position(DealPosition):
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        variant: the game.
        record: ``(1,)``, the template as long as cards are dealt.
        hands: the hands dealt so far, by seat.
        plays: seat and action of every decision so far.
        returns: by seat; 0 until the deal is over.
    """

    variant: Variant
    record: Any
    hands: tuple[Hand, ...]
    plays: tuple[tuple[int, int], ...]
    returns: tuple[float, ...]

    @property
    def dealing(self) -> bool:
        return len(self.hands) < self.variant.num_players

    def dealt(self, hand: Hand) -> Position:
        """The position after the next seat has got its hand."""
        hands = (*self.hands, hand)
        record = self.variant.deal(hands) if len(hands) == self.variant.num_players else self.record
        return dataclasses.replace(self, record=record, hands=hands)

    def played(self, action: int) -> Position:
        """The position after a legal action."""
        record, returns = copy_states(self.record), np.zeros(self.variant.num_players)
        self.variant.kernels.step_one(record, action, ZERO_SUM, returns)
        plays = (*self.plays, (self.seat, action))
        return dataclasses.replace(self, record=record, plays=plays, returns=tuple(returns.tolist()))

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
