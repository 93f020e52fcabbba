"""Zaraba 22 (Suge, winner of the Trick Taking Party game awards 2020).

Three players move the prices of four stocks, the suits, with the cards that they do *not* keep, and are paid for the
cards that they take. A suit whose chart adds up to 22 or more crashes.

Cards ``AC … JS``, without king and queen; the ace is the weakest.

Rulings: the values of 5, 6 and 9 are their numbers, and a suit without cards on the chart has the price 0 (the
original's tables are pictures that are lost). Two lead cards are named one after the other; their order means nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trick_envs.engine.cards import EMPTY, CardSet, Deck, cards, just, put, size, union
from trick_envs.engine.compile import rule
from trick_envs.engine.game import Game
from trick_envs.engine.lowlevel import clear_bytes
from trick_envs.engine.observation import Block, write_by_seat, write_cards
from trick_envs.engine.table import (
    FOLLOW,
    KEEP,
    LEAD,
    OVER,
    Place,
    hand_size,
    lead_trick,
    left,
    move,
    next_to_play,
    of_suit,
    put_away,
    rank,
    relative,
    suit,
    suit_size,
)

DECK = Deck("CDHS", ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J"))
VALUES = np.array([11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10])  # on the chart, by rank
CRASH, CRASHED = 22, -1  # from this sum on a suit's price is -1


def blocks(num_players: int) -> Sequence[Block]:
    return (
        Block("chart", 44, "by card: 1 if it lies on the chart (who led it, `gone` says)"),
        Block("chart_sum", 4, "by suit: the values of its cards on the chart", 75),
        Block("price", 4, "by suit: its price as the chart stands", 5, CRASHED),
        Block("taken", 12, "by seat and suit: cards taken", 11),
        Block("leads", 44, "by card: 1 if it is a lead card of this trick that is still there"),
        Block("taking", 3, "by seat: 1 if its card takes the trick so far; none before one lead card is left"),
    )


GAME = Game(
    title="Zaraba 22",
    players=(3,),
    default_players=3,
    deck=lambda num_players: DECK,
    hand_size=lambda num_players: 14,
    deals=lambda num_players: 3,
    phases=(LEAD, FOLLOW, KEEP),
    places=(Place("chart", per_seat=False),),
    deal_fields=[("chart_sum", np.int8, (4,)), ("taken", np.int8, (3 * 4,))],
    demands={
        FOLLOW: "whoever has a card of the suit of a lead card that is still there must play such a card",
        KEEP: "one of the two lead cards stays",
    },
    blocks=blocks,
)


# --- the deal -----------------------------------------------------------------------------------------------------


@rule
def begin(state: Any) -> None:
    """The two cards left over lie on the chart. The starter, who deals, leads."""
    for i in range(state.num_players * state.hand_size, state.num_cards):
        put(state.chart, state.order[i])
        raise_sum(state, state.order[i])
    lead_trick(state, state.dealer)


@rule
def raise_sum(state: Any, card: int) -> None:
    state.chart_sum[suit(state, card)] += VALUES[rank(state, card)]


@rule
def both_leads_there(state: Any) -> bool:
    return state.trick_size > 1 and state.trick_seat[1] == state.trick_seat[0]


@rule
def leads(state: Any) -> CardSet:
    """The lead cards that are still there."""
    if state.trick_size == 0:
        return EMPTY
    one = just(state.trick[0])
    return union(one, just(state.trick[1])) if both_leads_there(state) else one


@rule
def legal(state: Any) -> CardSet:
    """Any two cards are led. Followers must match a lead card that is still there. A lead card is kept."""
    if state.phase == KEEP:
        return leads(state)
    hand = cards(state.hand[state.seat])
    if state.phase == LEAD:
        return hand
    matching = of_suit(state, hand, suit(state, state.trick[0]))
    if both_leads_there(state):
        matching = union(matching, of_suit(state, hand, suit(state, state.trick[1])))
    return hand if size(matching) == 0 else matching


@rule
def play(state: Any, card: int) -> None:
    if state.phase == LEAD:
        lead(state, card)
    elif state.phase == FOLLOW:
        follow(state, card)
    else:
        keep(state, card)


@rule
def add_to_trick(state: Any, card: int) -> None:
    move(card, state.hand[state.seat], state.table)
    state.trick[state.trick_size] = card
    state.trick_seat[state.trick_size] = state.seat
    state.trick_size += 1


@rule
def lead(state: Any, card: int) -> None:
    """Two cards, whose order means nothing."""
    add_to_trick(state, card)
    if state.trick_size == 2:
        one, other = state.trick[0], state.trick[1]
        state.trick[0], state.trick[1] = min(one, other), max(one, other)
        next_to_play(state)


@rule
def follow(state: Any, card: int) -> None:
    """A card that matches one of two lead cards sends the other to the chart. If it matches both, the seat chooses."""
    add_to_trick(state, card)
    voids, its = state.seat * state.num_suits, suit(state, card)
    one = suit(state, state.trick[0])
    if not both_leads_there(state):
        if its != one:
            state.void[voids + one] = 1
        find_taker(state)
    else:
        other = suit(state, state.trick[1])
        if its == one and its == other:
            state.phase = KEEP
            return
        if its == one:
            send_to_chart(state, 1)
        elif its == other:
            send_to_chart(state, 0)
        else:
            state.void[voids + one] = state.void[voids + other] = 1
    go_on(state)


@rule
def keep(state: Any, card: int) -> None:
    send_to_chart(state, 1 if card == state.trick[0] else 0)
    if state.seat == state.trick_seat[0]:  # the leader chooses after the third player
        end_trick(state)
    else:
        go_on(state)


@rule
def send_to_chart(state: Any, i: int) -> None:
    """One lead card goes to the chart, the other one stays."""
    raise_sum(state, state.trick[i])
    put_away(state, i, state.chart)
    state.trick_size -= 1
    for later in range(i, state.trick_size):
        state.trick[later], state.trick_seat[later] = state.trick[later + 1], state.trick_seat[later + 1]
    find_taker(state)


@rule
def find_taker(state: Any) -> None:
    """The strongest card of the suit of the lead card that is left takes the trick."""
    led = suit(state, state.trick[0])
    state.taking, state.strength = state.trick_seat[0], rank(state, state.trick[0])
    for i in range(1, state.trick_size):
        card = state.trick[i]
        if suit(state, card) == led and rank(state, card) > state.strength:
            state.taking, state.strength = state.trick_seat[i], rank(state, card)


@rule
def go_on(state: Any) -> None:
    """The next one follows; after the third player the leader chooses, if both lead cards are still there."""
    leader = state.trick_seat[0]
    if left(state, state.seat) != leader:
        next_to_play(state)
    elif both_leads_there(state):
        state.seat, state.phase = leader, KEEP
    else:
        end_trick(state)


@rule
def end_trick(state: Any) -> None:
    """The taker gets the three cards, and leads if there are two cards to lead and nobody is out of cards."""
    taker = state.taking
    for i in range(state.trick_size):
        state.taken[taker * state.num_suits + suit(state, state.trick[i])] += 1
        put_away(state, i, state.pile[taker])
    state.tricks += 1
    lead_trick(state, taker)
    if hand_size(state, taker) < 2:
        state.phase = OVER
    for seat in range(state.num_players):
        if hand_size(state, seat) == 0:
            state.phase = OVER


@rule
def price(state: Any, its: int) -> int:
    """What a taken card of a suit pays: the number of its cards on the chart, or -1 after a crash."""
    return suit_size(state, cards(state.chart), its) if state.chart_sum[its] < CRASH else CRASHED


@rule
def score_deal(state: Any) -> None:
    """Every card that was taken, or is left in the hand, pays the price of its suit."""
    for seat in range(state.num_players):
        score = 0
        for its in range(state.num_suits):
            count = state.taken[seat * state.num_suits + its] + suit_size(state, cards(state.hand[seat]), its)
            score += count * price(state, its)
        state.deal_score[seat] = score


# --- what a seat sees beside the cards ----------------------------------------------------------------------------


@rule
def features(state: Any, observer: int, out: Any, at: int) -> int:
    suits = state.num_suits
    at = write_cards(state, cards(state.chart), out, at)
    for its in range(suits):
        out[at + its] = state.chart_sum[its]
        out[at + suits + its] = price(state, its)
    at = write_by_seat(state, state.taken, suits, observer, out, at + 2 * suits)
    at = write_cards(state, leads(state), out, at)
    clear_bytes(out, at, state.num_players)
    out[at + relative(state, state.taking, observer)] = state.trick_size > 1 and not both_leads_there(state)
    return at + state.num_players


# --- a rule of thumb ----------------------------------------------------------------------------------------------


@rule
def expected_price(state: Any, its: int, charted: int) -> float:
    """The likely price of a suit at the end of the deal if this card (none: -1) goes to the chart now."""
    total, count, to_come = float(state.chart_sum[its]), suit_size(state, cards(state.chart), its), 0.0
    if charted >= 0 and suit(state, charted) == its:
        total, count = total + VALUES[rank(state, charted)], count + 1
    if total >= CRASH:
        return CRASHED
    for seat in range(state.num_players):  # a trick takes four cards from the hands and adds one to the chart
        to_come += hand_size(state, seat) / (4.0 * state.num_suits)
    crash = 1.0 / (1.0 + math.exp((CRASH - total - 6.8 * to_come) / (0.5 + 3.0 * math.sqrt(to_come))))
    return (1.0 - crash) * (count + to_come * (1.0 - crash)) + crash * CRASHED


@rule
def chart_worth(state: Any, charted: int) -> float:
    """What it brings that a card goes to the chart: the change of the price of all cards that the seat to act has, or
    is likely to keep, more than the others on average."""
    its, more = suit(state, charted), 0.0
    for seat in range(state.num_players):
        more += state.taken[seat * state.num_suits + its] * (1.0 if seat == state.seat else -0.5)
    more += 0.5 * suit_size(state, cards(state.hand[state.seat]), its)
    return (expected_price(state, its, charted) - expected_price(state, its, -1)) * more


@rule
def trick_worth(state: Any, take: float, stake: float) -> float:
    """What a trick brings that is taken with a chance: else one of the others gets it."""
    return (1.5 * take - 0.5) * stake


@rule
def chance_to_take(state: Any, strength: int, followers: int) -> float:
    """The chance that none of those who still follow plays a stronger card of the suit."""
    return ((strength + 1.0) / state.num_ranks) ** followers


@rule
def outcome(state: Any, kept: int, charted: int, card: int) -> float:
    """What the trick is likely to bring if one lead card stays, the other goes to the chart (none: -1), and the seat
    to act plays a card (none: -1)."""
    leader, followers = state.trick_seat[0], state.num_players - 1
    taking, strength = leader, rank(state, kept)
    stake = expected_price(state, suit(state, kept), charted)
    for i in range(state.trick_size + 1):
        last = i == state.trick_size
        its, seat = card if last else state.trick[i], state.seat if last else state.trick_seat[i]
        if its >= 0 and seat != leader:
            followers -= 1
            stake += expected_price(state, suit(state, its), charted)
            if suit(state, its) == suit(state, kept) and rank(state, its) > strength:
                taking, strength = seat, rank(state, its)
    take = chance_to_take(state, strength, followers) if taking == state.seat else 0.0
    return trick_worth(state, take, stake) + (chart_worth(state, charted) if charted >= 0 else 0.0)


@rule
def worth(state: Any, card: int) -> float:
    """Take what pays, and send to the chart what helps the suits of which the seat has more than the others."""
    if state.phase == LEAD:
        take = chance_to_take(state, rank(state, card), 2)
        return chart_worth(state, card) + trick_worth(state, take, expected_price(state, suit(state, card), -1))
    one, other = state.trick[0], state.trick[1]
    if state.phase == KEEP:
        return outcome(state, card, other if card == one else one, -1)
    if not both_leads_there(state):
        return outcome(state, one, -1, card)
    if suit(state, card) == suit(state, one) and suit(state, card) != suit(state, other):
        return outcome(state, one, other, card)
    if suit(state, card) == suit(state, other) and suit(state, card) != suit(state, one):
        return outcome(state, other, one, card)
    return max(outcome(state, one, other, card), outcome(state, other, one, card))
