"""The tables of all games and of all trained policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from trick_envs.agents.pretrained import load_manifest, manifest_file, pretrained_file, pretrained_players
from trick_envs.engine.registry import all_games, load_game
from trick_envs.errors import InputError
from trick_envs.evaluation.duplicate import Result
from trick_envs.interfaces.describe import number_range

if TYPE_CHECKING:
    from rich.table import Table


def games_table() -> Table:
    """All games as a table for the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table

    caption = "trick games NAME: the rules in short, options, actions and observation of one"
    table = Table(title="trick_envs", caption=caption, box=SIMPLE, pad_edge=False)  # whole in 80 columns
    for column in ("game", "title", "players", "actions", "observation", "deals"):
        table.add_column(column, no_wrap=column in ("game", "players", "deals"))
    for game in all_games():
        tables = [load_game(game.name, players) for players in game.players]
        table.add_row(
            game.name,
            game.title,
            number_range([one.num_players for one in tables]),
            number_range([one.num_actions for one in tables]),
            number_range([one.layout.size for one in tables]),
            number_range([game.deals(one.num_players) for one in tables]),
        )
    return table


def policies_table() -> Table:
    """All trained policies as a table for the terminal."""
    from rich.box import SIMPLE
    from rich.table import Table

    files = [pretrained_file(game, players) for game in all_games() for players in pretrained_players(game)]
    manifests = [load_manifest(file) for file in files]
    ladders = [_ladder(file, manifest) for file, manifest in zip(files, manifests, strict=True)]
    rungs = list(dict.fromkeys(result.opponent for ladder in ladders for result in ladder))
    caption = "points per deal over other players, with 95 % interval; all else is in the .json file of each policy"
    table = Table(
        title="trained policies: the player 'pretrained'", caption=caption, box=SIMPLE, pad_edge=False, show_lines=True
    )
    table.add_column("game-players", no_wrap=True)
    for figure in ("minutes", "kB", *(f"over\n{rung}" for rung in rungs)):
        table.add_column(figure, justify="right", no_wrap=True)
    for file, manifest, ladder in zip(files, manifests, ladders, strict=True):
        over = {one.opponent: f"{one.margin:+.2f}\n±{one.half_width:.2f}" for one in ladder}
        table.add_row(
            file.stem,
            f"{manifest['seconds'] / 60:.0f}",
            f"{manifest['size'] / 1e3:.0f}",
            *(over.get(rung, "") for rung in rungs),
        )
    return table


def _ladder(file: Path, manifest: dict[str, Any]) -> list[Result]:
    try:
        return [Result.from_dict(result) for result in manifest["ladder"]["results"]]
    except InputError as error:
        raise InputError(f"{manifest_file(file)}: {error}") from None
