"""Tricky Express (トリッキーエクスプレス, 2016): four express trains on one line.

Winning a trick is a stop: the winner adds one station of the own colour to the *line*. The longest stretch *without* a
stop between two of a player's stops, the first long pass, scores its length; bonuses go to the longest first (+2) and
second (+1) long pass of all players, and to first long passes that never fall in a match of 4 deals.

Cards ``2C … AS``, 13 each. No trumps. Before play, there are two exchanges in which every player gives a card to the
right and a card to the left: in the first one cards of the highest rank, in the second one any cards. Players must
follow suit; the highest card of the led suit wins the trick. A match is 4 deals; the highest total wins.

Rulings: a player's passes are ranked by length, equally long ones by later completion; the first two are the first
and the second long pass. A pass of length 0 can win a bonus, a missing pass cannot.

Source: the author's article (in Japanese) in the Trick-taking games Advent Calendar 2016, 19 December.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trick_envs.engine.build import rule
from trick_envs.engine.cards import EMPTY, CardSet, Deck, cards, first, intersection, is_empty, just, union
from trick_envs.engine.state import LEAD, OVER, PASS, PLAYERS, Numbers, Place, State, number, numbers, place_per_seat
from trick_envs.engine.table import (
    card_flags,
    contest,
    follow_suit,
    forget_hand,
    lay,
    lead_trick,
    left,
    move,
    next_to_play,
    put_away,
    rank_if_led,
    right,
    show,
    trick_complete,
)

STATIONS = 13  # one per trick
DEALS = 4
EXCHANGED = 2 * 2 * 2  # notes of a seat: by exchange (forced, free), given or got, right or left
GIVEN, GOT, RIGHT, LEFT = 0, 1, 0, 1


def deck(num_players: int) -> Deck:
    """52 cards, ranks A high to 2."""
    return Deck("CDHS", ("2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"))


class TrickyExpressState(State):
    """What Tricky Express adds to a position."""

    to_right: Place = place_per_seat("the card that a seat has named for its right neighbour", open=False)
    to_left: Place = place_per_seat("the card that a seat has named for its left neighbour", open=False)
    first_passes: Numbers = numbers(np.int8, ((PLAYERS, DEALS),), "by seat and deal: first long pass", "match")
    named: int = number(np.int8, "cards named in the exchanges, by all seats together")
    exchanged: Numbers = numbers(np.int32, ((PLAYERS, EXCHANGED),), "by seat: its notes of cards given and got (note)")
    line: Numbers = numbers(np.int8, (STATIONS,), "the seat that stopped there", derived=True)
    stops: Numbers = numbers(np.int8, ((PLAYERS, STATIONS),), "by seat and trick: 1 if the seat stopped there")
    longest: Numbers = numbers(np.int8, (PLAYERS,), "by seat: first long pass so far")
    second: Numbers = numbers(np.int8, (PLAYERS,), "by seat: second long pass so far")
    since: Numbers = numbers(np.int8, (PLAYERS,), "by seat: stations from its last stop on, 0 if it has none")


# --- the deal: two exchanges --------------------------------------------------------------------------------------


@rule
def begin(state: TrickyExpressState) -> None:
    """The exchanges start with the dealer's left neighbour and go clockwise (the order means nothing)."""
    state.seat, state.phase = left(state, state.dealer), PASS


@rule
def forced(state: TrickyExpressState) -> bool:
    """Whether this is the first exchange, the forced one: until all four have named two cards."""
    return state.named < 2 * state.num_players


@rule
def of_highest_rank(state: TrickyExpressState, held: CardSet) -> CardSet:
    """The cards among ``held`` that are of the highest rank."""
    found, high = EMPTY, state.num_ranks
    while is_empty(found):
        high -= 1
        for each_suit in range(state.num_suits):
            found = union(found, just(each_suit * state.num_ranks + high))
        found = intersection(found, held)
    return found


