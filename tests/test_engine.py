"""The engine: cards as written, bits and random numbers compiled and plain, the compile cache, setting up a game."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from helpers import every_game, every_table, make, play_randomly

import trick_envs
from trick_envs import BatchEnv, make_agent
from trick_envs.engine import cards
from trick_envs.engine import intrinsics as lowlevel
from trick_envs.engine.build import compiler  # noqa: F401  (Numba learns of them by the import)
from trick_envs.engine.build.cache import cache_folder, cache_root
from trick_envs.engine.cards import WORD, Deck
from trick_envs.engine.intrinsics import OF_TABLE, constants_of
from trick_envs.engine.observation import Block, Layout, write_number
from trick_envs.engine.registry import game_names, load_game
from trick_envs.engine.rng import SEED_BITS
from trick_envs.engine.state import Sizes, record_dtype
from trick_envs.errors import IllegalAction
from trick_envs.interfaces.vector import VectorSeatEnv

PACKAGE = Path(trick_envs.__file__).parent
WORDS = [0, 1, 2, 3, (1 << 53) - 1, 1 << 53, 0x2AAAAAAAAAAAAA, 0x15555555555555, *(1 << k for k in range(0, 54, 7))]


def python(code, tmp_path, **environment):
    """Runs code in a fresh interpreter; returns what it prints."""
    env = {**os.environ, **environment}
    env["PYTHONPATH"] = os.pathsep.join([environment.get("PYTHONPATH", ""), str(PACKAGE.parent)])
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


# --- cards as written ---------------------------------------------------------------------------------------------

DECK = Deck("CDHS", ("2", "10", "J", "A"))


def test_cards_are_numbered_by_suit_then_rank():
    assert DECK.names[:5] == ("2C", "10C", "JC", "AC", "2D")
    assert [DECK.parse(name) for name in DECK.names] == list(range(16))
    assert DECK.parse(" 10s ") == 13
    assert DECK.format(13) == "10S"
    assert DECK.format_all([13, 0, 4]) == ["2C", "2D", "10S"]


@pytest.mark.parametrize("text", ["", "10", "S", "11S", "S10", "1 0S", "10SS", None, 10, "QH"])
def test_what_is_no_card_is_an_error_that_says_how_cards_are_written(text):
    with pytest.raises(
        ValueError, match=r"no card of this deck: write a rank \(2 10 J A\) and then a suit \(C D H S\)"
    ):
        DECK.parse(text)


def test_two_packs_share_their_kinds():
    deck = Deck("CD", ["1", "2"], copies=2)  # type: ignore[arg-type]
    assert hash(deck) == hash(Deck("CD", ("1", "2"), copies=2))
    assert (deck.kinds, deck.size) == (4, 8)
    assert deck.cards == (0, 1, 2, 3, WORD, WORD + 1, WORD + 2, WORD + 3)
    assert deck.kind(WORD + 3) == 3
    assert deck.format(WORD + 3) == "2D"
    with pytest.raises(ValueError, match="card 1C is dealt three times"):
        deck.parse_deal([["1C", "1C"], ["1C", "2C"]], ["2C", "1D", "1D", "2D"], 2)
    with pytest.raises(ValueError, match="the stock has 3 cards, expected 4; nowhere dealt: 2D"):
        deck.parse_deal([["1C", "1C"], ["2C", "2C"]], ["1D", "1D", "2D"], 2)


@pytest.mark.parametrize(("suits", "ranks", "copies"), [("CDHSX", 22, 1), ("CDHS", 14, 2), ("C", 3, 3), ("C", 3, 0)])
def test_decks_that_are_too_large_are_errors(suits, ranks, copies):
    with pytest.raises(ValueError, match="a deck holds up to"):
        Deck(suits, tuple(str(rank) for rank in range(ranks)), copies)


def test_sets_of_cards():
    some = (0b1010, 0b1)
    assert cards.size(some) == 3
    assert [cards.nth(some, n) for n in range(3)] == [1, 3, WORD]
    assert cards.first(some) == 1
    assert cards.rest(some) == (0b1000, 0b1)
    assert cards.rest((0, 0b11)) == (0, 0b10)
    assert cards.members(some) == [1, 3, WORD]
    assert cards.has(some, WORD)
    assert not cards.has(some, 0)
    for card in (0, 7, WORD - 1, WORD, 2 * WORD - 1):
        assert cards.members(cards.just(card)) == [card]
        row = np.zeros(2, np.int64)
        cards.put(row, card)
        assert cards.members(row) == [card]
        cards.take(row, card)
        assert not row.any()
    assert cards.union((1, 2), (4, 2)) == (5, 2)
    assert cards.intersection((5, 2), (4, 3)) == (4, 2)
    assert cards.without((5, 3), (4, 1)) == (1, 2)


# --- compiled and plain -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", WORDS)
def test_bits_compiled_as_plain(word):
    for function in (lowlevel.popcount, lowlevel.lowest_bit, lowlevel.highest_bit):
        if word == 0 and function is not lowlevel.popcount:
            continue
        compiled = numba.njit(lambda word, function=function: function(word))
        assert compiled(word) == function(word) == function(np.int64(word))


def test_bits_appended_to_a_word_become_bytes_compiled_as_plain():
    """Blocks of every length, one after the other; what is behind the last whole word stays in the word."""
    compiled = numba.njit(lambda word, filled, bits, length, out, at: lowlevel.append_bits(
        word, filled, bits, length, out, at
    ))  # fmt: skip
    rng = np.random.default_rng(0)
    for append in (compiled, lowlevel.append_bits):
        out, expected = np.full(1000, 7, np.int8), []
        word, filled, at = 0, 0, 3
        for turn, length in enumerate([0, 64, 1, 63, 64, 5, 60, 60, 60, 64, 54, 0, *rng.integers(0, 65, 6).tolist()]):
            flags = rng.integers(0, 2, length)
            bits = sum(int(flag) << k for k, flag in enumerate(flags))
            expected += flags.tolist()
            signed = bits - (1 << 64) if bits >> 63 else bits  # as a word of 64 bits is in compiled code
            if append is not compiled and turn % 2:  # numbers that come from arrays are NumPy's
                filled, signed = np.int64(filled), np.int64(signed)
            word, filled, at = append(word, filled, signed, length, out, at)
            assert 0 <= filled < 64
            whole = len(expected) // 64 * 64
            assert (at, filled) == (3 + whole, len(expected) - whole)
            assert out[3:at].tolist() == expected[:whole]
            assert (out[at:] == 7).all()
            assert int(word) % (1 << filled) == sum(flag << k for k, flag in enumerate(expected[whole:]))


@pytest.mark.parametrize("count", [1, 2, 5, 8, 9, 16])
def test_sizes_of_places_and_flags_compiled_as_plain(count):
    """In a circle from any seat on, also where the buffer ends with the last of them."""
    compiled = numba.njit(lambda places, count, first, out, at: lowlevel.spill_sizes(places, count, first, out, at))
    flagged = numba.njit(lambda numbers, length: lowlevel.flags_of(numbers, length))
    rng = np.random.default_rng(count)
    places = rng.integers(0, 1 << WORD, (count + 8, 2))
    sizes = [int(one).bit_count() + int(two).bit_count() for one, two in places]
    for first in range(count):
        for room in (0, 7, 8, 40):
            expected = [sizes[(first + k) % count] for k in range(count)]
            for write in (compiled, lowlevel.spill_sizes):
                out = np.full(5 + count + room, -1, np.int8)
                write(places, count, first, out, 5)
                assert out[5 : 5 + count].tolist() == expected
                assert (out[:5] == -1).all()
                assert (out[5 + max(count, 8) :] == -1).all()
    numbers = rng.integers(-1, 2, 128).astype(np.int8)
    for length in (0, 1, 25, 63):
        expected_flags = sum(1 << k for k in range(length) if numbers[k] != 0)
        assert flagged(numbers, length) == lowlevel.flags_of(numbers, length) == expected_flags


def test_random_numbers_are_splitmix64():
    """The first numbers of SplitMix64 from seed 1234567, as published with its C code."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    state, found = np.uint64(1234567), []
    for _ in expected:
        state, bits = lowlevel.splitmix(state)
        found.append(int(bits))
    assert found == expected


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1, 1234567])
def test_random_numbers_compiled_as_plain(seed):
    compiled = numba.njit(lambda state: lowlevel.splitmix(state))
    scaled = numba.njit(lambda bits, count: lowlevel.scale_bits(bits, count))
    state = np.uint64(seed)
    for _ in range(50):
        assert compiled(state) == lowlevel.splitmix(state)
        state, bits = lowlevel.splitmix(state)
        for count in (1, 2, 44, 108):
            assert scaled(bits, count) == lowlevel.scale_bits(bits, count)
            assert 0 <= lowlevel.scale_bits(bits, count) < count


