"""Where tasks run: in this process, in others, or on a Ray cluster.

What a task returns depends only on its arguments. So it may run anywhere, in any order, and again if it is lost.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol, TypeVar, TypeVarTuple

from trick_envs.parallel.threads import wait_passively

Args = TypeVarTuple("Args")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

_PATIENCE = 10.0  # seconds that the programs of a worker have to end


class TaskExecutor(Protocol):
    """What runs tasks."""

    @property
    def in_flight(self) -> int:
        """How many tasks should be submitted at a time, so that no worker waits: 1 in this process, which works while
        it submits, else two per worker."""

    def submit(self, fn: Callable[[*Args], Result], /, *args: *Args) -> Future[Result]:
        """Runs a function of a module with these arguments."""

    def share(self, value: Shared) -> Shared:
        """An argument for many tasks, such as the weights of a network: with Ray, it travels once to every node."""


class ThisProcess:
    """One worker: this process."""

    in_flight = 1

    def submit(self, fn: Callable[[*Args], Result], /, *args: *Args) -> Future[Result]:
        future: Future[Result] = Future()
        future.set_result(fn(*args))
        return future

    def share(self, value: Shared) -> Shared:
        return value


class Processes:
    """Workers on this machine.

    Args:
        pool: of processes.
        workers: how many.
    """

    def __init__(self, pool: Executor, workers: int) -> None:
        self._pool = pool
        self.in_flight = 2 * workers

    def submit(self, fn: Callable[[*Args], Result], /, *args: *Args) -> Future[Result]:
        return self._pool.submit(fn, *args)

    def share(self, value: Shared) -> Shared:
        return value


@contextmanager
def make_executor(workers: int, ray: str | None = None) -> Iterator[TaskExecutor]:
    """An executor whose workers are stopped at the end of the block, whatever they are doing.

    Args:
        workers: number of processes on this machine.
        ray: ``None``: without Ray. ``"local"``: with Ray on this machine, and so many workers. Otherwise the address of
            a Ray cluster, all of whose cores are workers, those of nodes that join later, too.

    Raises:
        ChildProcessError: if a process died. With Ray, only if the same task has lost its process several times.
        ImportError: if Ray is asked for, and not installed.
        ConnectionError: if there is no cluster at the address.
    """
    if ray is not None:
        from trick_envs.parallel.ray_executor import ray_executor

        with ray_executor(workers, ray) as executor:
            yield executor
    elif workers == 1:
        yield ThisProcess()
    else:
        with _processes(workers) as pool:
            yield Processes(pool, workers)


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    wait_passively()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_worker)
    try:
        yield pool
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker process died (is there enough memory?); finished deals are kept: run it again, with fewer workers"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which terminates its workers
    signal.signal(signal.SIGTERM, lambda *_: _end())
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _end()


def _end() -> None:
    """Ends this process, whatever it is doing, and before it the programs that it has started to play."""
    ending = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    ending.start()
    ending.join(_PATIENCE)
    os._exit(1)
