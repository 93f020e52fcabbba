"""A plug-in with what no game of the package has works everywhere: see ``smallest_game``."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import deal, installed
from smallest_game import GAME, rules

from trick_envs import make_agent
from trick_envs.engine.game import GAMES_BY_NAME
from trick_envs.engine.history import DEAL, MIDDLE, SEE
from trick_envs.engine.positions import places
from trick_envs.engine.registry import load_game
from trick_envs.errors import IllegalAction, InputError
from trick_envs.interfaces.aec import RawEnv
from trick_envs.interfaces.text import position_text
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.matches.transcript import narrate
from trick_envs.play.characters import PERSON
from trick_envs.play.session import Session


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path, f"[trick_envs.games]\n{GAME.name} = smallest_game:GAME\n"):
        yield
    GAMES_BY_NAME.pop(GAME.name, None)


def dealt(*hands: str, stock: str) -> RawEnv:
    """Dealt by seat 0."""
    env = RawEnv(load_game(GAME.name))
    env.reset(seed=0, options={"deals": [deal(hands, 0, stock)]})
    return env


def test_what_a_seat_was_shown_in_a_hidden_place_is_in_its_history_and_in_no_other() -> None:
    one, other = dealt("1C", "2C", stock="3C 4C"), dealt("1C", "3C", stock="2C 4C")
    assert one.history(0).tolist() == [
        [0, 0, DEAL, -1],
        *([0, MIDDLE, SEE, kind] for kind in (2, 3)),
        [0, 0, SEE, 0],
    ]
    assert one.history(0).tolist() != other.history(0).tolist()
    assert dealt("3C", "2C", stock="1C 4C").history(1).tolist() == one.history(1).tolist()


def test_an_illegal_card_where_no_rule_is_named_is_told() -> None:
    env = dealt("1C", "2C", stock="3C 4C")
    session = Session(replay(env.record()), [PERSON, "greedy"])
    with pytest.raises(IllegalAction, match="player_0 may not pick 1C: the rules do not allow it; legal now: 3C 4C"):
        env.step(0)
    assert session.why_illegal(0) == "you may not pick 1C: the rules do not allow it; legal now: 3C 4C"


def test_a_deal_that_begins_with_a_pick_is_told_in_words() -> None:
    env = dealt("1C", "2C", stock="3C 4C")
    for kind in (2, 1):
        env.step(kind)
    told = [position_text(env.game, env.states, seat, env.history(seat)) for seat in range(2)]
    assert "\nP0 3C/4C\nOn the table: P1 2C\n" in told[0]  # of two cards that only the dealer saw
    assert "\nP0 pick 3C\nOn the table: P1 2C\n" in told[1]
    record = play_match(GAME.name, dict.fromkeys(range(2), make_agent("greedy", env.game)), seed=1)
    assert replay(record).record() == record
    assert "to pick" in narrate(record)


def test_a_person_plays_a_match_that_is_shorter_than_what_is_compiled_with() -> None:
    session = Session(Match(load_game(GAME.name), 0), [PERSON, "greedy"])
    session.prepare()
    while not session.over:
        session.play(session.view().legal[0] if session.asks else session.choose())
    assert session.number == 3


def test_a_hidden_place_that_no_hook_deals_anew_is_refused() -> None:
    """Searches would see the cards in it."""
    game, rng = load_game(GAME.name), np.random.default_rng(0)
    states = dealt("1C", "2C", stock="3C 4C").states
    drawn = {str(places(game, game.resample(states.copy(), 1, rng))["talon"]) for _ in range(50)}
    assert len(drawn) == 3
    without: Any = types.ModuleType("rules")
    vars(without).update({name: each for name, each in vars(rules).items() if name != "remove_hidden"})
    with pytest.raises(InputError, match=r"place 'talon': expected open=True, or the hooks remove_hidden\(\)"):
        dataclasses.replace(GAME, modules=(without,))
