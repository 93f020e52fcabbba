"""Masked PPO in one file, as CleanRL writes it, on natively batched games: python examples/cleanrl_ppo.py [SAMPLES]"""

import sys

import gymnasium
import torch
from torch import nn

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
ENVS, STEPS, EPOCHS, BATCHES, LAMBDA, CLIP, ENTROPY = 256, 32, 4, 8, 0.95, 0.2, 0.01


class Network(nn.Sequential):
    def __init__(self, size, actions):
        super().__init__(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, actions + 1))

    def forward(self, observation, action_mask):
        found = super().forward(observation)
        return torch.where(action_mask > 0.5, found[:, 1:], -1e8), found[:, 0]


torch.manual_seed(1)
envs = gymnasium.make_vec("trick_envs/Pepper-v0", ENVS, "vector_entry_point", autoreset_mode="SAME_STEP", num_deals=1)
game = envs.unwrapped.game
network = Network(game.layout.size, game.num_actions)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
observation, info = envs.reset(seed=1)
for _ in range(max(1, SAMPLES // (ENVS * STEPS))):
    steps = []
    with torch.no_grad():
        for _ in range(STEPS):
            seen, mask = torch.from_numpy(observation), torch.from_numpy(info["action_mask"])
            logits, value = network(seen, mask)
            choice = torch.distributions.Categorical(logits=logits)
            action = choice.sample()
            observation, *paid, _, info = envs.step(action.numpy())
            steps.append((seen, mask, action, choice.log_prob(action), value, *map(torch.from_numpy, paid)))
        *parts, values, rewards, ends = map(torch.stack, zip(*steps, strict=True))
        _, following = network(torch.from_numpy(observation), torch.from_numpy(info["action_mask"]))
    advantages, advantage = torch.zeros_like(values), torch.zeros(ENVS)
    for t in reversed(range(STEPS)):  # generalised advantage estimation, without a discount; rewards in tens of points
        advantage = rewards[t] / 10 + ~ends[t] * (following + LAMBDA * advantage) - values[t]
        advantages[t], following = advantage, values[t]
    samples = [part.flatten(0, 1) for part in (*parts, advantages, advantages + values)]
    for rows in torch.cat([torch.randperm(ENVS * STEPS) for _ in range(EPOCHS)]).chunk(EPOCHS * BATCHES):
        seen, mask, action, old, gain, target = (part[rows] for part in samples)
        logits, value = network(seen, mask)
        choice = torch.distributions.Categorical(logits=logits)
        ratio, gain = (choice.log_prob(action) - old).exp(), (gain - gain.mean()) / (gain.std() + 1e-8)
        surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
        loss = (0.5 * (value - target).square() - surrogate - ENTROPY * choice.entropy()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
export_policy(network, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
