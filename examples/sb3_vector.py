"""Stable-Baselines3 on natively batched games, several times faster: python examples/sb3_vector.py [SAMPLES]"""

import sys

from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecNormalize

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.sb3 import make_vec_env

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000

games = make_vec_env("trick_envs/Pepper-v0", n_envs=256, seed=1, env_kwargs={"num_deals": 1})
games = VecNormalize(games, norm_obs=False, gamma=1)  # rewards of the size that learners expect
learning = {"learning_rate": lambda left: 1e-3 * left, "n_steps": 32, "batch_size": 1024, "n_epochs": 4, "gamma": 1}
model = MaskablePPO("MlpPolicy", games, ent_coef=0.01, **learning, seed=1, device="cpu")
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
