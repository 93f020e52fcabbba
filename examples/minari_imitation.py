"""Imitation of a Minari dataset of the trained policy, for Pepper: python examples/minari_imitation.py [DEALS]"""

import sys

import minari
import numpy as np
import torch
from torch import nn

from trick_envs import export_policy, load_game, make_agent
from trick_envs.evaluation.dataset import write_dataset
from trick_envs.evaluation.duplicate import evaluate

DEALS, EPOCHS, BATCH = int(sys.argv[1]) if len(sys.argv) > 1 else 5000, 6, 512
NAME = f"pepper/imitation-{DEALS}-v0"
torch.manual_seed(1)
torch.set_num_threads(1)
game = load_game("pepper", num_deals=1)
if NAME not in minari.list_local_datasets():  # the same: trick dataset --game pepper --deals DEALS --name NAME
    write_dataset(game, ["pretrained"], DEALS, NAME)
dataset = minari.load_dataset(NAME)


class Network(nn.Sequential):
    def __init__(self, size, actions):
        super().__init__(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, actions + 1))

    def forward(self, observation, action_mask):
        found = super().forward(observation / scale)
        return torch.where(action_mask > 0.5, found[:, 1:], -1e8), found[:, 0]


episodes = list(dataset.iterate_episodes())  # the last observation of each is zeros: nobody decides then
seen, masks = (
    torch.from_numpy(np.concatenate([episode.observations[key][:-1] for episode in episodes]))
    for key in ("observation", "action_mask")
)
actions = torch.from_numpy(np.concatenate([episode.actions for episode in episodes]))
scale = seen.amax(0).clamp(min=1).float()
network = Network(game.layout.size, game.num_actions)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, EPOCHS * (len(actions) // BATCH + 1))
for epoch in range(EPOCHS):
    losses = []
    for rows in torch.randperm(len(actions)).split(BATCH):
        logits, _ = network(seen[rows].float(), masks[rows].float())
        loss = nn.functional.cross_entropy(logits, actions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: {np.mean(losses):.3f} nats")
export_policy(network, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
