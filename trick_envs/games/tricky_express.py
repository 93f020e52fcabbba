"""Tricky Express (トリッキーエクスプレス, 2016): four express trains on one line.

The taker of a trick adds one station of the own colour to the *line*. The longest stretch without a stop between two
own stations scores.

Cards ``2C … AS``. No trumps.

Rulings: a player's passes are ranked by length, equally long ones by later completion; the first two are the first
and the second long pass. A pass of length 0 can win a bonus, a missing pass cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import EMPTY, CardSet, Deck, cards, common, first, is_empty, just, size, union
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.lowlevel import clear_bytes, copy_bytes
from trick_envs.engine.observation import Block, write_by_seat, write_taking
from trick_envs.engine.table import (
    FOLLOW,
    LEAD,
    OVER,
    PASS,
    Place,
    contest,
    follow_suit,
    forget_hand,
    higher,
    lay,
    lead_trick,
    left,
    move,
    next_to_play,
    put_away,
    rank,
    rank_if_led,
    right,
    show,
    suit,
    trick_complete,
)

STATIONS = 13  # one a trick
DEALS = 4
SLOT = 4 + 13  # a card as one of the suits and one of the ranks
EXCHANGED = 2 * 2 * 2 * SLOT  # by exchange (forced, free), given or got, right or left
GIVEN, GOT, RIGHT, LEFT = 0, 1, 0, 1
SINCE = "stations from its last stop on, 0 if it has none"


def deck(num_players: int) -> Deck:
    return Deck("CDHS", ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"))


def blocks(num_players: int) -> Sequence[Block]:
    card = "as one of 4 suits and one of 13 ranks"
    return (
        Block("passing", 4, "what is named now: forced right, forced left, free right, free left; none in play"),
        Block("exchanged", EXCHANGED, f"by exchange, given then got, right then left neighbour: the card, {card}"),
        Block("line", num_players * STATIONS, "by seat and trick: 1 if it stopped there"),
        Block("passes", num_players * 3, f"by seat: first and second long pass so far; {SINCE}", STATIONS),
        Block("first_passes", num_players * DEALS, "by seat and deal (match of 4): first long pass", STATIONS - 2),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


GAME = Game(
    title="Tricky Express",
    players=(4,),
    default_players=4,
    deck=deck,
    hand_size=lambda num_players: 13,
    deals=lambda num_players: DEALS,
    phases=(PASS, LEAD, FOLLOW),
    hands_seen=True,
    places=(Place("to_right", open=False), Place("to_left", open=False)),
    match_fields=[("first_passes", np.int8, (4 * DEALS,))],  # by seat and deal
    deal_fields=[
        ("named", np.int8),  # cards named in the exchanges, by all
        ("exchanged", np.int8, (4 * EXCHANGED,)),  # by seat: as in the observation
        ("line", np.int8, (STATIONS,)),  # the seat that stopped there
        ("stops", np.int8, (4 * STATIONS,)),  # the same by seat and trick
        ("passes", np.int8, (4 * 3,)),  # by seat: first and second so far; stations from its last stop on
    ],
    derived=("line",),
    demands={
        PASS: "in the first exchange a card of the highest rank goes to the right, then one of the highest rank among "
        "the rest to the left",
        FOLLOW: "whoever has the led suit must play it",
    },
    blocks=blocks,
    secret_blocks=lambda num_players: (Block("exchanges", num_players * EXCHANGED, "by seat: its block exchanged"),),
)


# --- the deal: two exchanges --------------------------------------------------------------------------------------


@rule
def begin(state: Any) -> None:
    """The exchanges begin with the dealer's left neighbour (the order means nothing: nobody sees a card)."""
    state.seat, state.phase = left(state, state.dealer), PASS


@rule
def forced(state: Any) -> bool:
    """This is the first exchange: two cards of every player."""
    return state.named < 2 * state.num_players


@rule
def of_highest_rank(state: Any, held: CardSet) -> CardSet:
    """Those of the cards that are of the highest rank among them."""
    found, high = EMPTY, state.num_ranks
    while is_empty(found):
        high -= 1
        for its_suit in range(state.num_suits):
            found = union(found, just(its_suit * state.num_ranks + high))
        found = common(found, held)
    return found


