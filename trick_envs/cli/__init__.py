"""The ``trick`` command: one module per group of commands.

A package adds commands of its own with an entry point in the group ``trick_envs.commands``: a function that takes the
application (``training.commands:add_to`` adds ``train``, ``best-response`` and ``release``).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from trick_envs.cli import base
from trick_envs.cli import bench as bench
from trick_envs.cli import evaluate as evaluate
from trick_envs.cli import games as games
from trick_envs.cli import matches as matches
from trick_envs.discovery import COMMANDS, plug_ins

if TYPE_CHECKING:
    from trick_envs.cli.base import app as app


@cache
def _add_commands() -> None:
    """Adds the commands of other packages: not on import, because they may import this package first."""
    for point in plug_ins(COMMANDS).values():
        point.load()(base.app)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _add_commands()
    return base.app


def main() -> None:
    """The ``trick`` command: ``base.main``, with the commands of all packages."""
    _add_commands()
    base.main()
