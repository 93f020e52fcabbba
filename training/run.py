"""A training run, from config to policy, from top to bottom: what ``trick train`` does.

It is what anybody would write with ``SelfPlayPPO`` and the callbacks (``examples/sb3_native_self_play.py``), from a
config and into a folder, and what belongs to a run besides: it can be stopped at any time, and goes on as if it had not
been.
"""

from __future__ import annotations

import math
import shlex
import signal
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import EntryPoint
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any, Self

from rich.console import Console
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule

import trick_envs
from training.callbacks import DuplicateEval, ExactCheckpoint, Snapshots, save_model, snapshots
from training.config import RunConfig, dump_config, load_config
from training.evaluation import EVALUATION
from training.initial import load_initial
from training.network import NetworkAgent, suit_network
from training.products import one_thread
from training.report.deals import best_and_worst
from training.report.provenance import provenance
from training.self_play import SelfPlayPPO, SelfPlayVecEnv, self_play_env
from trick_envs.agents import make_agent
from trick_envs.agents.spec import runs_code
from trick_envs.cli.progress import progress_bar
from trick_envs.discovery import load_point
from trick_envs.engine.game import Game
from trick_envs.errors import RAISED_BY, InputError, TrickEnvsError, in_a_line, shown
from trick_envs.evaluation.duplicate import Result, evaluate, make_result, margins_of, play_points, results_table
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import LOCK, locked, try_to_write, write_signed_json, write_text

CHECKPOINT, PAST = "checkpoint.zip", "past"
FILES = (CHECKPOINT, "best_model.zip", "policy.zip", "policy.onnx", EVALUATION, f"{PAST}/{LOCK}")  # that a run writes
# Keys of the config that take effect when a run goes on; all others made the model and its games.
MAY_CHANGE = {"total_samples", "evaluate_every", "checkpoint_every", "deals", "final_deals", "device", "threads"}


class RunError(TrickEnvsError, RuntimeError):
    """A run that cannot start or continue; the message says what to do."""


class Interrupted(RuntimeError):
    """A run that a signal has stopped; the message says whether it was saved, and how to resume it.

    Attributes:
        told: whether it was saved.
        command: that resumes it.
        signal: its number.
    """

    def __init__(self, told: str, command: Sequence[str], number: int) -> None:
        super().__init__(f"{told}; resume with:\n  {shlex.join(command)}")
        self.told, self.command, self.signal = told, command, number


def train(config: RunConfig, folder: Path, console: Console, callbacks: Sequence[BaseCallback] = ()) -> list[Result]:
    """Trains from the start in a new folder.

    Args:
        config: of the run.
        folder: for its files; it must not contain a run already.
        console: where progress and results are shown.
        callbacks: besides those of every run.

    Returns:
        the final evaluation, one result per opponent.

    Raises:
        RunError: if the folder contains a run, or the initial weights are missing or do not fit.
        FolderInUseError: if another process trains in the folder.
        Interrupted: on Ctrl-C and SIGTERM, after saving.
    """
    _is_free(folder)
    model = new_model(config, games_of(config), folder)
    with locked(folder):
        _is_free(folder)  # another process may have begun one meanwhile
        _try_files(folder)
        write_text(folder / "config.yaml", dump_config(config))
        try:
            return _run(config, folder, console, model, _evaluation(config, folder, console), callbacks)
        except (Exception, SystemExit) as error:
            if not isinstance(error, Interrupted) and model.num_timesteps == 0:  # a callback that is refused, say
                (folder / "config.yaml").unlink(missing_ok=True)
            raise


def _is_free(folder: Path) -> None:
    if (folder / "config.yaml").exists():
        raise RunError(f"{folder} holds a run already: continue it with --resume, or choose another --folder")


