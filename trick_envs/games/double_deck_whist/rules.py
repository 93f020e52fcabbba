"""Double-Deck German Whist (ダブルデッキ・ジャーマンホイスト): German Whist with two packs for two against two.

Seats 0 and 2 play against seats 1 and 3. The first 13 tricks win better cards, the last 13 win the deal. Everybody
sees the hand of the right neighbour, an opponent, at all times.

Cards ``2C … AS``, each twice. The top card of the stock is turned: its suit is trump. It stays there, face up (the
original sets it aside as a marker, and puts a joker in its place that counts as that card).

Players must follow suit; the highest trump, or without one the highest card of the led suit, wins the trick. In the
first half, the winner of a trick picks one of two face-up cards of the stock, the partner takes the other, and the
opponents take a face-down card each. The score is the team's tricks of the second half; 7 or more win the deal. A match
goes to the first team with 3 won deals.

Ruling: of the two face-down cards, the winner's left neighbour takes the first one.

Source: the author's blog (in Japanese).
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards, first, put
from trick_envs.engine.intrinsics import clear_bytes
from trick_envs.engine.state import LEAD, OVER, PICK, Numbers, Place, State, number, numbers, place
from trick_envs.engine.table import (
    contest,
    follow_suit,
    lay,
    lead_trick,
    left,
    move,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    right,
    show,
    show_all,
    show_hand,
    suit,
    trick_complete,
)

HALF = 13  # tricks
MAJORITY = 7  # of the tricks of the second half
DEALS_TO_WIN = 3


def deck(num_players: int) -> Deck:
    """Two packs of 52. 13 each; 52 form the stock."""
    return Deck("CDHS", ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"), copies=2)


class DoubleDeckWhistState(State):
    """What Double-Deck German Whist adds to a position."""

    stock: Place = place("the cards not yet turned up or drawn", open=False)
    upturned: Place = place("the cards that lie face up beside the stock")
    deals_won: Numbers = numbers(np.int32, (2,), "by team: deals won", "match")
    trump: int = number(np.int8, "the trump suit")
    won: Numbers = numbers(np.int8, (2,), "by team: tricks of the second half")


@rule
def team(seat: int) -> int:
    """Seats 0 and 2 are team 0, seats 1 and 3 team 1."""
    return seat & 1


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: DoubleDeckWhistState) -> None:
    """Trump: the suit of the top card of the stock, which is turned. Open hands: every player sees the hand of the
    right neighbour. Lead: the dealer's left neighbour.
    """
    for seat in range(state.num_players):
        show_hand(state, seat, left(state, seat))
    for i in range(state.num_players * state.hand_size, state.num_cards):
        put(state.stock, state.order[i])
    state.trump = suit(state, top_of_stock(state, 0))
    turn_up(state)
    lead_trick(state, left(state, state.dealer))


@rule
def top_of_stock(state: DoubleDeckWhistState, i: int) -> int:
    """The ``i``-th of the four stock cards for which the next trick is played: two lie face up, two face down."""
    return state.order[state.num_players * (state.hand_size + state.tricks) + i]


@rule
def first_in_stock(state: DoubleDeckWhistState) -> int:
    """Where the cards that are not turned up or drawn yet begin in ``order``: after the two that lie face up."""
    return state.num_players * (state.hand_size + state.tricks) + 2


@rule
def turn_up(state: DoubleDeckWhistState) -> None:
    """The next two cards of the stock are laid face up."""
    move(top_of_stock(state, 0), state.stock, state.upturned)
    move(top_of_stock(state, 1), state.stock, state.upturned)


@rule
def legal(state: DoubleDeckWhistState) -> CardSet:
    """Follow: must follow suit, else any card. Pick: one of the two face-up cards."""
    if state.phase == PICK:
        return cards(state.upturned)
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def strength(state: DoubleDeckWhistState, card: int) -> int:
    """Who wins: the highest trump, or without one the highest card of the led suit."""
    return state.num_ranks + rank(state, card) if suit(state, card) == state.trump else rank_if_led(state, card)


@rule
def play(state: DoubleDeckWhistState, card: int) -> None:
    """First half: the winner of a trick picks a face-up card. Second half: each trick counts for the winner's team.

    The winner leads next.
    """
    if state.phase == PICK:
        pick(state, card)
        return
    lay(state, card, state.hand[state.seat])
    contest(state, strength(state, card))  # of two identical cards the one played first wins
    if not trick_complete(state):
        next_to_play(state)
        return
    winner = state.taking
    for i in range(state.trick_size):
        put_away(state, i, state.pile[winner])
    state.trick_size = 0
    if state.tricks < HALF:
        state.seat, state.phase = winner, PICK
        return
    state.won[team(winner)] += 1
    state.tricks += 1
    if state.tricks < 2 * HALF:
        lead_trick(state, winner)
    else:
        state.phase = OVER


@rule
def pick(state: DoubleDeckWhistState, card: int) -> None:
    """The winner takes one face-up card of choice, the partner the other; the opponents take one face-down card each.

    Then the next two are laid face up.
    """
    winner = state.seat
    take_face_up(state, winner, card)
    take_face_up(state, left(state, left(state, winner)), first(cards(state.upturned)))
    draw_face_down(state, left(state, winner), top_of_stock(state, 2))
    draw_face_down(state, right(state, winner), top_of_stock(state, 3))
    state.tricks += 1
    if state.tricks < HALF:
        turn_up(state)
    lead_trick(state, winner)


@rule
def take_face_up(state: DoubleDeckWhistState, seat: int, card: int) -> None:
    """Everybody sees the card, so the seat is no longer known to be void of its suit."""
    move(card, state.upturned, state.hand[seat])
    show_all(state, card)
    state.void[seat * state.num_suits + suit(state, card)] = 0


@rule
def draw_face_down(state: DoubleDeckWhistState, seat: int, card: int) -> None:
    """Unseen by everybody except its taker and the taker's left neighbour: for the others it may be of any suit."""
    move(card, state.stock, state.hand[seat])
    show(state, card, seat)
    show(state, card, left(state, seat))
    clear_bytes(state.void, seat * state.num_suits, state.num_suits)


@rule
def score_deal(state: DoubleDeckWhistState) -> None:
    """Score: both members of a team score the team's tricks of the second half; 7 or more win the deal."""
    for seat in range(state.num_players):
        state.deal_score[seat] = state.won[team(seat)]
    for side in range(2):
        if state.won[side] >= MAJORITY:
            state.deals_won[side] += 1


@rule
def match_over(state: DoubleDeckWhistState) -> bool:
    """Match: the first team with 3 won deals wins; with ``num_deals=n``, exactly n deals are played."""
    if state.original:
        return max(state.deals_won[0], state.deals_won[1]) >= DEALS_TO_WIN
    return state.deal_number >= state.num_deals


@rule
def standing(state: DoubleDeckWhistState, seat: int) -> int:
    """The team with more won deals wins the match, whatever the tricks; equal ones share."""
    return state.deals_won[team(seat)]
