"""AgileRL's evolving DQNs, which read ``info["action_mask"]``: python examples/agilerl_dqn.py [SAMPLES]"""

import sys

import gymnasium
from agilerl.algorithms import DQN
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.training.train_off_policy import train_off_policy

from trick_envs import export_policy, make_agent
from trick_envs.evaluation.duplicate import evaluate

SAMPLES = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
POPULATION = 2

games = gymnasium.make_vec("trick_envs/Pepper-v0", 16, "vector_entry_point", autoreset_mode="SAME_STEP", num_deals=1)
network = {"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}
population = [
    DQN(
        games.single_observation_space,
        games.single_action_space,
        index,
        net_config=network,
        learn_step=16,
        lr=1e-3,
        gamma=1.0,
    )
    for index in range(POPULATION)
]
mutation = Mutations(
    no_mutation=0.5, architecture=0, new_layer_prob=0, parameters=0.5, activation=0, rl_hp=0, rand_seed=1
)
population, _ = train_off_policy(
    games,
    "Pepper",
    "DQN",
    population,
    ReplayBuffer(50_000),
    max_steps=SAMPLES,
    evo_steps=max(16, SAMPLES // 8),
    eps_decay=0.99,
    selection_strategy=TournamentSelection(tournament_size=2, elitism=True, population_size=POPULATION),
    mutation=mutation,
    verbose=False,
)

game, best = games.unwrapped.game, max(population, key=lambda agent: agent.fitness[-1])
export_policy(best.actor, game, "policy.onnx")
print(result := evaluate(game, make_agent("policy.onnx", game), make_agent("random", game), deals=200))
