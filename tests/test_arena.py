"""The arena: margins, intervals, stopping early, resuming after an interruption, processes."""

from __future__ import annotations

import copy
import csv
import dataclasses
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("matplotlib")
import numpy as np
import numpy.typing as npt
from helpers import every_game, largest_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import trick_envs
from trick_envs import cli, make_agent
from trick_envs.agents.spec import PolicyFiles
from trick_envs.cli import app
from trick_envs.engine.build.digest import sources_digest
from trick_envs.engine.registry import load_game
from trick_envs.errors import FolderInUseError, InputError
from trick_envs.evaluation import duplicate as evaluation
from trick_envs.evaluation.arena import (
    CHUNK,
    LOG,
    MIN_DEALS,
    Chunk,
    Pair,
    Plan,
    Player,
    Standings,
    Task,
    code_digest,
    log,
    make_plan,
    pair,
    play_arena,
)
from trick_envs.evaluation.arena import play as loop
from trick_envs.evaluation.duplicate import evaluate, short_name
from trick_envs.evaluation.intervals import half_width_95, half_width_at_any_time_95
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import LARGEST, digest_of, locked

GAME = load_game("donguri", 3, 1)


def play(folder: Path, *specs: str, workers: int = 1, **options: Any) -> Standings:
    return play_arena(make_plan(GAME, specs, **options), folder, workers)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def count_chunks(monkeypatch: pytest.MonkeyPatch, stop_after: int = 10**9) -> list[Task]:
    """The chunks that are played from now on; Ctrl-C after some."""
    played: list[Task] = []
    original = loop.play_chunk

    def counted(task: Task, files: PolicyFiles) -> Chunk:
        if len(played) == stop_after:
            raise KeyboardInterrupt
        played.append(task)
        return original(task, files)

    monkeypatch.setattr(loop, "play_chunk", counted)
    return played


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A policy that has learnt nothing."""
    pytest.importorskip("sb3_contrib")
    from training.network import SuitPolicy
    from trick_envs import export_policy

    path = tmp_path_factory.mktemp("policy") / "policy.onnx"
    export_policy(SuitPolicy.for_game(GAME, 16, 1), GAME, path, {})
    return str(path)


def test_greedy_beats_random_and_the_table_is_the_same_from_either_side(tmp_path: Path) -> None:
    found = play(tmp_path / "a", "random", "greedy", "pimc:9", deals=60)
    for one, other in (("greedy", "random"), ("pimc:9", "random"), ("pimc:9", "greedy")):
        meeting, reverse = found.results[one, other], found.results[other, one]
        assert meeting.margin - meeting.half_width > 0
        assert (reverse.margin, reverse.half_width) == (-meeting.margin, meeting.half_width)
        assert meeting.deals == reverse.deals == 60
    assert found.ratings["random"][0] < found.ratings["greedy"][0] < found.ratings["pimc:9"][0]
    assert all(speed > 0 for speed in found.speed.values())
    again = play(tmp_path / "b", "pimc:9", "greedy", "random", deals=60)
    assert again.results == found.results
    assert again.ratings == found.ratings


def standings(margins: dict[tuple[str, str], npt.ArrayLike], players: Sequence[str]) -> Standings:
    """The table of pairs that have played so: margins per deal, of the first over the second."""
    deals = max(len(np.atleast_1d(each)) for each in margins.values())
    plan = Plan(GAME, tuple(map(Player, players)), deals, None, 0, Purpose.VALIDATION)
    pairs = []
    for (one, other), found in margins.items():
        met = Pair(dataclasses.replace(plan, deals=len(np.atleast_1d(found))), Player(one), Player(other))
        ways = np.repeat(np.atleast_1d(found)[:, None], 2, axis=1) * (1 if met.players[0].spec == one else -1)
        while task := met.next_task(1):
            met.start(task)
            margins_of_chunk = ways[task.first : task.first + task.deals].tolist()
            met.add(Chunk(met.ids, task.first, margins_of_chunk, (1, 1), (1.0, 1.0)))
        assert len(met.margins) == len(ways)
        pairs.append(met)
    return Standings(plan, pairs)


def test_ratings_are_the_strengths_of_players_whose_margins_are_differences_of_strengths() -> None:
    strengths = dict(zip("abcde", (-3.0, -1.25, 0.0, 0.5, 3.75), strict=True))
    pairs = {(one, other): strengths[one] - strengths[other] for one in strengths for other in strengths if one < other}
    exact = standings({names: np.full(20 + 7 * i, value) for i, (names, value) in enumerate(pairs.items())}, "abcde")
    for name, strength in strengths.items():
        assert exact.ratings[name] == pytest.approx((strength, 0), abs=1e-12)
    some = {names: np.full(20, pairs[names]) for names in [("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")]}
    assert {name: found[0] for name, found in standings(some, "abcde").ratings.items()} == pytest.approx(strengths)


def test_the_interval_of_a_rating_holds_the_strength_in_19_of_20_ladders() -> None:
    random, inside = np.random.default_rng(5), 0
    strengths = dict(zip("abcd", (-1.0, -0.5, 0.25, 1.25), strict=True))
    for _ in range(200):
        table = {
            (one, other): random.normal(strengths[one] - strengths[other], 3.0, 60)
            for one in strengths for other in strengths if one < other
        }  # fmt: skip
        ratings = standings(table, "abcd").ratings
        inside += sum(abs(rating - strengths[name]) <= half for name, (rating, half) in ratings.items())
        assert sum(rating for rating, _ in ratings.values()) == pytest.approx(0, abs=1e-9)
    assert 0.93 < inside / 800 < 0.97


@settings(deadline=None, max_examples=30)
@given(st.randoms(use_true_random=False))
def test_ratings_do_not_depend_on_the_order_of_pairs_and_players(random: Any) -> None:
    numbers = np.random.default_rng(1)
    names = ["random", "greedy", "pimc:3", "pimc:5", "ismcts:7"]
    table = {(one, other): numbers.normal(size=40) for i, one in enumerate(names) for other in names[i + 1 :]}
    expected = standings(table, names).ratings
    shuffled = random.sample(list(table), len(table))
    turned = {names[:: random.choice((1, -1))]: names for names in shuffled}
    again = {new: table[old] * (1 if new == old else -1) for new, old in turned.items()}
    assert standings(again, random.sample(names, len(names))).ratings == expected  # to the last bit


@pytest.mark.parametrize(
    ("options", "drift"),
    [({"until_decided": True}, 0.0), ({"until_decided": True}, 0.3), ({"half_width": 0.1}, 0.0),
     ({"until_decided": True, "half_width": 0.25}, 0.0), ({}, 0.0)],
)  # fmt: skip
def test_the_work_for_a_pair_grows_with_its_deals_and_what_it_knows_is_the_same(
    options: dict[str, Any], drift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search plays deals one by one: the result so far is asked for after each."""
    plan = make_plan(GAME, ["greedy", "pimc:1"], 4000, **options)
    random, looked_at = np.random.default_rng(3), 0
    original = pair.make_result

    def make_result(player: str, opponent: str, margins: Any, half_width: Any) -> Any:
        nonlocal looked_at
        looked_at += len(margins)
        return original(player, opponent, margins, half_width)

    monkeypatch.setattr(pair, "make_result", make_result)
    met, interval = Pair(plan, *plan.players), half_width_at_any_time_95 if plan.until_decided else half_width_95
    margins = (np.round(random.normal(drift, 4, (4000, 2)) * 4) / 4).tolist()
    stopped, shown = 4000, []
    for deal, margin in enumerate(margins):
        if not met.is_open:
            break
        met.add(Chunk(met.ids, deal, [margin], (1, 1), (1.0, 1.0)))
        shown.append(met.note)
    assert looked_at <= 4 * 4000
    for count in range(CHUNK, 4001, CHUNK):  # what a pair decides that looks at everything again
        found = original("greedy", "pimc:1", margins[:count], interval)
        if (plan.until_decided and found.verdict(plan.half_width) != "undecided") or (
            not plan.until_decided and plan.half_width and count >= MIN_DEALS and found.half_width <= plan.half_width
        ):
            stopped = count
            break
    assert len(met.margins) == stopped
    assert met.result == original(*(player.spec for player in met.players), margins[:stopped], interval)
    for count in {1, 2, 7, stopped // 2, stopped}:
        found = original(*(player.spec for player in met.players), margins[:count], interval)
        text = shown[count - 1].rpartition(": ")[2].split(" ± ")
        assert [float(each) for each in text] == pytest.approx([found.margin, found.half_width], abs=0.005001)


def test_a_margin_is_the_mean_of_one_against_the_rest_both_ways(tmp_path: Path, policy: str) -> None:
    results = play(tmp_path, policy, "greedy", deals=60).results
    found, reverse = results["greedy", policy], results[policy, "greedy"]
    assert found.margin_as_one != pytest.approx(-reverse.margin_as_one)
    assert found.margin == pytest.approx((found.margin_as_one - reverse.margin_as_one) / 2)
    margins = np.concatenate([line["margins"] for line in lines(tmp_path)[1:]])
    assert margins.shape == (60, 2)
    first, second = ("greedy", policy) if lines(tmp_path)[1]["players"][0] == "greedy" else (policy, "greedy")
    assert results[first, second].margin_as_one == pytest.approx(margins[:, 0].mean())
    assert results[second, first].margin_as_one == pytest.approx(-margins[:, 1].mean())
    assert results[first, second].half_width_as_one == pytest.approx(half_width_95(margins[:, 0]))
    assert results[second, first].half_width_as_one == pytest.approx(half_width_95(margins[:, 1]))


def test_an_arena_and_an_evaluation_are_the_same_measurement(tmp_path: Path, policy: str) -> None:
    for number, specs in enumerate([("greedy", "random"), ("greedy", policy), ("pimc:1", "random")]):
        found = play(tmp_path / str(number), *specs, deals=30, seed=4)
        one, other = (player.spec for player in sorted(found.plan.players, key=lambda player: player.rank))
        expected = evaluate(GAME, make_agent(one, GAME), make_agent(other, GAME), 30, 4)
        assert found.results[one, other] == expected


def test_teams_play_two_against_two_which_is_both_ways_at_once(tmp_path: Path, monkeypatch: Any) -> None:
    game, calls = load_game("double_deck_whist", 4, 1), []
    original = evaluation.play_deals

    def counted(*given: Any) -> Any:
        calls.append(original(*given))
        return calls[-1]

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "play_deals", counted)
        found = play_arena(make_plan(game, ["random", "greedy"], 2 * CHUNK), tmp_path).results["greedy", "random"]
    assert [points.shape for points in calls] == [(CHUNK, 2, 4)] * 2
    assert (found.margin, found.half_width) == (found.margin_as_one, found.half_width_as_one)
    expected = evaluate(game, make_agent("greedy", game), make_agent("random", game), 400, 1)
    assert abs(found.margin - expected.margin) < 2 * (found.half_width + expected.half_width)


