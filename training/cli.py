"""The ``trick`` command."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import typer
    import typer.core
    from rich.console import Console
    from rich.text import Text
except ImportError as missing:  # a core install
    raise SystemExit(
        "the trick command needs typer and rich: pip install 'trick_envs[cli]' ([train], to train)"
    ) from missing

from training.seeds import Purpose
from training.shipped import config_names, find_config

if TYPE_CHECKING:
    from training.arena import Pair, Plan, Standings

app = typer.Typer(
    help="Trick-taking card games for reinforcement learning: train, evaluate, measure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out, err = Console(markup=False), Console(stderr=True, markup=False)  # names may hold brackets


def main() -> None:
    """Runs the command line; errors that the user can fix are one message, not a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError) as error:
        err.print(Text.assemble(("error:", "red"), f" {error}"), soft_wrap=True)
        sys.exit(2)


@contextmanager
def _a_run() -> Iterator[None]:
    """Around a training run: turns its errors into user errors, and says after Ctrl-C how to resume it."""
    from training.run import Interrupted, RunError

    try:
        yield
    except RunError as error:
        raise ValueError(str(error)) from None
    except Interrupted as stopped:
        out.print(str(stopped), highlight=False, soft_wrap=True)
        sys.exit(130)


GameOption = Annotated[str, typer.Option("--game", help="The game, such as pepper.")]
PlayersOption = Annotated[int | None, typer.Option("--num-players", help="Seats; the default is the game's own.")]
DealsOption = Annotated[int, typer.Option("--deals", help="Maximum number of different deals per pair.")]
HalfWidthOption = Annotated[
    float | None,
    typer.Option("--half-width", help="A pair stops when its 95 % interval is ± this (after 100 deals or more)."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of deals and players.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, help="Number of processes; the results do not depend on it.")
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Use Ray: a local one with as many workers as without it, or all cores of the cluster at HOST:PORT.",
    ),
]
ArenaFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        file_okay=False,
        help="For finished deals and results; runs/arena-GAME-PLAYERS by default, with -seed-N and -publish appended.",
    ),
]
JsonOption = Annotated[Path | None, typer.Option("--json", dir_okay=False, help="Also write the results to this file.")]
PublishOption = Annotated[
    bool,
    typer.Option("--publish", help="For tables that are published: play deals that no choice was based on."),
]


