"""Ray: the same results as without it, on a cluster of nodes that die, join late, and lose their driver."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")
pytest.importorskip("sb3_contrib")
from rich.console import Console
from typer.testing import CliRunner

from training import run
from training.config import RunConfig, dump_config
from training.networks.policy import weights_of
from training.ppo.algorithm import SelfPlayPPO
from training.report.tracker import Monitor
from trick_envs import cli
from trick_envs.engine.registry import load_game
from trick_envs.evaluation.arena import LOG, Plan, make_plan, play_arena
from trick_envs.parallel.executor import make_executor
from trick_envs.parallel.ray_executor import prepare

pytestmark = pytest.mark.usefixtures("quick_export")
GAME = load_game("donguri", 3, 1)
SPECS = ("random", "greedy", "pimc:3")
FAST_DEATHS = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}  # noticed within 2 seconds
RUN: dict[str, Any] = {
    "game": "donguri", "num_players": 3, "precision": "float32", "network": {"width": 16, "depth": 2}, "workers": 1,
    "stages": [
        {"method": "ppo", "total_samples": 1500, "n_envs": 16, "n_steps": 32, "batch_size": 128, "rollout_workers": 2},
        {"method": "expert_iteration", "total_labels": 160, "labels_per_round": 40, "replay_capacity": 80,
         "search": "pimc:4", "label_fraction": 0.5, "games": 2, "n_epochs": 2, "batch_size": 32,
         "opponent_pool": ["greedy", "earlier"]},
    ],
    "evaluation": {"deals": 2, "final_deals": 2},
}  # fmt: skip


class Nodes:
    """A cluster in this machine: a head that does not work, and nodes of one core each."""

    def __init__(self) -> None:
        prepare("cluster")
        from ray.cluster_utils import Cluster

        self._size = {"object_store_memory": 80 * 2**20}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": FAST_DEATHS, **self._size}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self.cluster.address

    def add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, **self._size)

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    found = Nodes()
    yield found
    found.cluster.shutdown()


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()[1:]]


def played(folder: Path) -> dict[Any, Any]:
    """Margins by players and number of the deal; no deal is in the log twice."""
    found = {}
    for line in lines(folder):
        for number, margin in enumerate(line["margins"], line["first"]):
            key = (*line["players"], number)
            assert key not in found
            found[key] = margin
    return found


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(GAME, SPECS, 40, seed=3)


@pytest.fixture(scope="module")
def local(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tournament in this process."""
    folder = tmp_path_factory.mktemp("local")
    play_arena(plan, folder).write(folder)
    return folder


def assert_same_tournament(folder: Path, local: Path) -> None:
    assert played(folder) == played(local)
    assert len(played(folder)) == 3 * 40
    for name in ("results.json", "results.csv", "results.md"):
        assert (folder / name).read_bytes() == (local / name).read_bytes()


