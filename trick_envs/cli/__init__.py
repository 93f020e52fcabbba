"""The ``trick`` command: one module per group of commands.

A package adds commands of its own with an entry point in the group ``trick_envs.commands``: a function that takes the
application (``training.commands:add_to`` adds ``train``, ``best-response`` and ``release``).
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from trick_envs.cli import base
from trick_envs.cli import bench as bench
from trick_envs.cli import dataset as dataset
from trick_envs.cli import evaluate as evaluate
from trick_envs.cli import games as games
from trick_envs.cli import language as language
from trick_envs.cli import matches as matches
from trick_envs.cli import openenv as openenv
from trick_envs.discovery import COMMANDS, plug_ins
from trick_envs.errors import in_a_line

if TYPE_CHECKING:
    from trick_envs.cli.base import app as app


@cache
def _add_commands() -> None:
    """Adds the commands of other packages: not on import, because they may import this package first.

    A package whose commands cannot be added is a warning: the others work. So is a command whose name is taken.
    """
    import typer  # not above: base says what to do where it is not installed

    built_in = base.app.registered_commands
    taken = {one.name or typer.main.get_command_name(getattr(one.callback, "__name__", "")) for one in built_in}
    for point in sorted(plug_ins(COMMANDS).values(), key=lambda point: point.module != "training.commands"):
        try:
            added = base.App()
            point.load()(added)
            names = set(typer.main.get_group(added).commands)  # raises for parameters that no command line can have
        except (Exception, SystemExit) as error:  # a script of the same name may do anything
            top = point.module.partition(".")[0]
            spec = find_spec(top)
            places = spec and ([spec.origin] if spec.origin else spec.submodule_search_locations)
            told = f"the commands of {point.value} are missing ({top} is {', '.join(places or ['not found'])})"
            warnings.warn(f"{told}: {in_a_line(error)}", stacklevel=1)
        else:
            twice = sorted(names & taken)
            for name in twice:
                warnings.warn(f"{point.value}: its command is ignored, because {name!r} is taken already", stacklevel=1)
            for kind in ("registered_commands", "registered_groups"):
                for one in getattr(added, kind):
                    alone = base.App()
                    getattr(alone, kind).append(one)
                    if not twice or taken.isdisjoint(typer.main.get_group(alone).commands):
                        getattr(base.app, kind).append(one)
            taken |= names


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _add_commands()
    return base.app


def main() -> None:
    """The ``trick`` command: ``base.main``, with the commands of all packages."""
    base.main(_add_commands)
