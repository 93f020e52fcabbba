"""Slobberhannes, a game for trick_envs, and a player that always plays its lowest card."""
