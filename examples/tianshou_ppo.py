"""Tianshou's PPO with an actor that masks: python examples/tianshou_ppo.py [SAMPLES]"""

import sys

import gymnasium
import torch
from gymnasium.wrappers import TransformReward
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams

import trick_envs
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
SETTINGS = {"mask_key": "mask", "observation_key": "obs", "num_deals": 1}


def make_env():  # with rewards of the size that learners expect
    return TransformReward(gymnasium.make("trick_envs/Pepper-v0", **SETTINGS), lambda reward: reward / 10)


class Network(torch.nn.Module):
    """A perceptron on Tianshou's ``obs.obs``; with ``obs.mask`` if its outputs are logits of actions."""

    def __init__(self, size, outputs):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(size, 128), torch.nn.ReLU(), torch.nn.Linear(128, outputs))

    def forward(self, obs, state=None, info=None):
        found = self.layers(torch.as_tensor(obs.obs))
        return found if found.shape[1] == 1 else (found.masked_fill(torch.as_tensor(obs.mask) == 0, -1e8), state)


torch.manual_seed(1)
games = DummyVectorEnv([make_env for _ in range(16)])
game = trick_envs.load_game("pepper", num_deals=1)
actor, critic = Network(game.layout.size, game.num_actions), Network(game.layout.size, 1)
policy = ProbabilisticActorPolicy(
    actor=actor,
    dist_fn=lambda logits: torch.distributions.Categorical(logits=logits),
    action_space=games.action_space[0],
    action_scaling=False,
    action_bound_method=None,
)
algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0)
collector = Collector(algorithm, games, VectorReplayBuffer(4096, 16))
collector.reset()
settings = {"collection_step_num_env_steps": 2048, "batch_size": 512, "update_step_num_repetitions": 4}
length = {"max_epochs": 1, "epoch_num_steps": SAMPLES, "show_progress": False, "verbose": False}
algorithm.run_training(OnPolicyTrainerParams(training_collector=collector, **settings, **length))

trick_envs.export_policy(actor.layers, game, "policy.onnx")
player, greedy = (trick_envs.make_agent(spec, game) for spec in ("policy.onnx", "greedy"))
print(result := evaluate(game, player, greedy, deals=200))
