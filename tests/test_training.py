"""Configs, a short training run from start to policy, resuming, and evaluation."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import json
import os
import pickle
import re
import shlex
import shutil
import signal
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("sb3_contrib")
from helpers import SMALL_RUN
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from typer.testing import CliRunner

from training import ExactCheckpoint, callbacks, run
from training.config import ConfigError, RunConfig, apply_override, dump_config, load_config, read_yaml
from training.self_play import stream_seed
from trick_envs import BatchEnv, make_agent
from trick_envs.agents import GreedyAgent, RandomAgent
from trick_envs.cli import app
from trick_envs.cli.base import user_error
from trick_envs.engine.registry import load_game
from trick_envs.errors import FolderInUseError
from trick_envs.evaluation import bench
from trick_envs.evaluation.duplicate import (
    evaluate,
    lineups,
    make_result,
    margins_of,
    play_deals,
    play_points,
    reverse_margins,
)
from trick_envs.evaluation.intervals import half_width_95
from trick_envs.evaluation.seeds import Purpose, match_seeds, player_seeds
from trick_envs.files import locked, replacing, write_text
from trick_envs.interfaces.sb3 import make_vec_env
from trick_envs.matches.seating import seatings

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))
pytestmark = pytest.mark.usefixtures("quick_export")
QUIET = Console(quiet=True)
SMALL = {
    **SMALL_RUN,
    "deals": 5,
    "final_deals": 10,
}
TOO_FEW = {"n_envs": 2, "n_steps": 2, "batch_size": 128}


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_the_repository_is_valid(path: Path) -> None:
    assert load_config(path).make_game().name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"gmae": "pepper"}, "gmae: unknown key; expected one of game, num_players"),
        ({"lr": 1e-3}, "lr: unknown key; expected one of game, num_players"),
        ({"device": "foo"}, "device: expected cpu, cuda or auto, not 'foo'"),
        ({"game": "poker"}, "game: expected one of"),
        ({"num_players": 9}, "donguri is for 3 or 4 or 5 players, not 9"),
        ({"num_players": "three"}, "num_players: input should be a valid integer, not 'three'"),
        ({"gamma": 1.5}, "gamma: input should be less than or equal to 1, not 1.5"),
        ({"n_envs": 0}, "n_envs: input should be greater than or equal to 1, not 0"),
        ({"options": {"lead_peppers": True}}, "donguri has no option 'lead_peppers'"),
        ({"options": {"num_players": True}}, "donguri has no option 'num_players'"),
        (TOO_FEW, "n_envs * n_steps is 4, fewer than batch_size (128)\n"),
        ({"width": 0}, "width: input should be greater than or equal to 1, not 0"),
        ({"width": 4096}, "width: input should be less than or equal to 2048, not 4096"),
        ({"opponents": []}, "opponents: list should have at least 1 item"),
        ({"opponents": ["gredy"]}, "'gredy' is no player"),
        ({"opponent": "gredy"}, "'gredy' is no player"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0, not -1"),
    ],
)
def test_a_wrong_config_is_named_by_its_key_and_what_is_allowed(
    tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    path = write(tmp_path / "wrong.yaml", {**SMALL, **change})
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert expected in f"{caught.value}\n"
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1, 2]", "game: [", "just words"])
def test_a_file_that_is_no_config_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="wrong"):
        load_config(path)


def test_overrides_replace_what_the_file_says(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "c.yaml", SMALL), ["n_epochs=7", "reward=win", "num_deals=null"])
    assert (config.n_epochs, config.reward, config.num_deals) == (7, "win", None)
    for wrong in ("n_epochs", "game.x=1", "n_epochs=[", "stages.0.n_epochs=7", "seed.x=1"):
        with pytest.raises(ConfigError):
            load_config(tmp_path / "c.yaml", [wrong])
    with pytest.raises(ConfigError, match=r"c\.yaml with --set:\n  width: .*, not 0$"):
        load_config(tmp_path / "c.yaml", ["width=0"])


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | NUMBERS | st.text("abcXYZ :-_.é{}[],'\"#&*!|>%@`")
KEY = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12).filter(
    lambda key: key not in ("game", "n_envs", "options")
)


@given(KEY, st.recursive(LEAVES, lambda item: st.lists(item, max_size=3) | st.dictionaries(KEY, item), max_leaves=4))
@example("seed", [[[[[[["deep"]]]]]]])
def test_an_override_sets_one_value_and_no_other(key: str, value: Any) -> None:
    loaded: dict[str, Any] = {"game": "pepper", "n_envs": 8}
    apply_override(loaded, f"{key}={json.dumps(value)}")
    assert loaded == {"game": "pepper", "n_envs": 8, key: value}
    apply_override(loaded, f"options.{key}={json.dumps(value)}")
    assert loaded["options"] == {key: value}


@given(st.text())
@example("n_epochs=2001-99-99")
@example("seed=0b_")
@example("options.5=1")
@example("options=1")
@example("=1")
def test_any_override_is_applied_or_is_an_error_of_the_config(override: str) -> None:
    loaded: dict[str, Any] = {"game": "pepper", "n_envs": 8}
    with contextlib.suppress(ConfigError):
        apply_override(loaded, override)


@given(st.floats(min_value=0.0, max_value=1.0, exclude_min=True))
@example(1e-3)
@example(1e-300)
def test_a_number_is_a_number_however_it_is_written(rate: float) -> None:
    for text in {repr(rate), f"{rate:e}", f"{rate:.17E}", f"{rate:.17e}".replace("e-0", "e-")}:
        loaded: dict[str, Any] = {}
        apply_override(loaded, f"learning_rate={text}")
        assert loaded == {"learning_rate": float(text)}


def test_an_exponent_needs_no_point_in_files_and_overrides(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("game: pepper\nlearning_rate: 1e-3\nent_coef: 2.5e-2\n")
    config = load_config(tmp_path / "c.yaml")
    assert (config.learning_rate, config.ent_coef) == (0.001, 0.025)
    assert load_config(tmp_path / "c.yaml", ["learning_rate=2e-4"]).learning_rate == 0.0002
    assert (read_yaml("[1e3, .5e1, -1E-2]"), read_yaml("[e3, 1e, 12e-, 1_e, 0x1e3]")) == (
        [1000.0, 5.0, -0.01],
        ["e3", "1e", "12e-", "1_e", 0x1E3],
    )


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
    wanted = {"config.yaml", "policy.zip", "policy.onnx", "evaluation.json", "checkpoint.zip", "best_model.zip", "past"}
    assert wanted <= names
    assert not [name for name in names if name.endswith(".tmp")]
    report = json.loads((finished / "evaluation.json").read_text())
    assert [result["opponent"] for result in report["results"]] == ["random", "greedy"]
    assert [set(result) for result in report["results"]] == [
        {"player", "opponent", "deals", "margin", "half_width", "margin_as_one", "half_width_as_one"}
    ] * 2
    assert report["samples"] >= 3000


def test_onnx_file_and_sb3_file_play_the_same_actions(finished: Path) -> None:
    from sb3_contrib import MaskablePPO

    games = BatchEnv("donguri", 64, num_players=3, num_deals=1)
    games.reset(0)
    agent = make_agent(str(finished / "policy.onnx"), games.game)
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


def weights(folder: Path) -> dict[str, Any]:
    from sb3_contrib import MaskablePPO

    return {key: value.numpy() for key, value in MaskablePPO.load(folder / "policy.zip").policy.state_dict().items()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_a_signal_stops_resumes_and_ends_with_the_same_bits(
    finished: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """Wherever the signal comes: here while cards are played, which goes on to the next update."""
    folder, config = tmp_path / "stopped", RunConfig.model_validate(SMALL)

    class Kill(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps == 1312:
                os.kill(os.getpid(), number)
            return True

    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(run.Interrupted, match="--resume --folder") as stopped:
        run.train(config, folder, QUIET, [Kill()])
    assert stopped.value.signal == number
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert not (folder / "policy.onnx").exists()
    with pytest.raises(run.RunError, match="holds a run already"):
        run.train(config, folder, QUIET)
    (resumed,) = json.loads(zipfile.ZipFile(folder / "checkpoint.zip").read("callbacks.json"))
    assert resumed["evaluations"][-1]["samples"] == 1024
    kept = folder / "past" / "1024.zip"
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-100])
    with pytest.raises(run.RunError, match=r"1024\.zip is damaged: delete it"):
        run.resume(folder, QUIET)
    kept.write_bytes(whole)
    assert CliRunner().invoke(app, ["train", "--resume", "--folder", str(folder)]).exit_code == 0
    for key, value in weights(finished).items():
        np.testing.assert_array_equal(value, weights(folder)[key], err_msg=key)
    one, other = (json.loads((path / "evaluation.json").read_text()) for path in (finished, folder))
    assert [{**result, "player": ""} for result in one["results"]] == [
        {**result, "player": ""} for result in other["results"]
    ]
    assert [each["results"] for each in one["report"]["evaluations"]] == [
        each["results"] for each in other["report"]["evaluations"]
    ]
    assert one["report"]["past"] == other["report"]["past"]
    assert {path.name for path in (folder / "past").iterdir()} == {path.name for path in (finished / "past").iterdir()}
    with pytest.raises(run.RunError, match="is finished"):
        run.resume(folder, QUIET)


def test_a_signal_while_a_run_is_measured_stops_it_between_two_deals(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, original, calls = tmp_path / "stopped", run.play_points, []

    def killed(*given: Any) -> Any:
        calls.append(given)
        os.kill(os.getpid(), signal.SIGTERM)
        return original(*given)

    with monkeypatch.context() as patch:
        patch.setattr(run, "play_points", killed)
        with pytest.raises(run.Interrupted, match="--resume --folder"):
            run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    assert len(calls) == 1
    run.resume(folder, QUIET)
    for key, value in weights(finished).items():
        np.testing.assert_array_equal(value, weights(folder)[key], err_msg=key)


class Counting(BaseCallback):
    """A callback as a user of ``trick train --callback`` writes it."""

    counted = 0

    def _on_step(self) -> bool:
        Counting.counted += 1
        return self.num_timesteps < 700


def test_a_run_takes_a_users_callback(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    command = ["train", str(tmp_path / "small.yaml"), "--folder", str(tmp_path / "run")]
    for wrong in ("nowhere.module:Class", "test_training:Nothing", "test_training:QUIET", "test_training", "os:system"):
        found = CliRunner().invoke(app, [*command, "--callback", wrong])
        assert re.match(
            f"(--callback {wrong}: (expected a BaseCallback|TypeError)|'--callback': '{wrong}' cannot be loaded)",
            str(found.exception),
        )
    assert not (tmp_path / "run").exists()
    found = CliRunner().invoke(app, [*command, "--callback", f"{__name__}:Counting"])
    assert found.exit_code == 0, found.output
    assert Counting.counted == 44  # steps of 16 games, up to the one that it has stopped after
    assert json.loads((tmp_path / "run" / "evaluation.json").read_text())["samples"] == 704


class Raising(BaseCallback):
    def _on_step(self) -> bool:
        raise RuntimeError("mine")


class Blind(EvalCallback):
    def __init__(self) -> None:
        super().__init__(make_vec_env("trick_envs/Pepper-v0", n_envs=1))


def test_what_a_users_callback_raises_is_its_own_and_who_is_refused_leaves_no_run(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    command = ["train", str(tmp_path / "small.yaml"), "--folder", str(tmp_path / "run"), "--callback"]
    refused = CliRunner().invoke(app, [*command, f"{__name__}:Blind"])
    assert "without action masks" in str(refused.exception)
    found = CliRunner().invoke(app, [*command, f"{__name__}:Raising"])
    assert found.exception is not None
    assert user_error(found.exception) == f"RuntimeError: mine (raised by callback {__name__}:Raising)"
    assert (tmp_path / "run" / "config.yaml").exists()  # it had begun: it can be resumed


class Twice(BaseCallback):
    """Ctrl-C by an impatient hand, while the first cards are played: the second ends the run at once."""

    def _on_step(self) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return True


def test_a_stopped_run_says_whether_it_was_saved_and_the_command_that_resumes_it(tmp_path: Path) -> None:
    config, folder = write(tmp_path / "small.yaml", SMALL), tmp_path / "my run"
    own = ["--callback", f"{__name__}:Twice"]
    stopped = CliRunner().invoke(app, ["train", str(config), "--folder", str(folder), *own])
    assert stopped.exit_code == 128 + signal.SIGINT, stopped.output
    told, command = stopped.output.splitlines()[-2:]
    assert told == "stopped before anything was saved, and begins again; resume with:"
    assert shlex.split(command) == ["trick", "train", "--resume", "--folder", str(folder), *own]
    assert not (folder / "checkpoint.zip").exists()
    other = write(tmp_path / "other.yaml", {**SMALL, "game": "hearts", "num_players": 4})
    refused = CliRunner().invoke(app, ["train", str(other), "--resume", "--folder", str(folder)])
    assert re.search(r"my run holds a run of <donguri for 3>, not this one$", str(refused.exception))
    assert CliRunner().invoke(app, ["train", str(config), "--resume", "--folder", str(folder)]).exit_code == 0


def test_a_run_whose_reader_goes_away_is_saved(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, written = tmp_path / "stopped", []

    def closed(*values: object, **how: Any) -> None:
        written.append(values)
        if len(written) == 2:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    with monkeypatch.context() as patch:
        patch.setattr(callbacks, "print", closed, raising=False)
        with pytest.raises(
            run.RunError, match="nobody reads what it prints any more; stopped and saved; resume with: "
        ):
            run.train(RunConfig.model_validate(SMALL), folder, Console(file=io.StringIO()))
    assert (folder / "checkpoint.zip").exists()
    run.resume(folder, QUIET)
    for key, value in weights(finished).items():
        np.testing.assert_array_equal(value, weights(folder)[key], err_msg=key)


class Removing(BaseCallback):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def _on_training_start(self) -> None:
        (self.folder / "config.yaml").unlink()
        raise RuntimeError("mine")

    def _on_step(self) -> bool:
        return True


def test_what_stopped_a_run_is_told_also_where_its_files_are_gone(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        run.train(RunConfig.model_validate(SMALL), tmp_path / "run", QUIET, [Removing(tmp_path / "run")])


BOMB = "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in itertools.pairwise("abcdefghijklmnopqrst"))
HOSTILE = {
    "itself": "&a [*a]",
    "itself, as a value": "game: &a {b: *a}",
    "deep": "[" * 1000 + "]" * 1000,
    "deep in blocks": "\n".join(" " * i + "a:" for i in range(2000)),
    "a bomb": "a: &a [x, x]\n" + BOMB,
    "a merge": "a: &a {x: 1}\nb: {<<: *a}",
    "large": "a: " + "x" * 100_000,
    "a tag": "game: !!python/object/apply:os.system [ls]",
    "long": "seed: 0x" + "f" * 20_000,
    "longer": "seed: " + "9" * 20_000,
    "zeros": "game: pepper\0",
    "no number": "seed: !!int ''",
    "no truth value": "seed: !!bool x",
    "no time": "seed: !!timestamp x",
    "no map": "game: pepper\noptions: !!map [1]",
    "twice": "game: pepper\nseed: 1\nseed: 2",
    "half a letter": 'game: pepper\nopponents: ["\\ud800.onnx"]',
    "a long name": f"game: pepper\nopponents: [{'x' * 300}.onnx]",
    "more than a machine has": "game: pepper\nn_envs: 1000000000000",
    "more than anybody waits for": "game: pepper\nfinal_deals: 100000000000000000000",
    "more threads than there are": "game: pepper\nthreads: 10000000",
    "more samples than a float counts": f"game: pepper\ntotal_samples: {10**400}",
    "a bonus without end": "game: pepper\nent_coef: .inf",
    "a bonus that float32 cannot hold": "game: pepper\nent_coef: 1e308",
    "such a bonus at the end": "game: pepper\nfinal_ent_coef: 1e39",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_config_is_one_error_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "hostile.yaml").write_text(text)
    begun = time.process_time()
    with pytest.raises(ConfigError, match=r"hostile\.yaml") as caught:
        load_config(tmp_path / "hostile.yaml")
    assert len(str(caught.value)) < 2000
    with contextlib.suppress(ConfigError):
        apply_override({"game": "pepper"}, f"options={text}")
    assert time.process_time() - begun < 5


def test_what_is_no_file_is_no_config(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"game: p\xe9pper")
    for name, expected in (("pipe.yaml", "expected a file"), ("latin.yaml", "UTF-8"), ("no.yaml", "No such file")):
        with pytest.raises(ConfigError, match=expected):
            load_config(tmp_path / name)


CODE = [
    "os:system",
    "random:sample",
    "json.decoder:JSONDecoder.decode",
    "program:./player",
    "program:player?a&b",
    "llm:model@http://localhost:1",
]


@pytest.mark.parametrize("spec", CODE)
@pytest.mark.parametrize("key", ["opponent", "opponents"])
def test_a_config_runs_no_code_unless_it_is_trusted(tmp_path: Path, key: str, spec: str, monkeypatch) -> None:
    path = write(tmp_path / "c.yaml", {**SMALL, key: [spec] if key == "opponents" else spec})
    made: list[str] = []
    monkeypatch.setattr("training.config.make_agent", lambda spec, game: made.append(spec))
    with pytest.raises(ConfigError, match="runs a program or a Python function") as caught:
        load_config(path)
    assert spec in str(caught.value)
    assert spec not in made
    load_config(path, trust=True)
    assert spec in made


def test_players_that_are_no_code_need_no_trust(tmp_path: Path, finished: Path) -> None:
    policy = str(finished / "policy.onnx")
    specs = ["greedy", "pimc:2", "pretrained:sample", "pretrained+ismcts:2", f"{policy}:sample", f"{policy}+rollout:2"]
    assert load_config(write(tmp_path / "c.yaml", {**SMALL, "opponents": specs})).opponents == specs


def test_two_runs_that_differ_in_seed_and_progress_do_not_share_a_random_stream() -> None:
    assert [stream_seed(seed, 0) for seed in (0, 7, 2**32 - 1)] == [0, 7, 2**32 - 1]  # a run that begins has its own
    found = [stream_seed(seed, done) for seed in (0, 1, 2, 2**32 - 1) for done in (1, 2, 3, 512, 10**9)]
    assert len({*found, *range(600)}) == len(found) + 600
    assert all(0 <= seed < 2**32 for seed in found)


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder), pytest.raises(FolderInUseError, match="run is in use: another process is writing to it"):
        run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    assert not (folder / "config.yaml").exists()
    (folder / "config.yaml").write_text(dump_config(RunConfig.model_validate(SMALL)))
    with locked(folder), pytest.raises(FolderInUseError, match="run is in use: another process is writing to it"):
        run.resume(folder, QUIET)


@pytest.mark.parametrize("name", run.FILES)
def test_a_folder_in_the_place_of_a_file_is_told_before_a_run_learns(tmp_path: Path, name: str) -> None:
    """A checkpoint.zip of this kind counted as none, and the run failed when it was saved."""
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(ValueError, match=f"{Path(name).name} cannot be written: Is a directory"):
        run.train(RunConfig.model_validate(SMALL), tmp_path, QUIET)
    write(tmp_path / "config.yaml", SMALL)
    if name != "evaluation.json":  # which says that the run is finished
        with pytest.raises(ValueError, match=f"{Path(name).name} cannot be written: Is a directory"):
            run.resume(tmp_path, QUIET)


def test_a_folder_whose_name_is_no_utf_8_is_told_before_a_run_learns(tmp_path: Path) -> None:
    with pytest.raises(run.RunError, match="expected a folder whose name is UTF-8"):
        run.train(RunConfig.model_validate(SMALL), tmp_path / "run\udcff", QUIET)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a run that has made one update."""
    path, config = tmp_path_factory.mktemp("begun") / "checkpoint.zip", RunConfig.model_validate(SMALL)
    run.new_model(config, run.games_of(config)).learn(1, callback=ExactCheckpoint(path, 1))
    return path


