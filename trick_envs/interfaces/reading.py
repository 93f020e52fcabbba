"""Reading a game's record in Python: what lies where, who holds what, and why a card may not be played."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.cards import members
from trick_envs.engine.game import Setup
from trick_envs.engine.table import FOLLOW, KEEP, OVER, PHASES, PICK


def phase_name(states: Any) -> str:
    """The phase of ``states[0]``: ``"lead"``, ``"follow"``, ``"pass"``, ``"keep"``, ``"pick"`` or ``"over"``."""
    return PHASES[int(states["phase"][0])]


def dealt(setup: Setup, order: Any) -> tuple[list[list[str]], list[str]]:
    """The hands as dealt, each sorted, and the stock in drawing order, from a record's ``order``."""
    n, size, deck = setup.num_players, setup.hand_size, setup.deck
    hands = [deck.format_all(map(int, order[seat * size : (seat + 1) * size])) for seat in range(n)]
    return hands, [deck.format(int(card)) for card in order[n * size : deck.size]]


def places(setup: Setup, states: Any) -> dict[str, list[int]]:
    """Every place of ``states[0]`` with its cards: ``hand 0``, ``hand 1``, …, ``table``, ``pile 0``, …"""
    found = {}
    for place in setup.rules.places:
        row = states[place.name][0]
        if place.per_seat:
            found.update({f"{place.name} {seat}": members(row[seat]) for seat in range(setup.num_players)})
        else:
            found[place.name] = members(row)
    return found


def led_cards(setup: Setup, states: Any) -> list[str]:
    """The cards that the leader has in the trick of ``states[0]``."""
    state = states[0]
    by_leader = (i for i in range(int(state.trick_size)) if state.trick_seat[i] == state.trick_seat[0])
    return [setup.deck.format(int(state.trick[i])) for i in by_leader]


def why_illegal(setup: Setup, states: Any, action: int) -> str:
    """Why the seat to act in ``states[0]`` may not name this action: the seat, the card, the rule."""
    deck, phase, seat = setup.deck, int(states["phase"][0]), int(states["seat"][0])
    if not 0 <= action < setup.num_actions:
        return f"action {action} is no card: actions are 0 to {setup.num_actions - 1}"
    if phase == OVER:
        return f"the match is over: nobody plays {deck.format(action)}"
    card, who = deck.format(action), f"player_{seat}"
    legal = deck.format_all(members(setup.kernels.legal_of(states)))
    own = [
        name
        for name, cards in places(setup, states).items()
        if name.split() in ([place, str(seat)] for place in ("hand", "front"))
        for name in deck.format_all(cards)
    ]
    if card not in own and phase not in (KEEP, PICK):
        reason = f"{who} does not have {card}"
    else:
        verb, led = (
            ("play", f" (led: {' '.join(led_cards(setup, states))})") if phase == FOLLOW else (PHASES[phase], "")
        )
        reason = f"{who} may not {verb} {card}: {setup.rules.game.demands[phase]}{led}"
    return f"{reason}; legal now: {' '.join(dict.fromkeys(legal))}"
