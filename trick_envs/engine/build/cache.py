"""The folder where machine code is kept.

It is named by a digest of all that the code depends on: the processor, Numba, Python, everything in ``engine/`` and in
the folder of the game, but for its pictures, and whatever else the game's functions name. So an edit recompiles by
itself, and neither the path of the sources nor their date matters: two copies of the same sources share their code.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from trick_envs.engine.build.digest import compiled_digest, digest_of_all, reached_digest
from trick_envs.files import user_folder

_SETTINGS = "BOUNDSCHECK", "DEBUGINFO", "ENABLE_AVX", "LLVM_REFPRUNE_PASS", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE"
_KEPT = 12  # cache folders of older sources that are kept, so that switching between versions does not recompile


def cache_root() -> Path | None:
    """The folder of the compile cache: ``$TRICK_ENVS_CACHE``, else the user's cache folder; ``None`` without a home."""
    return user_folder("TRICK_ENVS_CACHE", "XDG_CACHE_HOME", ".cache")


def cache_folder(sources: Path, hooks: Sequence[Callable[..., Any]]) -> Path:
    """The folder for the code of a game; it exists.

    Where the cache cannot be written, and has no such folder that can be read, it is a temporary folder of this
    process: a process that compiles for it can still hand over its code.

    Args:
        sources: the game's folder.
        hooks: the functions that kernels call.
    """
    digest = digest_of_all(compiled_digest(sources), reached_digest(hooks, sources), *_processor())[:16]
    root = cache_root()
    if root is not None:
        target = root / f"{sources.name}-{digest}"
        with contextlib.suppress(OSError):  # also of a home that belongs to another user
            if not target.exists():
                _forget_old(root, sources.name)
            target.mkdir(parents=True, exist_ok=True)
            if os.access(target, os.W_OK) or any(target.glob("*.code")):
                return target
    target = _temporary_root()[0] / f"{sources.name}-{digest}"
    target.mkdir(exist_ok=True)
    return target


def is_temporary(folder: Path) -> bool:
    """Whether the folder ends with this process."""
    return bool(_temporary_root.cache_info().currsize) and folder.parent == _temporary_root()[0]


@cache
def _processor() -> tuple[str, ...]:
    """The name and the features of the processor for which the compiler makes code, and what Numba was told of it."""
    import llvmlite.binding as llvm

    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return (
        llvm.get_host_cpu_name() if name is None else name,
        llvm.get_host_cpu_features().flatten() if features is None else features,
        *(os.environ.get(f"NUMBA_{setting}", "") for setting in _SETTINGS),
    )


@cache
def _temporary_root() -> tuple[Path, int]:
    """A temporary folder, and the process that has made it."""
    return Path(tempfile.mkdtemp(prefix="trick_envs-")), os.getpid()


@atexit.register  # by the import: so it runs after all that is registered later, such as the end of those that compile
def _remove_temporary_root() -> None:
    if _temporary_root.cache_info().currsize:
        root, owner = _temporary_root()
        if os.getpid() == owner:
            shutil.rmtree(root, ignore_errors=True)


def _forget_old(root: Path, name: str) -> None:
    with contextlib.suppress(OSError):
        older = sorted(root.glob(f"{name}-*"), key=lambda folder: folder.stat().st_mtime)
        for folder in older[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)
