"""Tianshou's DQN, which reads the mask from the observation: python examples/tianshou_dqn.py [SAMPLES]"""

import sys

import gymnasium
from gymnasium.wrappers import TransformReward
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import trick_envs
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
SETTINGS = {"mask_key": "mask", "observation_key": "obs", "num_deals": 1}


def make_env():  # with rewards of the size that learners expect
    return TransformReward(gymnasium.make("trick_envs/Pepper-v0", **SETTINGS), lambda reward: reward / 10)


games = DummyVectorEnv([make_env for _ in range(16)])
game = trick_envs.load_game("pepper", num_deals=1)
network = Net(state_shape=game.layout.size, action_shape=game.num_actions, hidden_sizes=[128, 128])
space = games.action_space[0]
policy = DiscreteQLearningPolicy(model=network, action_space=space, eps_training=0.1)
learning = {"gamma": 1.0, "n_step_return_horizon": 16, "target_update_freq": 200}  # to the end of the deal
algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), **learning)
collector = Collector(algorithm, games, VectorReplayBuffer(50_000, 16), exploration_noise=True)
collector.reset()
algorithm.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=SAMPLES,
        collection_step_num_env_steps=160,
        update_step_num_gradient_steps_per_sample=1 / 32,
        batch_size=256,
        show_progress=False,
        verbose=False,
    )
)

trick_envs.export_policy(network.model, game, "policy.onnx")  # Net itself returns a recurrent state, too
player, greedy = (trick_envs.make_agent(spec, game) for spec in ("policy.onnx", "greedy"))
print(result := evaluate(game, player, greedy, deals=200))
