"""Self-play training and evaluation for the games of ``trick_envs``."""

from trick_envs.parallel.threads import wait_passively

wait_passively()  # before torch is imported
