"""Self-play with RLlib's PPO (new API stack), one module for all: python examples/rllib_self_play.py [SAMPLES]"""

import sys

import torch
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from trick_envs import donguri_v0, export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000


class Observations(BaseWrapper):
    """The name under which RLlib's masked module looks for the observation."""

    def observation_space(self, agent):
        found = super().observation_space(agent)
        return spaces.Dict({"observations": found["observation"], "action_mask": found["action_mask"]})

    def observe(self, agent):
        found = super().observe(agent)
        return {"observations": found["observation"], "action_mask": found["action_mask"]}


class Network(torch.nn.Module):
    """RLlib's module, called as the arena does."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, observation, action_mask):
        batch = {"obs": {"observations": observation, "action_mask": action_mask}}
        return self.module._forward_inference(batch)["action_dist_inputs"]


settings = {"num_players": 3, "num_deals": 1, "reward": "zero_sum"}
register_env("donguri", lambda config: PettingZooEnv(Observations(donguri_v0.env(**settings))))
config = PPOConfig().environment("donguri", disable_env_checking=True).env_runners(num_env_runners=0)
config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode: "shared")
config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
config.training(train_batch_size=min(SAMPLES, 4096), minibatch_size=min(SAMPLES, 512), num_epochs=4, lr=1e-3, gamma=1.0)
algorithm = config.build_algo()
while algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"] < SAMPLES:
    pass

game = donguri_v0.env(**settings).unwrapped.game
export_policy(Network(algorithm.get_module("shared")), game, "policy.onnx")
algorithm.stop()
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("random", game), deals=200))
