"""Ray as the executor: on this machine, or on a cluster that somebody else has started.

Tasks are Ray's tasks, not actors: an actor's state would be lost with its node. Ray runs a task again whose node or
process was lost, and a task has one result, however often it runs. Nodes that join later get their share.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, TypeVarTuple

from trick_envs.engine.build.digest import digest_of_all, sources_digest
from trick_envs.errors import InputError, MissingExtraError
from trick_envs.parallel.threads import wait_passively

Args = TypeVarTuple("Args")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

LOCAL = "local"
LOST = 10  # how often a task may lose its node or process
LOOK_AGAIN = 1.0  # seconds, for the number of cores
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}


@contextmanager
def ray_executor(workers: int, address: str) -> Iterator[RayExecutor]:
    """Starts Ray on this machine, or joins a cluster; see ``make_executor``."""
    prepare(address)
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError("--ray needs Ray: pip install 'trick_envs[ray]'") from None
    if address == LOCAL:
        ray.init("local", num_cpus=workers, num_gpus=0, include_dashboard=False, **_QUIET)
    else:
        _check(address)
        ray.init(address, **_QUIET)
    try:
        yield RayExecutor(ray, None if address == LOCAL else code_digest())
    except ray.exceptions.RayError as error:
        raise ChildProcessError(f"Ray could not finish a task; finished work is kept: run it again. {error}") from None
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Whether anybody answers there: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            raise ConnectionError(f"--ray {address}: no cluster answers there ({error})") from None


def prepare(address: str) -> None:
    """Settings that Ray and its processes read from the environment when they begin."""
    wait_passively()
    settings = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the default of the future, without its warning
        "RAY_worker_niceness": "0",  # workers have the priority of this process, as they do without Ray
    }
    if address == LOCAL and "ray" not in sys.modules:  # nobody else may run code here: Ray's ports are open to all
        settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in settings.items():
        os.environ.setdefault(name, value)


class RayExecutor:
    """A ``TaskExecutor``: the cluster that this process is connected with, each of whose cores is a worker.

    Args:
        ray: the module.
        digest: of the code that all nodes need to have; ``None``: they are this machine.
    """

    def __init__(self, ray: ModuleType, digest: str | None) -> None:
        self._ray, self._digest = ray, digest
        self._run = ray.remote(num_cpus=1, max_retries=LOST)(_run)
        self._cores, self._looked = 1, -LOOK_AGAIN

    @property
    def in_flight(self) -> int:
        now = time.monotonic()
        if now >= self._looked + LOOK_AGAIN:
            self._cores, self._looked = max(1, int(self._ray.cluster_resources().get("CPU", 0))), now
        return 2 * self._cores

    def submit(self, fn: Callable[[*Args], Result], /, *args: *Args) -> Future[Result]:
        return _RayFuture(self._run.remote(self._digest, fn, *args), self._ray)

    def share(self, value: Shared) -> Shared:
        return self._ray.put(value) if value else value


class _RayFuture(Future[Result]):
    """The result of a task, or the error that it raised."""

    def __init__(self, reference: Any, ray: ModuleType) -> None:
        super().__init__()
        self._reference, self._ray = reference, ray
        reference.future().add_done_callback(self._settle)

    def _settle(self, done: Future[Result]) -> None:
        error = done.exception()
        if error is None:
            self.set_result(done.result())
        elif isinstance(error, self._ray.exceptions.RayTaskError):
            raised: BaseException = error.cause
            raised.__cause__ = error  # which has its traceback in words, as those of other processes
            self.set_exception(raised)
        else:
            self.set_exception(error)

    def cancel(self) -> bool:
        """Stops the task, even if it is running."""
        self._ray.cancel(self._reference)
        return True


def _run(digest: str | None, fn: Callable[[*Args], Result], *args: *Args) -> Result:
    if digest not in (None, code_digest()):
        raise InputError(f"{socket.gethostname()} has another version of trick_envs than the machine of the command")
    return fn(*args)


def code_digest() -> str:
    """A digest of the code of both packages: all nodes of a cluster need the same."""
    found = [find_spec("trick_envs"), find_spec("training")]
    return digest_of_all(*(sources_digest(Path(str(each.origin)).parent, below=True) for each in found if each))
