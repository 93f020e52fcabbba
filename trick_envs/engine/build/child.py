"""The process that compiles for another one (``process.py``).

It takes lines of JSON from its standard input: first settings, then kernels, each by its table's name and its own. It
compiles them one after the other into their files, says nothing, and ends when there is nothing more to do. The first
lines here import little, because such a process often learns that another one is at work.

It ends with the process that it is for, unless that one, ending in order, has asked it to finish what was begun.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import Any

IDLE = 5.0  # seconds without an order after which it ends
BUSY = 75  # how it ends where another process compiles, and nobody waits for this one
FINISH = "finish"


def main() -> None:
    """Reads orders and compiles."""
    settings = json.loads(sys.stdin.readline())
    sys.path[:] = settings["path"]
    if settings["polite"] and not _has_turn(Path(settings["root"])):
        sys.exit(BUSY)
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
    if settings["polite"] and hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(5)
            if hasattr(os, "SCHED_BATCH"):  # also if the other process is one of real-time priority
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    while True:
        try:
            order = orders.get(timeout=IDLE)
        except queue.Empty:
            return
        if order == FINISH:
            return
        with contextlib.suppress(Exception):  # whoever wants the kernel compiles it then, and gets the error
            compile_kernel(*order)


_held: list[Any] = []


def _has_turn(root: Path) -> bool:
    """Whether no other such process compiles for this cache."""
    from filelock import FileLock, Timeout

    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / "compiler.lock")
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except (OSError, NotImplementedError):
        return True
    _held.append(lock)
    return True


def _read(orders: Any) -> None:
    while line := sys.stdin.readline():
        order = json.loads(line)
        orders.put(order)
        if order == FINISH:
            return
    os._exit(1)  # the other process is gone


def compile_kernel(table: str, name: str) -> None:
    """Compiles one kernel into its file."""
    registry: Any = importlib.import_module("trick_envs.engine.registry")
    game, _, num_players = table.partition("-")
    registry.game_type(game).kernels_at(int(num_players)).prepare(name)


if __name__ == "__main__":
    main()
