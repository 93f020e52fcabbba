"""Double-Deck German Whist as a PettingZoo AEC environment; its rules: ``games/double_deck_whist/rules.py``."""

from trick_envs.interfaces.env import environment_module

env, raw_env, __doc__ = environment_module("double_deck_whist")
