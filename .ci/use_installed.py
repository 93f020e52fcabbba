"""Uses an installed trick_envs as README.md says: ``python use_installed.py environments evaluate serve train report``.

It has to run in a folder from which no checkout can be imported. ``.ci/package`` calls it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np

import trick_envs
from trick_envs import BatchEnv, game_names, load_game, make_agent
from trick_envs.engine.registry import game_type

TINY = ("total_samples=2000", "evaluate_every=1000", "deals=5", "final_deals=10")


def trick(*arguments: object) -> str:
    """What the command prints."""
    command = [str(Path(sys.executable).with_name("trick")), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def environments(_: Path) -> None:
    """Every game: a match with PettingZoo, one with Gymnasium beside the policy that comes with it, and a batch."""
    for name in game_names():
        module = __import__(f"trick_envs.{game_type(name).versioned_name}", fromlist=["env"])
        env = module.env()
        env.reset(seed=7)
        for agent in env.agent_iter():
            observation, _reward, over, _truncated, _info = env.last()
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
        assert env.unwrapped.record()["winners"]
        seat = gymnasium.make(trick_envs.discovery.gymnasium_id(name), opponents="pretrained", num_deals=1)
        _, info = seat.reset(seed=7)
        over = False
        while not over:
            _, _, over, _, info = seat.step(int(np.flatnonzero(info["action_mask"])[0]))
        games = BatchEnv(name, num_envs=64)
        games.reset(seed=7)
        for _step in range(10):
            games.step(games.action_masks.argmax(axis=1))
        print(f"{name}: played")


def evaluate(folder: Path) -> None:
    """The greedy player against the policies, and what the policy of another game is told."""
    found = folder / "found.json"
    trick("evaluate", "greedy", "pretrained", "--game", "donguri", "--deals", 40, "--folder", folder, "--json", found)
    (result,) = json.loads(found.read_text(encoding="utf-8"))["results"]
    assert result["opponent"] == "pretrained"
    assert result["margin"] + result["half_width"] < 0, result
    assert "pepper-5" in trick("policies")
    print(f"greedy over pretrained: {result['margin']:+.2f} ± {result['half_width']:.2f}")


def serve(_: Path) -> None:
    """The server answers with its page; without torch."""
    assert find_spec("torch") is None, "the extras serve and evaluate have installed torch"
    command = [str(Path(sys.executable).with_name("trick")), "serve", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            with urllib.request.urlopen(address, timeout=120) as answer:
                assert b"<title>" in answer.read()
        finally:
            server.terminate()
    print(f"served at {address}")


def train(folder: Path) -> None:
    """A tiny run, whose policy plays."""
    settings = [each for setting in TINY for each in ("--set", setting)]
    trick("train", "quickstart", *settings, "--folder", folder / "run")
    agent = make_agent(str(folder / "run" / "policy.onnx"), load_game("pepper", 5))
    games = BatchEnv("pepper", num_envs=8, num_players=5)
    games.reset(seed=1)
    chosen = agent.act(games.observations, games.action_masks, games.states)
    assert games.action_masks[np.arange(8), chosen].all()
    print("trained, and its policy plays")


def report(folder: Path) -> None:
    """A tiny run, and its page."""
    train(folder)
    trick("report", folder / "run")
    assert (folder / "run" / "report.html").stat().st_size > 10_000
    print("its report is drawn")


def main() -> None:
    home = Path(trick_envs.__file__).parent
    assert home.parent.name == "site-packages", f"{home} is not an installed package"
    assert version("trick_envs") == trick_envs.__version__
    with tempfile.TemporaryDirectory() as folder:
        for step in sys.argv[1:]:
            steps = {"environments": environments, "evaluate": evaluate, "serve": serve, "train": train}
            {**steps, "report": report}[step](Path(folder))


if __name__ == "__main__":
    main()
