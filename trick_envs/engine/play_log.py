"""The order of play: what a position forgets, and recurrent networks and transformers want to know.

A position says which cards have gone and who played them, not when. ``PlayLog`` is kept beside the positions by the
environments that are made with ``observation="history"``; nothing here is called by the others. It gives

- two more blocks of the observation (``history_layout``), and
- the plays of the running match (``plays``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.copies import OwnArrays
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.history import HIDDEN_CARD, Events, is_hidden
from trick_envs.engine.kernels.seats import NOTED
from trick_envs.engine.observation import Block, Layout
from trick_envs.engine.state import FOLLOW, LEAD, OVER, Numbers, States
from trick_envs.errors import InputError, ResetNeeded, shown

OBSERVATIONS = ("position", "history")
MOST = 127  # what an int8 can hold


def with_history(observation: str) -> bool:
    """Whether observations show the order of play.

    Raises:
        ValueError: if there is no such kind of observation.
    """
    if not isinstance(observation, str) or observation not in OBSERVATIONS:
        raise InputError(f"observation: expected {' or '.join(map(repr, OBSERVATIONS))}, not {shown(observation)}")
    return observation == "history"


def most_tricks(game: Game) -> int:
    """The largest number of a trick in the observation: twice as many as there are if every card is played once."""
    return min(2 * -(-game.deck.size // game.num_players), MOST)


def history_layout(game: Game) -> Layout:
    """The blocks of an observation with history: those of the position, then when every card was played."""
    n, deck = game.num_players, game.deck
    length, copies = n * deck.copies * deck.kinds, "" if deck.copies == 1 else ", first and second copy"
    return Layout(
        (
            *game.layout,
            Block(
                "played_in",
                length,
                f"by seat{copies} and card: the number of the trick in which the seat last played it, 0 if it has not",
                most_tricks(game),
                unit="card",
            ),
            Block("played_as_lead", length, f"by seat{copies} and card: 1 if it was led then", unit="card"),
        )
    )


def layout_of(game: Game, observation: str = "position") -> Layout:
    """The blocks of an observation, ``"position"`` or ``"history"``."""
    return history_layout(game) if with_history(observation) else game.layout


class NotedPlays(OwnArrays):
    """What has been played in the running matches of many games, in order.

    Args:
        count: how many games.
        room: for so many plays at first.

    Attributes:
        array: ``(count, room, NOTED) int64``, what ``note_play`` notes of a play; behind the last one, -1.
        length: ``(count,) int64``, how many plays there are.
    """

    def __init__(self, count: int, room: int = 64) -> None:
        self.array = np.full((count, room, NOTED), -1, np.int64)
        self.length = np.zeros(count, np.int64)

    def make_room(self) -> None:
        """Sees to it that every game has room for another play."""
        if self.length.max() == self.array.shape[1]:
            self.array = np.concatenate([self.array, np.full_like(self.array, -1)], axis=1)

    def clear(self, rows: Numbers) -> None:
        """Matches begin in these games."""
        self.length[rows] = 0
        self.array[rows] = -1

    def actions(self, i: int) -> list[int]:
        """The actions in game ``i``."""
        found: list[int] = self.array[i, : int(self.length[i]), 3].tolist()
        return found


class PlayLog(NotedPlays):
    """Who has played what and when, in many games.

    Args:
        game: the game.
        count: how many games.
    """

    def __init__(self, game: Game, count: int) -> None:
        super().__init__(count)
        self.game = game
        shape = count, game.num_players, game.deck.copies, game.num_actions
        self._number, self._led = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
        self._shown = np.zeros(count, np.int64)  # how many plays these two show, or an earlier deal did
        self._deal = np.zeros(count, np.int64)  # the number of the running deal
        self._starts: list[list[tuple[int, int, npt.NDArray[np.int8]]]] = [[] for _ in range(count)]
        self._most = most_tricks(game)

    def begin_matches(self, states: States, rows: Numbers) -> None:
        """Matches have just begun in these games."""
        self.clear(rows)
        for i in rows.tolist():
            self._starts[i].clear()
        self._begin_deals(states, rows)

    def _begin_deals(self, states: States, rows: Numbers) -> None:
        self._number[rows] = 0
        self._led[rows] = 0
        self._shown[rows] = self.length[rows]
        self._deal[rows] = states["deal_number"][rows]
        for i in rows.tolist():
            self._starts[i].append((int(self.length[i]), int(states["dealer"][i]), states["order"][i].copy()))

    def note(self, states: States, rows: Numbers, actions: npt.ArrayLike) -> None:
        """Notes legal actions that are about to be played, one in each of these games."""
        if not len(rows):
            return
        self.make_room()
        noted = [states[name][rows] for name in ("deal_number", "seat", "phase")]
        self.array[rows, self.length[rows]] = np.stack([*noted, np.asarray(actions), states["tricks"][rows]], axis=1)
        self.length[rows] += 1
        self._show(rows)

    def follow(self, states: States, rows: Numbers) -> None:
        """What was noted has been played: where that ended a deal, the next one has begun."""
        self._show(rows)
        new = (self._deal[rows] != states["deal_number"][rows]) & (states["phase"][rows] != OVER)
        if new.any():
            self._begin_deals(states, rows[new])

    def _show(self, rows: Numbers) -> None:
        """Takes what is new into the blocks of observations."""
        rows = rows[self._shown[rows] < self.length[rows]]
        while len(rows):
            _, seats, phases, cards, tricks = self.array[rows, self._shown[rows]].T
            self._shown[rows] += 1
            laid = (phases == LEAD) | (phases == FOLLOW)
            games, seats, cards = rows[laid], seats[laid], cards[laid]
            copies = self._number.shape[2]
            slot = np.minimum((self._number[games, seats, :, cards] > 0).sum(axis=1), copies - 1)
            self._number[games, seats, slot, cards] = np.minimum(tricks[laid] + 1, self._most)
            self._led[games, seats, slot, cards] = phases[laid] == LEAD
            rows = rows[self._shown[rows] < self.length[rows]]

    def load(self, deals: Iterable[Deal]) -> None:
        """Plays the deals of a match again, in a log of one game."""
        states, row = np.zeros(1, self.game.dtype), np.zeros(1, np.int64)
        kernels = self.game.kernels
        kernels.start_match(states, 0, self.game.template, np.uint64(0))
        self.clear(row)
        self._starts[0].clear()
        for deal in deals:
            kernels.deal_order(states, np.array(deal.order, np.int8), deal.dealer)
            self._begin_deals(states, row)
            for _, action in deal.actions:
                self.note(states, row, [action])
                kernels.play_without_dealing(states, action)

    def write(self, rows: Numbers, seats: Numbers, out: npt.NDArray[Any]) -> None:
        """Writes the blocks of these games, each for one seat, behind ``game.layout`` of ``out``, ``(R, D)``."""
        n, at = self.game.num_players, self.game.layout.size
        around = (seats[:, None] + np.arange(n)) % n
        numbers, led = self._number[rows[:, None], around], self._led[rows[:, None], around]
        size = numbers[0].size if len(rows) else 0
        out[:, at : at + size] = numbers.reshape(len(rows), -1)
        out[:, at + size :] = led.reshape(len(rows), -1)

    def plays(self, rows: Numbers, seats: Numbers) -> Events:
        """The plays of the running matches, each as one seat saw it: ``(R, T, 4) int16``; behind the last one, -1."""
        found = self.array[rows, : int(self.length[rows].max(initial=0)), :4].astype(np.int16)
        hidden = is_hidden(found[:, :, 2], found[:, :, 1], seats[:, None])
        found[:, :, 3][hidden] = HIDDEN_CARD
        return found

    def deals(self, i: int) -> list[Deal]:
        """The deals of the running match in game ``i``.

        Raises:
            ResetNeeded: if there is none.
        """
        starts = self._starts[i]
        if not starts:
            raise ResetNeeded(f"game {i}: no match is going on: call reset() first")
        ends = [*(first for first, _, _ in starts[1:]), int(self.length[i])]
        events = self.array[i].tolist()
        return [
            Deal(dealer, tuple(order.tolist()), [(seat, action) for _, seat, _, action, _ in events[first:end]])
            for (first, dealer, order), end in zip(starts, ends, strict=True)
        ]
