"""PettingZoo's converter to parallel environments, and SuperSuit: python examples/pettingzoo_converters.py [MATCHES]

Nothing is trained: where the seats take turns, a parallel environment asks all of them for an action at every step and
plays only one. ``aec_to_parallel`` refuses such games; ``turn_based_aec_to_parallel`` takes them.
"""

import sys

import supersuit
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from trick_envs import make_agent, pepper_v0

MATCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 20

aec = pepper_v0.env(num_players=5, num_deals=1)
player = make_agent("greedy", aec.unwrapped.game)
# SuperSuit's wrappers of actions and rewards work. Those of observations expect a Box, not a dict with a mask.
env = turn_based_aec_to_parallel(supersuit.reward_lambda_v0(aec, lambda reward: reward / 10))
total = dict.fromkeys(env.possible_agents, 0.0)
for match in range(MATCHES):
    observations, _ = env.reset(seed=match)
    while env.agents:
        (to_act,) = (agent for agent in env.agents if observations[agent]["action_mask"].any())
        seen = observations[to_act]
        action = player.act(seen["observation"][None], seen["action_mask"][None], aec.unwrapped.states)[0]
        observations, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, int(action)))
        total = {agent: total[agent] + 10 * rewards[agent] for agent in total}
print({agent: round(points / MATCHES, 2) for agent, points in total.items()}, f"points per match, {MATCHES} matches")
