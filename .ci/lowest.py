"""The lowest versions that pyproject.toml allows, as constraints for pip: ``python .ci/lowest.py train serve``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

OURS = "trick_envs["


def lowest(project: dict, extras: list[str]) -> list[str]:
    """``name==version`` for everything that the package and its extras require, their own extras included.

    Raises:
        ValueError: if a requirement has no lowest version.
    """
    wanted, seen, found = list(project["dependencies"]), set[str](), set[str]()
    waiting = list(extras)
    while waiting:
        extra = waiting.pop()
        if extra not in seen:
            seen.add(extra)
            wanted += project["optional-dependencies"][extra]
            for each in project["optional-dependencies"][extra]:
                if each.startswith(OURS):
                    waiting += each.removeprefix(OURS).rstrip("]").split(",")
    for each in wanted:
        if not each.startswith(OURS):
            floor = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,<[\w.]+)?", each)
            if floor is None:
                raise ValueError(f"{each}: expected NAME>=VERSION, and perhaps ,<VERSION")
            found.add(f"{floor[1]}=={floor[2]}")
    return sorted(found)


if __name__ == "__main__":
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    print("\n".join(lowest(tomllib.loads(text)["project"], sys.argv[1:])))
