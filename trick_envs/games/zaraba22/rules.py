"""Zaraba 22 (Suge, winner of the Trick Taking Party game awards 2020).

Three players move the prices of four stocks (the suits) with the cards that are *not* kept, and get paid for the cards
that they take. A suit's price is the number of its cards on the *chart*; if their values add up to 22 or more, it
crashes to -1.

Cards ``AC … JS``, without K and Q; the ace is the weakest. The leader names two cards. Followers must play a card of
the suit of a lead card that is still there; one that matches sends the other lead card to the chart. The strongest card
of the remaining lead card's suit takes the three cards left. A match is 3 deals; the highest total wins.

Rulings: the values of 5, 6 and 9 are their numbers, and a suit without cards on the chart has the price 0 (the
original's tables are pictures that are lost). Two lead cards are named one after the other; their order means nothing.

Source: the author's rule page (in Japanese), entry 78 of the Trick Taking Party game awards 2020.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import EMPTY, CardSet, Deck, cards, just, put, size, union
from trick_envs.engine.state import FOLLOW, KEEP, LEAD, OVER, PLAYERS, SUITS, Numbers, Place, State, numbers, place
from trick_envs.engine.table import (
    hand_size,
    lead_trick,
    left,
    move,
    next_to_play,
    of_suit,
    put_away,
    rank,
    suit,
    suit_size,
)

DECK = Deck("CDHS", ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J"))
VALUES = np.array([11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10])  # on the chart, by rank
CRASH, CRASHED = 22, -1  # from this sum on a suit's price is -1


class Zaraba22State(State):
    """What Zaraba 22 adds to a position."""

    chart: Place = place("the cards that make the prices")
    chart_sum: Numbers = numbers(np.int8, (SUITS,), "by suit: the values of its cards on the chart")
    taken: Numbers = numbers(np.int8, ((PLAYERS, SUITS),), "by seat and suit: cards taken")


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: Zaraba22State) -> None:
    """The 2 cards left over are laid face up on the chart. The starter, who is the dealer, leads the first trick."""
    for i in range(state.num_players * state.hand_size, state.num_cards):
        put(state.chart, state.order[i])
        raise_sum(state, state.order[i])
    lead_trick(state, state.dealer)


@rule
def raise_sum(state: Zaraba22State, card: int) -> None:
    """A card that goes to the chart adds its value to its suit's sum."""
    state.chart_sum[suit(state, card)] += VALUES[rank(state, card)]


@rule
def both_leads_there(state: Zaraba22State) -> bool:
    """Whether both lead cards are still there."""
    return state.trick_size > 1 and state.trick_seat[1] == state.trick_seat[0]


@rule
def leads(state: Zaraba22State) -> CardSet:
    """The lead cards that are still there."""
    if state.trick_size == 0:
        return EMPTY
    one = just(state.trick[0])
    return union(one, just(state.trick[1])) if both_leads_there(state) else one


@rule
def legal(state: Zaraba22State) -> CardSet:
    """Lead: any suits. Follow: a player who has a card of the suit of a lead card that is still there must play such a
    card (free choice between two suits); otherwise any card. Keep: one of the lead cards.
    """
    if state.phase == KEEP:
        return leads(state)
    hand = cards(state.hand[state.seat])
    if state.phase == LEAD:
        return hand
    matching = of_suit(state, hand, suit(state, state.trick[0]))
    if both_leads_there(state):
        matching = union(matching, of_suit(state, hand, suit(state, state.trick[1])))
    return hand if size(matching) == 0 else matching


@rule
def play(state: Zaraba22State, card: int) -> None:
    """The leader names two cards; the others follow clockwise, one card each."""
    if state.phase == LEAD:
        lead(state, card)
    elif state.phase == FOLLOW:
        follow(state, card)
    else:
        keep(state, card)


@rule
def add_to_trick(state: Zaraba22State, card: int) -> None:
    """The seat to act lays a card on the table. (``lay`` would note voids as if there were a single lead card.)"""
    move(card, state.hand[state.seat], state.table)
    state.trick[state.trick_size] = card
    state.trick_seat[state.trick_size] = state.seat
    state.trick_size += 1


