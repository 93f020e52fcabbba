"""A heuristic for Hearts."""

from __future__ import annotations

from hearts_game.hearts.rules import HeartsState, cost
from trick_envs.engine.compile import rule
from trick_envs.engine.state import LEAD
from trick_envs.engine.table import rank, rank_if_led


@rule
def evaluate_card(state: HeartsState, card: int) -> int:
    """Lead low; stay just below the card that takes; throw what costs, else what is high."""
    height, price = rank(state, card), cost(state, card)
    if state.phase == LEAD:
        return -height - price
    strength = rank_if_led(state, card)
    if strength < 0:
        return 200 + 10 * price + height
    if strength < state.strength:
        return 100 + 10 * price + height
    return -height - 10 * price
