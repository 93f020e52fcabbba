"""The frameworks that the environments were tried with: python tests/frameworks/run.py [NAME …] [--matches N]

For each: builds an environment of its own from ``requirements/``, plays matches of every game through every adapter
(``adapters.py``), runs the examples, and writes the rows of the tables in ``docs/frameworks.md``.

``--learn`` instead runs the examples at their default size, or those named alone: each has to end above the player
that it measures itself against, within three minutes of CPU time. The row of one that does not is left as it is.
``--table`` trains a policy with each standard algorithm, and one with the quickstart, for ``--minutes`` of CPU time
each, and all of them meet in the arena.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
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
        extra: of this package, that the examples need.
    """

    name: str
    requirements: str
    packages: tuple[str, ...]
    adapters: str = ""
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    extra: str = "export"


FRAMEWORKS = {
    "farama": Framework("Gymnasium, PettingZoo", "farama", ("gymnasium", "pettingzoo"), "farama"),
    "supersuit": Framework(
        "PettingZoo's converters, SuperSuit", "farama", ("SuperSuit",), "supersuit", {"pettingzoo_converters": (5, 50)}
    ),
    "cleanrl": Framework("CleanRL style", "farama", ("torch",), "", {"cleanrl_ppo": (8192, 65536)}),
    "sb3": Framework(
        "Stable-Baselines3, sb3-contrib", "sb3", ("stable_baselines3", "sb3_contrib"), "sb3",
        {
            "sb3_native_self_play": (131072, 655360), "sb3_single": (4096, 12288), "sb3_vector": (8192, 65536),
            "sb3_self_play": (8192, 65536), "sb3_qrdqn": (10240, 30720), "expert_iteration": (15_000, 45_000),
        },
        "train",
    ),
    "torchrl": Framework(
        "TorchRL", "torchrl", ("torchrl",), "torchrl", {"torchrl_vector": (4096, 12288), "torchrl_aec": (2048, 8192)}
    ),
    "tianshou": Framework(
        "Tianshou", "tianshou", ("tianshou",), "tianshou", {"tianshou_dqn": (1600, 4800), "tianshou_ppo": (2048, 6144)}
    ),
    "rllib": Framework(
        "RLlib (new API stack)", "rllib", ("ray", "gymnasium"), "rllib",
        {"rllib_vector": (8192, 24576), "rllib_self_play": (8192, 24576)},
    ),
    "agilerl": Framework("AgileRL", "agilerl", ("agilerl", "pettingzoo"), "agilerl", {"agilerl_dqn": (20_480, 61_440)}),
    "openspiel": Framework(
        "OpenSpiel", "openspiel", ("open_spiel",), "openspiel",
        {"openspiel_ismcts": (1, 5), "openspiel_nfsp": (200, 600)},
    ),
    "textarena": Framework("TextArena", "textarena", ("textarena",), "", {"textarena_match": (5, 40)}, "play"),
    "openenv": Framework("OpenEnv", "openenv", ("openenv",), "openenv", {}, "openenv"),
    "trl": Framework("TRL", "trl", ("trl", "transformers"), "", {"trl_grpo": (1, 5)}, "play"),
    "minari": Framework("Minari", "minari", ("minari",), "minari", {"minari_imitation": (40, 1040)}, "minari"),
}  # fmt: skip


SECONDS = 180  # of CPU time, in which an example has to learn
DIFFERENCE = 5.0  # seconds of CPU time by which two runs have to differ, to tell how long a sample takes
TIMES_OFF = 1.2  # by how many times a training of the table may be too long or too short
# The standard algorithms, by the name of a player in the arena: framework, example, what follows the size of a run.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "maskable_ppo": ("sb3", "sb3_vector"),
    "maskable_ppo_suits": ("sb3", "sb3_self_play"),
    "nfsp": ("openspiel", "openspiel_nfsp", "5"),
    "qr_dqn": ("sb3", "sb3_qrdqn"),
    "rllib_ppo": ("rllib", "rllib_vector"),
    "tianshou_ppo": ("tianshou", "tianshou_ppo"),
    "torchrl_ppo": ("torchrl", "torchrl_vector"),
}
QUICKSTART, QUICKSTART_SIZES = "quickstart", (65_536, 262_144)
TABLE_GAME = "pepper"


