"""Policies that a run keeps on its way, and how they compare with the one at its end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from training.config import RunConfig
from training.networks.policy import NetworkAgent, weights_of
from trick_envs.engine.game import Game
from trick_envs.evaluation.duplicate import Result, evaluate
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import replacing

MARKS = (25, 50, 75)  # per cent of a run: the policies of the first evaluations after them are kept


def next_mark(history: list[dict[str, Any]], part: float) -> int | None:
    """The mark that an evaluation reaches, if it is the first one.

    Args:
        history: the evaluations before, those whose policies are kept with their mark as ``kept``.
        part: how much of the run is done, in per cent.
    """
    before = max((entry.get("kept", 0) for entry in history), default=0)
    mark = max((mark for mark in MARKS if mark <= part < 100), default=0)
    return mark if mark > before else None


def keep_policy(policy: Any, folder: Path, mark: int) -> None:
    """Keeps a policy's weights in the folder of the run."""
    path = _file(folder, mark)
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **weights_of(policy))


def past_players(config: RunConfig, game: Game, folder: Path, history: list[dict[str, Any]]) -> list[NetworkAgent]:
    """The policies that are kept in the folder of a run, named by how many samples they had learned from."""
    found = []
    for entry in history:
        if "kept" in entry:
            with np.load(_file(folder, entry["kept"])) as file:
                weights = {name: file[name] for name in file.files}
            found.append(NetworkAgent.with_weights(game, config.network, weights, f"{entry['samples']:,}"))
    return found


def cross_table(
    config: RunConfig, game: Game, players: list[NetworkAgent], on_progress: Callable[[int], None]
) -> list[Result]:
    """Every policy against every earlier one, on deals of ``Purpose.FINAL``."""
    deals, seed = config.evaluation.deals, config.seed
    return [
        evaluate(game, later, earlier, deals, seed, Purpose.FINAL, on_progress)
        for earlier, later in combinations(players, 2)
    ]


def _file(folder: Path, mark: int) -> Path:
    return folder / "past" / f"{mark}.npz"
