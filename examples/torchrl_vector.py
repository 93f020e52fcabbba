"""TorchRL's PPO with masks on natively batched games: python examples/torchrl_vector.py [SAMPLES]

``GymEnv("trick_envs/Pepper-v0", mask_key="action_mask")`` is the same for a single game.
"""

import sys

import gymnasium
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.envs import DTypeCastTransform, GymWrapper, RewardScaling
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import trick_envs
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
ENVS, STEPS = 64, 64

torch.manual_seed(1)
games = gymnasium.make_vec(
    "trick_envs/Pepper-v0", ENVS, "vector_entry_point", autoreset_mode="DISABLED", mask_key="action_mask", num_deals=1
)
game, env = games.unwrapped.game, GymWrapper(games, categorical_action_encoding=True)
env = env.append_transform(DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))
env = env.append_transform(RewardScaling(0, 0.1))
body = nn.Sequential(nn.Linear(game.layout.size, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
logits, value = nn.Sequential(body, nn.Linear(128, game.num_actions)), nn.Sequential(body, nn.Linear(128, 1))
actor = ProbabilisticActor(
    TensorDictModule(logits, ["observation"], ["logits"]),
    in_keys={"logits": "logits", "mask": "action_mask"},
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
critic = ValueOperator(value, ["observation"])
loss = ClipPPOLoss(actor, critic, entropy_coeff=0.01, critic_coeff=0.5)
advantage = GAE(gamma=1.0, lmbda=0.95, value_network=critic)
optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
for batch in Collector(env, actor, frames_per_batch=ENVS * STEPS, total_frames=max(SAMPLES, ENVS * STEPS)):
    advantage(batch)
    samples = batch.reshape(-1)
    for rows in torch.cat([torch.randperm(len(samples)) for _ in range(4)]).split(512):
        losses = loss(samples[rows])
        optimizer.zero_grad()
        (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
        optimizer.step()

trick_envs.export_policy(logits, game, "policy.onnx")
player, greedy = (trick_envs.make_agent(spec, game) for spec in ("policy.onnx", "greedy"))
print(result := evaluate(game, player, greedy, deals=200))
