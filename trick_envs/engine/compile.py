"""Compilation: ``@rule`` for plain functions, ``bind`` for generic kernels, and a cache that notices every edit.

Numba keeps machine code on disk, but does not notice an edit in a function that is called from another file: a
changed rule would silently go on running the old code. So the cache folder is named by a digest of the sources that
the code depends on: everything in ``engine/`` and the files of the game itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

_ENGINE = Path(__file__).parent
_KEPT = 12  # cache folders of older sources that stay, so that switching between two versions stays warm


def cache_root() -> Path:
    """The folder of the compile cache: ``$TRICK_ENVS_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("TRICK_ENVS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "trick_envs"


@cache
def _engine_digest() -> bytes:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path in sorted(_ENGINE.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


@cache
def cache_folder(source: str) -> Path:
    """The cache folder for code that depends on the engine and on the file ``source``."""
    digest = hashlib.sha256(_engine_digest())
    path = Path(source)
    if path.parent != _ENGINE:  # the file itself, and those of the same game
        for each in sorted({path, *path.parent.parent.glob(f"*/{path.name}")}):
            digest.update(each.read_bytes())
    folder = cache_root() / f"{path.stem}-{digest.hexdigest()[:16]}"
    if not folder.exists():
        _forget_old(path.stem)
    return folder


def _forget_old(stem: str) -> None:
    with contextlib.suppress(OSError):
        older = sorted(cache_root().glob(f"{stem}-*"), key=lambda folder: folder.stat().st_mtime)
        for folder in older[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _cache_at(folder: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _compile(function: F, folder: Path, inline: bool = True) -> F:
    with _cache_at(folder):
        try:
            return numba.njit(function, cache=True, nogil=True, error_model="numpy", forceinline=inline)
        except RuntimeError:  # no folder can be written: compile anew in every process
            return numba.njit(function, nogil=True, error_model="numpy", forceinline=inline)


def rule(function: F) -> F:
    """Compiles a plain function of the rules or the engine (``function.py_func`` is the Python below)."""
    return _compile(function, cache_folder(function.__code__.co_filename))


def bind(kernel: Callable[..., Any], functions: Mapping[str, Any], name: str, source: str) -> Any:
    """A copy of a generic ``kernel`` that calls the given ``functions``, compiled.

    Args:
        kernel: a plain function that refers to a game's functions by their global names.
        functions: what those names stand for in this copy.
        name: tells the copies apart in the compile cache (the game's name).
        source: the game's file; an edit there compiles the copy anew.
    """
    copy = types.FunctionType(
        kernel.__code__, {**kernel.__globals__, **functions}, kernel.__name__, kernel.__defaults__
    )
    copy.__qualname__ = f"{name}.{kernel.__name__}"
    copy.__module__, copy.__doc__ = kernel.__module__, kernel.__doc__
    return _compile(copy, cache_folder(source), inline=not hasattr(kernel, "apart"))
