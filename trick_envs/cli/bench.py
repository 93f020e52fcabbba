"""The command ``bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from trick_envs.cli.base import JsonOption, app, out


@app.command()
def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="playouts, batch, batch_4096, batch_threads, env, raw_env, openspiel, pimc, ismcts, training; "
            "if asked for: start, peers.",
        ),
    ] = None,
    games: Annotated[list[str] | None, typer.Option("--games", help="Games, such as pepper or pepper-5.")] = None,
    json_file: JsonOption = None,
) -> None:
    """Measure speed, the median of several runs, on one thread (batch_threads: two)."""
    from trick_envs.evaluation.bench import bench_table, run_bench
    from trick_envs.files import write_json

    figures = run_bench(only or [], games or [], out)
    out.print(bench_table(figures))
    if json_file is not None:
        write_json(json_file, figures)
