"""The command that writes datasets for offline learning."""

from __future__ import annotations

from typing import Annotated

import typer

from trick_envs.cli.base import GameOption, PlayersOption, SeedOption, app, out


@app.command()
def dataset(
    game: GameOption,
    players: Annotated[
        str,
        typer.Option("--players", help="Specs, separated by commas: they take the seats in turn and move on."),
    ] = "pretrained",
    deals: Annotated[int, typer.Option("--deals", min=1, help="Number of deals.")] = 10_000,
    num_players: PlayersOption = None,
    reward: Annotated[str, typer.Option("--reward", help="score, zero_sum or win.")] = "score",
    seed: SeedOption = 0,
    name: Annotated[
        str | None,
        typer.Option("--name", help="The dataset's name in Minari; GAME/PLAYERS-v0, such as pepper/greedy-v0."),
    ] = None,
) -> None:
    """Write a Minari dataset: every decision of every seat, an episode for each seat of each deal."""
    import re

    from trick_envs.cli.progress import progress_bar
    from trick_envs.engine.registry import load_game
    from trick_envs.evaluation.dataset import write_dataset

    loaded, specs = load_game(game, num_players, 1), players.split(",")
    short = "-".join(re.sub(r"[^A-Za-z0-9]+", "-", spec.removesuffix(".onnx")).strip("-") for spec in specs)
    dataset_id = f"{loaded.name}/{short}-v0" if name is None else name
    with progress_bar(out, transient=True) as bar:
        task = bar.add_task(loaded.name, total=deals, note="")
        folder = write_dataset(
            loaded, specs, deals, dataset_id, seed, reward, lambda played: bar.update(task, advance=played)
        )
    out.print(f"written: {folder}", highlight=False, soft_wrap=True)
    out.print(f"load it: minari.load_dataset({dataset_id!r})", highlight=False, soft_wrap=True)
