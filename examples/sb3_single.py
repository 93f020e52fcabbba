"""Stable-Baselines3 on single environments, by the game's name: python examples/sb3_single.py [SAMPLES]"""

import sys

from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000

games = make_vec_env("trick_envs/Pepper-v0", n_envs=16, seed=1, env_kwargs={"num_deals": 1})
games = VecNormalize(games, norm_obs=False, gamma=1)  # rewards of the size that learners expect
learning = {"learning_rate": lambda left: 1e-3 * left, "n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1}
model = MaskablePPO("MlpPolicy", games, **learning, seed=1, device="cpu")
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
