"""Hearts, at its plainest: nothing is passed, any suit may be led at any time, nobody shoots the moon.

Every heart taken costs 1, the queen of spades 13. Cards ``2C … AS``; without the lowest ranks for 3, 5 and 6 players,
so that all are dealt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import CardSet, Deck, cards, is_empty
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.observation import Block, write_by_seat, write_taking
from trick_envs.engine.table import (
    FOLLOW,
    LEAD,
    OVER,
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
LOWEST = {3: "3", 4: "2", 5: "5", 6: "3"}
HEARTS, SPADES = 2, 3  # where they stand in "CDHS"
QUEEN_FROM_TOP = 3
ALL_COSTS = 13 + 13


def deck(num_players: int) -> Deck:
    return Deck("CDHS", RANKS[RANKS.index(LOWEST[num_players]) :])


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("cost", num_players, "by seat: what the cards cost that it has taken", ALL_COSTS),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


GAME = Game(
    title="Hearts",
    players=(3, 4, 5, 6),
    default_players=4,
    deck=deck,
    hand_size=lambda num_players: deck(num_players).size // num_players,
    deals=lambda num_players: num_players,
    phases=(LEAD, FOLLOW),
    demands={FOLLOW: "whoever has the led suit must play it"},
    deal_fields=[("cost", np.int8, (6,))],  # by seat
    blocks=blocks,
)


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
def cost(state: Any, card: int) -> int:
    """Every heart costs 1, the queen of spades 13."""
    if suit(state, card) == HEARTS:
        return 1
    return 13 if suit(state, card) == SPADES and rank(state, card) == state.num_ranks - QUEEN_FROM_TOP else 0


@rule
def play(state: Any, card: int) -> None:
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
def score_deal(state: Any) -> None:
    for seat in range(state.num_players):
        state.deal_score[seat] = -state.cost[seat]


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    at = write_by_seat(state, state.cost, 1, observer, out, at)
    return write_taking(state, observer, out, at)


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def worth(state: Any, card: int) -> int:
    """Lead low; stay just below the card that takes; throw what costs, else what is high."""
    its = rank(state, card)
    if state.phase == LEAD:
        return -its - cost(state, card)
    strength = rank_if_led(state, card)
    if strength < 0:
        return 200 + 10 * cost(state, card) + its
    if strength < state.strength:
        return 100 + 10 * cost(state, card) + its
    return -its - 10 * cost(state, card)
