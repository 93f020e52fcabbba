"""Self-play PPO: the algorithm, its games and their rollouts, and best responses."""

from trick_envs import _moved

__getattr__ = _moved.attributes(__name__)
