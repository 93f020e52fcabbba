"""Records: played again, told, and refused where they break a rule."""

from __future__ import annotations

import copy
import json
import operator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_table

from trick_envs import game_names
from trick_envs.agents import GreedyAgent
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError, InputTypeError
from trick_envs.files import read_json
from trick_envs.matches.loop import play_match
from trick_envs.matches.replay import replay
from trick_envs.matches.transcript import narrate


def greedy_match(name: str, players: int, seed: int = 3, num_deals: int | None = 2) -> dict[str, Any]:
    agent = GreedyAgent(load_game(name, players, num_deals))
    return play_match(name, dict.fromkeys(range(players), agent), seed, players, num_deals)


@every_table
def test_a_record_plays_again_to_the_same_record(name: str, players: int) -> None:
    record = json.loads(json.dumps(greedy_match(name, players)))
    assert replay(record).record() == record
    text = narrate(record)
    assert text.count("taken by") == sum(1 for line in text.splitlines() if line.startswith("  trick"))
    assert "won by" in text


def test_a_running_match_can_be_told() -> None:
    record = greedy_match("pepper", 4)
    record["deals"] = record["deals"][:1]
    record["deals"][0]["actions"] = record["deals"][0]["actions"][:6]
    record["deals"][0]["score"] = record["winners"] = None
    record["score"] = [0] * 4
    text = narrate(record)
    assert "running   player_" in text
    assert "not finished" in text


def broken(change: str) -> dict[str, Any]:
    record = copy.deepcopy(greedy_match("pepper", 4))
    deal = record["deals"][0]
    first = deal["actions"][0]
    if change == "card of another hand":
        other = next(hand for seat, hand in enumerate(deal["hands"]) if seat != first[0])
        first[1] = next(card for card in other if not card.startswith("1") or card.startswith(("10", "11", "12")))
    elif change == "out of turn":
        first[0] = (first[0] + 1) % 4
    elif change == "unknown card":
        first[1] = "99Z"
    elif change == "score":
        deal["score"][0] -= 1
    elif change == "a card too many":
        deal["actions"].append([0, "2R"])
    elif change == "no pair":
        deal["actions"][0] = "2R"
    elif change == "version":
        record["version"] = 99
    elif change == "game":
        record["game"] = "poker"
    elif change == "no deals":
        del record["deals"]
    elif change == "score of the match":
        record["score"][3] = 99
    elif change == "winners":
        record["winners"] = [0, 1, 2, 3]
    elif change.startswith("without "):
        del record[change.split()[1]]
    elif change.startswith("deal without "):
        del deal[change.split()[2]]
    elif change == "dealer unknown":
        deal["dealer"] = None
    elif change == "a deal too few":
        record["deals"].pop()
    elif change == "actions":
        deal["actions"] = 7
    elif change == "hand":
        deal["hands"][1].reverse()
    return record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("card of another hand", "deal 1, play 1: player_. does not have"),
        ("out of turn", "deal 1, play 1: it is player_.'s turn to lead, not player_.'s"),
        ("unknown card", "deal 1, play 1: '99Z' is no card of this deck"),
        ("score", "deal 1: the record says the score is"),
        ("a card too many", "deal 1, play .*: the deal was over before it"),
        ("no pair", "deal 1, play 1: expected .seat, card., not '2R'"),
        ("version", "version 99; the rules here are 0"),
        ("game", "there is no game 'poker'"),
        ("no deals", "a match record has 'deals', a list"),
        ("score of the match", r"the record\['score'\]\[3\] says 99, but the cards say -?\d+"),
        ("winners", r"the record\['winners'\] says \[0, 1, 2, 3\], but the cards say \[\d"),
        ("without score", "the record has no 'score'"),
        ("without winners", "the record has no 'winners'"),
        ("without seed", "the record has no 'seed'"),
        ("deal without dealer", "deal 1: the deal of a record has 'dealer', and this one has not"),
        ("deal without score", "deal 1: the deal of a record has 'score', and this one has not"),
        ("deal without actions", "deal 1: the deal of a record has 'actions', and this one has not"),
        ("deal without stock", r"the record\['deals'\]\[0\] has no 'stock'"),
        ("dealer unknown", r"the record\['deals'\]\[0\]\['dealer'\] says None, but the cards say \d"),
        ("a deal too few", r"the record\['deals'\] says a list of 1, but the cards say a list of 2"),
        ("actions", r"deal 1: expected 'actions', a list of \[seat, card\], not 7"),
        ("hand", r"the record\['deals'\]\[0\]\['hands'\]\[1\]\[0\] says"),
    ],
)
def test_a_record_that_breaks_a_rule_is_refused_and_says_where(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(broken(change))


ODD = [None, True, -1, 2**70, 10**4000, float("nan"), "x" * 5000, "\u202e\ud800", [], {}, np.zeros(3, np.int64)]
DEEP = [
    ("deals", 0, "actions", 3),
    ("deals", 0, "actions", 3, 0),
    ("deals", 0, "actions", 3, 1),
    ("deals", 0, "hands", 1),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd)[:20])
