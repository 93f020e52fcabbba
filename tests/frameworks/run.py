"""The frameworks that the environments were tried with: python tests/frameworks/run.py [FRAMEWORK …] [--matches N]

For each: builds an environment of its own from ``requirements/``, plays matches of every game through every adapter
(``adapters.py``), runs the examples, and writes the rows of the tables in ``docs/frameworks.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "frameworks.md"


@dataclass(frozen=True)
class Framework:
    """What is tried of a framework.

    Attributes:
        name: of the framework.
        requirements: the file with its environment.
        packages: whose versions the table shows.
        adapters: the name of its checks in ``adapters.py``.
        examples: by file, two sizes, small and large. Samples per second come from the difference in CPU time.
    """

    name: str
    requirements: str
    packages: tuple[str, ...]
    adapters: str = ""
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)


FRAMEWORKS = {
    "farama": Framework("Gymnasium, PettingZoo", "farama", ("gymnasium", "pettingzoo"), "farama"),
    "supersuit": Framework(
        "PettingZoo's converters, SuperSuit", "farama", ("SuperSuit",), "supersuit", {"pettingzoo_converters": (5, 50)}
    ),
    "cleanrl": Framework("CleanRL style", "farama", ("torch",), "", {"cleanrl_ppo": (8192, 65536)}),
    "sb3": Framework(
        "Stable-Baselines3, sb3-contrib", "sb3", ("stable_baselines3", "sb3_contrib"), "sb3",
        {"sb3_single": (2048, 6144), "sb3_vector": (8192, 65536), "sb3_self_play": (8192, 65536)},
    ),
    "torchrl": Framework(
        "TorchRL", "torchrl", ("torchrl",), "torchrl", {"torchrl_vector": (4096, 12288), "torchrl_aec": (576, 1728)}
    ),
    "tianshou": Framework(
        "Tianshou", "tianshou", ("tianshou",), "tianshou", {"tianshou_dqn": (1600, 4800), "tianshou_ppo": (2048, 6144)}
    ),
    "rllib": Framework(
        "RLlib (new API stack)", "rllib", ("ray", "gymnasium"), "rllib",
        {"rllib_vector": (8192, 24576), "rllib_self_play": (4096, 8192)},
    ),
    "agilerl": Framework("AgileRL", "agilerl", ("agilerl", "pettingzoo"), "agilerl", {"agilerl_dqn": (1024, 3072)}),
    "openspiel": Framework(
        "OpenSpiel", "openspiel", ("open_spiel",), "openspiel", {"openspiel_ismcts": (1, 5), "openspiel_nfsp": (20, 60)}
    ),
}  # fmt: skip


def build(framework: Framework, folder: Path) -> Path:
    """The Python of a framework's environment, which is built if it is missing or its requirements have changed."""
    requirements = HERE / "requirements" / f"{framework.requirements}.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = [project["dependencies"], project["optional-dependencies"]["export"]]
    wanted = f"{requirements.read_text(encoding='utf-8')}{ours}"
    home = folder / framework.requirements
    python, stamp = home / "bin" / "python", home / "requirements"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        packages = ["-r", requirements, "-e", f"{ROOT}[export]"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def run(python: Path, *arguments: object, cwd: Path | None = None) -> tuple[str, float]:
    """What a script prints, and the CPU seconds that it took.

    Raises:
        RuntimeError: if it fails; with the end of its messages.
    """
    threads = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, env={**os.environ, **threads}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def versions(python: Path, packages: Sequence[str]) -> str:
    """The installed versions, such as ``"torchrl 0.14.1"``."""
    code = "import sys, importlib.metadata as m; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    return run(python, "-c", code, *packages)[0].strip()


def adapter_rows(framework: Framework, python: Path, matches: int) -> list[list[str]]:
    """The rows of the first table."""
    if not framework.adapters:
        return []
    printed, _ = run(python, HERE / "adapters.py", framework.adapters, matches)
    rows = []
    for line in printed.splitlines():
        if line.startswith("RESULT "):
            found = json.loads(line.removeprefix("RESULT "))
            result = f"fails: {found['failure']}" if found["failure"] else f"{found['matches']:,}"
            rows.append([framework.name, versions(python, framework.packages), found["adapter"], found["mode"], result])
    return rows


def example_rows(framework: Framework, python: Path) -> list[list[str]]:
    """The rows of the second table."""
    rows = []
    for name, (small, large) in framework.examples.items():
        path = ROOT / "examples" / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            try:
                short, long = (run(python, path, size, cwd=Path(folder))[1] for size in (small, large))
                speed = f"{(large - small) / (long - short):,.0f}" if long > short else "not measurable"
            except RuntimeError as error:
                speed = f"fails: {error}"
        lines = len(path.read_text(encoding="utf-8").splitlines())
        link = f"[{path.name}](../examples/{path.name})"
        rows.append([framework.name, versions(python, framework.packages), link, str(lines), speed])
    return rows


def tried(framework: Framework, folder: Path, matches: int) -> Iterator[tuple[str, list[list[str]]]]:
    """The rows of a framework, table by table, as soon as they are known."""
    try:
        python = build(framework, folder)
        yield "adapters", adapter_rows(framework, python, matches)
    except (subprocess.CalledProcessError, RuntimeError) as error:
        yield "adapters", [[framework.name, "-", "-", "-", f"fails: {error}"]]
    else:
        yield "examples", example_rows(framework, python)


def write(marker: str, rows: list[list[str]]) -> None:
    """Puts rows into the table between the markers, in the place of those of the same frameworks, in a fixed order."""
    text = PAGE.read_text(encoding="utf-8")
    pattern = rf"(<!-- {marker} -->\n(?:\|.*\n){{2}})((?:\|.*\n)*)(<!-- end of {marker} -->)"
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"{PAGE}: there is no table between the markers '{marker}' and 'end of {marker}'")
    new = {row[0] for row in rows}
    old = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[2].splitlines()]
    order = [framework.name for framework in FRAMEWORKS.values()]
    kept = [row for row in old if row[0] not in new and row[0] in order]
    table = "".join(f"| {' | '.join(row)} |\n" for row in sorted(kept + rows, key=lambda row: order.index(row[0])))
    PAGE.write_text(text[: found.start(2)] + table + text[found.end(2) :], encoding="utf-8")


def main() -> int:
    """Returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "frameworks", nargs="*", metavar="FRAMEWORK", help=f"of {', '.join(FRAMEWORKS)}; all by default"
    )
    parser.add_argument("--matches", type=int, default=200, help="of every game through every adapter")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "trick_envs-frameworks")
    given = parser.parse_args()
    failed = False
    for key in given.frameworks or FRAMEWORKS:
        framework = FRAMEWORKS[key]
        print(f"{framework.name}: building", flush=True)
        for marker, rows in tried(framework, given.folder, given.matches):
            if rows:
                write(marker, rows)
            for row in rows:
                print("  ", *row[2:], sep="  ", flush=True)
                failed |= row[-1].startswith("fails")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
