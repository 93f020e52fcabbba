"""OpenSpiel's ISMCTS among random players, at a full table: python examples/openspiel_ismcts.py [DEALS]

The bot is no network, and computes on OpenSpiel's states: it cannot be exported. In the arena, ``ismcts:N`` is the
same algorithm, compiled.
"""

import sys

import numpy as np
from open_spiel.python.algorithms import ismcts, mcts

from trick_envs.interfaces.openspiel import full

DEALS = int(sys.argv[1]) if len(sys.argv) > 1 else 20

game, rng = full("tricky_express"), np.random.RandomState(1)
bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), uct_c=10.0, max_simulations=20, random_state=rng)
returns = []
for deal in range(DEALS):
    state, seat = game.new_initial_state(), deal % game.num_players()
    while not state.is_terminal():
        if state.is_chance_node():
            actions, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choice(actions, p=chances))
        elif state.current_player() == seat:
            state.apply_action(bot.step(state))
        else:
            state.apply_action(rng.choice(state.legal_actions()))
    returns.append(state.returns()[seat])
print(f"ISMCTS among random players: {np.mean(returns):+.2f} points per deal above the mean, {DEALS} deals")
