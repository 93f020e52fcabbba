"""Measures what docs/scaling.md computes with: ``python docs/measure_scaling.py WHAT [WORKERS] [--ray]``.

| WHAT | prints, for 5-player Pepper |
| --- | --- |
| ``tournament`` | deals/s of greedy against pimc:20 |
| ``core`` | per second of CPU time of this process: deals by players |
| ``driver`` | milliseconds of the driver's CPU time per task with Ray; milliseconds to log a chunk |
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from trick_envs.engine.registry import load_game
from trick_envs.evaluation.arena import LOG, Chunk, Task, make_plan, play_arena
from trick_envs.evaluation.arena.log import Log
from trick_envs.evaluation.arena.pair import play_chunk
from trick_envs.evaluation.seeds import Purpose
from trick_envs.parallel.executor import make_executor

GAME = load_game("pepper", 5, 1)
WARM = 60  # deals that are played before the clock starts, so that every worker has begun


def cpu(work: Callable[[], float]) -> float:
    """Units per second of CPU time."""
    work()
    began = time.process_time()
    return work() / (time.process_time() - began)


def tournament(workers: int, ray: str | None) -> None:
    stamps: list[float] = []
    with TemporaryDirectory() as folder:
        plan = make_plan(GAME, ["greedy", "pimc:20"], WARM + 140)
        play_arena(plan, Path(folder), workers, lambda *_: stamps.append(time.monotonic()), ray)
    print(f"{(len(stamps) - WARM) / (stamps[-1] - stamps[WARM - 1]):.1f} deals/s")


def core() -> None:
    for specs, deals in (
        (["greedy", "pretrained"], 20), (["greedy", "pimc:10"], 1), (["greedy", "ismcts:1000"], 1),
        (["pretrained", "pretrained+rollout:32"], 1),
    ):  # fmt: skip
        one, other = make_plan(GAME, specs, 2).players
        tasks = [Task(GAME, (one, other), Purpose.VALIDATION, 0, deals * i, deals) for i in range(4)]
        rate = cpu(partial(_deals, tasks))
        print(f"{' against '.join(specs)}: {rate:.2f} deals/s, {deals} a task")


def _deals(tasks: list[Task]) -> float:
    return sum(len(play_chunk(task, {}).margins) for task in tasks)


def driver() -> None:
    with TemporaryDirectory() as folder:
        log, chunk = (
            Log(Path(folder) / LOG, make_plan(GAME, ["random", "greedy"], 2)),
            Chunk(("a", "b"), 0, [[1.0, 1.0]], (1, 1), (0.1, 0.1)),
        )
        seconds = []
        for _ in range(200):
            began = time.perf_counter()
            log.add(chunk)
            seconds.append(time.perf_counter() - began)
    print(f"{1000 * statistics.median(seconds):.2f} ms to log a chunk")
    with make_executor(2, "local") as executor:
        waiting = {executor.submit(divmod, 7, 2) for _ in range(200)}
        done, began = 0, time.process_time()
        while done < 3000:
            finished = wait(waiting, return_when=FIRST_COMPLETED).done
            waiting -= finished
            waiting |= {executor.submit(divmod, 7, 2) for _ in finished}
            done += len(finished)
        print(f"{1000 * (time.process_time() - began) / done:.2f} ms of CPU time per task")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tournament", "core", "driver"])
    parser.add_argument("workers", type=int, nargs="?", default=1)
    parser.add_argument("--ray", action="store_const", const="local")
    given = parser.parse_args()
    if given.what in ("core", "driver"):
        {"core": core, "driver": driver}[given.what]()
    else:
        tournament(given.workers, given.ray)
