"""The table: what rules do with cards, seats and tricks.

The **places** of a record (``hand[seat]``, ``table``, ``pile[seat]``, and the game's own, such as Pepper's
``front[seat]``) are sets of cards; each card lies in exactly one place, and only ``move`` changes that. Who knows where
a card is follows from the place: everybody sees the cards in open places; a card in a hidden place is known to the
seats that have it in their ``seen`` set.
"""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import (
    FULL_WORD,
    WORD,
    CardSet,
    cards,
    intersection,
    is_empty,
    put,
    put_all,
    size,
    take,
    take_all,
)
from trick_envs.engine.intrinsics import highest_bit, lowest_bit
from trick_envs.engine.rng import draw
from trick_envs.engine.state import FOLLOW, LEAD, Place, State

# --- points -------------------------------------------------------------------------------------------------------


@rule
def margin_of(own: float, total: float, num_players: int, teams: bool) -> float:
    """A seat's points minus the mean of the others' (the other team's); ``total`` are the points of all seats."""
    if teams:
        return own - (total - 2 * own) / 2
    return own - (total - own) / (num_players - 1)


# --- numbers ------------------------------------------------------------------------------------------------------


@rule
def power(base: float, exponent: int) -> float:
    """``base ** exponent`` for an exponent of 0 or more, to the same last bit as plain Python and as machine code.

    (Python takes the C library's function for ``**``, compiled code multiplies: a heuristic would choose differently.)
    """
    product = 1.0
    while exponent > 0:
        if exponent & 1:
            product *= base
        exponent >>= 1
        base *= base
    return product


# --- cards --------------------------------------------------------------------------------------------------------


@rule
def kind(state: State, card: int) -> int:
    """What a player names to play the card."""
    return card - WORD if state.copies == 2 and card >= WORD else card


@rule
def suit(state: State, card: int) -> int:
    """0 for the first suit of the deck."""
    return (kind(state, card) * state.inverse) >> 16  # kind // num_ranks


@rule
def rank(state: State, card: int) -> int:
    """0 for the weakest."""
    named = kind(state, card)
    return named - ((named * state.inverse) >> 16) * state.num_ranks


@rule
def card_flags(state: State, card: int) -> int:
    """A card as bits, one of the suits and one of the ranks: what observations show of it."""
    return (1 << suit(state, card)) | (1 << (state.num_suits + rank(state, card)))


@rule
def card_of_flags(state: State, flags: int) -> int:
    """The card with these bits (in a game of one pack up to 54 cards)."""
    return lowest_bit(flags) * state.num_ranks + highest_bit(flags) - state.num_suits


# --- seats --------------------------------------------------------------------------------------------------------


@rule
def left(state: State, seat: int) -> int:
    """The left neighbour of a seat: the next one clockwise."""
    return seat + 1 if seat + 1 < state.num_players else 0


@rule
def right(state: State, seat: int) -> int:
    """The right neighbour of a seat: the one before it, clockwise."""
    return seat - 1 if seat > 0 else state.num_players - 1


@rule
def relative(state: State, seat: int, observer: int) -> int:
    """How many seats ``seat`` sits to the left of ``observer``."""
    distance = seat - observer
    return distance + state.num_players * (distance < 0)


# --- moving cards -------------------------------------------------------------------------------------------------


@rule
def move(card: int, source: Place, target: Place) -> None:
    """Moves a card to another place. Where the target is hidden, say who sees it with ``show``."""
    take(source, card)
    put(target, card)


@rule
def show(state: State, card: int, seat: int) -> None:
    """From now on the seat knows that the card lies where it lies."""
    put(state.seen[seat], card)


@rule
def show_hand(state: State, seat: int, observer: int) -> None:
    """From now on the observer knows that the cards that the seat holds now are in that hand."""
    put_all(state.seen[observer], cards(state.hand[seat]))


@rule
def show_all(state: State, card: int) -> None:
    """From now on everybody knows that the card lies where it lies."""
    for seat in range(state.num_players):
        put(state.seen[seat], card)


@rule
def forget_hand(state: State, seat: int) -> None:
    """Before a card leaves a hand unseen: the other seats no longer know of any card that it is still there."""
    for other in range(state.num_players):
        if other != seat:
            take_all(state.seen[other], cards(state.hand[seat]))


