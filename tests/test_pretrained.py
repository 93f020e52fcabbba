"""Trained policies that come with the games, releasing one, and configs that come with the package."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from helpers import TABLES, every_table, write_policy

pytest.importorskip("sb3_contrib")
from typer.testing import CliRunner

from training import release, run, shipped
from training.config import ConfigError, RunConfig, dump_config, load_config, make_config
from training.initial import network_of
from training.network import SuitPolicy
from training.release import MAX_BYTES, finished_run, training_command
from training.shipped import config_names, find_config
from trick_envs import BatchEnv, export_policy, load_game, make_agent
from trick_envs.agents import RandomAgent, pretrained
from trick_envs.agents.pretrained import load_manifest, manifest_file, policies_folder, pretrained_file
from trick_envs.cli import app
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_names, game_type
from trick_envs.errors import InputError
from trick_envs.evaluation.arena import Player, make_plan, play_arena
from trick_envs.evaluation.duplicate import Result, evaluate
from trick_envs.evaluation.seeds import Purpose, match_seeds
from trick_envs.files import write_signed_json

ROOT = Path(__file__).parent.parent
GAME = load_game("donguri", 3, 1)
LADDER = ("random", "greedy", "pimc:10", "ismcts:1000")


def command(*arguments: str | Path) -> str:
    """Runs ``trick`` in this process; returns what it prints."""
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(argument) for argument in arguments])
    if found.exception is not None:
        raise found.exception
    return found.output


def check_release(name: str, players: int) -> dict[str, Any]:
    """What holds for every released policy; returns its manifest."""
    path = pretrained_file(game_type(name), players)
    manifest, content = load_manifest(path), path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == manifest["sha256"]
    assert len(content) == manifest["size"] <= MAX_BYTES
    assert (manifest["game"], manifest["num_players"]) == (name, players)
    config = RunConfig.model_validate(manifest["config"])
    assert config.make_game() == load_game(name, players, config.num_deals)
    assert manifest["command"] == training_command(config)
    assert tuple(result["opponent"] for result in manifest["ladder"]["results"]) == LADDER
    assert {result["player"] for result in manifest["ladder"]["results"]} == {"pretrained"}
    assert set(manifest["versions"]) == {"trick_envs", "torch", "numpy", "python"}
    assert manifest["seeds"]["training"] == config.seed
    assert manifest["seeds"]["ladder"] in (0, int(manifest["sha256"][:8], 16))  # 0: of those before
    assert min(manifest["parameters"], manifest["seconds"]) > 0
    for tried in manifest.get("exploitability", []):  # what deviators have won: docs/cards.py
        assert set(tried) == {"deviator", "margin", "half_width", "command"}
        assert tried["half_width"] > 0
        assert tried["command"].startswith("trick ")
    return manifest


# --- those of the built-in games ----------------------------------------------------------------------------------


@every_table
def test_every_policy_fits_its_manifest_and_beats_random_play(name: str, players: int) -> None:
    check_release(name, players)
    game = load_game(name, players, 1)
    found = evaluate(game, make_agent("pretrained", game), RandomAgent(), 50)
    assert found.margin - found.half_width > 0


@every_table
def test_training_can_go_on_from_every_policy(name: str, players: int) -> None:
    path = pretrained_file(game_type(name), players)
    game = load_game(name, players, 1)
    network = network_of("pretrained", game)
    trained = RunConfig.model_validate(load_manifest(path)["config"])
    assert network == {"width": trained.width, "depth": trained.depth}
    config = make_config({"game": name, "num_players": players, "init_from": "pretrained", **network}, "a test")
    policy = run.new_model(config, run.games_of(config)).policy
    policy._precision = "float32"
    games = BatchEnv(name, 64, num_players=players)
    games.reset(seed=1)
    with torch.no_grad():
        logits, values = policy.logits_and_values(torch.from_numpy(games.observations), games.action_masks)
    for found, expected in zip(
        (logits.numpy(), values.squeeze(1).numpy()),
        make_agent("pretrained", game).evaluate(games.observations, games.action_masks),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_there_is_a_policy_for_every_game_and_number_of_players() -> None:
    released = [(name, players) for name, players in TABLES if pretrained_file(game_type(name), players).is_file()]
    assert released == TABLES


def test_there_is_nothing_else_in_their_folders() -> None:
    for game in map(game_type, game_names()):
        policies = [pretrained_file(game, players) for players in game.players]
        assert set(policies_folder(game).glob("*")) <= {*policies, *map(manifest_file, policies)}


# --- the player ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the policies of all games, instead of the games' own; it is empty."""
    path = tmp_path / "policies"
    path.mkdir()
    monkeypatch.setattr(pretrained, "policies_folder", lambda game: path)
    return path


