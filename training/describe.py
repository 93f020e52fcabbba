"""The table of all games."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.interfaces.describe import number_range


def games_table() -> Any:
    """All games as a table for the terminal."""
    from rich.table import Table

    table = Table(title="trick_envs")
    for column in ("game", "title", "players", "actions", "observation", "deals", "options"):
        table.add_column(column, no_wrap=column in ("game", "players", "deals"))
    for name in game_names():
        game = game_type(name)
        tables = [load_game(name, players) for players in game.players]
        table.add_row(
            name,
            game.title,
            number_range([one.num_players for one in tables]),
            number_range([one.num_actions for one in tables]),
            number_range([one.layout.size for one in tables]),
            number_range([game.deals(one.num_players) for one in tables]),
            ", ".join(f"{option}={default}" for option, default in game.options.items()),
        )
    return table
