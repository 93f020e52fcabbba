"""Callbacks for ``SelfPlayPPO.learn``: margins on duplicate deals, exact checkpoints, models kept on the way.

All of them work between two updates, at the begin of a rollout, and cost nothing during it.
"""

from __future__ import annotations

import json
import math
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback

from training.network import NetworkAgent, game_of
from training.self_play import SelfPlayPPO
from trick_envs.agents import Agent, make_agent
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.game import Game
from trick_envs.errors import (
    InputError,
    TrickEnvsError,
    checked_list,
    checked_path,
    in_a_line,
    optional_path,
    printable,
    shown,
)
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, check_run_seed
from trick_envs.files import replacing

STANDING, CALLBACKS = "standing.npz", "callbacks.json"  # in a checkpoint, besides what SB3 saves


class _BetweenUpdates(BaseCallback):
    """Does something whenever so many samples more have been learned from."""

    def __init__(self, every: int, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.every, self._before = whole_number(every, 1, math.inf, "every", "a number of samples"), 0

    def _on_training_start(self) -> None:
        self._before = self.model.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _is_due(self) -> bool:
        now, before = self.model.num_timesteps, self._before
        self._before = now
        return now // self.every > before // self.every


class DuplicateEval(_BetweenUpdates):
    """Measures the policy's best actions against other players, on duplicate deals that nothing else uses.

    Before the first sample, every so many samples, and at the end. TensorBoard gets ``evaluation/margin_over_NAME`` and
    the half width of its 95 % interval, in points per deal.

    Args:
        opponents: specs of players, or agents.
        every: samples between two evaluations.
        deals: for each opponent.
        seed: of the deals and of the players' random choices.
        best_model_save_path: folder for ``best_model.zip``, the model whose margins were best, on average over the
            opponents; ``None``: the folder of the TensorBoard log, if there is one.
        verbose: 1 prints the margins.

    Attributes:
        evaluations: of each, in chronological order: ``samples``, ``seconds`` since training began, ``results`` (as
            ``Result.as_dict`` gives them) and ``figures``, what was logged of learning.
        best_margin: the best one so far.
        on_progress: called with the number of deals just played; it may raise an exception.

    Raises:
        ValueError: for arguments that are not allowed; names of players are checked when training begins.
    """

    def __init__(
        self,
        opponents: Sequence[str | Agent],
        every: int,
        deals: int = 100,
        seed: int = 0,
        best_model_save_path: str | Path | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(every, verbose)
        if isinstance(opponents, (str, bytes)) or not isinstance(opponents, Sequence) or not opponents:
            raise InputError(f"opponents: expected a list of players, such as ['greedy'], not {shown(opponents)}")
        self._path = optional_path(best_model_save_path, "best_model_save_path")
        self._opponents = list(opponents)
        self._deals = whole_number(deals, 1, SEEDS_PER_RUN, "deals")
        self._seed = check_run_seed(seed)
        self.on_progress: Callable[[int], None] | None = None
        self._forget()

    def _forget(self) -> None:
        self.evaluations: list[dict[str, Any]] = []
        self.best_margin, self._seconds, self._begun = -math.inf, 0.0, time.monotonic()

    def _init_callback(self) -> None:
        self._game = self._learned_game()
        self._agents = [make_agent(one, self._game) if isinstance(one, str) else one for one in self._opponents]

    def _learned_game(self) -> Game:
        """What is played, if the policy sees it as players do."""
        normalize, policy, game = self.model.get_vec_normalize_env(), self.model.policy, game_of(self.training_env)
        if game is not None and isinstance(policy, MaskableActorCriticPolicy):
            as_it_is = policy.observation_space.shape == (game.layout.size,)
            if as_it_is and not (normalize and normalize.norm_obs):
                return game
        raise InputError(
            "DuplicateEval: expected SelfPlayPPO or MaskablePPO on the position as the games give it: not normalised "
            "(VecNormalize(games, norm_obs=False)), stacked, in a dict or with history"
        )

    def _on_training_start(self) -> None:
        super()._on_training_start()
        if self.model.num_timesteps == 0:
            self._forget()
        self._seconds, self._begun = self.seconds if self._seconds == 0.0 else self._seconds, time.monotonic()
        if not self.evaluations:
            self.evaluate()

    def _on_rollout_start(self) -> None:
        self._before = self.evaluations[-1]["samples"]  # also if training was stopped when it was due
        if self._is_due():
            self.evaluate()

    def _on_training_end(self) -> None:
        if self.evaluations[-1]["samples"] != self.model.num_timesteps:
            self.evaluate()
        self._seconds, self._begun = self.seconds, time.monotonic()

    @property
    def seconds(self) -> float:
        """For how long was trained, also before an interruption."""
        return self._seconds + time.monotonic() - self._begun

    def evaluate(self) -> None:
        """Measures the policy as it is now."""
        player = NetworkAgent(self.model.policy)
        self.model.policy.set_training_mode(False)
        results = [
            evaluate(self._game, player, agent, self._deals, self._seed, Purpose.MONITORING, self.on_progress)
            for agent in self._agents
        ]
        logged = ((name, value) for name, value in self.logger.name_to_value.items() if name.startswith("train/"))
        self.evaluations.append({
            "samples": self.model.num_timesteps,
            "seconds": round(self.seconds, 1),
            "figures": {name: float(value) for name, value in logged if math.isfinite(value)},
            "results": [result.as_dict() for result in results],
        })  # fmt: skip
        names = [printable(result.opponent) for result in results]  # UTF-8, which TensorBoard and terminals want
        for name, result in zip(names, results, strict=True):
            self.logger.record(f"evaluation/margin_over_{name}", result.margin)
            self.logger.record(f"evaluation/half_width_over_{name}", result.half_width)
        self.logger.record("time/total_timesteps", self.model.num_timesteps, exclude="tensorboard")
        self.logger.dump(self.model.num_timesteps)
        if self.verbose >= 1:
            found = zip(names, results, strict=True)
            over = ", ".join(f"over {name} {one.margin:+.2f} ± {one.half_width:.2f}" for name, one in found)
            print(f"{self.model.num_timesteps:,} samples: {over}", flush=True)
        margin = float(np.mean([result.margin for result in results]))
        if margin > self.best_margin:
            self.best_margin, folder = margin, self._path or self.logger.get_dir()
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
                save_model(self.model, Path(folder) / "best_model.zip")

    def state(self) -> dict[str, Any]:
        """For ``continue_from``."""
        return {"evaluations": self.evaluations, "seconds": self.seconds, "best_margin": self.best_margin}

    def continue_from(self, state: dict[str, Any]) -> None:
        """Goes on with what another one said in ``state``."""
        self.evaluations, self._seconds, self.best_margin = state["evaluations"], state["seconds"], state["best_margin"]


class Snapshots(BaseCallback):
    """Keeps the model on the way, to compare it with itself: ``FOLDER/SAMPLES.zip``.

    Args:
        folder: for the files.
        parts: of ``total_timesteps``, 0 … 1: when.
    """

    def __init__(self, folder: str | Path, parts: Sequence[float] = (0.25, 0.5, 0.75)) -> None:
        super().__init__()
        self._folder = checked_path(folder, "folder")
        self._parts = checked_list(parts, Real, "parts", wanted := "numbers of 0 to 1")
        if not all(0 <= part <= 1 for part in self._parts):
            raise InputError(f"parts: expected {wanted}, not {shown(parts)}")

    def _on_rollout_start(self) -> None:
        now, total = self.model.num_timesteps, self.model._total_timesteps
        passed = max((part * total for part in self._parts if part * total <= now), default=None)
        if passed is not None and not any(passed <= kept <= now for kept in snapshots(self._folder)):
            self._folder.mkdir(parents=True, exist_ok=True)
            save_model(self.model, self._folder / f"{now}.zip")

    def _on_step(self) -> bool:
        return True


def snapshots(folder: Path) -> list[int]:
    """Of which numbers of samples there are snapshots, ascending."""
    return sorted(int(path.stem) for path in folder.glob("*.zip") if path.stem.isdecimal() and path.is_file())


class ExactCheckpoint(_BetweenUpdates):
    """Saves everything from which training goes on as if it had never stopped: the same bits.

    That is the model with its optimizer, where every game stands, the decisions that wait for a successor, the states
    of all random generators, and what the callbacks know. ``load`` goes on from there::

        model = ExactCheckpoint.load("checkpoint.zip", self_play_env("pepper", 512, 5))
        model.learn(20_000_000 - model.num_timesteps, reset_num_timesteps=False)

    Args:
        path: the file, which is replaced; ``SelfPlayPPO.load`` and ``MaskablePPO.load`` read it, too.
        every: samples between two checkpoints; there is one at the end, too.
        callbacks: whose ``state`` is kept: ``DuplicateEval``.
    """

    def __init__(self, path: str | Path, every: int, callbacks: Sequence[DuplicateEval] = ()) -> None:
        super().__init__(every)
        self._path = checked_path(path, "path")
        self._callbacks = checked_list(callbacks, DuplicateEval, "callbacks", "a list of DuplicateEval")

    def _init_callback(self) -> None:
        if not isinstance(self.model, SelfPlayPPO):
            raise InputError(
                f"ExactCheckpoint: expected SelfPlayPPO, not {type(self.model).__name__}, for which SB3 has "
                "CheckpointCallback"
            )

    def _on_rollout_start(self) -> None:
        if self._is_due():
            self.save()

    def _on_training_end(self) -> None:
        if cast(SelfPlayPPO, self.model).between_updates:  # another callback may have stopped in the middle
            self.save()

    def save(self) -> None:
        """Saves now, which is possible between two updates alone."""
        model = cast(SelfPlayPPO, self.model)
        standing, states = model.standing(), [callback.state() for callback in self._callbacks]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._path) as temporary:
            with temporary.open("wb") as file:
                model.save(file)
            with zipfile.ZipFile(temporary, "a") as archive:
                with archive.open(STANDING, "w") as entry:
                    np.savez(entry, allow_pickle=False, **cast(Any, standing))
                archive.writestr(CALLBACKS, json.dumps(states))

    @staticmethod
    def load(path: str | Path, env: Any, callbacks: Sequence[DuplicateEval] = (), device: str = "auto") -> SelfPlayPPO:
        """The model of a checkpoint, where it stood.

        Args:
            path: the file. It is a pickle: load only your own.
            env: games of the same kind, as many of them.
            callbacks: in the order in which they were given when it was saved.
            device: of the model.

        Raises:
            ValueError: if the file is no exact checkpoint, or of other games.
        """
        path = checked_path(path, "path")
        told = "expected a checkpoint of ExactCheckpoint; this is another file, or it is damaged"
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise zipfile.BadZipFile
                with archive.open(STANDING) as entry:
                    found = np.load(entry, allow_pickle=False)
                    standing = {name: found[name] for name in found.files}
                states = json.loads(archive.read(CALLBACKS))
        except FileNotFoundError:
            raise
        except (zipfile.BadZipFile, zlib.error, KeyError, OSError, EOFError, ValueError, RuntimeError):
            raise InputError(f"{path}: {told}") from None  # RuntimeError: of damaged flags
        try:
            model = SelfPlayPPO.load(path, env, device)
            model.continue_from(standing)
            for callback, state in zip(callbacks, states, strict=False):
                callback.continue_from(state)
        except TrickEnvsError as error:
            raise InputError(f"{path}: {error}") from None
        except Exception as error:  # what is in the zip has many errors
            raise InputError(f"{path}: {told} ({in_a_line(error)})") from error
        return model


def save_model(model: Any, path: Path) -> None:
    """Writes a model's file, which is replaced as a whole."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        model.save(file)
