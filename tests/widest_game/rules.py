"""Plain tricks: follow suit, the highest card of the led suit takes, every trick is a point. All cards are dealt.

Everybody sees the hand of the seat to the left, so that observations show known cards, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards
from trick_envs.engine.observation import Block, write_by_seat
from trick_envs.engine.state import LEAD, OVER, PLAYERS, Numbers, State, numbers
from trick_envs.engine.table import (
    contest,
    follow_suit,
    hand_size,
    lay,
    lead_trick,
    left,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    show_hand,
    trick_complete,
)

SUITS = "".join(sign for sign in map(chr, range(ord("!"), ord("~"))) if sign == sign.upper())[:54]
RANKS = tuple(map(str, range(61)))

DECKS = {  # by number of players
    2: Deck("C", RANKS[:60]),  # one suit over both words of a set
    4: Deck("CD", RANKS[:27], copies=2),  # two packs that fill their words
    9: Deck(SUITS, RANKS[:2]),  # 54 suits, 108 kinds
    12: Deck("CD", RANKS[:54]),  # two suits that fill their words, 108 kinds
    16: Deck("CDH", RANKS[:32]),  # the most players; the second suit is in both words
}


class WidestState(State):
    """What the game adds to a position."""

    won: Numbers = numbers(np.int8, (PLAYERS,), "by seat: its tricks")


def blocks(num_players: int) -> Sequence[Block]:
    return (Block("won", num_players, "by seat: its tricks", DECKS[num_players].size // num_players),)


@rule
def begin(state: WidestState) -> None:
    """The dealer's left neighbour leads."""
    for seat in range(state.num_players):
        show_hand(state, left(state, seat), seat)
    lead_trick(state, left(state, state.dealer))


@rule
def legal(state: WidestState) -> CardSet:
    """Any card is led; followers must follow suit."""
    hand = cards(state.hand[state.seat])
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def play(state: WidestState, card: int) -> None:
    """The highest card of the led suit takes the trick, of two alike the first; its player leads the next one."""
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    taker = state.taking
    for i in range(state.trick_size):
        put_away(state, i, state.pile[taker])
    state.won[taker] += 1
    state.tricks += 1
    lead_trick(state, taker)
    if hand_size(state, taker) == 0:
        state.phase = OVER


@rule
def score_deal(state: WidestState) -> None:
    """A point for every trick."""
    for seat in range(state.num_players):
        state.deal_score[seat] = state.won[seat]


@rule
def features(state: WidestState, observer: int, out: Any, at: int) -> int:
    return write_by_seat(state, state.won, 1, observer, out, at)


@rule
def evaluate_card(state: WidestState, card: int) -> int:
    return rank(state, card)
