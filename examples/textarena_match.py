"""Every seat is a TextArena agent: python examples/textarena_match.py [MATCHES]

An agent is whatever answers a text, such as ``ta.agents.OpenRouterAgent``; here all play low."""

import sys

import numpy as np
import textarena as ta

from trick_envs import donguri_v0
from trick_envs.interfaces.text import parse_answer, position_text, rules_text

MATCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 20


class TrickEnv(ta.Env):
    """A seat sees the rules and its position; a bad answer is asked again twice, then a random card is played."""

    def reset(self, num_players, seed=None):
        self.env = donguri_v0.env(num_players=num_players, num_deals=1).unwrapped
        self.env.reset(seed=seed)
        self.chance, self.rules = np.random.default_rng(seed), rules_text(self.env.game)
        self.bad, self.problem, self.paid = 0, "", dict.fromkeys(range(num_players), 0)

    def get_observation(self):
        seat = self.env.possible_agents.index(self.env.agent_selection)
        question = position_text(self.env.game, self.env.states, seat, self.env.history(seat))
        return seat, f"{self.rules}\n\n{question}\n\n{self.problem}".rstrip()

    def step(self, action):
        names, mask = self.env.game.deck.names, self.env.last()[0]["action_mask"]
        legal = [names[kind] for kind in np.flatnonzero(mask)]
        card, self.problem = parse_answer(action, legal, self.env.game.deck)
        self.bad = self.bad + 1 if card is None else 0
        if card is None and self.bad <= 2:
            return False, {"problem": self.problem}
        self.bad, self.problem = 0, ""
        self.env.step(names.index(card or self.chance.choice(legal)))
        for seat, agent in enumerate(self.env.possible_agents):
            self.paid[seat] += self.env.rewards.get(agent, 0)
        return all(self.env.terminations.values()), {"played": card}

    def close(self):
        return self.paid, {"record": self.env.record()}


def lowest(observation):
    return f"<play>{observation.rpartition('Legal: ')[2].split()[0]}</play>"


ta.envs.registration.register("Donguri-v0", TrickEnv)
for number in range(MATCHES):
    env, done = ta.make("Donguri-v0"), False
    env.reset(num_players=4, seed=number)
    while not done:
        player, observation = env.get_observation()
        done, _ = env.step(lowest(observation))
    rewards, info = env.close()
    print(f"match {number}: {rewards}")
