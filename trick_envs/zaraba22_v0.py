"""Zaraba 22 as a PettingZoo AEC environment; the rules are in ``trick_envs/games/zaraba22.py``."""

from trick_envs.interfaces.aec import environments

env, raw_env = environments("zaraba22")
