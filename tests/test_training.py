"""Configs, a short training run from start to policy, resuming, and evaluation."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("sb3_contrib")
from rich.console import Console

from training import run
from training.config import ConfigError, RunConfig, dump_config, load_config
from training.evaluation import evaluate, play_deals, seatings
from trick_envs import BatchEnv, make_agent, setup
from trick_envs.agents import GreedyAgent, RandomAgent

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))
QUIET = Console(quiet=True)
SMALL = {
    "game": "donguri",
    "num_players": 3,
    "total_samples": 3000,
    "checkpoint_every_samples": 1000,
    "ppo": {"num_envs": 16, "num_steps": 32, "batch_size": 128, "num_epochs": 2},
    "network": {"shared": [32], "policy": [16], "value": [16]},
    "evaluation": {"every_samples": 1000, "deals": 5, "final_deals": 10},
}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_the_house_is_valid(path: Path) -> None:
    assert load_config(path).setup().rules.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"gmae": "pepper"}, "gmae: unknown key; expected one of game, num_players"),
        ({"ppo": {"lr": 1e-3}}, "ppo.lr: unknown key; expected one of num_envs"),
        ({"game": "poker"}, "game: expected one of"),
        ({"num_players": 9}, "donguri is for 3 or 4 or 5 players, not 9"),
        ({"num_players": "three"}, "num_players: input should be a valid integer, not 'three'"),
        ({"ppo": {"gamma": 1.5}}, "ppo.gamma: input should be less than or equal to 1, not 1.5"),
        ({"ppo": {"num_envs": 0}}, "ppo.num_envs: input should be greater than or equal to 1, not 0"),
        ({"network": {"activation": "sine"}}, "network.activation: input should be 'relu' or 'tanh', not 'sine'"),
        ({"network": {"shared": []}}, "network.shared"),
        ({"options": {"lead_peppers": True}}, "donguri has no option 'lead_peppers'"),
        ({"ppo": {"num_envs": 2, "num_steps": 2, "batch_size": 128}}, "fewer than ppo.batch_size"),
        ({"evaluation": {"opponents": []}}, "evaluation.opponents"),
        ({"evaluation": {"opponents": ["gredy"]}}, "'gredy' is no player"),
        ({"against": "gredy"}, "'gredy' is no player"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0, not -1"),
    ],
)
def test_a_wrong_config_is_named_by_its_key_and_what_is_allowed(
    tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    path = write(tmp_path / "wrong.yaml", {**SMALL, **change})
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "game: [", "just words"])
def test_a_file_that_is_no_config_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="wrong"):
        load_config(path)


def test_overrides_replace_what_the_file_says(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "c.yaml", SMALL), ["ppo.num_epochs=7", "reward=win", "num_deals=null"])
    assert (config.ppo.num_epochs, config.reward, config.num_deals) == (7, "win", None)
    for wrong in ("ppo.num_epochs", "game.x=1", "ppo.num_epochs=["):
        with pytest.raises(ConfigError):
            load_config(tmp_path / "c.yaml", [wrong])


def test_a_config_survives_being_written_and_read(tmp_path: Path) -> None:
    config = RunConfig.model_validate(SMALL)
    (tmp_path / "c.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config(tmp_path / "c.yaml") == config


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "small"
    run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    return folder


def test_a_run_leaves_all_its_files(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    wanted = {"config.yaml", "policy.zip", "policy.onnx", "evaluation.json", "learning_curve.png", "tensorboard"}
    assert wanted <= names
    assert not [name for name in names if name.endswith(".tmp")]
    report = json.loads((finished / "evaluation.json").read_text())
    assert [result["opponent"] for result in report["results"]] == ["random", "greedy"]
    assert report["samples"] >= 3000
    assert (finished / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_onnx_file_and_sb3_file_play_the_same_actions(finished: Path) -> None:
    from sb3_contrib import MaskablePPO

    games = BatchEnv("donguri", 64, num_players=3, num_deals=1)
    games.reset(0)
    agent = make_agent(str(finished / "policy.onnx"), games.setup)
    model = MaskablePPO.load(finished / "policy.zip")
    for _ in range(36):
        actions = agent.act(games.observations, games.action_masks)
        expected, _ = model.predict(
            games.observations.astype(np.float32), action_masks=games.action_masks, deterministic=True
        )
        np.testing.assert_array_equal(actions, expected)
        games.step(actions)


def test_the_same_seed_trains_the_same_policy(finished: Path, tmp_path: Path) -> None:
    run.train(RunConfig.model_validate(SMALL), tmp_path / "again", QUIET)
    again = json.loads((tmp_path / "again" / "evaluation.json").read_text())
    first = json.loads((finished / "evaluation.json").read_text())
    for one, other in zip(first["results"], again["results"], strict=True):
        assert {**one, "player": ""} == {**other, "player": ""}


def test_an_interrupted_run_resumes_and_finishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, config = tmp_path / "stopped", RunConfig.model_validate(SMALL)
    evaluations = []

    def interrupted(self: run.Watcher) -> None:
        evaluations.append(self.num_timesteps)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run.Watcher, "_evaluate", interrupted)
        with pytest.raises(run.Interrupted, match="--resume --folder"):
            run.train(config, folder, QUIET)
    assert not (folder / "policy.onnx").exists()
    stopped_at = json.loads((folder / "progress.json").read_text())["samples"]
    assert 1000 <= stopped_at < 3000
    with pytest.raises(run.RunError, match="holds a run already"):
        run.train(config, folder, QUIET)
    run.resume(folder, QUIET)
    assert json.loads((folder / "evaluation.json").read_text())["samples"] >= 3000
    with pytest.raises(run.RunError, match="is finished"):
        run.resume(folder, QUIET)


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(run.RunError, match="no run to resume"):
        run.resume(tmp_path, QUIET)


def test_a_policy_refuses_another_table(finished: Path, tmp_path: Path) -> None:
    path = str(finished / "policy.onnx")
    with pytest.raises(ValueError, match="number of players 3, but this is 4"):
        make_agent(path, setup("donguri", 4))
    with pytest.raises(ValueError, match="game 'donguri', but this is 'pepper'"):
        make_agent(path, setup("pepper", 3))
    with pytest.raises(ValueError, match="no such policy file"):
        make_agent(str(tmp_path / "none.onnx"), setup("donguri", 3))
    (tmp_path / "junk.onnx").write_bytes(b"not a policy")
    with pytest.raises(ValueError, match="not a policy of trick_envs"):
        make_agent(str(tmp_path / "junk.onnx"), setup("donguri", 3))


def test_search_makes_more_of_a_policy(finished: Path) -> None:
    path, game = str(finished / "policy.onnx"), setup("donguri", 3, 1)
    player = make_agent(f"{path}+ismcts:100", game)
    assert player.name == f"{path}+ismcts:100"
    result = evaluate(game, player, make_agent(path, game), 60)
    assert result.margin - result.half_width > 0
    with pytest.raises(ValueError, match="'nonsense' is no search"):
        make_agent(f"{path}+nonsense", game)
    with pytest.raises(ValueError, match="no such policy file"):
        make_agent("none.onnx+ismcts:100", game)


def test_a_policy_can_be_sampled(finished: Path) -> None:
    games = BatchEnv("donguri", 256, num_players=3)
    games.reset([7] * 256)
    sampler = make_agent(f"{finished / 'policy.onnx'}:sample", games.setup)
    actions = sampler.act(games.observations, games.action_masks)
    assert games.action_masks[np.arange(256), actions].all()
    assert len(set(actions)) > 1
    sampler.seed(0)
    again = sampler.act(games.observations, games.action_masks)
    sampler.seed(0)
    np.testing.assert_array_equal(again, sampler.act(games.observations, games.action_masks))


def test_loading_a_policy_unpickles_nothing(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "load", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    make_agent(str(finished / "policy.onnx"), setup("donguri", 3))


def test_a_player_against_itself_has_no_margin() -> None:
    game = setup("donguri", 3)
    result = evaluate(game, GreedyAgent(game), GreedyAgent(game), 50)
    assert result.margin == pytest.approx(0)  # every deal is played from every seat: luck cancels to the last point
    assert result.half_width == pytest.approx(0)


def test_duplicate_deals_have_the_same_cards_for_every_seating() -> None:
    game = setup("pepper", 4)
    points = play_deals(game, GreedyAgent(game), GreedyAgent(game), 11, 20)
    assert points.shape == (20, len(seatings(game)), 4)
    assert (points == points[:, :1]).all()


@pytest.mark.parametrize(("name", "players"), [("pepper", 5), ("donguri", 4)])
def test_greedy_beats_random_by_a_wide_margin(name: str, players: int) -> None:
    game = setup(name, players)
    result = evaluate(game, GreedyAgent(game), RandomAgent(), 200)
    assert result.margin - result.half_width > 2
