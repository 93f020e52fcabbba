"""Self-play training and evaluation for the games of ``trick_envs``."""

from trick_envs import _moved

_moved.install()
