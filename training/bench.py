"""The speed of training: rollouts alone, and rollouts with updates."""

from __future__ import annotations

import statistics
import time

from stable_baselines3.common.callbacks import BaseCallback

from training.config import RunConfig
from training.run import games_of, new_model

ITERATIONS = 6


class _Stopwatch(BaseCallback):
    def __init__(self) -> None:
        super().__init__()
        self.begun: list[float] = []
        self.ended: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.begun.append(time.perf_counter())

    def _on_rollout_end(self) -> None:
        self.ended.append(time.perf_counter())


def training_rates(config: RunConfig) -> dict[str, float]:
    """Samples per second, the median over several iterations: ``rollout``, and ``rollout_and_update``."""
    samples, watch = config.n_envs * config.n_steps, _Stopwatch()
    new_model(config, games_of(config)).learn(samples * ITERATIONS, callback=watch)
    rollouts = [end - begin for begin, end in zip(watch.begun, watch.ended, strict=True)][1:]
    whole = [later - begin for begin, later in zip(watch.begun, watch.begun[1:], strict=False)][1:]
    return {
        "rollout": samples / statistics.median(rollouts),
        "rollout_and_update": samples / statistics.median(whole),
    }
