"""The stage of self-play with PPO: SB3's algorithm on our games, buffer and policy."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule

from training.best_response import BestResponseVecEnv
from training.config import PPO, RunConfig
from training.monitor import Monitor
from training.network import SelfPlayPolicy, matrix_precision, network_kwargs
from training.seeds import SEEDS_PER_RUN, Purpose, match_seeds, player_seeds
from training.selfplay import SelfPlayBuffer, SelfPlayVecEnv
from trick_envs.agents import make_agent
from trick_envs.interfaces.batch import BatchEnv


def train_ppo(config: RunConfig, stage: PPO, model: MaskablePPO, monitor: Monitor) -> None:
    """Trains until the stage has its samples.

    Args:
        config: of the run.
        stage: to be trained.
        model: from ``new_ppo``, perhaps with a checkpoint's weights; ``num_timesteps`` counts the stage's samples.
        monitor: shows, evaluates and saves.
    """
    prepare(config, stage, model)
    model.set_logger(monitor.logger)
    left = stage.total_samples - model.num_timesteps
    if left > 0:
        model.learn(left, callback=_Callback(stage, monitor), reset_num_timesteps=False, tb_log_name="")


def self_play_games(config: RunConfig, stage: PPO, done: int) -> SelfPlayVecEnv:
    """The games as a stage begins, or continues after a number of samples of the run: then with other matches."""
    games = BatchEnv(config.game, stage.n_envs, config.num_players, config.num_deals, config.reward, **config.options)
    first = done // stage.n_steps % (SEEDS_PER_RUN // 2 - stage.n_envs)  # the other half is for expert iteration
    seed = int(match_seeds(Purpose.TRAINING, config.seed, first, stage.n_envs)[0])
    if config.against is None:
        return SelfPlayVecEnv(games, seed)
    _, player_seed = player_seeds(Purpose.TRAINING, config.seed)
    return BestResponseVecEnv(games, seed, make_agent(config.against, games.game, player_seed))


def new_ppo(config: RunConfig, stage: PPO, done: int = 0) -> MaskablePPO:
    """An untrained model, with its games.

    Args:
        config: of the run.
        stage: that it is for.
        done: samples of the run before; other samples, other matches.
    """
    torch.set_num_threads(config.threads)  # initial weights depend on it, because torch's QR decomposition does
    env = self_play_games(config, stage, done)
    return MaskablePPO(
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
    model.rollout_buffer.attach(model.env, stage.reward_scale, config.seed + model.num_timesteps)


def leash(model: MaskablePPO, stage: PPO, anchor: Path) -> None:
    """Ties the policy to the one in the file ``anchor``, as tightly as the stage says."""
    if stage.leash > 0.0:
        other = copy.deepcopy(model.policy)
        other.load_state_dict(MaskablePPO.load(anchor, device=model.device).policy.state_dict())
        model.policy.tie_to(other, stage.leash / stage.ent_coef)


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
