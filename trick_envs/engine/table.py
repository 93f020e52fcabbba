"""The table: the record that is a game, and how cards move on it.

A game is one record of a NumPy structured type. Its **places** (``hand[seat]``, ``table``, ``pile[seat]``, and the
game's own, such as Pepper's ``front[seat]``) are sets of cards; each card lies in exactly one place, and only
``move`` changes that. Who knows where a card is follows from the place: cards in open places are seen by everybody,
cards in a hand by the seats in whose ``seen`` set they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import config

from trick_envs.engine.cards import WORD, CardSet, cards, common, is_empty, put, put_all, size, take, take_all
from trick_envs.engine.compile import rule
from trick_envs.engine.rng import draw

# The phases: what naming a card means now. ``OVER`` says that the deal, or the match, has ended.
PHASES = ("lead", "follow", "pass", "keep", "pick", "over")
LEAD, FOLLOW, PASS, KEEP, PICK, OVER = range(len(PHASES))


@dataclass(frozen=True)
class Place:
    """A place where cards lie.

    Attributes:
        name: the field of the record.
        per_seat: one such place in front of every seat, or one in all.
        open: everybody sees the cards that lie there, or saw them go there.
    """

    name: str
    per_seat: bool = True
    open: bool = True


COMMON_PLACES = (Place("hand", open=False), Place("table", per_seat=False), Place("pile"))


def record_type(
    players: int,
    suits: int,
    kinds: int,
    size: int,
    places: Sequence[Place],
    match_fields: Sequence[tuple[Any, ...]],
    deal_fields: Sequence[tuple[Any, ...]],
) -> np.dtype[Any]:
    """The structured type of a game's records, wide enough for ``players`` seats and ``size`` cards."""
    cards_at = [(place.name, np.int64, (players, 2) if place.per_seat else (2,)) for place in places]
    fields = [
        # the match, as it was set up
        ("num_players", np.int8),
        ("num_deals", np.int32),  # in the match (at most, if the original's match ends otherwise)
        ("original", np.int8),  # 1: the match ends as the original says; 0: after exactly num_deals
        ("teams", np.int8),  # 1: seats 0 and 2 play against seats 1 and 3
        ("hand_size", np.int16),
        ("num_suits", np.int8),
        ("num_ranks", np.int8),
        ("inverse", np.int32),  # of num_ranks, as a fraction of 2**16 rounded up: division is slow
        ("copies", np.int8),
        ("kinds", np.int16),
        ("num_cards", np.int16),
        ("of_suit", np.int64, (suits, 2)),  # the cards of each suit
        # the match, as it stands
        ("seed", np.uint64),
        ("rng", np.uint64),
        ("deal_number", np.int32),  # deals finished so far
        ("score", np.int32, (players,)),  # of the match, by seat
        ("deal_score", np.int32, (players,)),  # of the last finished deal, by seat
        *match_fields,
        # the deal
        ("dealer", np.int8),
        ("phase", np.int8),
        ("seat", np.int8),  # who acts
        ("order", np.int8, (size,)),  # the cards as dealt: hand after hand, then the stock
        # all that is zero when a deal begins
        ("tricks", np.int16),  # finished ones
        *cards_at,
        ("seen", np.int64, (players, 2)),  # by seat: the cards in hidden places that it knows there
        ("gone", np.int8, (players * kinds,)),  # by seat and kind: cards played in finished tricks
        ("void", np.int8, (players * suits,)),  # by seat and suit: 1 if it publicly has none
        # the trick
        ("trick_size", np.int8),  # cards in it
        ("trick", np.int8, (players + 1,)),  # its cards, in the order in which they were played
        ("trick_seat", np.int8, (players + 1,)),  # who played each
        ("taking", np.int8),  # the seat that takes it as it stands
        ("strength", np.int16),  # of that seat's card
        *deal_fields,
    ]
    if config.DISABLE_JIT:  # NumPy's small integers overflow where compiled code computes in 64 bits
        fields = [(name, np.uint64 if kind is np.uint64 else np.int64, *shape) for name, kind, *shape in fields]
    return np.dtype((np.record, np.dtype(fields, align=True)))


# --- cards --------------------------------------------------------------------------------------------------------


@rule
def kind(state: Any, card: int) -> int:
    """What a player names to play the card."""
    return card - WORD if state.copies == 2 and card >= WORD else card


@rule
def suit(state: Any, card: int) -> int:
    return (kind(state, card) * state.inverse) >> 16  # kind // num_ranks


@rule
def rank(state: Any, card: int) -> int:
    """0 for the weakest."""
    named = kind(state, card)
    return named - ((named * state.inverse) >> 16) * state.num_ranks


# --- seats --------------------------------------------------------------------------------------------------------


@rule
def left(state: Any, seat: int) -> int:
    """The left neighbour of a seat: the next one clockwise."""
    return seat + 1 if seat + 1 < state.num_players else 0


@rule
def right(state: Any, seat: int) -> int:
    return seat - 1 if seat > 0 else state.num_players - 1


