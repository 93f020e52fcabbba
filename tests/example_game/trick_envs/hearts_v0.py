"""Hearts as a PettingZoo AEC environment; the rules are in ``trick_envs/games/hearts.py``."""

from trick_envs.interfaces.aec import environments

env, raw_env = environments("hearts")
