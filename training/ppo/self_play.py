"""Self-play for SB3: one policy plays all seats, and every decision of every seat is a sample.

``SelfPlayVecEnv`` presents a batch of games to SB3 as a vector of single-agent environments: each step is a decision of
whichever seat is to act. SB3 itself would treat the decisions of one game as those of one agent, and add up the rewards
of different seats. So ``SelfPlayBuffer`` computes returns per seat: a decision earns what its own seat is paid until
that seat decides again, and generalised advantage estimation (Schulman et al. 2016) runs along the decisions of each
seat.

A rollout ends in the middle of games. The last decision of every seat then has no successor yet. It stays in the
buffer, and becomes a sample of the next rollout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.vec_env import VecEnv

from training.ppo.critic import PrivilegedCritic
from training.ppo.loss import Batch
from trick_envs.engine.batch import BatchEnv

LARGE, GRAIN = 512, 16  # rows of a minibatch
WAITING, LAST = -1, -2  # instead of the row of the seat's next decision: not made yet; the match has ended


class _NoInfos(Sequence[dict[str, Any]]):
    """Infos that are always empty: SB3 iterates over them in every step, and finds none."""

    def __getitem__(self, index: Any) -> Any:
        return {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(())

    def __len__(self) -> int:
        return 0


class SelfPlayVecEnv(VecEnv):
    """A ``BatchEnv`` with SB3's interface. Rewards and ends are for ``SelfPlayBuffer``; SB3 gets zeros.

    Args:
        games: the games.
        seed: of the match in the first game; game ``i`` starts with ``seed + i``.

    Attributes:
        games: the games.
        first_seed: of the match in the first game.
        acted: ``(num_envs,)``: the seats that made the decisions of the last step.
        rewards: ``(num_envs, players)``: what the last step paid every seat.
        terminated: ``(num_envs,)``: the matches that the last step ended.
    """

    def __init__(self, games: BatchEnv, seed: int) -> None:
        self.games = games
        self.first_seed = seed
        low, high = games.game.layout.bounds()
        super().__init__(
            games.num_envs, spaces.Box(low, high, dtype=np.float32), spaces.Discrete(games.game.num_actions)
        )
        self._zeros = np.zeros(games.num_envs, np.float32)
        self._never = np.zeros(games.num_envs, np.bool_)
        self.acted = games.seats.copy()
        self.rewards, self.terminated = games.rewards, games.terminated

    def reset(self) -> npt.NDArray[np.int8]:
        self.games.reset(self.first_seed)
        self._spread()
        return self.games.observations.copy()

    def _spread(self) -> None:
        """Plays a part of the first deal at random in every game, of a random length.

        Otherwise all games would stand at about the same point of a deal for ever, and a rollout that is shorter than a
        deal would show the policy nothing but first halves, and the next one nothing but second halves.
        """
        games, rng = self.games, np.random.default_rng(self.first_seed)

        def play(rows: npt.NDArray[np.int64]) -> None:
            masks = games.action_masks[rows]
            games.step((rng.random(masks.shape) * masks).argmax(1), rows)

        steps, everywhere = 0, np.arange(self.num_envs)
        while not games.states["deal_number"].any() and not games.terminated.any():
            play(everywhere)
            steps += 1
        games.reset(self.first_seed)
        lengths = rng.integers(0, steps, self.num_envs)
        for step in range(lengths.max()):
            play(np.flatnonzero(lengths > step))
        games.rewards[:], games.terminated[:] = 0.0, False

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        np.copyto(self.acted, self.games.seats)
        self.games.step(actions)

    def step_wait(self) -> Any:
        return self.games.observations.copy(), self._zeros, self._never, _NoInfos()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"a self-play environment has no method {method_name!r}")
        return [self.games.action_masks]  # one array for all games: SB3 stacks what is in the list

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "action_masks":
            return [self.games.action_masks]
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(f"a self-play environment has no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError("the games of a self-play environment have no attributes to set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing to release."""


