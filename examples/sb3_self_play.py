"""Self-play with Stable-Baselines3: the opponents are the model itself: python examples/sb3_self_play.py [SAMPLES]"""

import sys

from sb3_contrib import MaskablePPO

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.sb3 import make_vec_env

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000


def itself(observations, action_masks):  # called for all games at once in which an opponent is to act
    return model.predict(observations, action_masks=action_masks)[0] if model else action_masks.argmax(axis=1)


model = None  # the games play on to the learner's first decision before there is one
games = make_vec_env("trick_envs/Donguri-v0", 256, seed=1, env_kwargs={"opponents": itself, "reward": "zero_sum"})
model = MaskablePPO("MlpPolicy", games, n_steps=32, batch_size=1024, n_epochs=4, gamma=1, seed=1, device="cpu")
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
