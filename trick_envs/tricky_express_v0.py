"""Tricky Express as a PettingZoo AEC environment; its rules: ``games/tricky_express/rules.py``."""

from trick_envs.interfaces.env import environment_module

env, raw_env, __doc__ = environment_module("tricky_express")