OTHERS = {
    "game": "pepper", "num_players": 4, "num_deals": 2, "reward": "win", "opponent": "greedy", "seed": 9, "width": 8,
    "n_steps": 16, "n_envs": 32, "batch_size": 64, "learning_rate": 0.001, "opponents": ["random"],
}  # fmt: skip


@pytest.mark.parametrize("key", OTHERS)
def test_a_config_that_was_edited_is_told_when_a_run_goes_on(begun: Path, tmp_path: Path, key: str) -> None:
    """The model is what the checkpoint says: another width in the config was believed by nobody but the report."""
    shutil.copy(begun, tmp_path / "checkpoint.zip")
    write(tmp_path / "config.yaml", {**SMALL, key: OTHERS[key]})
    other_games = key in ("game", "num_players", "n_envs")
    told = r"checkpoint\.zip: .*expected the (same )?game" if other_games else f"config.yaml has changed .*: {key} was"
    with pytest.raises((ValueError, run.RunError), match=told):
        run.resume(tmp_path, QUIET)


def test_what_may_change_in_a_config_takes_effect_when_a_run_goes_on(begun: Path, tmp_path: Path) -> None:
    shutil.copy(begun, tmp_path / "checkpoint.zip")
    changed = {"total_samples": 1, "final_deals": 2, "evaluate_every": 100, "checkpoint_every": 100, "threads": 1}
    write(tmp_path / "config.yaml", {**SMALL, **changed, "deals": 1})
    assert set(changed) | {"deals", "device"} == run.MAY_CHANGE
    assert run.resume(tmp_path, QUIET)[0].deals == 2


