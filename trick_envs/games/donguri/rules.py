"""Donguri to Yamaneko, "The Acorns and the Wildcat" (Kuromiya Kimihiko 2017).

Each card argues for its own side: *acorns* (low cards) say that the strongest card wins the trick, *wildcats* (high
cards) say that the weakest does; the majority decides. With 4 players, the card played second is not counted.

Cards ``3C … AS`` for 3 and 4 players, ``1C … 16X`` (``X``: stars) for 5. No trumps; the led suit must be followed.
Captured points minus the largest captured points of the deal are the score. A match is 9, 8 or 5 deals with 3, 4 or 5
players; the highest total wins.

Source: the author's article (in Japanese) in the Trick-taking games Advent Calendar 2017, 25 December.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards, is_empty
from trick_envs.engine.state import LEAD, OVER, PLAYERS, Numbers, State, number, numbers
from trick_envs.engine.table import follow_suit, lay, lead_trick, left, next_to_play, put_away, rank, trick_complete

THREE_TO_ACE = ("3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
ONE_TO_SIXTEEN = tuple(str(number) for number in range(1, 17))
SUITS = {3: "CDH", 4: "CDHS", 5: "CDHSX"}
DEALS = {3: 9, 4: 8, 5: 5}


def deck(num_players: int) -> Deck:
    """Ranks from weak to strong; with 3 or 4 players without the 2."""
    return Deck(SUITS[num_players], ONE_TO_SIXTEEN if num_players == 5 else THREE_TO_ACE)


# The points on cards, by players and rank; 1 for all that are not listed.
POINTS = np.ones((6, 16), np.int64)
for _players, _points in (
    (3, {"5": 2, "6": 3, "J": 3, "Q": 2}),
    (4, {"5": 2, "6": 2, "J": 2, "Q": 2}),
    (5, {"4": 2, "5": 2, "12": 2, "13": 2}),
):
    for _rank, _worth in _points.items():
        POINTS[_players, deck(_players).ranks.index(_rank)] = _worth


ACORNS, WILDCATS = 0, 1


class DonguriState(State):
    """What Donguri adds to a position."""

    captured: Numbers = numbers(np.int8, (PLAYERS,), "by seat: points captured in this deal")
    vote: Numbers = numbers(np.int8, (2,), "acorns and wildcats that count in the trick so far")
    strongest: int = number(np.int8, "the seat whose card is the strongest of the trick so far")
    weakest: int = number(np.int8, "the seat whose card is the weakest of the trick so far")
    high: int = number(np.int8, "the rank of the strongest card", derived=True)
    low: int = number(np.int8, "the rank of the weakest card", derived=True)


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: DonguriState) -> None:
    """Lead: the dealer's left neighbour leads the first trick."""
    lead_trick(state, left(state, state.dealer))


@rule
def legal(state: DonguriState) -> CardSet:
    """Follow: must follow suit; without the led suit, any card."""
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def side(state: DonguriState, card: int) -> int:
    """The lower half of the ranks are acorns (3-8, with 5 players 1-8), the upper half wildcats."""
    return ACORNS if 2 * rank(state, card) < state.num_ranks else WILDCATS


@rule
def has_a_vote(state: DonguriState, position: int) -> bool:
    """With 4 players, the card played second, by the leader's left neighbour, is not counted."""
    return state.num_players != 4 or position != 1


@rule
def play(state: DonguriState, card: int) -> None:
    """Who wins: with more acorns the strongest card of the whole trick, with more wildcats the weakest.

    Suits do not matter; of equal ranks the one played first wins. The winner leads next.
    """
    lay(state, card, state.hand[state.seat])
    position, card_rank = state.trick_size - 1, rank(state, card)
    if position == 0:
        state.vote[ACORNS] = state.vote[WILDCATS] = 0
    if has_a_vote(state, position):
        state.vote[side(state, card)] += 1
    if position == 0 or card_rank > state.high:  # of equal ranks the one played first counts
        state.strongest, state.high = state.seat, card_rank
    if position == 0 or card_rank < state.low:
        state.weakest, state.low = state.seat, card_rank
    if not trick_complete(state):
        next_to_play(state)
        return
    state.taking = state.strongest if state.vote[ACORNS] > state.vote[WILDCATS] else state.weakest
    take_trick(state, state.taking)
    if is_empty(cards(state.hand[state.taking])):
        state.phase = OVER
    else:
        lead_trick(state, state.taking)


@rule
def points(state: DonguriState, card: int) -> int:
    """The points on a card."""
    return POINTS[state.num_players, rank(state, card)]


@rule
def take_trick(state: DonguriState, taker: int) -> None:
    """The winner takes all cards of the trick."""
    for i in range(state.trick_size):
        state.captured[taker] += points(state, state.trick[i])
        put_away(state, i, state.pile[taker])
    state.tricks += 1
    state.trick_size = 0


@rule
def score_deal(state: DonguriState) -> None:
    """Score: captured points minus the largest captured points of the deal, so the best taker scores 0."""
    largest = 0
    for seat in range(state.num_players):
        largest = max(largest, state.captured[seat])
    for seat in range(state.num_players):
        state.deal_score[seat] = state.captured[seat] - largest
