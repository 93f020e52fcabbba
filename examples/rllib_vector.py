"""RLlib's PPO (new API stack) with masks on natively batched games: python examples/rllib_vector.py [SAMPLES]"""

import sys

import gymnasium
import torch
from gymnasium.wrappers.vector import TransformReward
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import trick_envs
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 240_000
SETTINGS = {"mask_key": "action_mask", "observation_key": "observations", "end_mask": "ones", "num_deals": 1}
NETWORK = {"fcnet_hiddens": [128, 128], "fcnet_activation": "relu", "head_fcnet_hiddens": []}


def make_games(config):  # with rewards of the size that learners expect
    games = gymnasium.make_vec("trick_envs/Pepper-v0", config["num_envs"], "vector_entry_point", **SETTINGS)
    return TransformReward(games, lambda rewards: rewards / 10)


register_env("games", make_games)
config = (
    PPOConfig()
    .environment("games", disable_env_checking=True)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=64, gym_env_vectorize_mode="vector_entry_point")
    .rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=NETWORK))
    .training(train_batch_size=min(SAMPLES, 4096), minibatch_size=min(SAMPLES, 512), num_epochs=6)
    .training(lr=[[0, 1e-3], [SAMPLES, 1e-4]], gamma=1.0, lambda_=0.95, use_kl_loss=False, entropy_coeff=0.01)
)
algorithm = config.build_algo()
while (algorithm.train()["env_runners"]["num_env_steps_sampled_lifetime"]) < SAMPLES:
    pass


class Network(torch.nn.Module):
    """RLlib's module, called as the arena does."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, observation, action_mask):
        batch = {"obs": {"observations": observation, "action_mask": action_mask}}
        return self.module._forward_inference(batch)["action_dist_inputs"]


game = trick_envs.load_game("pepper")
trick_envs.export_policy(Network(algorithm.get_module()), game, "policy.onnx")
algorithm.stop()
player, greedy = (trick_envs.make_agent(spec, game) for spec in ("policy.onnx", "greedy"))
print(result := evaluate(game, player, greedy, deals=200))
