"""Self-play PPO: the algorithm, its games and their rollouts, and best responses."""
