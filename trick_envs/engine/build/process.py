"""A process that compiles (``child.py``), while this one plays in plain Python or compiles something else.

It writes machine code to files; that a file is there is all that is ever heard of it. So nothing that it prints, and
nothing that becomes of it, can be taken for an answer.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from trick_envs.engine.build import child
from trick_envs.engine.build.cache import is_temporary

_MOST_STARTS = 2  # of a process for one kernel, if the first has ended without its code
_AGAIN = 1.0  # seconds until another process that compiles is looked for again


class Order:
    """A kernel that another process is to compile. Only the process that has made the order asks for it.

    Attributes:
        lost: whether nobody will compile it: whoever wants it has to do so.
    """

    def __init__(self, name: tuple[str, str], folder: Path, polite: bool) -> None:
        self._name, self._folder, self._polite = name, folder, polite
        self._starts, self._look, self.lost = 0, 0.0, False
        self._child: _Child | None = None
        self.look()

    def look(self) -> None:
        """Sees to it that somebody is at work, as long as the code is not there."""
        if self.lost or (self._child is not None and self._child.runs):
            return
        if self._child is not None and not self._child.was_busy:
            self._starts += 1
        self._child = None
        if self._starts >= _MOST_STARTS:
            self.lost = True
        elif time.monotonic() >= self._look:
            self._look = time.monotonic() + _AGAIN
            if not self._polite or not _another_compiles(self._folder.parent):
                self._child = _child_for(self._folder, self._polite)
                if self._child is not None:
                    self._child.take(self._name)
                self.lost = self._child is None


class _Child:
    def __init__(self, folder: Path, polite: bool) -> None:
        self.folder, self.polite = folder, polite
        environment = {**os.environ, "TRICK_ENVS_COMPILE": "first", "TRICK_ENVS_CACHE": str(folder.parent)}
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
        self._process = subprocess.Popen(
            [sys.executable, child.__file__],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            **options,
        )
        self.pid = self._process.pid
        path = [str(Path(each).absolute()) for each in sys.path]
        self.take({"polite": polite, "root": str(folder.parent), "path": path})

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def was_busy(self) -> bool:
        return self._process.poll() == child.BUSY

    def take(self, message: Any) -> None:
        """Sends a line."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has just ended: ``look`` notices
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def leave(self) -> None:
        """This process ends in order: the other one finishes what it has begun, if anybody can use it, and ends."""
        if is_temporary(self.folder):
            self._process.kill()
            self._process.wait()  # then the folder can be removed
            return
        self.take(child.FINISH)
        self._process.returncode = 0  # or Python would warn that it still runs

    def forget(self) -> None:
        """In a forked process: it is the child of another one, which alone holds the end of its input."""
        self._process.returncode = 0
        if self._process.stdin is not None:
            self._process.stdin.close()


_children: list[_Child] = []
_lock = threading.Lock()


def can_start() -> bool:
    """Whether this program can start a Python interpreter: it may be a frozen one, or have Python built in."""
    name = Path(sys.executable or "").name.lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False) and Path(child.__file__).is_file()


def compiling() -> list[int]:
    """The processes that compile for this one, by number."""
    return [each.pid for each in _children if each.runs]


def _child_for(folder: Path, polite: bool) -> _Child | None:
    if not can_start():
        return None
    with _lock:
        _children[:] = [each for each in _children if each.runs]
        for each in _children:
            if (each.folder.parent, each.polite) == (folder.parent, polite):
                return each
        try:
            _children.append(_Child(folder, polite))
        except OSError:  # no more processes
            return None
        return _children[-1]


def _another_compiles(root: Path) -> bool:
    """Whether a process that is not ours compiles for this cache: on one machine, one at a time is enough."""
    if compiling():
        return False
    with contextlib.suppress(OSError, NotImplementedError):
        try:
            with FileLock(root / "compiler.lock").acquire(timeout=0):
                return False
        except Timeout:
            return True
    return False


def _forget() -> None:
    """A forked process has none of the processes of the one it was."""
    global _lock
    _lock = threading.Lock()
    for each in _children:
        each.forget()
    _children.clear()


def _leave() -> None:
    for each in _children:
        each.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(_leave)
