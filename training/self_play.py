"""Self-play for Stable-Baselines3: one policy plays all seats, and every decision of every seat is a sample.

One update, from top to bottom:

1. ``SelfPlayPPO.learn``, which is SB3's, calls ``collect_rollouts`` and ``train`` in turn.
2. ``collect_rollouts`` steps ``SelfPlayVecEnv``, a batch of games: each step is a decision of whichever seat is to act.
   SB3 itself would treat the decisions of one game as those of one agent, and add up the rewards of different seats.
3. ``SelfPlayBuffer`` computes returns per seat instead: a decision earns what its own seat is paid until that seat
   decides again, and generalised advantage estimation (Schulman et al. 2016) runs along the decisions of each seat.
   A rollout ends in the middle of games. The last decision of every seat then has no successor yet: it waits in the
   buffer, and becomes a sample of the next rollout.
4. ``train`` learns from minibatches of these samples. What a minibatch does to the weights is in ``network.py``.
"""

from __future__ import annotations

import functools
import inspect
import json
import random
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar, Self, cast

import numba
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback, ProgressBarCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import FloatSchedule, explained_variance
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from training.network import (
    FIGURES,
    Batch,
    LossWeights,
    Moments,
    SuitPolicy,
    gradients_of_loss,
    moments,
    suit_network,
)
from training.products import one_thread
from training.suit_kernels import GRAIN, SparseRows, SuitKernels
from trick_envs.agents import Agent, make_agent
from trick_envs.agents.agent import checked_agent
from trick_envs.engine.arguments import unknown_argument, whole_number
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.copies import OwnArrays
from trick_envs.errors import InputError, shown
from trick_envs.evaluation.seeds import MAX_RUN_SEED, SEEDS_PER_RUN, Purpose, match_seeds, player_seeds
from trick_envs.matches.loop import NOBODY, choose_actions
from trick_envs.matches.seating import seatings
from trick_envs.parallel.threads import usable_cores

_NOT_FOR_LOAD = "policy", "args", "kwargs", "_init_setup_model"  # of the arguments of the constructor
LARGE = 512  # rows of a minibatch
WAITING, LAST = -1, -2  # instead of the row of the seat's next decision: not made yet; the match has ended
THREADS = 2  # that share a minibatch on a CPU
FLOOR = 0.25  # what every sample's probability to be learned from has besides its gradient's, in parts of their mean
NUMBERS: dict[str, tuple[float, float, str]] = {  # arguments of SelfPlayPPO: from, to, and what they may be instead
    "learning_rate": (0, np.inf, "a schedule"), "clip_range": (0, np.inf, "a schedule"),
    "ent_coef": (-np.inf, np.inf, "a schedule"), "gamma": (0, 1, ""), "gae_lambda": (0, 1, ""),
    "vf_coef": (0, np.inf, ""), "max_grad_norm": (0, np.inf, ""), "target_kl": (0, np.inf, "None"),
}  # fmt: skip


# --- the games ----------------------------------------------------------------------------------------------------


def self_play_env(
    game: str,
    num_envs: int = 512,
    num_players: int | None = None,
    seed: int | None = None,
    *,
    num_deals: int | None = 1,
    reward: str = "zero_sum",
    reward_scale: float = 0.1,
    opponent: str | Agent | None = None,
    **options: Any,
) -> SelfPlayVecEnv:
    """Games for ``SelfPlayPPO``.

    Args:
        game: the game, such as ``"pepper"``.
        num_envs: how many games are played side by side.
        num_players: seats, where the rules allow a choice.
        seed: determines the matches, which no evaluation plays; ``None``: some. A model's own ``seed`` replaces it.
        num_deals: length of a match; ``None``: what the original plays.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        reward_scale: a factor on what the policy learns from, so that values are about 1. (``VecNormalize`` knows one
            reward per step; here every seat has its own.)
        opponent: a player in all seats but one (or one team), who does not learn: then the policy becomes a best
            response. A spec, or an agent.
        options: the game's own.

    Raises:
        ValueError, TypeError: for arguments that are not allowed; says what is.
    """
    games = BatchEnv(game, num_envs, num_players, num_deals, reward, **options)
    if games.knows_order:
        raise InputError("observation: expected 'position', not 'history', which self-play does not know")
    if isinstance(reward_scale, bool) or not isinstance(reward_scale, (int, float)) or not 0 < reward_scale < np.inf:
        raise InputError(f"reward_scale: expected a number above 0, not {shown(reward_scale)}")
    run_seed = secrets.randbelow(MAX_RUN_SEED + 1) if seed is None else seed
    if opponent is None:
        return SelfPlayVecEnv(games, run_seed, reward_scale)
    agent = make_agent(opponent, games.game) if isinstance(opponent, str) else opponent
    return BestResponseVecEnv(games, run_seed, reward_scale, checked_agent(agent, "opponent"))


