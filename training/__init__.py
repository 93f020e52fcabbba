"""Self-play training and evaluation for the games of ``trick_envs``."""
