"""Expert iteration: workers label decisions by search, and the policy learns from the labels.

In every round, tasks (``training/expert/labels.py``) bring new labels, and the network learns from the latest ones, a
sliding window. While it learns, the workers label the next round with the weights from before. So a round's labels come
from weights that are one round old, whatever the number of workers, and the weights do not depend on that number.

The value learns from the scores of the labelled games.
"""

from __future__ import annotations

import math
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO

from training.config import ExpertIteration, RunConfig
from training.expert.labels import Labels, LabelTask, label
from training.networks.policy import ILLEGAL, matrix_precision, weights_of
from training.report.tracker import Monitor
from training.seeds import stream_seed
from trick_envs.agents.policy_files import read_policy_files
from trick_envs.files import replacing
from trick_envs.parallel.executor import TaskExecutor

ROUNDS_BEFORE = 3  # the opponent called earlier is the student of so many rounds before


def train_by_search(
    config: RunConfig,
    stage: ExpertIteration,
    model: MaskablePPO,
    monitor: Monitor,
    folder: Path,
    executor: TaskExecutor,
) -> None:
    """Trains until the stage has its labels.

    Args:
        config: of the run.
        stage: to be trained.
        model: whose policy learns.
        monitor: shows, evaluates and saves; its ``done`` labels are there already.
        folder: of the run; labels are kept in it until they are replaced.
        executor: of the workers.
    """
    torch.manual_seed(stream_seed(config.seed, monitor.done))
    policy = model.policy
    policy.precision = matrix_precision(config.precision, model.device)
    buffer = ReplayBuffer(folder / "labels", stage.replay_capacity, monitor.tasks)
    learner = ExpertTrainer(stage, config.reward_scale, model, np.random.default_rng((config.seed, monitor.samples)))
    begun_from_nothing = monitor.stage == 0 and config.init_from is None
    files = executor.share(read_policy_files(stage.players))
    student = None if monitor.done == 0 and begun_from_nothing else executor.share(weights_of(policy))
    earlier: deque[Any] = deque(maxlen=ROUNDS_BEFORE)
    pending: _Round | None = None

    def begin() -> _Round:
        given = (student, earlier[0] if earlier else None, files)
        return _Round(lambda number: LabelTask(config, stage, number), given, executor, buffer.tasks)

    while monitor.done < stage.total_labels:
        if pending is None:
            pending = begin()
        wanted = min(stage.labels_per_round, stage.total_labels - monitor.done)
        labels = pending.collect(wanted, lambda new, rate: monitor.note(f"{new:,} new labels, {rate:,.0f}/s"))
        buffer.add(labels, pending.tasks_done)
        monitor.tasks = buffer.tasks
        last = monitor.done + len(labels) >= stage.total_labels
        if student is None:  # an untrained network is no student: the first round is learned first
            pending = None
        else:
            earlier.append(student)
            student = executor.share(weights_of(policy))
            pending = None if last else begin()
        progress = (monitor.done / stage.total_labels, (monitor.done + len(labels)) / stage.total_labels)
        figures = learner.learn(buffer.labels(), stage.n_epochs * len(labels), progress)
        if student is None:
            student = executor.share(weights_of(policy))
        monitor.show(monitor.done + len(labels))
        for name, figure in figures.items():
            monitor.logger.record(f"expert/{name}", figure)
        over = monitor.evaluate(policy)
        monitor.note(f"{figures['samples_per_second']:,.0f} samples/s  {over}")
        monitor.save(model)
    buffer.clear()


class _Round:
    """Tasks that are being played for one round: always a few more than the workers can do at once."""

    def __init__(
        self, make: Callable[[int], LabelTask], given: tuple[Any, ...], executor: TaskExecutor, first: int
    ) -> None:
        self._make, self._given, self._executor, self._next = make, given, executor, first
        self._futures: list[Future[Labels]] = []
        self._started = time.monotonic()
        self.tasks_done = first
        if executor.in_flight > 1:  # workers begin while the network learns
            self._fill()

    def _fill(self) -> None:
        while len(self._futures) < self._executor.in_flight:
            self._futures.append(self._executor.submit(label, self._make(self._next), *self._given))
            self._next += 1

    def collect(self, wanted: int, on_progress: Callable[[int, float], None]) -> Labels:
        """Waits until there are enough labels; tasks count in their order, and those left over are dropped."""
        parts: list[Labels] = []
        count = 0
        while count < wanted:
            self._fill()
            parts.append(self._futures.pop(0).result())
            count += len(parts[-1])
            self.tasks_done += 1
            on_progress(count, count / (time.monotonic() - self._started))
        for future in self._futures:
            future.cancel()
        return Labels.joined(parts)


