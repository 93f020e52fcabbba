"""Tricky Express as a PettingZoo AEC environment; the rules are in ``trick_envs/games/tricky_express.py``."""

from trick_envs.interfaces.aec import environments

env, raw_env = environments("tricky_express")
