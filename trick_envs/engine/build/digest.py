"""Digests of source files: what was made by other code is not mixed with what this code makes."""

from __future__ import annotations

import hashlib
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ENGINE = Path(__file__).parent.parent
_DRAWS = "view.py"  # a game's pictures: nothing in there is compiled


@cache
def sources_digest(place: Path, below: bool = False, without: str = "") -> str:
    """A digest of Python files: names and contents, wherever they lie. Computed once per process.

    Args:
        place: a file, or a folder.
        below: the folders in that folder, too.
        without: the name of files that do not matter.
    """
    files = [place] if place.is_file() else sorted(place.rglob("*.py") if below else place.glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        if file.name != without:
            name = file.name if file == place else file.relative_to(place).as_posix()
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def digest_of_all(*parts: str) -> str:
    """One digest for several, and for whatever else matters, such as versions."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compiled_digest(*places: Path) -> str:
    """A digest of the engine, of what compiles it, and of some folders, such as a game's, or files."""
    engine = sources_digest(ENGINE, below=True, without=_DRAWS)
    others = (sources_digest(place, without=_DRAWS) for place in places)
    return digest_of_all(version("numba"), sys.version, engine, *others)[:16]


def reached_digest(functions: Iterable[Callable[..., Any]], known: Path) -> str:
    """A digest of what functions compute with that is neither in the engine nor in a known folder.

    Args:
        functions: compiled functions; those that they call count, too.
        known: a folder whose files are part of another digest.

    Returns:
        of the files of functions that lie elsewhere, and of the values of all global names: a table may be read from a
        file of data, or computed in another package.
    """
    files, values, waiting, seen = set(), set(), list(functions), set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        file = Path(function.__code__.co_filename)
        if file.parent != known and not file.is_relative_to(ENGINE) and file.is_file():
            files.add(sources_digest(file))
        for name, value in _named_by(function):
            if isinstance(value, types.FunctionType):
                waiting.append(value)
            elif isinstance(value, np.ndarray):
                content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
                values.add(f"{name} {value.dtype} {value.shape} {content}")
            elif isinstance(value, (int, float, complex, str, bytes, tuple, np.generic, np.dtype)):
                values.add(f"{name} {value!r}")
    return digest_of_all(*sorted(files), *sorted(values))


def _named_by(function: types.FunctionType | Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What the names in a function's code stand for; of modules, what they define of these names."""
    code: list[Any] = [function.__code__]
    names: set[str] = set()
    while code:
        one = code.pop()
        names.update(one.co_names)
        code += [each for each in one.co_consts if isinstance(each, types.CodeType)]
    for name in names:
        value = function.__globals__.get(name)
        if isinstance(value, types.ModuleType) and value not in (np, math):
            yield from ((each, getattr(value, each)) for each in names if hasattr(value, each))
        else:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
