"""Many games in lock step."""

from __future__ import annotations

from typing import NamedTuple

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import WORD, cards, has
from trick_envs.engine.hooks import TWO_PACKS, legal
from trick_envs.engine.intrinsics import SLACK, prefetch, spill_bit_sums, spill_bits, write_bits
from trick_envs.engine.kernels.observing import scratch_row, write_mask, write_observation, write_row
from trick_envs.engine.kernels.playing import advance, kinds_of, pay, resolve_card, start_match
from trick_envs.engine.rng import draw_seed
from trick_envs.engine.state import OVER, ByteRows, FixedStates, Flags, FloatRows, NumberRows, Numbers, States, Streams


@kernel(called=True)
def reset_batch(states: States, template: FixedStates, seeds: Streams) -> None:
    """Starts a match in every record; ``seeds`` has one ``uint64`` per record."""
    for i in range(states.shape[0]):
        start_match(states, i, template, seeds[i])


@kernel(called=True)
def observe_batch(states: FixedStates, observations: ByteRows, masks: ByteRows, seats: Numbers) -> int:
    """Observation and mask of the seat to act, for every record; returns the length of the last observation."""
    scratch, written = scratch_row(observations), 0
    for i in range(states.shape[0]):
        state = states[i]
        seats[i] = state.seat
        write_mask(state, masks[i])
        written = write_row(state, seats[i], scratch, observations, i)
    return written


@kernel(called=True)
def first_unnamed(named: NumberRows, env_ids: Numbers, actions: Numbers, kinds: int) -> int:
    """The first ``k`` for which ``actions[k]`` is not in the set ``named[env_ids[k]]``, or -1."""
    for k in range(env_ids.shape[0]):
        action = actions[k]
        if action < 0 or action >= kinds or not has(cards(named[env_ids[k]]), action):
            return k
    return -1


AHEAD = 8  # rows that vectors written at the end of one may reach
REACH = 4 * SLACK  # bytes


class Games(NamedTuple):
    """What a step of many games reads and writes: arrays with a row per game, and how a match begins."""

    states: States
    template: FixedStates
    observations: ByteRows
    masks: ByteRows
    seats: Numbers  # to act
    rewards: FloatRows  # 0 where no deal has ended
    terminated: Flags  # false where no match has ended
    allowed: NumberRows  # the legal actions, as sets


@kernel
def play_legal(games: Games, env_ids: Numbers, actions: Numbers, mode: int) -> None:
    """Plays a legal action in each of these games, starts the next match where one ended, and writes observations.

    Where the next ``AHEAD`` rows are written after this one, in their order, whole vectors go straight to their place,
    and may overwrite them.
    """
    states, template, observations, masks, seats, rewards, terminated, allowed = games
    count, size, kinds = env_ids.shape[0], observations.shape[1], masks.shape[1]
    wide = size * AHEAD >= REACH and kinds * AHEAD >= REACH
    all_seen, all_masks = observations.reshape(observations.size), masks.reshape(masks.size)
    scratch = scratch_row(observations)
    for k in range(count):
        i = env_ids[k]
        state = states[i]
        prefetch(states, i + 1)
        card = actions[k]
        if TWO_PACKS:
            card = resolve_card(state, card)
        if advance(state, card):
            pay(state, mode, rewards[i])
            if state.phase == OVER:
                terminated[i] = 1
                start_match(states, i, template, draw_seed(state))
        seats[i] = state.seat
        named, ahead = kinds_of(state, legal(state)), k + AHEAD
        allowed[i, 0], allowed[i, 1] = named
        if wide and ahead < count and env_ids[ahead] == i + AHEAD:
            if kinds <= WORD:
                spill_bit_sums(named[0], 0, all_masks, i * kinds, kinds)
            else:
                spill_bits(named[0], named[1], WORD, all_masks, i * kinds, kinds)
            write_observation(state, seats[i], all_seen, i * size)
        else:
            write_bits(named[0], named[1], WORD, masks[i], 0, kinds)
            write_row(state, seats[i], scratch, observations, i)


@kernel(called=True)
def step_rows(games: Games, env_ids: Numbers, actions: Numbers, mode: int, checked: bool) -> int:
    """A step, if all actions are legal: -1. Else nothing happens: the first place of one that is not.

    With ``checked`` they are known to be, and rewards and ends to be 0 and false.
    """
    if not checked:
        wrong = first_unnamed(games.allowed, env_ids, actions, games.masks.shape[1])
        if wrong >= 0:
            return wrong
        rewards = games.rewards.reshape(games.rewards.size)
        for i in range(rewards.shape[0]):
            rewards[i] = 0.0
        for i in range(games.terminated.shape[0]):
            games.terminated[i] = 0
    play_legal(games, env_ids, actions, mode)
    return -1
