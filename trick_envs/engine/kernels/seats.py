"""One learner per game; the other seats are played by compiled players, or by Python agents, for which it waits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.intrinsics import clear_bytes, splitmix
from trick_envs.engine.kernels.observing import scratch_row, write_mask, write_observation
from trick_envs.engine.kernels.players import greedy, random_card
from trick_envs.engine.kernels.playing import advance, begin_deal, pay, resolve_card, start_match
from trick_envs.engine.rng import draw_from, draw_seed
from trick_envs.engine.state import (
    MAX_PLAYERS,
    OVER,
    ByteRows,
    FixedStates,
    Flags,
    FloatRows,
    Numbers,
    Reals,
    State,
    States,
    Streams,
)
from trick_envs.engine.table import kind, relative

NOBODY, NAMED, RANDOM_PLAYER, GREEDY_PLAYER = -4, -3, -2, -1  # who plays; other numbers are Python agents
SETTLED, UNFINISHED = -1, -2  # what a game waits for, if not for a Python agent: for nobody, or to be played on
NOTED = 5  # numbers that are noted of a play: the deal, the seat, the phase, the action, how many tricks are finished
ILLEGAL_MODES = ("terminate", "raise", "substitute")
END_MATCH, RAISE, SUBSTITUTE = range(len(ILLEGAL_MODES))


@kernel(called=True)
def next_seeds(states: States, rows: Numbers, seeds: Streams) -> None:
    """The seed of the match that follows the one in each of these rows."""
    for k in range(rows.shape[0]):
        seeds[k] = draw_seed(states[rows[k]])


@kernel
def draw_seat(states: States, i: int, streams: Streams) -> int:
    """Seeds ``streams[i]`` from the seed of the match in ``states[i]``, independent of its deals; a random seat."""
    state = states[i]
    _, bits = splitmix(state.seed)
    _, bits = splitmix(bits)
    _, streams[i] = splitmix(bits)
    return draw_from(streams, i, state.num_players)


@kernel(called=True)
def seat_learners(
    states: States,
    template: FixedStates,
    rows: Numbers,
    seeds: Streams,
    dealer: int,
    seat: int,
    streams: Streams,
    seats: Numbers,
) -> None:
    """Starts a match in each of these rows; ``dealer`` and the learner's ``seat`` are drawn from its seed if -1."""
    for k in range(rows.shape[0]):
        i = rows[k]
        start_match(states, i, template, seeds[k])
        drawn = draw_seat(states, i, streams)
        seats[i] = drawn if seat < 0 else seat
        if dealer >= 0:
            state = states[i]
            state.dealer = dealer
            begin_deal(state)


@kernel
def note_play(state: State, action: int, plays: Numbers, at: int) -> None:
    """Notes a play that is about to happen."""
    plays[at] = state.deal_number
    plays[at + 1] = state.seat
    plays[at + 2] = state.phase
    plays[at + 3] = action
    plays[at + 4] = state.tricks


class SeatGames(NamedTuple):
    """Games with a learner each: arrays with a row per game, and who plays the other seats.

    Attributes:
        states: the positions.
        seats: where the learners sit.
        opponents: who plays the seats from the learner's left neighbour on.
        streams: the random numbers of random players.
        over: whether the match has ended, regularly or by an illegal action.
        waiting: the number of the Python agent that has to act, else ``SETTLED`` or ``UNFINISHED``.
        plays: ``(games, room, NOTED)`` in one row: every play is noted here. Without room, none is.
        noted: how many plays are noted.
    """

    states: States
    seats: Numbers
    opponents: Numbers
    streams: Streams
    over: Flags
    waiting: Numbers
    plays: Numbers
    noted: Numbers


@kernel(called=True)
def play_rows(games: SeatGames, rows: Numbers, actions: Numbers, mode: int, illegal: int, rewards: Reals) -> int:
    """Plays in each of these rows until its learner or a Python agent is to act, or the match is over.

    Where plays are noted, it also stops at the end of a deal, and where there is no room for more. Returns how many
    games have stopped for that, or have no room for the next play.

    Args:
        games: all games.
        rows: which of them.
        actions: one per row, for the seat to act; empty, if only opponents have to act.
        mode: what rewards are.
        illegal: what an illegal action does.
        rewards: what the learners get is added here, one for each of all games.
    """
    states, seats, opponents, streams, over, waiting, plays, noted = games
    pays = np.zeros(MAX_PLAYERS, np.float64)
    room, stopped = plays.shape[0] // (NOTED * noted.shape[0]), 0
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        learner = seats[i]
        player = NAMED if actions.shape[0] > 0 else NOBODY
        waiting[i] = SETTLED
        while True:
            if player == NOBODY:
                if state.phase == OVER:
                    over[i] = True
                    break
                if state.seat == learner:
                    break
                player = opponents[relative(state, state.seat, learner) - 1]
                if player >= 0:
                    waiting[i] = player
                    break
                if 0 < room == noted[i]:
                    waiting[i] = UNFINISHED
                    break

            if player == RANDOM_PLAYER:
                card = random_card(state, streams, i)
            else:
                action = actions[k] if player == NAMED else greedy(state)
                card = resolve_card(state, action) if 0 <= action < state.kinds else -1

            if card >= 0:
                player = NOBODY
                if room > 0:
                    note_play(state, kind(state, card), plays, (i * room + noted[i]) * NOTED)
                    noted[i] += 1
                if advance(state, card):
                    pay(state, mode, pays)
                    rewards[i] += pays[learner]
                    if room > 0 and state.phase != OVER:
                        waiting[i] = UNFINISHED
                        break
            elif illegal == SUBSTITUTE:
                player = RANDOM_PLAYER
            else:
                rewards[i] = -1.0
                over[i] = True
                break
        if room > 0 and (waiting[i] == UNFINISHED or noted[i] == room):
            stopped += 1
    return stopped


@kernel(called=True)
def observe_rows(
    states: FixedStates, rows: Numbers, seats: Numbers, over: Flags, observations: FloatRows, masks: ByteRows
) -> None:
    """Observations (``float32``) and masks of the seats ``seats[i]``, one row for each of these games."""
    seen, length = scratch_row(observations), observations.shape[1]
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        seat = seats[i]
        if over[i] or seat != state.seat:
            clear_bytes(masks[k], 0, state.kinds)
        else:
            write_mask(state, masks[k])
        write_observation(state, seat, seen, 0)
        for j in range(length):
            observations[k, j] = seen[j]
