"""Double-Deck German Whist as a PettingZoo AEC environment; the rules: ``trick_envs/games/double_deck_whist.py``."""

from trick_envs.interfaces.aec import environments

env, raw_env = environments("double_deck_whist")
