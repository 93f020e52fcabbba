"""Self-play of three with RLlib's PPO and one module: python examples/rllib_self_play.py [SAMPLES] [RUNNERS]"""

import sys

import torch
from gymnasium import spaces
from pettingzoo.utils import BaseWrapper
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

from trick_envs import export_policy, make_agent, pepper_v0
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
RUNNERS = int(sys.argv[2]) if len(sys.argv) > 2 else 0  # that play, on all nodes of RAY_ADDRESS; 0: here


class Games(BaseWrapper):
    """The names by which RLlib's masked module looks for observations, and rewards of the size that learners expect."""

    def observation_space(self, agent):
        found = super().observation_space(agent)
        return spaces.Dict({"observations": found["observation"], "action_mask": found["action_mask"]})

    def observe(self, agent):
        found = super().observe(agent)
        return {"observations": found["observation"], "action_mask": found["action_mask"]}

    def last(self, observe=True):
        observation, reward, *rest = super().last(observe)
        return observation, reward / 10, *rest


class Network(torch.nn.Module):  # RLlib's module, called as the arena does
    def forward(self, observation, action_mask):
        batch = {"obs": {"observations": observation, "action_mask": action_mask}}
        return module._forward_inference(batch)["action_dist_inputs"]


settings = {"num_players": 3, "num_deals": 1, "reward": "zero_sum"}
network = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu", "head_fcnet_hiddens": []}
register_env("pepper", lambda config: PettingZooEnv(Games(pepper_v0.env(**settings))))
config = PPOConfig().environment("pepper", disable_env_checking=True)
config.env_runners(num_env_runners=RUNNERS, num_envs_per_env_runner=16, batch_mode="complete_episodes")
config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode: "shared")
config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=network))
config.training(train_batch_size=min(SAMPLES, 4096), minibatch_size=min(SAMPLES, 512), num_epochs=4)
config.training(lr=1e-3, gamma=1.0, lambda_=0.95, use_kl_loss=False, entropy_coeff=0.01)
algorithm = config.build_algo()
while algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"] < SAMPLES:
    pass

game, module = pepper_v0.env(**settings).unwrapped.game, algorithm.get_module("shared")
export_policy(Network(), game, "policy.onnx")
algorithm.stop()
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