class SelfPlayVecEnv(OwnArrays, VecEnv):
    """A ``BatchEnv`` with SB3's interface, which only ``SelfPlayPPO`` may step.

    SB3 and its callbacks see one reward per game, that of the seat which acted; the buffer sees those of all seats.
    When a match ends, its ``info["episode"]`` has the mean over seats of what it paid (``r``, not scaled; 0 in
    ``zero_sum`` games), how many decisions it had (``l``), and the seconds since the start (``t``). Observations then
    already show the next match, which begins with the same step.

    Args:
        games: the games.
        seed: of the matches.
        reward_scale: a factor on the rewards, for the buffer.

    Attributes:
        games: the games.
        game: the game.
        resets: how often they all were begun anew.
        acted: ``(num_envs,)``: the seats that made the decisions of the last step.
    """

    def __init__(self, games: BatchEnv, seed: int, reward_scale: float = 1.0) -> None:
        self.games, self.game, self.reward_scale = games, games.game, reward_scale
        low, high = games.game.layout.bounds()
        super().__init__(
            games.num_envs, spaces.Box(low, high, dtype=np.float32), spaces.Discrete(games.game.num_actions)
        )
        self.resets, self._expected, self._begun = 0, False, time.time()
        self.seed(seed)
        self.acted = games.seats.copy()
        self._paid = np.zeros(games.rewards.shape)  # in every match so far
        self._decisions, self._every = np.zeros(games.num_envs, np.int64), np.arange(games.num_envs)

    @property
    def rewards(self) -> npt.NDArray[np.float32]:
        """What the last step paid every seat, ``(num_envs, players)``."""
        return self.games.rewards

    @property
    def terminated(self) -> npt.NDArray[np.bool_]:
        """The matches that the last step ended, ``(num_envs,)``."""
        return self.games.terminated

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Determines the matches from the next ``reset`` on."""
        self.run_seed = secrets.randbelow(MAX_RUN_SEED + 1) if seed is None else seed
        self._next_match = 0
        match_seeds(Purpose.TRAINING, self.run_seed, 0, self.num_envs)  # says what is wrong with it
        return [self.run_seed] * self.num_envs

    def reset(self) -> npt.NDArray[np.int8]:
        """Begins other matches than before in all games, in the middle of deals; returns the observations."""
        first = int(match_seeds(Purpose.TRAINING, self.run_seed, self._next_match, self.num_envs)[0])
        self._next_match = (self._next_match + self.num_envs) % (SEEDS_PER_RUN - self.num_envs)
        self.resets += 1
        self.games.reset(first)
        self._paid[:], self._decisions[:] = 0.0, 0
        self._spread(first)
        return self.games.observations.copy()

    def _spread(self, first: int) -> None:
        """Plays a part of the first deal at random in every game, of a random length.

        Otherwise all games would stand at about the same point of a deal for ever, and a rollout that is shorter than a
        deal would show the policy nothing but first halves, and the next one nothing but second halves.
        """
        games, rng = self.games, np.random.default_rng(first)

        def play(rows: npt.NDArray[np.int64]) -> None:
            masks = games.action_masks[rows]
            games.step((rng.random(masks.shape) * masks).argmax(1), rows)

        steps, everywhere = 0, np.arange(self.num_envs)
        while not games.states["deal_number"].any() and not games.terminated.any():
            play(everywhere)
            steps += 1
        games.reset(first)
        lengths = rng.integers(0, steps, self.num_envs)
        for step in range(lengths.max()):
            play(np.flatnonzero(lengths > step))
        self._decisions[:] = lengths
        games.rewards[:], games.terminated[:] = 0.0, False

    @contextmanager
    def stepped_by_self_play(self) -> Iterator[None]:
        """In this block ``step`` is allowed."""
        self._expected = True
        try:
            yield
        finally:
            self._expected = False

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Plays a card in every game.

        Raises:
            ValueError: if it is not ``SelfPlayPPO`` that calls it.
        """
        if not self._expected:
            raise InputError(
                "self-play games are for SelfPlayPPO, which gives every seat its own rewards; another algorithm would "
                "take the seats of a game for one player. MaskablePPO and others learn, and evaluations play, in "
                "trick_envs.interfaces.sb3.make_vec_env(…, env_kwargs={'opponents': …})"
            )
        np.copyto(self.acted, self.games.seats)
        self.games.step(actions)

    def step_wait(self) -> Any:
        """Observations (not a copy), the rewards of the seats that acted, ends, and infos."""
        self._paid += self.rewards
        self._decisions += 1
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        ended = np.flatnonzero(self.terminated)
        if len(ended):
            passed = round(time.time() - self._begun, 6)
            for i, paid, decisions in zip(
                ended.tolist(), self._means(ended), self._decisions[ended].tolist(), strict=True
            ):
                infos[i] = {"episode": {"r": paid, "l": decisions, "t": passed}}
            self._paid[ended], self._decisions[ended] = 0.0, 0
        return self.games.observations, self.rewards[self._every, self.acted], self.terminated.copy(), infos

    def _means(self, ended: npt.NDArray[np.int64]) -> list[float]:
        """What matches paid on average to the seats that learn."""
        return self._paid[ended].mean(1).tolist()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The value of an attribute in every game, or in some."""
        each = self._get_indices(indices)
        if attr_name == "action_masks":
            return [partial(self._mask, i) for i in each]
        if attr_name in ("game", "render_mode"):
            return [getattr(self, attr_name, None) for _ in each]
        return [getattr(self.games, attr_name) for _ in each]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """What a method of single games returns: ``action_masks``."""
        if method_name != "action_masks":
            raise AttributeError(f"env_method: expected 'action_masks', not {shown(method_name)}")
        return [self._mask(i) for i in self._get_indices(indices)]

    def _mask(self, i: int) -> npt.NDArray[np.int8]:
        return self.games.action_masks[i].copy()

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: the games share their attributes."""
        raise AttributeError(f"{attr_name!r} cannot be set: make the games with the arguments that they shall have")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """``False`` for every game: there are no single environments to be wrapped."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing to release."""

    def standing(self) -> dict[str, npt.NDArray[Any]]:
        """Where all games stand, for ``continue_from``."""
        numbers = np.array([self.run_seed, self._next_match])
        return {"states": self.games.states.copy(), "numbers": numbers, "paid": self._paid.copy(),
                "decisions": self._decisions.copy()}  # fmt: skip

    def continue_from(self, standing: dict[str, npt.NDArray[Any]]) -> None:
        """Goes on where other games of the same kind were when they said ``standing``."""
        if standing["states"].dtype != self.games.states.dtype or len(standing["states"]) != self.num_envs:
            raise InputError("the checkpoint is of other games: expected the same game, num_envs and num_players")
        self.games.states[:] = standing["states"]
        self.games.observe()
        self.run_seed, self._next_match = standing["numbers"].tolist()
        self._paid[:], self._decisions[:] = standing["paid"], standing["decisions"]

    def begin_rollout(self, number: int) -> None:
        """Called before a rollout, with the number of the first of its samples."""


