"""OpenSpiel's neural fictitious self-play at a full table: python examples/openspiel_nfsp.py [DEALS]"""

import sys

import torch
from open_spiel.python import rl_environment
from open_spiel.python.pytorch import nfsp

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.openspiel import full

DEALS = int(sys.argv[1]) if len(sys.argv) > 1 else 200

env = rl_environment.Environment(full("pepper"), seed=1, observation_type=rl_environment.ObservationType.OBSERVATION)
size, actions = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
settings = {
    "optimizer_str": "adam",
    "rl_learning_rate": 1e-3,
    "sl_learning_rate": 1e-3,
    "min_buffer_size_to_learn": 128,
}
agents = [nfsp.NFSP(seat, size, actions, [64], 20_000, 0.1, **settings) for seat in range(env.num_players)]
for _ in range(DEALS):
    now = env.reset()
    while not now.last():
        now = env.step([agents[now.current_player()].step(now).action])
    for agent in agents:
        agent.step(now)


class Profile(torch.nn.Module):
    """The average policies of all seats. OpenSpiel's observation is the player's number, then ours; player 0 deals."""

    def __init__(self, networks, dealer):
        super().__init__()
        self.networks, self.dealer = torch.nn.ModuleList(networks), dealer

    def forward(self, observation):
        seats = [-player % len(self.networks) for player in range(len(self.networks))]  # the dealer's, from each player
        player = observation[:, self.dealer][:, seats]
        logits = [network(torch.cat([player, observation], 1)) for network in self.networks]
        return (torch.stack(logits, 2) * player[:, None]).sum(2)


game = env.game.game  # of trick_envs, inside OpenSpiel's
export_policy(Profile([agent._avg_network for agent in agents], game.layout.slices()["dealer"]), game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("random", game), deals=200))
