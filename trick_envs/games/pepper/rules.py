"""Pepper: avoid the peppers (Wolfgang Kramer and Michael Kiesling, F.X. Schmid 1998).

Cards ``1R … 12P``: a number, then a colour (red, yellow, green, blue, brown ``N``, purple). The 1 of a colour is its
*pepper*. 3 to 9 players; colours and numbers follow the published game.

Peppers lie open in front of the players to whom they were dealt, and later of those who took them, and can be played
again. Players must follow the led colour, from the hand or with a pepper from the front. The highest number of the led
colour takes the trick. The deal ends when a hand is empty after a trick. A pepper in front costs 2 points, and every
other card of its colour, taken or left in the hand, 1. A match is 5 deals; the highest total wins.

Rulings: a new trick is led by the taker of the last one. Leading is from the hand; players of the published game also
allow leading a pepper from the front (``lead_peppers=True``). The pepper itself costs 2, not 2 + 1.

Sources: a review in Japanese with the rules for 5 players; for other numbers of players, the colours and numbers of the
published game.
"""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards, has, is_empty, union
from trick_envs.engine.state import LEAD, OVER, PLAYERS, SUITS, Numbers, Place, State, numbers, option, place_per_seat
from trick_envs.engine.table import (
    contest,
    follow_suit,
    lay,
    lead_trick,
    move,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    suit,
    suit_size,
    trick_complete,
)

COLOURS = "RYGBNP"
DECKS = {3: (4, 9), 4: (4, 12), 5: (5, 12), 6: (6, 12), 7: (6, 14), 8: (6, 16), 9: (6, 18)}  # colours, numbers
PEPPER = 0  # its rank


def deck(num_players: int) -> Deck:
    """All cards are dealt, 12 to each player. The 1 of a colour is its pepper."""
    colours, highest = DECKS[num_players]
    return Deck(COLOURS[:colours], tuple(str(value) for value in range(1, highest + 1)))


class PepperState(State):
    """What Pepper adds to a position."""

    front: Place = place_per_seat("the peppers that lie open in front of a seat")
    peppers: Numbers = numbers(np.int8, ((PLAYERS, SUITS),), "by seat and colour: 1 if its pepper lies in front")
    taken: Numbers = numbers(np.int8, ((PLAYERS, SUITS),), "by seat and colour: cards taken, not counting peppers")
    lead_peppers: bool = option(False, "a pepper from the front may be led")


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: PepperState) -> None:
    """Peppers lie open: a pepper dealt to a player is laid face up in front of that player. The dealer leads."""
    for seat in range(state.num_players):
        for colour in range(state.num_suits):
            pepper = colour * state.num_ranks + PEPPER
            if has(cards(state.hand[seat]), pepper):
                move(pepper, state.hand[seat], state.front[seat])
                state.peppers[seat * state.num_suits + colour] = 1
    lead_trick(state, state.dealer)


@rule
def legal(state: PepperState) -> CardSet:
    """Lead: from the hand, never a pepper from the front (unless ``lead_peppers``).

    Follow: a player who has the led colour in hand or as a pepper in front must play one of those cards, from either
    source. A player who has neither plays any card of the hand or any pepper in front.
    """
    hand, front = cards(state.hand[state.seat]), cards(state.front[state.seat])
    if state.phase == LEAD:
        return union(hand, front) if state.lead_peppers else hand
    return follow_suit(state, union(hand, front))


@rule
def play(state: PepperState, card: int) -> None:
    """Trick: the highest number of the led colour wins. The winner leads next."""
    if rank(state, card) == PEPPER:
        lay(state, card, state.front[state.seat])
        state.peppers[state.seat * state.num_suits + suit(state, card)] = 0
    else:
        lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    take_trick(state, state.taking)
    if some_hand_is_empty(state):
        state.phase = OVER
    else:
        lead_trick(state, state.taking)


@rule
def take_trick(state: PepperState, taker: int) -> None:
    """The winner takes all cards: peppers are laid face up in front, the others go face down to the winner's pile."""
    for i in range(state.trick_size):
        card = state.trick[i]
        place = taker * state.num_suits + suit(state, card)
        if rank(state, card) == PEPPER:
            move(card, state.table, state.front[taker])
            state.peppers[place] = 1
        else:
            put_away(state, i, state.pile[taker])
            state.taken[place] += 1
    state.tricks += 1
    state.trick_size = 0


@rule
def some_hand_is_empty(state: PepperState) -> bool:
    """End of the deal: after a trick that leaves at least one hand empty; peppers in front do not count as hand."""
    for seat in range(state.num_players):
        if is_empty(cards(state.hand[seat])):
            return True
    return False


@rule
def score_deal(state: PepperState) -> None:
    """Score: for each colour whose pepper lies in front of the player, -2 for the pepper and -1 for every other card of
    that colour in the player's pile or left in the hand.
    """
    for seat in range(state.num_players):
        score = 0
        for colour in range(state.num_suits):
            place = seat * state.num_suits + colour
            if state.peppers[place]:
                score -= 2 + state.taken[place] + suit_size(state, cards(state.hand[seat]), colour)
        state.deal_score[seat] = score


@rule
def next_dealer(state: PepperState) -> int:
    """Next deal: the taker of the last trick deals and leads."""
    return state.taking
