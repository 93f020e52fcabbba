"""Play-outs, and perfect-information Monte Carlo search (Long, Sturtevant, Buro, Furtak 2010)."""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.build.rule import ArrayOf
from trick_envs.engine.cards import EMPTY, CardSet, first, is_empty, just, nth, rest, size, without
from trick_envs.engine.hooks import legal, play, score_deal
from trick_envs.engine.intrinsics import copy_state
from trick_envs.engine.kernels.players import greedy
from trick_envs.engine.kernels.playing import kinds_of, resolve_card
from trick_envs.engine.rng import decision_bits, draw
from trick_envs.engine.search.worlds import resample
from trick_envs.engine.state import OVER, FixedStates, NumberRows, Numbers, Records, State, States, Streams, record_of
from trick_envs.engine.table import margin_of

EPSILON = 0.25  # the share of random plays in the play-outs of searches that know the true world
MIN_STANDARD_ERRORS = 1.0  # by how many an action must look better than the baseline to be preferred

# What is known of an action of a decision, by comparing it with the baseline in the same worlds.
COMPARISON = record_of(
    advantage=np.float64,  # by how much its margin was larger than the baseline's: the sum over worlds
    squares=np.float64,  # the sum of the squares
    count=np.int64,  # in how many worlds
    node=np.int64,  # of ``ismcts``: its node, which is a child of the root
)
Comparisons: TypeAlias = Annotated[Records, ArrayOf(COMPARISON, 1)]  # of one decision, by action


@kernel(inline=False)
def play_out(state: State, epsilon: float) -> None:
    """Plays the deal to its end by the heuristic, with probability ``epsilon`` a random card; scores the deal."""
    while state.phase != OVER:
        if epsilon > 0.0 and draw(state, 1 << 20) < epsilon * (1 << 20):
            allowed = kinds_of(state, legal(state))
            action = nth(allowed, draw(state, size(allowed)))
        else:
            action = greedy(state)
        play(state, resolve_card(state, action))
    score_deal(state)


@kernel
def margin(state: State, seat: int) -> float:
    """The seat's points of the deal minus the mean of the others' (the other team's)."""
    n, total = state.num_players, 0
    for other in range(n):
        total += state.deal_score[other]
    return margin_of(state.deal_score[seat], total, n, state.teams != 0)


@kernel(inline=False, called=True)
def value_of(scratch: States, action: int, seat: int) -> float:
    """The margin of a seat when an action is played in the world ``scratch[0]``, and the rest by the heuristic."""
    copy_state(scratch[0], scratch[1])
    world = scratch[1]
    play(world, resolve_card(world, action))
    play_out(world, 0.0)
    return margin(world, seat)


@kernel(called=True)
def begin_decision(states: FixedStates, i: int, seed: np.uint64, streams: Streams, sums: Comparisons) -> CardSet:
    """Seeds the generator ``streams[i]`` and clears the statistics; returns the legal actions, none after the end."""
    state = states[i]
    streams[i] = decision_bits(state, seed)
    for action in range(sums.shape[0]):
        known = sums[action]
        known.advantage, known.squares, known.count, known.node = 0.0, 0.0, 0, 0
    return EMPTY if state.phase == OVER else kinds_of(state, legal(state))


@kernel
def record_comparison(sums: Comparisons, action: int, advantage: float) -> None:
    """Counts one more world in which an action was compared with the baseline."""
    known = sums[action]
    known.advantage += advantage
    known.squares += advantage * advantage
    known.count += 1


@kernel
def best_by_confidence(baseline: int, actions: CardSet, sums: Comparisons) -> int:
    """The action with the largest lower confidence bound of its advantage over the baseline, whose own is 0.

    The bound is the mean advantage in the same worlds minus ``MIN_STANDARD_ERRORS`` standard errors.
    """
    best, most, actions = baseline, 0.0, without(actions, just(baseline))
    while not is_empty(actions):
        action = first(actions)
        actions = rest(actions)
        known = sums[action]
        mean = known.advantage / known.count
        variance = max(known.squares / known.count - mean * mean, 0.0)
        bound = mean - MIN_STANDARD_ERRORS * math.sqrt(variance / known.count)
        if bound > most:
            best, most = action, bound
    return best


@kernel(called=True)
def pimc(
    states: FixedStates, worlds: int, seed: np.uint64, actions: Numbers, streams: Streams, scratch: States,
    work: NumberRows, all_sums: Annotated[Records, ArrayOf(COMPARISON, 2)],
) -> None:  # fmt: skip
    """The best action over sampled worlds, each played out by the heuristic; for every unfinished game.

    ``actions`` holds the baseline actions (the heuristic's, or a policy's), and is overwritten. ``all_sums[i]``
    gets every action's comparison with the baseline (``COMPARISON``).
    """
    for i in range(states.shape[0]):
        sums = all_sums[i]
        seat, baseline, allowed = states[i].seat, actions[i], begin_decision(states, i, seed, streams, sums)
        if size(allowed) < 2:
            continue
        for _ in range(worlds):
            copy_state(states[i], scratch[0])
            resample(scratch[0], seat, streams, i, work)
            standard = value_of(scratch, baseline, seat)
            left_over = without(allowed, just(baseline))
            while not is_empty(left_over):
                action = first(left_over)
                left_over = rest(left_over)
                record_comparison(sums, action, value_of(scratch, action, seat) - standard)
        actions[i] = best_by_confidence(baseline, allowed, sums)