def begun(game: Game) -> BatchEnv:
    games = BatchEnv(game.name, 32, game.num_players, **game.options)
    games.reset(1)
    return games


@pytest.mark.parametrize("more", ["", ":sample", "+pimc:3", "+ismcts:20", "+search:20"])
def test_the_player_is_the_policy_of_the_game_and_its_number_of_players(folder: Path, more: str) -> None:
    for players in (3, 4):
        game = load_game("donguri", players)
        path = write_policy(folder / f"donguri-{players}.onnx", game)
        games = begun(game)
        agent, same = (make_agent(f"{one}{more}", game, 5) for one in ("pretrained", path))
        assert agent.name == f"pretrained{more}"
        actions = [one.act(games.observations, games.action_masks, games.states) for one in (agent, same)]
        np.testing.assert_array_equal(*actions)


def test_a_policy_plays_with_every_option_of_its_game(folder: Path) -> None:
    game = load_game("pepper", 5, lead_peppers=True)
    write_policy(folder / "pepper-5.onnx", load_game("pepper", 5))
    games = begun(game)
    actions = make_agent("pretrained", game).act(games.observations, games.action_masks)
    assert games.action_masks[np.arange(32), actions].all()


def test_a_policy_that_has_learned_other_rules_is_told_where_it_plays(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """The commands play by a game's own rules: what a run with options learned was measured by others in silence."""
    special, own = load_game("pepper", 5, lead_peppers=True), load_game("pepper", 5)
    learned, usual = write_policy(tmp_path / "learned.onnx", special), write_policy(tmp_path / "usual.onnx", own)
    for path, game in ((learned, special), (usual, own), (usual, special)):
        make_agent(str(path), game)
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"learned\.onnx: .* has learned other rules, with lead_peppers=True"):
        make_agent(str(learned), own)


def test_where_there_is_none_the_error_says_which_there_are(folder: Path) -> None:
    expected = r"no trained policy for pepper with 9 players \(pepper has none; .*train one with 'trick train CONFIG'"
    for spec in ("pretrained", "pretrained:sample", "pretrained+ismcts:100"):
        with pytest.raises(ValueError, match=expected):
            make_agent(spec, load_game("pepper", 9))
    for players in (3, 5):
        write_policy(folder / f"pepper-{players}.onnx", load_game("pepper", players))
    with pytest.raises(ValueError, match=r"with 9 players \(those of pepper are for 3, 5 players;"):
        gymnasium.make("trick_envs/Pepper-v0", opponents="pretrained", num_players=9)
    with pytest.raises(ConfigError, match="'pretrained': there is no trained policy for donguri with 4 players"):
        make_config({"game": "donguri", "opponents": ["pretrained"]}, "a config")
    write_policy(folder / "donguri-4.onnx", load_game("donguri", 4))
    assert make_config({"game": "donguri", "opponent": "pretrained"}, "a config").measured_against[0] == "pretrained"


@pytest.mark.parametrize("spec", ["pretrained:", "pretrained-5", "Pretrained"])
def test_a_misspelt_player_is_none(folder: Path, spec: str) -> None:
    with pytest.raises(ValueError, match=r"is no player: expected .* or 'pretrained'"):
        make_agent(spec, GAME)
    with pytest.raises(ValueError, match="'nonsense' is no search"):
        make_agent("pretrained+nonsense", GAME)


