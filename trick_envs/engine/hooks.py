"""The hooks: the functions of a game that the engine calls, with their types, and the defaults.

A game's modules (``rules.py``, ``features.py``, ``heuristic.py``, ``determinization.py``) define functions of these
names under ``@rule``; ``hooks_of`` finds them instead of those below. The first six have no default: every game
defines them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from trick_envs.engine.build import rule
from trick_envs.engine.cards import CardSet
from trick_envs.engine.state import Bytes, Numbers, State, Streams
from trick_envs.engine.table import left
from trick_envs.errors import InputTypeError

# --- numbers that the kernels of a table have as constants ----------------------------------------------------------

PHASES_OF_GAME: tuple[int, ...] = ()
HANDS_SEEN = False  # whether a seat may come to know cards in the hands of others
TWO_PACKS = True  # whether there are two cards of a kind: without, the code for them is left out

# --- what every game defines --------------------------------------------------------------------------------------


def begin(state: State) -> None:
    """Called after the hands are dealt: places all other cards, and sets who acts first (``lead_trick``)."""
    raise NotImplementedError


def legal(state: State) -> CardSet:
    """The cards that ``state.seat`` may name in ``state.phase``."""
    raise NotImplementedError


def play(state: State, card: int) -> None:
    """``state.seat`` names a legal card: moves it, says who acts next, sets the phase to ``OVER`` at the deal's end."""
    raise NotImplementedError


def score_deal(state: State) -> None:
    """Writes every seat's points for the finished deal to ``state.deal_score``; higher is better."""
    raise NotImplementedError


def features(state: State, observer: int, out: Bytes, at: int) -> int:
    """Writes the game's own part of the observation to ``out`` (``int8``) from ``at`` on; returns where it ends.

    It comes last in the observation, has the blocks that ``GameType.blocks`` lists, and is written in their order.
    """
    raise NotImplementedError


def evaluate_card(state: State, card: int) -> float:
    """Rates a legal card, using only what the seat to act has seen; the greedy player plays the one rated highest."""
    raise NotImplementedError


# --- what a game may define ---------------------------------------------------------------------------------------


@rule
def next_dealer(state: State) -> int:
    """Who deals next: the left neighbour of the dealer."""
    return left(state, state.dealer)


@rule
def match_over(state: State) -> bool:
    """Whether the match has ended: after ``num_deals`` deals."""
    return state.deal_number >= state.num_deals


@rule
def standing(state: State, seat: int) -> int:
    """What decides the match: the highest wins, equal ones share the win. By default the match score."""
    return state.score[seat]


@rule
def hidden_state(state: State, out: Bytes, at: int) -> int:
    """Writes hidden information besides hands, for ``state()`` (``GameType.hidden_blocks``). By default nothing."""
    return at


# --- hidden worlds: five functions for games with hidden places or notes of their own -----------------------------
# ``resample`` redeals the cards that a seat has not seen. A *slot* is where such a card lies: the number of a seat
# (its hand), or a number that the game chooses, ``num_players`` or more.


@rule
def remove_hidden(state: State, seat: int, cards_before: Numbers, slots: Numbers, count: int) -> int:
    """Takes the cards that ``seat`` has not seen out of the game's own hidden places. By default there are none.

    Writes each card to ``cards_before`` and its slot to ``slots``, from index ``count`` on; returns the new count.
    """
    return count


@rule
def place_hidden(state: State, slot: int, card: int) -> None:
    """Puts a card into a slot that ``remove_hidden`` has emptied."""


@rule
def notes_of(state: State, seat: int, card: int) -> int:
    """Which fields that ``complete_world`` adapts name this card, as bits (up to 32); by default none do."""
    return 0


@rule
def complete_world(
    state: State, seat: int, cards_before: Numbers, cards_after: Numbers, count: int, streams: Streams, i: int
) -> None:
    """Adapts the game's other fields to the new world, in which ``cards_after[k]`` lies where ``cards_before[k]`` lay.

    Random numbers are drawn from ``streams[i]``.
    """


@rule
def is_consistent(state: State, seat: int) -> bool:
    """Whether the new world fits what ``seat`` has seen. (Voids are taken care of elsewhere.)"""
    return True


REQUIRED = ("begin", "legal", "play", "score_deal", "features", "evaluate_card")
OPTIONAL = (
    "next_dealer", "match_over", "standing", "hidden_state", "remove_hidden", "place_hidden", "notes_of",
    "complete_world", "is_consistent",
)  # fmt: skip


def hooks_of(game: str, modules: Sequence[ModuleType]) -> dict[str, Callable[..., Any]]:
    """The hooks that a game's modules define, and the defaults, by name.

    Raises:
        TypeError: if the game lacks a hook that every game has to define, or two of its modules define the same one.
    """
    found = {}
    for hook in (*REQUIRED, *OPTIONAL):
        defined = [getattr(module, hook) for module in modules if _defines(module, hook)]
        if len(defined) > 1:
            raise InputTypeError(f"{game}: {hook}() is defined in more than one of its modules")
        if not defined and hook in REQUIRED:
            raise InputTypeError(
                f"{game}: no module of it defines {hook}() (trick_envs/engine/hooks.py says what it does)"
            )
        found[hook] = defined[0] if defined else globals()[hook]
    return found


def _defines(module: ModuleType, hook: str) -> bool:
    function = getattr(module, hook, None)
    return function is not None and getattr(function, "__module__", None) == module.__name__
