"""QR-DQN, which knows no masks by itself, with masks: python examples/sb3_qrdqn.py [SAMPLES]"""

import sys

import numpy as np
from sb3_contrib import QRDQN
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.sb3 import make_vec_env

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
rng = np.random.default_rng(1)


class MaskedQRDQN(QRDQN):
    """Explores among the legal cards."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        action, state = super().predict(observation, state, episode_start, deterministic=True)
        mask, rate = observation["action_mask"], 0 if deterministic else self.exploration_rate
        return np.where(rng.random(len(mask)) < rate, (rng.random(mask.shape) * mask).argmax(axis=1), action), state


class Returns(DictReplayBuffer):
    """Monte Carlo returns: every decision of a deal is paid what the deal has brought at its end."""

    def add(self, obs, next_obs, action, reward, done, infos):
        last = self.pos
        super().add(obs, next_obs, action, reward, done, infos)
        for i in np.flatnonzero(done):
            rows = np.arange(last - infos[i]["episode"]["l"] + 1, last + 1) % self.buffer_size
            self.rewards[rows, i], self.dones[rows, i] = reward[i], True


def mask_values(network, arguments, quantiles):  # (B, quantiles, A)
    return quantiles.masked_fill(arguments[0]["action_mask"][:, None] == 0, -1e8)


settings = {"num_deals": 1, "mask_key": "action_mask"}
games = make_vec_env("trick_envs/Pepper-v0", n_envs=128, seed=1, env_kwargs=settings)
games = VecNormalize(games, norm_obs=False, gamma=1)  # rewards of the size that learners expect
replay = {"buffer_size": 50_000, "replay_buffer_class": Returns, "batch_size": 512}
learning = {"learning_rate": lambda left: 1e-3 * left, "learning_starts": 0, "train_freq": 1, "gradient_steps": 2}
exploring = {"exploration_fraction": 0.1, "exploration_final_eps": 0.05}
network = {"n_quantiles": 10, "net_arch": [128, 128]}
model = MaskedQRDQN(
    "MultiInputPolicy", games, policy_kwargs=network, **replay, **learning, **exploring, gamma=1, seed=1, device="cpu"
)
for values in (model.quantile_net, model.quantile_net_target):
    values.register_forward_hook(mask_values)
model.learn(SAMPLES)

game = games.get_attr("game")[0]
export_policy(model, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
