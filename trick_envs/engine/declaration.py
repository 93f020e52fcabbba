"""What compiled code relies on in the declaration of a game: checked once, when the declaration is made.

Kernels check no bounds. A number of players, a hand or a field that does not fit would be written over other memory,
so it is an error here, with the name of the game, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from trick_envs.discovery import is_name
from trick_envs.engine.arguments import is_whole
from trick_envs.engine.cards import Deck
from trick_envs.engine.observation import Block, Layout
from trick_envs.engine.state import (
    CARDS,
    MAX_PLAYERS,
    OVER,
    PHASES,
    PLAYERS,
    SUITS,
    TRICK,
    Field,
    State,
    fields,
)
from trick_envs.errors import InputError, shown

if TYPE_CHECKING:
    from trick_envs.engine.game import GameType

MAX_DEALS = 10_000
MAX_SUITS_AND_RANKS = 62  # a card of an observation is one bit for its suit and one for its rank, in one signed word
# What an option of a game cannot be called: every argument of an environment. A test reads them off the constructors.
TAKEN = frozenset(
    {
        *("self", "name", "game", "seed", "options", "observations", "num_players", "num_deals"),
        *("num_envs", "num_threads", "autoreset_mode", "bad_answers", "retries", "loss"),
        *("reward", "render_mode", "render_view", "observation"),
        *("seat", "opponents", "illegal", "mask_key", "observation_key", "end_mask"),
    }
)


def check_declaration(game: GameType, layouts: Callable[[int], Sequence[Layout]]) -> None:
    """Checks everything in a declaration that can be checked without playing.

    Args:
        game: the declaration.
        layouts: the vectors that its kernels write, for a number of players.

    Raises:
        InputError: names the game, the attribute, what it is and what was expected.
    """
    _check_names(game)
    _check_types(game)
    _check_players(game)
    _check_phases(game)
    _check_fields(game)
    for num_players in game.players:
        _check_table(game, num_players)
        for layout in layouts(num_players):
            _check_layout(game, num_players, layout)


def wrong(game: GameType, attribute: str, found: Any, expected: str) -> InputError:
    """The error for an attribute of a declaration."""
    return InputError(f"the game {game.name!r}: {attribute}: expected {expected}, not {shown(found)}")


def _check_names(game: GameType) -> None:
    if not is_name(game.name):
        raise wrong(game, "name", game.name, "a lower-case word such as 'pepper' or 'zaraba22'")
    if not isinstance(game.title, str) or not game.title.strip():
        raise wrong(game, "title", game.title, "the full name, for display")
    if not is_whole(game.version, 0, 2**31 - 1):
        raise wrong(game, "version", game.version, "a whole number of 0 or more")
    modules = game.modules
    if not isinstance(modules, Sequence) or not modules or not all(isinstance(each, ModuleType) for each in modules):
        raise wrong(game, "modules", modules, "one module or more, the rules first")
    if getattr(modules[0], "__file__", None) is None:
        raise wrong(game, "modules", modules, "modules in files: the compile cache is kept by their folder")
    if not isinstance(game.state, type) or not issubclass(game.state, State):
        raise wrong(game, "state", game.state, "a subclass of State")


def _check_types(game: GameType) -> None:
    for name in ("deck", "hand_size", "deals", "blocks", "hidden_blocks"):
        if not callable(found := getattr(game, name)):
            raise wrong(game, name, found, "a function of the number of players")
    if not isinstance(game.legality_rules, Mapping):
        raise wrong(game, "legality_rules", game.legality_rules, "a dict from phases to texts")
    if not isinstance(game.hand_places, Sequence):
        raise wrong(game, "hand_places", game.hand_places, "a sequence of names of places")
    if game.view is not None and not isinstance(game.view, ModuleType):
        raise wrong(game, "view", game.view, "a module, or None")
    for name in ("teams", "hands_seen", "suit_symmetric"):
        if not isinstance(found := getattr(game, name), bool):
            raise wrong(game, name, found, "True or False")


def _check_players(game: GameType) -> None:
    players, whole = game.players, f"numbers of players of 2 to {MAX_PLAYERS}, each once"
    fits = isinstance(players, Sequence) and all(is_whole(each, 2, MAX_PLAYERS) for each in players)
    if not fits or not players or len(set(players)) < len(players):
        raise wrong(game, "players", players, whole)
    if not is_whole(game.default_players, 2, MAX_PLAYERS) or game.default_players not in players:
        raise wrong(game, "default_players", game.default_players, f"one of its numbers of players, {list(players)}")
    if game.teams and tuple(players) != (4,):
        raise wrong(game, "players", players, "(4,), because teams=True: seats 0 and 2 play against seats 1 and 3")


def _check_phases(game: GameType) -> None:
    phases = game.phases
    known = ", ".join(name.upper() for name in PHASES[:OVER])
    fits = isinstance(phases, Sequence) and all(is_whole(each, 0, OVER - 1) for each in phases)
    if not fits or not phases or len(set(phases)) < len(phases):
        raise wrong(game, "phases", phases, f"one or more of {known} (0 to {OVER - 1}), each once")
    for phase in game.legality_rules:
        if phase not in phases:
            raise wrong(game, "legality_rules", phase, f"phases of the game, {list(phases)}, as keys")


def _check_fields(game: GameType) -> None:
    for name, each in fields(game.state).items():
        where = f"field {name!r} of {game.state.__name__}"
        if name not in vars(State):
            _check_field(game, name, where, each)
        elif fields(State)[name] is not each:
            raise wrong(game, where, name, "another name: every game has a field of this one")
    places = {name: each for name, each in fields(game.state).items() if each.cards}
    hidden = [name for name, each in places.items() if not each.open and name != "hand"]
    if hidden and not any(hasattr(module, "remove_hidden") for module in game.modules):
        expected = "open=True, or the hooks remove_hidden() and place_hidden(): searches would see its cards"
        raise wrong(game, f"place {hidden[0]!r}", False, expected)
    for name in game.hand_places:
        if name not in places or not places[name].per_seat:
            known = [name for name, each in places.items() if each.per_seat]
            raise wrong(game, "hand_places", name, f"places that every seat has, of {known}")


def _check_field(game: GameType, name: str, where: str, each: Field) -> None:
    if hasattr(np.record, name):
        raise wrong(game, where, name, "a name that NumPy's records do not use for themselves")
    if each.lasts not in ("setup", "match", "deal"):
        raise wrong(game, where, each.lasts, "lasts='setup', 'match' or 'deal'")
    try:
        kind = np.dtype(each.dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "iu":
        raise wrong(game, where, each.dtype, "a type of whole numbers, such as np.int8")
    for axis in each.shape:
        for factor in axis if isinstance(axis, tuple) else (axis,):
            if factor not in (PLAYERS, SUITS, CARDS, TRICK) and not is_whole(factor, 1, 2**15):
                raise wrong(
                    game, where, each.shape, "axes that are PLAYERS, SUITS, CARDS, TRICK or lengths of 1 or more"
                )
    if each.cards and (kind != np.int64 or each.shape not in ((2,), (PLAYERS, 2))):
        raise wrong(game, where, each.shape, "a place to be declared with place or place_per_seat")
    if each.default is not None:
        if not isinstance(each.default, bool) or each.lasts != "setup" or each.shape:
            raise wrong(game, where, each.default, "an option to be declared with option(True or False, …)")
        if name in TAKEN:
            raise wrong(game, where, name, "another name for the option: the environments have such an argument")


def _check_table(game: GameType, n: int) -> None:
    at, deck = f"for {n} players", game.deck(n)
    if not isinstance(deck, Deck):
        raise wrong(game, f"deck({n})", deck, "a Deck")
    for name in ("blocks", "hidden_blocks"):
        if not isinstance(found := getattr(game, name)(n), Sequence):
            raise wrong(game, f"{name}({n})", found, "a sequence of blocks")
    suits, ranks = len(deck.suits), len(deck.ranks)
    if not suits or not ranks or suits + ranks > MAX_SUITS_AND_RANKS:
        raise wrong(game, f"deck({n})", deck, f"a suit and a rank at least, together {MAX_SUITS_AND_RANKS} at most")
    if len(set(deck.names)) < deck.kinds or any(name != name.upper() for name in deck.names):
        raise wrong(game, f"deck({n})", deck, "suits and ranks in upper case that give every kind of card its own name")
    most = deck.size // n
    if not is_whole(game.hand_size(n), 1, most):
        raise wrong(game, f"hand_size({n})", game.hand_size(n), f"1 to {most}: the deck has {deck.size} cards {at}")
    if not is_whole(game.deals(n), 1, MAX_DEALS):
        raise wrong(game, f"deals({n})", game.deals(n), f"a whole number of 1 to {MAX_DEALS:,}")


def _check_layout(game: GameType, n: int, layout: Layout) -> None:
    deck = game.deck(n)
    suits, ranks = len(deck.suits), len(deck.ranks)
    runs = {"number": 1, "card number": 1, "suit": suits, "card": deck.kinds, "suit and rank": suits + ranks}
    names = [block.name for block in layout if isinstance(block, Block)]
    for block in layout:
        if not isinstance(block, Block):
            raise wrong(game, f"blocks({n})", block, "blocks")
        where = f"block {block.name!r} for {n} players"
        if names.count(block.name) > 1:
            raise wrong(game, where, block.name, "a name that no other block of the vector has")
        if block.unit not in runs:
            raise wrong(game, where, block.unit, f"a unit of {list(runs)}")
        if not is_whole(block.length, 1, 2**20) or block.length % runs[block.unit]:
            expected = f"a length that is a multiple of {runs[block.unit]}, because its unit is {block.unit!r}"
            raise wrong(game, where, block.length, expected)
        if not is_whole(block.low, -128, 127) or not is_whole(block.high, block.low, 127):
            raise wrong(game, where, (block.low, block.high), "low and high of -128 to 127, low not above high")
