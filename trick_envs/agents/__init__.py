"""Players: random, heuristic, search, trained policies and plug-ins, all named by short specs."""

from trick_envs.agents.agent import Actions, Agent, HistoryAgent
from trick_envs.agents.greedy import GreedyAgent
from trick_envs.agents.random import RandomAgent
from trick_envs.agents.spec import make_agent

__all__ = ["Actions", "Agent", "GreedyAgent", "HistoryAgent", "RandomAgent", "make_agent"]
