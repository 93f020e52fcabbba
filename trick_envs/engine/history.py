"""The history of a seat: everything that it has seen in a match, in order (``RawEnv.history`` says what is in it).

``Recall`` plays the deals again, so it needs nothing but dealers, cards and actions.
"""

from __future__ import annotations

import functools
import itertools
import operator
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import members
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.state import OVER, PASS, PHASES

DEAL, SEE = len(PHASES), len(PHASES) + 1  # what the third number of an event can be besides a phase
MIDDLE = -1  # the seat of what lies in front of nobody
HIDDEN_CARD = -1
SET = 128  # bits of a card set: two words of a position

Events: TypeAlias = npt.NDArray[np.int16]


def is_hidden(phase: Any, seat: Any, observer: Any) -> Any:
    """Whether the card that a seat names in a phase is hidden from an observer: one that is passed, from all others.

    Numbers, or arrays of them; ``-1`` for an observer who sits nowhere.
    """
    return (phase == PASS) & (seat != observer)


@dataclass
class _Sight:
    """What one seat sees of the cards: sets of bits."""

    in_hands: int  # the cards that it knows there, ``SET`` bits for each seat
    known: int  # all cards that it knows the place of


class Recall:
    """Everything that the seats have seen in a match, from its first deal on.

    Args:
        game: the game.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self._states = np.zeros(1, game.dtype)
        game.kernels.start_match(self._states, 0, game.template, np.uint64(0))
        self._events: list[array[int]] = [array("h") for _ in range(game.num_players)]
        self._sights: list[_Sight] = []
        self._passed: list[tuple[int, int]] = []  # each card that is on its way to another seat, and who has passed it
        self._deals = self._plays = 0
        places = game.type.places
        self._open = [name for name, place in places.items() if place.open]
        self._arrivals = {name: place for name, place in places.items() if name not in ("hand", "table", "pile")}
        self._every_hand = sum(1 << SET * seat for seat in range(game.num_players))

    def history(self, deals: Sequence[Deal], seat: int) -> Events:
        """What a seat has seen, ``(T, 4) int16``; the deals continue those of the last call."""
        for number, deal in enumerate(deals):
            if number < self._deals - 1:
                continue
            if number == self._deals:
                self._begin(deal)
            for _, action in deal.actions[self._plays :]:
                self._play(action)
        return np.array(self._events[seat], np.int16).reshape(-1, 4)

    def _begin(self, deal: Deal) -> None:
        self.game.kernels.deal_order(self._states, np.array(deal.order, np.int8), deal.dealer)
        self._number, self._deals, self._plays = self._deals, self._deals + 1, 0
        self._tell((self._number, deal.dealer, DEAL, HIDDEN_CARD))
        self._sights, self._passed = [_Sight(0, 0) for _ in self._events], []
        self._look(MIDDLE, HIDDEN_CARD)

    def _play(self, action: int) -> None:
        seat, phase = int(self._states["seat"][0]), int(self._states["phase"][0])
        for observer, told in enumerate(self._events):
            told.extend((self._number, seat, phase, HIDDEN_CARD if is_hidden(phase, seat, observer) else action))
        self._passed = [*self._passed, (action, seat)] if phase == PASS else []
        over = self.game.kernels.play_without_dealing(self._states, action)
        self._plays += 1
        self._look(seat, HIDDEN_CARD if is_hidden(phase, seat, MIDDLE) else action)
        if over:
            for other in range(self.game.num_players):
                self._tell((self._number, other, OVER, int(self._states["deal_score"][0][other])))

    def _tell(self, event: tuple[int, int, int, int]) -> None:
        for told in self._events:
            told.extend(event)

    def _look(self, seat: int, named: int) -> None:
        """Notes the cards that have come into hands, or on the table, in view of a seat; not the one just named.

        Cards that come at once are in order of where they are; those that were passed to the observer are in order of
        who has passed them, which it sees.
        """
        hands, kind = _bits(self._states["hand"]), self.game.deck.kind
        lying = {name: _sets(self._states[name]) for name in self._arrivals}
        arrived = _union(lying.values())
        everybody = _union(_sets(self._states[name]) for name in (*self._open, "gone"))
        passed = False
        for observer, (sight, seen) in enumerate(zip(self._sights, _sets(self._states["seen"]), strict=True)):
            came: list[tuple[int, int, int]] = []
            now = hands & seen * self._every_hand
            if drawn := now & ~sight.in_hands:
                for holder in range(self.game.num_players):
                    kinds, own = map(kind, _cards(drawn >> SET * holder)), holder == observer
                    came += [(holder, self._giver(each) if own else MIDDLE, each) for each in kinds]
            if shown := arrived & (everybody | seen) & ~sight.known:
                for name, place in self._arrivals.items():
                    for holder, there in enumerate(lying[name]):
                        where = holder if place.per_seat else MIDDLE
                        came += [(where, MIDDLE, kind(card)) for card in _cards(there & shown)]
            sight.in_hands, sight.known = now, everybody | seen
            if (seat, MIDDLE, named) in came:
                came.remove((seat, MIDDLE, named))
            for holder, giver, card in sorted(came):
                self._events[observer].extend((self._number, holder, SEE, card))
                passed = passed or giver != MIDDLE
        if passed:
            self._passed = []

    def _giver(self, card: int) -> int:
        """Who has passed a card; ``MIDDLE``: nobody, or one of two cards that are alike."""
        givers = {seat for passed, seat in self._passed if passed == card}
        return givers.pop() if len(givers) == 1 else MIDDLE


def _bits(places: npt.NDArray[np.int64]) -> int:
    """Card sets of a position, one after the other in one number."""
    return int.from_bytes(places.astype("<i8").tobytes(), "little")


def _sets(places: npt.NDArray[np.int64]) -> list[int]:
    """Card sets of a position, each as one number."""
    return [one | other << 64 for one, other in places.reshape(-1, 2).tolist()]


def _union(found: Iterable[list[int]]) -> int:
    return functools.reduce(operator.or_, itertools.chain.from_iterable(found), 0)


def _cards(found: int) -> list[int]:
    """The cards of the first set of a number."""
    return members((found & (2**64 - 1), found >> 64 & (2**64 - 1)))
