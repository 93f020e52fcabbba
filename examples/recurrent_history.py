"""A GRU that hears every play, PPO in self-play, for Donguri: python examples/recurrent_history.py [DECISIONS]"""

import sys

import numpy as np
import torch
from torch import nn

from trick_envs import BatchEnv, make_agent
from trick_envs.evaluation.duplicate import evaluate

DECISIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 250_000
GAMES, DEALS, EPOCHS, CLIP, ENTROPY, RATE = 256, 1000, 4, 0.2, 0.01, 2e-3
torch.manual_seed(1)
torch.set_num_threads(1)
envs = BatchEnv("donguri", GAMES, num_players=3, num_deals=1, reward="zero_sum", observation="history")
game, n = envs.game, envs.num_players
plays_of_a_deal, cards, size = n * game.hand_size, game.num_actions, game.layout.size  # every seat hears every play


class Network(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.event = nn.Embedding(1 + n * 2 * cards, width)  # 0: the deal begins; else who, led or followed, what
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width + size, 128), nn.ReLU(), nn.Linear(128, cards + 1))

    def forward(self, plays, seats, times, seen, mask):  # decisions (R, K) of R seats, after so many of the plays
        who, phase, card = torch.from_numpy(plays[:, :, 1:].astype(np.int64)).unbind(2)
        events = 1 + ((who - seats[:, None]) % n * 2 + phase) * cards + card
        heard, _ = self.memory(self.event(nn.functional.pad(events, (1, 0))))
        found = self.head(torch.cat([heard[torch.arange(len(times))[:, None], times], seen[..., :size]], 2))
        return torch.where(mask > 0, found[..., 1:], -1e8), found[..., 0]


def decide(seats, plays, *seen):  # observations and masks
    seats, *seen = (torch.from_numpy(each.astype(np.float32)) for each in (seats, *seen))
    with torch.no_grad():
        times = torch.full((len(seats), 1), plays.shape[1])
        logits, value = network(plays, seats.long(), times, *(each[:, None] for each in seen))
    return torch.distributions.Categorical(logits=logits[:, 0]), value[:, 0], seats.long(), *seen


class Player:  # that is told the order of play: a HistoryAgent
    name, observation, seed = "GRU", "history", lambda self, seed: None

    def act(self, observations, action_masks, states, plays):
        return decide(states["seat"], plays, observations, action_masks)[0].logits.argmax(1).numpy()


network = Network()
optimizer = torch.optim.Adam(network.parameters(), RATE)
envs.reset(seed=1)
for update in range(rounds := max(1, DECISIONS // (GAMES * plays_of_a_deal))):
    steps = []
    for _ in range(plays_of_a_deal):  # every game is one deal, and all of them end with the same step
        plays = envs.plays()
        choice, value, seats, seen, mask = decide(envs.seats, plays, envs.observations, envs.action_masks)
        action = choice.sample()
        paid, _ = envs.step(action.numpy())
        steps.append((seats, seen, mask, action, choice.log_prob(action), value))
    seats, *parts = (torch.stack(part, 1) for part in zip(*steps, strict=True))  # (GAMES, plays, …)
    times = seats.argsort(dim=1, stable=True)  # first the decisions of seat 0, then of seat 1, …
    seen, mask, action, old, value = (
        part.take_along_dim(times.reshape(*times.shape, *[1] * (part.ndim - 2)), 1).unflatten(1, (n, -1)).flatten(0, 1)
        for part in parts
    )
    times, target = times.unflatten(1, (n, -1)).flatten(0, 1), torch.from_numpy(paid).flatten()[:, None] / 10
    heard, listeners, gains = plays.repeat(n, 0), torch.arange(n).repeat(GAMES), target - value
    gains = (gains - gains.mean()) / gains.std()
    optimizer.param_groups[0]["lr"] = RATE * (1 - 0.9 * update / rounds)
    for rows in torch.cat([torch.randperm(GAMES * n) for _ in range(EPOCHS)]).chunk(EPOCHS * 3):
        logits, guess = network(heard[rows], listeners[rows], times[rows], seen[rows], mask[rows])
        choice = torch.distributions.Categorical(logits=logits)
        ratio, gain = (choice.log_prob(action[rows]) - old[rows]).exp(), gains[rows]
        surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
        loss = ((guess - target[rows]).square() - surrogate - ENTROPY * choice.entropy()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

result = evaluate(game, Player(), make_agent("greedy", game), DEALS)
print(f"{result.margin_as_one:+.2f} ± {result.half_width_as_one:.2f} points per deal over greedy, {DEALS:,} deals")