def test_it_is_an_opponent(folder: Path) -> None:
    path = write_policy(folder / "pepper-5.onnx", load_game("pepper"))

    def single(opponents: Any) -> Any:
        env = gymnasium.make("trick_envs/Pepper-v0", opponents=opponents, num_deals=1)
        _, info = env.reset(seed=3)
        over = False
        while not over:
            _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
        return env.unwrapped.record()  # type: ignore[attr-defined]

    def batch(opponents: Any) -> list[bytes]:
        kind: Any = {"vectorization_mode": "vector_entry_point", "num_deals": 1}
        envs = gymnasium.make_vec("trick_envs/Pepper-v0", 5, opponents=opponents, **kind)
        _, infos = envs.reset(seed=3)
        seen = []
        for _ in range(5):
            observations, _, _, _, infos = envs.step(infos["action_mask"].argmax(axis=1))
            seen.append(observations.tobytes())
        return seen

    for play in (single, batch):
        assert play("pretrained") == play(str(path)) != play("random")
        mixed = [[spec, "random", spec, "greedy"] for spec in ("pretrained", str(path))]
        assert play(mixed[0]) == play(mixed[1])


def test_a_plug_in_ships_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ROOT / "tests" / "example_game" / "src"
    shutil.copytree(source, tmp_path / "site", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.syspath_prepend(tmp_path / "site")
    from slobberhannes_game.slobberhannes import GAME as SLOBBERHANNES

    game = Game(SLOBBERHANNES, 4, 1, {})
    path = tmp_path / "site" / "slobberhannes_game" / "slobberhannes" / "policies" / "slobberhannes-4.onnx"
    assert pretrained_file(SLOBBERHANNES, 4) == path
    with pytest.raises(ValueError, match="no trained policy for slobberhannes with 4 players"):
        make_agent("pretrained", game)
    path.parent.mkdir()
    write_policy(path, game)
    assert make_agent("pretrained", game).name == "pretrained"
    for module in [module for module in sys.modules if module.partition(".")[0] == "slobberhannes_game"]:
        del sys.modules[module]


def test_in_an_arena_another_policy_is_another_player(folder: Path, tmp_path: Path) -> None:
    path = write_policy(folder / "donguri-3.onnx", GAME)
    copy = Path(shutil.copy(path, tmp_path / "copy.onnx"))
    specs = ["pretrained", "pretrained:sample", "pretrained+pimc:1", str(copy), "random"]
    players = make_plan(GAME, specs).players
    assert len({player.digest for player in players[:4]}) == 1
    assert players[0].id == f"pretrained@{players[0].digest}"
    assert [Player(spec).searches for spec in specs] == [False, False, True, False, False]
    write_policy(path, GAME, np.arange(GAME.num_actions)[::-1])
    again = make_plan(GAME, specs).players
    assert [new.id != old.id for new, old in zip(again, players, strict=True)] == [True, True, True, False, False]


def test_in_an_arena_it_does_not_matter_where_the_file_lies(folder: Path, tmp_path: Path) -> None:
    """Opponents with random choices have the same seed, whatever the spec of the policy."""
    path = write_policy(folder / "donguri-3.onnx", GAME)
    found = []
    for spec in ("pretrained", str(path), str(shutil.copy(path, tmp_path / "copy.onnx"))):
        for rival in ("random", "pimc:1"):
            results = play_arena(make_plan(GAME, [spec, rival], 20), tmp_path / "arena").results
            found.append((rival, results[spec, rival].margin, results[rival, spec].half_width))
    assert len(set(found)) == 2


# --- releasing a policy -------------------------------------------------------------------------------------------

LIKES_LOW = np.arange(GAME.num_actions)[::-1]


@pytest.fixture(autouse=True)
def _short_meetings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "MEETING_DEALS", 20)
    monkeypatch.setattr(release, "LADDER", ("random", "greedy"))


