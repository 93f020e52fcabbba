"""Releases the policy of a finished run: copies it to where the spec ``pretrained`` finds it, with a manifest.

A policy for a game and a number of players replaces another one only if it is better. Deals of
``Purpose.VALIDATION`` decide this; the ladder in the manifest is measured on deals of ``Purpose.TEST``.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training.config import RunConfig, load_config
from training.evaluation import EVALUATION, read_evaluation
from training.shipped import config_names, configs_folder
from trick_envs.agents.pretrained import PRETRAINED, manifest_file, pretrained_file
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError
from trick_envs.evaluation.arena import LADDER, Plan, make_plan
from trick_envs.evaluation.duplicate import Result, each_alone
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import write_bytes, write_json

MAX_BYTES = 500_000
MEETING_DEALS = 1000  # a meeting of two policies without search is fast
SEED = 0  # of the meeting

FILES = ("config.yaml", "policy.onnx", EVALUATION)
LIBRARIES = ("trick_envs", "torch", "numpy", "python")  # that trained it, by the run's own account
NOT_COPIED = ("game", "num_players", "opponent", "results", "report")  # from evaluation.json to the manifest


@dataclass(frozen=True)
class FinishedRun:
    """A run whose policy may be released.

    Attributes:
        policy: its ONNX file.
        content: of that file.
        config: of the run.
        report: its ``evaluation.json``.
        game: what it was trained on, deal by deal.
    """

    policy: Path
    content: bytes
    config: RunConfig
    report: dict[str, Any]
    game: Game

    @property
    def target(self) -> Path:
        """Where its policy belongs."""
        return pretrained_file(self.game.type, self.game.num_players)

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the policy's file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def seed(self) -> int:
        """Of the ladder, from the digest: no version of a policy was chosen by the test deals of another."""
        return int(self.digest[:8], 16)

    def meeting(self) -> Plan | None:
        """Its policy against the one that it would replace; ``None`` if there is no other."""
        if not self.target.is_file() or self.target.read_bytes() == self.content:
            return None
        return make_plan(self.game, [str(self.policy), PRETRAINED], MEETING_DEALS, None, SEED, Purpose.VALIDATION)

    def ladder(self, deals: int) -> Plan:
        """Its policy against the ladder."""
        return make_plan(self.game, [str(self.policy), *LADDER], deals, None, self.seed, Purpose.TEST, True)

    def release(self, ladder: Sequence[Result]) -> None:
        """Writes the policy and its manifest.

        Args:
            ladder: the results of ``self.ladder``.
        """
        manifest = self._manifest(ladder)
        self.target.parent.mkdir(exist_ok=True)
        write_bytes(self.target, self.content)
        write_json(manifest_file(self.target), manifest)

    def _manifest(self, ladder: Sequence[Result]) -> dict[str, Any]:
        name, players = self.game.name, self.game.num_players
        table = ["--game", name, "--num-players", str(players)]
        measure = ["trick", "evaluate", PRETRAINED, *table, "--deals", str(ladder[0].deals), "--split", "test"]
        measure += ["--seed", str(self.seed)]
        return {
            "game": name,
            "num_players": players,
            "sha256": self.digest,
            "size": len(self.content),
            "parameters": count_parameters(self.content),
            "command": training_command(self.config),
            "config": self.config.model_dump(),
            "seeds": {"training": self.config.seed, "ladder": self.seed},
            **{key: value for key, value in self.report.items() if key not in NOT_COPIED},
            "versions": {each: self.report["report"]["provenance"].get(each, "unknown") for each in LIBRARIES},
            "ladder": {
                "command": shlex.join(measure),
                "intervals": each_alone(len(ladder)),
                "results": [replace(result, player=PRETRAINED).as_dict() for result in ladder],
            },
        }


def finished_run(folder: Path) -> FinishedRun:
    """The run in a folder.

    Raises:
        ValueError: if it is not finished, is a best response, has options that are not the game's own, or its policy is
            too large.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder} holds no finished run (there is no {' and no '.join(missing)} in it): "
            "expected the folder of a run of trick train"
        )
    config = load_config(folder / "config.yaml")
    game = load_game(config.game, config.num_players, 1, **config.options)
    if config.opponent is not None:
        raise InputError(f"{folder} holds a best response to {config.opponent}: expected a policy trained by self-play")
    if game.options != game.type.options:
        raise InputError(f"{folder} holds a run with options {game.options}: expected {game.type.options}")
    policy = folder / "policy.onnx"
    content = policy.read_bytes()
    if len(content) > MAX_BYTES:
        raise InputError(f"{policy} has {len(content):,} bytes: expected at most {MAX_BYTES:,} (a smaller network)")
    return FinishedRun(policy, content, config, read_evaluation(folder, config), game)


def count_parameters(content: bytes) -> int:
    """The numbers in the weights of an ONNX file, without those that are fixed (``SuitColumns``)."""
    import onnx

    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    weights = onnx.load_from_string(content).graph.initializer
    learned = (tensor for tensor in weights if tensor.data_type in floats and ".columns." not in tensor.name)
    return sum(math.prod(tensor.dims) for tensor in learned if tensor.dims)


def training_command(config: RunConfig) -> str:
    """The command that trains with a config: it names the most similar config of the package, and what differs."""
    found, wanted = [["config.yaml"]], config.model_dump()  # with none, that of the run
    for name in config_names():
        base = load_config(configs_folder() / f"{name}.yaml").model_dump()
        if base["game"] == wanted["game"]:
            changes = [f"{key}={json.dumps(value)}" for key, value in wanted.items() if base[key] != value]
            found.append([name, *(part for change in changes for part in ("--set", change))])
    return shlex.join(["trick", "train", *min(found[1:] or found, key=lambda arguments: len(" ".join(arguments)))])
