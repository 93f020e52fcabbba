"""Ray: the same results as without it, on a cluster of nodes that die, join late, and lose their driver."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")
pytest.importorskip("sb3_contrib")
from typer.testing import CliRunner

from trick_envs import cli, make_agent
from trick_envs.engine.registry import load_game
from trick_envs.evaluation.arena import LOG, Plan, make_plan, play_arena
from trick_envs.parallel.executor import make_executor
from trick_envs.parallel.ray_executor import prepare

pytestmark = pytest.mark.usefixtures("quick_export")
GAME = load_game("donguri", 3, 1)
SPECS = ("random", "greedy", "pimc:3")
FAST_DEATHS = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}  # noticed within 2 seconds


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


@pytest.mark.slow
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


@pytest.mark.skipif(importlib.util.find_spec("tree") is None, reason="ray[rllib] pins another gymnasium")
def test_rllibs_env_runners_are_on_two_nodes(tmp_path: Path, nodes: Nodes) -> None:
    """``examples/rllib_self_play.py``: the head does not work and a node has one core, so each takes one runner."""
    import ray
    from ray._private.state import actors

    both = nodes.add(), nodes.add()
    example = Path(__file__).parents[1] / "examples" / "rllib_self_play.py"
    done = subprocess.run(
        [sys.executable, str(example), "512", "2"], cwd=tmp_path, env={**os.environ, "RAY_ADDRESS": nodes.address},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Result(player='policy.onnx', opponent='greedy', deals=200" in done.stdout, done.stderr
    ray.init(address=nodes.address, log_to_driver=False)
    try:
        runners = [each for each in actors().values() if each["ActorClassName"] == "MultiAgentEnvRunner"]
    finally:
        ray.shutdown()
    assert len(runners) == 2
    assert {each["Address"]["NodeID"] for each in runners} == {node.node_id for node in both}
    assert make_agent(str(tmp_path / "policy.onnx"), load_game("pepper", 3)).metadata["num_players"] == 3
    for node in both:
        nodes.kill(node)


def test_other_code_on_a_node_is_an_error(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    node = nodes.add()
    with make_executor(1, nodes.address) as executor:
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError) as raised:  # as it was raised, not wrapped
            executor.submit(divmod, 7, 0).result()
        assert "return fn(*args)" in str(raised.value.__cause__)  # the traceback of the other process
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


def test_wrong_uses_of_the_option_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no arena of before is
    two = ["--game", "donguri", "random", "greedy"]
    found = CliRunner().invoke(cli.app, ["arena", *two, "--workers", "2", "--ray", "localhost:1"])
    assert "--workers and --ray ADDRESS exclude each other" in str(found.exception)
    found = CliRunner().invoke(cli.app, ["arena", *two, "--ray", "localhost:1"])
    assert "--ray localhost:1: no cluster answers there" in str(found.exception)