class ReplayBuffer:
    """The latest labels, one file a round, so that an interrupted run has them again.

    Args:
        folder: for the files; those that it holds are taken over.
        capacity: how many labels are kept.
        tasks: number of the next task, as far as is known without the files.

    Attributes:
        tasks: number of the next task.
    """

    def __init__(self, folder: Path, capacity: int, tasks: int = 0) -> None:
        self._folder, self._capacity = folder, capacity
        self._rounds: list[tuple[Path, Labels]] = []
        self.tasks = tasks
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as file:
                self._rounds.append((path, Labels(**{name: file[name] for name in file.files})))
            self.tasks = max(self.tasks, int(path.stem))

    def add(self, labels: Labels, tasks: int) -> None:
        """Adds a round, and drops the oldest beyond the capacity.

        Args:
            labels: of the round.
            tasks: number of the next task.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{tasks:08}.npz"
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **labels.arrays())
        self._rounds.append((path, labels))
        self.tasks = tasks
        while len(self._rounds) > 1 and sum(len(each) for _, each in self._rounds[1:]) >= self._capacity:
            self._rounds.pop(0)[0].unlink()

    def labels(self) -> Labels:
        """All labels that are kept, the oldest first."""
        return Labels.joined([labels for _, labels in self._rounds])

    def clear(self) -> None:
        """Deletes the files."""
        shutil.rmtree(self._folder, ignore_errors=True)


class ExpertTrainer:
    """Teaches the policy what the labels say.

    Args:
        stage: the rates and the target.
        reward_scale: factor on the returns.
        model: whose policy learns, with its own optimizer.
        rng: for the order of the labels.
    """

    def __init__(
        self, stage: ExpertIteration, reward_scale: float, model: MaskablePPO, rng: np.random.Generator
    ) -> None:
        self._stage, self._reward_scale, self._policy, self._rng = stage, reward_scale, model.policy, rng
        self._device = model.device

    def learn(self, labels: Labels, samples: int, progress: tuple[float, float]) -> dict[str, float]:
        """Learns from so many samples, drawn in passes over all labels; returns figures for the log.

        Args:
            labels: that are kept.
            samples: how many.
            progress: of the stage, 0 … 1, before and after: the rate falls linearly.
        """
        stage, policy, started = self._stage, self._policy, time.monotonic()
        size = min(stage.batch_size, len(labels))
        batches = max(1, math.ceil(samples / size))
        sums = {"loss_policy": 0.0, "loss_value": 0.0, "agreement": 0.0}
        policy.set_training_mode(True)
        for number, rows in enumerate(_passes(self._rng, len(labels), size, batches)):
            done = progress[0] + (progress[1] - progress[0]) * number / batches
            rate = stage.learning_rate + (stage.final_learning_rate - stage.learning_rate) * done
            for group in policy.optimizer.param_groups:
                group["lr"] = rate
            target, picks = self._target(labels, rows)
            observations = torch.from_numpy(labels.observations[rows]).to(self._device)
            logits, values = policy.logits_and_values(observations, labels.masks[rows])
            loss_policy = -(target * torch.log_softmax(logits, 1)).sum(1).mean()
            returns = torch.from_numpy(labels.returns[rows]).to(self._device) * self._reward_scale
            loss_value = torch.nn.functional.mse_loss(values.squeeze(1), returns)
            policy.optimizer.zero_grad()
            torch.autograd.backward(loss_policy + stage.vf_coef * loss_value)
            torch.nn.utils.clip_grad_norm_(policy.parameters(), stage.max_grad_norm)
            policy.optimizer.step()
            if number % 16 == 0:
                sums["loss_policy"] += float(loss_policy.detach())
                sums["loss_value"] += float(loss_value.detach())
                sums["agreement"] += float((logits.argmax(1) == picks).float().mean())
        policy.set_training_mode(False)
        figures = {name: total / math.ceil(batches / 16) for name, total in sums.items()}
        return {**figures, "samples_per_second": batches * size / (time.monotonic() - started), "learning_rate": rate}

    def _target(self, labels: Labels, rows: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The distributions to imitate, ``(batch, A)``, and the search's choices, ``(batch,)``."""
        picks = self._tensor(labels.picks[rows], np.int64)
        if self._stage.target == "argmax":
            return torch.nn.functional.one_hot(picks, labels.masks.shape[1]).float(), picks
        scores = standard_scores(
            *(self._tensor(each[rows], np.float32) for each in (labels.advantages, labels.variances, labels.counts))
        )
        moved, possible = self._stage.inverse_temperature * scores, self._tensor(labels.masks[rows], np.int64) != 0
        tried = self._tensor(labels.counts[rows], np.int64) > 0
        if self._stage.target == "kl_prior":
            moved = moved + self._tensor(labels.logits[rows], np.float32)
        else:  # of an action that was not tried nothing is known, and without any other the choice is all there is
            possible = torch.where(
                tried.any(1, keepdim=True), tried, torch.nn.functional.one_hot(picks, tried.shape[1]) > 0
            )
        return torch.softmax(torch.where(possible, moved, ILLEGAL), 1), picks

    def _tensor(self, array: npt.NDArray[Any], dtype: type[np.generic]) -> torch.Tensor:
        return torch.from_numpy(array.astype(dtype)).to(self._device)


SPREAD = 0.25  # points: an error that is always there


def standard_scores(advantages: torch.Tensor, variances: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Advantages in standard errors: what few worlds say counts less.

    The variance of an action that was tried in few worlds is itself uncertain, so that of all actions is mixed in.
    """
    tried = counts.sum(1, keepdim=True).clamp(min=1.0)
    overall = (variances * counts).sum(1, keepdim=True) / tried
    mixed = (variances * counts + overall * 2.0) / (counts + 2.0)
    return advantages / torch.sqrt(mixed / counts.clamp(min=1.0) + SPREAD**2)


def _passes(rng: np.random.Generator, count: int, size: int, batches: int) -> Iterator[Any]:
    """Row numbers of so many batches: every pass has each row once, but for a rest smaller than a batch."""
    order, at = rng.permutation(count), 0
    for _ in range(batches):
        if at + size > count:
            order, at = rng.permutation(count), 0
        yield order[at : at + size]
        at += size
