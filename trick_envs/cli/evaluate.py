"""Commands that measure players: ``evaluate`` and ``arena``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trick_envs.agents.llm import Usage, usage_in
from trick_envs.agents.spec import LLM
from trick_envs.cli.base import (
    ArenaFolderOption,
    DealsOption,
    GameOption,
    HalfWidthOption,
    JsonOption,
    PlayersOption,
    RayCommand,
    RayOption,
    SeedOption,
    Split,
    SplitOption,
    WorkersOption,
    app,
    keep_apart,
    out,
)
from trick_envs.errors import InputError
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import try_to_write

UNDECIDED = 10_000  # deals after which a pair that is not decided stops

if TYPE_CHECKING:
    from trick_envs.evaluation.arena import Pair, Plan, Standings


@app.command(cls=RayCommand)
def evaluate(
    players: Annotated[
        list[str],
        typer.Argument(help="The player to measure, then its opponents (the ladder, if there are none)."),
    ],
    game: GameOption,
    num_players: PlayersOption = None,
    deals: Annotated[
        int | None,
        typer.Option(
            "--deals",
            show_default=f"200; {UNDECIDED:,} with --until-decided",
            help="Maximum number of different deals per pair.",
        ),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="A pair stops as soon as it is known who is better, or with --half-width, that both are level within "
            "± that; wrong in at most 5 % of all cases, for margins that are about normal.",
        ),
    ] = False,
    half_width: HalfWidthOption = None,
    seatings: Annotated[
        str,
        typer.Option(
            "--seatings",
            help="alone: every deal with one player among opponents and one opponent among players, in every seat; "
            "all: in every way that seats both (14 with four seats).",
        ),
    ] = "alone",
    seed: SeedOption = 0,
    split: SplitOption = Split.VALIDATION,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: ArenaFolderOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure one player against the ladder: random, greedy, pimc:10, ismcts:1000.

    The same as trick arena, except that the opponents do not meet each other. Both use deals that the other has played.
    """
    from trick_envs.engine.registry import load_game
    from trick_envs.evaluation.arena import LADDER, make_plan
    from trick_envs.evaluation.duplicate import results_table
    from trick_envs.files import write_json

    player, *opponents = players
    specs = [player, *(opponents or [rung for rung in LADDER if rung != player])]
    if deals is None:
        deals = UNDECIDED if until_decided else 200
    purpose, loaded = split.purpose, load_game(game, num_players, 1)
    plan = make_plan(loaded, specs, deals, half_width, seed, purpose, True, until_decided, seatings)
    target = folder or _arena_folder(plan)
    keep_apart("--json", json_file, "the folder", target)
    with resumable_arena():
        standings = play_schedule(plan, target, workers, ray)
    results = [standings.results[player, opponent] for opponent in specs[1:]]
    verdicts = [result.verdict(half_width) for result in results] if until_decided else []
    out.print(results_table(results, standings.title, verdicts))
    asked = _usage(plan, target)
    for spec, cost in asked.items():
        out.print(f"{spec}: {cost.told}", highlight=False, soft_wrap=True)
    out.print(f"deals saved in: {target}", highlight=False, soft_wrap=True)
    if json_file is not None:
        head = {**standings.about(), **({"seatings": seatings} if seatings != "alone" else {})}
        entries = [result.as_dict() for result in results]
        if until_decided:
            entries = [{**entry, "verdict": verdict} for entry, verdict in zip(entries, verdicts, strict=True)]
        costs = {"language_models": {spec: cost.as_dict() for spec, cost in asked.items()}} if asked else {}
        write_json(json_file, {**head, "results": entries, **costs})


@app.command(cls=RayCommand)
def arena(
    players: Annotated[list[str], typer.Argument(help="Two players or more, such as random greedy pimc:10.")],
    game: Annotated[
        str, typer.Option("--game", help="The game, such as pepper; all: every game, one after the other.")
    ],
    num_players: PlayersOption = None,
    deals: DealsOption = 1000,
    half_width: HalfWidthOption = None,
    seed: SeedOption = 0,
    split: SplitOption = Split.VALIDATION,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: ArenaFolderOption = None,
) -> None:
    """Measure players against each other, every pair on duplicate deals."""
    import matplotlib  # noqa: F401  (before anything is played)

    from trick_envs.engine.registry import all_games, load_game
    from trick_envs.evaluation.arena import RESULTS, make_plan

    names = [kind.name for kind in all_games()] if game == "all" else [game]
    loaded = [load_game(name, num_players, 1) for name in names]
    purpose = split.purpose
    plans = [make_plan(one, players, deals, half_width, seed, purpose) for one in loaded]
    defaults = [_arena_folder(plan) for plan in plans]
    targets = [one if folder is None else folder / one.name if game == "all" else folder for one in defaults]
    for file in (target / name for target in targets for name in RESULTS):
        try_to_write(file)
    with resumable_arena():
        for plan, target in zip(plans, targets, strict=True):
            standings = play_schedule(plan, target, workers, ray)
            standings.write(target)
            out.print(standings.table())
            out.print(f"written: {target}", highlight=False, soft_wrap=True)


@contextmanager
def resumable_arena() -> Iterator[None]:
    """Around an arena: says after Ctrl-C how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        again = shlex.join(["trick", *sys.argv[1:]])
        out.print(
            f"stopped; finished deals are saved. Resume with the same command:\n  {again}",
            highlight=False,
            soft_wrap=True,
        )
        sys.exit(130)


def _arena_folder(plan: Plan) -> Path:
    """The default folder: one per game, seed and purpose, as an arena's folder holds the deals of one of each."""
    seed = f"-seed-{plan.seed}" if plan.seed else ""
    seats = "-all-seatings" if plan.seatings == "all" else ""
    split = "-test" if plan.purpose == Purpose.TEST else ""
    return Path("runs") / f"arena-{plan.game.name}-{plan.game.num_players}{seed}{seats}{split}"


def _usage(plan: Plan, folder: Path) -> dict[str, Usage]:
    """What the language models of a plan have cost so far."""
    specs = [player.spec for player in plan.players if player.spec.startswith(LLM)]
    found = usage_in(folder) if specs else {}
    return {spec: found.get(spec, Usage()) for spec in specs}


def play_schedule(plan: Plan, folder: Path, workers: int, ray: str | None) -> Standings:
    """Plays a plan, with a progress bar."""
    if ray not in (None, "local") and workers > 1:
        raise InputError("--workers and --ray ADDRESS exclude each other: all cores of the cluster are workers")
    from trick_envs.cli.progress import progress_bar
    from trick_envs.evaluation.arena import play_arena

    with progress_bar(out, transient=True) as bar:
        task = bar.add_task(plan.game.name, total=None, note="")

        def show(done: int, total: int, pair: Pair) -> None:
            tokens = sum(cost.tokens for cost in _usage(plan, folder).values())
            left = f"; {tokens:,} tokens, about {tokens * (total - done) // max(done, 1):,} to come" if tokens else ""
            bar.update(task, completed=done, total=total, note=f"{pair.note}{left}")

        return play_arena(plan, folder, workers, show, ray)
