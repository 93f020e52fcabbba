"""Threads that share steps of all games of a ``BatchEnv``.

To hand Python functions over to other threads (``threads.py``) takes as long as some 400 plays of cards. Steps follow
each other closely: these threads stay in compiled code in between, and begin as soon as a word in memory says so.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.kernels.batch import APART

WAITING = 1 << 16  # turns of a loop, 1 to 4 ms, before a thread sleeps
WAITING_CALLER = 1 << 12  # before the caller lets others run


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Team:
    """Threads that share the games of every step (``share_rows`` of ``kernels/batch.py``), without the interpreter.

    A thread that waits for long sleeps, and is woken by the next step. The threads end with the object, which belongs
    to the process that made it.

    Args:
        kernels: machine code of ``begin_turn``, ``share_rows`` and ``turn_is_over``.
        ends: ``(threads + 1,) int64``: thread ``k`` has the games from ``ends[k]`` to ``ends[k + 1]``; the caller is
            thread 0.
        arguments: of ``share_rows``, from the positions on.
    """

    def __init__(
        self,
        kernels: tuple[Callable[..., int], Callable[..., Any], Callable[..., bool]],
        ends: npt.NDArray[np.int64],
        arguments: tuple[Any, ...],
    ) -> None:
        self._begin_turn, self._share_rows, self._turn_is_over = kernels
        self.process, self.arguments = os.getpid(), arguments
        words = np.zeros(2 * len(ends) * APART, np.int64)
        words[: (len(ends) - 1) * APART : APART] = ends[-1]  # nothing to claim: there are fewer portions than games
        self._ends, self._words = ends, words
        self._members = [_Member() for _ in ends[2:]]
        for thread, member in enumerate(self._members, 1):
            given = (words, ends, thread, WAITING, *arguments)
            threading.Thread(
                target=member.work, args=(self._share_rows, given), name="trick_envs kernels", daemon=True
            ).start()
        weakref.finalize(self, _dismiss, self._members)

    def check(self) -> int:
        """The first game whose action is not legal, or -1."""
        self._take_turn(1)
        return int(self._words[len(self._ends) * APART])

    def play(self) -> None:
        """Plays all actions."""
        self._take_turn(0)

    def _take_turn(self, checks: int) -> None:
        try:
            if self._begin_turn(self._words, self._ends, checks):
                for member in self._members:
                    member.wake.set()
        finally:  # Ctrl-C, too, leaves no step half done
            self._share_rows(self._words, self._ends, 0, 0, *self.arguments)
            while not self._turn_is_over(self._words, self._ends, WAITING_CALLER):
                time.sleep(0)  # with fewer cores than threads, the others have to have one


class _Member:
    """A thread of a team. It does not know the team, so that it ends when nobody else knows it, either."""

    def __init__(self) -> None:
        self.wake, self.over = threading.Event(), False

    def work(self, share_rows: Callable[..., Any], given: tuple[Any, ...]) -> None:
        while not self.over:
            share_rows(*given)
            self.wake.wait()
            self.wake.clear()


def _dismiss(members: Sequence[_Member]) -> None:
    for member in members:
        member.over = True
        member.wake.set()
