"""Compilation: ``@rule`` and ``@subroutine`` for functions, ``bind`` for kernels, a cache that notices every edit.

Numba caches machine code on disk, but does not notice an edit in a function that is called from another file: after a
change of a rule, the old code would still run. So the cache folder is named by a digest of the sources that
the code depends on: everything in ``engine/`` and in the folder of the game, but for its pictures.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from trick_envs.sources import digest_of_all, sources_digest

F = TypeVar("F", bound=Callable[..., Any])

_ENGINE = Path(__file__).parent
_DRAWS = "view.py"  # a game's pictures: nothing in there is compiled
_KEPT = 12  # cache folders of older sources that are kept, so that switching between versions does not recompile


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
    return digest_of_all(numba.__version__, sys.version, engine, *others)[:16]


@cache
def cache_folder(folder: Path) -> Path:
    """The cache folder for code that depends on the engine and on the sources in ``folder`` (a game's)."""
    digest = compiled_digest() if folder.is_relative_to(_ENGINE) else compiled_digest(folder)
    name = "engine" if folder.is_relative_to(_ENGINE) else folder.name
    target = cache_root() / f"{name}-{digest}"
    if not target.exists():
        _forget_old(name)
    return target


def _forget_old(name: str) -> None:
    with contextlib.suppress(OSError):
        older = sorted(cache_root().glob(f"{name}-*"), key=lambda folder: folder.stat().st_mtime)
        for folder in older[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)


class _Place(_CacheLocator):
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


class _Kept(CompileResultCacheImpl):
    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._lineno, self._locator = function.__code__.co_firstlineno, _Place(function, folder)
        name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _GameCache(FunctionCache):
    """Numba's cache of a function, in a folder of our choice, without a change to Numba's configuration."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._impl_class = lambda function: _Kept(function, folder)
        super().__init__(function)


def _compile(function: F, folder: Path, inline: bool = True) -> F:
    compiled = numba.njit(function, nogil=True, error_model="numpy", forceinline=inline)
    if not numba.config.DISABLE_JIT:
        cache = _GameCache(function, folder)
        with contextlib.suppress(OSError):  # no writable folder: every process compiles
            cache._impl.locator.ensure_cache_path()
            compiled._cache = cache
    return compiled


def rule(function: F) -> F:
    """Compiles a plain function of the rules or the engine (``function.py_func`` is the Python below)."""
    return _compile(function, cache_folder(Path(function.__code__.co_filename).parent))


def subroutine(function: F) -> F:
    """``rule`` for a long function that is called in several places: it is not compiled into its callers.

    Inlining it everywhere would make no difference in speed, but take much longer to compile.
    """
    return _compile(function, cache_folder(Path(function.__code__.co_filename).parent), inline=False)


def bind(kernel: Callable[..., Any], functions: Mapping[str, Any], name: str, folder: Path) -> Any:
    """A copy of a generic ``kernel`` that calls the given ``functions``, compiled.

    Args:
        kernel: a plain function that refers to a game's functions by their global names.
        functions: by name: the functions that this copy calls.
        name: the game's; distinguishes the copies in the compile cache.
        folder: the game's; an edit there recompiles the copy.
    """
    copy = types.FunctionType(
        kernel.__code__, {**kernel.__globals__, **functions}, kernel.__name__, kernel.__defaults__
    )
    copy.__qualname__ = f"{name}.{kernel.__name__}"
    copy.__module__, copy.__doc__ = kernel.__module__, kernel.__doc__
    return _compile(copy, cache_folder(folder), inline=not hasattr(kernel, "noinline"))