def test_writing_bytes_compiled_as_plain():
    write = numba.njit(lambda low, high, split, out, at, length: lowlevel.write_bits(low, high, split, out, at, length))
    sums = numba.njit(lambda one, other, out, at, length: lowlevel.write_bit_sums(one, other, out, at, length))
    copy = numba.njit(lambda source, start, out, at, length: lowlevel.copy_bytes(source, start, out, at, length))
    clear = numba.njit(lambda out, at, length: lowlevel.clear_bytes(out, at, length))
    rng = np.random.default_rng(0)
    for length in (1, 44, 54, 80, 108):
        low, high = (int(word) for word in rng.integers(0, 1 << 54, 2))
        one, other = np.full((2, 120), 7, np.int8)
        for function, out in ((write, one), (lowlevel.write_bits, other)):
            function(low, high, WORD, out, 5, length)
        assert one.tolist() == other.tolist()
        assert one[5 : 5 + min(length, WORD)].tolist() == [(low >> k) & 1 for k in range(min(length, WORD))]
        assert set(one[:5]) | set(one[5 + length :]) == {7}
        if length <= WORD:
            for function, out in ((sums, one), (lowlevel.write_bit_sums, other)):
                function(low, high, out, 3, length)
            assert one.tolist() == other.tolist()
    source = np.arange(50, dtype=np.int8)
    for function, out in ((copy, one), (lowlevel.copy_bytes, other)):
        function(source, 10, out, 20, 30)
    for function, out in ((clear, one), (lowlevel.clear_bytes, other)):
        function(out, 25, 5)
    assert one.tolist() == other.tolist()
    assert one[20:26].tolist() == [10, 11, 12, 13, 14, 0]


