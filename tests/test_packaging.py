"""What pyproject.toml, the workflows and the scripts in ``.ci`` say of each other."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import pytest
from helpers import distributions
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="a source distribution has no workflows")


def lowest(*extras: str) -> list[str]:
    command = [sys.executable, str(ROOT / ".ci" / "lowest.py"), *extras]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_everything_that_users_install_has_a_lowest_version_that_ci_can_try() -> None:
    extras = [extra for extra in PROJECT["optional-dependencies"] if extra != "dev"]
    found = dict(line.split("==") for line in lowest(*extras))
    for requirement in PROJECT["dependencies"]:
        name, floor = re.fullmatch(r"([\w.-]+)>=([\w.]+).*", requirement).groups()  # type: ignore[union-attr]
        assert found[name] == floor
    assert {"torch", "stable-baselines3", "starlette", "jinja2", "ray", "open_spiel"} <= found.keys()
    assert {line.split("==")[0] for line in lowest()} == {"gymnasium", "pettingzoo", "numpy", "numba", "filelock"}
    assert set(lowest("evaluate")) < set(lowest("report"))  # through the extras of an extra


def test_the_pinned_versions_are_for_the_oldest_python_that_the_project_is_for() -> None:
    """3.11.2 comes with Debian 12: of what asks for 3.11.5, pip there finds no version."""
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    checked, wrong = 0, {}
    for pin in (ROOT / "constraints.txt").read_text(encoding="utf-8").split():
        with suppress(PackageNotFoundError):
            wanted = distribution(pin.split("==")[0]).metadata["Requires-Python"] or ""
            checked += 1
            if not SpecifierSet(wanted).contains(oldest):
                wrong[pin] = wanted
    assert checked > 50
    assert not wrong


def test_no_requirement_is_named_twice_in_an_extra_and_the_core() -> None:
    core = {re.split(r"[<>=]", each)[0] for each in PROJECT["dependencies"]}
    for extra, requirements in PROJECT["optional-dependencies"].items():
        names = [re.split(r"[<>=]", each)[0] for each in requirements]
        assert len(names) == len(set(names)), extra
        assert not core & set(names), extra


def test_who_only_measures_or_trains_installs_nothing_else() -> None:
    assert {"ray", "onnxruntime"} <= distributions("ray")
    assert not distributions("ray") & {"torch", "stable-baselines3", "onnx"}
    assert not distributions("train") & {"textual", "starlette", "uvicorn", "jinja2", "pillow"}
    assert distributions("train") < distributions("report")


def test_pillow_comes_with_minari_whose_storage_imports_it_without_requiring_it() -> None:
    storage = pytest.importorskip("minari.dataset._storages.hdf5_storage")
    assert storage.Image.__name__ == "PIL.Image"
    assert "pillow" in distributions("minari")


def test_numba_whose_private_names_are_used_has_an_upper_bound_that_holds_the_tested_version() -> None:
    (numba,) = (each for each in PROJECT["dependencies"] if each.startswith("numba"))
    bound = re.search(r"<(\d+)\.(\d+)$", numba)
    assert bound is not None
    assert tuple(map(int, version("numba").split(".")[:2])) < tuple(map(int, bound.groups()))


def test_a_version_is_published_only_after_all_tests() -> None:
    yaml = pytest.importorskip("yaml")
    workflows = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
    jobs = workflows["release"]["jobs"]
    assert jobs["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("tests", "build")
    assert "workflow_call" in workflows["tests"][True]  # YAML reads "on" as true
    assert any("bash .ci/run" in step.get("run", "") for step in workflows["tests"]["jobs"]["whole"]["steps"])
    assert any(line.startswith(".ci/package ") for line in (ROOT / ".ci" / "run").read_text().splitlines())


def test_extras_in_workflows_and_scripts_exist() -> None:
    named = 0
    for path in [*WORKFLOWS, *(ROOT / ".ci").iterdir()]:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for extras in re.findall(r"(?:\.|wheel)\[([a-z,]+)\]", text):
            assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys(), path
            named += 1
    assert named >= 5
