"""Double-Deck German Whist's own part of the observation, besides the cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.cards import cards
from trick_envs.engine.intrinsics import spill_zeros
from trick_envs.engine.observation import Block, write_cards, write_number, write_taking
from trick_envs.engine.table import kind
from trick_envs.games.double_deck_whist.rules import HALF, DoubleDeckWhistState, first_in_stock, team


def blocks(num_players: int) -> Sequence[Block]:
    """The blocks that ``features`` writes."""
    return (
        Block("trump", 4, "the trump suit, one of 4", unit="suit"),
        Block("upturned", 52, "by card: how many lie face up beside the stock", 2, unit="card"),
        Block("tricks", 1, "finished tricks of the deal", 2 * HALF),
        Block("second_half", 1, "1 in the second half, which begins when the stock is used up"),
        Block("won", 2, "tricks of the second half: own team, other team", HALF),
        Block("deals_won", 4, "deals won by own team, by the other team, each as hundreds and the rest", 127),
        Block("taking", num_players, "by seat: 1 if its card takes the trick so far"),
    )


def hidden_blocks(num_players: int) -> Sequence[Block]:
    """The block that ``hidden_state`` writes."""
    meaning = "in drawing order: 1 + the action of a card not yet turned up or drawn, else 0"
    return (Block("stock", 52, meaning, 52, unit="card number"),)


@rule
def features(state: DoubleDeckWhistState, observer: int, out: Any, at: int) -> int:
    """The trump, the face-up cards, tricks and won deals by team, and who takes the trick so far."""
    own, other = team(observer), 1 - team(observer)
    spill_zeros(out, at, state.num_suits)
    out[at + state.trump] = 1
    at = write_cards(state, cards(state.upturned), out, at + state.num_suits)
    out[at], out[at + 1] = state.tricks, state.tricks >= HALF
    out[at + 2], out[at + 3] = state.won[own], state.won[other]
    at = write_number(state.deals_won[own], out, at + 4)
    at = write_number(state.deals_won[other], out, at)
    return write_taking(state, observer, out, at)


@rule
def hidden_state(state: DoubleDeckWhistState, out: Any, at: int) -> int:
    """The order of the stock."""
    for i in range(state.num_players * state.hand_size, state.num_cards):
        out[at] = 1 + kind(state, state.order[i]) if i >= first_in_stock(state) else 0
        at += 1
    return at