class BestResponseVecEnv(SelfPlayVecEnv):
    """The learner in one seat of every game (in team games, in those of one team), an agent in the others.

    The learner's seats rotate from game to game of the batch. A step is one decision of the learner in each game, and
    then all of the agent's up to the learner's next decision, which may be in the next match.

    Args:
        games, seed, reward_scale: as for ``SelfPlayVecEnv``.
        agent: who plays the other seats.
    """

    def __init__(self, games: BatchEnv, seed: int, reward_scale: float, agent: Agent) -> None:
        super().__init__(games, seed, reward_scale)
        self._rewards, self._ended = games.rewards.copy(), games.terminated.copy()  # of all that happens in a step
        self._agent = agent
        self._who = np.zeros((games.num_envs, games.num_players), np.int64)  # 0 is the agent
        places = seatings(games.game)
        for i, seats in enumerate(places):
            self._who[i :: len(places), seats] = NOBODY
        self._all = np.arange(games.num_envs)

    @property
    def rewards(self) -> npt.NDArray[np.float32]:
        return self._rewards

    @property
    def terminated(self) -> npt.NDArray[np.bool_]:
        return self._ended

    def reset(self) -> npt.NDArray[np.int8]:
        self.begin_rollout(0)
        super().reset()
        self._let_agent_play()
        return self.games.observations.copy()

    def begin_rollout(self, number: int) -> None:
        """The agent's random choices depend on how much was learned, so that they can be repeated from there."""
        self._agent.seed(stream_seed(player_seeds(Purpose.TRAINING, self.run_seed)[1], number))

    def _spread(self, first: int) -> None:
        """Not needed: a rollout has several deals, since only the learner's decisions count."""

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        super().step_async(actions)
        np.copyto(self.rewards, self.games.rewards)
        np.copyto(self.terminated, self.games.terminated)
        self._let_agent_play()

    def _let_agent_play(self) -> None:
        """Plays the agent's decisions, until the learner is to act in every game."""
        games = self.games
        while len(rows := np.flatnonzero(self._who[self._all, games.seats] != NOBODY)):
            rewards, terminated = games.step(choose_actions(games, (self._agent,), self._who, rows), rows)
            self._rewards += rewards
            self._ended |= terminated

    def _means(self, ended: npt.NDArray[np.int64]) -> list[float]:
        return self._paid[ended].mean(1, where=self._who[ended] == NOBODY).tolist()


# --- the rollouts -------------------------------------------------------------------------------------------------