class RayCommand(typer.core.TyperCommand):
    """A command whose option ``--ray`` may stand alone, which means ``--ray local``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        whole = []
        for arg, following in pairwise([*args, ""]):
            whole.append(arg)
            if arg == "--ray" and not _is_address(following):
                whole.append("local")
        return super().parse_args(ctx, whole)


def _is_address(text: str) -> bool:
    """Whether this is an address of a cluster, and not a player such as pimc:10."""
    from trick_envs.agents.spec import parse_spec

    return re.fullmatch(r"auto|local|\S+:\d+", text) is not None and parse_spec(text).method is None


@app.command(cls=RayCommand)
def train(
    config: Annotated[
        str | None, typer.Argument(help=f"The run: a YAML file, or one of {', '.join(config_names())}.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", file_okay=False, help="For the files of the run; runs/NAME-OF-CONFIG by default."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a value of the file: key=value or section.key=value."),
    ] = None,
    ray: RayOption = None,
) -> None:
    """Train a policy by self-play."""
    from training import run
    from training.config import load_config

    if folder is None and config is None:
        raise ValueError("name a config, such as quickstart (or --resume with a --folder)")
    target = folder if folder is not None else Path("runs") / Path(config).stem  # type: ignore[arg-type]
    with _a_run():
        if resume:
            if change:
                raise ValueError("--set and --resume exclude each other: a run continues with its own config")
            run.resume(target, out, ray)
        elif config is None:
            raise ValueError("name a config, such as quickstart")
        else:
            run.train(load_config(find_config(config), change), target, out, ray)


@app.command(cls=RayCommand)
def exploit(
    player: Annotated[
        str, typer.Argument(metavar="POLICY", help="The player to exploit: policy.onnx, greedy, pimc:10 …")
    ],
    game: GameOption,
    num_players: PlayersOption = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, help="Decisions to learn from, rounded up to whole rollouts.")
    ] = None,
    deals: Annotated[
        int | None, typer.Option("--deals", min=2, help="Number of deals of the final evaluation.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of all random numbers.")] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="For the initial weights: pretrained, or the policy.onnx of a run.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", file_okay=False, help="For the files of the run; runs/exploit-GAME-PLAYERS-POLICY by default."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    ray: RayOption = None,
    json_file: JsonOption = None,
) -> None:
    """Train a best response to a player: a lower bound on its exploitability.

    The same as trick train with "against: POLICY" in a config that otherwise has the defaults.
    """
    from training import run
    from training.config import load_config, make_config
    from training.files import write_json
    from training.start import network_of
    from trick_envs.engine.registry import load_game

    if resume and any(given is not None for given in (samples, deals, seed, start)):
        raise ValueError(
            "--resume excludes --samples, --deals, --seed and --start: a run continues with its own config"
        )
    values: dict[str, Any] = {"game": game, "num_players": num_players, "against": player}
    values["evaluation"] = {"opponents": [player]} | ({} if deals is None else {"final_deals": deals})
    if samples is not None:
        values["stages"] = [{"method": "ppo", "total_samples": samples}]
    if seed is not None:
        values["seed"] = seed
    if start is not None:
        values["start"] = start
        values["network"] = network_of(start, load_game(game, num_players)).model_dump()
    config = make_config(values, "trick exploit")
    name = re.sub(r"[^\w.]+", "-", player).strip("-.")
    target = folder if folder is not None else Path("runs") / f"exploit-{game}-{config.make_game().num_players}-{name}"
    with _a_run():
        if resume:
            if (target / "config.yaml").is_file():
                held = load_config(target / "config.yaml")
                if (held.make_game(), held.against) != (config.make_game(), config.against):
                    raise ValueError(f"{target} holds a run of {held.make_game()} against {held.against}, not this one")
            run.resume(target, out, ray)
        else:
            run.train(config, target, out, ray)
    if json_file is not None:
        write_json(json_file, json.loads((target / "evaluation.json").read_text(encoding="utf-8")))


@app.command(cls=RayCommand)
def evaluate(
    players: Annotated[
        list[str],
        typer.Argument(help="The player to measure, then its opponents (the ladder, if there are none)."),
    ],
    game: GameOption,
    num_players: PlayersOption = None,
    deals: DealsOption = 200,
    half_width: HalfWidthOption = None,
    seed: SeedOption = 0,
    publish: PublishOption = False,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: ArenaFolderOption = None,
    json_file: JsonOption = None,
) -> None:
    """Measure one player against the ladder: random, greedy, pimc:10, ismcts:1000.

    The same as trick arena, except that the opponents do not meet each other. Both use deals that the other has played.
    """
    from training.arena import LADDER, make_plan
    from training.evaluation import results_table
    from training.files import write_json
    from trick_envs.engine.registry import load_game

    player, *opponents = players
    specs = [player, *(opponents or [rung for rung in LADDER if rung != player])]
    plan = make_plan(load_game(game, num_players, 1), specs, deals, half_width, seed, _purpose(publish), True)
    target = folder or _arena_folder(plan)
    with _an_arena():
        standings = _play(plan, target, workers, ray)
    results = [standings.results[player, opponent] for opponent in specs[1:]]
    out.print(results_table(results, standings.title))
    out.print(f"deals saved in: {target}", highlight=False, soft_wrap=True)
    if json_file is not None:
        report = standings.as_dict()
        head = {key: report[key] for key in ("game", "num_players", "seed", "purpose")}
        write_json(json_file, {**head, "results": [result.as_dict() for result in results]})


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
    publish: PublishOption = False,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: ArenaFolderOption = None,
) -> None:
    """Measure players against each other, every pair on duplicate deals."""
    from training.arena import make_plan
    from trick_envs.engine.registry import game_names, load_game

    loaded = [load_game(name, num_players, 1) for name in (game_names() if game == "all" else (game,))]
    plans = [make_plan(one, players, deals, half_width, seed, _purpose(publish)) for one in loaded]
    with _an_arena():
        for plan in plans:
            default = _arena_folder(plan)
            target = default if folder is None else folder / default.name if game == "all" else folder
            standings = _play(plan, target, workers, ray)
            standings.write(target)
            out.print(standings.table())
            out.print(f"written: {target}", highlight=False, soft_wrap=True)


@contextmanager
def _an_arena() -> Iterator[None]:
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


def _purpose(publish: bool) -> Purpose:
    return Purpose.PUBLISHING if publish else Purpose.CHOOSING


def _arena_folder(plan: Plan) -> Path:
    """The default folder: one per game, seed and purpose, as an arena's folder holds the deals of one of each."""
    seed = f"-seed-{plan.seed}" if plan.seed else ""
    publish = "-publish" if plan.purpose == Purpose.PUBLISHING else ""
    return Path("runs") / f"arena-{plan.game.name}-{plan.game.num_players}{seed}{publish}"