def test_whatever_stands_in_a_record_is_told_in_a_line_that_can_be_printed(odd: Any) -> None:
    """``True`` was taken for 1, and thousands of letters or half a letter were in the message as they were."""
    whole = greedy_match("donguri", 3, num_deals=1)
    paths = [(key,) for key in whole] + [("deals", 0, key) for key in whole["deals"][0]] + DEEP
    for path in paths:
        record = json.loads(json.dumps(whole))
        place = reduce(operator.getitem, path[:-1], record)
        before, place[path[-1]] = place[path[-1]], odd
        try:
            replay(record)
        except InputError as error:
            assert str(error).isprintable()  # noqa: PT017
            assert len(str(error)) < 600  # noqa: PT017
        else:
            assert (before, type(before)) == (odd, type(odd)) or path in [("num_deals",), ("seed",)]


@pytest.mark.parametrize("kind", [float, np.float32, bool])
@pytest.mark.parametrize(
    "path",
    [("score", 0), ("winners", 0), ("deals", 0, "score", 1), ("deals", 0, "dealer"), ("deals", 0, "actions", 0, 0)],
    ids=str,
)
def test_what_equals_a_whole_number_of_a_record_and_is_none_is_refused(path: tuple[Any, ...], kind: Any) -> None:
    """Points as floats were told as a bug, and true was a seat."""
    for seed in range(20):
        record = greedy_match("pepper", 4, seed, 1)
        place = reduce(operator.getitem, path[:-1], record)
        place[path[-1]] = kind(before := place[path[-1]])
        if place[path[-1]] == before:
            for told in (narrate, replay):
                with pytest.raises(InputError, match=r"says|expected"):
                    told(record)
            return
    pytest.fail("no such number is 0 or 1")


@pytest.mark.parametrize("change", ["score of the match", "winners", "deal without dealer", "deal without score"])
def test_what_is_no_record_of_its_cards_is_not_narrated(change: str) -> None:
    with pytest.raises(ValueError, match=r"record"):
        narrate(broken(change))


def test_further_keys_of_a_record_stay_in_it() -> None:
    record = greedy_match("pepper", 4)
    record["players"] = ["greedy"] * 4
    record["deals"][1]["remark"] = {"of": ["somebody"]}
    match = replay(record)
    assert match.record() == record
    match.record()["deals"][1]["remark"]["of"].append("else")
    assert match.record() == record


def test_a_revoke_names_the_rule() -> None:
    record = greedy_match("pepper", 4)
    deal = record["deals"][0]
    (_, led), (seat, followed) = deal["actions"][:2]
    hand = [card for card in deal["hands"][seat] if not (card[0] == "1" and len(card) == 2)]
    other = next(card for card in hand if card[-1] != led[-1])
    if followed[-1] == led[-1]:
        deal["actions"][1] = [seat, other]
        with pytest.raises(ValueError, match=rf"player_{seat} may not play {other}: whoever has the led colour.*{led}"):
            replay(record)
    else:
        pytest.fail("choose a seed where the second player follows")


