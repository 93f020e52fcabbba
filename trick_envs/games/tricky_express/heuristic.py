"""A heuristic for Tricky Express."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import EMPTY, CardSet, cards, size, union
from trick_envs.engine.state import FOLLOW, PASS
from trick_envs.engine.table import higher, power, rank, rank_if_led
from trick_envs.games.tricky_express.rules import STATIONS, TrickyExpressState


@rule
def evaluate_card(state: TrickyExpressState, card: int) -> float:
    """Stop as soon as possible, then not for a long time, then once more.

    The value of taking the trick is what it adds to the first long pass. Cards that are neither low nor the highest of
    their suit are given away, and are played first when somebody else takes the trick.
    """
    above = size(higher(state, held_by_others(state), card))
    height = rank(state, card) / state.num_ranks
    highest = above == 0
    if state.phase == PASS:
        return -abs(height - 0.5) - highest
    chance = chance_to_take(state, card, above)
    useless = 1.0 - abs(height - 0.2) - highest
    return chance * (gain_of_a_stop(state) + 0.5 * height) + (1.0 - chance) * 1.3 * useless


@rule
def gain_of_a_stop(state: TrickyExpressState) -> float:
    """The expected first long pass with a stop in this trick, minus that without one."""
    longest, since = state.longest[state.seat], state.since[state.seat]
    to_come = STATIONS - 1 - state.tricks
    without = max(longest, expected_pass(since, to_come)) if since > 0 else 0.0
    return max(max(longest, since - 1), expected_pass(0, to_come)) - without


@rule
def expected_pass(since: int, to_come: int) -> float:
    """The expected length of a pass that has this length so far, if one of the tricks to come may complete it."""
    return (1.0 - power(0.7, to_come)) * (since + 0.7 * (to_come - 1))


@rule
def chance_to_take(state: TrickyExpressState, card: int, above: int) -> float:
    """The probability that the card takes the trick, given how many higher ones of its suit others hold."""
    if state.phase == FOLLOW and rank_if_led(state, card) <= state.strength:
        return 0.0
    return power(1.0 - 0.06 * above, state.num_players - 1 - state.trick_size)


@rule
def held_by_others(state: TrickyExpressState) -> CardSet:
    """The cards that others hold or will hold: nobody can tell which of them have been named to be given."""
    held = EMPTY
    for other in range(state.num_players):
        held = union(held, union(cards(state.to_right[other]), cards(state.to_left[other])))
        if other != state.seat:
            held = union(held, cards(state.hand[other]))
    return held
