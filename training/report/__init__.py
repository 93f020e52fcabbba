"""What a run writes about itself: progress, snapshots of the policy, a page."""

from trick_envs import _moved

__getattr__ = _moved.attributes(__name__)
