"""Hidden worlds of Tricky Express: the cards that others have named, their notes, and what the forced gifts reveal."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet, cards, first, is_empty, just, nth, put, rest, size, union, without
from trick_envs.engine.rng import draw_from
from trick_envs.engine.state import PASS, Numbers, Place, Streams
from trick_envs.engine.table import card_flags, card_of_flags, left, move, rank, right
from trick_envs.games.tricky_express.rules import (
    EXCHANGED,
    GIVEN,
    GOT,
    LEFT,
    RIGHT,
    TrickyExpressState,
    forced,
    note,
    of_highest_rank,
)

OFFER = 16  # slot numbers: this, the seat that named the card, and 4 more if it goes to the left


@rule
def remove_hidden(state: TrickyExpressState, seat: int, cards_before: Numbers, slots: Numbers, count: int) -> int:
    """The cards that the other seats have named and not yet handed over."""
    for other in range(state.num_players):
        if other != seat:
            for offer in (cards(state.to_right[other]), cards(state.to_left[other])):
                if not is_empty(offer):
                    to_left = offer == cards(state.to_left[other])
                    cards_before[count], slots[count] = first(offer), OFFER + other + 4 * to_left
                    count += 1
            state.to_right[other, 0] = state.to_right[other, 1] = 0
            state.to_left[other, 0] = state.to_left[other, 1] = 0
    return count


@rule
def place_hidden(state: TrickyExpressState, slot: int, card: int) -> None:
    """Puts a card where a seat keeps the one that it has named for a neighbour."""
    giver = (slot - OFFER) % 4
    put(state.to_right[giver] if slot < OFFER + 4 else state.to_left[giver], card)


@rule
def follows(state: TrickyExpressState, seat: int, other: int, k: int) -> bool:
    """Whether the note of another seat names a card that ``seat`` has not seen handed over."""
    partner = right(state, other) if k & 1 == RIGHT else left(state, other)
    handed_over = state.named >= 2 * state.num_players * (1 + k // 4)
    return state.exchanged[other * EXCHANGED + k] > 0 and other != seat and not (partner == seat and handed_over)


@rule
def notes_of(state: TrickyExpressState, seat: int, card: int) -> int:
    """The notes of others that name the card."""
    named = 0
    for other in range(state.num_players):
        for k in range(EXCHANGED):
            noted = state.exchanged[other * EXCHANGED + k] == card_flags(state, card)
            named = 2 * named + (noted and follows(state, seat, other, k))
    return named


@rule
def complete_world(
    state: TrickyExpressState,
    seat: int,
    cards_before: Numbers,
    cards_after: Numbers,
    count: int,
    streams: Streams,
    i: int,
) -> None:
    """The notes of others about their exchanges with each other name the new cards; forced gifts are chosen again.

    (The note of a finished exchange may then show a forced gift that was not of the highest rank.)
    """
    for other in range(state.num_players):
        if other == seat:
            continue
        for k in range(EXCHANGED):
            at = other * EXCHANGED + k
            if follows(state, seat, other, k):
                noted = card_of_flags(state, state.exchanged[at])
                for slot in range(count):
                    if cards_before[slot] == noted:
                        state.exchanged[at] = card_flags(state, cards_after[slot])
                        break
        if state.phase == PASS and forced(state):
            named = size(cards(state.to_right[other])) + size(cards(state.to_left[other]))
            take_back(state, state.to_right[other], state.hand[other])
            take_back(state, state.to_left[other], state.hand[other])
            for neighbour in range(named):
                highest = of_highest_rank(state, cards(state.hand[other]))
                card = nth(highest, draw_from(streams, i, size(highest)))
                move(card, state.hand[other], state.to_right[other] if neighbour == RIGHT else state.to_left[other])
                note(state, other, 0, GIVEN, neighbour, card)


@rule
def take_back(state: TrickyExpressState, offer: Place, hand: Place) -> None:
    """Moves a named card back to the hand, if there is one."""
    if not is_empty(cards(offer)):
        move(first(cards(offer)), offer, hand)


@rule
def is_consistent(state: TrickyExpressState, seat: int) -> bool:
    """Whether the others can have been forced to give what they gave.

    After the first exchange this is exact. After the second one, a neighbour has had nothing above the card that it was
    forced to give, except from its other neighbour, twice; whether the other three can have given each other all of it
    is not asked.
    """
    exchanges = state.named // (2 * state.num_players)
    if exchanges == 1:
        return forced_gifts_fit(state, seat)
    for neighbour in (RIGHT, LEFT):
        if exchanges == 2 and above(state, not_mine(state, seat, neighbour), rank_got(state, seat, neighbour)) > 2:
            return False
    return True


@rule
def forced_gifts_fit(state: TrickyExpressState, seat: int) -> bool:
    """Whether there are gifts among the other three that all were forced to give, before the second exchange ends.

    The left neighbour gave its highest card here and its next one across, the right one its highest across and its next
    one here; the seat across gave its highest to the left neighbour and its next one to the right one. The higher these
    two are, the more do all hands allow.
    """
    at_left, at_right = not_mine(state, seat, LEFT), not_mine(state, seat, RIGHT)
    far = held(state, left(state, left(state, seat)))
    got, got_next = rank_got(state, seat, LEFT), rank_got(state, seat, RIGHT)
    if above(state, at_left, got) > 1 or above(state, at_right, got_next) > 1:
        return False
    to_left = highest_rank(state, at_left)
    least = highest_rank(state, without(at_left, just(first(of_highest_rank(state, at_left)))))
    to_right = highest_rank(state, at_right)
    if to_right > to_left:  # this is not it
        if to_right > got_next:
            return False
        to_right = -1
        while not is_empty(at_right):
            if rank(state, first(at_right)) <= to_left:
                to_right = max(to_right, rank(state, first(at_right)))
            at_right = rest(at_right)
    higher_ones, one = above(state, far, to_right), far
    while to_right >= 0 and not is_empty(one):
        from_left, other = first(one), far
        one = rest(one)
        while least <= rank(state, from_left) <= got and not is_empty(other):
            from_right = first(other)
            other = rest(other)
            covered = (rank(state, from_left) > to_right) + (rank(state, from_right) > to_right)
            if from_right != from_left and rank(state, from_right) >= got_next and covered == higher_ones:
                return True
    return False


@rule
def held(state: TrickyExpressState, seat: int) -> CardSet:
    """The cards that a seat has after the exchanges so far, and those that it has named or played since."""
    found = union(
        union(cards(state.hand[seat]), cards(state.gone[seat])),
        union(cards(state.to_right[seat]), cards(state.to_left[seat])),
    )
    for k in range(state.trick_size):
        if state.trick_seat[k] == seat:
            found = union(found, just(state.trick[k]))
    return found


@rule
def not_mine(state: TrickyExpressState, seat: int, neighbour: int) -> CardSet:
    """What a neighbour has held, but for what the seat has given to it."""
    found = held(state, right(state, seat) if neighbour == RIGHT else left(state, seat))
    for exchange in range(state.named // (2 * state.num_players)):
        found = without(found, just(card_of_flags(state, state.exchanged[seat * EXCHANGED + 4 * exchange + neighbour])))
    return found


@rule
def above(state: TrickyExpressState, some: CardSet, limit: int) -> int:
    """How many of some cards are of a higher rank."""
    found = 0
    while not is_empty(some):
        found += rank(state, first(some)) > limit
        some = rest(some)
    return found


@rule
def highest_rank(state: TrickyExpressState, some: CardSet) -> int:
    return rank(state, first(of_highest_rank(state, some)))


@rule
def rank_got(state: TrickyExpressState, seat: int, neighbour: int) -> int:
    """The rank of the card that a neighbour was forced to give to the seat."""
    return rank(state, card_of_flags(state, state.exchanged[seat * EXCHANGED + 2 * GOT + neighbour]))
