"""The games, described from their own declarations."""

from __future__ import annotations

import inspect
from typing import Any

from trick_envs.engine.game import game_names, load_rules, setup
from trick_envs.engine.table import PHASES


def games_table() -> Any:
    """All games as a table for the terminal."""
    from rich.table import Table

    table = Table(title="trick_envs")
    for column in ("game", "title", "players", "actions", "observation", "deals", "options"):
        table.add_column(column, no_wrap=column in ("game", "players", "deals"))
    for name in game_names():
        game = load_rules(name).game
        tables = [setup(name, players) for players in game.players]
        table.add_row(
            name,
            game.title,
            _range([one.num_players for one in tables]),
            _range([one.num_actions for one in tables]),
            _range([one.layout.size for one in tables]),
            _range([game.deals(one.num_players) for one in tables]),
            ", ".join(f"{option}={default}" for option, default in game.options.items()),
        )
    return table


def describe_game(name: str) -> str:
    """A game in full, at its default number of players, as Markdown."""
    rules = load_rules(name)
    table = setup(name)
    deck = table.deck
    suits = [deck.names[i : i + len(deck.ranks)] for i in range(0, deck.kinds, len(deck.ranks))]
    numbering = [
        f"  {i * len(deck.ranks)} … {(i + 1) * len(deck.ranks) - 1}  {' '.join(row)}" for i, row in enumerate(suits)
    ]
    return "\n".join(
        [
            f"# {rules.game.title} (`{name}`)",
            "",
            inspect.getdoc(rules.module) or "",
            "",
            f"Players: {_range(list(rules.game.players))} (default {rules.game.default_players}). "
            f"Phases: {', '.join(PHASES[phase] for phase in rules.game.phases)}. "
            f"Options: {', '.join(f'{key}={value}' for key, value in rules.game.options.items()) or 'none'}.",
            "",
            f"## Actions: which card is named, Discrete({deck.kinds}) with {table.num_players} players",
            "",
            *numbering,
            "",
            f"## Observation: {table.layout.size} numbers with {table.num_players} players, relative to the observer",
            "",
            table.layout.table(),
        ]
    )


def _range(numbers: list[int]) -> str:
    """Numbers as a person would list them: ``3-9``, or ``36, 48, 80``."""
    found = sorted(set(numbers))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}-{found[-1]}"
    return ", ".join(map(str, found)) if len(found) < 4 else f"{found[0]} … {found[-1]}"
