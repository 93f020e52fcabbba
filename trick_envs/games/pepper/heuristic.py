"""A heuristic for Pepper."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import cards
from trick_envs.engine.state import LEAD
from trick_envs.engine.table import led_suit, rank, suit, suit_size
from trick_envs.games.pepper.rules import PEPPER, PepperState


@rule
def evaluate_card(state: PepperState, card: int) -> int:
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
