"""The compile cache: where machine code is kept, and how processes that compile at the same time share the work.

Numba caches machine code on disk, but does not notice an edit in a function that is called from another file: after a
change of a rule, the old code would still run. So the cache folder is named by a digest of the sources that
the code depends on: everything in ``engine/`` and in the folder of the game, but for its pictures.

Importing this module does not import the compiler.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trick_envs.sources import digest_of_all, sources_digest

_ENGINE = Path(__file__).parent
_DRAWS = "view.py"  # a game's pictures: nothing in there is compiled
_KEPT = 12  # cache folders of older sources that are kept, so that switching between versions does not recompile
_LONGEST = 60.0  # seconds to wait for another process that compiles the same function, before it is compiled twice


def jit_disabled() -> bool:
    """Whether Numba is told to leave everything as plain Python (``NUMBA_DISABLE_JIT=1``)."""
    config = getattr(sys.modules.get("numba"), "config", None)  # another thread may be importing it
    if (disabled := getattr(config, "DISABLE_JIT", None)) is not None:
        return bool(disabled)
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def cache_root() -> Path:
    """The folder of the compile cache: ``$TRICK_ENVS_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("TRICK_ENVS_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "trick_envs"


def compiled_digest(*places: Path) -> str:
    """A digest of the engine, of what compiles it, and of some folders, such as a game's, or files."""
    engine = sources_digest(_ENGINE, below=True, without=_DRAWS)
    others = (sources_digest(place, without=_DRAWS) for place in places)
    return digest_of_all(version("numba"), sys.version, engine, *others)[:16]


@cache
def cache_folder(folder: Path) -> Path:
    """The cache folder for code that depends on the engine and on the sources in ``folder`` (a game's).

    Where the cache cannot be written, and has no such folder that can be read, it is a temporary folder of this
    process: the processes that compile for it can still hand over their code.
    """
    digest = compiled_digest() if folder.is_relative_to(_ENGINE) else compiled_digest(folder)
    name = "engine" if folder.is_relative_to(_ENGINE) else folder.name
    target = cache_root() / f"{name}-{digest}"
    if not target.exists():
        _forget_old(name)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _temporary_root() / target.name
    if not os.access(target, os.W_OK) and not any(target.glob("*.nbi")):
        return _temporary_root() / target.name
    return target


def used_root() -> Path:
    """``cache_root()``, or the temporary folder that this process has in its place."""
    return _temporary_root() if _temporary_root.cache_info().currsize else cache_root()


@cache
def _temporary_root() -> Path:
    root, owner = Path(tempfile.mkdtemp(prefix="trick_envs-")), os.getpid()
    atexit.register(lambda: shutil.rmtree(root, ignore_errors=True) if os.getpid() == owner else None)
    return root


def _forget_old(name: str) -> None:
    with contextlib.suppress(OSError):
        older = sorted(cache_root().glob(f"{name}-*"), key=lambda folder: folder.stat().st_mtime)
        for folder in older[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)


def file_name(function: Callable[..., Any]) -> str:
    """The beginning of the names of the cache files of a function."""
    return f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}".replace("<", "").replace(">", "")


def is_cached(function: Callable[..., Any], folder: Path) -> bool:
    """Whether there is machine code of a function, for some types of its arguments. (Asking needs no compiler.)"""
    with contextlib.suppress(OSError):
        return any(cache_folder(folder).glob(f"{file_name(function)}-{function.__code__.co_firstlineno}.*.nbi"))
    return False


def machine_code(function: Callable[..., Any], folder: Path, inline: bool = True, inner: bool = False) -> Any:
    """Numba's compiled function (a ``Dispatcher``), which is cached for the sources in ``folder``.

    It is compiled when it is first called with arguments of some types, or taken from the cache.

    Args:
        function: a plain function.
        folder: where its sources are.
        inline: whether it is compiled into the functions that call it.
        inner: whether only compiled code calls it. Then it has no wrapper that takes Python's objects apart, which for
            most rules is longer than the rule: a game compiles in two thirds of the time. A call from Python crashes.
    """
    import numba

    from trick_envs.engine import compiled_intrinsics  # noqa: F401  (Numba learns of them by the import)

    compiled = numba.njit(
        function, nogil=True, error_model="numpy", forceinline=inline, no_cpython_wrapper=inner, no_cfunc_wrapper=True
    )
    if not numba.config.DISABLE_JIT:
        with contextlib.suppress(OSError):  # no writable folder at all: every process compiles
            compiled._cache = _cache_class()(function, cache_folder(folder), inner)
    return compiled


@cache
def _cache_class() -> Any:
    from filelock import FileLock, Timeout
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

    class Place(_CacheLocator):
        """Where a function's machine code is kept: in the folder that is named by the digest of all its sources.

        So neither the path of the sources nor their date matters: two copies of the same sources share their code.
        """

        def __init__(self, function: Callable[..., Any], folder: Path) -> None:
            self._folder, self._code = folder, function.__code__

        def get_cache_path(self) -> str:
            return str(self._folder)

        def get_source_stamp(self) -> str:
            return self._folder.name

        def get_disambiguator(self) -> str:
            return f"{Path(self._code.co_filename).parent.name}-{self._code.co_firstlineno}"

    class Kept(CompileResultCacheImpl):
        def __init__(self, function: Callable[..., Any], folder: Path, inner: bool) -> None:
            self._lineno, self._locator = function.__code__.co_firstlineno, Place(function, folder)
            name = f"{'inner-' * inner}{file_name(function)}"
            self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))

    class SharedCache(FunctionCache):
        """Numba's cache of a function in a folder of our choice. Of processes that want the same code, one compiles.

        A function that is not in the cache is locked until its code is saved; whoever wants it in the meantime waits,
        and then finds the code. The lock is the operating system's: it ends with the process that holds it. Nobody
        waits in a circle, because a function is locked before the functions that it calls.
        """

        def __init__(self, function: Callable[..., Any], folder: Path, inner: bool) -> None:
            self._impl_class = lambda function: Kept(function, folder, inner)
            super().__init__(function)
            self._impl.locator.ensure_cache_path()
            self._lock = FileLock(folder / f"{self._impl.filename_base}.lock", thread_local=False)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            found = super().load_overload(sig, target_context)
            if found is None:
                with contextlib.suppress(OSError, NotImplementedError, Timeout):  # then it is compiled without a lock
                    self._lock.acquire(timeout=_LONGEST, poll_interval=0.02)
                    found = super().load_overload(sig, target_context)
                    if found is not None:
                        self._lock.release()
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                with contextlib.suppress(OSError):  # such as a full disk: the code is used, but not kept
                    super().save_overload(sig, data)
            finally:
                self.release()

        def release(self) -> None:
            with contextlib.suppress(OSError):
                self._lock.release(force=True)

    return SharedCache
