"""The stage of self-play with PPO: SB3's algorithm on our games, buffer and policy."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule

from training.config import PPO, RunConfig
from training.networks.policy import SelfPlayPolicy, matrix_precision, network_kwargs, weights_of
from training.ppo.rollouts import RolloutWorkers, self_play_env
from training.ppo.self_play import SelfPlayBuffer, SelfPlayVecEnv
from training.report.tracker import Monitor
from training.seeds import stream_seed
from trick_envs.agents.policy_files import read_policy_files
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, match_seeds
from trick_envs.parallel.executor import TaskExecutor


class SelfPlayPPO(MaskablePPO):
    """sb3-contrib's algorithm, whose rollouts others may collect.

    Attributes:
        workers: who collects them; ``None``: this process.
    """

    workers: RolloutWorkers | None = None

    def collect_rollouts(
        self, env: Any, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, use_masking: bool = True
    ) -> bool:
        if self.workers is None:
            return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps, use_masking)
        callback.on_rollout_start()
        rollout_buffer.load_samples(self.workers.collect(weights_of(self.policy), self.num_timesteps))
        self.num_timesteps += env.num_envs * n_rollout_steps
        if not callback.on_step():
            return False
        callback.on_rollout_end()
        return True

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "workers"]


def train_ppo(config: RunConfig, stage: PPO, model: SelfPlayPPO, monitor: Monitor, executor: TaskExecutor) -> None:
    """Trains until the stage has its samples.

    Args:
        config: of the run.
        stage: to be trained.
        model: from ``new_ppo``, perhaps with a checkpoint's weights; ``num_timesteps`` counts the stage's samples.
        monitor: shows, evaluates and saves.
        executor: of the workers, if the stage has any.
    """
    prepare(config, stage, model)
    model.set_logger(monitor.logger)
    if (stage.rollout_workers or 1) > 1:
        model.workers = RolloutWorkers(executor, config, stage, model.env.first_seed)
    left = stage.total_samples - model.num_timesteps
    if left > 0:
        model.learn(left, callback=_Callback(stage, monitor), reset_num_timesteps=False, tb_log_name="")


def self_play_games(config: RunConfig, stage: PPO, done: int) -> SelfPlayVecEnv:
    """The games as a stage begins, or continues after a number of samples of the run: then with other matches."""
    first = done // stage.n_steps % (SEEDS_PER_RUN // 2 - stage.n_envs)  # the other half is for expert iteration
    seed = int(match_seeds(Purpose.TRAINING, config.seed, first, stage.n_envs)[0])
    return self_play_env(config, stage.n_envs, seed, read_policy_files([config.opponent] if config.opponent else []))


def new_ppo(config: RunConfig, stage: PPO, done: int = 0) -> SelfPlayPPO:
    """An untrained model, with its games.

    Args:
        config: of the run.
        stage: that it is for.
        done: samples of the run before; other samples, other matches.
    """
    torch.set_num_threads(config.threads)  # initial weights depend on it, because torch's QR decomposition does
    env = self_play_games(config, stage, done)
    return SelfPlayPPO(
        SelfPlayPolicy,
        env,
        learning_rate=LinearSchedule(stage.learning_rate, stage.final_learning_rate, 1.0),
        n_steps=stage.n_steps,
        batch_size=stage.batch_size,
        n_epochs=stage.n_epochs,
        gamma=stage.gamma,
        gae_lambda=stage.gae_lambda,
        clip_range=stage.clip_range,
        ent_coef=stage.ent_coef,
        vf_coef=stage.vf_coef,
        max_grad_norm=stage.max_grad_norm,
        rollout_buffer_class=SelfPlayBuffer,
        policy_kwargs=network_kwargs(env.games.game, config.network),
        seed=config.seed,
        device=config.device,
    )


def prepare(config: RunConfig, stage: PPO, model: MaskablePPO) -> None:
    """Sets up torch and the rollout buffer, before a model learns."""
    torch.set_num_threads(config.threads)
    torch.distributions.Distribution.set_default_validate_args(False)
    model.policy.precision = matrix_precision(config.precision, model.device)
    model.rollout_buffer.attach(model.env, stage.reward_scale, stream_seed(config.seed, model.num_timesteps))


def set_reference(model: MaskablePPO, stage: PPO, reference: Path) -> None:
    """From now on the loss also has the divergence from the policy in the file ``reference``, times ``kl_coef``."""
    if stage.kl_coef > 0.0:
        other = copy.deepcopy(model.policy)
        other.load_state_dict(MaskablePPO.load(reference, device=model.device).policy.state_dict())
        model.policy.tie_to(other, stage.kl_coef / stage.ent_coef)


class _Callback(BaseCallback):
    """SB3's hook: between two updates, when the model can be saved, the monitor does what is due."""

    def __init__(self, stage: PPO, monitor: Monitor) -> None:
        super().__init__()
        self._stage, self._monitor = stage, monitor
        self._evaluated = self._saved = monitor.done

    def _on_step(self) -> bool:
        self._monitor.show(self.num_timesteps)
        return True

    def _on_rollout_start(self) -> None:
        assert self.model is not None
        now, stage = self.num_timesteps, self._stage
        if now // stage.evaluate_every_samples > self._evaluated // stage.evaluate_every_samples:
            self._monitor.note(self._monitor.evaluate(self.model.policy))
            self._evaluated = now
        if now // stage.checkpoint_every_samples > self._saved // stage.checkpoint_every_samples:
            self._monitor.save(self.model)
            self._saved = now
