"""Self-play on a PettingZoo AEC environment with TorchRL: python examples/torchrl_aec.py [SAMPLES]

One network plays all seats. Every decision of every seat is a sample of an actor-critic update.
"""

import sys

import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor

from trick_envs import donguri_v0, export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

torch.manual_seed(1)
aec = donguri_v0.env(num_players=3, num_deals=1, reward="zero_sum")
game = aec.unwrapped.game
env = PettingZooWrapper(
    aec, use_mask=True, categorical_actions=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, done_on_any=True
)
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
    for _ in range(16):
        with torch.no_grad():
            match = env.rollout(1000, actor)
        returns = match["next", "agents", "reward"].squeeze(-1).flip(0).cumsum(0).flip(0) / 10  # all that is to come
        acting = match["agents", "mask"]
        part = match["agents"][acting]
        parts.append((part["observation", "observation"], part["action_mask"], part["action"], returns[acting]))
    seen, mask, action, target = map(torch.cat, zip(*parts, strict=True))
    samples += len(action)
    estimate, choice = value(seen).squeeze(-1), MaskedCategorical(logits=logits(seen), mask=mask)
    gain = (target - estimate).detach()
    loss = ((target - estimate).square() - gain * choice.log_prob(action)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

export_policy(logits, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("random", game), deals=200))
