"""Match seeds: every purpose has deals of its own, and whatever plays uses those of its purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trick_envs import BatchEnv
from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import MAX_SEED, SEED_BITS
from trick_envs.evaluation.seeds import MAX_RUN_SEED, SEEDS_PER_RUN, Purpose, match_seeds, player_seeds

purposes = st.sampled_from(Purpose)
run_seeds = st.integers(0, MAX_RUN_SEED)
deals = st.integers(0, SEEDS_PER_RUN - 1)
SMALL = {
    "game": "donguri",
    "num_players": 3,
    "seed": 7,
    "total_samples": 2000,
    "evaluate_every": 500,
    "n_envs": 16,
    "n_steps": 32,
    "batch_size": 128,
    "width": 16,
    "depth": 1,
    "deals": 3,
    "final_deals": 4,
}


def purpose_of(seed: int) -> int:
    return seed >> 60


@given(purposes, run_seeds, deals)
@example(Purpose.TEST, MAX_RUN_SEED, SEEDS_PER_RUN - 1)
def test_a_match_seed_tells_its_purpose_its_run_and_its_deal(purpose: Purpose, seed: int, deal: int) -> None:
    (found,) = match_seeds(purpose, seed, deal, 1).tolist()
    assert 0 <= found <= MAX_SEED
    assert (found >> 60, (found >> 24) & (2**36 - 1), found & (2**24 - 1)) == (purpose, seed, deal)


@given(st.tuples(purposes, run_seeds, deals), st.tuples(purposes, run_seeds, deals), st.integers(1, 1000))
def test_two_ranges_share_a_seed_only_if_they_are_of_one_purpose_and_run(
    one: tuple[Purpose, int, int], other: tuple[Purpose, int, int], count: int
) -> None:
    ranges = []
    for purpose, seed, first in (one, other):
        ranges.append(set(match_seeds(purpose, seed, first, min(count, SEEDS_PER_RUN - first)).tolist()))
    assert bool(ranges[0] & ranges[1]) == (one[:2] == other[:2] and abs(one[2] - other[2]) < count)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, MAX_SEED))
def test_later_matches_of_an_environment_stay_in_the_range_of_training(seed: int) -> None:
    games = BatchEnv("donguri", 1, 3)
    games.reset([seed])
    for _ in range(3):
        games.reset()
        following = int(games.states["seed"][0])
        assert following < 2**SEED_BITS
        assert purpose_of(following) == Purpose.TRAINING


@pytest.mark.parametrize(
    ("seed", "first", "count"), [(-1, 0, 1), (MAX_RUN_SEED + 1, 0, 1), (0, -1, 1), (0, SEEDS_PER_RUN - 1, 2)]
)
def test_seeds_out_of_range_are_errors(seed: int, first: int, count: int) -> None:
    with pytest.raises(ValueError, match=r"^(seed|deals): expected"):
        match_seeds(Purpose.TRAINING, seed, first, count)


@given(purposes, run_seeds)
def test_players_have_seeds_of_their_own(purpose: Purpose, seed: int) -> None:
    player, opponent = player_seeds(purpose, seed)
    assert player != opponent
    assert all(0 <= each <= MAX_SEED for each in (player, opponent))
    others = [player_seeds(another, seed) for another in Purpose if another != purpose]
    assert not {player, opponent} & {each for pair in others for each in pair}


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The seeds that batches of more than one game start with (one game is for warming up)."""
    found: list[list[int]] = []
    original = BatchEnv.reset

    def reset(self: BatchEnv, seed: Any = None) -> None:
        if self.num_envs > 1:
            one = isinstance(seed, (int, np.integer))
            found.append([seed + i for i in range(self.num_envs)] if one else [int(each) for each in seed])
        original(self, seed)

    monkeypatch.setattr(BatchEnv, "reset", reset)
    return found