def _try_files(folder: Path) -> None:
    """A folder in the place of a file, say, is told before a run learns anything, not when it saves."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise RunError(f"{folder}: expected a folder whose name is UTF-8, which TensorBoard needs") from None
    for name in FILES:
        try_to_write(folder / name)


def resume(folder: Path, console: Console, callbacks: Sequence[BaseCallback] = (), trust: bool = False) -> list[Result]:
    """Continues the run in a folder from its last checkpoint.

    Args:
        folder: of the run.
        console: where progress and results are shown.
        callbacks: besides those of every run; they begin anew.
        trust: whether its players may be programs or Python functions.

    Raises:
        RunError: if there is no run, it is finished, or its config says something else than when it began.
        FolderInUseError: if another process trains in the folder.
        Interrupted: on Ctrl-C and SIGTERM, after saving.
    """
    if not (folder / "config.yaml").is_file():
        raise RunError(f"{folder} holds no run to resume (there is no config.yaml in it)")
    with locked(folder):
        if (folder / EVALUATION).exists():
            raise RunError(f"the run in {folder} is finished: its policy is {folder / 'policy.onnx'}")
        _try_files(folder)
        config = load_config(folder / "config.yaml", trust=trust)
        evaluation, games = _evaluation(config, folder, console), games_of(config)
        if (folder / CHECKPOINT).is_file():
            past_players(folder)  # what is damaged is said before the run goes on
            model = ExactCheckpoint.load(folder / CHECKPOINT, games, [evaluation], config.device)
            _check_unchanged(config, model, folder)
            model.threads = config.threads
        else:
            model = new_model(config, games, folder)
        return _run(config, folder, console, model, evaluation, callbacks)


def _check_unchanged(config: RunConfig, model: SelfPlayPPO, folder: Path) -> None:
    """A config that was edited since is told: the model stays as it was made, whatever the config says."""
    now, before = config.model_dump(), model.made_with or {}
    changed = [key for key in now if key not in MAY_CHANGE and now[key] != before.get(key, now[key])]
    if changed:
        told = " and ".join(f"{key} was {shown(before[key])} and is {shown(now[key])}" for key in changed)
        raise RunError(
            f"{folder / 'config.yaml'} has changed since the run began: {told}; a run that goes on may only have other "
            f"{', '.join(sorted(MAY_CHANGE))}"
        )


def games_of(config: RunConfig) -> SelfPlayVecEnv:
    """The games of a run."""
    return self_play_env(
        config.game, config.n_envs, config.num_players, config.seed, num_deals=config.num_deals, reward=config.reward,
        opponent=config.opponent, **config.options,
    )  # fmt: skip


def new_model(config: RunConfig, games: SelfPlayVecEnv, folder: Path | None = None) -> SelfPlayPPO:
    """The model with which a run begins; it logs into the folder.

    Raises:
        RunError: if the initial weights are missing or do not fit.
    """
    model = SelfPlayPPO(
        "SuitPolicy",
        games,
        learning_rate=LinearSchedule(config.learning_rate, config.final_learning_rate, 1.0),
        n_steps=config.n_steps,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        gamma=config.gamma,
        ent_coef=LinearSchedule(config.ent_coef, config.final_ent_coef, 1.0),
        tensorboard_log=None if folder is None else str(folder / "tensorboard"),
        policy_kwargs=suit_network(games, config.width, config.depth),
        seed=config.seed,
        device=config.device,
    )
    model.threads, model.update_fraction = config.threads, config.update_fraction
    model.made_with = config.model_dump()
    if config.init_from is not None:
        try:
            load_initial(model, config.init_from, config.make_game())
        except ValueError as error:
            raise RunError(str(error)) from None
    return model


def _evaluation(config: RunConfig, folder: Path, console: Console) -> DuplicateEval:
    verbose = 0 if console.quiet else 1
    return DuplicateEval(config.measured_against, config.evaluate_every, config.deals, config.seed, folder, verbose)


def _run(
    config: RunConfig,
    folder: Path,
    console: Console,
    model: SelfPlayPPO,
    evaluation: DuplicateEval,
    callbacks: Sequence[BaseCallback],
) -> list[Result]:
    game = config.make_game()
    opponent = "" if config.opponent is None else f" against {config.opponent}"
    samples = f"{config.total_samples:,} samples"
    console.print(f"{game.title}, {game.num_players} players{opponent}: {samples} into {folder}", soft_wrap=True)
    checkpoint = ExactCheckpoint(folder / CHECKPOINT, config.checkpoint_every, [evaluation])
    checkpoint.init_callback(model)
    with StopBySignal() as stop:
        evaluation.on_progress = stop.check
        try:
            left = config.total_samples - model.num_timesteps
            if left > 0:
                model.learn(
                    left,
                    callback=[stop, evaluation, Snapshots(folder / PAST), checkpoint, *callbacks],
                    reset_num_timesteps=model.num_timesteps == 0,
                    progress_bar=console.is_terminal and not console.quiet,
                )
            with one_thread():
                results = _finish(config, game, folder, model, evaluation, console, stop)
        except KeyboardInterrupt:
            told = _save(model, checkpoint, folder)
            raise Interrupted(told, _to_go_on(config, folder), stop.received or signal.SIGINT) from None
        except (Exception, SystemExit) as error:
            with suppress(OSError, MemoryError):  # which may be what has stopped it
                told = _save(model, checkpoint, folder)
                if isinstance(error, BrokenPipeError):
                    again = shlex.join(_to_go_on(config, folder))
                    raise RunError(f"nobody reads what it prints any more; {told}; resume with: {again}") from None
            passed = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
            for each in callbacks:
                if any(one is each for one in passed):
                    error.add_note(f"{RAISED_BY}callback {type(each).__module__}:{type(each).__qualname__}")
            raise
    console.print(results_table(results, f"{game.title}, {game.num_players} players: {folder}"))
    if config.opponent is not None:
        console.print(verdict(results[0]), highlight=False, markup=False, soft_wrap=True)
    return results


def _save(model: SelfPlayPPO, checkpoint: ExactCheckpoint, folder: Path) -> str:
    """Saves a run that has stopped, if it can go on from there; says from where it can."""
    if model.between_updates and model.num_timesteps > 0:
        checkpoint.save()
        return "stopped and saved"
    if (folder / CHECKPOINT).is_file():
        return "stopped, and goes on from its last checkpoint"
    return "stopped before anything was saved, and begins again"


def _to_go_on(config: RunConfig, folder: Path) -> list[str]:
    """The command that resumes a run."""
    trust = ["--trust"] if any(runs_code(spec) for spec in config.measured_against) else []
    return ["trick", "train", "--resume", "--folder", str(folder), *trust]


def _finish(
    config: RunConfig,
    game: Game,
    folder: Path,
    model: SelfPlayPPO,
    evaluation: DuplicateEval,
    console: Console,
    stop: StopBySignal,
) -> list[Result]:
    """The files of a finished run: policy.zip, policy.onnx, evaluation.json."""
    save_model(model, folder / "policy.zip")
    network = {"width": config.width, "depth": config.depth}
    about = {"seed": config.seed, "samples": model.num_timesteps, "trick_envs": trick_envs.__version__}
    trick_envs.export_policy(model.policy, game, folder / "policy.onnx", {**about, "network": network})
    stop.check()
    opponents, results, points = config.measured_against, [], []
    players = [*past_players(folder, model.num_timesteps), NetworkAgent(model.policy, f"{model.num_timesteps:,}")]
    with progress_bar(console) as bar:
        total = config.final_deals * len(opponents) + config.deals * math.comb(len(players), 2)
        task = bar.add_task("evaluation", total=total, note="")

        def on_progress(deals: int) -> None:
            bar.advance(task, deals)
            stop.check()

        for spec in opponents:
            pair = make_agent(str(folder / "policy.onnx"), game), make_agent(spec, game)
            points.append(play_points(game, pair, Purpose.FINAL, config.seed, 0, config.final_deals, on_progress))
            results.append(make_result(pair[0].name, pair[1].name, margins_of(game, points[-1])))
        cross = [
            evaluate(game, later, earlier, config.deals, config.seed, Purpose.FINAL, on_progress)
            for earlier, later in combinations(players, 2)
        ]
    strongest = min(range(len(opponents)), key=lambda number: results[number].margin)
    found = {
        "game": game.name,
        "num_players": game.num_players,
        "opponent": config.opponent,
        "samples": model.num_timesteps,
        "seconds": round(evaluation.seconds, 1),
        "results": [result.as_dict() for result in results],
        "report": {  # what trick report shows besides
            "evaluations": evaluation.evaluations,
            "past": [player.name for player in players],
            "cross": [result.as_dict() for result in cross],
            "weights": sum(weight.numel() for weight in model.policy.parameters()),
            "strongest": opponents[strongest],
            "best_and_worst": [asdict(each) for each in best_and_worst(game, points[strongest])],
            "provenance": {**provenance(), "device": str(model.device)},
        },
    }
    write_signed_json(folder / EVALUATION, found)  # the last one: a run that has it is finished
    return results


def past_players(folder: Path, samples: float = math.inf) -> list[NetworkAgent]:
    """The policies that a run has kept on its way to so many samples, named by how many they had learned from.

    Raises:
        RunError: if the file of one is damaged; without it, the run can go on.
    """
    found = []
    for number in snapshots(folder / PAST):
        if number < samples:
            path = folder / PAST / f"{number}.zip"
            try:
                policy = SelfPlayPPO.load(path, device="cpu").policy
            except Exception:  # a damaged zip, or what it holds, has many errors
                raise RunError(f"{path} is damaged: delete it, and the run goes on without it") from None
            found.append(NetworkAgent(policy, f"{number:,}"))
    return found


def verdict(best_response: Result) -> str:
    """What the evaluation of a best response says about the player that it was trained against."""
    margin, half_width, player = best_response.margin_as_one, best_response.half_width_as_one, best_response.opponent
    deals = f"{best_response.deals} deals"
    found = f"margin of the best response over {player}: {margin:+.2f} ± {half_width:.2f} points per deal ({deals}): "
    if margin > half_width:
        return found + f"{player} is exploitable by at least that margin"
    return found + f"no way to exploit {player} was found, which does not prove that there is none"


def load_callback(named: str) -> BaseCallback:
    """A user's callback.

    Args:
        named: ``package.module:Class``; the class, or a function that returns a callback, is called without arguments.

    Raises:
        ValueError: if there is none.
    """
    made: Any = load_point(EntryPoint(name="--callback", value=named, group=""))
    try:
        found = made() if callable(made) else made
    except Exception as error:  # code of others
        raise InputError(f"--callback {named}: {in_a_line(error)}") from error
    if not isinstance(found, BaseCallback):
        raise InputError(f"--callback {named}: expected a BaseCallback of Stable-Baselines3, not {shown(found)}")
    return found


class StopBySignal(BaseCallback):
    """Ctrl-C and SIGTERM (clusters, ``docker stop``) end a run where it can be saved: between two updates, two deals.

    Native code is never interrupted. The second signal has its usual effect at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there can signals be handled
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        self.__exit__()

    def check(self, deals: int = 0) -> None:
        """Raises ``KeyboardInterrupt`` if there was a signal."""
        if self.received is not None:
            raise KeyboardInterrupt

    def _on_rollout_start(self) -> None:
        self.check()

    def _on_step(self) -> bool:
        return True
