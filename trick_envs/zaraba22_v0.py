"""Zaraba 22 as a PettingZoo AEC environment; its rules: ``games/zaraba22/rules.py``."""

from trick_envs.interfaces.env import environment_module

env, raw_env, __doc__ = environment_module("zaraba22")
