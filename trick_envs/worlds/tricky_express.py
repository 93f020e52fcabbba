"""Hidden worlds of Tricky Express: the cards that others have named, and what the forced gives tell."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.cards import cards, first, is_empty, nth, put, rest, size, without
from trick_envs.engine.compile import rule
from trick_envs.engine.lowlevel import clear_bytes
from trick_envs.engine.rng import draw_from
from trick_envs.engine.table import PASS, left, move, rank, right
from trick_envs.games.tricky_express import EXCHANGED, GOT, LEFT, RIGHT, SLOT, forced, of_highest_rank

OFFER = 16  # slot numbers: this, the seat that named the card, and 4 more if it goes to the left


@rule
def hide_own(state: Any, seat: int, old: Any, where: Any, count: int) -> int:
    for other in range(state.num_players):
        if other != seat:
            for offer in (cards(state.to_right[other]), cards(state.to_left[other])):
                if not is_empty(offer):
                    to_left = offer == cards(state.to_left[other])
                    old[count], where[count] = first(offer), OFFER + other + 4 * to_left
                    count += 1
            state.to_right[other, 0] = state.to_right[other, 1] = 0
            state.to_left[other, 0] = state.to_left[other, 1] = 0
    return count


@rule
def fill_own(state: Any, slot: int, card: int) -> None:
    giver = (slot - OFFER) % 4
    put(state.to_right[giver] if slot < OFFER + 4 else state.to_left[giver], card)


@rule
def settle(state: Any, seat: int, streams: Any, i: int) -> None:
    """Others' notes are unknown, and what they named in the forced exchange was of the highest rank they had."""
    for other in range(state.num_players):
        if other != seat:
            clear_bytes(state.exchanged, other * EXCHANGED, EXCHANGED)
            if state.phase == PASS and forced(state):
                named = size(cards(state.to_right[other])) + size(cards(state.to_left[other]))
                take_back(state, state.to_right[other], state.hand[other])
                take_back(state, state.to_left[other], state.hand[other])
                for neighbour in range(named):
                    highest = of_highest_rank(state, cards(state.hand[other]))
                    offer = state.to_right[other] if neighbour == RIGHT else state.to_left[other]
                    move(nth(highest, draw_from(streams, i, size(highest))), state.hand[other], offer)


@rule
def take_back(state: Any, offer: Any, hand: Any) -> None:
    if not is_empty(cards(offer)):
        move(first(cards(offer)), offer, hand)


@rule
def plausible(state: Any, seat: int) -> bool:
    """A neighbour holds nothing above the card that it was forced to give, but what its other side may have given."""
    exchanges = state.named // (2 * state.num_players)
    if exchanges > 0:
        for neighbour in (RIGHT, LEFT):
            other = right(state, seat) if neighbour == RIGHT else left(state, seat)
            held = without(cards(state.hand[other]), cards(state.seen[seat]))
            limit, higher_ones = rank_got(state, seat, neighbour), 0
            while not is_empty(held):
                higher_ones += rank(state, first(held)) > limit
                held = rest(held)
            if higher_ones > exchanges:
                return False
    return True


@rule
def rank_got(state: Any, seat: int, neighbour: int) -> int:
    """The rank of the card that a neighbour was forced to give to the seat."""
    at = seat * EXCHANGED + (2 * GOT + neighbour) * SLOT + state.num_suits
    found = 0
    for its in range(state.num_ranks):
        found += its * state.exchanged[at + its]
    return found
