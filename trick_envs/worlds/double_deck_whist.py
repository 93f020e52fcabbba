"""Hidden worlds of Double-Deck German Whist: the stock lies in an order that nobody knows."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.cards import cards, has, put
from trick_envs.engine.compile import rule

STOCK = 16  # slot numbers: this, and the place in dealing order


@rule
def hide_own(state: Any, seat: int, old: Any, where: Any, count: int) -> int:
    dealt = state.num_players * state.hand_size
    for i in range(dealt, state.num_cards):
        card = state.order[i]
        if has(cards(state.stock), card):
            old[count], where[count] = card, STOCK + i
            count += 1
    state.stock[0] = state.stock[1] = 0
    return count


@rule
def fill_own(state: Any, slot: int, card: int) -> None:
    state.order[slot - STOCK] = card
    put(state.stock, card)
