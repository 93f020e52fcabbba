"""The tests of this folder need the package: ``tests/test_example_game.py`` installs it for a process of its own."""

from trick_envs import game_names

collect_ignore = [] if "slobberhannes" in game_names() else ["tests"]
