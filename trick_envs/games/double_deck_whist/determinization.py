"""Hidden worlds of Double-Deck German Whist: nobody knows the order of the stock."""

from __future__ import annotations

from trick_envs.engine.build import rule
from trick_envs.engine.cards import put
from trick_envs.engine.state import Numbers
from trick_envs.games.double_deck_whist.rules import DoubleDeckWhistState, first_in_stock

STOCK = 16  # slot numbers: this, and the place in dealing order


@rule
def remove_hidden(state: DoubleDeckWhistState, seat: int, cards_before: Numbers, slots: Numbers, count: int) -> int:
    """The stock: the cards in ``order`` that are not turned up or drawn yet."""
    for i in range(first_in_stock(state), state.num_cards):
        cards_before[count], slots[count] = state.order[i], STOCK + i
        count += 1
    state.stock[0] = state.stock[1] = 0
    return count


@rule
def place_hidden(state: DoubleDeckWhistState, slot: int, card: int) -> None:
    """Puts a card into the stock."""
    state.order[slot - STOCK] = card
    put(state.stock, card)
