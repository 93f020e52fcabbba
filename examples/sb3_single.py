"""Stable-Baselines3 on single environments, by the game's name: python examples/sb3_single.py [SAMPLES]"""

import sys

from sb3_contrib import MaskablePPO

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000

model = MaskablePPO("MlpPolicy", "trick_envs/Pepper-v0", n_steps=min(2048, SAMPLES), seed=1, device="cpu")
model.learn(SAMPLES)

(game,) = model.get_env().get_attr("game")
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("random", game), deals=200))