@pytest.mark.usefixtures("quick_export")
@pytest.mark.parametrize("against", [None, "greedy"])
def test_a_run_and_its_evaluations_play_different_deals(
    tmp_path: Path, resets: list[list[int]], monkeypatch: pytest.MonkeyPatch, against: str | None
) -> None:
    pytest.importorskip("sb3_contrib")
    from rich.console import Console

    from training import callbacks, run
    from training.config import RunConfig
    from training.self_play import SelfPlayVecEnv

    learned_from: set[int] = set()
    original, evaluate = SelfPlayVecEnv.step_async, callbacks.evaluate

    def step(self: SelfPlayVecEnv, actions: Any) -> None:
        learned_from.update(self.games.states["seed"].tolist())
        original(self, actions)

    def interrupted(*given: Any) -> Any:
        if len(resets) > 3:  # the games of training, and the first evaluation against two opponents
            raise KeyboardInterrupt
        return evaluate(*given)

    monkeypatch.setattr(SelfPlayVecEnv, "step_async", step)
    config, quiet = RunConfig.model_validate({**SMALL, "opponent": against}), Console(quiet=True)
    with monkeypatch.context() as patch:
        patch.setattr(callbacks, "evaluate", interrupted)
        with pytest.raises(run.Interrupted):
            run.train(config, tmp_path, quiet)
    assert (tmp_path / "checkpoint.zip").is_file()
    run.resume(tmp_path, quiet)

    *began, tried = [set(seeds) for seeds in resets if purpose_of(seeds[0]) == Purpose.TRAINING]
    if against is None:  # the games are begun, played for a while to see how long a deal is, and begun again
        assert began[::2] == began[1::2]
        began = began[::2]
    assert [len(seeds) for seeds in began] == [16]  # the resumed run goes on where the games stood
    assert tried == set(range(64))  # the export compares both forms of the policy there
    assert began[0] == set(match_seeds(Purpose.TRAINING, 7, 0, 16).tolist())
    assert began[0] < learned_from
    assert {purpose_of(seed) for seed in learned_from} == {Purpose.TRAINING}
    for purpose, count in ((Purpose.MONITORING, 3), (Purpose.FINAL, 4)):
        evaluated = [set(seeds) for seeds in resets if purpose_of(seeds[0]) == purpose]
        assert len(evaluated) >= 2
        assert set.union(*evaluated) == set(match_seeds(purpose, 7, 0, count).tolist())
    assert {purpose_of(seeds[0]) for seeds in resets} == {Purpose.TRAINING, Purpose.MONITORING, Purpose.FINAL}


@pytest.mark.parametrize("purpose", [Purpose.VALIDATION, Purpose.TEST])
def test_an_arena_plays_the_deals_of_its_purpose(tmp_path: Path, resets: list[list[int]], purpose: Purpose) -> None:
    from trick_envs.evaluation.arena import make_plan, play_arena

    plan = make_plan(load_game("donguri", 3, 1), ["random", "greedy", "pimc:1"], 30, seed=9, purpose=purpose)
    play_arena(plan, tmp_path)
    wanted = set(match_seeds(purpose, 9, 0, 30).tolist())
    assert {seed for seeds in resets for seed in seeds} == wanted


def test_an_evaluation_chooses_unless_told_otherwise(resets: list[list[int]]) -> None:
    from trick_envs import make_agent
    from trick_envs.evaluation.duplicate import evaluate

    game = load_game("donguri", 3, 1)
    evaluate(game, make_agent("random", game), make_agent("greedy", game), 5, 2)
    assert {seed for seeds in resets for seed in seeds} == set(match_seeds(Purpose.VALIDATION, 2, 0, 5).tolist())


@pytest.mark.usefixtures("quick_export")
def test_a_run_that_evaluates_on_a_single_deal_writes_strict_json_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sb3_contrib")
    from rich.console import Console
    from typer.testing import CliRunner

    from training import callbacks, run
    from training.config import RunConfig
    from trick_envs.cli import app

    config = RunConfig.model_validate({**SMALL, "deals": 1, "final_deals": 1})
    console, folder, calls = Console(quiet=True), tmp_path / "run", []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return original(*given)

    original = callbacks.evaluate
    with monkeypatch.context() as patch:
        patch.setattr(callbacks, "evaluate", interrupted)
        with pytest.raises(run.Interrupted):
            run.train(config, folder, console)
    run.resume(folder, console)
    found = json.loads((folder / "evaluation.json").read_text(), parse_constant=pytest.fail)
    for results in (found["results"], found["report"]["evaluations"][0]["results"]):
        assert results[0]["half_width"] is None
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert (folder / "report.html").is_file()
