"""The dealer looks at a talon of two cards and picks one; then there is a trick, and who takes it has a point."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, Deck, cards, first, is_empty, put, rest
from trick_envs.engine.state import LEAD, OVER, PICK, Numbers, Place, State, place
from trick_envs.engine.table import (
    contest,
    lay,
    lead_trick,
    left,
    move,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    show,
    show_all,
    trick_complete,
)

DECK = Deck("C", ("1", "2", "3", "4"))
TALON = 16  # a slot


class SmallestState(State):
    """What the game adds to a position."""

    talon: Place = place("two cards that the dealer alone sees", open=False)
    picked: Place = place("the card that the dealer has picked")


@rule
def begin(state: SmallestState) -> None:
    """What is not dealt is the talon; the dealer picks."""
    for i in range(state.num_players, state.num_cards):
        put(state.talon, state.order[i])
        show(state, state.order[i], state.dealer)
    state.seat, state.phase = state.dealer, PICK


@rule
def legal(state: SmallestState) -> CardSet:
    """A card of the talon, or the one in the hand."""
    return cards(state.talon) if state.phase == PICK else cards(state.hand[state.seat])


@rule
def play(state: SmallestState, card: int) -> None:
    """The higher card takes the trick."""
    if state.phase == PICK:
        move(card, state.talon, state.picked)
        show_all(state, card)
        lead_trick(state, left(state, state.dealer))
        return
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    for i in range(state.trick_size):
        put_away(state, i, state.pile[state.taking])
    state.tricks, state.trick_size, state.phase = 1, 0, OVER
    state.deal_score[state.taking] = 1


@rule
def score_deal(state: SmallestState) -> None:
    """It stands there already."""


@rule
def features(state: SmallestState, observer: int, out: Any, at: int) -> int:
    return at


@rule
def evaluate_card(state: SmallestState, card: int) -> int:
    return rank(state, card) if state.phase == LEAD else -rank(state, card)


@rule
def remove_hidden(state: SmallestState, seat: int, cards_before: Numbers, slots: Numbers, count: int) -> int:
    """The talon, for who has not seen it."""
    talon = cards(state.talon)
    while seat != state.dealer and not is_empty(talon):
        cards_before[count], slots[count] = first(talon), TALON
        talon = rest(talon)
        count += 1
    if seat != state.dealer:
        state.talon[0] = state.talon[1] = 0
    return count


@rule
def place_hidden(state: SmallestState, slot: int, card: int) -> None:
    put(state.talon, card)
