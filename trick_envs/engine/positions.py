"""Reading a game's record in Python: what lies where, who holds what, and why a card may not be played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import WORD, members
from trick_envs.engine.deal import Plays
from trick_envs.engine.game import Game
from trick_envs.engine.state import FOLLOW, KEEP, OVER, PHASES, PICK, States


def phase_name(states: States) -> str:
    """The phase of ``states[0]``: ``"lead"``, ``"follow"``, ``"pass"``, ``"keep"``, ``"pick"`` or ``"over"``."""
    return PHASES[int(states["phase"][0])]


def observe(game: Game, states: States, seat: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    """What a seat sees in ``states[0]``: observation ``(D,)`` and action mask ``(A,)``, fresh arrays."""
    observation, mask = np.empty(game.layout.size, np.int8), np.empty(game.num_actions, np.int8)
    game.kernels.observe(states, 0, seat, observation, mask)
    return observation.astype(np.float32), mask


def dealt(game: Game, order: Any) -> tuple[list[list[str]], list[str]]:
    """The hands as dealt, each sorted, and the stock in drawing order, from a record's ``order``."""
    n, size, deck = game.num_players, game.hand_size, game.deck
    hands = [deck.format_all(map(int, order[seat * size : (seat + 1) * size])) for seat in range(n)]
    return hands, [deck.format(int(card)) for card in order[n * size : deck.size]]


def places(game: Game, states: States) -> dict[str, list[int]]:
    """Every place of ``states[0]`` with its cards: ``hand 0``, ``hand 1``, …, ``table``, ``pile 0``, …"""
    found = {}
    for name, place in game.type.places.items():
        row = states[name][0]
        if place.per_seat:
            found.update({f"{name} {seat}": members(row[seat]) for seat in range(game.num_players)})
        else:
            found[name] = members(row)
    return found


def as_word(pair: Sequence[int]) -> int:
    """A card set as one word."""
    return int(pair[0]) | (int(pair[1]) << WORD)


def visible_cards(game: Game, states: States, observer: int | None) -> dict[str, int]:
    """Which cards of ``states[0]`` an observer would know in each kind of place: sets of bits, all for ``None``."""
    seen = -1 if observer is None else as_word(states["seen"][0][observer].tolist())
    return {name: -1 if place.open else seen for name, place in game.type.places.items()}


def trick_in(game: Game, states: States) -> Plays:
    """The cards of the trick of ``states[0]``: seat and kind."""
    state, kind = states[0], game.deck.kind
    size = int(state["trick_size"])
    return tuple(zip(state["trick_seat"].tolist()[:size], map(kind, state["trick"].tolist()[:size]), strict=True))


def led_cards(game: Game, states: States) -> list[str]:
    """The cards that the leader has in the trick of ``states[0]``."""
    trick = trick_in(game, states)
    return [game.deck.format(kind) for seat, kind in trick if seat == trick[0][0]]


def winners_in(game: Game, states: States) -> list[int]:
    """The seats with the best standing in ``states[0]``."""
    bits = int(game.kernels.winners_bits(states))
    return [seat for seat in range(game.num_players) if (bits >> seat) & 1]


def why_illegal(game: Game, states: States, action: int) -> str:
    """Why the seat to act in ``states[0]`` may not name this action: the seat, the card, the rule."""
    deck, phase, seat = game.deck, int(states["phase"][0]), int(states["seat"][0])
    legal = legal_names(game, states)
    if not legal and phase != OVER:  # whatever was named
        return f"the rules of {game.name} leave player_{seat} no card to {PHASES[phase]}: legal() has to return one"
    if not 0 <= action < game.num_actions:
        told = action if abs(action) < 1 << 64 else "of so many digits"
        return f"action {told} is no card: actions are 0 to {game.num_actions - 1}"
    if phase == OVER:
        return f"the match is over: nobody plays {deck.format(action)}"
    card, who = deck.format(action), f"player_{seat}"
    if not can_name(game, states, action):
        reason = f"{who} does not have {card}"
    else:
        verb, led = ("play", f" (led: {' '.join(led_cards(game, states))})") if phase == FOLLOW else (PHASES[phase], "")
        reason = f"{who} may not {verb} {card}: {game.type.legality_rule(phase)}{led}"
    return f"{reason}; legal now: {' '.join(legal)}"


def can_name(game: Game, states: States, action: int) -> bool:
    """Whether the seat to act in ``states[0]`` has a card, or chooses among those on the table."""
    deck, phase, seat = game.deck, int(states["phase"][0]), int(states["seat"][0])
    lies = places(game, states)
    own = [name for place in game.type.hand_places for name in deck.format_all(lies[f"{place} {seat}"])]
    return deck.format(action) in own or phase in (KEEP, PICK)


def legal_names(game: Game, states: States) -> list[str]:
    """The cards that the seat to act in ``states[0]`` may name."""
    return list(dict.fromkeys(game.deck.format_all(members(game.kernels.legal_cards(states)))))
