"""Threads that run compiled code side by side: kernels release the interpreter's lock."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

Task = Callable[[], Any]
_Jobs = SimpleQueue[tuple[Task, int, SimpleQueue[tuple[int, Any, BaseException | None]]] | None]


class Crew:
    """Runs tasks at the same time, one of them in the calling thread.

    The threads start with the first call, wait for work in between, and end with the object. A copy, a pickle or a
    forked process has threads of its own.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._process, self._jobs = 0, _Jobs()

    def run(self, tasks: Sequence[Task]) -> list[Any]:
        """Runs all tasks, ``size`` at a time; returns what they return, in their order.

        Raises:
            BaseException: what a task raised, after all of them have ended.
        """
        if len(tasks) > 1 and self._process != os.getpid():
            self._start()
        done: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()  # of this call alone
        for place, task in enumerate(tasks[1:], 1):
            self._jobs.put((task, place, done))
        _work(tasks[0], 0, done)
        results: list[Any] = [None] * len(tasks)
        failed: BaseException | None = None
        for _ in tasks:
            place, results[place], error = done.get()
            failed = failed or error
        if failed is not None:
            raise failed
        return results

    def _start(self) -> None:
        self._process, self._jobs = os.getpid(), _Jobs()
        for _ in range(self.size - 1):
            threading.Thread(target=_serve, args=(self._jobs,), name="trick_envs kernels", daemon=True).start()
        weakref.finalize(self, _stop, self._jobs, self.size - 1)

    def __reduce__(self) -> tuple[type[Crew], tuple[int]]:
        return Crew, (self.size,)


def _work(task: Task, place: int, done: SimpleQueue[tuple[int, Any, BaseException | None]]) -> None:
    try:
        result = task()
    except BaseException as error:
        done.put((place, None, error))
    else:
        done.put((place, result, None))


def _serve(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        _work(*job)
        del job  # it would keep the caller's arrays alive


def _stop(jobs: _Jobs, threads: int) -> None:
    for _ in range(threads):
        jobs.put(None)
