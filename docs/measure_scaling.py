"""Measures what docs/scaling.md computes with: ``python docs/measure_scaling.py WHAT [WORKERS] [--ray]``.

| WHAT | prints, for 5-player Pepper |
| --- | --- |
| ``tournament`` | deals/s of greedy against pimc:20 |
| ``labels`` | labels/s of ismcts:100 in tasks of 16 matches; bytes of a label |
| ``ppo`` | samples/s: rollouts by workers, updates, both in turn; bytes of a sample and of the weights |
| ``core`` | per second of CPU time of this process: deals by players, labels by teachers, samples of the learner |
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
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import configure

from training.config import RunConfig
from training.expert.labels import Labels, LabelTask, label
from training.expert.learner import ExpertTrainer
from training.networks.policy import weights_of
from training.ppo.algorithm import SelfPlayPPO, new_ppo, prepare
from training.ppo.rollouts import RolloutWorkers
from training.run import ONE_ENV
from trick_envs.engine.registry import load_game
from trick_envs.evaluation.arena import LOG, Chunk, Task, make_plan, play_arena
from trick_envs.evaluation.arena.log import Log
from trick_envs.evaluation.arena.pair import play_chunk
from trick_envs.evaluation.seeds import Purpose
from trick_envs.parallel.executor import make_executor

GAME = load_game("pepper", 5, 1)
WARM = 60  # deals that are played before the clock starts, so that every worker has begun


def config_of(**stage: Any) -> tuple[RunConfig, Any]:
    values = {"game": "pepper", "num_players": 5, "network": {"width": 64}, "precision": "float32", "init_from": "any"}
    config = RunConfig.model_validate({**values, "stages": [stage]})
    return config, config.stages[0]


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


def labels(workers: int, ray: str | None) -> None:
    config, stage = config_of(method="expert_iteration", games=16)
    weights = weights_of(new_ppo(config, ONE_ENV).policy)
    with make_executor(workers, ray) as executor:
        shared = executor.share(weights)

        def collect(first: int, count: int) -> list[Labels]:
            futures = [
                executor.submit(label, LabelTask(config, stage, first + i), shared, None, {}) for i in range(count)
            ]
            return [future.result() for future in futures]

        collect(0, 4 * workers)
        began = time.monotonic()
        found = Labels.joined(collect(100, 40))
        print(f"{len(found) / (time.monotonic() - began):,.0f} labels/s")
    print(f"{sum(array.nbytes for array in found.arrays().values()) / len(found):.0f} bytes a label")


def ppo(workers: int, ray: str | None) -> None:
    config, stage = config_of(method="ppo", learning_rate=2e-3, rollout_workers=workers)
    model = ready(config, stage)
    seconds, count = np.zeros(2), 0
    with make_executor(workers, ray) as executor:
        rollouts = RolloutWorkers(executor, config, stage, model.env.first_seed)
        for number in range(6):
            began = time.monotonic()
            parts = rollouts.collect(weights_of(model.policy), number * 32768)
            model.rollout_buffer.load_samples(parts)
            collected = time.monotonic()
            model.train()
            if number >= 2:
                seconds += collected - began, time.monotonic() - collected
                count += sum(len(part.actions) for part in parts)
    size = sum(array.nbytes for part in parts for array in vars(part).values()) / sum(
        len(part.actions) for part in parts
    )
    print(f"samples/s: rollouts {count / seconds[0]:,.0f}, updates {count / seconds[1]:,.0f}", end=", ")
    print(f"both {count / seconds.sum():,.0f}; {size:.0f} bytes a sample", end=", ")
    print(f"{sum(array.nbytes for array in weights_of(model.policy).values()):,} bytes of weights")


def ready(config: RunConfig, stage: Any) -> SelfPlayPPO:
    model = new_ppo(config, stage)
    prepare(config, stage, model)
    model.set_logger(configure(None, []))
    model._current_progress_remaining = 1.0
    return model


def core() -> None:
    for specs, deals in (
        (["greedy", "pretrained"], 20), (["greedy", "pimc:10"], 1), (["greedy", "ismcts:1000"], 1),
        (["pretrained", "pretrained+rollout:32"], 1),
    ):  # fmt: skip
        one, other = make_plan(GAME, specs, 2).players
        tasks = [Task(GAME, (one, other), Purpose.VALIDATION, 0, deals * i, deals) for i in range(4)]
        rate = cpu(partial(_deals, tasks))
        print(f"{' against '.join(specs)}: {rate:.2f} deals/s, {deals} a task")
    for search, games in (("ismcts:100", 128), ("ismcts:1000", 32), ("rollout:16", 32)):
        config, stage = config_of(method="expert_iteration", search=search, games=games)
        model = new_ppo(config, ONE_ENV)
        given = LabelTask(config, stage, 0), weights_of(model.policy), None, {}
        found = label(*given)
        rate = cpu(partial(_labels, given))
        print(f"{search}: {rate:,.0f} labels/s, {len(found) / games:.1f} labels a match")
        if search == "ismcts:100":
            learner = ExpertTrainer(stage, config.reward_scale, model, np.random.default_rng(0))
            rate = cpu(partial(_learn, learner, Labels.joined([found] * 10)))
            print(f"learner: {rate:,.0f} samples/s")


def _deals(tasks: list[Task]) -> float:
    return sum(len(play_chunk(task, {}).margins) for task in tasks)


def _labels(given: Any) -> float:
    return len(label(*given))


def _learn(learner: ExpertTrainer, found: Labels) -> float:
    learner.learn(found, 40_960, (0.0, 1.0))
    return 40_960


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
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tournament", "labels", "ppo", "core", "driver"])
    parser.add_argument("workers", type=int, nargs="?", default=1)
    parser.add_argument("--ray", action="store_const", const="local")
    given = parser.parse_args()
    if given.what in ("core", "driver"):
        {"core": core, "driver": driver}[given.what]()
    else:
        {"tournament": tournament, "labels": labels, "ppo": ppo}[given.what](given.workers, given.ray)
