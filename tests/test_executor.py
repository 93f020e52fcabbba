"""What workers on other machines need: policies by their content."""

from __future__ import annotations

import copy
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trick_envs.agents import make_agent, rollout
from trick_envs.agents.spec import read_policy_files
from trick_envs.engine.registry import load_game

PEPPER = load_game("pepper", 5, 1)


def test_a_policy_plays_where_its_file_is_not(policy_file: Path) -> None:
    from trick_envs import BatchEnv

    specs = [str(policy_file), f"{policy_file}:sample", f"{policy_file}+pimc:2", "greedy", "pretrained"]
    files = read_policy_files(specs)
    assert set(files) == {str(policy_file)}  # the one that comes with the game is everywhere
    games = BatchEnv("pepper", 16, 5, 1)
    games.reset(3)
    now = games.observations, games.action_masks, games.states
    expected = [make_agent(spec, PEPPER, 1).act(*now) for spec in specs]
    policy_file.unlink()
    for spec, actions in zip(specs, expected, strict=True):
        assert (make_agent(spec, PEPPER, 1, files).act(*now) == actions).all()


def test_players_can_be_copied_and_pickled_where_the_file_of_their_policy_has_gone(
    policy_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trick_envs import BatchEnv

    monkeypatch.setattr(rollout, "CALIBRATION", 8)  # deals; each copy plays them for itself
    path = str(policy_file)
    specs = [path, f"{path}:sample", f"{path}+pimc:2", f"{path}+rollout:3", "greedy", "random", "ismcts:3"]
    files = read_policy_files(specs)
    policy_file.unlink()
    games = BatchEnv("pepper", 3, 5, 1)
    games.reset(3)
    now = games.observations, games.action_masks, games.states
    for spec in specs:
        agent = make_agent(spec, PEPPER, 1, files)
        assert agent.name == spec
        copies = copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))
        actions = agent.act(*now)
        for each in copies:
            assert (each.act(*now) == actions).all(), spec
            assert each.name == spec


PROGRAM = """
import os, sys, time
open(os.path.join(sys.argv[1], f"{os.getppid()}-{os.getpid()}"), "w").close()
time.sleep(300)  # it neither answers nor reads, so it does not notice who has gone
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_and_the_programs_that_they_play_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    folder, program = tmp_path / "processes", tmp_path / "hangs.py"
    folder.mkdir()
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "trick_envs.cli", "evaluate", f"program:{program}?{folder}&timeout=300", "greedy"]
    options = ["--game", "donguri", "--num-players", "3", "--deals", "4", "--workers", "2"]
    parent = subprocess.Popen([*command, *options, "--folder", str(tmp_path / "arena")])
    try:
        deadline = time.monotonic() + 120
        while len(list(folder.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        found = [int(each) for path in folder.iterdir() for each in path.name.split("-")]
        assert len(set(found)) == 4, "two workers, each with a program"
        assert parent.pid not in found
        parent.send_signal(how)
        parent.wait(60)
        deadline = time.monotonic() + 30
        while any(map(is_running, found)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not [each for each in found if is_running(each)]
    finally:
        parent.kill()