@pytest.mark.parametrize("number", [0, 1, -1, 99, 100, -100, -137, 12_700, -12_899, 1_000_000, -1_000_000])
def test_numbers_as_hundreds_and_the_rest(number):
    out = np.zeros(4, np.int8)
    assert write_number(number, out, 1) == 3
    sign = -1 if number < 0 else 1
    hundreds, rest = sign * (abs(number) // 100), sign * (abs(number) % 100)
    assert out.tolist() == [0, max(min(hundreds, 127), -128), rest, 0]


def test_a_layout_prints_itself():
    layout = Layout((Block("hand", 3, "own hand"), Block("score", 2, "the score", 127, -128)))
    assert layout.size == 5
    assert layout.slices()["score"] == slice(3, 5)
    assert "| score | 3 | 2 | -128 … 127 | the score |" in layout.table()


# --- fresh interpreters -------------------------------------------------------------------------------------------

MATCH = """
import json, numpy as np
from trick_envs import {game}_v0
env, rng = {game}_v0.raw_env(num_deals=1), np.random.default_rng(0)
env.reset(seed=3)
for _ in range({steps}):
    if env.phase == "over":
        break
    seen = env.observe(env.agent_selection)
    env.step(int(rng.choice(np.flatnonzero(seen["action_mask"]))))
print(json.dumps([env.record(), seen["observation"].tolist()]))
"""


@every_game
def test_plain_python_plays_the_same_match(name, tmp_path):
    plain = json.loads(python(MATCH.format(game=name, steps=10**6), tmp_path, TRICK_ENVS_COMPILE="never"))
    env, rng = make(name, num_deals=1), np.random.default_rng(0)
    env.reset(seed=3)
    while env.phase != "over":
        seen = env.observe(env.agent_selection)
        play_randomly(env, rng, 1)
    assert plain == [env.record(), seen["observation"].tolist()]
    assert len(env.record()["deals"][0]["actions"]) > 30


def test_an_edit_of_a_rule_is_noticed(tmp_path):
    """Pepper's rules in a copy of the package are changed: a pepper then costs 3 instead of 2."""
    shutil.copytree(PACKAGE, tmp_path / "trick_envs", ignore=shutil.ignore_patterns("__pycache__"))
    rules = tmp_path / "trick_envs" / "games" / "pepper" / "rules.py"
    code = """
import numpy as np
from trick_envs.engine.registry import load_game
import trick_envs
game = load_game("pepper", 3)
states = game.template.copy()
states["peppers"][0, 0], states["phase"] = 1, 0
for seat in range(3):
    states["hand"][0, seat, 0] = 1 << seat
while not game.kernels.play_without_dealing(states, int(states["seat"][0])):
    pass
print(trick_envs.__file__, states["deal_score"].sum())
"""
    where = {"PYTHONPATH": str(tmp_path), "TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": "first"}
    scores = []
    for _ in range(2):
        file, score = python(code, tmp_path, **where).split()
        assert file.startswith(str(tmp_path))
        scores.append(int(score))
    assert scores[0] == scores[1] < 0
    assert list((tmp_path / "cache").glob("pepper-*/*.code"))
    text = rules.read_text(encoding="utf-8")
    assert "score -= 2 +" in text
    rules.write_text(text.replace("score -= 2 +", "score -= 3 +"), encoding="utf-8")
    assert int(python(code, tmp_path, **where).split()[1]) == scores[0] - 1


def test_an_edit_of_the_engine_is_noticed_by_every_game(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "trick_envs", ignore=shutil.ignore_patterns("__pycache__"))
    code = """
from trick_envs import load_game
print(*(load_game(name).kernels.folder for name in ("pepper", "donguri")))
"""
    where = {"PYTHONPATH": str(tmp_path), "TRICK_ENVS_CACHE": str(tmp_path / "cache")}
    before = python(code, tmp_path, **where).split()
    with (tmp_path / "trick_envs" / "engine" / "table.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    after = python(code, tmp_path, **where).split()
    assert not set(before) & set(after)
    for name in ("rules", "heuristic", "features"):
        with (tmp_path / "trick_envs" / "games" / "pepper" / f"{name}.py").open("a", encoding="utf-8") as file:
            file.write("# edited\n")
        last = python(code, tmp_path, **where).split()
        assert last[0] != after[0]
        assert last[1] == after[1]
        after = last


def test_the_cache_is_where_it_is_wanted(monkeypatch, tmp_path):
    monkeypatch.setenv("TRICK_ENVS_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.delenv("TRICK_ENVS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_root() == tmp_path / "trick_envs"
    assert cache_folder(PACKAGE / "games" / "pepper", []) != cache_folder(PACKAGE / "games" / "donguri", [])


def test_importing_the_package_is_light(tmp_path):
    loaded = python("import sys, trick_envs\nprint(*sys.modules)", tmp_path).split()
    heavy = {"torch", "matplotlib", "pygame", "ray", "onnxruntime", "stable_baselines3", "numba", "typer"}
    assert not heavy & set(loaded)
    loaded = python("import sys\nfrom trick_envs import pepper_v0\npepper_v0.env().reset(seed=1)\nprint(*sys.modules)",
                    tmp_path).split()  # fmt: skip
    assert not (heavy - {"numba"}) & set(loaded)


# --- setting up a game --------------------------------------------------------------------------------------------


def test_an_unknown_game_is_an_error_that_names_the_games():
    with pytest.raises(ValueError, match=r"there is no game .bridge.: choose one of .*donguri.*pepper"):
        load_game("bridge")
    with pytest.raises(ValueError, match="there is no game"):
        BatchEnv("bridge", 2)


@every_game
@pytest.mark.parametrize("players", [0, 1, 10, -3, "3", 2.5, True])
def test_a_number_of_players_that_a_game_is_not_for_is_an_error(name, players):
    with pytest.raises(ValueError, match=f"num_players: {name} is for .* players, not"):
        load_game(name, players)


@every_game
@pytest.mark.parametrize("deals", [0, -1, 1.5, "3", True, 10_001])
def test_a_bad_number_of_deals_is_an_error(name, deals):
    with pytest.raises(ValueError, match="num_deals: expected None or a whole number of 1 to 10,000"):
        load_game(name, num_deals=deals)


@every_game
def test_an_unknown_option_is_an_error_that_names_the_options(name):
    with pytest.raises(TypeError, match=f"{name} has no option 'trumps'"):
        load_game(name, trumps=True)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'trumps' \(known: "):
        make(name, trumps=True)
    with pytest.raises(ValueError, match="reward: expected one of 'score', 'zero_sum', 'win', not 'money'"):
        make(name, reward="money")
    with pytest.raises(ValueError, match="render_mode"):
        make(name, render_mode="braille")


def test_an_option_that_is_neither_true_nor_false_is_an_error():
    with pytest.raises(ValueError, match="lead_peppers: expected True or False, not 'yes'"):
        load_game("pepper", lead_peppers="yes")


@every_table
def test_what_a_table_decides_is_in_the_type_of_its_records(name, players):
    game = load_game(name, players)
    constants = constants_of(game.dtype.names)
    assert constants == {field: game.template[field][0] for field in OF_TABLE}
    others = [load_game(name, other).dtype for other in game.type.players if other != players]
    assert game.dtype not in others


def test_compiled_code_has_the_numbers_of_its_table_and_reads_those_of_any_other_from_the_record():
    @numba.njit
    def read(states):
        return states[0].num_suits, states[0].kinds, states[0].tricks

    game = load_game("pepper", 4)
    any_table = record_dtype(game.type.state, Sizes(9, 4, 108))
    for dtype, expected in ((game.dtype, (4, 48, 9)), (any_table, (7, 9, 9))):
        states = np.zeros(1, dtype)
        states["num_suits"], states["kinds"], states["tricks"] = 7, 9, 9
        assert read(states) == expected


def test_equal_games_are_the_same_object():
    assert load_game("pepper") is load_game("pepper", 5, None, lead_peppers=False)
    assert load_game("pepper") is not load_game("pepper", 5, num_deals=5)
    assert set(game_names()) == {path.parent.name for path in (PACKAGE / "games").glob("*/rules.py")}


@pytest.mark.parametrize("num_envs", [0, -1, 1.5, "2", True, 2**70])
def test_a_bad_number_of_environments_is_an_error(num_envs):
    with pytest.raises(ValueError, match="num_envs: expected a whole number of 1 to 2,147,483,647, not"):
        BatchEnv("pepper", num_envs)
    with pytest.raises(ValueError, match="num_envs: expected a whole number of 1 to 2,147,483,647, not"):
        VectorSeatEnv("pepper", num_envs)


def test_a_bad_player_spec_is_an_error_that_says_what_is_allowed():
    with pytest.raises(ValueError, match="'genius' is no player: expected 'random', 'greedy'"):
        make_agent("genius", load_game("pepper"))
    with pytest.raises(ValueError, match="no such policy file"):
        make_agent("nowhere.onnx", load_game("pepper"))
    with pytest.raises(ValueError, match=r"env\.states"):
        make_agent("greedy", load_game("pepper")).act(np.zeros((1, 1)), np.zeros((1, 60)))


def test_seeds_of_later_matches_are_exact_in_json():
    batch = BatchEnv("pepper", 1, num_deals=1)
    batch.reset(seed=2**64 - 1)
    for _ in range(5):
        batch.reset()
        assert int(batch.states["seed"][0]) < 2**SEED_BITS


def test_random_player_names_every_legal_card_equally_often():
    agent, masks = make_agent("random", load_game("pepper"), seed=1), np.zeros((6000, 60), np.int8)
    masks[:, [3, 17, 59]] = 1
    found = np.bincount(agent.act(None, masks), minlength=60)
    assert sorted(np.flatnonzero(found)) == [3, 17, 59]
    assert (abs(found[[3, 17, 59]] - 2000) < 200).all()


@pytest.mark.parametrize("player", ["random", "greedy"])
def test_where_the_rules_leave_no_card_they_are_named_and_not_the_player(player: str) -> None:
    """As in a plug-in whose ``legal`` returns nothing: what a player names there is no fault of it."""
    games = BatchEnv("pepper", 2)
    games.reset(0)
    games.states["hand"] = 0
    games.observe()
    actions = make_agent(player, games.game).act(games.observations, games.action_masks, games.states)
    for named in (actions, [118, 118]):
        with pytest.raises(IllegalAction, match=r"the rules of pepper leave player_\d no card to lead: legal\(\) has"):
            games.step(named)
