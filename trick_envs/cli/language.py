"""The benchmark for language models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trick_envs.cli.base import (
    JsonOption,
    PlayersOption,
    SeedOption,
    Split,
    SplitOption,
    WorkersOption,
    app,
    out,
    output_folder,
)
from trick_envs.errors import InputError


@app.command()
def language_benchmark(
    players: Annotated[list[str], typer.Argument(help="Players, such as llm:MODEL@URL, greedy or pimc:10.")],
    game: Annotated[
        list[str] | None, typer.Option("--game", help="A game; several times for several. All five by default.")
    ] = None,
    num_players: PlayersOption = None,
    deals: Annotated[int, typer.Option("--deals", min=2, help="Deals in each game, against each anchor.")] = 20,
    judged_deals: Annotated[
        int, typer.Option("--judged-deals", min=0, help="How many of these a search judges, decision by decision.")
    ] = 5,
    seed: SeedOption = 0,
    split: SplitOption = Split.VALIDATION,
    workers: WorkersOption = 1,
    folder: Annotated[Path, output_folder("For deals, answers and the table.")] = Path("runs/language-benchmark"),
    json_file: JsonOption = None,
) -> None:
    """Measure language models and others: docs/language_models.md is the protocol."""
    from trick_envs.agents.llm import usage_in
    from trick_envs.agents.spec import LLM
    from trick_envs.cli.evaluate import play_schedule, resumable_arena
    from trick_envs.engine.registry import load_game
    from trick_envs.evaluation.arena import make_plan
    from trick_envs.evaluation.language import ANCHORS, GAMES, Row, benchmark_table, judge_decisions
    from trick_envs.files import try_to_write, write_json, write_text

    try_to_write(folder / "table.md")
    purpose = split.purpose
    for named in (players, game or []):
        if twice := [each for each in named if named.count(each) > 1]:
            raise InputError(f"named twice: {twice[0]}")
    rows: list[Row] = []
    loaded = [load_game(name, num_players, 1) for name in (game or GAMES)]
    plans = [
        (one, spec, make_plan(one, [spec, *(a for a in ANCHORS if a != spec)], deals, None, seed, purpose, True))
        for one in loaded
        for spec in players
    ]
    with resumable_arena():
        for one, spec, plan in plans:
            home = folder / f"{one.name}-{one.num_players}-{split.value}-{seed}"
            standings = play_schedule(plan, home, workers, None)
            margins = {anchor: standings.results[spec, anchor] for anchor in ANCHORS if anchor != spec}
            losses = judge_decisions(plan, spec, min(judged_deals, deals), home) if judged_deals else {}
            usage = usage_in(home).get(spec) if spec.startswith(LLM) else None
            rows.append(Row(spec, f"{one.name}-{one.num_players}", margins, losses, usage))
            write_text(folder / "table.md", benchmark_table(rows) + "\n")
    out.print(benchmark_table(rows), highlight=False, soft_wrap=True)
    out.print(f"written: {folder / 'table.md'}", highlight=False, soft_wrap=True)
    if json_file is not None:
        about = {"deals": deals, "judged_deals": min(judged_deals, deals), "seed": seed, "split": split.value}
        write_json(json_file, {**about, "rows": [row.as_dict() for row in rows]})