def test_the_commands_write_and_tell_a_match(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    from trick_envs.cli import app

    file = tmp_path / "match.json"
    arguments = ["simulate", "--game", "zaraba22", "--seed", "4", "--players", "greedy,random,random"]
    written = testing.CliRunner().invoke(app, [*arguments, "--file", str(file)])
    assert written.exit_code == 0, written.output
    record = json.loads(file.read_text())
    assert len(record["deals"]) == 1
    assert record["players"] == ["greedy", "random", "random"]
    assert replay(record).record() == record
    told = testing.CliRunner().invoke(app, ["replay", str(file)])
    assert "Zaraba 22, 3 players, seed 4" in told.output
    for name in game_names():
        described = testing.CliRunner().invoke(app, ["games", name])
        assert load_game(name).layout.table() in described.output


def test_a_page_of_a_match_is_written_in_a_language(tmp_path: Path) -> None:
    testing = pytest.importorskip("typer.testing")
    pytest.importorskip("starlette")
    from trick_envs.cli import app

    record, page = tmp_path / "match.json", tmp_path / "match.html"
    record.write_text(json.dumps(greedy_match("zaraba22", 3, num_deals=1)))
    for language, word in (("ja", "振り返り"), ("en", "Review")):
        arguments = ["replay", str(record), "--html", str(page), "--language", language]
        told = testing.CliRunner().invoke(app, arguments)
        assert told.exit_code == 0, told.exception
        assert f'<html lang="{language}">' in page.read_text(encoding="utf-8")
        assert word in page.read_text(encoding="utf-8")
    told = testing.CliRunner().invoke(app, ["replay", str(record), "--language", "xx"])
    assert "expected en or ja, not 'xx'" in str(told.exception)


def test_a_record_that_begins_with_a_byte_order_mark_is_read_by_all_commands(tmp_path: Path) -> None:
    """Notepad and PowerShell write one."""
    testing = pytest.importorskip("typer.testing")
    from trick_envs.cli import app
    from trick_envs.play.session import Session

    record, file = {**greedy_match("pepper", 3, 1), "players": ["person", "greedy", "greedy"]}, tmp_path / "match.json"
    file.write_text(json.dumps(record), encoding="utf-8-sig")
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")
    for command in (["replay"], ["review", "--worlds", "8"]):
        told = testing.CliRunner().invoke(app, [*command, str(file)])
        assert told.exit_code == 0, told.exception
    assert Session.load(file).match.record()["deals"] == record["deals"]


def test_what_is_not_json_is_told_with_its_file(tmp_path: Path) -> None:
    for text in (b"{", b"\xff\xfe{\x00}\x00", b"[" * 100_000):
        (tmp_path / "match.json").write_bytes(text)
        with pytest.raises(InputError, match=r"match\.json: not readable as JSON: "):
            read_json(tmp_path / "match.json")


@pytest.mark.parametrize("content", [[], "record", None])
def test_what_is_no_record_at_all_is_told(content):
    with pytest.raises(ValueError, match="a record: expected a dict such as record"):
        narrate(content)


def test_what_a_record_has_to_have_is_named() -> None:
    record = greedy_match("donguri", 3)
    for change, message in (
        ({"options": [1]}, r"a match record has 'options', a dict; found \[1\]"),
        ({"deals": [*record["deals"], record["deals"][0]]}, "deal 3: the match was over before it"),
        ({"deals": [{**record["deals"][0], "dealer": 7}]}, "expected a seat of 0 to 2"),
        ({"options": {"num_players": 4}}, "donguri has no option 'num_players'"),
        ({"options": {1: 2}}, "donguri has no option 1"),
        ({"score": [np.array([1, 2])]}, r"the record\['score'\] says \[array"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            replay({**record, **change})


@pytest.mark.parametrize("hands", [[1, 2, 3], [None] * 3, "abc", [{}, [], []], [[], [], "2G"]], ids=repr)
@pytest.mark.parametrize("stock", [True, 3, {"2G": 1}, "2G"], ids=repr)
def test_hands_and_stock_that_are_no_lists_of_cards_are_told(hands: Any, stock: Any) -> None:
    for wrong in ({"hands": hands}, {"stock": stock}):
        record = greedy_match("pepper", 3, num_deals=1)
        record["deals"][0].update(wrong)
        with pytest.raises(InputError, match=r"deals\[0\]: "):
            replay(record)
