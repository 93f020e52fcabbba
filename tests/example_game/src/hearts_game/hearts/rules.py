"""Hearts at its plainest: nothing is passed, any suit may be led at any time, nobody shoots the moon.

Every heart taken costs 1, the queen of spades 13. Cards ``2C … AS``; without the lowest ranks for 3, 5 and 6 players,
so that all are dealt.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.cards import CardSet, Deck, cards, is_empty
from trick_envs.engine.compile import rule
from trick_envs.engine.state import LEAD, OVER, PLAYERS, Numbers, State, numbers
from trick_envs.engine.table import (
    contest,
    follow_suit,
    lay,
    lead_trick,
    left,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    suit,
    trick_complete,
)

RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
LOWEST = {3: "3", 4: "2", 5: "5", 6: "3"}  # by number of players
HEARTS, SPADES = 2, 3  # where they stand in "CDHS"
QUEEN_FROM_TOP = 3


def deck(num_players: int) -> Deck:
    return Deck("CDHS", RANKS[RANKS.index(LOWEST[num_players]) :])


class HeartsState(State):
    """What Hearts adds to a position."""

    cost: Numbers = numbers(np.int8, (PLAYERS,), "by seat: what the cards cost that it has taken")


@rule
def begin(state: HeartsState) -> None:
    """The dealer's left neighbour leads."""
    lead_trick(state, left(state, state.dealer))


@rule
def legal(state: HeartsState) -> CardSet:
    """Any card is led; followers must follow suit."""
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def cost(state: HeartsState, card: int) -> int:
    """Every heart costs 1, the queen of spades 13."""
    if suit(state, card) == HEARTS:
        return 1
    return 13 if suit(state, card) == SPADES and rank(state, card) == state.num_ranks - QUEEN_FROM_TOP else 0


@rule
def play(state: HeartsState, card: int) -> None:
    """The highest card of the led suit takes the trick, and its player leads the next one."""
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    taker = state.taking
    for i in range(state.trick_size):
        state.cost[taker] += cost(state, state.trick[i])
        put_away(state, i, state.pile[taker])
    state.tricks += 1
    lead_trick(state, taker)
    if is_empty(cards(state.hand[taker])):
        state.phase = OVER


@rule
def score_deal(state: HeartsState) -> None:
    """Every seat pays what it has taken."""
    for seat in range(state.num_players):
        state.deal_score[seat] = -state.cost[seat]
