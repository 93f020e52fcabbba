"""Commands that list: ``games`` and ``policies``."""

from __future__ import annotations

from typing import Annotated

import typer

from trick_envs.cli.base import app, out


@app.command()
def games(name: Annotated[str | None, typer.Argument(help="A game to describe in full.")] = None) -> None:
    """List the games, or describe one: rules in short, options, actions, observation."""
    from trick_envs.cli.catalogue import games_table
    from trick_envs.interfaces.describe import describe_game

    if name is None:
        out.print(games_table())
    else:
        print(describe_game(name))


@app.command()
def policies() -> None:
    """List the trained policies that come with the games: the player named pretrained."""
    from trick_envs.cli.catalogue import policies_table

    out.print(policies_table())
