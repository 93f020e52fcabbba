"""The commands that need torch: ``train``, ``best-response``, ``report``, ``release``. Found by their entry point."""

from __future__ import annotations

import hashlib
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from training.shipped import config_names, find_config
from trick_envs.cli.base import (
    GameOption,
    JsonOption,
    PlayersOption,
    RayCommand,
    RayOption,
    WorkersOption,
    keep_apart,
    out,
    output_file,
    output_folder,
)
from trick_envs.cli.evaluate import play_schedule, resumable_arena
from trick_envs.errors import InputError, MissingExtraError
from trick_envs.evaluation import bench
from trick_envs.files import try_to_write, write_json, write_signed_json

if TYPE_CHECKING:
    from training.config import RunConfig

LONGEST_NAME = 80  # of a player, in that of a folder
# Of a best response that begins with the weights of a policy: the defaults, which are for random weights, would make it
# forget what it knows before it learns (docs/experiments.md, Best responses).
FROM_A_POLICY = {"learning_rate": 3e-4, "final_learning_rate": 3e-5, "ent_coef": 0.005, "final_ent_coef": 0.005}


def add_to(app: typer.Typer) -> None:
    """Adds the commands to an application, and the section ``training`` to ``trick bench``."""
    for command in (train, best_response, report):
        app.command()(command)
    app.command(cls=RayCommand)(release)
    bench.add_section("training", "self-play PPO on 5-player Pepper, samples/s", _bench)


def _bench() -> dict[str, float]:
    from training.bench import training_rates
    from training.config import RunConfig

    return training_rates(RunConfig(game="pepper", num_players=5))


TrustOption = Annotated[
    bool, typer.Option("--trust", help="Let the players in the config be programs or Python functions.")
]


@contextmanager
def _a_run(command: Sequence[str] = (), more: Sequence[str] = ()) -> Iterator[None]:
    """Around a run: says after Ctrl-C or SIGTERM how to resume it: with ``command``, or its own and ``more``."""
    from training.run import Interrupted

    try:
        yield
    except Interrupted as stopped:
        again = shlex.join([*(command or stopped.command), *more])
        out.print(f"{stopped.told}; resume with:\n  {again}", highlight=False, soft_wrap=True)
        sys.exit(128 + stopped.signal)


def train(
    config: Annotated[
        str | None, typer.Argument(help=f"The run: a YAML file, or one of {', '.join(config_names())}.")
    ] = None,
    folder: Annotated[Path | None, output_folder("For the files of the run; runs/NAME-OF-CONFIG by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Override a value of the file: key=value or options.NAME=value.")
    ] = None,
    callback: Annotated[
        list[str] | None,
        typer.Option("--callback", help="A callback of Stable-Baselines3 of your own: package.module:Class."),
    ] = None,
    trust: TrustOption = False,
) -> None:
    """Train a policy by self-play."""
    from training import run
    from training.config import load_config

    if folder is None and config is None:
        raise InputError("name a config, such as quickstart (or --resume with a --folder)")
    if config is not None and config not in config_names() and Path(config).is_dir():
        raise InputError(f"{config} is a folder: expected a config, or for the run in it --resume --folder {config}")
    target = folder if folder is not None else Path("runs") / Path(config).stem  # type: ignore[arg-type]
    callbacks = [run.load_callback(named) for named in callback or []]
    with _a_run(more=[word for named in callback or [] for word in ("--callback", named)]):
        if resume:
            if change:
                raise InputError("--set and --resume exclude each other: a run continues with its own config")
            if config is not None and folder is not None and (target / "config.yaml").is_file():
                _same_table(target, load_config(find_config(config), trust=trust), trust)
            run.resume(target, out, callbacks, trust)
        elif config is None:
            raise InputError("name a config, such as quickstart")
        else:
            run.train(load_config(find_config(config), change, trust), target, out, callbacks)


def _same_table(folder: Path, config: RunConfig, trust: bool) -> RunConfig:
    """The config of the run in a folder, if it plays the game of another one, against the same opponent."""
    from training.config import load_config

    held = load_config(folder / "config.yaml", trust=trust)
    if (held.make_game(), held.opponent) != (config.make_game(), config.opponent):
        against = "" if held.opponent is None else f" against {held.opponent}"
        raise InputError(f"{folder} holds a run of {held.make_game()}{against}, not this one")
    return held


