"""Self-play with Stable-Baselines3 and the network shared over suits: python examples/sb3_self_play.py [SAMPLES]"""

import sys

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

from training import SuitPolicy, suit_network
from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.sb3 import make_vec_env

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000


def itself(observations, action_masks):  # called for all games at once in which an opponent is to act
    if model is None:  # the games play on to the learner's first decision before there is a model
        return action_masks.argmax(axis=1)
    with torch.no_grad():
        return model.policy(torch.as_tensor(observations), action_masks=action_masks)[0].numpy()


model = None
settings = {"opponents": itself, "num_deals": 1, "reward": "zero_sum"}
games = make_vec_env("trick_envs/Pepper-v0", n_envs=256, seed=1, env_kwargs=settings)
games = VecNormalize(games, norm_obs=False, gamma=1)  # rewards of the size that learners expect
learning = {"learning_rate": lambda left: 2e-3 * left, "n_steps": 32, "batch_size": 1024, "n_epochs": 4, "gamma": 1}
model = MaskablePPO(
    SuitPolicy, games, policy_kwargs=suit_network(games), ent_coef=0.01, **learning, seed=1, device="cpu"
)
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
