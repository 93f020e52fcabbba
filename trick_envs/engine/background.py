"""Processes that compile: they fill the compile cache while this one plays in plain Python, or waits.

An order names a function and the types of its arguments. A process of ours (``worker.py``) takes orders from its
standard input, compiles each into the cache, and answers with a line. It outlives this process until its orders are
done, and Ctrl-C does not reach it: what was begun is there next time.
"""

from __future__ import annotations

import atexit
import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trick_envs.engine.cache import cache_root, used_root

_START = (
    "import sys, pickle; sys.path[:] = pickle.load(sys.stdin.buffer); from trick_envs.engine.worker import main; main()"
)
_URGENT = min(2, os.cpu_count() or 1)  # processes that compile at the same time, if somebody waits

DONE, FAILED, LOST = "done", "failed", "lost"


class Order:
    """A function that is being compiled by another process.

    Attributes:
        outcome: ``DONE``, ``FAILED`` (the compiler has an objection, or the cache cannot be written) or ``LOST`` (the
            process has ended); ``None`` for as long as it is being compiled.
    """

    def __init__(self) -> None:
        self.outcome: str | None = None
        self._over = threading.Event()

    def finish(self, outcome: str) -> None:
        self.outcome = outcome
        self._over.set()

    def wait(self, seconds: float) -> bool:
        """Waits until it is over, but no longer than this; returns whether it is."""
        return self._over.wait(seconds)


def types_of(arguments: Sequence[Any]) -> list[Any]:
    """What the compiler has to know of arguments, without their contents."""
    return [
        ("array", each.dtype, each.ndim, _order(each), not each.flags.writeable)
        if isinstance(each, np.ndarray)
        else ("value", each)
        for each in arguments
    ]


def _order(array: Any) -> str:
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


class _Worker:
    def __init__(self, polite: bool) -> None:
        self.orders: dict[int, Order] = {}
        self.alive = True
        root = used_root()
        environment = {**os.environ, "TRICK_ENVS_COMPILE": "first", "TRICK_ENVS_CACHE": str(root.absolute())}
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            **options,
        )
        self._send([str(Path(each).absolute()) for each in sys.path])
        self._send({"polite": polite, "root": str(root), "temporary": root != cache_root()})
        threading.Thread(target=self._listen, name="trick_envs compiles", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps(message))
        self._process.stdin.flush()

    def take(self, number: int, order: Order, message: Any) -> None:
        self.orders[number] = order
        try:
            self._send((number, message))
        except OSError:  # it has just ended
            self._lose()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, outcome = line.split()
            self.orders.pop(int(number)).finish(outcome.decode())
        self._lose()
        self._process.wait()

    def _lose(self) -> None:
        self.alive = False
        while self.orders:
            self.orders.popitem()[1].finish(LOST)

    def leave(self) -> None:
        """This process ends: the other one does what it was told, and ends by itself."""
        self._process.returncode = 0  # or Python would warn that it still runs


class _Pool:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.workers: list[_Worker] = []
        self._numbers = itertools.count()

    def ask(self, message: Any, urgent: bool) -> Order:
        order = Order()
        with self._lock:
            self.workers = [each for each in self.workers if each.alive]
            least = min(self.workers, key=lambda each: len(each.orders), default=None)
            if least is None or (urgent and least.orders and len(self.workers) < _URGENT):
                try:
                    least = _Worker(polite=not urgent)
                except OSError:  # no more processes, no interpreter
                    order.finish(LOST)
                    return order
                self.workers.append(least)
            least.take(next(self._numbers), order, message)
        return order

    def leave(self) -> None:
        for worker in self.workers:
            worker.leave()


_pool = _Pool()


def ask(name: tuple[str, ...], arguments: Sequence[Any], urgent: bool = False) -> Order:
    """Orders a function, compiled for arguments of the types of these.

    Args:
        name: what ``worker.py`` finds it by.
        arguments: as the function is called with them.
        urgent: whether somebody waits for it. If nobody does, at most one process of this machine compiles at a time,
            at low priority.
    """
    if not sys.executable:  # Python within another program
        order = Order()
        order.finish(LOST)
        return order
    return _pool.ask((name, types_of(arguments)), urgent)


def compiling() -> list[int]:
    """The processes that compile for this one, by number."""
    return [each.pid for each in _pool.workers if each.alive]


def _forget() -> None:
    """A forked process has none of the parent's processes and threads."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
atexit.register(lambda: _pool.leave())
