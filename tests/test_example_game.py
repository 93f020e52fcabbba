"""A sixth game is one rules file, one module, one config, one test file: ``CONTRIBUTING.md`` shows it with Hearts.

Everything that every game promises is then tested of it too, in a process of its own, so that no other test meets it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from trick_envs.engine.game import game_names

TESTS = Path(__file__).parent
GENERIC = ("test_all_games.py", "test_twin_worlds.py", "test_reproducibility.py")


def test_a_game_in_files_of_its_own_passes_what_every_game_has_to_pass():
    suites = [str(TESTS / name) for name in ("example_game", *GENERIC)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *suites, "-k", "hearts", "-p", "no:cacheprovider", "-p", "no:xdist"],
        env={**os.environ, "EXAMPLE_GAME": "1"}, cwd=TESTS.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed.group(1)) > 100


def test_no_other_test_meets_it():
    assert "hearts" not in game_names()
