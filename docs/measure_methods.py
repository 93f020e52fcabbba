"""A change of a config at equal processor time or samples: with it and without it, several seeds, duels.

::

    python docs/measure_methods.py hearts-4 --set ent_coef=0.05

trains with the config from random weights, for 30 seconds of one core each, once with the changes and once
without; the rate falls with time. With ``--samples``, both train on so many samples, and the rate falls with these.
Prints the margin of the best actions with the changes over those without, in points per deal, on 1,000 duplicate
validation deals for every seed, then the median and the worst.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import torch
from stable_baselines3.common.callbacks import BaseCallback

from training.config import RunConfig, load_config
from training.network import NetworkAgent
from training.run import games_of, new_model
from training.self_play import SelfPlayPPO
from trick_envs.evaluation.duplicate import evaluate

CONFIGS = Path(__file__).parent.parent / "configs"


class Budget(BaseCallback):
    """Ends a run after so many seconds of processor time, over which the rate falls."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds, self._begun = seconds, time.process_time()

    @property
    def _left(self) -> float:
        return 1.0 - (time.process_time() - self._begun) / self._seconds

    def _on_step(self) -> bool:
        return self._left > 0.0

    def _on_rollout_end(self) -> None:
        assert self.model is not None
        self.model._current_progress_remaining = max(0.0, self._left)


class Timed(SelfPlayPPO):
    """PPO whose rate falls with time, not with samples."""

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """``Budget`` does it."""


def trained(config: RunConfig, seconds: float, samples: int | None) -> NetworkAgent:
    """The policy after so many samples or, without a number of these, seconds of processor time without compiling."""

    def learn(number: int, budget: float | None = None) -> SelfPlayPPO:
        model = new_model(config, games_of(config))
        if budget is not None:
            model.__class__ = Timed
        return model.learn(number, callback=None if budget is None else Budget(budget))

    learn(config.n_envs * config.n_steps)  # compiles
    begun = time.process_time()
    model = learn(10**9, seconds) if samples is None else learn(samples)
    passed = time.process_time() - begun
    print(f"  seed {config.seed}: {model.num_timesteps:,} samples in {passed:.0f} s of processor time", flush=True)
    return NetworkAgent(model.policy)


def main() -> None:
    """Trains and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="name of a config, or its path")
    parser.add_argument("--set", action="append", default=[], help="the change: key=value, as for trick train")
    parser.add_argument("--both", action="append", default=[], help="key=value for both arms")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--samples", type=int, help="of each arm, instead of seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--deals", type=int, default=1000)
    given = parser.parse_args()
    path = CONFIGS / f"{given.config}.yaml"
    path = path if path.is_file() else Path(given.config)
    torch.set_num_threads(1)
    margins = []
    for seed in range(1, given.seeds + 1):
        arms = [load_config(path, [f"seed={seed}", *given.both, *change]) for change in (given.set, [])]
        one, other = (trained(config, given.seconds, given.samples) for config in arms)
        result = evaluate(arms[0].make_game(), one, other, given.deals)
        print(f"seed {seed}: {result.margin:+.2f} ± {result.half_width:.2f}", flush=True)
        margins.append(result.margin)
    print(f"median {statistics.median(margins):+.2f}, worst {min(margins):+.2f}")


if __name__ == "__main__":
    main()
