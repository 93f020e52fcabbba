"""A training run, from config to policy, from top to bottom."""

from __future__ import annotations

import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch starts its threads

import torch
from rich.console import Console
from rich.progress import Progress
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule

import trick_envs
from training.best_response import BestResponseVecEnv, verdict
from training.config import RunConfig, dump_config, load_config
from training.evaluation import Result, evaluate, results_table
from training.files import write_json, write_text
from training.network import NetworkAgent, SelfPlayPolicy, export_policy, matrix_precision, network_kwargs, save_model
from training.plots import learning_curve
from training.progress import progress_bar
from training.seeds import SEEDS_PER_RUN, Purpose, match_seeds, player_seeds
from training.selfplay import SelfPlayBuffer, SelfPlayVecEnv
from trick_envs.agents import make_agent
from trick_envs.engine.game import Game
from trick_envs.interfaces.batch import BatchEnv

CHECKPOINT, PROGRESS = "checkpoint.zip", "progress.json"


class RunError(RuntimeError):
    """A run that cannot start or continue; the message says what to do."""


class Interrupted(RuntimeError):
    """A run that the user has stopped, after saving; the message says how to resume it."""


def train(config: RunConfig, folder: Path, console: Console) -> list[Result]:
    """Trains from the start in a new folder.

    Args:
        config: of the run.
        folder: for its files; it must not contain a run already.
        console: where progress and results are shown.

    Returns:
        the final evaluation, one result per opponent.

    Raises:
        RunError: if the folder contains a run, or the initial weights are missing or do not fit.
        Interrupted: on Ctrl-C, after saving.
    """
    if (folder / "config.yaml").exists():
        raise RunError(f"{folder} holds a run already: continue it with --resume, or choose another --folder")
    model = new_model(config)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.yaml", dump_config(config))
    return _run(config, folder, console, model)


def resume(folder: Path, console: Console) -> list[Result]:
    """Continues the run in a folder from its last checkpoint.

    Raises:
        RunError: if there is no run, or it is finished.
        Interrupted: on Ctrl-C, after saving.
    """
    if not (folder / "config.yaml").is_file():
        raise RunError(f"{folder} holds no run to resume (there is no config.yaml in it)")
    if (folder / "evaluation.json").exists():
        raise RunError(f"the run in {folder} is finished: its policy is {folder / 'policy.onnx'}")
    config = load_config(folder / "config.yaml")
    checkpoint = folder / CHECKPOINT
    if not checkpoint.is_file():
        return _run(config, folder, console, new_model(config))
    done = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))["samples"]
    env = _games(config, done)
    model = MaskablePPO.load(checkpoint, env=env, device=config.device)
    model.set_random_seed(config.seed + done)
    return _run(config, folder, console, model)


def _games(config: RunConfig, samples: int) -> SelfPlayVecEnv:
    """The games as training begins, or continues after a number of samples: then with other matches."""
    ppo = config.ppo
    games = BatchEnv(config.game, ppo.n_envs, config.num_players, config.num_deals, config.reward, **config.options)
    first = samples // ppo.n_steps % (SEEDS_PER_RUN - ppo.n_envs)
    seed = int(match_seeds(Purpose.TRAINING, config.seed, first, ppo.n_envs)[0])
    if config.against is None:
        return SelfPlayVecEnv(games, seed)
    _, player_seed = player_seeds(Purpose.TRAINING, config.seed)
    return BestResponseVecEnv(games, seed, make_agent(config.against, games.game, player_seed))


def new_model(config: RunConfig) -> MaskablePPO:
    """An untrained model, with its games.

    Raises:
        RunError: if the initial weights are missing or do not fit.
    """
    torch.set_num_threads(config.threads)  # initial weights depend on it, because torch's QR decomposition does
    ppo = config.ppo
    env = _games(config, 0)
    model = MaskablePPO(
        SelfPlayPolicy,
        env,
        learning_rate=LinearSchedule(ppo.learning_rate, ppo.final_learning_rate, 1.0),
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        rollout_buffer_class=SelfPlayBuffer,
        policy_kwargs=network_kwargs(env.games.game, config.network),
        seed=config.seed,
        device=config.device,
    )
    if config.start is not None:
        try:
            model.set_parameters(config.start, device=config.device)
        except OSError as error:
            raise RunError(f"start: {config.start}: {error}") from None
        except (ValueError, RuntimeError):
            raise RunError(f"start: {config.start} is not a policy.zip of this game and this network") from None
    return model


def prepare(config: RunConfig, model: MaskablePPO) -> None:
    """Sets up torch and the rollout buffer, before a model learns."""
    torch.set_num_threads(config.threads)
    torch.distributions.Distribution.set_default_validate_args(False)
    model.policy.precision = matrix_precision(config.precision, model.device)
    model.rollout_buffer.attach(model.env, config.ppo.reward_scale, config.seed + model.num_timesteps)


