"""Many games in lock step."""

from __future__ import annotations

from trick_envs.engine.cards import WORD, cards, has
from trick_envs.engine.hooks import legal
from trick_envs.engine.intrinsics import (
    SLACK,
    add_to_word,
    pause,
    prefetch,
    replace_word,
    shared_word,
    spill_bit_sums,
    spill_bits,
    write_bits,
)
from trick_envs.engine.kernels.binding import TWO_PACKS, kernel
from trick_envs.engine.kernels.observing import scratch_row, write_mask, write_observation, write_row
from trick_envs.engine.kernels.playing import advance, kinds_of, pay, resolve_card, start_match
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
def first_unnamed(named: Numbers, env_ids: Numbers, actions: Numbers, kinds: int) -> int:
    """The first ``k`` for which ``actions[k]`` is not in the set ``named[env_ids[k]]``, or -1."""
    for k in range(env_ids.shape[0]):
        action = actions[k]
        if action < 0 or action >= kinds or not has(cards(named[env_ids[k]]), action):
            return k
    return -1


AHEAD = 8  # rows that vectors written at the end of one may reach
REACH = 4 * SLACK  # bytes


@kernel
def step_rows(
    states: States,
    template: States,
    env_ids: Numbers,
    actions: Numbers,
    mode: int,
    observations: Bytes,
    masks: Bytes,
    seats: Numbers,
    rewards: Rewards,
    terminated: Flags,
    allowed: Numbers,
) -> None:
    """Plays a legal action in each of these records, starts the next match where one ended, and writes observations.

    ``allowed`` gets the actions that are legal now, as sets.
    ``rewards`` and ``terminated`` are 0 before, and stay so where no deal and no match ends. Where the next ``AHEAD``
    rows are written after this one, in their order, whole vectors go straight to their place, and may overwrite them.
    """
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


# Threads share the games of a step. Each has a part of its own, which it does in portions of ``PORTION`` games, and
# then helps the others with theirs: nobody waits for a thread that gets no processor time. Their words, ``APART`` from
# each other: per part what has been claimed, then how many portions are done, the first game whose action is refused,
# and per thread whether it sleeps. A claim is ``turn << CLAIM_BITS | next portion``; odd turns check actions, even ones
# play them.
PORTION = 128
APART = 16
CLAIM_BITS = 32


@kernel
def num_portions(ends: Numbers, part: int) -> int:
    """How many portions a part has; it goes from ``ends[part]`` to ``ends[part + 1]``."""
    return (ends[part + 1] - ends[part] + PORTION - 1) // PORTION


@kernel
def begin_turn(words: Numbers, ends: Numbers, checks: int) -> int:
    """Opens the portions of all parts for a turn that ``checks`` (1) or plays (0); returns how many threads sleep.

    The turn before has to be over.
    """
    parts, sleeping = ends.shape[0] - 1, 0
    turn = (shared_word(words, 0) >> CLAIM_BITS) + 1
    if turn & 1 != checks:
        turn += 1
    words[parts * APART] = 0
    words[(parts + 1) * APART] = -1
    for part in range(parts):
        at = part * APART
        replace_word(words, at, shared_word(words, at), turn << CLAIM_BITS)
    for thread in range(1, parts):
        if replace_word(words, (parts + 2 + thread) * APART, 1, 0):
            sleeping += 1
    return sleeping


@kernel
def turn_is_over(words: Numbers, ends: Numbers, turns: int) -> bool:
    """Waits until all portions are done, or for so many ``turns`` of a loop; returns whether they are."""
    parts, portions = ends.shape[0] - 1, 0
    for part in range(parts):
        portions += num_portions(ends, part)
    for _ in range(turns):
        if shared_word(words, parts * APART) == portions:
            return True
        pause()
    return False


@kernel
def note_refused(words: Numbers, at: int, game: int) -> None:
    """Writes the smallest number of all that are noted."""
    while True:
        noted = shared_word(words, at)
        if 0 <= noted <= game or replace_word(words, at, noted, game):
            return


@kernel
def portions_left(words: Numbers, ends: Numbers) -> bool:
    """Whether there are portions that nobody has claimed."""
    for part in range(ends.shape[0] - 1):
        if (shared_word(words, part * APART) & ((1 << CLAIM_BITS) - 1)) < num_portions(ends, part):
            return True
    return False


@kernel
def share_rows(
    words: Numbers,
    ends: Numbers,
    thread: int,
    turns: int,
    states: States,
    template: States,
    env_ids: Numbers,
    actions: Numbers,
    mode: int,
    observations: Bytes,
    masks: Bytes,
    seats: Numbers,
    rewards: Rewards,
    terminated: Flags,
    allowed: Numbers,
) -> None:
    """Does portions of ``first_unnamed`` and ``step_rows`` as long as there are any.

    Thread 0, the caller's, then returns; the others wait for more, for so many ``turns`` of a loop, and return as
    sleeping. Rewards and ends are set to 0 before a play.
    """
    parts, kinds, waited = ends.shape[0] - 1, masks.shape[1], 0
    while True:
        done = 0
        for k in range(parts):
            part = (thread + k) % parts
            portions = num_portions(ends, part)
            while True:
                claim = shared_word(words, part * APART)
                portion = claim & ((1 << CLAIM_BITS) - 1)
                if portion >= portions:
                    break
                if not replace_word(words, part * APART, claim, claim + 1):
                    continue
                start = ends[part] + portion * PORTION
                stop = min(start + PORTION, ends[part + 1])
                games, chosen = env_ids[start:stop], actions[start:stop]
                if (claim >> CLAIM_BITS) & 1:
                    wrong = first_unnamed(allowed, games, chosen, kinds)
                    if wrong >= 0:
                        note_refused(words, (parts + 1) * APART, start + wrong)
                else:
                    rewards[start:stop] = 0.0
                    terminated[start:stop] = 0
                    step_rows(
                        states, template, games, chosen, mode, observations, masks, seats, rewards, terminated, allowed
                    )  # fmt: skip
                add_to_word(words, parts * APART, 1)
                done += 1
        if thread == 0:
            return
        if done:
            waited = 0
        elif waited < turns:
            pause()
            waited += 1
        else:
            own = (parts + 2 + thread) * APART
            replace_word(words, own, 0, 1)
            if not portions_left(words, ends) or not replace_word(words, own, 1, 0):
                return
            waited = 0
