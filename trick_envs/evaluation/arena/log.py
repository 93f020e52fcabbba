"""The finished chunks of an arena, in a file that survives interruptions."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import trick_envs
from trick_envs.errors import InputError, shown
from trick_envs.evaluation.arena.pair import Chunk
from trick_envs.evaluation.arena.schedule import Plan, code_digest
from trick_envs.files import digest_of, naming, write_text

LOG = "chunks.jsonl"
FORMAT = 4


class Log:
    """The chunks in an arena's folder.

    The first line holds the settings that every chunk depends on. Players, the number of deals and the half width are
    not among them: they may change from one run to the next, and finished chunks stay valid. Every line ends with a
    digest: a changed number is noticed, and so is a line of another arena.

    Args:
        path: the file; it is created if there is none.
        plan: what is played.

    Attributes:
        chunks: those that have been played.

    Raises:
        ValueError: if the file was written with other settings, says which; if a line is not as it was written, names
            the line.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path, self._settings, ways = path, settings(plan), 2 + (plan.seatings == "all")
        self.chunks: list[Chunk] = []
        text = path.read_text(encoding="utf-8-sig", errors="replace") if path.is_file() else ""
        whole, newline, torn = text.rpartition("\n")  # a last line without an end was cut off while it was written
        lines = whole.split("\n") if newline else []
        if not lines or torn:
            write_text(path, "\n".join([*(lines or [self._signed({"settings": self._settings})]), ""]))
        for number, line in enumerate(lines):
            try:
                content = self._content(line)
                if number:
                    self.chunks.append(Chunk.from_dict(content, ways))
                elif not isinstance(content.get("settings"), dict):
                    raise InputError("expected settings")
            except (ValueError, RecursionError):
                what = "line" if number else "file"  # without its first line the file says nothing
                raise InputError(
                    f"{path}, line {number + 1}: damaged, or not written by trick arena; delete the {what}"
                ) from None
            if not number:
                self._check(content["settings"])

    def _content(self, line: str) -> dict[str, Any]:
        """What a line holds, if nobody has changed it since ``_signed`` wrote it."""
        content = json.loads(line)
        if not isinstance(content, dict):
            raise InputError("expected an object")
        signature = content.pop("digest", None)
        found = content.get("settings") if "settings" in content else self._settings
        if signature != digest_of([found, content]):
            raise InputError("the digest is of something else")
        return content

    def _signed(self, content: dict[str, Any]) -> str:
        """A line: what it holds, and a digest of that and of the settings that it depends on."""
        return json.dumps({**content, "digest": digest_of([self._settings, content])})

    def _check(self, found: dict[str, Any]) -> None:
        for name, value in self._settings.items():
            if found.get(name) != value:
                raise InputError(
                    f"{self._path.parent} holds an arena with {name} {shown(found.get(name))}, but this is "
                    f"{shown(value)}: choose another --folder, or delete that one"
                )

    def add(self, chunk: Chunk) -> None:
        """Appends a chunk, and waits until it is on the disk."""
        with naming(self._path), self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(self._signed(asdict(chunk)) + "\n")
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
