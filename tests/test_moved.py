"""Import paths of before version 1.0: each still works, gives the same objects, and says where it has gone."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import subprocess
import sys

import pytest

import training
import trick_envs
from trick_envs._moved import ELSEWHERE, MOVED, new_path


def python(code: str) -> str:
    """What a new interpreter prints that shows every warning."""
    found = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr


@pytest.mark.parametrize("path", sorted(MOVED))
def test_an_old_path_gives_the_module_at_the_new_one(path, monkeypatch):
    pytest.importorskip("torch")
    for name in [name for name in sys.modules if name in MOVED or new_path(name)]:
        monkeypatch.delitem(sys.modules, name)
    if path.endswith("ray_executor"):
        pytest.importorskip("ray")
    with pytest.warns(DeprecationWarning, match=f"the module {path} has been renamed: write {MOVED[path]}"):
        old = importlib.import_module(path)
    assert old is importlib.import_module(MOVED[path])
    assert old.__name__ == old.__spec__.name == MOVED[path]
    parent, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(parent), name) is old


@pytest.mark.filterwarnings("ignore:the module training")
def test_what_is_in_a_package_moves_with_it():
    assert new_path("training.serve.app") == "trick_envs.play.web.app"
    assert new_path("training.ppo.algorithm") is None
    assert importlib.import_module("training.arena.log") is importlib.import_module("trick_envs.evaluation.arena.log")
    with pytest.raises(ModuleNotFoundError, match=r"trick_envs\.evaluation\.arena\.nothing"):
        importlib.import_module("training.arena.nothing")


@pytest.mark.parametrize("path", [f"{module}.{name}" for module, names in ELSEWHERE.items() for name in names])
def test_what_was_in_a_module_whose_name_another_has_now_is_still_found_there(path):
    pytest.importorskip("torch")
    module, _, name = path.rpartition(".")
    home, _, new = ELSEWHERE[module][name].rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"{path} has been renamed: write {home}.{new}") as told:
        found = getattr(importlib.import_module(module), name)
    assert told[0].filename == __file__
    assert found is getattr(importlib.import_module(home), new)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing'"):
        importlib.import_module(module).nothing  # noqa: B018


def test_a_pickle_of_before_names_classes_by_their_old_modules():
    pytest.importorskip("torch")
    from training.networks.policy import SelfPlayPolicy
    from training.ppo.algorithm import SelfPlayPPO

    for module, found in (("training.network", SelfPlayPolicy), ("training.ppo", SelfPlayPPO)):
        old = f"c{module}\n{found.__name__}\n.".encode()  # protocol 0: a class by its names
        sys.modules.pop("training.network", None)
        with pytest.warns(DeprecationWarning, match=f"{module}.* has been renamed"):
            assert pickle.loads(old) is found


def test_no_old_path_hides_a_module_that_there_is():
    there = {
        module.name for package in (training, trick_envs) for module in pkgutil.walk_packages(
            package.__path__, f"{package.__name__}.", onerror=lambda name: None
        )
    }  # fmt: skip
    assert not there & MOVED.keys()
    assert set(MOVED.values()) <= there
    assert ELSEWHERE.keys() <= there


def test_an_import_of_the_packages_alone_warns_of_nothing_and_loads_nothing_more():
    told = python(
        "import sys, trick_envs, training; "
        "print([name for name in ('numba', 'torch', 'matplotlib', 'trick_envs.engine') if name in sys.modules])"
    )
    assert "renamed" not in told
    assert told.splitlines()[-1] == "[]" or "[]" in told


def test_the_warning_names_the_line_that_imports():
    told = python("import training.plots")
    assert "<string>:1: DeprecationWarning: the module training.plots has been renamed" in told
    assert "write trick_envs.evaluation.plots" in told


def test_an_old_module_runs_as_a_command():
    pytest.importorskip("typer")
    found = subprocess.run(
        [sys.executable, "-m", "training.cli", "games", "pepper"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "# Pepper" in found.stdout
