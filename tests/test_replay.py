"""Records: played again, told, and refused where they break a rule."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from trick_envs import game_names
from trick_envs.agents import GreedyAgent
from trick_envs.engine.registry import game_type, load_game
from trick_envs.matches.loop import play_match
from trick_envs.matches.replay import replay
from trick_envs.matches.transcript import narrate

TABLES = [(name, players) for name in game_names() for players in game_type(name).players]


def greedy_match(name: str, players: int, seed: int = 3, num_deals: int | None = 2) -> dict[str, Any]:
    agent = GreedyAgent(load_game(name, players, num_deals))
    return play_match(name, dict.fromkeys(range(players), agent), seed, players, num_deals)


@pytest.mark.parametrize(("name", "players"), TABLES)
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
    ],
)
def test_a_record_that_breaks_a_rule_is_refused_and_says_where(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replay(broken(change))


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
    assert len(json.loads(file.read_text())["deals"]) == 1
    told = testing.CliRunner().invoke(app, ["replay", str(file)])
    assert "Zaraba 22, 3 players, seed 4" in told.output
    for name in game_names():
        described = testing.CliRunner().invoke(app, ["games", name])
        assert load_game(name).layout.table() in described.output


@pytest.mark.parametrize("content", [[], "record", None])
def test_what_is_no_record_at_all_is_told(content):
    with pytest.raises(ValueError, match="a record: expected a dict such as record"):
        narrate(content)
