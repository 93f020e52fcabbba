"""Self-play of three on a PettingZoo AEC environment with TorchRL: python examples/torchrl_aec.py [SAMPLES]

One network plays all seats. Every decision of every seat is a sample of PPO, and its return is what the deal brings.
"""

import sys

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor

from trick_envs import export_policy, make_agent, pepper_v0
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000

torch.manual_seed(1)
aec = pepper_v0.env(num_players=3, num_deals=1, reward="zero_sum")
game = aec.unwrapped.game
one_group = MarlGroupMapType.ALL_IN_ONE_GROUP
env = PettingZooWrapper(aec, use_mask=True, categorical_actions=True, group_map=one_group, done_on_any=True)
logits = nn.Sequential(nn.Linear(game.layout.size, 128), nn.ReLU(), nn.Linear(128, game.num_actions))
value = nn.Sequential(nn.Linear(game.layout.size, 128), nn.ReLU(), nn.Linear(128, 1))
actor = ProbabilisticActor(
    TensorDictModule(logits, [("agents", "observation", "observation")], [("agents", "logits")]),
    in_keys={"logits": ("agents", "logits"), "mask": ("agents", "action_mask")},
    out_keys=[("agents", "action")],
    distribution_class=MaskedCategorical,
)
optimizer = torch.optim.Adam([*logits.parameters(), *value.parameters()], lr=1e-3)
samples = 0
while samples < SAMPLES:
    parts = []
    for _ in range(60):
        with torch.no_grad():
            deal = env.rollout(1000, actor)
        returns = deal["next", "agents", "reward"].squeeze(-1).flip(0).cumsum(0).flip(0) / 10  # all that is to come
        acting = deal["agents", "mask"]
        part = deal["agents"][acting]
        parts.append((part["observation", "observation"], part["action_mask"], part["action"], returns[acting]))
    seen, mask, action, target = map(torch.cat, zip(*parts, strict=True))
    gain = (target - value(seen).squeeze(-1)).detach()
    old = MaskedCategorical(logits=logits(seen), mask=mask).log_prob(action).detach()
    batch, samples = (seen, mask, action, target, old, (gain - gain.mean()) / gain.std()), samples + len(seen)
    for rows in torch.cat([torch.randperm(len(seen)) for _ in range(4)]).split(256):
        seen, mask, action, target, old, gain = (each[rows] for each in batch)
        choice = MaskedCategorical(logits=logits(seen), mask=mask)
        ratio = (choice.log_prob(action) - old).exp()
        surrogate = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
        loss = (0.5 * (value(seen).squeeze(-1) - target).square() - surrogate - 0.01 * choice.entropy()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

export_policy(logits, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