@pytest.mark.parametrize("options", [[], ["--resume"]])
def test_a_folder_in_place_of_a_config_is_told_how_its_run_goes_on(tmp_path: Path, options: list[str]) -> None:
    """It was a run that there is not, in ``runs``, under the folder's name."""
    done = CliRunner().invoke(app, ["train", *options, str(tmp_path)])
    assert done.exit_code != 0
    assert f"--resume --folder {tmp_path}" in " ".join(str(done.exception).split())


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(run.RunError, match="no run to resume"):
        run.resume(tmp_path, QUIET)


def test_a_policy_refuses_another_table(finished: Path, tmp_path: Path) -> None:
    path = str(finished / "policy.onnx")
    with pytest.raises(ValueError, match="number of players 3, but this is 4"):
        make_agent(path, load_game("donguri", 4))
    with pytest.raises(ValueError, match="game 'donguri', but this is 'pepper'"):
        make_agent(path, load_game("pepper", 3))
    with pytest.raises(ValueError, match="no such policy file"):
        make_agent(str(tmp_path / "none.onnx"), load_game("donguri", 3))
    (tmp_path / "junk.onnx").write_bytes(b"not a policy")
    with pytest.raises(ValueError, match="not a policy of trick_envs"):
        make_agent(str(tmp_path / "junk.onnx"), load_game("donguri", 3))


