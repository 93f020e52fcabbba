"""Policies that people bring: files of strangers, checked, then kept under the digest of what they hold."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

from starlette.requests import Request

from trick_envs.agents.policy import PolicyAgent, made_for
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError
from trick_envs.files import files_in, write_bytes
from trick_envs.play.players import BROUGHT
from trick_envs.play.web.http import owners_of
from trick_envs.play.web.sessions import Kept, Store
from trick_envs.play.web.validation import (
    MAX_POLICIES,
    MAX_POLICIES_OF_A_BROWSER,
    MAX_POLICIES_OF_AN_ADDRESS,
    ApiError,
)
from trick_envs.view.messages import said


class Policies:
    """Policies that browsers have sent.

    Args:
        folder: where their files are; ``None``: none is taken.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._kept: Store[Kept] = Store(
            "policies", MAX_POLICIES, max_age=math.inf, min_age=60.0,
            of_one={"browser": MAX_POLICIES_OF_A_BROWSER, "address": MAX_POLICIES_OF_AN_ADDRESS},
            on_drop=lambda one: self._file(one.id).unlink(missing_ok=True),
        )  # fmt: skip
        found = [] if folder is None else [one for one in files_in(folder, "*.onnx") if BROUGHT.fullmatch(one.name)]
        for file in sorted(found, key=lambda one: one.stat().st_mtime_ns)[-MAX_POLICIES:]:
            self._kept.put(Kept(file.name))

    def _file(self, spec: str) -> Path:
        assert self.folder is not None
        return self.folder / spec

    def add(self, request: Request, content: bytes) -> Any:
        """Keeps a policy: by which spec it is asked for, the name of its game, the number of players.

        Raises:
            ApiError: for anything but a policy of one of the games here; says why.
        """
        if self.folder is None:
            raise ApiError(409, said("refused.saves_nothing"))
        spec = f"{hashlib.sha256(content).hexdigest()[:32]}.onnx"
        try:
            name, players = made_for(Path("the file"), content)
            PolicyAgent(Path("the file"), load_game(name, players), content=content)
        except ValueError as error:
            told = str(error).removeprefix("the file: ")
            raise ApiError(422, said("refused.bad_policy", error=told)) from None
        try:
            self._kept.get(spec)
        except ApiError:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                write_bytes(self._file(spec), content)
            except OSError as error:
                raise ApiError(409, said("refused.not_kept", error=error.strerror or error)) from None
            self._kept.put(Kept(spec, owners_of(request)))
        return {"spec": spec, "game": name, "players": players}

    def table(self, spec: str) -> tuple[str, int]:
        """The game and the number of players of a policy that somebody has brought.

        Raises:
            ApiError: if it is kept no more.
        """
        try:
            self._kept.get(spec)
            return made_for(self._file(spec))
        except (ApiError, InputError):
            self._kept.drop(spec)  # its file may be gone: sent again, it is written again
            raise ApiError(410, said("refused.no_policy")) from None
