"""A match as an object: interrupted, copied, pickled, asked for its last trick and for its log."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from helpers import every_game, every_table, legal_of

from trick_envs.engine.deal import Trick
from trick_envs.engine.registry import load_game
from trick_envs.matches.events import match_after, play
from trick_envs.matches.match import Match

MATCHES = str(Path(sys.modules[Match.__module__].__file__ or "").parents[1])  # the package


def randomly(match: Match, rng: np.random.Generator) -> int:
    return int(rng.choice(legal_of(match.game, match.states)))


def all_of(match: Match) -> Any:
    """Everything that one can ask a match for."""
    seen = np.zeros((2, 10_000), np.float32)
    row = np.zeros(1, np.int64)
    match.log().write(row, np.array([match.seat]), seen[:1, : match.log().game.layout.size + played_size(match)])
    return (
        match.states.tobytes(), match.after.tobytes(), match.record(), match.to_bytes(), match.seat, match.over,
        match.trick, match.last_trick, seen.tobytes(), match.log().plays(row, np.array([match.seat])).tolist(),
        [deal.rewards for deal in match.deals],
    )  # fmt: skip


def played_size(match: Match) -> int:
    deck = match.game.deck
    return 2 * match.game.num_players * deck.copies * deck.kinds


def interrupted(call: Callable[[], Any], at: int) -> int:
    """Calls a function, with Ctrl-C before line ``at`` of the package; returns how many lines were begun."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(MATCHES):
            return None
        if event == "line":
            lines += 1
            if lines == at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        assert lines == at
    finally:
        sys.settrace(None)
    return lines


def interrupt_everywhere(name: str, points: int) -> int:
    """Plays a match, and interrupts some plays, those that end a deal among them, at up to so many points."""
    match, rng, tried = Match(load_game(name, num_deals=2), 3), np.random.default_rng(0), 0
    match.log()
    whole, actions, chosen = copy.deepcopy(match), [], []
    while not whole.over:
        deal = len(whole.deals)
        actions.append(randomly(whole, rng))
        whole.play(actions[-1])
        chosen.append(whole.over or len(whole.deals) > deal or rng.random() < 0.08)
    for action, tries in zip(actions, chosen, strict=True):
        if tries:
            before, done = all_of(match), copy.deepcopy(match)
            done.log()
            lines = interrupted(partial(done.play, action), -1)
            after = all_of(done)
            for at in np.unique(np.linspace(1, lines, points).astype(int)).tolist():
                twin = copy.deepcopy(match)
                twin.log()
                interrupted(partial(twin.play, action), at)
                found = all_of(twin)
                assert found in (before, after), f"{name}: interrupted at line {at} of {lines}"
                assert found == before or twin.states.tobytes() == done.states.tobytes()
                if found == before:
                    twin.play(action)
                    assert all_of(twin) == after
                tried += 1
        match.play(action)
    return tried


@every_game
def test_a_play_that_is_interrupted_has_not_happened_or_has_happened_whole(name: str, whole: bool) -> None:
    assert interrupt_everywhere(name, 20 if whole else 7) > 60


def test_neither_has_one_that_is_interrupted_in_the_rules() -> None:
    """In plain Python, Ctrl-C comes between the lines of the rules, too."""
    code = "import test_match; assert test_match.interrupt_everywhere('zaraba22', 25) > 60"
    variables = {**os.environ, "TRICK_ENVS_COMPILE": "never", "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", code], check=True, env=variables)


def test_any_other_error_in_a_play_is_like_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that is missing while the next deal is noted, after the last card of a deal was played."""
    match = Match(load_game("pepper", num_deals=2), 1)
    while len(match.deals) == 1:
        last = copy.deepcopy(match)
        match.play(randomly(match, np.random.default_rng(5)))
    before, action = all_of(last), match.deals[0].actions[-1][1]

    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("trick_envs.matches.match.Deal", fails)
        with pytest.raises(MemoryError):
            last.play(action)
    assert all_of(last) == before
    last.play(action)
    assert all_of(last) == all_of(match)


@every_table
@pytest.mark.parametrize("how", [copy.deepcopy, lambda match: pickle.loads(pickle.dumps(match))])
def test_a_match_can_be_copied_and_pickled_at_any_time(name: str, players: int, how: Callable[[Match], Match]) -> None:
    match, rng = Match(load_game(name, players, 2), 4, reward="win"), np.random.default_rng(1)
    match.names, match.notes = tuple("abcdefghi"[:players]), {"players": ["x"] * players}
    match.deals[0].notes["remark"] = {"of": ["somebody"]}
    while True:
        if match.over or rng.random() < 0.05:
            twin = how(match)
            assert all_of(twin) == all_of(match)
            assert twin.names == match.names
            assert repr(twin) == repr(match)
            assert twin.deals[0].notes is not match.deals[0].notes
        if match.over:
            break
        match.play(randomly(match, rng))
    assert twin.next_seed == how(match).next_seed == match.next_seed
    assert all_of(twin) == all_of(match)  # to ask for it changes nothing


@pytest.mark.parametrize("action", [5.7, "4", np.array([4.0]), True, None, [1, 2], np.array([])])
def test_what_is_no_whole_number_is_no_action(action: Any) -> None:
    match = Match(load_game("pepper"), 0)
    before = all_of(match)
    with pytest.raises(ValueError, match="action: expected one whole number"):
        match.play(action)
    assert all_of(match) == before


def test_actions_are_whole_numbers_of_any_library() -> None:
    game = load_game("pepper")
    legal = legal_of(game, Match(game, 0).states)[0]
    played = []
    for action in (legal, np.int8(legal), np.array([legal])):
        match = Match(game, 0)
        match.play(action)
        played.append(match.to_bytes())
    assert len(set(played)) == 1
    assert Match.from_bytes(played[0], game, "score")[0].record() == match.record()


@every_table
def test_a_match_keeps_its_last_trick_as_it_was_played(name: str, players: int) -> None:
    """Also one that was saved, and one that was played again."""
    game, rng, tricks = load_game(name, players, 2), np.random.default_rng(2), 0
    match, last = Match(game, 9), None
    while not match.over:
        done = play(match, randomly(match, rng))
        if done.trick is not None:
            assert isinstance(done.trick, Trick)
            assert {seat for seat, _ in done.trick.plays} == set(range(players))
            last, tricks = done.trick, tricks + 1
        assert match.last_trick == last
        if tricks in (1, 3, 8) or rng.random() < 0.03:
            again, _ = Match.from_bytes(match.to_bytes(), game, "score")
            assert (again.trick, again.last_trick) == (match.trick, match.last_trick)
            number = sum(len(deal.actions) for deal in match.deals)
            assert match_after(match, number).last_trick == match.last_trick
    assert tricks > players


def test_a_log_is_kept_and_not_made_anew_for_every_decision() -> None:
    game, rng = load_game("tricky_express", num_deals=2), np.random.default_rng(0)
    match = Match(game, 2)
    log = match.log()
    while not match.over:
        match.play(randomly(match, rng))
        assert match.log() is log
    assert all_of(match) == all_of(copy.deepcopy(match))  # whose log is read from its deals
