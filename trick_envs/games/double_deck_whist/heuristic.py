"""A heuristic for Double-Deck German Whist."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, cards, first, intersection, is_empty, rest, size, union, without
from trick_envs.engine.state import FOLLOW, LEAD, PICK
from trick_envs.engine.table import hand_size, higher, led_suit, left, of_suit, power, rank, right, suit
from trick_envs.games.double_deck_whist.rules import HALF, DoubleDeckWhistState, strength, team


@rule
def evaluate_card(state: DoubleDeckWhistState, card: int) -> float:
    """What the card is expected to win now, minus what it may win later.

    In the first half, the value of a trick is how much better its face-up cards are than two unknown ones.
    """
    if state.phase == PICK:
        return tricks_to_come(state, card)
    stake = 1.0
    if state.tricks < HALF:
        one, other = first(cards(state.upturned)), first(rest(cards(state.upturned)))
        stake = tricks_to_come(state, one) + tricks_to_come(state, other) - 2 * OF_ANY_CARD
    return stake * chance_of_trick(state, card) - tricks_to_come(state, card)


OF_ANY_CARD = 0.28


@rule
def tricks_to_come(state: DoubleDeckWhistState, card: int) -> float:
    """How many tricks of the second half a card in hand is likely to win."""
    height = rank(state, card) / (state.num_ranks - 1)
    return 0.4 + 0.6 * height if suit(state, card) == state.trump else 0.7 * height * height * height


@rule
def chance_of_trick(state: DoubleDeckWhistState, card: int) -> float:
    """The probability that the team of the seat to act takes the trick with this card."""
    seat, best = state.seat, card
    partner, ours = left(state, left(state, seat)), True
    if state.phase == FOLLOW and strength(state, card) <= state.strength:
        ours = team(state.taking) == team(seat)
        for i in range(state.trick_size):
            if state.trick_seat[i] == state.taking:
                best = state.trick[i]
    led = suit(state, card) if state.phase == LEAD else led_suit(state)
    stands, rescue, later = 1.0, 0.0, state.num_players - 1 - state.trick_size
    if later >= 1:
        stands *= 1.0 - chance_to_beat(state, left(state, seat), best, led)
    if later >= 2:
        rescue = 0.5 * chance_to_beat(state, partner, best, led)
    if later >= 3:
        stands *= 1.0 - chance_to_beat(state, right(state, seat), best, led)
    return stands + (1.0 - stands) * rescue if ours else (1.0 + stands) * rescue


@rule(inline=False)
def chance_to_beat(state: DoubleDeckWhistState, other: int, best: int, led: int) -> float:
    """The probability that another seat has a card that beats the best of the trick, and may play it.

    Its hand is the cards that the seat to act knows to be there, and random ones out of sight.
    """
    seen = cards(state.seen[state.seat])
    known, unseen = intersection(cards(state.hand[other]), seen), out_of_sight(state)
    missing = max(size(unseen), 1)
    elsewhere = 1.0 - (hand_size(state, other) - size(known)) / missing  # that a card unseen is not in that hand

    void = 0.0 if not is_empty(of_suit(state, known, led)) else power(elsewhere, size(of_suit(state, unseen, led)))
    if state.void[other * state.num_suits + led] == 1:
        void = 1.0
    follows = 0.0
    if suit(state, best) == led:
        above = higher(state, unseen, best)
        follows = 1.0 if not is_empty(higher(state, known, best)) else 1.0 - power(elsewhere, size(above))
    if led == state.trump:
        return follows * (1.0 - void)
    ruffs = (
        1.0
        if not is_empty(trumps_over(state, known, best))
        else (1.0 - power(elsewhere, size(trumps_over(state, unseen, best))))
    )
    return follows * (1.0 - void) + ruffs * void


@rule
def trumps_over(state: DoubleDeckWhistState, held: CardSet, best: int) -> CardSet:
    """The trumps among ``held`` that beat the best card of the trick."""
    return higher(state, held, best) if suit(state, best) == state.trump else of_suit(state, held, state.trump)


@rule
def out_of_sight(state: DoubleDeckWhistState) -> CardSet:
    """The cards in hands and stock that the seat to act cannot locate."""
    hidden = cards(state.stock)
    for other in range(state.num_players):
        hidden = union(hidden, cards(state.hand[other]))
    return without(hidden, cards(state.seen[state.seat]))
