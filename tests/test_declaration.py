"""A ``GameType`` that does not fit what compiled code relies on is an error."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trick_envs.engine import batch
from trick_envs.engine.cards import WORD, Deck
from trick_envs.engine.game import Game, GameType, observation_layout, state_layout
from trick_envs.engine.observation import Block
from trick_envs.engine.registry import game_type
from trick_envs.engine.state import LEAD, MAX_PLAYERS, OVER, State, number, numbers, option, place, place_per_seat
from trick_envs.errors import InputError
from trick_envs.interfaces.describe import describe_facts

PEPPER, WHIST = game_type("pepper"), game_type("double_deck_whist")


def changed(**changes: Any) -> GameType:
    return dataclasses.replace(PEPPER, **changes)


def with_field(name: str, declared: Any) -> type[State]:
    return type("Positions", (PEPPER.state,), {name: declared})


def blocks(*added: Any) -> Callable[[int], Any]:
    return lambda num_players: added


def deck_of(suits: str, ranks: int, copies: int = 1) -> Callable[[int], Deck]:
    return lambda num_players: Deck(suits, tuple(str(rank) for rank in range(ranks)), copies)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "deck that is none": ({"deck": 52}, r"deck: expected a function of the number of players, not 52"),
    "hand that is a number": ({"hand_size": 13}, r"hand_size: expected a function of the number of players, not 13"),
    "deals that are a number": ({"deals": 3}, r"deals: expected a function of the number of players, not 3"),
    "blocks that are a list": ({"blocks": []}, r"blocks: expected a function of the number of players, not \[\]"),
    "hidden that is nothing": ({"hidden_blocks": None}, r"hidden_blocks: expected a function .*, not None"),
    "blocks of a number": ({"blocks": lambda n: n}, r"blocks\(3\): expected a sequence of blocks, not 3"),
    "no hidden": ({"hidden_blocks": lambda n: None}, r"hidden_blocks\(3\): expected a sequence of blocks, not None"),
    "rules that are nothing": ({"legality_rules": None}, r"legality_rules: expected a dict from phases to texts"),
    "places that are nothing": ({"hand_places": None}, r"hand_places: expected a sequence of names of places"),
    "teams in words": ({"teams": "yes"}, r"teams: expected True or False, not 'yes'"),
    "17 players": ({"players": range(3, 18)}, r"players: expected numbers of players of 2 to 16, each once, not range"),
    "one player": ({"players": (1, 4)}, "players: expected numbers of players of 2 to 16"),
    "no players": ({"players": ()}, "players: expected numbers of players of 2 to 16"),
    "players twice": ({"players": (4, 5, 4)}, "players: .*each once"),
    "players as one number": ({"players": 4}, "players: expected numbers of players"),
    "another default": ({"default_players": 10}, r"default_players: expected one of its numbers of players, \[3, 4, "),
    "teams of five": ({"teams": True}, r"players: expected \(4,\), because teams=True"),
    "a hand too large": (
        {"hand_size": lambda n: 13},
        r"hand_size\(3\): expected 1 to 12: the deck has 36 cards for 3 ",
    ),
    "an empty hand": ({"hand_size": lambda n: 0}, r"hand_size\(3\): expected 1 to 12"),
    "half a card": ({"hand_size": lambda n: 11.5}, r"hand_size\(3\): expected 1 to 12"),
    "no deals": ({"deals": lambda n: 0}, r"deals\(3\): expected a whole number of 1 to 10,000, not 0"),
    "no deck": ({"deck": lambda n: None}, r"deck\(3\): expected a Deck, not None"),
    "a suit of 62 ranks": (
        {"deck": deck_of("C", 62)},
        r"deck\(3\): expected a suit and a rank .*, together 62 at most",
    ),
    "a suit twice": ({"deck": deck_of("CC", 20)}, r"deck\(3\): expected .* every kind of card its own name"),
    "small letters": ({"deck": deck_of("cd", 20)}, r"deck\(3\): expected suits and ranks in upper case"),
    "an unknown phase": ({"phases": (LEAD, 7)}, "phases: expected one or more of LEAD, FOLLOW, PASS, KEEP, PICK"),
    "the end as a phase": ({"phases": (LEAD, OVER)}, r"phases: expected .*\(0 to 4\), each once, not \(0, 5\)"),
    "a phase twice": ({"phases": (LEAD, LEAD)}, "phases: expected .*each once"),
    "no phase": ({"phases": ()}, "phases: expected one or more"),
    "a rule of no phase": ({"legality_rules": {OVER: "it is over"}}, r"legality_rules: expected phases .*\[0, 1\]"),
    "a version below 0": ({"version": -1}, "version: expected a whole number of 0 or more, not -1"),
    "no modules": ({"modules": ()}, "modules: expected one module or more, the rules first"),
    "no rules file": ({"modules": (types.ModuleType("made_up"),)}, "modules: expected modules in files"),
    "no name": ({"name": "Hot Pepper"}, "the game 'Hot Pepper': name: expected a lower-case word"),
    "no title": ({"title": " "}, "title: expected the full name"),
    "a view's name": ({"view": "pepper.view"}, "view: expected a module, or None, not 'pepper.view'"),
    "no state": ({"state": dict}, "state: expected a subclass of State"),
    "hands from the table": (
        {"hand_places": ("table",)},
        r"hand_places: .* of \['hand', 'pile', 'front'\], not 'table'",
    ),
    "a field again": ({"state": with_field("hand", place("mine"))}, "field 'hand' of Positions: expected another name"),
    "a field of NumPy's": ({"state": with_field("copy", number(np.int8, "copies"))}, "field 'copy' .*NumPy's records"),
    "a field of floats": ({"state": with_field("odds", number(np.float32, "odds"))}, "field 'odds' .*whole numbers"),
    "a field without type": ({"state": with_field("odds", number("odd", "odds"))}, "field 'odds' .*whole numbers"),
    "an unknown axis": ({"state": with_field("by_day", numbers(np.int8, ("days",), "d"))}, "field 'by_day' .*PLAYERS"),
    "an empty axis": ({"state": with_field("none", numbers(np.int8, ((4, 0),), "d"))}, "field 'none' .*1 or more"),
    "an unknown duration": (
        {"state": with_field("long", number(np.int8, "d", lasts="year"))},  # type: ignore[arg-type]
        "field 'long' of Positions: expected lasts='setup', 'match' or 'deal', not 'year'",
    ),
    "an option that is taken": (
        {"state": with_field("reward", option(True, "pay"))},
        "'reward' .*another name for the",
    ),
    "an option of numbers": ({"state": with_field("level", option(3, "how hard"))}, r"'level' .*option\(True or False"),  # type: ignore[arg-type]
    "a place of 3 words": (
        {"state": with_field("nook", dataclasses.replace(place_per_seat("a nook"), shape=(3,)))},
        "field 'nook' of Positions: expected a place to be declared with place or place_per_seat",
    ),
    "a value above int8": (
        {"blocks": blocks(Block("sum", 1, "…", 128))},
        r"block 'sum' for 3 .* -128 to 127, .*\(0, 128\)",
    ),
    "low above high": ({"blocks": blocks(Block("sum", 1, "…", 1, 2))}, "block 'sum' .*low not above high"),
    "an empty block": ({"blocks": blocks(Block("none", 0, "…"))}, "block 'none' .*expected a length"),
    "suits that do not come out": (
        {"blocks": blocks(Block("by_suit", 5, "…", unit="suit"))},
        "block 'by_suit' for 3 players: expected a length that is a multiple of 4, because its unit is 'suit', not 5",
    ),
    "a block's name again": ({"blocks": blocks(Block("hand", 1, "…"))}, "block 'hand' .*no other block"),
    "no unit": ({"blocks": blocks(Block("odd", 1, "…", unit="odd"))}, "block 'odd' .*a unit of"),  # type: ignore[arg-type]
    "no block": ({"blocks": blocks("hand")}, r"blocks\(3\): expected blocks, not 'hand'"),
    "a hidden block": ({"hidden_blocks": blocks(Block("sum", 1, "…", 500))}, "block 'sum' for 3 players"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_declaration_that_compiled_code_cannot_rely_on_is_an_error(case: str) -> None:
    changes, message = WRONG[case]
    with pytest.raises(InputError, match=message) as error:
        changed(**changes)
    assert str(error.value).startswith(f"the game {changes.get('name', 'pepper')!r}: ")


def test_the_largest_declarations_are_allowed() -> None:
    large = changed(
        players=(2, MAX_PLAYERS), default_players=16, deck=deck_of("CDHS", 27), hand_size=lambda n: 6, blocks=blocks()
    )
    assert large.dtype_at(MAX_PLAYERS, large.deck(MAX_PLAYERS), 6)["hand"].shape == (MAX_PLAYERS, 2)
    twice = changed(
        players=(4,), default_players=4, deck=deck_of("C", WORD, 2), hand_size=lambda n: 27, blocks=blocks()
    )
    assert twice.deck(4).size == 108


def test_two_agents_are_listed_one_after_the_other() -> None:
    two = changed(players=(2, 3), default_players=2, deck=deck_of("CDHS", 13), hand_size=lambda n: 6, blocks=blocks())
    for players, listed in ((2, "`player_0`, `player_1`, clockwise"), (3, "`player_0` … `player_2`, clockwise")):
        assert f"| Agents | {listed} |" in describe_facts(Game(two, players, None, {"lead_peppers": False}))


def test_features_that_write_more_than_their_blocks_say_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    short = changed(name="short_pepper", blocks=lambda n: PEPPER.blocks(n)[:-1])
    table = Game(short, 5, None, {"lead_peppers": False})
    monkeypatch.setattr(batch, "load_game_for", lambda *_: table)
    games = batch.BatchEnv("short_pepper", 3)
    size = table.layout.size
    with pytest.raises(
        InputError, match=rf"'short_pepper': features\(\): expected .* number {size} .*, not at {size + 5}"
    ):
        games.reset(0)


def test_what_a_declaration_never_had_is_no_attribute() -> None:
    assert not hasattr(PEPPER, "dislikes")
    with pytest.raises(TypeError, match="dislikes"):
        changed(dislikes=1)


def test_layouts_of_the_games_are_those_that_were_checked() -> None:
    assert observation_layout(PEPPER, 5).size == 556
    assert state_layout(PEPPER, 5).size == 856
