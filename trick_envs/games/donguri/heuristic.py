"""A heuristic for Donguri to Yamaneko."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.table import rank
from trick_envs.games.donguri.rules import ACORNS, WILDCATS, DonguriState, has_a_vote, points, side


@rule
def evaluate_card(state: DonguriState, card: int) -> float:
    """The expected points of playing a card, if the seats that follow play random ranks.

    The last to play knows who takes the trick, and avoids giving points to the seat that has captured the most.
    """
    position, card_rank = state.trick_size, rank(state, card)
    acorns, wildcats, stake = 0, 0, points(state, card)
    if position > 0:
        acorns, wildcats = state.vote[ACORNS], state.vote[WILDCATS]
    if has_a_vote(state, position):
        acorns, wildcats = acorns + (side(state, card) == ACORNS), wildcats + (side(state, card) == WILDCATS)
    for i in range(position):
        stake += points(state, state.trick[i])
    voters = 0
    stay_strongest = 1.0 if position == 0 or card_rank > state.high else 0.0
    stay_weakest = 1.0 if position == 0 or card_rank < state.low else 0.0
    for later in range(position + 1, state.num_players):
        voters += has_a_vote(state, later)
        stay_strongest *= (card_rank + 0.5) / state.num_ranks
        stay_weakest *= (state.num_ranks - card_rank - 0.5) / state.num_ranks
    acorns_win = chance_of_majority(acorns, wildcats, voters)
    take = acorns_win * stay_strongest + (1.0 - acorns_win) * stay_weakest
    if position + 1 < state.num_players:
        return take * (stake + state.num_players - position) - (1.0 - take) * points(state, card)
    if take > 0.5:
        return stake
    taker = state.strongest if acorns > wildcats else state.weakest
    return -stake * (1.5 if most_captured_by_others(state) == state.captured[taker] else 1.0)


@rule
def chance_of_majority(acorns: int, wildcats: int, voters: int) -> float:
    """The probability that acorns win if each voter to come is an acorn or a wildcat with probability 1/2."""
    needed, ways, term = wildcats - acorns + voters, 0.0, 1.0  # twice the acorns to come must be more than needed
    for coming in range(voters + 1):
        if 2 * coming > needed:
            ways += term
        term = term * (voters - coming) / (coming + 1)
    return ways / (1 << voters)


@rule
def most_captured_by_others(state: DonguriState) -> int:
    """The largest captured points of the other seats."""
    most = 0
    for seat in range(state.num_players):
        if seat != state.seat:
            most = max(most, state.captured[seat])
    return most
