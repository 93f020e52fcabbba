"""Slobberhannes as a PettingZoo AEC environment; its rules: ``slobberhannes/rules.py``."""

from trick_envs.interfaces.env import environment_module

env, raw_env, __doc__ = environment_module("slobberhannes")