def test_search_makes_more_of_a_policy(finished: Path) -> None:
    path, game = str(finished / "policy.onnx"), load_game("donguri", 3, 1)
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
    sampler = make_agent(f"{finished / 'policy.onnx'}:sample", games.game)
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
    make_agent(str(finished / "policy.onnx"), load_game("donguri", 3))


def test_a_player_against_itself_has_no_margin() -> None:
    game = load_game("donguri", 3)
    result = evaluate(game, GreedyAgent(game), GreedyAgent(game), 50)
    assert result.margin == pytest.approx(0)  # every deal is played from every seat: luck cancels to the last point
    assert result.half_width == pytest.approx(0)


def test_duplicate_deals_have_the_same_cards_for_every_seating() -> None:
    game = load_game("pepper", 4)
    points = play_deals(game, (GreedyAgent(game), GreedyAgent(game)), np.arange(11, 31, dtype=np.uint64))
    assert points.shape == (20, 2 * len(seatings(game)), 4)
    assert (points == points[:, :1]).all()


@pytest.mark.parametrize(("name", "players"), [("pepper", 5), ("donguri", 4)])
def test_greedy_beats_random_by_a_wide_margin(name: str, players: int) -> None:
    game = load_game(name, players)
    result = evaluate(game, GreedyAgent(game), RandomAgent(), 200)
    assert result.margin - result.half_width > 2