def finish(path: Path, likes: Any = None, **values: Any) -> Path:
    """The folder of a finished run of a simple policy."""
    path.mkdir(parents=True)
    config = RunConfig.model_validate({"game": "donguri", "num_players": 3, "seed": 7, **values})
    (path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    write_policy(path / "policy.onnx", config.make_game(), likes)
    difference = {"deal": 0, "seat": 1, "own": 2.0, "theirs": -1.0}
    report = {
        "evaluations": [], "past": [], "cross": [], "weights": 1, "strongest": config.opponents[0],
        "best_and_worst": [difference, difference], "provenance": {"torch": "2.8.0", "date": "2026-01-01"},
    }  # fmt: skip
    results = [Result("policy.onnx", config.opponents[0], 2, 0.5, 1.0, 0.5, 1.0).as_dict()]
    evaluation = {"game": "donguri", "results": results, "samples": 1234, "seconds": 5.6, "report": report}
    write_signed_json(path / "evaluation.json", evaluation)
    return path


def test_a_trained_policy_is_released_with_its_manifest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trick_envs import export_policy

    monkeypatch.setattr(release, "LADDER", LADDER)
    config = RunConfig.model_validate({"game": "donguri", "num_players": 3, "width": 16, "depth": 1})
    network = run.new_model(config, run.games_of(config)).policy
    export_policy(network, GAME, finish(tmp_path / "run", width=16, depth=1) / "policy.onnx", {})
    printed = command("release", tmp_path / "run", "--deals", "4")
    path = folder / "donguri-3.onnx"
    assert path.read_bytes() == (tmp_path / "run" / "policy.onnx").read_bytes()
    assert {each.name for each in folder.iterdir()} == {"donguri-3.onnx", "donguri-3.json"}
    assert "written: " in printed
    manifest = check_release("donguri", 3)
    assert (manifest["samples"], manifest["seconds"]) == (1234, 5.6)
    assert manifest["versions"]["torch"] == "2.8.0"  # with which it was trained, not with which it is released
    assert manifest["config"] == {**config.model_dump(), "seed": 7}
    assert manifest["parameters"] == pytest.approx(sum(weights.numel() for weights in network.parameters()), rel=0.2)
    measured = manifest["ladder"]["command"]
    seed = int(manifest["sha256"][:8], 16)
    assert measured == f"trick evaluate pretrained --game donguri --num-players 3 --deals 4 --split test --seed {seed}"
    together = "each of the 4 alone; all of them hold at once in 80 % of all cases or more"
    assert manifest["ladder"]["intervals"] == together
    assert together in " ".join(printed.split())
    assert manifest["seeds"]["ladder"] == seed
    command(*shlex.split(measured)[1:], "--folder", tmp_path / "again", "--json", tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["results"] == manifest["ladder"]["results"]
    listed = command("policies")
    assert "donguri-3" in listed
    assert "ismcts:1000" in listed
    assert all(f"{result['margin']:+.2f}" in listed for result in manifest["ladder"]["results"])
    assert "…" not in listed


def test_only_a_better_policy_replaces_another(folder: Path, tmp_path: Path) -> None:
    low, high = finish(tmp_path / "low", LIKES_LOW), finish(tmp_path / "high")
    agents = [make_agent(str(one / "policy.onnx"), GAME) for one in (low, high)]
    margin = evaluate(GAME, agents[0], agents[1], 20).margin
    better, worse = (low, high) if margin > 0 else (high, low)
    path = folder / "donguri-3.onnx"
    command("release", worse, "--deals", "2")
    assert path.read_bytes() == (worse / "policy.onnx").read_bytes()
    assert f"{abs(margin):+.2f}" in command("release", better, "--deals", "2")
    assert path.read_bytes() == (better / "policy.onnx").read_bytes()
    held = manifest_file(path).read_bytes()
    with pytest.raises(ValueError, match=r"policy.onnx is not better than .*donguri-3.onnx, which stays"):
        command("release", worse, "--deals", "2")
    assert path.read_bytes() == (better / "policy.onnx").read_bytes()
    assert manifest_file(path).read_bytes() == held
    command("release", worse, "--deals", "2", "--force")
    assert path.read_bytes() == (worse / "policy.onnx").read_bytes()
    assert load_manifest(path)["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_manifest_that_cannot_be_written_is_noticed_before_the_ladder(folder: Path, tmp_path: Path) -> None:
    finished = finish(tmp_path / "run")
    (folder / "donguri-3.json").mkdir()
    with pytest.raises(InputError, match=r"donguri-3\.json cannot be written: Is a directory"):
        command("release", finished, "--deals", "2")
    assert not (finished / "release").exists()
    assert not (folder / "donguri-3.onnx").exists()


def test_releasing_a_policy_again_measures_its_ladder_again(folder: Path, tmp_path: Path) -> None:
    finished = finish(tmp_path / "run")
    command("release", finished, "--deals", "2")
    command("release", finished, "--deals", "3")
    assert not (finished / "release" / "validation").exists()
    assert (finished / "release" / "test").is_dir()
    assert [one["deals"] for one in load_manifest(folder / "donguri-3.onnx")["ladder"]["results"]] == [3, 3]


STRANGE = (None, True, -1.0, math.nan, 10**400, "x", [None], {"player": "x"})


def test_a_damaged_evaluation_of_a_run_is_refused_by_its_name(tmp_path: Path) -> None:
    finished = finish(tmp_path / "run")
    path = finished / "evaluation.json"
    good = json.loads(path.read_text())
    finished_run(finished)
    edits = [{**good, key: value} for key in ("results", "samples", "seconds") for value in STRANGE]
    fields = good["results"][0]
    edits += [
        {**good, "results": [{**fields, key: value}]} for key in fields for value in STRANGE
        if not (value is None and "width" in key) and not (value == "x" and key in ("player", "opponent"))
        and not (value == -1.0 and "margin" in key)
    ]  # fmt: skip
    for content in (*(json.dumps(edit) for edit in edits), "", "[" * 100_000, "9" * 5000, "[]", "null"):
        path.write_text(content)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}: "):
            finished_run(finished)


def test_a_damaged_manifest_is_refused_by_its_name(folder: Path, tmp_path: Path) -> None:
    command("release", finish(tmp_path / "run"), "--deals", "2")
    path = folder / "donguri-3.json"
    good = json.loads(path.read_text())
    edits = [{**good, key: value} for key in ("ladder", "seconds", "size") for value in STRANGE if value != -1.0]
    edits += [{**good, "ladder": {"results": value}} for value in STRANGE]
    edits += [{**good, "ladder": {"results": [{**good["ladder"]["results"][0], "margin": "x"}]}}]
    for content in (*map(json.dumps, edits), "", "[" * 100_000, "[]"):
        path.write_text(content)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}: "):
            command("policies")


def test_the_ladder_is_measured_on_other_deals_than_those_that_decide(folder: Path, tmp_path: Path) -> None:
    for number, likes in enumerate((None, LIKES_LOW)):
        command("release", finish(tmp_path / str(number), likes), "--deals", "2", "--force")
    found = finished_run(tmp_path / "0")
    meeting = found.meeting()
    assert meeting is not None
    assert [plan.purpose.name for plan in (meeting, found.ladder(2))] == ["VALIDATION", "TEST"]


def test_every_policy_has_test_deals_of_its_own(tmp_path: Path) -> None:
    found = [
        finished_run(finish(tmp_path / str(number), likes)) for number, likes in enumerate((None, LIKES_LOW, None))
    ]
    one, other, same = [
        match_seeds(Purpose.TEST, run.ladder(2).seed, 0, 200).tolist() for run in found
    ]  # fmt: skip
    assert one == same
    assert not set(one) & set(other)


def test_the_network_of_the_largest_table_can_be_released(tmp_path: Path) -> None:
    """What counts its cards is in the file, too: whole numbers, of which most are 0."""
    game, width = load_game("pepper", 9), load_config(find_config("pepper-9")).width
    export_policy(SuitPolicy.for_game(game, width), game, tmp_path / "policy.onnx")
    assert (tmp_path / "policy.onnx").stat().st_size <= MAX_BYTES


def test_what_cannot_be_released_is_said(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty holds no finished run \(there is no config.yaml and no policy.onnx"):
        finished_run(tmp_path / "empty")
    with pytest.raises(ValueError, match="holds a best response to greedy"):
        finished_run(finish(tmp_path / "response", opponent="greedy"))
    options = {"game": "pepper", "num_players": 3, "options": {"lead_peppers": True}}
    with pytest.raises(
        ValueError, match=r"holds a run with options \{'lead_peppers': True\}: expected \{'lead_peppers': False\}"
    ):
        finished_run(finish(tmp_path / "options", **options))
    large = finish(tmp_path / "large")
    with (large / "policy.onnx").open("ab") as file:
        file.write(bytes(MAX_BYTES))
    with pytest.raises(ValueError, match=r"has 50\d,\d\d\d bytes: expected at most 500,000"):
        finished_run(large)
    with pytest.raises(ValueError, match=r"donguri-3.json: not readable as the manifest of donguri-3.onnx"):
        load_manifest(write_policy(folder / "donguri-3.onnx", GAME))
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [
        [],
        ["seed=3", "opponents=[greedy, random]", "learning_rate=0.0003"],
    ],
)
@pytest.mark.parametrize("name", config_names())
def test_the_command_of_a_manifest_trains_with_its_config(name: str, change: list[str]) -> None:
    config = load_config(find_config(name), change)
    trick, train, config_name, *rest = shlex.split(training_command(config))
    assert (trick, train) == ("trick", "train")
    assert load_config(find_config(config_name), rest[1::2]) == config
    assert rest[::2] == ["--set"] * len(change)


# --- configs by name ----------------------------------------------------------------------------------------------


def test_a_config_is_found_by_its_path_or_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_config("quickstart") == ROOT / "configs" / "quickstart.yaml"
    monkeypatch.chdir(tmp_path)
    Path("quickstart").mkdir()
    Path("own.yaml").touch()
    assert find_config("quickstart") == ROOT / "configs" / "quickstart.yaml"
    assert find_config("own.yaml") == Path("own.yaml")
    for wrong in ("own", "quickstart.yaml", "configs/quickstart.yaml", "../configs/quickstart", ""):
        with pytest.raises(ValueError, match=r"no such file, and no such config in .*one of donguri.*quickstart"):
            find_config(wrong)


def test_a_run_is_named_after_its_config(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[Any, Path]] = []
    monkeypatch.setattr(run, "train", lambda config, folder, *_: started.append((config, folder)))
    path = ROOT / "configs" / "quickstart.yaml"
    for named in ("quickstart", str(path)):
        command("train", named, "--set", "seed=4")
    assert started == [(load_config(path, ["seed=4"]), Path("runs") / "quickstart")] * 2
    with pytest.raises(ValueError, match="'quickstrat': there is no such file"):
        command("train", "quickstrat")
    assert "quickstart" in command("train", "--help")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A wheel of the repository with a policy, unpacked; built from a copy, as building leaves files."""
    source, target = tmp_path_factory.mktemp("source") / "repository", tmp_path_factory.mktemp("wheel")
    for part in ("trick_envs", "training", "configs"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    policies = source / "trick_envs" / "games" / "donguri" / "policies"
    policies.mkdir(exist_ok=True)
    write_policy(policies / "donguri-3.onnx", GAME)
    (policies / "donguri-3.json").write_text('{"ladder": {"results": []}, "samples": 1, "seconds": 60, "size": 2000}')
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", *offline, "--wheel-dir", str(target), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(next(target.glob("*.whl"))) as archive:
        archive.extractall(target / "site")
    yield target / "site"
    shutil.rmtree(target)


def installed(wheel: Path, *arguments: str, also: str = "", given: str = "") -> tuple[int, str]:
    """Runs Python where only the wheel is installed (and what it needs); ``also`` is searched for modules before it."""
    path = os.pathsep.join(filter(None, [also, str(wheel)]))
    done = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"}, cwd=wheel.parent,
        capture_output=True, text=True, check=False, input=given,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_wheel_has_all_configs_and_policies(wheel: Path) -> None:
    for path in [*ROOT.glob("configs/*"), *ROOT.glob("trick_envs/games/*/policies/*")]:
        inside = path.relative_to(ROOT)
        place = wheel / (Path("training") / inside if inside.parts[0] == "configs" else inside)
        assert place.is_file(), inside
    assert {path.name for path in wheel.iterdir() if path.suffix != ".dist-info"} == {"training", "trick_envs"}
    assert {path.name for path in wheel.glob("training/configs/*")} == {path.name for path in ROOT.glob("configs/*")}


@pytest.mark.slow
def test_where_only_the_wheel_is_installed_configs_and_policies_are_found(wheel: Path) -> None:
    status, printed = installed(wheel, "-m", "trick_envs.cli", "train", "quickstrat")
    assert status == 2
    assert f"no such config in {wheel / 'training' / 'configs'}" in printed
    assert ", ".join(config_names()) in printed
    assert (
        installed(wheel, "-m", "trick_envs.cli", "train", "quickstart", "--set", "seed=x")[1].count("seed: input") == 1
    )
    status, printed = installed(wheel, "-m", "trick_envs.cli", "policies")
    assert (status, "donguri-3" in printed) == (0, True), printed
    code = (
        "import trick_envs; game = trick_envs.load_game('donguri', 3); trick_envs.make_agent('pretrained', game); "
        "print(trick_envs.agents.pretrained.pretrained_policy(game))"
    )
    policy = wheel / "trick_envs" / "games" / "donguri" / "policies" / "donguri-3.onnx"
    assert installed(wheel, "-c", code) == (0, f"{policy}\n")


NOT_IN_SERVE = (
    "torch", "stable_baselines3", "sb3_contrib", "tensorboard", "onnx", "onnxscript", "yaml", "jinja2",
    "matplotlib", "PIL", "pygame", "ray", "pyspiel", "scipy", "pandas",
)  # fmt: skip
BLOCKER = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {NOT_IN_SERVE}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture(scope="module")
def serve_only(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder that hides, if it is searched for modules, what ``pip install 'trick_envs[serve]'`` does not install."""
    for library in ("starlette", "uvicorn", "textual"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCKER)
    return str(folder)


@pytest.mark.slow
def test_with_the_serve_extra_alone_one_can_play_evaluate_and_replay(
    wheel: Path, serve_only: str, tmp_path: Path
) -> None:
    def trick(*arguments: Any, given: str = "") -> str:
        status, printed = installed(wheel, "-m", "trick_envs.cli", *map(str, arguments), also=serve_only, given=given)
        assert status == 0, printed
        return printed

    status, printed = installed(wheel, "-c", "import torch", also=serve_only)
    assert (status, "No module named 'torch'" in printed) == (1, True)
    table = ["--num-players", 3, "--num-deals", 1, "--seed", 3]
    record, page, found = tmp_path / "record.json", tmp_path / "page.html", tmp_path / "found.json"
    printed = trick("play", "donguri", *table, "--record", record, given="\n" * 60)
    assert json.loads(record.read_text())["winners"] is not None, printed
    trick("simulate", "--game", "donguri", *table, "--players", "pretrained,greedy,pimc:2", "--file", record)
    assert "Donguri" in trick("replay", record)
    trick("replay", record, "--html", page)
    assert page.read_text().startswith("<!doctype html>")
    evaluation = [
        "--game",
        "donguri",
        "--num-players",
        3,
        "--deals",
        20,
        "--folder",
        tmp_path / "arena",
        "--json",
        found,
    ]
    trick("evaluate", "greedy", "pretrained", *evaluation)
    assert [result["opponent"] for result in json.loads(found.read_text())["results"]] == ["pretrained"]
    for command in ("games", "policies"):
        assert "donguri" in trick(command)


def test_with_the_serve_extra_alone_the_server_runs(wheel: Path, serve_only: str) -> None:
    path = os.pathsep.join([serve_only, str(wheel)])
    command = [
        sys.executable,
        "-u",
        "-m",
        "trick_envs.cli",
        "serve",
        "--game",
        "donguri",
        "--port",
        "0",
        "--no-browser",
    ]
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "80"}
    with subprocess.Popen(command, env=environment, cwd=wheel.parent, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<title>" in answer.read()
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("command", "library", "extra"),
    [
        (["train", "quickstart"], ".*", "train"),
        (["best-response", "greedy", "--game", "donguri"], ".*", "train"),
        (["release", "runs/pepper"], ".*", "train"),
        (["arena", "random", "greedy", "--game", "donguri"], "matplotlib", "evaluate"),
    ],
)
def test_a_command_without_its_libraries_names_the_extra(
    wheel: Path, serve_only: str, command: list[str], library: str, extra: str
) -> None:
    status, printed = installed(wheel, "-m", "trick_envs.cli", *command, also=serve_only)
    assert status == 2, printed
    assert re.fullmatch(rf"error: this command needs {library}: pip install 'trick_envs\[{extra}\]'\n", printed), (
        printed
    )


def test_the_configs_of_a_clone_are_those_of_the_repository() -> None:
    assert shipped.configs_folder() == ROOT / "configs"
