"""Rollouts of PPO by workers: each has a part of the games, and plays them with the weights of this iteration.

The weights travel to the workers, and samples with their advantages back. Where the games stand travels both ways, so a
worker keeps nothing between two rollouts: if it is lost, another one plays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from training.config import PPO, RunConfig
from training.networks.policy import SelfPlayPolicy, Weights, matrix_precision, policy_with_weights
from training.ppo.best_response import BestResponseVecEnv
from training.ppo.critic import PrivilegedCritic, new_critic
from training.ppo.self_play import Samples, SelfPlayBuffer, SelfPlayVecEnv, Waiting
from trick_envs.agents.policy_files import PolicyFiles, make_agent_from, read_policy_files
from trick_envs.engine.batch import BatchEnv
from trick_envs.evaluation.seeds import Purpose, player_seeds
from trick_envs.parallel.executor import TaskExecutor


@dataclass(frozen=True)
class RolloutTask:
    """A part of the games of one rollout.

    Attributes:
        config: of the run.
        stage: the stage.
        num_envs: number of games of this part.
        first_seed: of the match with which its first game begins; distinguishes the parts.
        done: samples of the stage before this rollout; determines the actions.
    """

    config: RunConfig
    stage: PPO
    num_envs: int
    first_seed: int
    done: int


@dataclass(frozen=True)
class Standing:
    """Where the games of a part stand: their positions, and the decisions that wait for a successor."""

    states: Any
    waiting: Waiting


def self_play_env(config: RunConfig, num_envs: int, seed: int, files: PolicyFiles) -> SelfPlayVecEnv:
    """So many games of a run, the first of which begins with the match ``seed``."""
    games = BatchEnv(
        config.game, num_envs, config.num_players, config.num_deals, config.reward, **dict[str, Any](config.options)
    )
    if config.opponent is None:
        return SelfPlayVecEnv(games, seed)
    _, player_seed = player_seeds(Purpose.TRAINING, config.seed)
    return BestResponseVecEnv(games, seed, make_agent_from(files, config.opponent, games.game, player_seed))


def play(
    policy: SelfPlayPolicy, env: SelfPlayVecEnv, buffer: SelfPlayBuffer, go_on: Callable[[], bool] = lambda: True
) -> bool:
    """Fills a buffer, from where the games stand.

    Args:
        policy: plays all seats.
        env: the games.
        buffer: attached to them, and reset.
        go_on: called after every step; ``False`` stops.

    Returns:
        whether the buffer is full, and its samples have their advantages.
    """
    games, device = env.games, policy.device
    with torch.no_grad():
        for _ in range(buffer.buffer_size):
            observations, masks = games.observations, games.action_masks
            found = policy(torch.from_numpy(observations).to(device), action_masks=masks)
            actions, values, log_probs = (each.reshape(-1).numpy(force=True) for each in found)
            buffer.note_decisions(observations, masks, actions, values, log_probs)
            env.step_async(actions)  # the whole step: what step_wait returns is for SB3 alone
            buffer.note_rewards()
            if not go_on():
                return False
    buffer.compute_returns_and_advantage(None, None)
    return True


def collect(
    task: RolloutTask,
    weights: Weights,
    files: PolicyFiles,
    standing: Standing | None,
    critic: bytes | None = None,
) -> tuple[Samples, Standing]:
    """Plays a part of the games for one rollout.

    Args:
        task: which part.
        weights: of the policy.
        files: of the player that it is trained against.
        standing: where the last rollout ended; ``None`` begins the games.
        critic: the privileged critic, as ``saved``; ``None``: the stage has none.
    """
    torch.set_num_threads(1)
    config, stage = task.config, task.stage
    game = config.make_game()
    with torch.random.fork_rng(devices=[]):
        policy = policy_with_weights(game, config.network, weights)
        policy.precision = matrix_precision(config.precision, policy.device)
        torch.manual_seed(int(np.random.SeedSequence((task.first_seed, task.done)).generate_state(1)[0]))
        env = self_play_env(config, task.num_envs, task.first_seed, files)
        spaces = env.observation_space, env.action_space
        buffer = SelfPlayBuffer(stage.n_steps, *spaces, "cpu", stage.gae_lambda, stage.gamma, task.num_envs)
        buffer.attach(env, config.reward_scale, critic=_critic_from(critic, config))
        if standing is None:
            env.reset()
        else:
            env.games.states[:] = standing.states
            env.games.observe()
            buffer.load_pending(standing.waiting)
        play(policy, env, buffer)
        samples = buffer.samples()
        buffer.reset()
        return samples, Standing(env.games.states.copy(), buffer.waiting())


def _critic_from(saved: bytes | None, config: RunConfig) -> PrivilegedCritic | None:
    """The learner's critic, in a worker."""
    if saved is None:
        return None
    critic = new_critic(config, torch.device("cpu"))
    critic.load(saved)
    return critic


class RolloutWorkers:
    """The parts of a stage's games, one for each of ``stage.rollout_workers``.

    Args:
        executor: of the workers.
        config: of the run.
        stage: the stage.
        first_seed: of the match with which the first game begins.

    Attributes:
        precision: in which the workers compute their log-probabilities.
    """

    def __init__(self, executor: TaskExecutor, config: RunConfig, stage: PPO, first_seed: int) -> None:
        self._executor, self._config, self._stage = executor, config, stage
        self.precision = matrix_precision(config.precision, torch.device("cpu"))
        self._files = executor.share(read_policy_files([] if config.opponent is None else [config.opponent]))
        parts = np.array_split(np.arange(stage.n_envs), stage.rollout_workers or 1)
        self._parts = [(len(part), first_seed + int(part[0])) for part in parts]
        self._standings: list[Standing | None] = [None] * len(parts)

    def collect(self, weights: Weights, done: int, critic: PrivilegedCritic | None = None) -> list[Samples]:
        """One rollout of all games; the parts in their order.

        Args:
            weights: of the policy.
            done: samples of the stage before.
            critic: gives the values for the advantages, if there is one.
        """
        shared = self._executor.share(weights)
        shared_critic = self._executor.share(None if critic is None else critic.saved())
        futures = [
            self._executor.submit(
                collect,
                RolloutTask(self._config, self._stage, *part, done),
                shared,
                self._files,
                standing,
                shared_critic,
            )
            for part, standing in zip(self._parts, self._standings, strict=True)
        ]
        found = [future.result() for future in futures]
        self._standings = [standing for _, standing in found]
        return [samples for samples, _ in found]