@every_game
def test_every_game_has_its_arena(tmp_path: Path, name: str) -> None:
    found = play_arena(make_plan(load_game(name, None, 1), ["random", "greedy"], 60), tmp_path)
    meeting = found.results["greedy", "random"]
    assert meeting.margin - meeting.half_width > 0


@pytest.mark.parametrize("workers", [1, 3])
def test_a_pair_stops_after_the_first_chunk_that_makes_it_sure(tmp_path: Path, workers: int) -> None:
    wanted = 0.5
    play(tmp_path / "whole", "random", "greedy", deals=400)
    margins = [margin for line in sorted(lines(tmp_path / "whole")[1:], key=lambda line: line["first"])
               for margin in np.mean(line["margins"], axis=1)]  # fmt: skip
    enough = next(n for n in range(MIN_DEALS, 400, CHUNK) if half_width_95(margins[:n]) <= wanted)
    assert MIN_DEALS < enough < 400
    found = play(tmp_path / "early", "random", "greedy", deals=400, half_width=wanted, workers=workers)
    meeting = found.results["greedy", "random"]
    assert meeting.deals == enough
    assert meeting.half_width == half_width_95(margins[:enough])
    assert len(lines(tmp_path / "early")) - 1 < enough // CHUNK + 2 * workers


def test_a_pair_does_not_stop_on_few_deals(tmp_path: Path) -> None:
    found = play(tmp_path, "random", "greedy", deals=400, half_width=50.0)
    assert found.results["random", "greedy"].deals == MIN_DEALS


