"""Tianshou's PPO with an actor that masks, on natively batched games: python examples/tianshou_ppo.py [SAMPLES]"""

import sys

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from torch import nn
from torch.distributions import Categorical

from trick_envs import export_policy, load_game, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
NAME, SETTINGS = "trick_envs/Pepper-v0", {"mask_key": "mask", "observation_key": "obs", "num_deals": 1}


class Games(DummyVectorEnv):  # of single environments, which only tell the spaces
    def __init__(self, number):
        super().__init__([lambda: gymnasium.make(NAME, **SETTINGS)] * number)
        self.games = gymnasium.make_vec(NAME, number, "vector_entry_point", autoreset_mode="DISABLED", **SETTINGS)

    def reset(self, env_id=None, **kwargs):
        chosen = np.isin(np.arange(len(self)), self._wrap_id(env_id))
        return Batch(self.games.reset(options={"reset_mask": chosen})[0])[chosen], np.array([{}] * chosen.sum())

    def step(self, action, id=None):  # with rewards of the size that learners expect
        observations, rewards, *ends, _ = self.games.step(action)
        return Batch(observations), rewards / 10, *ends, np.array([{}] * len(self))


class Network(nn.Sequential):
    """A perceptron on Tianshou's ``obs.obs``; with ``obs.mask`` if its outputs are logits of actions."""

    def forward(self, obs, state=None, info=None):
        found = super().forward(torch.as_tensor(obs.obs))
        return found if found.shape[1] == 1 else (found.masked_fill(torch.as_tensor(obs.mask) == 0, -1e8), state)


torch.manual_seed(1)
games, game = Games(64), load_game("pepper", num_deals=1)
actor = Network(nn.Linear(game.layout.size, 128), nn.ReLU(), nn.Linear(128, game.num_actions))
critic = Network(nn.Linear(game.layout.size, 128), nn.ReLU(), nn.Linear(128, 1))
discrete = {"action_space": games.action_space[0], "action_scaling": False, "action_bound_method": None}
policy = ProbabilisticActorPolicy(actor=actor, dist_fn=lambda logits: Categorical(logits=logits), **discrete)
algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, max_batchsize=4096)
collector = Collector(algorithm, games, VectorReplayBuffer(4096, 64))
updates = {"collection_step_num_env_steps": 4096, "batch_size": 512, "update_step_num_repetitions": 4}
length = {"max_epochs": 1, "epoch_num_steps": SAMPLES, "show_progress": False, "verbose": False}
algorithm.run_training(OnPolicyTrainerParams(training_collector=collector, **updates, **length))

export_policy(nn.Sequential(*actor), game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
