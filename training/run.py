"""A training run, from config to policy, from top to bottom."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import trick_envs
from training.config import RunConfig, dump_config, load_config
from training.networks.initial import load_initial
from training.networks.policy import NetworkAgent, save_model, weights_of
from training.ppo.algorithm import SelfPlayPPO
from training.ppo.best_response import verdict
from training.report.deals import Shown, best_and_worst, replayed
from training.report.page import Finished, write_report
from training.report.snapshots import cross_table, past_players
from training.report.tracker import CHECKPOINT, Monitor, load_progress
from training.seeds import stream_seed
from training.stages import stages_of
from trick_envs.agents import make_agent
from trick_envs.cli.progress import progress_bar
from trick_envs.engine.game import Game
from trick_envs.errors import TrickEnvsError
from trick_envs.evaluation.duplicate import Result, make_result, margins_of, play_points, results_table
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import locked, write_json, write_text
from trick_envs.parallel.executor import TaskExecutor, make_executor
from trick_envs.play.web.export import replay_page


class RunError(TrickEnvsError, RuntimeError):
    """A run that cannot start or continue; the message says what to do."""


class Interrupted(RuntimeError):
    """A run that the user has stopped, after saving; the message says how to resume it."""


def train(config: RunConfig, folder: Path, console: Console, ray: str | None = None) -> list[Result]:
    """Trains from the start in a new folder.

    Args:
        config: of the run.
        folder: for its files; it must not contain a run already.
        console: where progress and results are shown.
        ray: where the workers are, with Ray (``make_executor``).

    Returns:
        the final evaluation, one result per opponent.

    Raises:
        RunError: if the folder contains a run, or the initial weights are missing or do not fit.
        FolderInUseError: if another process trains in the folder.
        Interrupted: on Ctrl-C, after saving.
    """
    _is_free(folder)
    with make_executor(config.workers, ray) as executor:
        workers = 1 if ray is None else executor.in_flight // 2
        stages = [stage.with_rollout_workers(workers) for stage in config.stages]  # the weights depend on them
        config = config.model_copy(update={"stages": stages})
        model = first_model(config)
        with locked(folder):
            _is_free(folder)  # another process may have begun one meanwhile
            write_text(folder / "config.yaml", dump_config(config))
            return _run(config, folder, console, model, executor, ray)


def _is_free(folder: Path) -> None:
    if (folder / "config.yaml").exists():
        raise RunError(f"{folder} holds a run already: continue it with --resume, or choose another --folder")


def resume(folder: Path, console: Console, ray: str | None = None) -> list[Result]:
    """Continues the run in a folder from its last checkpoint.

    Args:
        folder: of the run.
        console: where progress and results are shown.
        ray: where the workers are, with Ray; they need not be where they were before.

    Raises:
        RunError: if there is no run, or it is finished.
        FolderInUseError: if another process trains in the folder.
        Interrupted: on Ctrl-C, after saving.
    """
    if not (folder / "config.yaml").is_file():
        raise RunError(f"{folder} holds no run to resume (there is no config.yaml in it)")
    with locked(folder):
        if (folder / "evaluation.json").exists():
            raise RunError(f"the run in {folder} is finished: its policy is {folder / 'policy.onnx'}")
        config = load_config(folder / "config.yaml")
        model = _saved_model(config, folder)
        with make_executor(config.workers, ray) as executor:
            return _run(config, folder, console, model, executor, ray)


def _saved_model(config: RunConfig, folder: Path) -> SelfPlayPPO:
    """The model of the last checkpoint, or the first one if there is none."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.is_file():
        return first_model(config)
    progress = load_progress(folder)
    model = stages_of(config)[progress["stage"]].load_model(checkpoint, progress["samples"])
    model.set_random_seed(stream_seed(config.seed, progress["samples"]))
    model.num_timesteps = progress["done"]  # of this stage, even if the run was stopped between two
    return model


def first_model(config: RunConfig) -> SelfPlayPPO:
    """The model with which a run begins.

    Raises:
        RunError: if the initial weights are missing or do not fit.
    """
    model = stages_of(config)[0].new_model(0)
    if config.init_from is not None:
        try:
            load_initial(model, config.init_from, config.make_game())
        except ValueError as error:
            raise RunError(str(error)) from None
    return model


