"""Given deals, which are played instead of random ones; in the format of match records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from trick_envs.engine.arguments import seat_number, whole_number
from trick_envs.engine.deal import BY_THE_RULES, Deal
from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.errors import InputError, TrickEnvsError, checked_list, shown


def deal_given(game: Game, states: States, given: Sequence[Deal], number: int) -> None:
    """Deals what was given as deal ``number`` of a match, if it was, instead of what lies in ``states[0]``."""
    if number < len(given) and (given[number].order or given[number].dealer != BY_THE_RULES):
        state, deal = states[0], given[number]
        order = np.array(deal.order, np.int8) if deal.order else state["order"].copy()
        game.kernels.deal_order(states, order, int(state["dealer"]) if deal.dealer == BY_THE_RULES else deal.dealer)


def checked_deals(game: Game, given: Any) -> tuple[Deal, ...]:
    """What somebody gives as deals of a game, if they are: all that matters is their ``dealer`` and ``order``.

    Raises:
        ValueError: for a dealer or an order that there cannot be; names it.
        TypeError: if they are no deals.
    """
    found = []
    for number, deal in enumerate(checked_list(given, Deal, "given", "a list of deals")):
        where = f"given[{number}]"
        whole_number(deal.dealer, BY_THE_RULES, game.num_players - 1, f"{where}.dealer", "a seat, or -1,")
        order = checked_list(deal.order, Integral, f"{where}.order", "cards by number")
        if order and sorted(order) != sorted(game.deck.cards):
            raise InputError(f"{where}.order: expected every card of the deck once, not {shown(deal.order)}")
        found.append(Deal(int(deal.dealer), tuple(map(int, order))))
    return tuple(found)


def read_dealer(game: Game, dealer: object, where: str) -> int:
    """A seat that deals; ``BY_THE_RULES`` for ``None``.

    Raises:
        ValueError: if there is no such seat.
    """
    if dealer is None:
        return BY_THE_RULES
    return seat_number(dealer, game.num_players, where)


def read_deals(game: Game, deals: object, where: str = "options['deals']") -> list[Deal]:
    """Reads a list of deals as in ``record()``: ``hands``, ``stock`` if the game has one, and optionally ``dealer``.

    ``None`` is no deal.

    Raises:
        ValueError: for an invalid deal; names the wrong card, and ``where``.
    """
    if deals is None:
        return []
    if isinstance(deals, (str, Mapping)) or not isinstance(deals, Sequence):
        raise InputError(f"{where}: expected a list of deals, not {shown(deals)}")
    return [_read_deal(game, deal, f"{where}[{number}]") for number, deal in enumerate(deals)]


def _read_deal(game: Game, deal: object, where: str) -> Deal:
    if not isinstance(deal, Mapping) or not isinstance(deal.get("hands"), Sequence):
        raise InputError(f"{where}: expected a dict with 'hands' (and 'dealer', 'stock'), not {shown(deal)}")
    hands, stock = deal["hands"], [] if deal.get("stock") is None else deal["stock"]
    if len(hands) != game.num_players:
        raise InputError(f"{where}: expected {game.num_players} hands, not {len(hands)}")
    try:
        order = game.deck.parse_deal(hands, stock, game.hand_size)
    except TrickEnvsError as error:
        raise InputError(f"{where}: {error}") from None
    return Deal(read_dealer(game, deal.get("dealer"), f"{where}['dealer']"), tuple(order))