@rule
def legal(state: Any) -> CardSet:
    """In the first exchange the highest card goes to the right, the highest of the rest to the left; then any.

    In play, any card is led; followers must follow suit.
    """
    hand = cards(state.hand[state.seat])
    if state.phase == PASS:
        return of_highest_rank(state, hand) if forced(state) else hand
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def name_card_to_give(state: Any, card: int) -> None:
    """Everybody names the card for the right and then the card for the left; then all cards change hands."""
    seat, exchange, neighbour = state.seat, 0 if forced(state) else 1, state.named & 1
    forget_hand(state, seat)  # nobody else sees which card goes
    move(card, state.hand[seat], state.to_right[seat] if neighbour == RIGHT else state.to_left[seat])
    note(state, seat, exchange, GIVEN, neighbour, card)
    state.named += 1
    if neighbour == RIGHT:
        return
    state.seat = left(state, seat)
    if state.named == 2 * state.num_players * (exchange + 1):
        change_hands(state, exchange)
        if exchange == 1:
            lead_trick(state, left(state, state.dealer))


@rule
def change_hands(state: Any, exchange: int) -> None:
    """Everybody takes up the two cards given; the giver knows where its card is."""
    for seat in range(state.num_players):
        to_right, to_left = first(cards(state.to_right[seat])), first(cards(state.to_left[seat]))
        its_right, its_left = right(state, seat), left(state, seat)
        move(to_right, state.to_right[seat], state.hand[its_right])
        move(to_left, state.to_left[seat], state.hand[its_left])
        show(state, to_right, its_right)
        show(state, to_left, its_left)
        note(state, its_right, exchange, GOT, LEFT, to_right)
        note(state, its_left, exchange, GOT, RIGHT, to_left)


@rule
def note(state: Any, seat: int, exchange: int, what: int, neighbour: int, card: int) -> None:
    """A seat remembers what it gave to a neighbour or got from one."""
    at = seat * EXCHANGED + (4 * exchange + 2 * what + neighbour) * SLOT
    state.exchanged[at + suit(state, card)] = 1
    state.exchanged[at + state.num_suits + rank(state, card)] = 1


# --- the deal: tricks and stations --------------------------------------------------------------------------------


@rule
def play(state: Any, card: int) -> None:
    """The highest card of the led suit takes the trick. The taker adds a station to the line."""
    if state.phase == PASS:
        name_card_to_give(state, card)
        return
    lay(state, card, state.hand[state.seat])
    contest(state, rank_if_led(state, card))
    if not trick_complete(state):
        next_to_play(state)
        return
    for i in range(state.trick_size):
        put_away(state, i, state.pile[state.taking])
    stop(state, state.taking)
    if state.tricks < STATIONS:
        lead_trick(state, state.taking)
    else:
        state.trick_size = 0
        state.phase = OVER


@rule
def stop(state: Any, seat: int) -> None:
    state.line[state.tricks] = seat
    state.stops[seat * STATIONS + state.tricks] = 1
    state.tricks += 1
    for other in range(state.num_players):
        state.passes[3 * other + 2] += state.passes[3 * other + 2] > 0
    longest, _, second, _ = long_passes(state.line, state.tricks, seat)
    state.passes[3 * seat], state.passes[3 * seat + 1], state.passes[3 * seat + 2] = longest, second, 1


@rule
def long_passes(line: Any, stations: int, seat: int) -> tuple[int, int, int, int]:
    """The first and the second long pass of a seat in a line: length and trick of completion (0: no pass) of each."""
    longest, longest_done, second, second_done, before = 0, 0, 0, 0, 0
    for trick in range(1, stations + 1):
        if line[trick - 1] != seat:
            continue
        if before > 0:
            length = trick - before - 1
            if length >= longest:  # of equally long ones the one completed later comes first
                second, second_done = longest, longest_done
                longest, longest_done = length, trick
            elif length >= second:
                second, second_done = length, trick
        before = trick
    return longest, longest_done, second, second_done