def best_response(
    player: Annotated[
        str, typer.Argument(metavar="POLICY", help="The player to respond to: policy.onnx, greedy, pimc:10 …")
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
    init_from: Annotated[
        str | None,
        typer.Option("--init-from", help="For the initial weights: pretrained, or the policy.onnx of a run."),
    ] = None,
    folder: Annotated[
        Path | None, output_folder("For the files of the run; runs/best-response-GAME-PLAYERS-POLICY by default.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    search_deals: Annotated[
        int,
        typer.Option(
            "--search-deals",
            min=0,
            help="Also try deviators that search, on so many deals each, and keep the best of all; 0: do not.",
        ),
    ] = 40,
    json_file: JsonOption = None,
) -> None:
    """Find what can be won from a player: a lower bound on its exploitability.

    Trains a best response, the same as trick train with "opponent: POLICY" in a config that otherwise has the
    defaults. Then tries it and players that search as the only ones of their kind among copies of the player, and
    measures the best of them on deals of its own, with a positive control: the same against greedy.
    """
    from training import run
    from training.config import make_config
    from training.evaluation import EVALUATION, read_evaluation
    from training.initial import network_of
    from trick_envs.agents.spec import runs_code
    from trick_envs.engine.registry import load_game

    if search_deals == 1:
        raise InputError("--search-deals: expected 0, or 2 deals or more")
    if resume and any(given is not None for given in (samples, deals, seed, init_from)):
        raise InputError(
            "--resume excludes --samples, --deals, --seed and --init-from: a run continues with its own config"
        )
    given = {"total_samples": samples, "final_deals": deals, "seed": seed, "init_from": init_from}
    values: dict[str, Any] = {"game": game, "num_players": num_players, "opponent": player, "opponents": [player]}
    values |= {key: value for key, value in given.items() if value is not None}
    if init_from is not None:
        values |= FROM_A_POLICY | network_of(init_from, load_game(game, num_players))
    config = make_config(values, "trick best-response", trust=True)  # the user has named the player
    name = re.sub(r"[^\w.]+", "-", player).strip("-.")
    if len(name) > LONGEST_NAME:
        name = f"{name[-LONGEST_NAME:]}-{hashlib.sha256(player.encode(errors='surrogateescape')).hexdigest()[:8]}"
    players = config.make_game().num_players
    target = folder if folder is not None else Path("runs") / f"best-response-{game}-{players}-{name}"
    keep_apart("--json", json_file, "the folder", target)
    file = target / EVALUATION
    if resume and (target / "config.yaml").is_file():
        config = _same_table(target, config, runs_code(player))
    found = read_evaluation(target, config).get("deviators") if resume and file.is_file() else None
    searched = found is not None and found["deals"] == search_deals
    again = ["trick", "best-response", player, "--game", game, "--num-players", str(players), "--folder", str(target)]
    again += ["--search-deals", str(search_deals), "--resume"]
    again += ["--json", str(json_file)] if json_file is not None else []
    with _a_run(again):
        if not resume:
            run.train(config, target, out)
        elif not file.is_file() or not search_deals or searched:  # otherwise only the search is left
            run.resume(target, out, trust=runs_code(player))
        report = read_evaluation(target, config)
        if search_deals:
            try:
                report["deviators"] = _deviators(config, player, str(target / "policy.onnx"), search_deals)
            except KeyboardInterrupt:
                raise run.Interrupted("stopped; the best response is saved", again, signal.SIGINT) from None
            write_signed_json(file, report)
    if json_file is not None:
        write_json(json_file, report)


def _deviators(config: Any, player: str, policy: str, deals: int) -> dict[str, Any]:
    """Measures what searches and the trained policy win among copies of the player, and a positive control."""
    from trick_envs.engine.registry import load_game
    from trick_envs.evaluation.deviators import CONTROL, best_deviation, in_words, search_deviators

    single, searches = load_game(config.game, config.num_players, 1, **config.options), search_deviators(player)
    found = best_deviation(single, player, [policy, *searches], deals, config.seed)
    control = best_deviation(single, CONTROL, searches, deals, config.seed)
    out.print(in_words(found, control), highlight=False, soft_wrap=True)
    return {"deals": deals, "found": found.as_dict(), "control": control.as_dict()}


def report(
    run: Annotated[Path, typer.Argument(file_okay=False, help="The folder of a finished run, such as runs/pepper-5.")],
    file: Annotated[
        Path | None, output_file("--file", "The page; report.html in the folder of the run by default.")
    ] = None,
    trust: TrustOption = False,
) -> None:
    """Draw a finished run on one HTML page: strength, learning curves, its past, its best and worst deal."""
    try:
        from training.report.page import draw_report
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"trick report: {error.name} is missing: pip install 'trick_envs[report]'") from None
    target = file or run / "report.html"
    try_to_write(target)
    draw_report(run, target, trust)
    out.print(f"written: {target}", highlight=False, soft_wrap=True)


def release(
    run: Annotated[Path, typer.Argument(file_okay=False, help="The folder of a finished run, such as runs/pepper.")],
    deals: Annotated[int, typer.Option("--deals", min=2, help="Number of deals of each rung of the ladder.")] = 200,
    force: Annotated[bool, typer.Option("--force", help="Replace the policy that is there in any case.")] = False,
    workers: WorkersOption = 1,
    ray: RayOption = None,
    folder: Annotated[Path | None, output_folder("For finished deals; a folder in that of the run by default.")] = None,
) -> None:
    """Make the policy of a run the one that comes with its game, if it is better than the one that is there."""
    from training.release import finished_run
    from trick_envs.agents.pretrained import PRETRAINED, manifest_file
    from trick_envs.evaluation.duplicate import results_table

    found = finished_run(run)
    try_to_write(found.target)
    try_to_write(manifest_file(found.target))
    target = folder or run / "release"
    with resumable_arena():
        meeting = None if force else found.meeting()
        if meeting is not None:
            standings = play_schedule(meeting, target / "validation", workers, ray)
            result = standings.results[str(found.policy), PRETRAINED]
            out.print(results_table([result], standings.title))
            if result.margin <= 0:
                raise InputError(f"{found.policy} is not better than {found.target}, which stays (or use --force)")
        ladder = play_schedule(found.ladder(deals), target / "test", workers, ray)
    results = [ladder.results[str(found.policy), rung] for rung in ladder.names[1:]]
    found.release(results)
    out.print(results_table(results, ladder.title))
    out.print(f"written: {found.target}, and its manifest", highlight=False, soft_wrap=True)
