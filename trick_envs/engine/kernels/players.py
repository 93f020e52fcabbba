"""The compiled players: random, and greedy by the game's heuristic."""

from __future__ import annotations

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import CardSet, first, is_empty, nth, rest, size
from trick_envs.engine.hooks import TWO_PACKS, evaluate_card, legal
from trick_envs.engine.kernels.playing import advance, kinds_of, resolve_copy, start_match
from trick_envs.engine.rng import draw_from, draw_seed
from trick_envs.engine.state import OVER, ByteRows, FixedStates, Numbers, State, States, Streams


@kernel
def random_card(state: State, streams: Streams, i: int) -> int:
    """A legal card; all legal actions have the same probability."""
    allowed = legal(state)
    named = kinds_of(state, allowed)
    action = nth(named, draw_from(streams, i, size(named)))
    return resolve_copy(state, allowed, action) if TWO_PACKS else action


@kernel(called=True)
def random_actions(masks: ByteRows, streams: Streams, actions: Numbers) -> None:
    """A random legal action for every row of ``masks``."""
    for i in range(masks.shape[0]):
        count = 0
        for action in range(masks.shape[1]):
            count += masks[i, action] != 0
        if count == 0:
            continue
        chosen = draw_from(streams, i, count)
        for action in range(masks.shape[1]):
            if masks[i, action] != 0:
                if chosen == 0:
                    actions[i] = action
                    break
                chosen -= 1


@kernel
def best_by_heuristic(state: State, actions: CardSet) -> int:
    """The action that the heuristic rates highest. (An action is also the number of the first card of its kind.)"""
    best = first(actions)
    most = evaluate_card(state, best)
    actions = rest(actions)
    while not is_empty(actions):
        action = first(actions)
        actions = rest(actions)
        liking = evaluate_card(state, action)
        if liking > most:
            best, most = action, liking
    return best


@kernel
def greedy(state: State) -> int:
    """The legal action that the game's heuristic rates highest."""
    return best_by_heuristic(state, kinds_of(state, legal(state)))


@kernel(called=True)
def greedy_actions(states: FixedStates, actions: Numbers) -> None:
    """The greedy player's action, for every record whose match is not over."""
    for i in range(states.shape[0]):
        state = states[i]
        if state.phase != OVER:
            actions[i] = greedy(state)


@kernel(called=True)
def random_playouts(states: States, template: FixedStates, streams: Streams, plays: int) -> int:
    """Plays ``plays`` random cards in every record, match after match; returns how many deals ended."""
    deals = 0
    for i in range(states.shape[0]):
        state = states[i]
        for _ in range(plays):
            if advance(state, random_card(state, streams, i)):
                deals += 1
                if state.phase == OVER:
                    start_match(states, i, template, draw_seed(state))
    return deals
