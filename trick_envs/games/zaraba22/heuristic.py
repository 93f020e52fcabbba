"""A heuristic for Zaraba 22."""

from __future__ import annotations

import math

from trick_envs.engine.build import rule
from trick_envs.engine.cards import cards
from trick_envs.engine.state import KEEP, LEAD
from trick_envs.engine.table import hand_size, power, rank, suit, suit_size
from trick_envs.games.zaraba22.rules import CRASH, CRASHED, VALUES, Zaraba22State, both_leads_there


@rule
def charts_to_come(state: Zaraba22State) -> float:
    """How many cards of each suit are still to come to the chart: a trick takes four cards and adds one to it."""
    to_come = 0.0
    for seat in range(state.num_players):
        to_come += hand_size(state, seat) / (4.0 * state.num_suits)
    return to_come


@rule
def expected_price(state: Zaraba22State, wanted: int, charted: int, to_come: float) -> float:
    """An estimate of a suit's price at the end of the deal, if this card (none: -1) goes to the chart now."""
    total, count = float(state.chart_sum[wanted]), suit_size(state, cards(state.chart), wanted)
    if charted >= 0 and suit(state, charted) == wanted:
        total, count = total + VALUES[rank(state, charted)], count + 1
    if total >= CRASH:
        return CRASHED
    crash = 1.0 / (1.0 + math.exp((CRASH - total - 6.8 * to_come) / (0.5 + 3.0 * math.sqrt(to_come))))
    return (1.0 - crash) * (count + to_come * (1.0 - crash)) + crash * CRASHED


@rule
def chart_worth(state: Zaraba22State, charted: int, to_come: float) -> float:
    """The value of sending a card to the chart: the change of its suit's price, times how many more cards of the suit
    the seat to act has taken, or is likely to keep, than the others on average."""
    sent, more = suit(state, charted), 0.0
    for seat in range(state.num_players):
        more += state.taken[seat * state.num_suits + sent] * (1.0 if seat == state.seat else -0.5)
    more += 0.5 * suit_size(state, cards(state.hand[state.seat]), sent)
    return (expected_price(state, sent, charted, to_come) - expected_price(state, sent, -1, to_come)) * more


@rule
def trick_worth(state: Zaraba22State, take: float, stake: float) -> float:
    """The value of a trick that is taken with probability ``take``; otherwise one of the others gets it."""
    return (1.5 * take - 0.5) * stake


@rule
def chance_to_take(state: Zaraba22State, strength: int, followers: int) -> float:
    """The probability that no follower still to play has a stronger card of the suit."""
    return power((strength + 1.0) / state.num_ranks, followers)


@rule(inline=False)
def outcome(state: Zaraba22State, kept: int, charted: int, card: int) -> float:
    """The expected value of the trick if one lead card stays, the other goes to the chart (none: -1), and the seat to
    act plays a card (none: -1)."""
    leader, followers, to_come = state.trick_seat[0], state.num_players - 1, charts_to_come(state)
    taking, strength = leader, rank(state, kept)
    stake = expected_price(state, suit(state, kept), charted, to_come)
    for i in range(state.trick_size + 1):
        last = i == state.trick_size
        played, seat = card if last else state.trick[i], state.seat if last else state.trick_seat[i]
        if played >= 0 and seat != leader:
            followers -= 1
            stake += expected_price(state, suit(state, played), charted, to_come)
            if suit(state, played) == suit(state, kept) and rank(state, played) > strength:
                taking, strength = seat, rank(state, played)
    take = chance_to_take(state, strength, followers) if taking == state.seat else 0.0
    return trick_worth(state, take, stake) + (chart_worth(state, charted, to_come) if charted >= 0 else 0.0)


@rule
def evaluate_card(state: Zaraba22State, card: int) -> float:
    """Take what pays, and send to the chart what helps the suits of which the seat has more than the others."""
    if state.phase == LEAD:
        take, to_come = chance_to_take(state, rank(state, card), 2), charts_to_come(state)
        stake = expected_price(state, suit(state, card), -1, to_come)
        return chart_worth(state, card, to_come) + trick_worth(state, take, stake)
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
