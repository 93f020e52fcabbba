"""What a run shows and keeps while it trains: progress, evaluations at intervals, checkpoints."""

from __future__ import annotations

import json
import math
import time
import zipfile
from pathlib import Path
from typing import Any

from rich.progress import Progress
from stable_baselines3.common.logger import Logger, configure

from training.config import RunConfig
from training.networks.policy import NetworkAgent, save_model
from training.report.snapshots import keep_policy, next_mark
from trick_envs.agents import make_agent
from trick_envs.engine.game import Game
from trick_envs.evaluation.duplicate import Result, evaluate
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import write_json

CHECKPOINT, PROGRESS = "checkpoint.zip", "progress.json"


class Monitor:
    """Accompanies a run through its stages.

    Args:
        config: of the run.
        game: that is learned.
        folder: for checkpoints and logs; progress that it holds is continued.
        bar: where progress is shown.

    Attributes:
        stage: the number of the stage.
        done: samples or labels of this stage so far.
        samples: decisions learned from so far, in all stages: every pass counts only once.
        tasks: of expert iteration so far, in all stages.
        history: evaluations in chronological order.
        initial: the evaluation before the first sample; ``None`` if there was none.
        logger: writes to TensorBoard.
    """

    def __init__(self, config: RunConfig, game: Game, folder: Path, bar: Progress) -> None:
        self.config, self.game, self._folder, self._bar = config, game, folder, bar
        loaded = load_progress(folder)
        self.stage: int = loaded.get("stage", 0)
        self.done: int = loaded.get("done", 0)
        self.samples: int = loaded.get("samples", 0)
        self.tasks: int = loaded.get("tasks", 0)
        self.history: list[dict[str, Any]] = loaded.get("history", [])
        self.initial: dict[str, Any] | None = loaded.get("initial")
        self._seconds_before: float = loaded.get("seconds", 0.0)
        self._started = time.monotonic()
        self._task: Any = None
        self.logger: Logger = configure(str(folder / "tensorboard"), ["tensorboard"])

    @property
    def seconds(self) -> float:
        """The duration of the run so far, also before interruptions."""
        return self._seconds_before + time.monotonic() - self._started

    def begin_stage(self, number: int, model: Any) -> None:
        """Shows a stage, which may have begun before an interruption; measures what the run begins with."""
        if number != self.stage:
            self.stage, self.done = number, 0
        count = len(self.config.stages)
        name = f"stage {number + 1} of {count}: " if count > 1 else ""
        stage = self.config.stages[number]
        self._total = stage.total
        self._task = self._bar.add_task(
            f"{name}{stage.title}", total=stage.total, completed=min(self.done, stage.total), note=""
        )
        if self.samples == 0 and self.initial is None:
            self.initial = self._entry(model.policy)

    def show(self, done: int) -> None:
        """Shows how many samples or labels of this stage are done."""
        self.samples += done - self.done
        self.done = done
        self._bar.update(self._task, completed=min(done, self._total))

    def end_stage(self, model: Any) -> None:
        """Evaluates and saves what a stage ends with."""
        if not self.history or self.history[-1]["samples"] != self.samples:
            self.note(self.evaluate(model.policy))
        self.save(model)

    def stop(self, model: Any) -> None:
        """Saves after Ctrl-C what can be saved: a stage of expert iteration has its last round already."""
        if self.config.stages[self.stage].resumes_anywhere:
            self.save(model)

    def note(self, text: str) -> None:
        """Shows a few words behind the progress bar."""
        self._bar.update(self._task, note=text)

    def evaluate(self, policy: Any) -> str:
        """Measures the policy against the config's opponents; returns the result in a few words."""
        entry = self._entry(policy)
        part = 100 * (self.stage + self.done / self._total) / len(self.config.stages)
        mark = next_mark(self.history, part)
        if mark is not None:
            keep_policy(policy, self._folder, mark)
            entry["kept"] = mark
        self.history.append(entry)
        found = "  ".join(f"{one['opponent']} {one['margin']:+.2f}±{one['half_width']:.2f}" for one in entry["results"])
        return f"over {found}"

    def _entry(self, policy: Any) -> dict[str, Any]:
        """Measures the policy; also for TensorBoard."""
        agent = NetworkAgent(policy)
        entry: dict[str, Any] = {
            "stage": self.stage, "done": self.done, "samples": self.samples, "seconds": round(self.seconds, 1),
            "figures": self._figures(), "results": [],
        }  # fmt: skip
        for spec in self.config.opponents:
            opponent = make_agent(spec, self.game)
            deals, seed = self.config.evaluation.deals, self.config.seed
            result = evaluate(self.game, agent, opponent, deals, seed, Purpose.MONITORING)
            entry["results"].append(result.as_dict())
            self.logger.record(f"evaluation/margin_over_{spec}", result.margin)
        self.logger.dump(self.samples)
        return entry

    @property
    def curve(self) -> list[dict[str, Any]]:
        """What the run began with, if that was measured, and all evaluations since."""
        return [*([] if self.initial is None else [self.initial]), *self.history]

    def _figures(self) -> dict[str, float]:
        """What was logged of learning since the last dump, such as losses."""
        logged = self.logger.name_to_value.items()
        learning = {name: float(value) for name, value in logged if name.startswith(("train/", "expert/"))}
        return {name: value for name, value in learning.items() if math.isfinite(value)}

    def save(self, model: Any) -> None:
        """Writes a checkpoint: the model, and in the same file all that ``progress.json`` tells."""
        progress = {
            "stage": self.stage, "done": self.done, "samples": self.samples, "tasks": self.tasks,
            "seconds": round(self.seconds, 1), "initial": self.initial, "history": self.history,
        }  # fmt: skip
        files = {**model.files_of_training(), PROGRESS: json.dumps(progress)}  # a crash leaves all of them or none
        save_model(model, self._folder / CHECKPOINT, files)
        write_json(self._folder / PROGRESS, progress)  # to look at


def load_progress(folder: Path) -> dict[str, Any]:
    """What ``save`` wrote last, from the checkpoint itself; empty, if a run has none yet."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.is_file():
        return {}
    with zipfile.ZipFile(checkpoint) as archive:
        if PROGRESS in archive.namelist():
            progress = json.loads(archive.read(PROGRESS))
        else:  # of the version before
            progress = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
    for entry in [*progress["history"], *filter(None, [progress.get("initial")])]:
        entry["results"] = [Result.from_dict(result).as_dict() for result in entry["results"]]
    return progress