@rule
def legal(state: TrickyExpressState) -> CardSet:
    """Forced exchange: a card of the highest rank to the right, then one of the highest rank among the rest to the
    left. Free exchange: any card to the right, then any of the rest to the left.

    Follow: must follow suit, else any card.
    """
    hand = cards(state.hand[state.seat])
    if state.phase == PASS:
        return of_highest_rank(state, hand) if forced(state) else hand
    return hand if state.phase == LEAD else follow_suit(state, hand)


@rule
def name_card_to_give(state: TrickyExpressState, card: int) -> None:
    """Each player names the card for the right and then the card for the left; when all have, the cards change hands.

    After the second exchange, the dealer's left neighbour leads.
    """
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
def change_hands(state: TrickyExpressState, exchange: int) -> None:
    """All take up the two cards given to them; the giver knows where a card is."""
    for seat in range(state.num_players):
        to_right, to_left = first(cards(state.to_right[seat])), first(cards(state.to_left[seat]))
        right_neighbour, left_neighbour = right(state, seat), left(state, seat)
        move(to_right, state.to_right[seat], state.hand[right_neighbour])
        move(to_left, state.to_left[seat], state.hand[left_neighbour])
        show(state, to_right, right_neighbour)
        show(state, to_left, left_neighbour)
        note(state, right_neighbour, exchange, GOT, LEFT, to_right)
        note(state, left_neighbour, exchange, GOT, RIGHT, to_left)


@rule
def note(state: TrickyExpressState, seat: int, exchange: int, what: int, neighbour: int, card: int) -> None:
    """A seat remembers what it gave to a neighbour or got from one."""
    state.exchanged[seat * EXCHANGED + 4 * exchange + 2 * what + neighbour] = card_flags(state, card)


# --- the deal: tricks and stations --------------------------------------------------------------------------------


@rule
def play(state: TrickyExpressState, card: int) -> None:
    """The highest card of the led suit wins. The winner adds one station to the line, and leads next."""
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
def stop(state: TrickyExpressState, seat: int) -> None:
    """The winner of a trick adds a station to the line."""
    state.line[state.tricks] = seat
    state.stops[seat * STATIONS + state.tricks] = 1
    state.tricks += 1
    for other in range(state.num_players):
        state.since[other] += state.since[other] > 0
    state.longest[seat], _, state.second[seat], _ = long_passes(state.line, state.tricks, seat)
    state.since[seat] = 1


@rule
def long_passes(line: Any, stations: int, seat: int) -> tuple[int, int, int, int]:
    """The first and second long pass of a seat in a line: length and trick of completion (0: no pass) of each.

    A pass is the stretch between two consecutive stations of the seat; its length is the number of stations in between.
    """
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
    """Writes every seat's score for a line.

    Base: the length of the first long pass. Top bonus: +2 for the player whose first long pass is the longest, among
    equals only the one completed later. Second bonus: +1, the same with the second long passes.
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
    score[top] += 2  # there is one, and a second one: somebody has four stations or more
    score[runner_up] += 1


@rule
def development_bonus(one: int, two: int, three: int, four: int) -> int:
    """If the lengths of the first long passes of deals 1-4 never fall: 8 minus the number of times a length equals the
    one before; nothing if all four are equal.
    """
    if one > two or two > three or three > four or one == four:
        return 0
    return 8 - (one == two) - (two == three) - (three == four)


@rule
def score_deal(state: TrickyExpressState) -> None:
    """Score: from the line, and with deal 4 of a match of 4 deals the development bonus."""
    score_line(state.line, state.deal_score)
    if state.num_deals != DEALS:
        return
    for seat in range(state.num_players):
        state.first_passes[seat * DEALS + state.deal_number] = state.longest[seat]
        if state.deal_number == DEALS - 1:
            passes = state.first_passes[seat * DEALS : (seat + 1) * DEALS]
            state.deal_score[seat] += development_bonus(passes[0], passes[1], passes[2], passes[3])
