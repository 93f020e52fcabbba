"""AgileRL's evolving DQNs with masks, at a table of three: python examples/agilerl_dqn.py [SAMPLES]"""

import sys

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import DQN
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.training.train_off_policy import train_off_policy
from gymnasium.wrappers.vector import TransformReward

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
POPULATION, GAMES = 2, 128


class Returns(ReplayBuffer):
    """Monte Carlo returns: every decision of a deal is paid what the deal has brought at its end."""

    lengths, following = torch.zeros(GAMES, dtype=int), torch.zeros(1)  # of the deals that are going on

    def add(self, data):
        first, goes_on = self._cursor, (data["obs"] == self.following).all(1)  # not if the games were reset
        self.lengths, self.following = torch.where(goes_on, self.lengths + 1, 1), data["next_obs"]
        super().add(data)
        for i in np.flatnonzero(data["done"]):
            rows = (first + i - GAMES * torch.arange(self.lengths[i])) % self.max_size
            self.storage["reward"][rows], self.lengths[i] = data["reward"][i], 0


torch.manual_seed(1)
table = {"num_players": 3, "num_deals": 1}
games = gymnasium.make_vec("trick_envs/Pepper-v0", GAMES, "vector_entry_point", autoreset_mode="SAME_STEP", **table)
games = TransformReward(games, lambda rewards: rewards / 10)  # of the size that learners expect
spaces = games.single_observation_space, games.single_action_space
network = {"latent_dim": 128, "encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
learning = {"lr": 1e-3, "batch_size": 512, "learn_step": 64, "gamma": 0.0}  # a reward is already the whole return
agents = [DQN(*spaces, index, net_config=network, **learning) for index in range(POPULATION)]
steps = {"max_steps": SAMPLES // POPULATION, "evo_steps": max(GAMES, SAMPLES // POPULATION // 4), "eval_loop": 4}
exploring = {"eps_decay": 0.99, "eps_end": 0.05}
changes = {"no_mutation": 0.5, "architecture": 0, "new_layer_prob": 0, "parameters": 0.5, "activation": 0, "rl_hp": 0}
evolution = {
    "selection_strategy": TournamentSelection(tournament_size=2, elitism=True, population_size=POPULATION),
    "mutation": Mutations(**changes, mutate_elite=False, rand_seed=1),
}
memory = Returns(400 * GAMES)
agents, _ = train_off_policy(games, "Pepper", "DQN", agents, memory, **steps, **exploring, **evolution, verbose=False)

game, elite = games.unwrapped.game, agents[0]
export_policy(elite.actor, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