def _play(plan: Plan, folder: Path, workers: int, ray: str | None) -> Standings:
    """Plays a plan, with a progress bar."""
    if ray not in (None, "local") and workers > 1:
        raise ValueError("--workers and --ray ADDRESS exclude each other: all cores of the cluster are workers")
    from training.arena import play_arena
    from training.progress import progress_bar

    with progress_bar(out, transient=True) as bar:
        task = bar.add_task(plan.game.name, total=None, note="")

        def show(done: int, total: int, pair: Pair) -> None:
            bar.update(task, completed=done, total=total, note=pair.note)

        return play_arena(plan, folder, workers, show, ray)


@app.command()
def games(name: Annotated[str | None, typer.Argument(help="A game to describe in full.")] = None) -> None:
    """List the games, or describe one: rules in short, options, actions, observation."""
    from training.describe import games_table
    from trick_envs.interfaces.describe import describe_game

    if name is None:
        out.print(games_table())
    else:
        print(describe_game(name))


@app.command()
def policies() -> None:
    """List the trained policies that come with the games: the player named pretrained."""
    from training.describe import policies_table

    out.print(policies_table())


@app.command(cls=RayCommand)
def release(
    run: Annotated[Path, typer.Argument(file_okay=False, help="The folder of a finished run, such as runs/pepper.")],
    deals: Annotated[int, typer.Option("--deals", help="Number of deals of each rung of the ladder.")] = 200,
    force: Annotated[bool, typer.Option("--force", help="Replace the policy that is there in any case.")] = False,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", file_okay=False, help="For finished deals; a folder in that of the run by default."),
    ] = None,
) -> None:
    """Make the policy of a run the one that comes with its game, if it is better than the one that is there."""
    from training.evaluation import results_table
    from training.release import finished_run
    from trick_envs.agents.pretrained import PRETRAINED

    found = finished_run(run)
    target = folder or run / "release"
    with _an_arena():
        meeting = None if force else found.meeting()
        if meeting is not None:
            standings = _play(meeting, target / "choosing", workers, ray)
            result = standings.results[str(found.policy), PRETRAINED]
            out.print(results_table([result], standings.title))
            if result.margin <= 0:
                raise ValueError(f"{found.policy} is not better than {found.target}, which stays (or use --force)")
        ladder = _play(found.ladder(deals), target / "publishing", workers, ray)
    results = [ladder.results[str(found.policy), rung] for rung in ladder.names[1:]]
    found.release(results)
    out.print(results_table(results, ladder.title))
    out.print(f"written: {found.target}, and its manifest", highlight=False, soft_wrap=True)


