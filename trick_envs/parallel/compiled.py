"""Compiling once per machine: processes that begin at the same time would all compile the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numba
from filelock import FileLock
from llvmlite import binding

from trick_envs.agents.spec import parse_spec
from trick_envs.engine.compile import cache_folder
from trick_envs.engine.game import Game


@contextmanager
def compiled_once(game: Game, purpose: str, *specs: str) -> Iterator[None]:
    """Around work that compiles: the first process on a machine does it alone, and the others wait for its code.

    Once that has happened, a file in the compile cache says so, and nobody waits.

    Args:
        game: the game.
        purpose: of the work; other work calls other functions.
        specs: of the players that take part.
    """
    parsed = [parse_spec(spec) for spec in specs]
    kinds = sorted({each.method or ("policy" if each.policy else each.text) for each in parsed})
    what = repr((purpose, kinds, binding.get_host_cpu_name()))
    ready = cache_folder(game.type.folder) / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.ready"
    if numba.config.DISABLE_JIT or ready.exists() or not _is_writable(ready):
        yield
        return
    with FileLock(ready.with_suffix(".lock")):
        first = not ready.exists()
        if first:
            yield
            ready.touch()
    if not first:
        yield


def _is_writable(file: Path) -> bool:
    """Whether there is a compile cache: else every process compiles."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(file.parent, os.W_OK)
