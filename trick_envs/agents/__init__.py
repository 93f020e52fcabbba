"""Players: random, heuristic, search, trained policies and plug-ins, all named by short specs."""

from trick_envs.agents.agent import Actions, Agent
from trick_envs.agents.greedy import GreedyAgent
from trick_envs.agents.random import RandomAgent
from trick_envs.agents.spec import make_agent

__all__ = ["Actions", "Agent", "GreedyAgent", "RandomAgent", "make_agent"]