# --- the protocol -------------------------------------------------------------------------------------------------


def test_the_lineups_of_a_deal_are_one_among_others_both_ways_and_two_against_two() -> None:
    assert lineups(load_game("donguri", 3)).tolist() == [
        [0, 1, 1], [1, 0, 1], [1, 1, 0],
        [1, 0, 0], [0, 1, 0], [0, 0, 1],
    ]  # fmt: skip
    assert lineups(load_game("double_deck_whist", 4)).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]


def played(game: Any, players: Any, *deals: Any, seatings: str = "alone") -> Any:
    """The margins of deals."""
    return margins_of(game, play_points(game, players, *deals, seatings=seatings), seatings)


@pytest.mark.parametrize(("name", "players"), [("donguri", 3), ("double_deck_whist", 4)])
def test_a_margin_is_what_a_player_has_more_than_its_opponent_per_seat_both_ways(name: str, players: int) -> None:
    game, seed, deals = load_game(name, players, 1), 5, 6
    greedy, chance = GreedyAgent(game), RandomAgent()
    margins = played(game, (greedy, chance), Purpose.FINAL, seed, 2, deals)
    chance.seed(player_seeds(Purpose.FINAL, seed)[1])
    points = play_deals(game, (greedy, chance), match_seeds(Purpose.FINAL, seed, 2, deals))
    who = lineups(game).tolist()
    for deal in range(deals):
        ways: dict[int, list[float]] = {}
        for lineup, scores in zip(who, points[deal].tolist(), strict=True):
            own = [score for score, index in zip(scores, lineup, strict=True) if index == 0]
            others = [score for score, index in zip(scores, lineup, strict=True) if index == 1]
            margin = sum(own) / len(own) - sum(others) / len(others)
            ways.setdefault(len(own), []).append(margin)
        alone = sum(ways[min(ways)]) / len(ways[min(ways)])
        among = sum(ways[max(ways)]) / len(ways[max(ways)])
        assert margins[deal].tolist() == pytest.approx([alone, among])
        assert (len(ways) == 1) == game.type.teams


