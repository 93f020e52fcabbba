"""The rules, one file a game. ``trick_envs/engine/game.py`` says what such a file holds."""
