"""Donguri to Yamaneko as a PettingZoo AEC environment; the rules are in ``trick_envs/games/donguri.py``."""

from trick_envs.interfaces.aec import environments

env, raw_env = environments("donguri")