@dataclass(frozen=True)
class Samples:
    """Decisions to learn from.

    Attributes:
        observations: ``(N, D) int8``.
        masks: ``(N, A) int8``.
        actions: ``(N,) int16``.
        values: ``(N,) float32``: what the value network said.
        log_probs: ``(N,) float32``: of the actions, when they were chosen.
        advantages: ``(N,) float32``.
        hidden: ``(N, H) int8``: what else the privileged critic sees; ``(N, 0)``: there is none.
        baseline: ``(N,) float32``: the values from which advantages are measured: the critic's, if there is one.
    """

    observations: npt.NDArray[np.int8]
    masks: npt.NDArray[np.int8]
    actions: npt.NDArray[np.int16]
    values: npt.NDArray[np.float32]
    log_probs: npt.NDArray[np.float32]
    advantages: npt.NDArray[np.float32]
    hidden: npt.NDArray[np.int8]
    baseline: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Waiting:
    """Decisions that wait for a successor, between two rollouts.

    Attributes:
        rows: their observations, masks, actions, values, log-probabilities, and what is hidden (``Samples``).
        of_seats: ``(games, seats)``: the row of each seat's last decision in a ``SelfPlayBuffer``; -1: none.
        earned: ``(games, seats)``: paid since then.
    """

    rows: tuple[npt.NDArray[Any], ...]
    of_seats: npt.NDArray[np.int64]
    earned: npt.NDArray[np.float32]


