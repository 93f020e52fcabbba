"""A heuristic for Slobberhannes."""

from __future__ import annotations

from slobberhannes_game.slobberhannes.rules import SlobberhannesState, is_queen
from trick_envs.engine.build import rule
from trick_envs.engine.state import LEAD
from trick_envs.engine.table import rank, rank_if_led


@rule
def evaluate_card(state: SlobberhannesState, card: int) -> int:
    """Lead low; stay just below the card that takes; throw what costs, else what is high."""
    height, price = rank(state, card), 13 * is_queen(state, card)
    if state.phase == LEAD:
        return -height - price
    strength = rank_if_led(state, card)
    if strength < 0:
        return 200 + 10 * price + height
    if strength < state.strength:
        return 100 + 10 * price + height
    return -height - 10 * price
