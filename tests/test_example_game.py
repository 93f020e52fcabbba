"""A game in a package of its own: ``CONTRIBUTING.md`` shows it with Slobberhannes, in ``tests/example_game``.

It is installed for a process of its own, so that no other test meets it, and has to pass what every game has to pass.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trick_envs import game_names
from trick_envs.discovery import AGENTS, plug_ins

TESTS = Path(__file__).parent
EXAMPLE = TESTS / "example_game"
SUITES = (
    "example_game/tests",
    "test_all_games.py",
    "test_twin_worlds.py",
    "test_view.py",
    "test_reproducibility.py",
    "test_networks.py",
    "test_search.py",
)


def run(*arguments: str, **environment: str) -> str:
    """Runs a Python module in the root of the repository; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], env={**os.environ, **environment}, cwd=TESTS.parent, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``PYTHONPATH`` in which the plug-in is installed; built from a copy, as building leaves files."""
    source, target = tmp_path_factory.mktemp("source") / "slobberhannes", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    run("pip", "install", "--quiet", *offline, "--target", str(target), str(source))
    return target


def test_an_installed_game_passes_what_every_game_has_to_pass(site: Path, whole: bool) -> None:
    suites = [str(TESTS / name) for name in SUITES]
    tables = "slobberhannes" if whole else "slobberhannes and not slobberhannes-3"
    options = ("-k", tables, "-p", "no:cacheprovider", "-p", "no:xdist")
    printed = run("pytest", *suites, *options, PYTHONPATH=str(site))
    passed = re.search(r"(\d+) passed", printed)
    assert passed is not None
    assert int(passed.group(1)) > 100


def test_the_command_lists_an_installed_game(site: Path) -> None:
    pytest.importorskip("typer")
    assert "slobberhannes" in run("trick_envs.cli", "games", PYTHONPATH=str(site))
    assert "all three in one hand cost another" in run("trick_envs.cli", "games", "slobberhannes", PYTHONPATH=str(site))


def test_no_other_test_meets_it() -> None:
    assert "slobberhannes" not in game_names()
    assert "lowest" not in plug_ins(AGENTS)
