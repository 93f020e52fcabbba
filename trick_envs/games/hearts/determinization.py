"""Hidden worlds of Hearts: the cards that others have named to pass, and which of a seat's cards were passed to it."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import (
    CardSet,
    cards,
    first,
    is_empty,
    just,
    nth,
    put,
    put_all,
    rest,
    size,
    take_all,
    union,
    without,
)
from trick_envs.engine.rng import draw_from
from trick_envs.engine.state import Numbers, Streams
from trick_envs.games.hearts.rules import PASSED, TWO_OF_CLUBS, HeartsState, passing_is_done, receiver, without_points

PASSING = 16  # slot numbers: this, and the seat that has named the card


@rule
def remove_hidden(state: HeartsState, seat: int, cards_before: Numbers, slots: Numbers, count: int) -> int:
    """The cards that the other seats have named and not yet handed over."""
    for other in range(state.num_players):
        if other != seat:
            some = cards(state.passed[other])
            while not is_empty(some):
                cards_before[count], slots[count] = first(some), PASSING + other
                some = rest(some)
                count += 1
            state.passed[other, 0] = state.passed[other, 1] = 0
    return count


@rule
def place_hidden(state: HeartsState, slot: int, card: int) -> None:
    """Puts a card among those that a seat has named to pass."""
    put(state.passed[slot - PASSING], card)


@rule
def complete_world(
    state: HeartsState, seat: int, cards_before: Numbers, cards_after: Numbers, count: int, streams: Streams, i: int
) -> None:
    """Draws which cards the others have passed to each other.

    In every world, any three of the 13 cards with which a seat began to play may have been passed to it. So the worlds
    stay equally likely.
    """
    for other in range(state.num_players):
        if other == seat:
            continue
        if not passing_is_done(state):
            state.gave[other] = state.passed[other, 0]
        elif receiver(state, other) != seat:
            draw_passed(state, other, streams, i)


@rule
def draw_passed(state: HeartsState, other: int, streams: Streams, i: int) -> None:
    """Draws the three cards that a seat has passed; it knows where those are that have not been played."""
    target = receiver(state, other)
    pool = first_hand(state, target)
    take_all(state.seen[other], without(pool, just(TWO_OF_CLUBS)))  # of which all know where it is
    state.gave[other] = 0
    for _ in range(PASSED):
        card = nth(pool, draw_from(streams, i, size(pool)))
        pool = without(pool, just(card))
        state.gave[other] |= 1 << card
    put_all(state.seen[other], (state.gave[other], 0))


@rule
def first_hand(state: HeartsState, seat: int) -> CardSet:
    """The cards with which a seat began to play."""
    found = union(cards(state.hand[seat]), cards(state.gone[seat]))
    for k in range(state.trick_size):
        if state.trick_seat[k] == seat:
            found = union(found, just(state.trick[k]))
    return found


@rule
def is_consistent(state: HeartsState, seat: int) -> bool:
    """Whoever has shown to hold points alone holds no other cards."""
    for other in range(state.num_players):
        if state.only_points[other] and not is_empty(without_points(state, cards(state.hand[other]))):
            return False
    return True
