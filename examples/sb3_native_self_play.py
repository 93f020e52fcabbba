"""Self-play as Stable-Baselines3 has it, with every seat a sample: python examples/sb3_native_self_play.py [SAMPLES]"""

import sys

from training import DuplicateEval, SelfPlayPPO, self_play_env
from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_500_000

games = self_play_env("pepper", num_envs=512, num_players=5, seed=1)
learning = {"n_steps": 64, "batch_size": 1024, "n_epochs": 1, "gamma": 1, "learning_rate": lambda left: 4e-3 * left}
model = SelfPlayPPO("SuitPolicy", games, ent_coef=lambda left: 0.1 * left, **learning, seed=1, device="cpu")
model.learn(SAMPLES, callback=[DuplicateEval(["greedy"], every=500_000, verbose=1)])
model.save("policy.zip")

export_policy(model, games, "policy.onnx")
game = games.game
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
