"""Many games in lock step."""

from __future__ import annotations

from trick_envs.engine.intrinsics import prefetch
from trick_envs.engine.kernels.binding import kernel
from trick_envs.engine.kernels.observing import scratch_row, write_mask, write_row
from trick_envs.engine.kernels.playing import advance, checked_card, pay, start_match
from trick_envs.engine.rng import draw_seed
from trick_envs.engine.state import OVER, Bytes, Flags, Numbers, Rewards, States, Streams


@kernel
def reset_batch(states: States, template: States, seeds: Streams) -> None:
    """Starts a match in every record; ``seeds`` has one ``uint64`` per record."""
    for i in range(states.shape[0]):
        start_match(states, i, template, seeds[i])


@kernel
def observe_batch(states: States, observations: Bytes, masks: Bytes, seats: Numbers) -> int:
    """Observation and mask of the seat to act, for every record; returns the length of the last observation."""
    scratch, written = scratch_row(observations), 0
    for i in range(states.shape[0]):
        state = states[i]
        seats[i] = state.seat
        write_mask(state, masks[i])
        written = write_row(state, seats[i], scratch, observations, i)
    return written


@kernel
def resolve_rows(states: States, env_ids: Numbers, actions: Numbers, cards: Numbers) -> int:
    """Writes the card that ``actions[k]`` names in game ``env_ids[k]``; returns the first illegal ``k``, or -1."""
    for k in range(env_ids.shape[0]):
        prefetch(states, env_ids[k] + 1)
        cards[k] = checked_card(states[env_ids[k]], actions[k])
        if cards[k] < 0:
            return k
    return -1


@kernel
def step_rows(
    states: States,
    template: States,
    env_ids: Numbers,
    cards: Numbers,
    mode: int,
    observations: Bytes,
    masks: Bytes,
    seats: Numbers,
    rewards: Rewards,
    terminated: Flags,
) -> None:
    """Plays a legal action in each of these records, starts the next match where one ended, and writes observations."""
    scratch = scratch_row(observations)
    for k in range(env_ids.shape[0]):
        i = env_ids[k]
        state = states[i]
        prefetch(states, i + 1)
        terminated[i] = 0
        if advance(state, cards[k]):
            pay(state, mode, rewards[i])
            if state.phase == OVER:
                terminated[i] = 1
                start_match(states, i, template, draw_seed(state))
        else:
            for seat in range(state.num_players):
                rewards[i, seat] = 0.0
        seats[i] = state.seat
        write_mask(state, masks[i])
        write_row(state, seats[i], scratch, observations, i)
