"""Expert iteration: a search labels decisions, a network learns from them: python examples/expert_iteration.py [LABELS]

In every round the network plays matches, drawing its cards. A search compares all cards of some decisions with the
network's best one, in worlds that fit what the seat has seen. The network learns to choose as the search does, and its
value from what the matches paid; the next round is labelled with the better network (Anthony, Tian, Barber 2017).
"""

import sys

import numpy as np
import torch

from training import SuitPolicy
from trick_envs import BatchEnv, export_policy, make_agent
from trick_envs.agents.search import SearchAgent
from trick_envs.evaluation.duplicate import evaluate

LABELS = int(sys.argv[1]) if len(sys.argv) > 1 else 120_000
GAMES, ROUND, KEPT, EPOCHS, BATCH = 256, min(LABELS, 15_000), 60_000, 6, 1024
LABELLED = 0.33  # of the decisions that have a choice
WANDERING = 0.15  # random cards in the first round, in which the heuristic plays: it has no variety
SCALE = 0.1  # of returns, so that values are about 1

torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.default_rng(1)
games = BatchEnv("pepper", GAMES, 5, num_deals=1, reward="zero_sum")
games.reset(seed=1)
game, greedy = games.game, make_agent("greedy", games.game)
network = SuitPolicy.for_game(game, width=64, depth=3)


class Student:
    """The network's best cards: what the search starts from."""

    name = "student"

    def seed(self, seed):
        """It makes no random choices."""

    def act(self, observations, action_masks, states=None):
        with torch.no_grad():
            return network(torch.from_numpy(observations), True, action_masks)[0].numpy()


def cards(first_round):
    """What is played everywhere."""
    if first_round:
        best = greedy.act(games.observations, games.action_masks, games.states)
        anything = (rng.random(games.action_masks.shape) * games.action_masks).argmax(1)
        return np.where(rng.random(GAMES) < WANDERING, anything, best)
    with torch.no_grad():
        return network(torch.from_numpy(games.observations), False, games.action_masks)[0].numpy()


def labelled(search, first_round):
    """Plays until there are enough labels whose matches have ended: observations, masks, cards, returns."""
    found, waiting = [], [[] for _ in range(GAMES)]
    earned = np.zeros((GAMES, game.num_players))  # in the match so far
    while len(found) < ROUND:
        wanted = np.flatnonzero((games.action_masks.sum(1) > 1) & (rng.random(GAMES) < LABELLED))
        seen, masks = games.observations[wanted].copy(), games.action_masks[wanted].copy()
        told = search.compare(seen, masks, games.states[wanted])
        for i, *label in zip(wanted, seen, masks, told.actions, strict=True):
            seat = games.seats[i]
            waiting[i].append((*label, seat, earned[i, seat]))
        rewards, ended = games.step(cards(first_round))
        earned += rewards
        for i in np.flatnonzero(ended):
            found += [(*label, SCALE * (earned[i, seat] - before)) for *label, seat, before in waiting[i]]
            waiting[i], earned[i] = [], 0
    return [np.array(column) for column in zip(*found, strict=True)]


def learn(labels, rate):
    """Imitates the search; returns how often the network's best card is its card."""
    agreement, count = 0.0, len(labels[0])
    for group in network.optimizer.param_groups:
        group["lr"] = rate
    for _ in range(EPOCHS):
        for rows in np.array_split(rng.permutation(count), max(1, count // BATCH)):
            seen, masks, chosen, returns = (torch.from_numpy(column[rows]) for column in labels)
            logits, values = network.logits_and_values(seen, masks)
            loss = torch.nn.functional.cross_entropy(logits, chosen)
            loss += 0.5 * torch.nn.functional.mse_loss(values.squeeze(1), returns.float())
            network.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            network.optimizer.step()
            agreement += float((logits.argmax(1) == chosen).float().mean()) * len(rows)
    return agreement / count / EPOCHS


kept, done = None, 0
while done < LABELS:
    search = SearchAgent("ismcts", 100, game, seed=done, baseline=greedy if done == 0 else Student())
    new = labelled(search, first_round=done == 0)
    kept = new if kept is None else [np.concatenate(pair)[-KEPT:] for pair in zip(kept, new, strict=True)]
    agreement = learn(kept, rate=2e-3 * (1 - done / LABELS) + 1e-4)
    done += len(new[0])
    print(f"{done:,} labels: the network chooses as the search does in {agreement:.0%}", flush=True)

export_policy(network, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