@rule
def lead(state: Zaraba22State, card: int) -> None:
    """The leader names two cards, one after the other; their order means nothing."""
    add_to_trick(state, card)
    if state.trick_size == 2:
        one, other = state.trick[0], state.trick[1]
        state.trick[0], state.trick[1] = min(one, other), max(one, other)
        next_to_play(state)


@rule
def follow(state: Zaraba22State, card: int) -> None:
    """The chart grows: when a follower matches a lead suit while both lead cards are there, the other lead card moves
    to the chart. If both are of that suit, the follower chooses which one stays. A follower who could not match moves
    nothing.
    """
    add_to_trick(state, card)
    voids, played = state.seat * state.num_suits, suit(state, card)
    one = suit(state, state.trick[0])
    if not both_leads_there(state):
        if played != one:
            state.void[voids + one] = 1
        find_taker(state)
    else:
        other = suit(state, state.trick[1])
        if played == one and played == other:
            state.phase = KEEP
            return
        if played == one:
            send_to_chart(state, 1)
        elif played == other:
            send_to_chart(state, 0)
        else:
            state.void[voids + one] = state.void[voids + other] = 1
    go_on(state)


@rule
def keep(state: Zaraba22State, card: int) -> None:
    """The named lead card stays, the other moves to the chart."""
    send_to_chart(state, 1 if card == state.trick[0] else 0)
    if state.seat == state.trick_seat[0]:  # the leader chooses after the third player
        end_trick(state)
    else:
        go_on(state)


@rule
def send_to_chart(state: Zaraba22State, i: int) -> None:
    """Moves one lead card to the chart; the other one stays."""
    raise_sum(state, state.trick[i])
    put_away(state, i, state.chart)
    state.trick_size -= 1
    for later in range(i, state.trick_size):
        state.trick[later], state.trick_seat[later] = state.trick[later + 1], state.trick_seat[later + 1]
    find_taker(state)


@rule
def find_taker(state: Zaraba22State) -> None:
    """Who wins: the strongest card of the remaining lead card's suit."""
    led = suit(state, state.trick[0])
    state.taking, state.strength = state.trick_seat[0], rank(state, state.trick[0])
    for i in range(1, state.trick_size):
        card = state.trick[i]
        if suit(state, card) == led and rank(state, card) > state.strength:
            state.taking, state.strength = state.trick_seat[i], rank(state, card)


@rule
def go_on(state: Zaraba22State) -> None:
    """The next player follows. After the third player, if both lead cards are still there, the leader chooses which one
    stays.
    """
    leader = state.trick_seat[0]
    if left(state, state.seat) != leader:
        next_to_play(state)
    elif both_leads_there(state):
        state.seat, state.phase = leader, KEEP
    else:
        end_trick(state)


@rule
def end_trick(state: Zaraba22State) -> None:
    """The winner takes the three cards and leads next.

    End of the deal: when some hand is empty or the next leader holds fewer than two cards.
    """
    taker = state.taking
    for i in range(state.trick_size):
        state.taken[taker * state.num_suits + suit(state, state.trick[i])] += 1
        put_away(state, i, state.pile[taker])
    state.tricks += 1
    lead_trick(state, taker)
    if hand_size(state, taker) < 2:
        state.phase = OVER
    for seat in range(state.num_players):
        if hand_size(state, seat) == 0:
            state.phase = OVER


@rule
def price(state: Zaraba22State, wanted: int) -> int:
    """Prices: the number of a suit's cards on the chart if their sum is 21 or less; 22 or more is a crash, price -1."""
    return suit_size(state, cards(state.chart), wanted) if state.chart_sum[wanted] < CRASH else CRASHED


@rule
def score_deal(state: Zaraba22State) -> None:
    """Score: the sum over a player's taken cards of their suit's price; cards left in a hand count as taken."""
    for seat in range(state.num_players):
        score = 0
        for each in range(state.num_suits):
            count = state.taken[seat * state.num_suits + each] + suit_size(state, cards(state.hand[seat]), each)
            score += count * price(state, each)
        state.deal_score[seat] = score