@rule
def score_line(line: Any, score: Any) -> None:
    """Writes base and bonuses of every seat for a line: its first long pass, +2 for the longest of all, of equally
    long ones only for the one completed later, and +1 likewise for the second long passes.
    """
    top, top_pass, top_done = -1, -1, 0
    runner_up, runner_up_pass, runner_up_done = -1, -1, 0
    for seat in range(len(score)):
        longest, longest_done, second, second_done = long_passes(line, STATIONS, seat)
        score[seat] = longest
        if longest_done > 0 and (longest > top_pass or (longest == top_pass and longest_done > top_done)):
            top, top_pass, top_done = seat, longest, longest_done
        if second_done > 0 and (second > runner_up_pass or (second == runner_up_pass and second_done > runner_up_done)):
            runner_up, runner_up_pass, runner_up_done = seat, second, second_done
    if top >= 0:
        score[top] += 2
    if runner_up >= 0:
        score[runner_up] += 1


@rule
def development_bonus(one: int, two: int, three: int, four: int) -> int:
    """8 if the first long passes of deals 1 to 4 never fall, less 1 for each like the one before; 0 if all are."""
    if one > two or two > three or three > four or one == four:
        return 0
    return 8 - (one == two) - (two == three) - (three == four)


@rule
def score_deal(state: Any) -> None:
    """The line, and in the last deal of a match of 4 the development bonus."""
    score_line(state.line, state.deal_score)
    if state.num_deals != DEALS:
        return
    for seat in range(state.num_players):
        state.first_passes[seat * DEALS + state.deal_number] = state.passes[3 * seat]
        if state.deal_number == DEALS - 1:
            passes = state.first_passes[seat * DEALS : (seat + 1) * DEALS]
            state.deal_score[seat] += development_bonus(passes[0], passes[1], passes[2], passes[3])


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    clear_bytes(out, at, 4)
    if state.phase == PASS:
        out[at + (0 if forced(state) else 2) + (state.named & 1)] = 1
    at += 4
    copy_bytes(state.exchanged, observer * EXCHANGED, out, at, EXCHANGED)
    at = write_by_seat(state, state.stops, STATIONS, observer, out, at + EXCHANGED)
    at = write_by_seat(state, state.passes, 3, observer, out, at)
    at = write_by_seat(state, state.first_passes, DEALS, observer, out, at)
    return write_taking(state, observer, out, at)


@rule
def secrets(state: Any, out: Any, at: int) -> int:
    return write_by_seat(state, state.exchanged, EXCHANGED, 0, out, at)


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def worth(state: Any, card: int) -> float:
    """Stop as soon as possible, then for a long time not, then once more.

    To take the trick is worth what it adds to the first long pass. Cards that are neither low nor the highest of
    their suit are given away, and go first when somebody else takes the trick.
    """
    above = size(higher(state, held_by_others(state), card))
    height = rank(state, card) / state.num_ranks
    highest = above == 0
    if state.phase == PASS:
        return -abs(height - 0.5) - highest
    chance = chance_to_take(state, card, above)
    useless = 1.0 - abs(height - 0.2) - highest
    return chance * (gain_of_a_stop(state) + 0.5 * height) + (1.0 - chance) * 1.3 * useless


@rule
def gain_of_a_stop(state: Any) -> float:
    """The first long pass to be expected after a stop in this trick, less that without one."""
    longest, since = state.passes[3 * state.seat], state.passes[3 * state.seat + 2]
    to_come = STATIONS - 1 - state.tricks
    without = max(longest, expected_pass(since, to_come)) if since > 0 else 0.0
    return max(max(longest, since - 1), expected_pass(0, to_come)) - without


@rule
def expected_pass(since: int, to_come: int) -> float:
    """How long the pass becomes that has this length already, if some of the tricks to come is to complete it."""
    return (1.0 - 0.7**to_come) * (since + 0.7 * (to_come - 1))


@rule
def chance_to_take(state: Any, card: int, above: int) -> float:
    """How likely the card takes the trick, with so many higher ones of its suit in the other hands."""
    if state.phase == FOLLOW and rank_if_led(state, card) <= state.strength:
        return 0.0
    return (1.0 - 0.06 * above) ** (state.num_players - 1 - state.trick_size)


@rule
def held_by_others(state: Any) -> CardSet:
    """The cards that others hold, or will: nobody can tell which of them have been named to be given."""
    held = EMPTY
    for other in range(state.num_players):
        held = union(held, union(cards(state.to_right[other]), cards(state.to_left[other])))
        if other != state.seat:
            held = union(held, cards(state.hand[other]))
    return held