def test_a_node_that_joins_late_and_one_that_is_lost_change_no_deal(
    tmp_path: Path, nodes: Nodes, plan: Plan, local: Path
) -> None:
    first, joined, calls = nodes.add(), [], []

    def progress(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 10:
            joined.append(nodes.add())
        if len(calls) == 30:
            nodes.kill(first)

    play_arena(plan, tmp_path, 1, progress, nodes.address).write(tmp_path)
    assert_same_tournament(tmp_path, local)
    nodes.kill(joined[0])


def test_a_tournament_goes_on_after_its_driver_was_killed(tmp_path: Path, nodes: Nodes, local: Path) -> None:
    node = nodes.add()
    options = ["--game", "donguri", "--num-players", "3", "--deals", "40", "--seed", "3"]
    command = ["arena", *options, "--ray", nodes.address, "--folder", str(tmp_path), *SPECS]
    driver = subprocess.Popen([sys.executable, "-m", "trick_envs.cli", *command], stdout=subprocess.DEVNULL)
    try:
        while driver.poll() is None and not ((tmp_path / LOG).is_file() and len(lines(tmp_path)) > 5):
            time.sleep(0.02)
    finally:
        driver.kill()
        driver.wait()
    before = played(tmp_path)
    assert 0 < len(before) < 120
    assert CliRunner().invoke(cli.app, command).exit_code == 0
    assert before.items() <= played(tmp_path).items()
    assert_same_tournament(tmp_path, local)
    nodes.kill(node)


def trained(config: RunConfig, folder: Path, ray: str | None = None) -> dict[str, Any]:
    """The weights at the end of a run that does not measure and export them."""
    with pytest.raises(run.Interrupted):
        run.train(config, folder, Console(quiet=True), ray)
    return weights_of(SelfPlayPPO.load(folder / "checkpoint.zip").policy)


def test_training_with_ray_learns_the_same_weights_from_as_many_labels(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rollouts and labels; one of the two nodes is lost while the second stage is labelled."""

    def finish(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_finish", finish)
    config = RunConfig.model_validate(RUN)
    expected = trained(config, tmp_path / "local")
    lost, other = nodes.add(), nodes.add()
    notes: list[str] = []
    original = Monitor.note

    def note(self: Monitor, text: str) -> None:
        original(self, text)
        notes.append(text)
        if sum("new labels" in text for text in notes) == 2 and "new labels" in text:
            nodes.kill(lost)

    monkeypatch.setattr(Monitor, "note", note)
    found = trained(config, tmp_path / "ray", nodes.address)
    assert sum("new labels" in text for text in notes) > 4
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    progress = [json.loads((tmp_path / where / "progress.json").read_text()) for where in ("local", "ray")]
    for key in ("done", "samples", "tasks"):
        assert progress[0][key] == progress[1][key]
    nodes.kill(other)


def test_training_goes_on_after_its_driver_was_killed(tmp_path: Path, nodes: Nodes) -> None:
    node, folder = nodes.add(), tmp_path / "run"
    labels = {**RUN["stages"][1], "total_labels": 400}
    config = RunConfig.model_validate({**RUN, "stages": [RUN["stages"][0], labels]})
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    command = ["train", "--folder", str(folder), "--ray", nodes.address]
    begun = [sys.executable, "-m", "trick_envs.cli", *command, str(tmp_path / "config.yaml")]

    def progress() -> dict[str, Any]:
        file = folder / "progress.json"
        return json.loads(file.read_text()) if file.is_file() else {"stage": -1}  # type: ignore[no-any-return]

    driver = subprocess.Popen(begun, stdout=subprocess.DEVNULL)
    try:
        while driver.poll() is None and not (progress()["stage"] == 1 and progress()["done"] >= 40):
            time.sleep(0.01)
    finally:
        driver.kill()
        driver.wait()
    before = progress()
    assert 40 <= before["done"] < 400
    assert CliRunner().invoke(cli.app, [*command, "--resume"]).exit_code == 0
    after = progress()
    assert after["history"][: len(before["history"])] == before["history"]
    assert 400 <= after["done"] < 400 + 2 * 40  # rounds that count twice would end it early, lost ones late
    assert after["samples"] - after["done"] == before["samples"] - before["done"]  # the first stage is not repeated
    assert (folder / "policy.onnx").is_file()
    nodes.kill(node)


def test_other_code_on_a_node_is_an_error(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    node = nodes.add()
    with make_executor(1, nodes.address) as executor:
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):  # as it was raised, not wrapped
            executor.submit(divmod, 7, 0).result()
        monkeypatch.setattr(executor, "_digest", "another")
        with pytest.raises(ValueError, match="has another version of trick_envs"):
            executor.submit(divmod, 7, 2).result()
    nodes.kill(node)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["random", "greedy"], None),
        (["--ray", "random", "greedy"], "local"),
        (["random", "greedy", "--ray"], "local"),
        (["--ray", "pimc:10", "random"], "local"),
        (["--ray", "--workers", "2", "random", "greedy"], "local"),
        (["--ray", "10.0.0.1:6379", "random", "greedy"], "10.0.0.1:6379"),
        (["--ray=head:6379", "random", "greedy"], "head:6379"),
        (["--ray", "auto", "random", "greedy"], "auto"),
    ],
)
def test_the_option_may_have_an_address(
    arguments: list[str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    asked = lambda plan, folder, workers, ray: given.append(ray) or SystemExit()  # noqa: E731
    monkeypatch.setattr("trick_envs.cli.evaluate.play_schedule", asked)
    CliRunner().invoke(cli.app, ["arena", "--game", "donguri", *arguments])
    assert given == [expected]


def test_wrong_uses_of_the_option_are_explained() -> None:
    two = ["--game", "donguri", "random", "greedy"]
    found = CliRunner().invoke(cli.app, ["arena", *two, "--workers", "2", "--ray", "localhost:1"])
    assert "--workers and --ray ADDRESS exclude each other" in str(found.exception)
    found = CliRunner().invoke(cli.app, ["arena", *two, "--ray", "localhost:1"])
    assert "--ray localhost:1: no cluster answers there" in str(found.exception)
