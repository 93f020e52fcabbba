"""Slobberhannes: take neither the first trick, nor the last, nor the queen of clubs.

Each of the three costs 1 point, and all three in one hand cost another. Everybody is dealt eight cards, ranks A high;
the lowest ranks stay out, as many as it takes. Whoever has the led suit must play it, and its highest card takes.

Source: https://www.pagat.com/reverse/slobberhannes.html; there, four players have the 32 cards from 7 up.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards
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

RANKS = ("7", "8", "9", "10", "J", "Q", "K", "A")
LOWEST = {3: "9", 4: "7"}  # by number of players
TRICKS = 8
CLUBS = 0  # where they stand in "CDHS"
QUEEN_FROM_TOP = 3


def deck(num_players: int) -> Deck:
    return Deck("CDHS", RANKS[RANKS.index(LOWEST[num_players]) :])


class SlobberhannesState(State):
    """What Slobberhannes adds to a position."""

    cost: Numbers = numbers(np.int8, (PLAYERS,), "by seat: what the tricks cost that it has taken")


@rule
def begin(state: SlobberhannesState) -> None:
    """The dealer's left neighbour leads."""
    lead_trick(state, left(state, state.dealer))


@rule
def legal(state: SlobberhannesState) -> CardSet:
    """Any card is led; followers must follow suit."""
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def is_queen(state: SlobberhannesState, card: int) -> bool:
    """The queen of clubs."""
    return suit(state, card) == CLUBS and rank(state, card) == state.num_ranks - QUEEN_FROM_TOP


@rule
def play(state: SlobberhannesState, card: int) -> None:
    """The highest card of the led suit takes the trick, and its player leads the next one."""
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    taker = state.taking
    for i in range(state.trick_size):
        state.cost[taker] += is_queen(state, state.trick[i])
        put_away(state, i, state.pile[taker])
    state.cost[taker] += state.tricks == 0 or state.tricks == TRICKS - 1
    state.tricks += 1
    lead_trick(state, taker)
    if state.tricks == TRICKS:
        state.phase = OVER


@rule
def score_deal(state: SlobberhannesState) -> None:
    """Every seat pays what it has taken; all three cost another point."""
    for seat in range(state.num_players):
        state.deal_score[seat] = -state.cost[seat] - (state.cost[seat] == 3)
