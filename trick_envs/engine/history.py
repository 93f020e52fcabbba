"""The history of a seat: everything that it has seen in a match, in order (``RawEnv.history`` says what is in it).

``Recall`` plays the deals again, so it needs nothing but dealers, cards and actions.
"""

from __future__ import annotations

from collections.abc import Sequence
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

Events: TypeAlias = npt.NDArray[np.int16]


def is_hidden(phase: Any, seat: Any, observer: Any) -> Any:
    """Whether the card that a seat names in a phase is hidden from an observer: one that is passed, from all others.

    Numbers, or arrays of them; ``-1`` for an observer who sits nowhere.
    """
    return (phase == PASS) & (seat != observer)


@dataclass
class _Sight:
    """What one seat sees of the cards: sets of bits."""

    in_hands: list[int]  # by seat: the cards that it knows there
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
        self._events: list[list[tuple[int, int, int, int]]] = [[] for _ in range(game.num_players)]
        self._sights: list[_Sight] = []
        self._deals = self._plays = 0
        shown = [(name, place) for name, place in game.type.places.items() if place.open]
        self._open = [name for name, _ in shown]
        self._arrivals = [(name, place.per_seat) for name, place in shown if name not in ("table", "pile")]

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
        self._sights = [_Sight([0] * self.game.num_players, 0) for _ in self._events]
        self._look(MIDDLE, HIDDEN_CARD)

    def _play(self, action: int) -> None:
        state = self._states[0]
        seat, phase = int(state["seat"]), int(state["phase"])
        for observer, told in enumerate(self._events):
            told.append((self._number, seat, phase, HIDDEN_CARD if is_hidden(phase, seat, observer) else action))
        over = self.game.kernels.play_without_dealing(self._states, action)
        self._plays += 1
        self._look(seat, HIDDEN_CARD if is_hidden(phase, seat, MIDDLE) else action)
        if over:
            for other in range(self.game.num_players):
                self._tell((self._number, other, OVER, int(self._states["deal_score"][0][other])))

    def _tell(self, event: tuple[int, int, int, int]) -> None:
        for told in self._events:
            told.append(event)

    def _look(self, seat: int, named: int) -> None:
        """Notes the cards that have come into hands, or on the table, in view of a seat; not the one just named."""
        state, kind = self._states[0], self.game.deck.kind
        hands, seen = _sets(state["hand"]), _sets(state["seen"])
        lying = {name: _sets(state[name]) for name in self._open}
        everybody = 0
        for found in (*lying.values(), _sets(state["gone"])):
            for one in found:
                everybody |= one
        for observer, sight in enumerate(self._sights):
            came = []
            for holder in range(self.game.num_players):
                now = hands[holder] & seen[observer]
                came += [(holder, kind(card)) for card in _cards(now & ~sight.in_hands[holder])]
                sight.in_hands[holder] = now
            for name, per_seat in self._arrivals:
                for place, there in enumerate(lying[name]):
                    came += [(place if per_seat else MIDDLE, kind(card)) for card in _cards(there & ~sight.known)]
            sight.known = everybody | seen[observer]
            if (seat, named) in came:
                came.remove((seat, named))
            self._events[observer] += [(self._number, holder, SEE, card) for holder, card in sorted(came)]


def _sets(words: npt.NDArray[np.int64]) -> list[int]:
    """Card sets of a record, each as one number."""
    return [one | other << 64 for one, other in words.reshape(-1, 2).tolist()]


def _cards(found: int) -> list[int]:
    return members((found & (2**64 - 1), found >> 64)) if found else []
