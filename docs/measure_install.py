"""The size of an installation with each extra: ``python docs/measure_install.py`` in an environment that has them all.

It builds the wheel, adds up the files of everything that each extra requires, as installed here, and writes both into
``docs/install.md``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from trick_envs.files import write_text

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "install.md"
MARKS = "<!-- python docs/measure_install.py writes from here -->", "<!-- to here -->"
EXTRAS = {  # and what each is for
    "": "environments, `BatchEnv`, `random`, `greedy` and search",
    "play": "`trick play`, `trick evaluate`, trained policies",
    "serve": "`play`, and `trick serve`",
    "evaluate": "`trick arena` with its ratings and plots",
    "render": '`render_mode="rgb_array"`',
    "openspiel": "the games in OpenSpiel",
    "export": "`export_policy`",
    "train": "`trick train`, `best-response`, `release`",
    "report": "`train`, and `trick report`",
    "llm": "`llm:MODEL@URL` as a player",
    "minari": "`trick dataset`",
    "openenv": "`trick openenv`",
    "ray": "`evaluate`, and `--ray`",
}


def closure(requirements: list[str], extras: dict[str, list[str]]) -> set[str]:
    """The names of all distributions that are required, directly or not."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        one = waiting.pop()
        for extra in one.extras or {""}:
            if (one.name, extra) in found or (one.marker and not one.marker.evaluate({"extra": ""})):
                continue
            if one.name == "trick_envs":
                waiting += [Requirement(each) for each in extras[extra]]
                continue
            found.add((one.name, extra))
            for text in distribution(one.name).requires or []:
                needed = Requirement(text)
                if needed.marker is None or any(needed.marker.evaluate({"extra": each}) for each in {extra, ""}):
                    needed.marker = None
                    waiting.append(needed)
    return {name for name, _ in found}


def size(name: str) -> int:
    """The bytes of a distribution's files; 0 if it is not installed here (one for other systems)."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    return sum(path.stat().st_size for each in files if (path := Path(str(each.locate()))).is_file())


def wheel_size() -> int:
    """The bytes of the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)]
        subprocess.run(build, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return wheel.stat().st_size


def measured() -> str:
    """What stands between the marks of the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [f"The wheel has {wheel_size() / 1e6:.1f} MB, the trained policies of all games included.", ""]
    lines += ["| extra | for | distributions | MB |", "| --- | --- | --- | --- |"]
    for extra, purpose in EXTRAS.items():
        names = closure([*project["dependencies"], *(extras[extra] if extra else [])], extras)
        name = f"`{extra}`" if extra else "(none)"
        lines.append(f"| {name} | {purpose} | {len(names)} | {sum(map(size, names)) / 1e6:,.0f} |")
    return "\n".join(lines)


def main() -> None:
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    assert mark, "no marks in the page"
    assert end, "no second mark in the page"
    write_text(PAGE, f"{before}{mark}\n\n{measured()}\n\n{end}{after}")


if __name__ == "__main__":
    main()
