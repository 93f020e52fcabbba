"""Where chunks are played: in this process or in others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any


class ThisProcess(Executor):
    """One worker: this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def make_executor(workers: int) -> Iterator[Executor]:
    """An executor whose processes are terminated at the end of the block, whatever they are doing.

    Raises:
        ChildProcessError: if a process died.
    """
    if workers == 1:
        yield ThisProcess()
        return
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # the workers inherit it
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
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
