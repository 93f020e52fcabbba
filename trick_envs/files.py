"""Files that survive interruptions: replaced atomically, on the disk when the call returns. Folders with one writer."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from trick_envs.errors import FolderInUseError, InputError

LOCK = ".lock"
# What commands write into their folders to read it again, and ``table.md``: no place for anything else.
KEPT = {
    *(LOCK, "chunks.jsonl", "llm.jsonl", "table.md"),
    *("config.yaml", "checkpoint.zip", "best_model.zip", "policy.zip", "policy.onnx", "evaluation.json"),
}
LARGEST = 2**53  # number that a file of ours may hold: sums and products of some have a float
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which replaces ``path`` when the block ends.

    A reader finds the old content or the new one, never half of it, also after a power cut: the new content is on the
    disk before it gets the name, and so is the name when the block has ended. If the block raises, ``path`` stays as it
    was, and the temporary file is deleted. Several processes may replace the same file: the last one wins.

    What is no regular file, such as a pipe or ``/dev/stdout``, cannot be replaced: the block writes to it directly.
    A folder that is missing is made. An ``OSError`` of the block, such as of a full disk, names ``path``.
    """
    if path.exists() and not path.is_file():
        with naming(path):
            yield path
        return
    path = Path(os.path.realpath(path))  # a link stays a link, but not one to itself, where `resolve` raises
    make_folder(path.parent)
    temporary = _temporary(path)
    try:
        with naming(path):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An ``OSError`` of a write or a flush in this block says which file it was; the system knows of no name there."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def make_folder(folder: Path) -> None:
    """Makes a folder and those that it is in; ``mkdir(parents=True)`` calls itself for each, a thousand at most."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)


def read_json(path: Path) -> Any:
    """What a JSON file holds. A byte order mark, which editors on Windows write, is skipped.

    Raises:
        ValueError: if it is not JSON; names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from None


def files_in(folder: Path, pattern: str) -> list[Path]:
    """What a folder holds by a pattern: nothing, if it is not there or may not be entered."""
    try:
        return list(folder.glob(pattern))
    except PermissionError:
        return []


def try_to_write(path: Path) -> None:
    """Tries whether ``replacing`` could write a file, before work whose results it is for. Nothing stays of the trial.

    Raises:
        ValueError: if it could not; names the file and says why.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists() and not path.is_file():
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        path = Path(os.path.realpath(path))
        folder = next(each for each in path.parents if each.exists())  # the others are made when there are results
        trial = _temporary(folder / path.name)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def is_number(value: Any, kind: type) -> bool:
    """Whether something from JSON is a number, at most ``LARGEST``: an ``int``, or a ``float``, which may be whole."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return (whole or (kind is float and isinstance(value, float))) and abs(value) <= LARGEST


def is_list(value: Any, length: int, kind: type) -> bool:
    """Whether something from JSON is a list of so many strings or numbers."""
    return (
        isinstance(value, list)
        and len(value) == length
        and all(isinstance(each, str) if kind is str else is_number(each, kind) for each in value)
    )


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically: the same bytes everywhere; half a letter, as in names of files, is escaped."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """Writes a JSON file atomically. Infinite numbers and NaN, which JSON does not have, become ``null``."""
    write_text(path, json.dumps(_finite(content), indent=2, allow_nan=False) + "\n")


def digest_of(content: Any) -> str:
    """A short digest of something that JSON can hold: the same when it has been written and read."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def write_signed_json(path: Path, content: dict[str, Any]) -> None:
    """Writes a JSON file with a digest of the rest, for ``read_signed_json``."""
    finite = _finite(content)
    write_json(path, {**finite, "digest": digest_of(finite)})


def read_signed_json(path: Path) -> dict[str, Any]:
    """What ``write_signed_json`` has written.

    Raises:
        ValueError: if anything in the file has changed since; names the file.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.pop("digest", None) != digest_of(content):
        raise InputError(f"{path}: damaged, edited, or not written by trick")
    return content


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Around work that writes into a folder: no other process does so meanwhile.

    The folder is created if there is none. What an interrupted process has left of files that it was writing is
    deleted. The lock ends with the process, however it ends; the empty file ``.lock`` stays.

    Raises:
        FolderInUseError: if another process works in the folder, or another thread of this one.
        ValueError: if a pipe, a device or the like is in the folder.
    """
    make_folder(folder)
    for path in folder.iterdir():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is no regular file: who reads it, or writes to it, may wait for ever")
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise FolderInUseError(
            f"{folder} is in use: another process is writing to it; wait for its end, or choose another --folder"
        ) from None
    try:
        for path in folder.iterdir():
            if _TEMPORARY.fullmatch(path.name):
                path.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


def _sync_folder(folder: Path) -> None:
    """Brings the names of a folder's files to the disk; where folders cannot be opened (Windows), the system does."""
    with contextlib.suppress(OSError):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def user_folder(own: str, of_system: str, in_home: str) -> Path | None:
    """A folder of the user's for this package, absolute; ``None`` where nothing tells which, such as without a home.

    Args:
        own: the variable of the environment that names it. ``~`` is the home in it; a relative path begins in the
            folder where the process was when it first asked.
        of_system: the variable that names the folder above it, of the XDG standard, which ignores relative paths.
        in_home: the folder above it, where neither is set.
    """
    try:
        if chosen := os.environ.get(own):
            return _fixed(chosen)
        for above in (os.environ.get(of_system), os.environ.get("LOCALAPPDATA")):
            if above and (path := Path(above).expanduser()).is_absolute():
                return path / "trick_envs"
        return Path.home() / in_home / "trick_envs"
    except RuntimeError:  # no home
        return None


@cache
def _fixed(chosen: str) -> Path:
    return Path(chosen).expanduser().absolute()