def test_a_result_has_the_mean_of_both_ways_and_the_margin_as_the_only_one() -> None:
    result = make_result("a", "b", [[1.0, 5.0], [3.0, 6.0], [8.0, 4.0]])
    assert (result.player, result.opponent, result.deals) == ("a", "b", 3)
    assert (result.margin, result.margin_as_one) == (4.5, 4.0)
    assert result.half_width == half_width_95([3.0, 4.5, 6.0])
    assert result.half_width_as_one == half_width_95([1.0, 3.0, 8.0])


def test_an_evaluation_does_not_depend_on_how_its_deals_are_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game("donguri", 3, 1)
    players = make_agent("random", game), make_agent("greedy", game)
    whole = played(game, players, Purpose.VALIDATION, 3, 0, 30)
    parts = [played(game, players, Purpose.VALIDATION, 3, first, 10) for first in (0, 10, 20)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    monkeypatch.setattr("trick_envs.evaluation.duplicate.MAX_GAMES", 7)
    batches: list[int] = []
    np.testing.assert_array_equal(whole, played(game, players, Purpose.VALIDATION, 3, 0, 30, batches.append))
    assert batches == [1] * 30


def test_another_seed_or_purpose_is_another_evaluation() -> None:
    game = load_game("donguri", 3, 1)
    greedy, chance = GreedyAgent(game), RandomAgent()
    found = {evaluate(game, greedy, chance, 20, seed, purpose).margin for seed in (0, 1) for purpose in Purpose}
    assert len(found) == 2 * len(Purpose)
    assert evaluate(game, greedy, chance, 20) == evaluate(game, greedy, chance, 20, 0, Purpose.VALIDATION)


# --- files and speed ----------------------------------------------------------------------------------------------


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half of the n", encoding="utf-8")
            assert path.read_text() == "old"
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert path.read_text() == "old"
    write_text(path, "new")
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_hearts_is_measured_beside_openspiels_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(bench, "SECONDS", 0.001)
    monkeypatch.setattr(bench, "RUNS", 1)
    figures = bench.run_bench(["peers"], [], QUIET)["peers"]
    assert len(figures) == 7
    assert sum("OpenSpiel" in name for name in figures) == 4
    assert min(figures.values()) > 0
    monkeypatch.setattr(bench, "SECTIONS", dict.fromkeys(bench.ON_DEMAND, ""))
    assert bench.run_bench([], [], QUIET) == {}


def test_batches_are_measured_at_two_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SECONDS", 0.001)
    sizes: list[int] = []
    original = BatchEnv.reset
    monkeypatch.setattr(BatchEnv, "reset", lambda self, seed: sizes.append(self.num_envs) or original(self, seed))
    figures = bench.run_bench(["batch", "batch_4096"], ["donguri-3"], QUIET)
    assert sizes == [512, 4096]
    assert [list(measured) for measured in figures.values()] == [["donguri-3"]] * 2
    assert all(rate > 0 for measured in figures.values() for rate in measured.values())
    with pytest.raises(ValueError, match="there is no section 'speed'; expected playouts, batch, batch_4096"):
        bench.run_bench(["speed"], [], QUIET)


def test_all_seatings_are_every_way_to_seat_both_players() -> None:
    four = lineups(load_game("hearts"), "all")
    assert len(four) == 14
    assert {tuple(row) for row in four.tolist()} == set(itertools.product((0, 1), repeat=4)) - {(0,) * 4, (1,) * 4}
    assert len(lineups(load_game("pepper"), "all")) == 30
    with pytest.raises(ValueError, match="played by teams, which stay together"):
        lineups(load_game("double_deck_whist"), "all")
    with pytest.raises(ValueError, match="seatings: expected 'alone' or 'all', not 'some'"):
        lineups(load_game("pepper"), "some")


def test_a_margin_over_all_seatings_counts_every_seat_once() -> None:
    game, seed, deals = load_game("donguri", 3, 1), 5, 6
    greedy, chance = GreedyAgent(game), RandomAgent()
    margins = played(game, (greedy, chance), Purpose.FINAL, seed, 2, deals, seatings="all")
    np.testing.assert_array_equal(
        margins[:, :2], played(game, (greedy, chance), Purpose.FINAL, seed, 2, deals)
    )  # with three seats, all seatings are those of one alone, both ways
    chance.seed(player_seeds(Purpose.FINAL, seed)[1])
    who = lineups(game, "all")
    points = play_deals(game, (greedy, chance), match_seeds(Purpose.FINAL, seed, 2, deals), None, who)
    for deal in range(deals):
        own, others = (points[deal][who == index] for index in (0, 1))
        assert len(own) == len(others) == 9
        assert margins[deal, 2] == pytest.approx(own.mean() - others.mean())
    turned = reverse_margins(margins)
    assert turned.tolist() == [[-many, -one, -every] for one, many, every in margins.tolist()]
    assert make_result("greedy", "random", margins).margin == pytest.approx(margins[:, 2].mean())
    assert make_result("greedy", "random", margins).margin_as_one == pytest.approx(margins[:, 0].mean())
