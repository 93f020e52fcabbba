"""The stage of self-play with PPO: SB3's algorithm on our games, buffer and policy."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule, explained_variance

from training.config import PPO, RunConfig
from training.networks.policy import SelfPlayPolicy, matrix_precision, network_kwargs, weights_of
from training.networks.suit_kernels import SparseRows
from training.ppo.critic import CRITIC, PrivilegedCritic, new_critic
from training.ppo.loss import FIGURES, Batch, LossWeights, backward, masked_log_softmax, slopes
from training.ppo.rollouts import RolloutWorkers, play, self_play_env
from training.ppo.self_play import SelfPlayBuffer, SelfPlayVecEnv
from training.report.tracker import Monitor
from training.seeds import stream_seed
from trick_envs.agents.policy_files import read_policy_files
from trick_envs.engine.team import usable_cores
from trick_envs.errors import InputError
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, match_seeds
from trick_envs.parallel.executor import TaskExecutor


class SelfPlayPPO(MaskablePPO):
    """sb3-contrib's algorithm, whose rollouts others may collect.

    Attributes:
        workers: who collects them; ``None``: this process.
        reference: the policy from which the divergence is measured; ``None``: there is none.
        kl_coef: weight of that divergence in the loss.
        final_ent_coef: weight of the entropy at the end; ``None``: as at the start.
        critic: gives the values for the advantages; ``None``: the policy does.
        threads: that share a minibatch, on a CPU; the weights depend on their number, but not on that of the cores.
    """

    threads: int = 1
    workers: RolloutWorkers | None = None
    reference: SelfPlayPolicy | None = None
    kl_coef: float = 0.0
    final_ent_coef: float | None = None
    critic: PrivilegedCritic | None = None

    def collect_rollouts(
        self, env: Any, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, use_masking: bool = True
    ) -> bool:
        callback.on_rollout_start()
        if self.workers is None:
            self.policy.set_training_mode(False)
            rollout_buffer.reset()

            def stepped() -> bool:
                self.num_timesteps += env.num_envs
                return callback.on_step()

            if not play(self.policy, env, rollout_buffer, stepped):
                return False
            callback.on_rollout_end()
            return True
        rollout_buffer.load_samples(self.workers.collect(weights_of(self.policy), self.num_timesteps, self.critic))
        self.num_timesteps += env.num_envs * n_rollout_steps
        if not callback.on_step():
            return False
        callback.on_rollout_end()
        return True

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "workers", "reference", "critic"]

    def files_of_training(self) -> dict[str, bytes]:
        """By name: what a checkpoint needs besides, and a policy file does not."""
        return {} if self.critic is None else {CRITIC: self.critic.saved()}

    def train(self) -> None:
        """Learns from the rollout: SB3's update, with the loss of ``training/ppo/loss.py``.

        Raises:
            ValueError: if ``clip_range_vf`` or ``target_kl`` is set, which this update does not know.
        """
        if self.clip_range_vf is not None or self.target_kl is not None:
            raise InputError("clip_range_vf, target_kl: expected None")
        policy, buffer = self.policy, self.rollout_buffer
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        left = self._current_progress_remaining
        last_ent_coef = self.ent_coef if self.final_ent_coef is None else self.final_ent_coef
        ent_coef = last_ent_coef + left * (self.ent_coef - last_ent_coef)
        weights = LossWeights(self.clip_range(left), self.vf_coef, ent_coef, self.kl_coef)
        samples = buffer.batch()
        samples = samples._replace(observations=policy.ready(samples.observations))
        if self.workers is not None and self.workers.precision != policy.precision:
            chosen = samples.actions.unsqueeze(1)
            samples = samples._replace(log_probs=_log_probs(policy, samples).gather(1, chosen).squeeze(1))
        if self.reference is not None:
            samples = samples._replace(reference=_log_probs(self.reference, samples))
        passes = []
        with ThreadPoolExecutor(
            min(self.threads, usable_cores()), initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            for _ in range(self.n_epochs):
                figures = [self._step(samples.rows(rows), weights, pool) for rows in buffer.order(self.batch_size)]
                passes.append(torch.stack(figures).mean(0))
                self._n_updates += 1
        means = dict(zip(FIGURES, torch.stack(passes).mean(0).tolist(), strict=True))
        means["approx_kl"] = float(passes[-1][FIGURES.index("approx_kl")])  # of the last pass, as SB3 logs it
        last = dict(zip(FIGURES, figures[-1].tolist(), strict=True))
        if self.reference is None:
            del means["kl_to_reference"]
        for name, value in means.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/loss", weights.total(last))
        self.logger.record("train/explained_variance", explained_variance(buffer.values, buffer.returns))
        if self.critic is not None:
            rate = self.policy.optimizer.param_groups[0]["lr"]
            buffer.teach_critic(rate, self.max_grad_norm)
            explained = explained_variance(buffer.baseline, buffer.returns)
            self.logger.record("train/critic_explained_variance", explained)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/clip_range", weights.clip_range)

    def _step(self, batch: Batch, weights: LossWeights, pool: ThreadPoolExecutor) -> torch.Tensor:
        """Learns from a minibatch; returns the means of ``FIGURES``."""
        policy, size = self.policy, len(batch.actions)
        if self.normalize_advantage:
            scaled = (batch.advantages - batch.advantages.mean()) / (batch.advantages.std() + 1e-8)
            batch = batch._replace(advantages=scaled)
        parts, compiled = batch.parts(policy.parts_of(size, self.threads)), policy.compiled
        if compiled is None:
            policy.optimizer.zero_grad()
            figures = torch.zeros(len(FIGURES), dtype=torch.float64, device=self.device)
            for part in parts:
                logits, values = policy.logits_and_values(part.observations, None)
                figures += backward(logits, values, part, weights, size)
        else:
            kernels, precision = compiled, policy.precision

            def learned(part: Batch) -> tuple[list[torch.Tensor], torch.Tensor]:
                assert isinstance(part.observations, SparseRows)
                to_outputs = partial(slopes, batch=part, weights=weights, samples=size)
                return kernels.gradients(part.observations, precision, to_outputs)

            gradients, of_parts = zip(*pool.map(learned, parts), strict=True)
            for weight, *each in zip(kernels.weights, *gradients, strict=True):
                weight.grad = sum(each[1:], each[0].contiguous())
            figures = torch.stack(of_parts).sum(0)
        torch.nn.utils.clip_grad_norm_(policy.parameters(), self.max_grad_norm)
        policy.optimizer.step()
        return figures


def _log_probs(policy: SelfPlayPolicy, samples: Batch) -> torch.Tensor:
    """What a policy says of all samples, ``(N, A)``."""
    with torch.no_grad():
        parts = samples.parts(policy.parts_of(len(samples.actions)))
        return torch.cat(
            [masked_log_softmax(policy.logits_and_values(part.observations, None)[0], part.masks) for part in parts]
        )


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
    torch.set_num_threads(1)  # initial weights depend on it, because torch's QR decomposition does
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


def prepare(config: RunConfig, stage: PPO, model: SelfPlayPPO) -> None:
    """Sets up torch, the critic and the rollout buffer, before a model learns."""
    torch.set_num_threads(1)
    model.threads, model.final_ent_coef = config.threads, stage.final_ent_coef
    torch.distributions.Distribution.set_default_validate_args(False)
    model.policy.precision = matrix_precision(config.precision, model.device)
    if stage.privileged_critic and model.critic is None:
        model.critic = new_critic(config, model.device)
    seed = stream_seed(config.seed, model.num_timesteps)
    model.rollout_buffer.attach(model.env, config.reward_scale, seed, model.critic)


def set_reference(model: SelfPlayPPO, stage: PPO, reference: Path) -> None:
    """Makes the policy in the file ``reference`` the reference, with the stage's weight of the divergence from it."""
    model.reference, model.kl_coef = None, stage.kl_coef
    if stage.kl_coef > 0.0:
        model.reference = copy.deepcopy(model.policy)
        model.reference.load_state_dict(MaskablePPO.load(reference, device=model.device).policy.state_dict())


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
