"""A heuristic for Hearts."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import cards, has, is_empty, size
from trick_envs.engine.state import LEAD, PASS
from trick_envs.engine.table import higher, of_suit, rank, rank_if_led, suit
from trick_envs.games.hearts.rules import HEARTS, QUEEN_OF_SPADES, SPADES, HeartsState

LOW_SPADES = 5  # so many spades in hand protect high ones


@rule
def evaluate_card(state: HeartsState, card: int) -> float:
    """Pass what is dangerous; lead low; stay just below the card that takes; throw what costs, or else is dangerous."""
    if state.phase == PASS:
        return danger(state, card)
    height, cost = rank(state, card), price(state, card)
    if state.phase == LEAD:
        return -height - 2.0 * cost - (40.0 if risks_the_queen(state, card) else 0.0)
    strength = rank_if_led(state, card)
    if strength < 0:
        return 300.0 + 10.0 * cost + danger(state, card)
    if strength < state.strength:
        return 100.0 + 10.0 * cost + height
    last = state.trick_size == state.num_players - 1
    if last and points_in_trick(state) + cost == 0:
        return 50.0 + height - (200.0 if risks_the_queen(state, card) else 0.0)
    return -height - 10.0 * cost - (40.0 if risks_the_queen(state, card) else 0.0)


@rule
def price(state: HeartsState, card: int) -> float:
    """What a card costs its taker."""
    if suit(state, card) == HEARTS:
        return 1.0
    return 13.0 if card == QUEEN_OF_SPADES else 0.0


@rule
def points_in_trick(state: HeartsState) -> float:
    """What the cards on the table cost."""
    total = 0.0
    for i in range(state.trick_size):
        total += price(state, state.trick[i])
    return total


@rule
def risks_the_queen(state: HeartsState, card: int) -> bool:
    """An ace or king of spades while the queen is with somebody else."""
    seat, out = state.seat, True
    for other in range(state.num_players):
        out = out and state.queen[other] == 0
    own = has(cards(state.hand[seat]), QUEEN_OF_SPADES)
    return out and not own and suit(state, card) == SPADES and card > QUEEN_OF_SPADES


@rule
def danger(state: HeartsState, card: int) -> float:
    """How much a card in hand is likely to cost: high cards of short suits, high hearts, bare high spades."""
    hand = cards(state.hand[state.seat])
    held, height = size(of_suit(state, hand, suit(state, card))), float(rank(state, card))
    if suit(state, card) == SPADES:
        if card < QUEEN_OF_SPADES:
            return -5.0
        return (30.0 if card == QUEEN_OF_SPADES else 25.0) if held < LOW_SPADES else 0.0
    if suit(state, card) == HEARTS:
        return height + 2.0
    covered = 1.0 if is_empty(higher(state, hand, card)) else 0.0
    return height + 6.0 / held + covered
