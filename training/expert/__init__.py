"""Expert iteration: a search labels decisions, and the policy learns from the labels."""

from trick_envs import _moved

__getattr__ = _moved.attributes(__name__)
