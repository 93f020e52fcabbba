"""Self-play training and honest evaluation for the games of ``trick_envs``."""
