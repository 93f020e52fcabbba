"""Pepper: avoid the peppers (Wolfgang Kramer and Michael Kiesling, F.X. Schmid 1998).

Cards ``1R … 12P``: a number, then a colour (red, yellow, green, blue, brown ``N``, purple). The 1 of a colour is its
*pepper*. 3 to 9 players; colours and numbers follow the published game.

Rulings: a new trick is led by the taker of the last one. The lead comes from the hand; players of the published game
also allow a pepper from the front (``lead_peppers=True``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import CardSet, Deck, cards, has, is_empty, union
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Block, write_by_seat, write_taking
from trick_envs.engine.table import (
    FOLLOW,
    LEAD,
    OVER,
    Place,
    contest,
    follow_suit,
    lay,
    lead_trick,
    led_suit,
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
    colours, numbers = DECKS[num_players]
    return Deck(COLOURS[:colours], tuple(str(number) for number in range(1, numbers + 1)))


def blocks(num_players: int) -> Sequence[Block]:
    colours, numbers = DECKS[num_players]
    return (
        Block("front", num_players * colours, "by seat and colour: 1 if its pepper lies in front of the seat"),
        Block("taken", num_players * colours, "by seat and colour: cards taken, peppers apart", numbers - 1),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


GAME = Game(
    title="Pepper",
    players=range(3, 10),
    default_players=5,
    deck=deck,
    hand_size=lambda num_players: 12,
    deals=lambda num_players: 5,
    phases=(LEAD, FOLLOW),
    places=(Place("front"),),
    deal_fields=[("peppers", np.int8, (9 * 6,)), ("taken", np.int8, (9 * 6,))],  # by seat and colour
    options={"lead_peppers": False},
    demands={
        LEAD: "the lead comes from the hand, not from the peppers in front (unless lead_peppers=True)",
        FOLLOW: "whoever has the led colour, in hand or as a pepper in front, must play it",
    },
    blocks=blocks,
)


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: Any) -> None:
    """Peppers lie open in front of whoever was dealt them. The dealer leads."""
    for seat in range(state.num_players):
        for colour in range(state.num_suits):
            pepper = colour * state.num_ranks + PEPPER
            if has(cards(state.hand[seat]), pepper):
                move(pepper, state.hand[seat], state.front[seat])
                state.peppers[seat * state.num_suits + colour] = 1
    lead_trick(state, state.dealer)


@rule
def legal(state: Any) -> CardSet:
    """The lead is from the hand. Followers must follow colour, from the hand or with a pepper from the front."""
    hand, front = cards(state.hand[state.seat]), cards(state.front[state.seat])
    if state.phase == LEAD:
        return union(hand, front) if state.lead_peppers else hand
    return follow_suit(state, union(hand, front))


@rule
def play(state: Any, card: int) -> None:
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
def take_trick(state: Any, taker: int) -> None:
    """Peppers go to the front of the taker, the other cards to the taker's pile."""
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
def some_hand_is_empty(state: Any) -> bool:
    """The deal ends after a trick that leaves somebody without a card in hand; peppers in front do not count."""
    for seat in range(state.num_players):
        if is_empty(cards(state.hand[seat])):
            return True
    return False


@rule
def score_deal(state: Any) -> None:
    """A pepper in front costs 2, and every other card of its colour in pile or hand 1."""
    for seat in range(state.num_players):
        score = 0
        for colour in range(state.num_suits):
            place = seat * state.num_suits + colour
            if state.peppers[place]:
                score -= 2 + state.taken[place] + suit_size(state, cards(state.hand[seat]), colour)
        state.deal_score[seat] = score


@rule
def next_dealer(state: Any) -> int:
    """The taker of the last trick deals, and leads."""
    return state.taking


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    at = write_by_seat(state, state.peppers, state.num_suits, observer, out, at)
    at = write_by_seat(state, state.taken, state.num_suits, observer, out, at)
    return write_taking(state, observer, out, at)


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def worth(state: Any, card: int) -> int:
    """Get rid of peppers whenever possible, else stay just below the card that takes, else throw the highest."""
    colour, number = suit(state, card), rank(state, card)
    seat = state.seat
    if state.phase == LEAD:
        return -number
    if number == PEPPER:  # it never takes a trick that somebody else has led; the dearest one goes first
        return 500 + state.taken[seat * state.num_suits + colour] + suit_size(state, cards(state.hand[seat]), colour)
    if colour != led_suit(state):
        return number
    if number < state.strength:
        return 100 + number
    last = state.trick_size == state.num_players - 1
    return number if last else -number
