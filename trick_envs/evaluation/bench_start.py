"""How long it takes to the first card: new processes, with an empty compile cache and with a full one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from trick_envs.engine.registry import game_type

RUNS = 3

_LINES = """
from trick_envs import {module}

env = {module}.env({players})
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    env.step(None if termination else env.action_space(agent).sample(observation["action_mask"]))
"""

_BATCH = """
from trick_envs import BatchEnv

games = BatchEnv("{game}", num_envs=4096)
games.reset(seed=7)
rewards, ends = games.step(games.action_masks.argmax(axis=1))
"""

_PIDS = """
from trick_envs.engine.build import process

print("compiling:", *process.compiling())
"""


def start_times(games: list[tuple[str, int]]) -> dict[str, float]:
    """Seconds, by what was started: the README's six lines, ``BatchEnv``, and the page and the terminal for Pepper."""
    found = {}
    for game, num_players in games:
        players = f"num_players={num_players}" if game == "pepper" else ""
        lines, batch = _LINES.format(module=game_type(game).versioned_name, players=players), _BATCH.format(game=game)
        found[f"{game}, six lines, nothing compiled"] = _median(partial(_script, lines))
        found[f"{game}, BatchEnv(4096), nothing compiled"] = _median(partial(_script, batch))
        with tempfile.TemporaryDirectory() as name:
            cache = Path(name)
            _script(lines, cache, TRICK_ENVS_COMPILE="first")
            warm = [_script(lines, cache) for _ in range(RUNS)]
        found[f"{game}, six lines, compiled before"] = statistics.median(warm)
    found["trick serve, first playable card, nothing compiled"] = _median(_serve)
    found["trick play pepper, first question, nothing compiled"] = _median(_play)
    return found


def _median(measure: Callable[[Path], float]) -> float:
    times = []
    for _ in range(RUNS):
        cache = Path(tempfile.mkdtemp())
        try:
            times.append(measure(cache))
        finally:
            shutil.rmtree(cache, ignore_errors=True)
    return statistics.median(times)


def _environment(cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "TRICK_ENVS_COMPILE"}
    return {**kept, "TRICK_ENVS_CACHE": str(cache)}


def _script(code: str, cache: Path, **more: str) -> float:
    """Seconds that a program takes; the processes that still compile for it are ended afterwards."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + _PIDS], capture_output=True, text=True, env={**_environment(cache), **more}
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(done.stderr)
    for pid in done.stdout.rpartition("compiling:")[2].split():
        with suppress(OSError):
            os.kill(int(pid), signal.SIGTERM)
    return seconds


def _trick(cache: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "trick_envs.cli", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=_environment(cache),
    )  # fmt: skip


def _until(process: subprocess.Popen[str], wanted: str) -> str:
    """Reads what a process prints, up to these words; returns their line so far."""
    line = ""
    assert process.stdout is not None
    while wanted not in line:
        if not (letter := process.stdout.read(1)):
            raise RuntimeError(f"the process ended: {line}")
        line = "" if letter == "\n" else line + letter
    return line


def _serve(cache: Path) -> float:
    begin = time.perf_counter()
    process = _trick(cache, "serve", "--no-browser", "--port", "0")
    try:
        address = _until(process, "  (Ctrl-C").split()[0].rstrip("/")
        request = urllib.request.Request(
            f"{address}/api/games", b"{}", {"origin": address, "content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as reply:
            frames = json.load(reply)["frames"]
        assert frames
        return time.perf_counter() - begin
    finally:
        _end(process)


def _play(cache: Path) -> float:
    begin = time.perf_counter()
    process = _trick(cache, "play", "pepper")
    try:
        _until(process, "? ")
        return time.perf_counter() - begin
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate() if sys.platform == "win32" else process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    process.kill()
    process.communicate()
