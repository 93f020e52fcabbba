"""The finished chunks of an arena, in a file that survives interruptions."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import trick_envs
from trick_envs.errors import InputError
from trick_envs.evaluation.arena.pair import Chunk
from trick_envs.evaluation.arena.schedule import Plan, code_digest
from trick_envs.files import write_text

LOG = "chunks.jsonl"
FORMAT = 3


class Log:
    """The chunks in an arena's folder.

    The first line holds the settings that every chunk depends on. Players, the number of deals and the half width are
    not among them: they may change from one run to the next, and finished chunks stay valid.

    Args:
        path: the file; it is created if there is none.
        plan: what is played.

    Attributes:
        chunks: those that have been played.

    Raises:
        ValueError: if the file was written with other settings, or holds something else; says what differs.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path, wanted = path, settings(plan)
        self.chunks: list[Chunk] = []
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        whole, newline, torn = text.rpartition("\n")  # a last line without an end was cut off while it was written
        lines = whole.split("\n") if newline else []
        if not lines or torn:
            write_text(path, "\n".join([*(lines or [json.dumps({"settings": wanted})]), ""]))
        for number, line in enumerate(lines):
            try:
                content = json.loads(line)
                if number:
                    tuples = {name: tuple(content[name]) for name in ("players", "decisions", "seconds")}
                    self.chunks.append(Chunk(**{**content, **tuples}))
                else:
                    self._check(content["settings"], wanted)
            except (TypeError, KeyError, json.JSONDecodeError):
                what = "line" if number else "file"  # without its first line the file says nothing
                raise InputError(f"{path}, line {number + 1}: not written by trick arena; delete the {what}") from None

    def _check(self, found: dict[str, Any], wanted: dict[str, object]) -> None:
        for name, value in wanted.items():
            held = found[name]
            if held != value:
                raise InputError(
                    f"{self._path.parent} holds an arena with {name} {held!r}, but this is {value!r}: "
                    "choose another --folder, or delete that one"
                )

    def add(self, chunk: Chunk) -> None:
        """Appends a chunk, and waits until it is on the disk."""
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(asdict(chunk)) + "\n")
            file.flush()
            os.fsync(file.fileno())


def settings(plan: Plan) -> dict[str, object]:
    """Everything that the chunks of a plan depend on, except for the players."""
    return {
        "format": FORMAT,
        "game": plan.game.name,
        "num players": plan.game.num_players,
        "options": plan.game.options,
        "purpose": plan.purpose.name.lower(),
        "seed": plan.seed,
        "seatings": plan.seatings,
        "version": f"{trick_envs.__version__}-{code_digest(plan.game)}",
    }