def _run(
    config: RunConfig, folder: Path, console: Console, model: SelfPlayPPO, executor: TaskExecutor, ray: str | None
) -> list[Result]:
    game = config.make_game()
    budget = ", then ".join(f"{stage.total:,} {stage.unit}" for stage in config.stages)
    opponent = "" if config.opponent is None else f" against {config.opponent}"
    console.print(f"{game.title}, {game.num_players} players{opponent}: {budget} into {folder}")
    with progress_bar(console) as bar:
        monitor = Monitor(config, game, folder, bar)
        try:
            stages = stages_of(config)
            for number in range(monitor.stage, len(stages)):
                if number > monitor.stage:
                    weights = model.policy.state_dict()
                    model = stages[number].new_model(monitor.samples)
                    model.policy.load_state_dict(weights)
                monitor.begin_stage(number, model)
                stages[number].train(model, monitor, folder, executor)
                monitor.end_stage(model)
            results = _finish(config, game, folder, model, monitor, bar, executor)
        except KeyboardInterrupt:
            monitor.stop(model)
            again = f"trick train --resume --folder {folder}" + ("" if ray is None else f" --ray {ray}")
            raise Interrupted(f"stopped and saved; resume with:\n  {again}") from None
    console.print(results_table(results, f"{game.title}, {game.num_players} players: {folder}"))
    if config.opponent is not None:
        console.print(verdict(results[0]), highlight=False, markup=False, soft_wrap=True)
    return results


def _finish(
    config: RunConfig,
    game: Game,
    folder: Path,
    model: SelfPlayPPO,
    monitor: Monitor,
    bar: Progress,
    executor: TaskExecutor,
) -> list[Result]:
    """The files of a finished run: policy.zip, policy.onnx, report.html, evaluation.json."""
    save_model(model, folder / "policy.zip")
    run = {
        "seed": config.seed,
        "samples": monitor.samples,
        "trick_envs": trick_envs.__version__,
        "network": config.network.model_dump(),
    }
    trick_envs.export_policy(model.policy, game, folder / "policy.onnx", run)
    deals, opponents = config.evaluation.final_deals, config.opponents
    task = bar.add_task("evaluation", total=deals * len(opponents), note="")
    results, played = [], []
    for spec in opponents:
        pair = make_agent(str(folder / "policy.onnx"), game), make_agent(spec, game)
        points = play_points(game, pair, Purpose.FINAL, config.seed, 0, deals, partial(bar.advance, task))
        results.append(make_result(pair[0].name, pair[1].name, margins_of(game, points)))
        played.append((pair, points))
    pair, points = played[min(range(len(played)), key=lambda number: results[number].margin)]  # the strongest opponent
    differences = best_and_worst(game, points)
    pages = [  # other processes draw them meanwhile
        executor.submit(replay_page, replayed(game, each, pair, Purpose.FINAL, config.seed), None, False)
        for each in differences
    ]
    weights = weights_of(model.policy)
    last = NetworkAgent.with_weights(game, config.network, weights, f"{monitor.samples:,}")
    players = [*past_players(config, game, folder, monitor.history), last]
    task = bar.add_task("cross table", total=config.evaluation.deals * math.comb(len(players), 2), note="")
    cross = cross_table(config, game, players, partial(bar.advance, task))
    evaluation = {
        "game": game.name,
        "num_players": game.num_players,
        "opponent": config.opponent,
        "samples": monitor.samples,
        "seconds": round(monitor.seconds, 1),
        "results": [result.as_dict() for result in results],
    }
    names, size = [player.name for player in players], sum(array.size for array in weights.values())
    shown = [Shown(each, pair[1].name, page.result()) for each, page in zip(differences, pages, strict=True)]
    finished = Finished(folder.resolve().name, config, game, monitor.curve, evaluation, names, cross, size, shown)
    write_report(folder / "report.html", finished)
    write_json(folder / "evaluation.json", evaluation)  # the last one: a run that has it is finished
    return results
