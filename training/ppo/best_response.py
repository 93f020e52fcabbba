"""Exploitability: a best response to a fixed player is trained, and then measured.

The exploitability of a player is what the best possible response wins from it, beyond what the player wins from
itself. Finding a best response to a player that never changes is a single-agent problem for reinforcement learning
(the oracle of Lanctot et al. 2017, "A Unified Game-Theoretic Approach to Multiagent Reinforcement Learning"). Training
finds some response, not always the best, hence a lower bound (Timbers et al. 2022, "Approximate Exploitability:
Learning a Best Response").

The learner has one seat, in team games one team, and the player has all others. Against itself a player's margin is 0,
so the bound is the learner's margin as the only one of its kind (``Result.margin_as_one``), on deals that it was not
trained on. The reward ``zero_sum`` is that margin times a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from training.ppo.self_play import SelfPlayVecEnv
from trick_envs.agents import Agent
from trick_envs.engine.batch import BatchEnv
from trick_envs.evaluation.duplicate import Result
from trick_envs.matches.loop import NOBODY, choose_actions
from trick_envs.matches.seating import seatings


class BestResponseVecEnv(SelfPlayVecEnv):
    """The learner in one seat of every game (in team games, in those of one team), an agent in the others.

    The learner's seats rotate from game to game of the batch. A step is one decision of the learner in each game, and
    then all of the agent's up to the learner's next decision, which may be in the next match.

    Args:
        games: the games.
        seed: of the match in the first game; game ``i`` starts with ``seed + i``.
        agent: who plays the other seats.
    """

    def __init__(self, games: BatchEnv, seed: int, agent: Agent) -> None:
        super().__init__(games, seed)
        self.rewards, self.terminated = (
            games.rewards.copy(),
            games.terminated.copy(),
        )  # of everything that happens in a step
        self._agent = agent
        self._who = np.zeros((games.num_envs, games.num_players), np.int64)  # 0 is the agent
        places = seatings(games.game)
        for i, seats in enumerate(places):
            self._who[i :: len(places), seats] = NOBODY
        self._all = np.arange(games.num_envs)

    def reset(self) -> npt.NDArray[np.int8]:
        super().reset()
        self._let_agent_play()
        return self.games.observations.copy()

    def _spread(self) -> None:
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
            self.rewards += rewards
            self.terminated |= terminated


def verdict(best_response: Result) -> str:
    """What the evaluation of a best response says about the player that it was trained against."""
    margin, half_width, player = best_response.margin_as_one, best_response.half_width_as_one, best_response.opponent
    deals = f"{best_response.deals} deals"
    found = f"margin of the best response over {player}: {margin:+.2f} ± {half_width:.2f} points per deal ({deals}): "
    if margin > half_width:
        return found + f"{player} is exploitable by at least that"
    return found + f"no way to exploit {player} was found, which does not prove that there is none"
