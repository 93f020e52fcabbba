"""QR-DQN, which knows no masks: what is illegal is replaced by a legal card: python examples/sb3_qrdqn.py [SAMPLES]"""

import sys

from sb3_contrib import QRDQN
from stable_baselines3.common.vec_env import VecNormalize

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.sb3 import make_vec_env

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000

settings = {"num_deals": 1, "illegal": "substitute"}
games = make_vec_env("trick_envs/Pepper-v0", n_envs=32, seed=1, env_kwargs=settings)
games = VecNormalize(games, norm_obs=False, gamma=1)  # rewards of the size that learners expect
replay = {"buffer_size": 100_000, "learning_starts": 5_000, "batch_size": 256, "train_freq": 1, "gradient_steps": 1}
learning = {"learning_rate": 5e-4, "gamma": 1, "exploration_fraction": 0.3, "target_update_interval": 5_000}
model = QRDQN("MlpPolicy", games, policy_kwargs={"n_quantiles": 50}, **replay, **learning, seed=1, device="cpu")
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