class SelfPlayBuffer(MaskableRolloutBuffer):
    """Rollouts of many seats, with advantages along the decisions of each seat.

    Rows: ``buffer_size * n_envs`` decisions of this rollout in chronological order, followed by those of earlier
    rollouts that still wait for a successor. Observations and masks are stored as ``int8``.

    At the end of a rollout ``actions``, ``log_probs``, ``rewards``, ``values``, ``advantages``, ``returns``,
    ``observations`` and ``action_masks`` are those of its samples, one row each: they have no axis of games, as SB3's.
    """

    def connect(self, env: SelfPlayVecEnv, rng: np.random.Generator) -> None:
        """Makes room for the decisions of these games.

        Args:
            env: the environment that is stepped between ``note_decisions`` and ``note_rewards``.
            rng: of the order of the samples.
        """
        self._env, self.rng, self._resets = env, rng, env.resets
        games, seats = self.n_envs, env.games.num_players
        self._new = self.buffer_size * games
        rows = self._new + seats * games
        self._seen = np.zeros((rows, env.games.game.layout.size), np.int8)
        self._masks = np.zeros((rows, env.games.game.num_actions), np.int8)
        self._chosen = np.zeros(rows, np.int64)
        self._value, self._log_prob = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
        self._reward, self._advantage = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
        self._next = np.full(rows, LAST, np.int64)
        self._waiting = np.full((games, seats), -1, np.int64)  # the row of each seat's last decision
        self._earned = np.zeros((games, seats), np.float32)  # paid since then
        self._carried = 0

    def reset(self) -> None:
        """Begins a rollout: decisions that wait for a successor move behind the new rows."""
        self.pos, self.full = 0, False
        if not hasattr(self, "_env"):  # SB3 resets the buffer when it makes it
            return
        if self._resets != self._env.resets:  # nobody waits any more
            self._waiting[:], self._resets = -1, self._env.resets
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
        return self._seen, self._masks, self._chosen, self._value, self._log_prob

    def see(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        """Copies observations and masks of all games into the next rows; returns these, for this rollout."""
        games, now = self._env.games, self._now()
        if self.full:  # those after the last decision are not part of this rollout
            return games.observations.copy(), games.action_masks.copy()
        self._seen[now], self._masks[now] = games.observations, games.action_masks
        return self._seen[now], self._masks[now]

    def note_decisions(self, actions: npt.NDArray[Any], values: npt.NDArray[Any], log_probs: npt.NDArray[Any]) -> None:
        """Copies what was decided of the last observations, ``(n_envs,)`` each, before it is played."""
        now = self._now()
        self._chosen[now], self._value[now], self._log_prob[now] = actions, values, log_probs

    def _now(self) -> slice:
        return slice(self.pos * self.n_envs, (self.pos + 1) * self.n_envs)

    def note_rewards(self) -> None:
        """After the decisions have been played: reads from the environment who made them, rewards and ends."""
        env = self._env
        _add_decisions(
            self.pos * self.n_envs, env.acted, env.rewards, env.terminated, env.reward_scale,
            self._next, self._reward, self._waiting, self._earned,
        )  # fmt: skip
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: Any = None, dones: Any = None) -> None:
        """Computes advantages of all decisions whose successor is known; the others wait for the next rollout."""
        used = self._new + self._carried
        _estimate(used, self._new, self._next, self._reward, self._value, self._advantage, self.gamma, self.gae_lambda)
        self.ready = np.flatnonzero(self._next[:used] != WAITING)  # rows that are samples
        self.actions, self.log_probs = self._chosen[self.ready], self._log_prob[self.ready]  # by SB3's names, which
        self.rewards, self.values = self._reward[self.ready], self._value[self.ready]  # callbacks read
        self.advantages = self._advantage[self.ready]
        self.returns = self.values + self.advantages

    def chances(self, fraction: float, vf_coef: float) -> npt.NDArray[np.float64] | None:
        """Probabilities with which samples are drawn for a pass, so that few teach nearly as much as all.

        With the inverse of its probability as the weight of each, the sum of the gradients of those that are drawn is,
        on average, the sum of all. It varies least if they are drawn in proportion to the lengths of their gradients
        (Katharopoulos and Fleuret 2018). Of these we know a part: the gradient by the logits is about the normalised
        advantage times ``1 - p`` for an action of probability ``p``, that by the value ``2 * vf_coef`` times the
        advantage.

        Args:
            fraction: of the samples, in a pass.
            vf_coef: weight of the value's loss.

        Returns:
            ``(samples,)``, more than 0, at most 1; their mean is ``fraction``. ``None``: all are in every pass.
        """
        fraction = max(fraction, 1 / len(self.ready))
        if fraction >= 1:
            return None
        scale, surprise = self.advantages.std() + 1e-8, 1 - np.exp(self.log_probs)
        lengths = np.abs(self.advantages) * np.hypot(surprise / scale, 2 * vf_coef)
        return _chances(lengths + FLOOR * lengths.mean() + 1e-8, fraction)

    @property
    def observations(self) -> npt.NDArray[np.int8]:
        """Of all samples, ``(samples, D)``, in the order of ``advantages`` and the like."""
        return self._seen[self.ready]

    @property
    def action_masks(self) -> npt.NDArray[np.int8]:
        """Of all samples, ``(samples, A)``."""
        return self._masks[self.ready]

    def batch(self, chances: npt.NDArray[np.float64] | None = None) -> Batch:
        """All rows, with the weights of samples that are drawn with ``chances``.

        ``order`` says which rows are samples.
        """
        used = self._new + self._carried
        weight = np.ones(used, np.float32)
        if chances is not None:
            weight[self.ready] = 1 / chances
        columns = (
            self._seen, self._masks, self._chosen, self._log_prob, self._value, self._advantage,
            self._value + self._advantage, weight,
        )  # fmt: skip
        return Batch(*(column[:used] for column in columns))

    def order(
        self, batch_size: int | None = None, chances: npt.NDArray[np.float64] | None = None
    ) -> list[npt.NDArray[np.int64]]:
        """The rows of a pass in random order, in batches of nearly equal size, each for about ``batch_size`` samples.

        Without ``chances`` every sample is in one of them. With these, a sample is in the pass with its probability,
        and the batches are as many.

        Large batches have a multiple of ``GRAIN`` rows, since code for matrix products is made at run time for each of
        their shapes. The rest, less than ``GRAIN`` rows for each batch, is then left out, each time something else.
        """
        places = self.rng.permutation(len(self.ready))
        if chances is not None:  # by systematic sampling: as many each time
            marks = np.floor(np.cumsum(chances[places]) + self.rng.random())
            places = places[np.diff(marks, prepend=0.0) > 0]
        rows = self.ready[places]
        batches = 1 if batch_size is None else max(1, min(round(len(self.ready) / batch_size), len(rows)))
        size = len(rows) // batches
        if batches > 1 and size >= LARGE:
            rows = rows[: size // GRAIN * GRAIN * batches]
        return np.array_split(rows, batches)

    def get(self, batch_size: int | None = None) -> Iterator[MaskableRolloutBufferSamples]:
        """SB3's way to get all samples once, in the order of ``order``."""
        whole = [torch.from_numpy(column).to(self.device) for column in self.batch()]
        for rows in self.order(batch_size):
            numbers = torch.from_numpy(rows).to(self.device)
            observations, masks, actions, log_probs, values, advantages, returns, _ = (
                column.index_select(0, numbers) for column in whole
            )
            yield MaskableRolloutBufferSamples(
                observations.float(), actions, values, log_probs, advantages, returns, masks
            )

    def standing(self) -> dict[str, npt.NDArray[Any]]:
        """Between two rollouts: the decisions that wait, what was paid since, and the state of the generator."""
        self.reset()
        moved = slice(self._new, self._new + self._carried)
        found = {f"row_{i}": column[moved].copy() for i, column in enumerate(self._columns())}
        generator = np.array(json.dumps(self.rng.bit_generator.state))
        return {**found, "waiting": self._waiting.copy(), "earned": self._earned.copy(), "generator": generator}

    def continue_from(self, standing: dict[str, npt.NDArray[Any]]) -> None:
        """Goes on where another buffer for the same games was when it said ``standing``."""
        self.pos, self.full, self._resets = 0, False, self._env.resets
        self._carried = len(standing["row_0"])
        moved = slice(self._new, self._new + self._carried)
        for i, column in enumerate(self._columns()):
            column[moved] = standing[f"row_{i}"]
        self._next[moved] = WAITING
        self._waiting[:], self._earned[:] = standing["waiting"], standing["earned"]
        self.rng.bit_generator.state = json.loads(str(standing["generator"]))


@numba.njit(cache=True)
def _add_decisions(
    first: int, acted: Any, rewards: Any, terminated: Any, scale: float,
    following: Any, reward: Any, waiting: Any, earned: Any,
) -> None:  # fmt: skip
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
    used: int, new: int, following: Any, reward: Any, value: Any, advantage: Any, gamma: float, gae_lambda: float
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


def _chances(lengths: npt.NDArray[Any], fraction: float) -> npt.NDArray[Any]:
    """Probabilities in proportion to ``lengths``, but at most 1, whose mean is ``fraction``, which is less."""
    longest = np.sort(lengths.astype(np.float64))[::-1]
    factors = (fraction * len(lengths) - np.arange(len(lengths))) / np.cumsum(longest[::-1])[::-1]
    return np.minimum(factors[np.argmax(factors * longest < 1)] * lengths, 1.0)


# --- the algorithm ------------------------------------------------------------------------------------------------


class SelfPlayPPO(MaskablePPO):
    """sb3-contrib's ``MaskablePPO``, whose samples are the decisions of all seats.

    All arguments are those of ``MaskablePPO``, and mean the same, but:

    - ``env`` is ``self_play_env(…)``, alone or in a ``VecMonitor``; ``num_timesteps`` counts decisions;
    - ``policy`` may also be ``"SuitPolicy"``, with ``policy_kwargs=suit_network(env, width, depth)`` for another size;
    - ``ent_coef`` may be a schedule, too; ``self.ent_coef`` is its value now;
    - ``rollout_buffer_class`` and ``rollout_buffer_kwargs`` are its own;
    - ``device="cuda"`` is an error where there is none.

    Attributes:
        threads: that share every batch of ``SuitPolicy`` on a CPU; the weights depend on their number, but not on that
            of the cores.
        update_fraction: of the samples, that ``SuitPolicy`` learns from in every pass on a CPU: those with the largest
            gradients are the likeliest, and weights make up for it (``SelfPlayBuffer.chances``). A minibatch has that
            fraction of ``batch_size`` as rows. 1 is SB3's update.
        games: the environment, without wrappers.
        made_with: the config of its run, if it has one.

    Raises:
        ValueError: for arguments that are not allowed; says what is.
    """

    policy_kwargs: dict[str, Any]
    rollout_buffer_kwargs: dict[str, Any]
    ent_coef: Any
    _last_obs: Any
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {**MaskablePPO.policy_aliases, "SuitPolicy": SuitPolicy}
    threads: int = THREADS
    update_fraction: float = 0.5
    games: SelfPlayVecEnv
    ent_coef_schedule: Callable[[float], float] | None = None
    between_updates: bool = True
    made_with: dict[str, Any] | None = None
    _progress: Sequence[ProgressBarCallback] = ()

    @functools.wraps(MaskablePPO.__init__)  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(MaskablePPO.__init__).bind(self, *args, **kwargs)
        given.apply_defaults()
        _check_arguments(**given.arguments)
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        """Makes policy and buffer, and connects the latter with the games; ``load`` calls it, too."""
        if self.normalize_advantage and self.batch_size is not None:  # one sample is its own mean
            whole_number(self.batch_size, 2, np.inf, "batch_size")
        self.rollout_buffer_class, self.rollout_buffer_kwargs = SelfPlayBuffer, {}
        if issubclass(self.policy_class, SuitPolicy):
            own: dict[str, Any] = {"precision": "auto"}
            if "features_extractor_class" not in self.policy_kwargs and self.env is not None:
                own |= suit_network(self.env)
            self.policy_kwargs = own | self.policy_kwargs
        with one_thread():  # weights depend on it, because torch's QR decomposition does
            super()._setup_model()
        if callable(self.ent_coef):
            self.ent_coef_schedule = FloatSchedule(self.ent_coef)
            self.ent_coef = self.ent_coef_schedule(self._current_progress_remaining)
        self._connect()

    def _connect(self) -> None:
        if self.env is not None:
            self.games = cast(SelfPlayVecEnv, self.env.unwrapped)
            seed = None if self.seed is None else stream_seed(self.seed, self.num_timesteps)
            self.rollout_buffer.connect(self.games, np.random.default_rng(seed))

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Other games of the same kind, as many of them."""
        _check_games(env)
        with _other_games_are_told():
            super().set_env(env, force_reset)
        self._connect()

    def set_random_seed(self, seed: int | None = None) -> None:
        """SB3's, but a model that goes on after so many samples has other random numbers and matches than before."""
        super().set_random_seed(None if seed is None else stream_seed(seed, self.num_timesteps))

    @classmethod
    def load(cls, path: Any, env: Any = None, device: Any = "auto", **kwargs: Any) -> Self:
        """SB3's, for a file of ``SelfPlayPPO`` or ``MaskablePPO``; the games are those of ``self_play_env``.

        Raises:
            TypeError: for an argument that neither ``load`` nor the class has: SB3 would keep it without a word.
            ValueError: for arguments that are not allowed; says what is.
        """
        takes = (inspect.signature(one).parameters for one in (MaskablePPO.load, MaskablePPO, cls))
        known = dict.fromkeys(name for one in takes for name in one if name not in _NOT_FOR_LOAD)
        for name in kwargs:
            if name not in known:
                raise unknown_argument(f"{cls.__name__}.load", name, [*known])
        _check_settings(kwargs)
        if env is not None:
            _check_games(env)
        if "ent_coef" in kwargs:
            kwargs["ent_coef_schedule"] = None
        with _other_games_are_told():
            return super().load(path, env, device, **kwargs)

    def _excluded_save_params(self) -> list[str]:
        """Besides SB3's: what ``MaskablePPO`` has of its own when it loads the file."""
        own = (
            "games",
            "between_updates",
            "_progress",
            "rollout_buffer_class",
            "rollout_buffer_kwargs",
            "_last_obs",
            "_last_episode_starts",
        )
        return [*super()._excluded_save_params(), *own]

    def learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        log_interval: int = 1,
        tb_log_name: str = "SelfPlayPPO",
        reset_num_timesteps: bool = True,
        use_masking: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """SB3's."""
        whole_number(self.threads, 1, 1024, "threads")
        fraction = self.update_fraction
        if not isinstance(fraction, int | float | np.floating) or not 0 < fraction <= 1:
            raise InputError(f"update_fraction: expected a number above 0, 1 at most, not {shown(fraction)}")
        if not use_masking:
            raise InputError("use_masking: expected True: these games have illegal actions")
        if self.env is None:
            raise InputError("the model has no games to learn in: load(path, env=self_play_env(…)), or set_env")
        learned = (weight for group in self.policy.optimizer.param_groups for weight in group["params"])
        if not set(map(id, learned)) <= set(map(id, self.policy.parameters())):
            raise InputError(
                "the optimizer has other weights than the policy, as after load_state_dict(…, assign=True) or with "
                "another layer: expected a new policy.optimizer, of policy.parameters()"
            )
        try:
            with one_thread():
                return super().learn(
                    total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar=progress_bar
                )
        except BaseException:
            if not self.between_updates:  # the games may be a step ahead of the buffer: SB3 begins others then
                self._last_obs = None
            raise
        finally:
            for bar in self._bars:  # after Ctrl-C they are still drawn
                bar.close()

    def _init_callback(self, callback: Any, progress_bar: bool = False) -> BaseCallback:
        found = super()._init_callback(callback, progress_bar)
        for each in _callbacks(found):
            if isinstance(each, EvalCallback) and not isinstance(each, MaskableEvalCallback):
                raise InputError(
                    "EvalCallback asks the policy without action masks: expected sb3_contrib's MaskableEvalCallback, "
                    "or training.DuplicateEval"
                )
            if isinstance(each, EvalCallback) and isinstance(each.eval_env.unwrapped, SelfPlayVecEnv):
                raise InputError(
                    "MaskableEvalCallback: expected an environment with opponents, "
                    "trick_envs.interfaces.sb3.make_vec_env(…), not self-play games, where the policy would play itself"
                )
        self._progress = [each for each in _callbacks(found) if isinstance(each, ProgressBarCallback)]
        return found

    @property
    def _bars(self) -> list[Any]:
        return [each.pbar for each in self._progress if hasattr(each, "pbar")]

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, use_masking: bool = True
    ) -> bool:
        """Plays on from where the games stand, all seats with the policy, until the buffer is full."""
        self.policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        self.between_updates = False
        n_steps = 0
        self.games.begin_rollout(self.num_timesteps)
        new_obs, new_masks = rollout_buffer.see()
        with self._team(still=True):
            while n_steps < n_rollout_steps:
                obs_tensor, action_masks = torch.from_numpy(new_obs), new_masks
                with torch.no_grad():
                    actions, values, log_probs = self.policy(obs_tensor.to(self.device), action_masks=action_masks)
                actions, decided = actions.numpy(force=True), (each.numpy(force=True) for each in (values, log_probs))
                rollout_buffer.note_decisions(actions, *(each.reshape(-1) for each in decided))
                with self.games.stepped_by_self_play():
                    _, rewards, dones, infos = env.step(actions)
                rollout_buffer.note_rewards()
                new_obs, new_masks = rollout_buffer.see()
                self.num_timesteps += env.num_envs
                n_steps += 1
                callback.update_locals(locals())
                if not callback.on_step():
                    return False
                self.ep_info_buffer.extend(infos[i]["episode"] for i in np.flatnonzero(dones))
        self._last_obs, self._last_episode_starts = new_obs, dones
        rollout_buffer.compute_returns_and_advantage()
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def _team(self, still: bool = False) -> AbstractContextManager[Any]:
        """In this block, the threads that share batches of a compiled network; ``still``: its weights stay the same."""
        kernels = getattr(self.policy, "compiled", None)
        return nullcontext() if kernels is None else kernels.team(self.threads, usable_cores(), still)

    def train(self) -> None:
        """Learns from the rollout, ``n_epochs`` times in minibatches."""
        left = self._current_progress_remaining
        if self.ent_coef_schedule is not None:
            self.ent_coef = self.ent_coef_schedule(left)
        if len(self.rollout_buffer.ready) > 1:  # of few games and steps, no seat has decided twice
            self.logger.record("train/ent_coef", self.ent_coef)
            self._check_finite(self.rollout_buffer.values)
            kernels = getattr(self.policy, "compiled_update", None)
            if kernels is None:
                super().train()
            else:
                self._train_compiled(kernels)
            self._check_finite(*(weight.numpy(force=True) for weight in self.policy.parameters()))
        self.between_updates = True

    def _check_finite(self, *arrays: npt.NDArray[Any]) -> None:
        if not all(np.isfinite(array).all() for array in arrays):
            raise InputError(
                f"after {self.num_timesteps:,} samples the network has what is no finite number: expected a smaller "
                "learning_rate, more samples in batch_size, or fewer n_epochs"
            )

    def _train_compiled(self, kernels: SuitKernels) -> None:
        """The update of ``MaskablePPO.train`` in compiled code, by several threads."""
        policy, buffer, left = self.policy, self.rollout_buffer, self._current_progress_remaining
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        clip_range_vf = np.inf if self.clip_range_vf is None else self.clip_range_vf(left)
        weights = LossWeights(self.clip_range(left), clip_range_vf, self.vf_coef, self.ent_coef)
        chances = buffer.chances(self.update_fraction, self.vf_coef)
        orders = [buffer.order(self.batch_size, chances) for _ in range(self.n_epochs)]
        samples, passes, go_on = buffer.batch(chances), [], True
        wanted = np.zeros(len(samples.actions), np.bool_)
        wanted[np.concatenate([rows for order in orders for rows in order])] = True
        with self._team():
            seen = kernels.sparse(torch.from_numpy(samples.observations), wanted)
            for epoch, order in enumerate(orders):
                figures = []
                for rows in order:
                    figures.append(self._gradients(kernels, seen, samples, rows, weights))
                    approx_kl = float(figures[-1][FIGURES.index("approx_kl")])
                    if self.target_kl is not None and approx_kl > 1.5 * self.target_kl:
                        go_on = False
                        if self.verbose >= 1:
                            print(f"Early stopping at step {epoch} due to reaching max kl: {approx_kl:.2f}")
                        break
                    policy.optimizer.step()
                passes += figures
                self._n_updates += 1
                if not go_on:
                    break
        means = dict(zip(FIGURES, np.mean(passes, 0).tolist(), strict=True))
        last = dict(zip(FIGURES, figures[-1].tolist(), strict=True))
        means["approx_kl"] = float(np.mean(figures, 0)[FIGURES.index("approx_kl")])  # as SB3: of the last pass
        means["loss"] = last["policy_gradient_loss"] + self.vf_coef * last["value_loss"]
        means["loss"] += self.ent_coef * last["entropy_loss"]
        means["explained_variance"] = explained_variance(buffer.values, buffer.returns)
        for name, value in means.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/clip_range", weights.clip_range)
        if self.clip_range_vf is not None:
            self.logger.record("train/clip_range_vf", clip_range_vf)

    def _gradients(
        self, kernels: SuitKernels, seen: SparseRows, samples: Batch, rows: npt.NDArray[np.int64], weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """The gradients of a minibatch, for the optimizer; returns the means of ``FIGURES``."""
        policy, size, vectors = cast(SuitPolicy, self.policy), len(rows), kernels.vectors(self.policy.precision)
        if self.normalize_advantage and size > 1:
            minibatch = moments(samples.advantages, samples.weights, rows)
        else:
            minibatch = Moments(float(samples.weights[rows].sum()))

        def learned(part: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
            of_loss = partial(gradients_of_loss, batch=samples, rows=part, minibatch=minibatch, weights=weights)
            return kernels.gradients(seen[part], vectors, of_loss)

        parts = np.array_split(rows, policy.parts_of(size, self.threads))
        found = kernels.each(learned, parts)
        whole = torch.from_numpy(np.sum([gradients for gradients, _ in found], axis=0))
        pairs = list(zip(kernels.weights, kernels.of_each(whole), strict=True))
        for weight, gradient in pairs:
            if not weight.requires_grad:
                gradient.zero_()
        whole *= min(1.0, self.max_grad_norm / (float(whole.norm()) + 1e-6))  # as ``clip_grad_norm_``, of all at once
        for weight, gradient in pairs:
            weight.grad = gradient if weight.requires_grad else None
        return np.sum([figures for _, figures in found], axis=0)

    def standing(self) -> dict[str, npt.NDArray[Any]]:
        """Between two updates: where games, decisions that wait and random numbers are, for ``continue_from``."""
        if not self.between_updates:
            raise RuntimeError("an exact checkpoint is possible between two updates alone")
        legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002 (SB3 seeds it, and callbacks may use it)
        own: dict[str, npt.NDArray[Any]] = {
            "python": np.array(random.getstate()[1]),
            "numpy": legacy["state"]["key"],
            "numpy_rest": np.array([legacy["state"]["pos"], legacy["has_gauss"], legacy["gauss"]]),
            "torch": torch.get_rng_state().numpy(),
        }
        if self.device.type == "cuda":
            own["cuda"] = torch.cuda.get_rng_state(self.device).numpy()
        parts = {"games": self.games.standing(), "buffer": self.rollout_buffer.standing(), "random": own}
        return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}

    def continue_from(self, standing: dict[str, npt.NDArray[Any]]) -> None:
        """Goes on, with ``learn(…, reset_num_timesteps=False)``, where another model was when it said ``standing``."""

        def part(name: str) -> dict[str, npt.NDArray[Any]]:
            return {key.partition(".")[2]: array for key, array in standing.items() if key.startswith(f"{name}.")}

        self.games.continue_from(part("games"))
        self.rollout_buffer.continue_from(part("buffer"))
        own = part("random")
        random.setstate((3, tuple(own["python"].tolist()), None))
        position, has_gauss, gauss = own["numpy_rest"].tolist()
        np.random.set_state(("MT19937", own["numpy"], int(position), int(has_gauss), gauss))  # noqa: NPY002
        torch.set_rng_state(torch.from_numpy(own["torch"]))
        if "cuda" in own and self.device.type == "cuda":
            torch.cuda.set_rng_state(torch.from_numpy(own["cuda"]), self.device)
        self._last_obs = self.games.games.observations.copy()  # SB3 does not begin the games anew then
        self._last_episode_starts = np.zeros(self.games.num_envs, np.bool_)


def _check_arguments(policy: Any, env: Any, device: Any, _init_setup_model: bool, **others: Any) -> None:
    """Whatever SB3 would not refuse by itself, or only while it learns, or not in a sentence."""
    known = [name for name in SelfPlayPPO.policy_aliases if name not in ("CnnPolicy", "MultiInputPolicy")]
    is_class = isinstance(policy, type) and issubclass(policy, MaskableActorCriticPolicy)
    if policy not in known and not is_class:
        raise InputError(
            f"policy: expected one of {', '.join(known)}, or a subclass of MaskableActorCriticPolicy, "
            f"not {shown(policy)}"
        )
    if env is not None or _init_setup_model:  # load makes the model without games
        _check_games(env)
    _check_settings(others)
    check_device(device)


def _check_settings(given: dict[str, Any]) -> None:
    """The same of what ``load`` may change, too."""
    for name in ("rollout_buffer_class", "rollout_buffer_kwargs"):
        if given.get(name) is not None:
            raise InputError(f"{name}: expected None: SelfPlayPPO has a buffer of its own, with returns per seat")
    for name in [name for name in ("n_steps", "batch_size", "n_epochs", "stats_window_size") if name in given]:
        number = given[name]
        if number is not None or name != "batch_size":
            whole_number(number, 1, np.inf, name)
    for name in [name for name in NUMBERS if name in given]:
        number, (lowest, most, instead) = given[name], NUMBERS[name]
        if (instead == "a schedule" and callable(number)) or (instead == "None" and number is None):
            continue
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or not lowest <= number <= most:
            span = f"{lowest} to {most}" if most < np.inf else f"{lowest} or more" if lowest > -np.inf else "any size"
            raise InputError(f"{name}: expected a number of {span}{instead and f', or {instead}'}, not {shown(number)}")


def check_device(device: Any) -> None:
    """Checks a device before SB3 takes another one without a word.

    Raises:
        ValueError: if torch knows no such device, or there is none here.
    """
    if device == "auto":
        return
    try:
        named = torch.device(device)
        if named.type != "meta":
            torch.zeros(1, device=named)
            return
    except (RuntimeError, AssertionError, NotImplementedError, TypeError):
        pass
    raise InputError(
        f"device: expected 'cpu', 'auto', or one that torch finds here, such as 'cuda', not {shown(device)}"
    )


def _check_games(env: Any) -> None:
    inner = getattr(env, "unwrapped", env)
    if not isinstance(inner, SelfPlayVecEnv):
        raise InputError(
            f"env: SelfPlayPPO expects self_play_env(…), not {shown(env)}; MaskablePPO takes other environments"
        )
    while env is not inner:
        if type(env) is not VecMonitor:
            raise InputError(
                f"env: expected self_play_env(…), alone or in a VecMonitor, not in a {type(env).__name__}, which knows "
                "one reward per step, while every seat has its own: self_play_env(…, reward_scale=…) scales rewards, "
                "and observations are scaled by SuitPolicy"
            )
        env = env.venv


@contextmanager
def _other_games_are_told() -> Iterator[None]:
    """SB3 prints all bounds of both spaces, which are pages."""
    try:
        yield
    except ValueError as error:
        if not re.match("(Observation|Action) spaces do not match", str(error)):
            raise
        raise InputError("env: expected the game and the number of players that the model has learned") from None


def _callbacks(callback: Any) -> Iterator[BaseCallback]:
    """A callback and all that are in it."""
    yield callback
    inner = callback.callbacks if isinstance(callback, CallbackList) else []
    inner = inner + [getattr(callback, name, None) for name in ("callback", "callback_on_new_best")]
    for each in inner:
        if isinstance(each, BaseCallback):
            yield from _callbacks(each)


def stream_seed(seed: int, done: int) -> int:
    """A seed for what a run does from here on.

    Args:
        seed: of the run.
        done: samples so far. A run that begins has its own seed; one that continues has another stream, which it shares
            with no run of another seed, but for chance.

    Returns:
        0 to 2**32 - 1, or ``seed``.
    """
    return seed if done == 0 else int(np.random.SeedSequence((seed, done)).generate_state(1)[0])