@app.command()
def simulate(
    game: GameOption,
    num_players: PlayersOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the cards and of the players.")] = 0,
    num_deals: Annotated[int, typer.Option("--num-deals", min=1, help="Number of deals.")] = 1,
    players: Annotated[
        str, typer.Option("--players", help="The players: one spec for all, or one per seat, separated by commas.")
    ] = "greedy",
    file: Annotated[Path | None, typer.Option("--file", help="For the record; it is printed by default.")] = None,
) -> None:
    """Play a match and write its record."""
    from training.files import write_json
    from trick_envs.agents import make_agent
    from trick_envs.engine.registry import load_game
    from trick_envs.engine.rng import MAX_SEED
    from trick_envs.matches.loop import play_match

    loaded = load_game(game, num_players, num_deals)
    specs = players.split(",")
    if len(specs) not in (1, loaded.num_players):
        raise ValueError(f"--players: expected 1 spec, or {loaded.num_players} separated by commas, not {len(specs)}")
    seats = {
        seat: make_agent(specs[seat % len(specs)], loaded, (seed + seat) % (MAX_SEED + 1))
        for seat in range(loaded.num_players)
    }
    record = play_match(game, seats, seed, loaded.num_players, num_deals)
    if file is None:
        print(json.dumps(record))
    else:
        write_json(file, record)


@app.command()
def play(
    game: Annotated[str | None, typer.Argument(help="The game, such as pepper.")] = None,
    num_players: PlayersOption = None,
    seat: Annotated[int, typer.Option("--seat", min=0, help="Your seat.")] = 0,
    opponents: Annotated[
        str | None,
        typer.Option(
            "--opponents",
            help="One spec for all, or one for each, separated by commas, clockwise from your left; pretrained by "
            "default, or a search where there is no trained policy.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the deals; random by default.")] = None,
    deals: Annotated[int | None, typer.Option("--deals", min=1, help="Number of deals; default: the game's.")] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", dir_okay=False, help="For the record; a new file in runs/play by default."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the match of --record.")] = False,
    pause: Annotated[float, typer.Option("--pause", min=0.0, help="Seconds for which a finished trick stays.")] = 2.0,
    symbols: Annotated[bool, typer.Option("--symbols/--letters", help="How suits are written.")] = False,
) -> None:
    """Play a match in the terminal; as plain text if input or output is a file or a pipe."""
    from training.play import play_match

    if resume == (game is not None):
        raise ValueError("name a game, such as pepper (or --resume with a --record)")
    if resume and (record is None or any(given is not None for given in (num_players, opponents, seed, deals))):
        raise ValueError("--resume needs the --record of a match, which goes on with its own players and deals")
    play_match(game, num_players, seat, opponents, seed, deals, record, symbols, pause)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A match record, as written by trick simulate.")],
    html: Annotated[
        Path | None, typer.Option("--html", dir_okay=False, help="Write a page with every step to this file instead.")
    ] = None,
) -> None:
    """Print a match from its record, trick by trick, after checking every action; or make a page of it."""
    from trick_envs.matches.telling import narrate

    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: not readable as JSON: {error}") from None
    if html is None:
        print(narrate(record))
        return
    from training.progress import progress_bar
    from training.serve.export import replay_page

    with progress_bar(out, transient=True) as bar:
        task = bar.add_task("steps", total=None, note="")
        page = replay_page(record, lambda done, total: bar.update(task, completed=done, total=total))
    html.write_text(page, encoding="utf-8")
    out.print(f"written: {html}", highlight=False, soft_wrap=True)


@app.command()
def serve(
    game: Annotated[str, typer.Option("--game", help="The game that is dealt first.")] = "pepper",
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; others can play too if it is not a loopback address.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")] = 8000,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Play and look at replays in the browser."""
    from training.serve import serve as run_server

    def tell(address: str) -> None:
        out.print(f"{address}  (Ctrl-C stops the server)", highlight=False, soft_wrap=True)

    run_server(game, host, port, not no_browser, tell)


@app.command()
def bench(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="playouts, batch, batch_4096, env, raw_env, pimc, ismcts, training."),
    ] = None,
    games: Annotated[list[str] | None, typer.Option("--games", help="Games, such as pepper or pepper-5.")] = None,
    json_file: JsonOption = None,
) -> None:
    """Measure speed on one thread: the median of several runs."""
    from training.bench import bench_table, run_bench
    from training.files import write_json

    figures = run_bench(only or [], games or [], out)
    out.print(bench_table(figures))
    if json_file is not None:
        write_json(json_file, figures)


if __name__ == "__main__":
    main()