@rule
def relative(state: Any, seat: int, observer: int) -> int:
    """How many seats ``seat`` sits to the left of ``observer``."""
    apart = seat - observer
    return apart + state.num_players * (apart < 0)


# --- moving cards -------------------------------------------------------------------------------------------------


@rule
def move(card: int, source: Any, target: Any) -> None:
    """Moves a card to another place. Where the target is hidden, say who sees it with ``show``."""
    take(source, card)
    put(target, card)


@rule
def show(state: Any, card: int, seat: int) -> None:
    """From now on the seat knows that the card lies where it lies."""
    put(state.seen[seat], card)


@rule
def show_hand(state: Any, seat: int, observer: int) -> None:
    """From now on the observer knows that the cards that the seat holds now are in that hand."""
    put_all(state.seen[observer], cards(state.hand[seat]))


@rule
def show_all(state: Any, card: int) -> None:
    """From now on everybody knows that the card lies where it lies."""
    for seat in range(state.num_players):
        put(state.seen[seat], card)


@rule
def forget_hand(state: Any, seat: int) -> None:
    """Before a card leaves the hand hidden: nobody else knows any more of a card that it is still there."""
    for other in range(state.num_players):
        if other != seat:
            take_all(state.seen[other], cards(state.hand[seat]))


@rule
def shuffle(state: Any) -> None:
    """Fisher and Yates, from the stream of the record."""
    for i in range(state.num_cards - 1, 0, -1):
        j = draw(state, i + 1)
        state.order[i], state.order[j] = state.order[j], state.order[i]


@rule
def sort_deck(state: Any) -> None:
    for i in range(state.num_cards):
        state.order[i] = i if i < state.kinds else WORD + i - state.kinds


@rule
def deal_hands(state: Any) -> None:
    """Deals ``order``: every seat sees its own hand; what is left over stays in ``order`` as the stock."""
    dealt = 0
    for seat in range(state.num_players):
        for _ in range(state.hand_size):
            put(state.hand[seat], state.order[dealt])
            dealt += 1
        state.seen[seat, 0], state.seen[seat, 1] = state.hand[seat, 0], state.hand[seat, 1]


# --- tricks -------------------------------------------------------------------------------------------------------


@rule
def led_suit(state: Any) -> int:
    """The suit of the first card of the trick."""
    return suit(state, state.trick[0])


@rule
def of_suit(state: Any, held: CardSet, wanted: int) -> CardSet:
    """Those of the cards that are of one suit."""
    return common(held, cards(state.of_suit[wanted]))


@rule
def higher(state: Any, held: CardSet, card: int) -> CardSet:
    """Those of the cards that are of the same suit as one card and of higher rank."""
    same = of_suit(state, held, suit(state, card))
    if state.copies == 2:
        lower = (2 << kind(state, card)) - 1
        return same[0] & ~lower, same[1] & ~lower
    if card < WORD:
        return same[0] & ~((2 << card) - 1), same[1]
    return 0, same[1] & ~((2 << (card - WORD)) - 1)


@rule
def follow_suit(state: Any, held: CardSet) -> CardSet:
    """Those of the cards that are of the led suit; all of them, if none is."""
    following = of_suit(state, held, led_suit(state))
    return held if is_empty(following) else following


@rule
def lay(state: Any, card: int, source: Any) -> None:
    """The seat to act lays a card from ``source`` on the table; whoever cannot follow is known to be void."""
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
def trick_complete(state: Any) -> bool:
    """Everybody has played to the trick."""
    return state.trick_size == state.num_players


@rule
def contest(state: Any, strength: int) -> None:
    """The card just laid takes the trick if it is stronger than all before; of equal cards the first one does."""
    if state.trick_size == 1 or strength > state.strength:
        state.taking, state.strength = state.seat, strength


@rule
def rank_if_led(state: Any, card: int) -> int:
    """The strength of a card where the highest card of the led suit takes the trick."""
    return rank(state, card) if suit(state, card) == led_suit(state) else -1


@rule
def put_away(state: Any, i: int, target: Any) -> None:
    """Moves the ``i``-th card of the trick off the table for good; all remember who played it."""
    card = state.trick[i]
    move(card, state.table, target)
    state.gone[state.trick_seat[i] * state.kinds + kind(state, card)] += 1


@rule
def next_to_play(state: Any) -> None:
    """The left neighbour follows."""
    state.seat = left(state, state.seat)
    state.phase = FOLLOW


@rule
def lead_trick(state: Any, seat: int) -> None:
    """A new trick begins with a lead of this seat."""
    state.trick_size = 0
    state.seat = seat
    state.phase = LEAD


@rule
def hand_size(state: Any, seat: int) -> int:
    """How many cards the seat holds now."""
    return size(cards(state.hand[seat]))


@rule
def suit_size(state: Any, held: CardSet, wanted: int) -> int:
    """How many of the cards are of one suit."""
    return size(of_suit(state, held, wanted))
