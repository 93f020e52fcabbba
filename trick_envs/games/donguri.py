"""Donguri to Yamaneko, "The Acorns and the Wildcat" (Kuromiya Kimihiko 2017).

Each card argues for its own side: *acorns* (low cards) say that the strongest card takes the trick, *wildcats* (high
cards) say that the weakest does; the majority is right. With 4 players the second card of a trick has no vote.

Cards ``3C … AS`` for 3 and 4 players, ``1C … 16X`` (``X``: stars) for 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import CardSet, Deck, cards, is_empty
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.lowlevel import clear_bytes
from trick_envs.engine.observation import Block, write_by_seat
from trick_envs.engine.table import (
    FOLLOW,
    LEAD,
    OVER,
    follow_suit,
    lay,
    lead_trick,
    left,
    next_to_play,
    put_away,
    rank,
    relative,
    trick_complete,
)

THREE_TO_ACE = ("3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
ONE_TO_SIXTEEN = tuple(str(number) for number in range(1, 17))
SUITS = {3: "CDH", 4: "CDHS", 5: "CDHSX"}
DEALS = {3: 9, 4: 8, 5: 5}


def deck(num_players: int) -> Deck:
    return Deck(SUITS[num_players], ONE_TO_SIXTEEN if num_players == 5 else THREE_TO_ACE)


# The points of a card, by players and rank.
POINTS = np.ones((6, 16), np.int64)
for _players, _points in (
    (3, {"5": 2, "6": 3, "J": 3, "Q": 2}),
    (4, {"5": 2, "6": 2, "J": 2, "Q": 2}),
    (5, {"4": 2, "5": 2, "12": 2, "13": 2}),
):
    for _rank, _worth in _points.items():
        POINTS[_players, deck(_players).ranks.index(_rank)] = _worth


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("captured", num_players, "by seat: points captured in this deal", 100),
        Block("vote", 2, "acorns and wildcats that count in this trick so far", num_players),
        Block("strongest", num_players, "by seat: 1 if its card is the strongest of the trick so far"),
        Block("weakest", num_players, "by seat: 1 if its card is the weakest of the trick so far"),
    )


GAME = Game(
    title="Donguri to Yamaneko",
    players=(3, 4, 5),
    default_players=4,
    deck=deck,
    hand_size=lambda num_players: 16 if num_players == 5 else 12,
    deals=DEALS.__getitem__,
    phases=(LEAD, FOLLOW),
    demands={FOLLOW: "whoever has the led suit must play it"},
    deal_fields=[
        ("captured", np.int8, (5,)),
        ("vote", np.int8, (2,)),  # acorns, wildcats
        ("strongest", np.int8),  # the seats whose cards these are in the trick so far, and their ranks
        ("weakest", np.int8),
        ("high", np.int8),
        ("low", np.int8),
    ],
    derived=("high", "low"),
    blocks=blocks,
)
ACORNS, WILDCATS = 0, 1


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: Any) -> None:
    """The dealer's left neighbour leads."""
    lead_trick(state, left(state, state.dealer))


@rule
def legal(state: Any) -> CardSet:
    """Any card is led; followers must follow suit."""
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def side(state: Any, card: int) -> int:
    """The lower half of the ranks are acorns, the upper half wildcats."""
    return ACORNS if 2 * rank(state, card) < state.num_ranks else WILDCATS


@rule
def has_a_vote(state: Any, position: int) -> bool:
    """With 4 players the card played second is not counted."""
    return state.num_players != 4 or position != 1


@rule
def play(state: Any, card: int) -> None:
    lay(state, card, state.hand[state.seat])
    position, its_rank = state.trick_size - 1, rank(state, card)
    if position == 0:
        state.vote[ACORNS] = state.vote[WILDCATS] = 0
    if has_a_vote(state, position):
        state.vote[side(state, card)] += 1
    if position == 0 or its_rank > state.high:  # of equal ranks the one played first counts
        state.strongest, state.high = state.seat, its_rank
    if position == 0 or its_rank < state.low:
        state.weakest, state.low = state.seat, its_rank
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
def points(state: Any, card: int) -> int:
    return POINTS[state.num_players, rank(state, card)]


@rule
def take_trick(state: Any, taker: int) -> None:
    for i in range(state.trick_size):
        state.captured[taker] += points(state, state.trick[i])
        put_away(state, i, state.pile[taker])
    state.tricks += 1
    state.trick_size = 0


@rule
def score_deal(state: Any) -> None:
    """Captured points minus the largest captured points: the best taker scores 0, the others less."""
    largest = 0
    for seat in range(state.num_players):
        largest = max(largest, state.captured[seat])
    for seat in range(state.num_players):
        state.deal_score[seat] = state.captured[seat] - largest


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    n, running = state.num_players, state.trick_size > 0
    at = write_by_seat(state, state.captured, 1, observer, out, at)
    out[at], out[at + 1] = state.vote[ACORNS] * running, state.vote[WILDCATS] * running
    at += 2
    clear_bytes(out, at, 2 * n)
    out[at + relative(state, state.strongest, observer)] = running
    out[at + n + relative(state, state.weakest, observer)] = running
    return at + 2 * n


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def worth(state: Any, card: int) -> float:
    """The points that a card is likely to win or to lose, if those who follow play any rank.

    The last to play knows who takes the trick, and gives least to whoever has captured the most.
    """
    position, its_rank = state.trick_size, rank(state, card)
    acorns, wildcats, stake = 0, 0, points(state, card)
    if position > 0:
        acorns, wildcats = state.vote[ACORNS], state.vote[WILDCATS]
    if has_a_vote(state, position):
        acorns, wildcats = acorns + (side(state, card) == ACORNS), wildcats + (side(state, card) == WILDCATS)
    for i in range(position):
        stake += points(state, state.trick[i])
    voters = 0
    stay_strongest = 1.0 if position == 0 or its_rank > state.high else 0.0
    stay_weakest = 1.0 if position == 0 or its_rank < state.low else 0.0
    for later in range(position + 1, state.num_players):
        voters += has_a_vote(state, later)
        stay_strongest *= (its_rank + 0.5) / state.num_ranks
        stay_weakest *= (state.num_ranks - its_rank - 0.5) / state.num_ranks
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
    """The chance that acorns win when each of the voters to come is an acorn or a wildcat by the toss of a coin."""
    needed, ways, term = wildcats - acorns + voters, 0.0, 1.0  # twice the acorns to come must be more than needed
    for coming in range(voters + 1):
        if 2 * coming > needed:
            ways += term
        term = term * (voters - coming) / (coming + 1)
    return ways / (1 << voters)


@rule
def most_captured_by_others(state: Any) -> int:
    most = 0
    for seat in range(state.num_players):
        if seat != state.seat:
            most = max(most, state.captured[seat])
    return most
