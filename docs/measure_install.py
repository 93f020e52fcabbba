"""The size of an installation with each extra: ``python docs/measure_install.py`` in an environment that has them all.

It adds up the files of trick_envs and of everything that it requires, as installed here, and prints a table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
EXTRAS = ("", "play", "serve", "evaluate", "render", "openspiel", "export", "train", "ray")


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


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)]
        subprocess.run(build, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"wheel: {wheel.stat().st_size / 1e6:.1f} MB\n")
    print("| extra | distributions | MB |\n| --- | --- | --- |")
    for extra in EXTRAS:
        names = closure([*project["dependencies"], *(extras[extra] if extra else [])], extras)
        print(f"| {f'`{extra}`' if extra else '(none)'} | {len(names)} | {sum(map(size, names)) / 1e6:,.0f} |")


if __name__ == "__main__":
    main()
