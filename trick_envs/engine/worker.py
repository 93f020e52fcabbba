"""The process that compiles for another one (``background.py``): orders come in, machine code goes to the cache."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import sys
import threading
from pathlib import Path
from typing import Any

_IDLE = 20.0  # seconds without an order after which it ends


def main() -> None:
    """Takes orders from standard input, compiles them one after the other, and answers on standard output.

    It ends when there is nothing more to come, or when nothing has come for a while.
    """
    settings = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing that a game prints becomes an answer
    if settings["polite"] and hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(5)
            if hasattr(os, "SCHED_BATCH"):  # also if the other process is one of real-time priority
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(orders, settings["temporary"]), daemon=True).start()
    while True:
        try:
            order = orders.get(timeout=_IDLE)
        except queue.Empty:
            return
        if order is None:
            return
        number, (name, types) = order
        try:
            with _turn(Path(settings["root"])) if settings["polite"] else contextlib.nullcontext():
                compile_into_cache(name, types)
            outcome = "done"
        except Exception:  # whoever ordered it calls the function, and gets the error
            outcome = "failed"
        with contextlib.suppress(OSError):  # it has ended: the code is for those who come later
            answers.write(f"{number} {outcome}\n".encode())


def _read(orders: Any, temporary: bool) -> None:
    while True:
        try:
            orders.put(pickle.load(sys.stdin.buffer))
        except (EOFError, OSError):
            if temporary:  # the cache is gone with the process that it was for
                os._exit(0)
            orders.put(None)
            return


def _turn(root: Path) -> Any:
    """Of the processes for which nobody waits, one compiles at a time."""
    from filelock import FileLock

    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / "background.lock")
        lock.acquire()
    except (OSError, NotImplementedError):
        return contextlib.nullcontext()
    return _Held(lock)


class _Held:
    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        self._lock.release()


def compile_into_cache(name: tuple[str, ...], types: list[Any]) -> None:
    """Compiles a function for arguments of some types."""
    import numba
    from numba.np import numpy_support

    signature = []
    for kind, *rest in types:
        if kind == "array":
            dtype, dimensions, order, readonly = rest
            signature.append(numba.types.Array(numpy_support.from_dtype(dtype), dimensions, order, readonly=readonly))
        else:
            signature.append(numba.typeof(rest[0]))
    find(name).compile(tuple(signature))


def find(name: tuple[str, ...]) -> Any:
    """The compiled function with the name that ``compile.py`` gave it."""
    from trick_envs.engine.registry import game_type

    table, module, function = name
    found = getattr(importlib.import_module(module), function)
    if not table:
        return found.compiled
    game, _, num_players = table.partition("-")
    return game_type(game).kernels_at(int(num_players) if num_players else None).compiled(found)
