"""A user's own scripts, in processes of their own: without a main guard, and stopped by signals in their midst."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("onnxscript")
from helpers import SMALL_RUN, crossed

from trick_envs import load_game, make_agent

CONFIG = {**SMALL_RUN, "deals": 3, "final_deals": 4}
TRAINS = f"""
from pathlib import Path
from rich.console import Console
from training import run
from training.config import RunConfig
from training.report.page import draw_report

run.train(RunConfig.model_validate({CONFIG!r}), Path("run"), Console(quiet=True))
draw_report(Path("run"), Path("run/report.html"))
print("drawn")
"""
EXPORTS = """
from training import SuitPolicy
from trick_envs import export_policy, load_game

game = load_game("donguri", 3)
policy = SuitPolicy.for_game(game, 8, 2)
print("begun", flush=True)
while True:
    export_policy(policy, game, "run/policy.onnx")
"""
DRAWS = """
from pathlib import Path
from training.report.page import draw_report

print("begun", flush=True)
while True:
    draw_report(Path("run"), Path("run/report.html"))
"""
ADVISES = """
from trick_envs import BatchEnv
from trick_envs.play.hints import advisor_of

games = BatchEnv("pepper", 1)
games.reset(0)
advisor = advisor_of(games.game)
print("begun", flush=True)
while True:
    advisor.advise(games.states)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a script without a main guard has trained."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text(TRAINS, encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["drawn"]), done.stderr
    return folder


def test_a_script_without_a_main_guard_trains_to_its_end_and_draws_its_report(trained: Path) -> None:
    report = json.loads((trained / "run" / "evaluation.json").read_text(encoding="utf-8"))
    assert report["samples"] >= CONFIG["total_samples"]
    assert len(report["results"]) == 2
    assert (trained / "run" / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.skipif(sys.platform == "win32", reason="there, a signal to another process ends it at once")
@crossed(script=[EXPORTS, DRAWS, ADVISES], number=[signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_script_without_a_crash_and_nothing_is_lost(script: str, number: Any, trained: Path) -> None:
    for seconds in (0.1, 1.3):  # of importing and compiling, and of working
        process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=trained, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n", process.communicate()
        time.sleep(seconds)
        process.send_signal(number)
        try:
            _, told = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:  # Python drops what is raised in a weak reference's callback, Ctrl-C too
            process.send_signal(number)
            try:
                _, told = process.communicate(timeout=30)
            finally:
                process.kill()
        # Of Ctrl-C while a compiled module is imported, Python makes an ImportError, with status 1.
        ended = (-number, 1) if number == signal.SIGINT else (-number,)
        assert process.returncode in ended, told
        assert "terminate called" not in told
        assert "KeyboardInterrupt" in told or number != signal.SIGINT
        run = trained / "run"
        assert make_agent(str(run / "policy.onnx"), load_game("donguri", 3)).metadata["game"] == "donguri"
        assert (run / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
        if number == signal.SIGINT:
            assert not list(run.glob("*.tmp"))
