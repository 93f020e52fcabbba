"""Self-play training and evaluation for the games of ``trick_envs``."""

from trick_envs import _moved
from trick_envs.parallel.threads import wait_passively

_moved.install()
wait_passively()  # before torch is imported
