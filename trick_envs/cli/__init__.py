"""The ``trick`` command: one module per group of commands.

A package adds commands of its own with an entry point in the group ``trick_envs.commands``: a function that takes the
application (``training.commands:add_to`` adds ``train``, ``best-response`` and ``release``).
"""

from __future__ import annotations

from trick_envs.cli import bench as bench
from trick_envs.cli import evaluate as evaluate
from trick_envs.cli import games as games
from trick_envs.cli import matches as matches
from trick_envs.cli.base import app, main
from trick_envs.discovery import COMMANDS, plug_ins

__all__ = ["app", "main"]

for point in plug_ins(COMMANDS).values():
    point.load()(app)