def build(framework: Framework, folder: Path) -> Path:
    """The Python of a framework's environment, which is built if it is missing or its requirements have changed."""
    requirements = HERE / "requirements" / f"{framework.requirements}.txt"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = [project["dependencies"], project["optional-dependencies"][framework.extra]]
    wanted = f"{requirements.read_text(encoding='utf-8')}{ours}"
    home = folder / framework.requirements
    python, stamp = home / "bin" / "python", home / "requirements"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        packages = ["-r", requirements, "-e", f"{ROOT}[{framework.extra}]"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def run(python: Path, *arguments: object, cwd: Path | None = None) -> tuple[str, float]:
    """What a script prints, and the CPU seconds that it took.

    Raises:
        RuntimeError: if it fails; with the end of its messages.
    """
    own = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    if cwd:
        own["MINARI_DATASETS_PATH"] = str(cwd)  # a data set of an earlier run would save the time of making it
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, env={**os.environ, **own}
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


def rate(samples: float) -> str:
    """Samples per second, with a digit after the point where there is less than one."""
    return f"{samples:,.0f}" if samples >= 1 else f"{samples:.1f}"


def example_rows(framework: Framework, python: Path) -> list[list[str]]:
    """The rows of the second table."""
    rows = []
    for name, (small, large) in framework.examples.items():
        path = ROOT / "examples" / f"{name}.py"
        with tempfile.TemporaryDirectory() as folder:
            try:
                short, long = (run(python, path, size, cwd=Path(folder))[1] for size in (small, large))
                speed = rate((large - small) / (long - short)) if long > short else "not measurable"
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


def learned(printed: str) -> tuple[str, float, float]:
    """The opponent, the margin and its half-width in the result that an example prints.

    Raises:
        RuntimeError: if it prints none.
    """
    found = re.search(r"Result\(player='policy.onnx', opponent='(\w+)'.* margin=(\S+), half_width=(\S+),", printed)
    if found is None:
        raise RuntimeError(f"no result of an evaluation: {printed[-200:]!r}")
    return found[1], float(found[2]), float(found[3])


def learning_rows(examples: Sequence[str], framework: Framework, python: Path) -> Iterator[list[str]]:
    """The rows of the table of what these examples reach at their default size, one after the other.

    The last cell of one that does not learn begins with ``fails``.
    """
    for name in examples:
        path = ROOT / "examples" / f"{name}.py"
        source = path.read_text(encoding="utf-8")
        size = re.search(r"else ([\d_]+)[,\n]", source)
        if size is None or "export_policy(" not in source:
            continue
        samples, about = int(size[1]), [framework.name, f"[{path.name}](../examples/{path.name})"]
        with tempfile.TemporaryDirectory() as folder:
            try:
                printed, seconds = run(python, path, samples, cwd=Path(folder))
                opponent, margin, half_width = learned(printed)
            except RuntimeError as error:
                yield [*about, f"{samples:,}", "-", "-", f"fails: {error}"]
                continue
        reached = f"{margin:+.2f} ± {half_width:.2f}"
        if margin <= half_width:
            reached = f"fails: not above {opponent}: {reached}"
        elif seconds > SECONDS:
            reached = f"fails: {seconds:.0f} s are too many: {reached}"
        yield [*about, f"{samples:,}", f"{seconds:.0f}", f"`{opponent}`", reached]


def train_for(seconds: float, sizes: tuple[int, int], run_for: Callable[[int], float]) -> tuple[int, float]:
    """Trains for about as many seconds of CPU time: ``run_for`` does some samples and says how long it took.

    Two short runs tell how long a sample takes, and how long everything else. The larger size grows until it takes long
    enough that start and noise do not count. A long run that misses the time by more than ``TIMES_OFF``, as on a
    machine that is busy now and then, is done once more, with as many samples as it should have had.

    Returns:
        Samples and CPU seconds of the last run.
    """
    small, large = sizes
    short, long = run_for(small), run_for(large)
    while long < short + DIFFERENCE:
        small, short, large = large, long, 4 * large
        long = run_for(large)
    samples = max(large, int(large + (seconds - long) * (large - small) / (long - short)))
    spent = run_for(samples)
    if not 1 / TIMES_OFF < spent / seconds < TIMES_OFF:
        samples = int(samples * seconds / spent)
        spent = run_for(samples)
    return samples, spent


def train(name: str, python: Path, samples: int, folder: Path) -> float:
    """Trains a player of the table with so many samples, into a new folder; returns CPU seconds."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if name in ALGORITHMS:
        _, example, *more = ALGORITHMS[name]
        return run(python, ROOT / "examples" / f"{example}.py", samples, *more, cwd=folder)[1]
    sizes = [f"{key}={samples}" for key in ("total_samples", "evaluate_every")]
    settings = [part for one in [*sizes, "final_deals=2", "threads=1"] for part in ("--set", one)]
    return run(python, "-m", "trick_envs.cli", "train", QUICKSTART, "--folder", folder, *settings)[1]


def standard_rows(
    keys: Sequence[str], environments: Path, folder: Path, minutes: float, deals: int
) -> Iterator[list[str]]:
    """The rows of the table of what standard algorithms reach.

    Every policy is trained first; one that is there from an earlier call with the same minutes is kept. Then they meet
    in the arena, on test deals.
    """
    players: dict[str, tuple[str, str, str]] = {}  # the file, and how it was trained
    for name in [*ALGORITHMS, QUICKSTART]:
        key, example, *_ = ALGORITHMS.get(name, ("sb3", ""))
        if name != QUICKSTART and keys and not {key, name} & set(keys):
            continue
        home, framework = folder / f"{minutes:g}-minutes" / name, FRAMEWORKS[key]
        policy, notes = home.with_suffix(".onnx"), home.with_suffix(".json")
        try:
            if not (policy.is_file() and notes.is_file()):
                print(f"{name}: training", flush=True)
                python = build(framework, environments)
                sizes = framework.examples.get(example, QUICKSTART_SIZES)
                samples, spent = train_for(60 * minutes, sizes, partial(train, name, python, folder=home))
                shutil.copyfile(home / "policy.onnx", policy)
                notes.write_text(json.dumps([samples, spent]), encoding="utf-8")
            samples, spent = json.loads(notes.read_text(encoding="utf-8"))
            players[name] = (str(policy), f"{samples:,}", f"{spent / 60:.1f}")
        except (subprocess.CalledProcessError, RuntimeError) as error:
            yield [name, "-", "-", "-", f"fails: {error}"]
    arena = folder / f"{minutes:g}-minutes" / "arena"
    python = build(FRAMEWORKS["sb3"], environments)
    files = [policy for policy, *_ in players.values()]
    command = ["-m", "trick_envs.cli", "arena", *files, "random", "greedy", "--game", TABLE_GAME, "--split", "test"]
    run(python, *command, "--deals", deals, "--folder", arena)
    found = json.loads((arena / "results.json").read_text(encoding="utf-8"))
    margins = {(one["player"], one["opponent"]): (one["margin"], one["half_width"]) for one in found["results"]}
    for name, (policy, samples, spent) in players.items():
        source = ALGORITHMS[name][1] if name in ALGORITHMS else "configs/quickstart.yaml"
        link = f"[{source}](../examples/{source}.py)" if name in ALGORITHMS else f"[{source}](../{source})"
        cells = [margins.get((policy, other)) for other in ("random", "greedy", players[QUICKSTART][0])]
        yield [name, link, samples, spent, *(f"{one[0]:+.2f} ± {one[1]:.2f}" if one else "" for one in cells)]


def write(marker: str, rows: list[list[str]], key: int = 0) -> None:
    """Puts rows into the table between the markers, in the place of those that they replace, in a fixed order.

    Args:
        marker: of the table.
        rows: new ones.
        key: the column by which an old row is found.
    """
    text = PAGE.read_text(encoding="utf-8")
    pattern = rf"(<!-- {marker} -->\n(?:\|.*\n){{2}})((?:\|.*\n)*)(<!-- end of {marker} -->)"
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"{PAGE}: there is no table between the markers '{marker}' and 'end of {marker}'")
    new = {row[key] for row in rows}
    old = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[2].splitlines()]
    order = [*(framework.name for framework in FRAMEWORKS.values()), *ALGORITHMS, QUICKSTART]
    kept = [row for row in old if row[key] not in new and row[0] in order]
    table = "".join(f"| {' | '.join(row)} |\n" for row in sorted(kept + rows, key=lambda row: order.index(row[0])))
    PAGE.write_text(text[: found.start(2)] + table + text[found.end(2) :], encoding="utf-8")


def show(rows: list[list[str]]) -> bool:
    """Prints rows; returns whether one of them says that something fails."""
    for row in rows:
        print("  ", *row, sep="  ", flush=True)
    return any(row[-1].startswith("fails") for row in rows)


def main() -> int:
    """Returns 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(FRAMEWORKS)}, or with --learn an example; all by default",
    )
    parser.add_argument("--matches", type=int, default=200, help="of every game through every adapter")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "trick_envs-frameworks")
    parser.add_argument("--learn", action="store_true", help="run the examples at their default size")
    parser.add_argument("--table", action="store_true", help="what standard algorithms reach, in the arena")
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU time for each policy of --table")
    parser.add_argument("--deals", type=int, default=1000, help="of each pair in the arena of --table")
    given = parser.parse_args()
    if given.table:
        trained = given.folder / "table"
        rows = list(standard_rows(given.names, given.folder, trained, given.minutes, given.deals))
        write("standard", [row for row in rows if not row[-1].startswith("fails")])
        return int(show(rows))
    failed = False
    known = {*FRAMEWORKS, *(name for framework in FRAMEWORKS.values() for name in framework.examples if given.learn)}
    if wrong := set(given.names) - known:
        parser.error(f"expected {', '.join(sorted(known))}, not {', '.join(sorted(wrong))}")
    for key, framework in FRAMEWORKS.items():
        whole = not given.names or key in given.names
        examples = [name for name in framework.examples if whole or name in given.names]
        if not whole and not examples:
            continue
        print(f"{framework.name}: building", flush=True)
        if given.learn:
            for row in learning_rows(examples, framework, build(framework, given.folder)):
                if show([row]):
                    failed = True
                else:
                    write("learning", [row], key=1)
            continue
        for marker, rows in tried(framework, given.folder, given.matches):
            if rows:
                write(marker, rows)
            failed |= show(rows)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