def _run(config: RunConfig, folder: Path, console: Console, model: MaskablePPO) -> list[Result]:
    prepare(config, model)
    game = config.make_game()
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    against = "" if config.against is None else f" against {config.against}"
    console.print(f"{game.title}, {game.num_players} players{against}: {config.total_samples:,} samples into {folder}")
    with progress_bar(console) as bar:
        watcher = Watcher(config, game, folder, bar)
        watcher.init_callback(model)
        left = config.total_samples - model.num_timesteps
        try:
            if left > 0:
                model.learn(left, callback=watcher, reset_num_timesteps=False, tb_log_name="")
            watcher.save()
            results = _finish(config, game, folder, model, watcher, bar)
        except KeyboardInterrupt:
            watcher.save()
            raise Interrupted(
                f"stopped after {model.num_timesteps:,} samples and saved; resume with:\n"
                f"  trick train --resume --folder {folder}"
            ) from None
    console.print(results_table(results, f"{game.title}, {game.num_players} players: {folder}"))
    if config.against is not None:
        console.print(verdict(results[0]), highlight=False, markup=False, soft_wrap=True)
    return results


def _finish(
    config: RunConfig, game: Game, folder: Path, model: MaskablePPO, watcher: Watcher, bar: Progress
) -> list[Result]:
    """The files of a finished run: policy.zip, policy.onnx, evaluation.json, learning_curve.png."""
    save_model(model, folder / "policy.zip")
    run = {"seed": config.seed, "samples": model.num_timesteps, "trick_envs": trick_envs.__version__}
    export_policy(model.policy, game, folder / "policy.onnx", run)
    deals, opponents = config.evaluation.final_deals, config.opponents
    task = bar.add_task("evaluation", total=deals * len(opponents), note="")
    results = []
    for spec in opponents:
        player, opponent = make_agent(str(folder / "policy.onnx"), game), make_agent(spec, game)
        advance = partial(bar.advance, task)
        results.append(evaluate(game, player, opponent, deals, config.seed, Purpose.FINAL, advance))
    learning_curve(watcher.history, folder / "learning_curve.png", f"{game.title}, {game.num_players} players")
    write_json(
        folder / "evaluation.json",
        {
            "game": game.name,
            "num_players": game.num_players,
            "against": config.against,
            "samples": model.num_timesteps,
            "seconds": round(watcher.seconds, 1),
            "results": [result.as_dict() for result in results],
        },
    )
    return results


class Watcher(BaseCallback):
    """Shows progress, evaluates the policy at intervals, and writes checkpoints."""

    def __init__(self, config: RunConfig, game: Game, folder: Path, bar: Progress) -> None:
        super().__init__()
        self._config, self._game, self._folder, self._bar = config, game, folder, bar
        self._task = bar.add_task("training", total=config.total_samples, note="")
        progress = folder / PROGRESS
        loaded = json.loads(progress.read_text(encoding="utf-8")) if progress.is_file() else {}
        self.history: list[dict[str, Any]] = loaded.get("history", [])
        self._seconds_before = loaded.get("seconds", 0.0)
        self._started = time.monotonic()
        self._saved_at = loaded.get("samples", 0)

    @property
    def seconds(self) -> float:
        """The duration of the run so far, also before interruptions."""
        return self._seconds_before + time.monotonic() - self._started

    def _on_step(self) -> bool:
        self._bar.update(self._task, completed=min(self.num_timesteps, self._config.total_samples))
        return True

    def _on_rollout_start(self) -> None:
        """Called between two updates, when the model can be saved."""
        if self._due(self._config.evaluation.every_samples, self.history[-1]["samples"] if self.history else 0):
            self._evaluate()
        if self._due(self._config.checkpoint_every_samples, self._saved_at):
            self.save()

    def _due(self, every: int, last: int) -> bool:
        return self.num_timesteps // every > last // every

    def _evaluate(self) -> None:
        assert self.model is not None
        agent = NetworkAgent(self.model.policy)
        entry: dict[str, Any] = {"samples": self.num_timesteps, "seconds": round(self.seconds, 1), "results": []}
        for spec in self._config.opponents:
            opponent = make_agent(spec, self._game)
            deals, seed = self._config.evaluation.deals, self._config.seed
            result = evaluate(self._game, agent, opponent, deals, seed, Purpose.MONITORING)
            entry["results"].append(result.as_dict())
            self.logger.record(f"evaluation/margin_over_{spec}", result.margin)
        self.history.append(entry)
        note = "  ".join(f"{one['opponent']} {one['margin']:+.2f}±{one['half_width']:.2f}" for one in entry["results"])
        self._bar.update(self._task, note=f"over {note}")

    def save(self) -> None:
        """Writes a checkpoint: the model, and all evaluations so far."""
        assert self.model is not None
        save_model(self.model, self._folder / CHECKPOINT)
        progress = {"samples": self.num_timesteps, "seconds": round(self.seconds, 1), "history": self.history}
        write_json(self._folder / PROGRESS, progress)
        self._saved_at = self.num_timesteps
