"""The stages of a run, behind one protocol: what a run does with a stage does not depend on the method."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from training.config import PPO, ExpertIteration, RunConfig
from training.expert.learner import train_by_search
from training.networks.policy import save_model
from training.ppo.algorithm import SelfPlayPPO, new_ppo, self_play_games, set_reference, train_ppo
from training.ppo.critic import load_critic
from training.report.tracker import Monitor
from trick_envs.parallel.executor import TaskExecutor

ONE_ENV = PPO(n_envs=1, n_steps=2, batch_size=2)  # for a model that plays no games itself

Settings = TypeVar("Settings", PPO, ExpertIteration)


class Stage(Protocol):
    """A stage of a run. What the report says about it is in its part of the config (``training.config``)."""

    def new_model(self, samples: int) -> SelfPlayPPO:
        """An untrained model for this stage; ``samples``: of the run before."""

    def load_model(self, checkpoint: Path, samples: int) -> SelfPlayPPO:
        """The model of a checkpoint of this stage, with other games than before; ``samples``: of the run before."""

    def train(self, model: SelfPlayPPO, monitor: Monitor, folder: Path, executor: TaskExecutor) -> None:
        """Trains until the stage is done.

        Args:
            model: from ``new_model`` or ``load_model``, with the weights to go on from.
            monitor: shows, evaluates and saves; it knows how much of the stage is done.
            folder: of the run.
            executor: of the workers.
        """


@dataclass(frozen=True)
class _Stage(Generic[Settings]):
    config: RunConfig
    settings: Settings
    number: int

    @property
    def _games(self) -> PPO:
        return ONE_ENV

    def new_model(self, samples: int) -> SelfPlayPPO:
        return new_ppo(self.config, self._games, samples)

    def load_model(self, checkpoint: Path, samples: int) -> SelfPlayPPO:
        env = self_play_games(self.config, self._games, samples)
        return SelfPlayPPO.load(checkpoint, env=env, device=self.config.device)


class SelfPlayStage(_Stage[PPO]):
    """Self-play with PPO."""

    @property
    def _games(self) -> PPO:
        return self.settings

    def load_model(self, checkpoint: Path, samples: int) -> SelfPlayPPO:
        model = super().load_model(checkpoint, samples)
        model.critic = load_critic(self.config, model.device, checkpoint)
        return model

    def train(self, model: SelfPlayPPO, monitor: Monitor, folder: Path, executor: TaskExecutor) -> None:
        reference = folder / f"stage-{self.number + 1}-start.zip"
        if self.settings.kl_coef > 0.0 and not reference.is_file():
            save_model(model, reference)
        set_reference(model, self.settings, reference)
        train_ppo(self.config, self.settings, model, monitor, executor)


class ExpertStage(_Stage[ExpertIteration]):
    """Expert iteration."""

    def train(self, model: SelfPlayPPO, monitor: Monitor, folder: Path, executor: TaskExecutor) -> None:
        train_by_search(self.config, self.settings, model, monitor, folder, executor)


def stages_of(config: RunConfig) -> list[Stage]:
    """The stages of a run, in their order."""
    return [
        SelfPlayStage(config, settings, number) if isinstance(settings, PPO) else ExpertStage(config, settings, number)
        for number, settings in enumerate(config.stages)
    ]