def test_an_interrupted_arena_resumes_to_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = ("random", "greedy", "pimc:1")
    play(tmp_path / "whole", *specs, deals=50).write(tmp_path / "whole")
    with monkeypatch.context() as patch:
        count_chunks(patch, stop_after=40)
        with pytest.raises(KeyboardInterrupt):
            play(tmp_path / "stopped", *specs, deals=50)
    assert len(lines(tmp_path / "stopped")) == 1 + 40
    with (tmp_path / "stopped" / LOG).open("a") as file:
        file.write('{"players": ["greedy", "rand')  # the power went while a line was written
    played = count_chunks(monkeypatch)
    play(tmp_path / "stopped", *specs, deals=50).write(tmp_path / "stopped")
    assert len(played) == 3 + 2 * 50 - 40  # greedy and random play in chunks; every deal of the search is kept at once
    for name in ("results.json", "results.csv", "results.md"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    played.clear()
    play(tmp_path / "stopped", *specs, deals=50)
    assert not played


def test_a_log_for_which_there_is_no_room_is_named_and_goes_on_later(tmp_path: Path) -> None:
    """Here it may not grow; of a full disk nothing but "No space left on device" was told."""
    play(tmp_path / "stopped", "random", "greedy", deals=50)
    with (
        largest_file((tmp_path / "stopped" / LOG).stat().st_size),
        pytest.raises(OSError, match=rf"too large: .*{LOG}"),
    ):
        play(tmp_path / "stopped", "random", "greedy", deals=150)
    whole = play(tmp_path / "whole", "random", "greedy", deals=150)
    assert play(tmp_path / "stopped", "random", "greedy", deals=150).results == whole.results


def test_processes_play_the_same_table(tmp_path: Path, policy: str) -> None:
    specs = ("random", "pimc:1", policy, f"{policy}:sample")
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        play(folder, *specs, deals=10, workers=workers, seed=7).write(folder)
    for name in ("results.json", "results.csv", "results.md"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    other = play(tmp_path / "other", *specs, deals=10, seed=8)
    assert other.as_dict()["results"] != json.loads((tmp_path / "1" / "results.json").read_text())["results"]


def test_random_choices_depend_on_the_deal_and_not_on_what_is_played_beside_it(
    tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = play(tmp_path / "together", "random", f"{policy}:sample", deals=40)
    monkeypatch.setattr(pair, "CHUNK", 5)
    apart = play(tmp_path / "apart", "random", f"{policy}:sample", deals=40)
    assert len(lines(tmp_path / "apart")) == 1 + 40 // 5
    assert apart.results == together.results


def test_more_players_and_deals_use_what_has_been_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, "random", "greedy", deals=2 * CHUNK)
    played = count_chunks(monkeypatch)
    play(tmp_path, "greedy", "random", deals=3 * CHUNK)
    assert [task.first for task in played] == [2 * CHUNK]
    played.clear()
    play(tmp_path, "greedy", "random", "pimc:1", deals=CHUNK)
    assert [task.deals for task in played] == [1] * 2 * CHUNK


def test_a_policy_that_was_trained_on_is_another_player(tmp_path: Path, policy: str, monkeypatch: Any) -> None:
    import onnx

    path = tmp_path / "policy.onnx"
    path.write_bytes(Path(policy).read_bytes())
    play(tmp_path, str(path), "greedy", deals=CHUNK)
    model = onnx.load(str(path))
    model.doc_string = "trained on"
    onnx.save(model, str(path))
    played = count_chunks(monkeypatch)
    play(tmp_path, str(path), "greedy", deals=CHUNK)
    assert len(played) == 1


def test_a_folder_of_other_settings_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, "random", "greedy", deals=2)
    with pytest.raises(ValueError, match=r"holds an arena with seed 0, but this is 1: choose another --folder"):
        play(tmp_path, "random", "greedy", deals=2, seed=1)
    with pytest.raises(ValueError, match="holds an arena with game 'donguri', but this is 'pepper'"):
        play_arena(make_plan(load_game("pepper", 3, 1), ["random", "greedy"], 2), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(log, "code_digest", lambda game: "changed")
        with pytest.raises(ValueError, match="with version"):
            play(tmp_path, "random", "greedy", deals=2)
    good = (tmp_path / LOG).read_text()
    held = json.loads(good.splitlines()[0])["settings"]
    for name, other in (("game", "x" * 10**6), ("options", [["a"] * 10**5]), ("seed", 10**4000)):
        signed = {"settings": {**held, name: other}}
        digest = digest_of([signed["settings"], signed])
        (tmp_path / LOG).write_text(json.dumps({**signed, "digest": digest}) + "\n")
        with pytest.raises(ValueError, match=f"holds an arena with {name} .{{200}}…, but this is ") as caught:
            play(tmp_path, "random", "greedy", deals=2)
        assert len(str(caught.value)) < 600
    (tmp_path / LOG).write_text(good + "[]\n")
    with pytest.raises(ValueError, match="line 3: damaged, or not written by trick arena; delete the line"):
        play(tmp_path, "random", "greedy", deals=2)
    (tmp_path / LOG).write_bytes(b"\xff\n" + good.encode())
    with pytest.raises(ValueError, match="line 1: damaged, or not written by trick arena; delete the file"):
        play(tmp_path, "random", "greedy", deals=2)


@pytest.mark.parametrize(
    ("specs", "options", "expected"),
    [
        (["random"], {}, "two players or more"),
        (["random", "greedy", "random"], {}, "named twice: random"),
        (["random", "gredy"], {}, "'gredy' is no player"),
        (["random", "policy.zip"], {}, "'policy.zip' is no player: expected a policy.onnx, which export_policy makes"),
        (["random", "/"], {}, "'/' is a folder, and no player: expected a policy.onnx in it"),
        (["random", "pimc:0"], {}, "'pimc:0' is no search"),
        (["random", "none.onnx"], {}, "none.onnx: there is no such policy file"),
        (["random", "greedy"], {"deals": 1}, "deals: expected a whole number of 2 to 1,000,000, not 1"),
        (["random", "greedy"], {"half_width": 0.0}, "half width: expected a number of points above 0"),
        (["random", "greedy"], {"seed": -1}, "seed: expected a whole number of 0 to"),
    ],
)
def test_a_wrong_plan_is_told_what_is_allowed(specs: list[str], options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is looked at below
        make_plan(GAME, specs, **options)
    assert expected in str(caught.value)


def test_two_arenas_do_not_share_a_folder_at_the_same_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(FolderInUseError, match="is in use: another process is writing to it"):
        play(tmp_path, "random", "greedy", deals=20)
    assert not (tmp_path / LOG).exists()
    assert play(tmp_path, "random", "greedy", deals=20).results


chunks = st.builds(
    Chunk,
    st.tuples(st.sampled_from(["random", "greedy", "päth/ü.onnx@12"]), st.just("pimc:1")),
    st.integers(0, 10**6 - 1),
    st.lists(st.lists(st.floats(-LARGEST, LARGEST), min_size=2, max_size=2), min_size=1, max_size=3),
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(chunks, max_size=4), st.lists(chunks, max_size=2), st.data())
def test_a_log_that_was_cut_off_anywhere_keeps_its_whole_lines_and_goes_on(
    tmp_path: Path, before: list[Chunk], after: list[Chunk], data: st.DataObject
) -> None:
    path = tmp_path / LOG
    path.unlink(missing_ok=True)
    plan = make_plan(GAME, ["random", "greedy"])
    log_file = log.Log(path, plan)
    ends = [path.stat().st_size]
    for chunk in before:
        log_file.add(chunk)
        ends.append(path.stat().st_size)
    assert log.Log(path, plan).chunks == before  # every number to the last bit
    cut = data.draw(st.integers(0, ends[-1]))
    with path.open("r+b") as file:
        file.truncate(cut)
    kept = before[: sum(end <= cut for end in ends[1:])]
    continued = log.Log(path, plan)
    assert continued.chunks == kept
    for chunk in after:
        continued.add(chunk)
    assert log.Log(path, plan).chunks == kept + after


STRANGE = [
    None, True, -1, 1.5, 10**400, 1e308, math.inf, math.nan, "", "x", [], {}, [[]], [None], {"a": 1}, [1.0] * 3,
    ["random", "greedy"], [[0.5, 0.5]] * 21,
]  # fmt: skip


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a line."""
    yield path
    below = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in below:
        yield from leaves(value, (*path, key))


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A line with another value, or with nothing (``...``), in a place."""
    if not path:
        return value
    made, (key, *below) = copy.deepcopy(content), path
    if value is ... and not below:
        del made[key]
    else:
        made[key] = changed(content[key], tuple(below), value)
    return made


def read(path: Path, plan: Plan) -> list[Chunk] | str:
    """The chunks of a log, or why it is refused."""
    try:
        return log.Log(path, plan).chunks
    except InputError as error:
        return str(error)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, str]:
    """A plan, and the log of its deals."""
    plan, folder = make_plan(GAME, ["random", "greedy"], 22), tmp_path_factory.mktemp("arena")
    play_arena(plan, folder)
    return plan, (folder / LOG).read_text()


def test_an_edited_line_of_a_log_is_refused_by_its_number(played: tuple[Plan, str], tmp_path: Path) -> None:
    plan, text = played
    path, edits = tmp_path / LOG, 0
    lines = text.splitlines()
    for number in (0, 2):
        content = json.loads(lines[number])
        for place in leaves(content):
            for value in (*STRANGE, ...) if place else STRANGE:
                edited = changed(content, place, value)
                if edited == content and repr(edited) == repr(content):
                    continue
                path.write_text("\n".join([*lines[:number], json.dumps(edited), *lines[number + 1 :], ""]))
                with pytest.raises(InputError, match=rf"^{re.escape(str(path))}, line {number + 1}: damaged, or not"):
                    log.Log(path, plan)
                edits += 1
    assert edits > 400


def test_a_log_that_says_it_is_whole_is_still_checked(played: tuple[Plan, str], tmp_path: Path) -> None:
    """An edit that also corrects the digest: nothing of a wrong kind gets out of the log."""
    plan, text = played
    path, lines, refused = tmp_path / LOG, text.splitlines(), 0
    content = json.loads(lines[2])
    for place in leaves(content):
        for value in (*STRANGE, ...) if place else STRANGE:
            edited = changed(content, place, value)
            if isinstance(edited, dict):
                edited.pop("digest", None)
                edited["digest"] = digest_of([log.settings(plan), edited])
            path.write_text("\n".join([*lines[:2], json.dumps(edited), ""]))
            found = read(path, plan)
            if isinstance(found, str):
                assert found.startswith(f"{path}, line 3: damaged")
                refused += 1
                continue
            _, one = found
            assert 1 <= len(one.margins) <= CHUNK
            assert np.isfinite(np.array(one.margins, np.float64)).all()
            assert np.array(one.margins).shape[1] == 2
            assert all(type(each) is int and each >= 0 for each in (one.first, *one.decisions))
    assert refused > 200


def test_damaged_bytes_of_a_log_are_refused_or_play_the_missing_deals_again(
    played: tuple[Plan, str], tmp_path: Path
) -> None:
    plan, text = played
    path, whole, random = tmp_path / LOG, text.encode(), np.random.default_rng(0)
    path.write_bytes(whole)
    chunks = log.Log(path, plan).chunks
    for at in random.integers(0, len(whole), 60).tolist():
        byte = bytes(random.integers(0, 256, 1, np.uint8))
        for damaged in (
            whole[:at] + byte + whole[at + 1 :], whole[:at] + byte + whole[at:], whole[:at] + whole[at + 1 :],
            whole[:at] + b"\n" + whole[at:], whole[:at] + whole[at + 50 :], whole[:at] + b"[" * 100_000 + whole[at:],
            whole[:at] + b"9" * 5000 + whole[at:],
        ):  # fmt: skip
            path.write_bytes(damaged)
            found = read(path, plan)
            if isinstance(found, str):
                assert re.match(rf"{re.escape(str(path))}, line \d: damaged", found)
            else:
                assert all(chunk in chunks for chunk in found)


def test_a_log_that_begins_with_a_byte_order_mark_is_read_and_goes_on(played: tuple[Plan, str], tmp_path: Path) -> None:
    plan, text = played
    path, mark = tmp_path / LOG, b"\xef\xbb\xbf"
    path.write_bytes(mark)
    assert log.Log(path, plan).chunks == []
    path.write_bytes(mark + text.encode())
    found = log.Log(path, plan)
    whole, one = found.chunks, found.chunks[0]
    assert len(whole) == 2
    found.add(one)
    assert path.read_bytes().startswith(mark + text.encode())
    assert log.Log(path, plan).chunks == [*whole, one]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)  # cut off: written again
    assert log.Log(path, plan).chunks == whole
    assert path.read_text() == text


def test_lines_of_another_arena_are_refused(played: tuple[Plan, str], tmp_path: Path) -> None:
    plan, text = played
    play_arena(make_plan(GAME, ["random", "greedy"], 40, seed=1), tmp_path)
    path = tmp_path / LOG
    path.write_text("\n".join([text.splitlines()[0], *path.read_text().splitlines()[1:], ""]))
    with pytest.raises(InputError, match="line 2: damaged"):
        log.Log(path, plan)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", [LOG, "results.json", "results.csv", "heatmap.png", "speed.json", ".lock"])
@pytest.mark.parametrize("behind_a_link", [False, True])
def test_a_pipe_in_the_folder_is_refused_instead_of_waiting_for_it(
    tmp_path: Path, name: str, behind_a_link: bool
) -> None:
    os.mkfifo(tmp_path / "pipe" if behind_a_link else tmp_path / name)
    if behind_a_link:
        (tmp_path / name).symlink_to(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no regular file"):
        play(tmp_path, "random", "greedy", deals=2)


def die(task: Task, files: PolicyFiles) -> None:
    os._exit(1)


def test_a_worker_that_dies_is_said_to_have_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "play_chunk", die)
    with pytest.raises(ChildProcessError, match="finished deals are kept"):
        play(tmp_path, "random", "greedy", deals=40, workers=2)


def test_six_players_fit_into_a_terminal_of_80_columns(tmp_path: Path, policy: str) -> None:
    from rich.console import Console

    found = play(tmp_path, "random", "greedy", "pimc:1", "ismcts:1", policy, "cheat:1", deals=2)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(found.table())
    text = console.export_text()
    assert text.count("…") == short_name(policy).count("…")
    assert text.count("±") == 6 * 5 + 6
    assert all(f"{speed:,.0f}" in text for speed in found.speed.values())


def test_the_arena_command_writes_its_files(tmp_path: Path) -> None:
    arguments = ["arena", "--game", "donguri", "--num-players", "3", "--deals", "40", "--folder", str(tmp_path)]
    result = CliRunner().invoke(app, [*arguments, "random", "greedy"])
    assert result.exit_code == 0, result.output
    assert "Donguri to Yamaneko, 3 players" in result.output
    report = json.loads((tmp_path / "results.json").read_text())
    assert {name: report[name] for name in ("game", "num_players", "seed", "purpose", "deals", "half_width")} == {
        "game": "donguri", "num_players": 3, "seed": 0, "purpose": "validation", "deals": 40, "half_width": None,
    }  # fmt: skip
    assert [entry["player"] for entry in report["players"]] == ["random", "greedy"]
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["player"], row["opponent"], row["deals"]) for row in rows] == [
        ("random", "greedy", "40"), ("greedy", "random", "40"),
    ]  # fmt: skip
    assert [float(row["margin"]) for row in rows] == [entry["margin"] for entry in report["results"]]
    assert f"{report['results'][1]['margin']:+.2f}" in result.output
    assert f"| greedy | {report['results'][1]['margin']:+.2f} ± " in (tmp_path / "results.md").read_text()
    assert (tmp_path / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    assert set(json.loads((tmp_path / "speed.json").read_text())) == {"random", "greedy"}
    assert not list(tmp_path.glob("*.tmp"))


def test_names_with_brackets_stay_whole(tmp_path: Path, policy: str) -> None:
    folder, copy = tmp_path / "[arena]", tmp_path / "[/x]" / "policy.onnx"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(Path(policy).read_bytes())
    arguments = ["--game", "donguri", "--num-players", "3", "--deals", "2", "--folder", str(folder)]
    result = CliRunner().invoke(app, ["arena", *arguments, "random", str(copy)])
    assert result.exit_code == 0, result.output
    assert f"written: {folder}" in result.output
    assert short_name(str(copy)) in result.output


def test_errors_are_printed_as_they_are(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for spec in ("runs/[/tmp]/policy.onnx", "runs/[bold]x/policy.onnx"):
        monkeypatch.setattr(sys, "argv", ["trick", "evaluate", "--game", "donguri", spec])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code == 2
        assert f"error: {spec}: there is no such policy file" in capsys.readouterr().err


def test_one_command_plays_every_game(tmp_path: Path) -> None:
    arguments = ["arena", "--game", "all", "--deals", "2", "--folder", str(tmp_path), "random", "greedy"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    folders = {folder.name for folder in tmp_path.iterdir()}
    assert folders == {
        "arena-donguri-4", "arena-double_deck_whist-4", "arena-hearts-4", "arena-pepper-5", "arena-tricky_express-4",
        "arena-zaraba22-3",
    }  # fmt: skip
    assert all((tmp_path / name / "results.json").is_file() for name in folders)


def test_the_evaluate_command_measures_one_player_against_the_ladder(tmp_path: Path, policy: str) -> None:
    found = tmp_path / "found.json"
    arguments = ["--game", "donguri", "--num-players", "3", "--deals", "4", "--folder", str(tmp_path / "arena")]
    result = CliRunner().invoke(app, ["evaluate", *arguments, "--json", str(found), policy])
    assert result.exit_code == 0, result.output
    report = json.loads(found.read_text())
    assert [entry["opponent"] for entry in report["results"]] == ["random", "greedy", "pimc:10", "ismcts:1000"]
    assert {entry["player"] for entry in report["results"]} == {policy}
    for entry in report["results"]:
        assert entry["deals"] == 4
        assert f"{entry['margin']:+.2f} ± {entry['half_width']:.2f}" in result.output
    assert len({tuple(line["players"]) for line in lines(tmp_path / "arena")[1:]}) == 4  # they do not meet each other


def test_another_seed_has_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in ("0", "1"):
        arguments = ["--game", "donguri", "--num-players", "3", "--deals", "2", "--seed", seed, "random", "greedy"]
        assert CliRunner().invoke(app, ["evaluate", *arguments]).exit_code == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"arena-donguri-3", "arena-donguri-3-seed-1"}


@pytest.mark.parametrize("command", ["arena", "evaluate"])
def test_the_test_split_is_played_on_other_deals_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--game", "donguri", "--num-players", "3", "--deals", "40", "greedy", "random"]
    for options in ([], ["--split", "test"], ["--split", "test", "--seed", "1"]):
        assert CliRunner().invoke(app, [command, *options, *arguments]).exit_code == 0
    folders = [Path("runs") / f"arena-donguri-3{end}" for end in ("", "-test", "-seed-1-test")]
    assert {path.name for path in Path("runs").iterdir()} == {folder.name for folder in folders}
    played = [[line["margins"] for line in lines(folder)[1:]] for folder in folders]
    assert played[0] != played[1] != played[2]
    assert [lines(folder)[0]["settings"]["purpose"] for folder in folders] == ["validation", "test", "test"]
    refused = CliRunner().invoke(app, [command, "--split", "test", "--folder", str(folders[0]), *arguments])
    assert "holds an arena with purpose 'validation', but this is 'test'" in str(refused.exception)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_pair_plays_until_it_is_decided_and_no_longer(tmp_path: Path, workers: int) -> None:
    play(tmp_path / "whole", "random", "greedy", deals=400)
    margins = [
        margin for line in sorted(lines(tmp_path / "whole")[1:], key=lambda line: line["first"])
        for margin in np.mean(line["margins"], axis=1)
    ]  # fmt: skip
    sure = (n for n in range(CHUNK, 400, CHUNK) if abs(np.mean(margins[:n])) > half_width_at_any_time_95(margins[:n]))
    enough = next(sure)
    assert 27 < enough < 400
    found = play(tmp_path / "part", "random", "greedy", deals=10_000, until_decided=True, workers=workers)
    for one, other, verdict in (("greedy", "random", "better"), ("random", "greedy", "worse")):
        result = found.results[one, other]
        assert (result.deals, result.verdict()) == (enough, verdict)
        assert result.half_width == half_width_at_any_time_95(margins[:enough])


def test_equal_players_are_level_or_undecided(tmp_path: Path, policy: str) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(Path(policy).read_bytes())
    specs, arguments = [policy, str(copy)], ["--game", "donguri", "--num-players", "3", "--until-decided", "--json"]
    for name, options, deals, verdict in (
        ("a", ["--deals", "60"], 60, "undecided"),
        ("b", ["--deals", "60", "--half-width", "0.5"], 40, "level"),  # they play alike: all margins are 0
    ):
        folder, found = tmp_path / name, tmp_path / f"{name}.json"
        shown = CliRunner().invoke(app, ["evaluate", *arguments, str(found), *options, "--folder", str(folder), *specs])
        assert shown.exit_code == 0, shown.output
        assert verdict in shown.output
        (result,) = json.loads(found.read_text())["results"]
        assert (result["deals"], result["verdict"], result["margin"]) == (deals, verdict, 0.0)


def test_evaluating_a_rung_leaves_it_out_of_the_ladder(tmp_path: Path) -> None:
    arguments = ["--game", "donguri", "--num-players", "3", "--deals", "2", "--folder", str(tmp_path)]
    result = CliRunner().invoke(app, ["evaluate", *arguments, "pimc:10"])
    assert result.exit_code == 0, result.output
    assert "ismcts:1000" in result.output


def test_evaluate_and_arena_use_what_the_other_has_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--game", "donguri", "--num-players", "3", "--deals", "20", "--folder", str(tmp_path)]
    assert CliRunner().invoke(app, ["evaluate", *arguments, "greedy", "random", "pimc:1"]).exit_code == 0
    played = count_chunks(monkeypatch)
    assert CliRunner().invoke(app, ["arena", *arguments, "random", "greedy", "pimc:1"]).exit_code == 0
    assert {frozenset(player.spec for player in task.players) for task in played} == {frozenset({"random", "pimc:1"})}
    rows = json.loads((tmp_path / "results.json").read_text())["results"]
    assert len(rows) == 6


def test_ctrl_c_says_how_to_go_on_and_leaves_no_process(tmp_path: Path) -> None:
    arguments = ["--game", "donguri", "--workers", "2", "--folder", str(tmp_path), "--deals", "100000"]
    command = [sys.executable, "-m", "trick_envs.cli", "arena", *arguments, "random", "pimc:5"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    while running.poll() is None and not ((tmp_path / LOG).is_file() and len(lines(tmp_path)) > 2):
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    try:
        output, errors = running.communicate(timeout=60)  # the end of its workers, too: they hold the pipe
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 130, errors
    assert "trick arena --game donguri --workers 2" in output.replace("\n", " ")
    assert "Traceback" not in errors
    assert len(lines(tmp_path)) > 2


def test_the_arena_needs_no_torch() -> None:
    heavy = "{'torch', 'matplotlib', 'stable_baselines3'}"
    code = f"import sys, trick_envs.evaluation.arena; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- the digest of the code ---------------------------------------------------------------------------------------

PACKAGE = Path(trick_envs.__file__).parent


def digest_after_an_edit(edited: Path, game: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The digest of the code with another line in one file."""
    original = Path.read_bytes
    sources_digest.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_bytes", lambda path: original(path) + b"# an edit\n" * (path == edited))
            return code_digest(game)
    finally:
        sources_digest.cache_clear()


def test_an_edit_in_any_file_that_shapes_a_game_or_a_player_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("double_deck_whist", 4, 1)
    folder = PACKAGE / "games" / "double_deck_whist"
    files = {path for part in (folder, PACKAGE / "agents", PACKAGE / "matches") for path in part.glob("*.py")}
    files |= {*(PACKAGE / "engine").rglob("*.py"), PACKAGE / "discovery.py"}
    files.remove(folder / "view.py")  # its pictures
    named = {path.relative_to(PACKAGE).as_posix() for path in files}
    assert {
        "games/double_deck_whist/determinization.py", "games/double_deck_whist/rules.py", "engine/kernels/playing.py",
        "engine/search/worlds.py", "agents/greedy.py", "matches/loop.py",
    } <= named  # fmt: skip
    digests = {digest_after_an_edit(path, game, monkeypatch) for path in sorted(files)}
    assert len(digests | {code_digest(game)}) == len(files) + 1
    for elsewhere in (PACKAGE / "games" / "pepper" / "rules.py", PACKAGE / "interfaces" / "aec.py"):
        assert digest_after_an_edit(elsewhere, game, monkeypatch) == code_digest(game)


def test_the_digest_covers_the_folder_of_a_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rules.py", "determinization.py"):
        (tmp_path / name).write_text("WORTH = 1\n")
    module = SimpleNamespace(__file__=str(tmp_path / "rules.py"))
    game: Any = SimpleNamespace(type=SimpleNamespace(modules=[module]))
    before = code_digest(game)
    assert digest_after_an_edit(tmp_path / "determinization.py", game, monkeypatch) != before


@pytest.mark.parametrize(
    "text",
    [
        "from trick_envs.agents.random import RandomAgent\n\n\n"
        "class Theirs(RandomAgent):\n    name = 'theirs'\n\n\n"
        "def make(game, seed):\n    return Theirs(seed)\n",
        "from trick_envs import make_agent\n\n\ndef make(game, seed):\n    return make_agent('random', game, seed)\n",
        "from types import SimpleNamespace\nfrom trick_envs import make_agent\n\n\ndef make(game, seed):\n"
        "    one = make_agent('random', game, seed)\n"
        "    return SimpleNamespace(name='theirs', act=one.act, seed=one.seed)\n",
    ],
    ids=["its class", "a built-in player", "no class of its own"],
)
def test_an_edited_plug_in_player_is_another_player(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "their_players.py"
    source.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    specs = ["random", "their_players:make"]
    built_in, theirs = make_plan(GAME, specs).players
    assert built_in == Player("random")
    assert theirs.id != theirs.spec
    play(tmp_path / "arena", *specs, deals=2)
    source.write_text(source.read_text() + "# an edit\n")
    assert make_plan(GAME, specs).players[1].id != theirs.id
    assert make_plan(GAME, specs).players[0] == built_in
    sys.modules.pop("their_players")


def test_only_searching_players_are_played_deal_by_deal(policy: str) -> None:
    specs = {
        "random": False, "greedy": False, policy: False, f"{policy}:sample": False,
        "pimc:1": True, "search:5": True, "cheat:1": True, f"{policy}+ismcts:9": True,
    }  # fmt: skip
    assert {spec: Player(spec).searches for spec in specs} == specs
    plan = make_plan(GAME, [policy, f"{policy}:sample", f"{policy}+ismcts:9"])
    assert len({player.digest for player in plan.players}) == 1
    assert all(player.digest for player in plan.players)
    assert plan.purpose == Purpose.VALIDATION
    tasks = [Pair(plan, *met).next_task(1) for met in plan.pairs()]
    assert [task.deals for task in tasks if task is not None] == [CHUNK, 1, 1]


def test_play_takes_the_number_of_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr("trick_envs.play.terminal.play_match", lambda *arguments: given.append(arguments[5]))
    assert CliRunner().invoke(app, ["play", "pepper", "--num-deals", "3"]).exit_code == 0
    assert given == [3]
