"""Zaraba 22's own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.cards import cards
from trick_envs.engine.intrinsics import spill_zeros
from trick_envs.engine.observation import Block, write_by_seat, write_cards
from trick_envs.engine.table import relative
from trick_envs.games.zaraba22.rules import CRASHED, Zaraba22State, both_leads_there, leads, price


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    return (
        Block("chart", 44, "by card: 1 if it lies on the chart (`gone` tells who led it)", unit="card"),
        Block("chart_sum", 4, "by suit: the values of its cards on the chart", 75, unit="suit"),
        Block("price", 4, "by suit: its price with the present chart", 5, CRASHED, unit="suit"),
        Block("taken", 12, "by seat and suit: cards taken", 11, unit="suit"),
        Block("leads", 44, "by card: 1 if it is a lead card of this trick that is still there", unit="card"),
        Block("taking", 3, "by seat: 1 if its card takes the trick so far; none before one lead card is left"),
    )


@rule
def features(state: Zaraba22State, observer: int, out: Any, at: int) -> int:
    """The chart and its prices, cards taken, the lead cards, and who takes the trick so far."""
    suits = state.num_suits
    at = write_cards(state, cards(state.chart), out, at)
    for each in range(suits):
        out[at + each] = state.chart_sum[each]
        out[at + suits + each] = price(state, each)
    at = write_by_seat(state, state.taken, suits, observer, out, at + 2 * suits)
    at = write_cards(state, leads(state), out, at)
    spill_zeros(out, at, state.num_players)
    out[at + relative(state, state.taking, observer)] = state.trick_size > 1 and not both_leads_there(state)
    return at + state.num_players
