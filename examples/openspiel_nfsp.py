"""OpenSpiel's neural fictitious self-play: python examples/openspiel_nfsp.py [DEALS] [PLAYERS]"""

import sys

import torch
from open_spiel.python import rl_environment
from open_spiel.python.pytorch import dqn, nfsp

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.openspiel import full

DEALS = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
PLAYERS = int(sys.argv[2]) if len(sys.argv) > 2 else 3


class Returns(dqn.ReplayBuffer):
    """Monte Carlo returns: every decision of a deal is paid what the deal has brought at its end."""

    deal = ()

    def append(self, transition):
        self.deal = (*self.deal, transition)
        if transition.is_final_step:
            for each in self.deal:  # with rewards of the size that learners expect
                super().append(each._replace(reward=transition.reward / 10, is_final_step=transition.is_final_step))
            self.deal = ()


class Profile(torch.nn.Module):
    """The average policy. OpenSpiel's observation is the player's number, then ours; player 0 deals."""

    def forward(self, observation):
        seats = [-player % game.num_players for player in range(game.num_players)]  # the dealer's, from each player
        return average(torch.cat([observation[:, game.layout.slices()["dealer"]][:, seats], observation], 1))


kind = rl_environment.ObservationType.OBSERVATION
env = rl_environment.Environment(full("pepper", PLAYERS), seed=1, observation_type=kind)
size, actions = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
learning = {"optimizer_str": "adam", "rl_learning_rate": 1e-3, "sl_learning_rate": 1e-3, "learn_every": 32}
exploring = {"epsilon_start": 0.3, "epsilon_end": 0.05, "epsilon_decay_duration": 20_000}
exploring["epsilon_decay_schedule_str"] = "linear"
settings = {**learning, **exploring, "replay_buffer_capacity": 20_000, "min_buffer_size_to_learn": 128}
agents = [nfsp.NFSP(seat, size, actions, [128], 100_000, 0.5, **settings) for seat in range(env.num_players)]
average, values = agents[0]._avg_network, agents[0]._rl_agent
for agent in agents:  # all seats learn the same networks, each from its own decisions
    agent._avg_network, agent._optimizer, agent._rl_agent._replay_buffer_class = average, agents[0]._optimizer, Returns
    agent._rl_agent._q_network, agent._rl_agent._optimizer = values._q_network, values._optimizer
for _ in range(DEALS):
    now = env.reset()
    while not now.last():
        now = env.step([agents[now.current_player()].step(now).action])
    for agent in agents:
        agent.step(now)

game = env.game.game  # of trick_envs, inside OpenSpiel's
export_policy(Profile(), game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("greedy", game), deals=200))