class SelfPlayBuffer(MaskableRolloutBuffer):
    """Rollouts of many seats, with advantages along the decisions of each seat.

    Rows: ``buffer_size * n_envs`` decisions of this rollout in chronological order, followed by those of earlier
    rollouts that still wait for a successor. Observations and masks are stored as ``int8``.
    """

    def attach(
        self, env: SelfPlayVecEnv, reward_scale: float = 1.0, seed: int = 0, critic: PrivilegedCritic | None = None
    ) -> None:
        """Connects the buffer with the environment. Call it before the first rollout.

        Args:
            env: the environment that is stepped between two calls of ``add``.
            reward_scale: a factor on every reward.
            seed: of the order of the samples.
            critic: gives values for the advantages (``training/ppo/critic.py``); ``None``: those of the policy serve.
        """
        self._rng = np.random.default_rng(seed)
        self._env, self._scale, self.critic = env, reward_scale, critic
        games, seats = self.n_envs, env.games.num_players
        self._new = self.buffer_size * games
        rows = self._new + seats * games
        self._seen = np.zeros((rows, env.games.game.layout.size), np.int8)
        self._masks = np.zeros((rows, env.games.game.num_actions), np.int8)
        self._chosen = np.zeros(rows, np.int64)
        self._value, self._log_prob = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
        self._reward, self._advantage = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
        self._hidden = np.zeros((rows, 0 if critic is None else critic.view.blocks.size), np.int8)
        self._baseline = self._value if critic is None else np.zeros(rows, np.float32)  # advantages begin there
        self._next = np.full(rows, LAST, np.int64)
        self._waiting = np.full((games, seats), -1, np.int64)  # the row of each seat's last decision
        self._earned = np.zeros((games, seats), np.float32)  # paid since then
        self._carried = 0

    def reset(self) -> None:
        """Begins a rollout: decisions that wait for a successor move behind the new rows."""
        self.pos, self.full = 0, False
        if not hasattr(self, "_env"):  # SB3 resets the buffer when it makes it
            return
        games, seats = np.nonzero(self._waiting >= 0)
        old = self._waiting[games, seats]
        self._carried = len(old)
        moved = slice(self._new, self._new + self._carried)
        for column in self._columns():
            column[moved] = column[old]
        self._next[moved] = WAITING
        self._waiting[games, seats] = np.arange(self._new, self._new + self._carried)

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        """What a decision consists of, one row each."""
        return self._seen, self._masks, self._chosen, self._value, self._log_prob, self._hidden

    def waiting(self) -> Waiting:
        """After ``reset``: what the next rollout needs of those before."""
        moved = slice(self._new, self._new + self._carried)
        rows = tuple(column[moved].copy() for column in self._columns())
        return Waiting(rows, self._waiting.copy(), self._earned.copy())

    def load_pending(self, waiting: Waiting) -> None:
        """Continues where another buffer of as many games was when it said ``waiting``."""
        self.pos, self.full = 0, False
        self._carried = len(waiting.rows[0])
        moved = slice(self._new, self._new + self._carried)
        for column, rows in zip(self._columns(), waiting.rows, strict=True):
            column[moved] = rows
        self._next[moved] = WAITING
        self._waiting[:], self._earned[:] = waiting.of_seats, waiting.earned

    def samples(self) -> Samples:
        """After ``compute_returns_and_advantage``: what there is to learn from."""
        ready = self._ready
        return Samples(
            self._seen[ready],
            self._masks[ready],
            self._chosen[ready].astype(np.int16),
            self._value[ready],
            self._log_prob[ready],
            self._advantage[ready],
            self._hidden[ready],
            self._baseline[ready],
        )

    def load_samples(self, parts: Sequence[Samples]) -> None:
        """Replaces the content by samples that others have collected, in their order."""
        self.reset()
        self._waiting[:] = -1
        end = 0
        for part in parts:
            rows = slice(end, end := end + len(part.actions))
            self._seen[rows], self._masks[rows], self._chosen[rows] = part.observations, part.masks, part.actions
            self._value[rows], self._log_prob[rows] = part.values, part.log_probs
            self._advantage[rows], self._hidden[rows] = part.advantages, part.hidden
            self._baseline[rows] = part.baseline
        self._learn_from(np.arange(end))

    def _learn_from(self, ready: npt.NDArray[np.int64]) -> None:
        self._ready = ready
        self.values = self._value[ready]  # SB3 logs the explained variance
        self.baseline = self._baseline[ready]
        self.returns = self.baseline + self._advantage[ready]

    def note_decisions(
        self,
        observations: npt.NDArray[Any],
        masks: npt.NDArray[Any],
        actions: npt.NDArray[Any],
        values: npt.NDArray[Any],
        log_probs: npt.NDArray[Any],
    ) -> None:
        """Copies one decision per game, ``(n_envs, …)`` each, before it is played."""
        first = self.pos * self.n_envs
        now = slice(first, first + self.n_envs)
        given = (observations, masks, actions, values, log_probs)
        for column, rows in zip(self._columns(), given, strict=False):
            column[now] = rows
        if self.critic is not None:
            self.critic.view.write(self._env.games.states, self._hidden[now])

    def note_rewards(self) -> None:
        """After the decisions have been played: reads from the environment who made them, rewards and ends."""
        env = self._env
        _add_decisions(
            self.pos * self.n_envs,
            env.acted,
            env.rewards,
            env.terminated,
            self._scale,
            self._next,
            self._reward,
            self._waiting,
            self._earned,
        )
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def add(
        self,
        obs: npt.NDArray[Any],
        action: npt.NDArray[Any],
        reward: npt.NDArray[Any],
        episode_start: npt.NDArray[Any],
        value: torch.Tensor,
        log_prob: torch.Tensor,
        action_masks: Any = None,
    ) -> None:
        """SB3's way to add one decision per game, after it has been played. Too late for a critic."""
        if self.critic is not None:
            raise RuntimeError("expected note_decisions and note_rewards: what was hidden is not known any more")
        masks = np.asarray(action_masks).reshape(self.n_envs, -1)
        values = value.reshape(-1).numpy(force=True)
        self.note_decisions(obs, masks, action.reshape(-1), values, log_prob.numpy(force=True))
        self.note_rewards()

    def compute_returns_and_advantage(self, last_values: Any, dones: Any) -> None:
        """Computes advantages of all decisions whose successor is known; the others wait for the next rollout."""
        used = self._new + self._carried
        if self.critic is not None:
            added = self.critic.corrections(self._hidden[:used], self._seen[:used])
            self._baseline[:used] = self._value[:used] + added
        _estimate(
            used, self._new, self._next, self._reward, self._baseline, self._advantage, self.gamma, self.gae_lambda
        )
        self._learn_from(np.flatnonzero(self._next[:used] != WAITING))

    def batch(self) -> Batch:
        """All rows on the device, without a reference; ``order`` says which of them are samples."""
        columns = (self._seen, self._masks, self._chosen, self._log_prob, self._advantage)
        returns = self._advantage + self._baseline
        nothing = np.empty((len(returns), 0), np.float32)
        return Batch(*(torch.from_numpy(column).to(self.device) for column in (*columns, returns, nothing)))

    def teach_critic(self, learning_rate: float, max_grad_norm: float) -> None:
        """The critic learns from the samples."""
        assert self.critic is not None
        errors = self._baseline + self._advantage - self._value
        self.critic.learn(self._hidden, self._seen, errors, self._ready, learning_rate, max_grad_norm)

    def order(self, batch_size: int | None = None) -> list[npt.NDArray[np.int64]]:
        """The rows of all samples once, in random order, in batches of nearly equal size, about ``batch_size``.

        Large batches have a multiple of ``GRAIN`` rows, since code for matrix products is made at run time for each of
        their shapes. The rest, less than ``GRAIN`` rows for each batch, is then left out, each time something else.
        """
        rows = self._rng.permutation(self._ready)
        batches = 1 if batch_size is None else max(1, round(len(rows) / batch_size))
        size = len(rows) // batches
        if batches > 1 and size >= LARGE:
            rows = rows[: size // GRAIN * GRAIN * batches]
        return np.array_split(rows, batches)

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:
        """SB3's way to get all samples once, in the order of ``order``."""
        for rows in self.order(batch_size):
            advantage, value = self._advantage[rows], self._value[rows]
            returns = advantage + self._baseline[rows]
            yield MaskableRolloutBufferSamples(
                *map(
                    self.to_torch,
                    (
                        gather(self._seen, rows),
                        self._chosen[rows],
                        value,
                        self._log_prob[rows],
                        advantage,
                        returns,
                    ),
                ),
                self.to_torch(self._masks[rows]),
            )

    def to_torch(self, array: npt.NDArray[Any], copy: bool = False) -> torch.Tensor:
        """The array as a tensor on the device, without a copy: the arrays in ``get`` are fresh."""
        return torch.from_numpy(array).to(self.device)


@numba.njit(cache=True)
def _add_decisions(
    first: int,
    acted: Any,
    rewards: Any,
    terminated: Any,
    scale: float,
    following: Any,
    reward: Any,
    waiting: Any,
    earned: Any,
) -> None:
    """Links the decisions in rows ``first …``, made by the seats ``acted``, to those before, and adds ``rewards``."""
    for game in range(acted.shape[0]):
        row, seat = first + game, acted[game]
        before = waiting[game, seat]
        if before >= 0:
            following[before], reward[before] = row, earned[game, seat]
        waiting[game, seat], following[row], earned[game, seat] = row, WAITING, 0.0
        for other in range(rewards.shape[1]):
            earned[game, other] += rewards[game, other] * scale
        if terminated[game]:
            for other in range(rewards.shape[1]):
                last = waiting[game, other]
                if last >= 0:
                    following[last], reward[last] = LAST, earned[game, other]
                waiting[game, other], earned[game, other] = -1, 0.0


@numba.njit(cache=True)
def _estimate(
    used: int,
    new: int,
    following: Any,
    reward: Any,
    value: Any,
    advantage: Any,
    gamma: float,
    gae_lambda: float,
) -> None:
    """Generalised advantage estimation: new rows from the last to the first, then the carried rows, which are older."""
    for k in range(used):
        row = new - 1 - k if k < new else k
        after = following[row]
        if after == WAITING:
            advantage[row] = 0.0  # bootstrapping: its value replaces the rest of the game
        elif after == LAST:
            advantage[row] = reward[row] - value[row]
        else:
            step = reward[row] + gamma * value[after] - value[row]
            advantage[row] = step + gamma * gae_lambda * advantage[after]


@numba.njit(cache=True)
def gather(table: Any, rows: Any) -> Any:
    """Some rows of an ``int8`` table as ``float32``."""
    found = np.empty((len(rows), table.shape[1]), np.float32)
    for i in range(len(rows)):
        found[i] = table[rows[i]]
    return found
