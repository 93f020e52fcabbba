"""Tianshou's DQN with masks, at a table of three: python examples/tianshou_dqn.py [SAMPLES]"""

import sys

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from trick_envs import export_policy, load_game, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
NAME, TABLE = "trick_envs/Pepper-v0", {"num_players": 3, "num_deals": 1}
SETTINGS = {"mask_key": "mask", "observation_key": "obs", **TABLE}


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


torch.manual_seed(1)
games, game = Games(128), load_game("pepper", **TABLE)
network = Net(state_shape=game.layout.size, action_shape=game.num_actions, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=network, action_space=games.action_space[0], eps_training=0.05)
length = {"max_epochs": 1, "epoch_num_steps": SAMPLES, "collection_step_num_env_steps": 1280}
falling = LRSchedulerFactoryLinear(1, SAMPLES + 1280, 64)  # it goes on with every update
optimizer = AdamOptimizerFactory(lr=1e-3).with_lr_scheduler_factory(falling)
algorithm = DQN(policy=policy, optim=optimizer, gamma=1.0, n_step_return_horizon=16)  # to the end of the deal
collector = Collector(algorithm, games, VectorReplayBuffer(51_200, 128), exploration_noise=True)
updates = {"update_step_num_gradient_steps_per_sample": 1 / 64, "batch_size": 512}
algorithm.run_training(
    OffPolicyTrainerParams(training_collector=collector, **length, **updates, show_progress=False, verbose=False)
)

export_policy(network.model, game, "policy.onnx")  # Net itself returns a recurrent state, too
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