@rule
def shuffle(state: State) -> None:
    """Fisher-Yates shuffle of ``order``, with the random stream of the record."""
    for i in range(state.num_cards - 1, 0, -1):
        j = draw(state, i + 1)
        state.order[i], state.order[j] = state.order[j], state.order[i]


@rule
def sort_deck(state: State) -> None:
    """Puts the whole deck into ``order``, by number."""
    for i in range(state.num_cards):
        state.order[i] = i if i < state.kinds else WORD + i - state.kinds


@rule
def deal_hands(state: State) -> None:
    """Deals ``order``: every seat sees its own hand; what is left over stays in ``order`` as the stock."""
    dealt = 0
    for seat in range(state.num_players):
        for _ in range(state.hand_size):
            put(state.hand[seat], state.order[dealt])
            dealt += 1
        state.seen[seat, 0], state.seen[seat, 1] = state.hand[seat, 0], state.hand[seat, 1]


# --- tricks -------------------------------------------------------------------------------------------------------


@rule
def led_suit(state: State) -> int:
    """The suit of the first card of the trick."""
    return suit(state, state.trick[0])


@rule
def suit_cards(state: State, wanted: int) -> CardSet:
    """All cards of a suit."""
    ones, lowest = (1 << state.num_ranks) - 1, wanted * state.num_ranks
    if state.copies == 2:
        return ones << lowest, ones << lowest
    if lowest >= WORD:
        return 0, ones << (lowest - WORD)
    return (ones << lowest) & FULL_WORD, ones >> (WORD - lowest)


@rule
def of_suit(state: State, held: CardSet, wanted: int) -> CardSet:
    """The cards among ``held`` that are of one suit."""
    return intersection(held, suit_cards(state, wanted))


@rule
def higher(state: State, held: CardSet, card: int) -> CardSet:
    """The cards among ``held`` that have the same suit as a card and a higher rank."""
    same = of_suit(state, held, suit(state, card))
    if state.copies == 2:
        lower = (2 << kind(state, card)) - 1
        return same[0] & ~lower, same[1] & ~lower
    if card < WORD:
        return same[0] & ~((2 << card) - 1), same[1]
    return 0, same[1] & ~((2 << (card - WORD)) - 1)


@rule
def follow_suit(state: State, held: CardSet) -> CardSet:
    """The cards among ``held`` that are of the led suit; all of ``held``, if there are none."""
    following = of_suit(state, held, led_suit(state))
    return held if is_empty(following) else following


@rule
def lay(state: State, card: int, source: Place) -> None:
    """The seat to act lays a card from ``source`` on the table; if it does not follow suit, it is known to be void."""
    seat = state.seat
    if state.trick_size > 0:
        led = led_suit(state)
        if suit(state, card) != led:
            state.void[seat * state.num_suits + led] = 1
    move(card, source, state.table)
    state.trick[state.trick_size] = card
    state.trick_seat[state.trick_size] = seat
    state.trick_size += 1


@rule
def trick_complete(state: State) -> bool:
    """Everybody has played to the trick."""
    return state.trick_size == state.num_players


@rule
def contest(state: State, strength: int) -> None:
    """The card just laid takes the trick if it is stronger than all before; of equal cards the first one does."""
    if state.trick_size == 1 or strength > state.strength:
        state.taking, state.strength = state.seat, strength


@rule
def rank_if_led(state: State, card: int) -> int:
    """The strength of a card where the highest card of the led suit takes the trick."""
    return rank(state, card) if suit(state, card) == led_suit(state) else -1


@rule
def put_away(state: State, i: int, target: Place) -> None:
    """Moves the ``i``-th card of the trick off the table for good; all remember who played it."""
    card = state.trick[i]
    move(card, state.table, target)
    put(state.gone[state.trick_seat[i]], card)


@rule
def next_to_play(state: State) -> None:
    """The left neighbour is the next to follow."""
    state.seat = left(state, state.seat)
    state.phase = FOLLOW


@rule
def lead_trick(state: State, seat: int) -> None:
    """A new trick begins with a lead of this seat."""
    state.trick_size = 0
    state.seat = seat
    state.phase = LEAD


@rule
def hand_size(state: State, seat: int) -> int:
    """How many cards the seat holds now."""
    return size(cards(state.hand[seat]))


@rule
def suit_size(state: State, held: CardSet, wanted: int) -> int:
    """How many of the cards in ``held`` are of one suit."""
    return size(of_suit(state, held, wanted))
