"""Functions that begin as plain Python, and change over to machine code between two calls.

The compiler needs seconds for a game, plain Python none. So small work begins in the twin (``plain.py``), while another
process compiles what is called (``background.py``). Large work waits for the compiler, and says so.

``TRICK_ENVS_COMPILE=first`` always waits, in this process: for measurements, and for tests of compiled code.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trick_envs.engine import background, plain
from trick_envs.engine.cache import is_cached

MOST_RECORDS = 64  # in a call; more is large work
PATIENCE = 0.3  # seconds of plain Python in a game after which machine code that is in the cache is loaded: it takes
# about as long, and a program that ends sooner never needs it

_LOG = logging.getLogger("trick_envs")
_loading = threading.RLock()
_said: set[str] = set()  # of which it has been logged that it is compiled


def waits() -> bool:
    """Whether nothing is played before it is compiled."""
    return os.environ.get("TRICK_ENVS_COMPILE", "") == "first"


class Progress:
    """How far the functions of a game, or of the engine, have come.

    Attributes:
        title: what is compiled, as shown to the user.
        seconds: of plain Python so far.
        loaded: whether machine code of it runs in this process.
    """

    def __init__(self, title: str) -> None:
        self.title, self.seconds, self.loaded = title, 0.0, False


class Switch:
    """A function that is plain Python at first, and then machine code.

    Args:
        name: by which a process that compiles finds it; ``None`` if it cannot: then it is compiled here when it is
            first called.
        function: the source: for the name in the cache.
        folder: the sources that it depends on.
        make_plain: makes the twin.
        make_compiled: makes Numba's function.
        progress: of its game.
        always_large: whether every call is large work.
        changed: is told of the compiled function when it takes over.
    """

    def __init__(
        self,
        name: tuple[str, ...] | None,
        function: Callable[..., Any],
        folder: Path,
        make_plain: Callable[[], Callable[..., Any]],
        make_compiled: Callable[[], Any],
        progress: Progress,
        always_large: bool = False,
        changed: Callable[[Any], None] | None = None,
    ) -> None:
        self._name, self._function, self._folder = name, function, folder
        self._make_plain, self._make_compiled = make_plain, make_compiled
        self._progress, self._always_large, self._changed = progress, always_large, changed
        self._direct: Any = None  # the compiled function, once it has taken over
        self._order: background.Order | None = None
        self.__name__, self.__qualname__, self.__doc__ = function.__name__, function.__qualname__, function.__doc__
        self.__module__ = function.__module__

    def __call__(self, *arguments: Any) -> Any:
        direct = self._direct
        return direct(*arguments) if direct is not None else self._first(arguments)

    @property
    def in_plain_python(self) -> bool:
        """Whether it still runs as plain Python."""
        return self._direct is None

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        return self._make_plain()

    @cached_property
    def compiled(self) -> Any:
        """Numba's function."""
        return self._make_compiled()

    @cached_property
    def _in_cache(self) -> bool:
        return is_cached(self._function, self._folder)

    def _first(self, arguments: Sequence[Any]) -> Any:
        if self._name is None or waits() or any(isinstance(each, np.void) for each in arguments):
            return self.change_over()(*arguments)
        if self.is_large(arguments):
            self._wait(self.prepare(arguments))
            return self.change_over()(*arguments)
        if self._is_ready(arguments):
            return self.change_over()(*arguments)
        begin = time.perf_counter()
        try:
            return plain.call(self._plain, arguments)
        finally:
            self._progress.seconds += time.perf_counter() - begin

    def settled(self) -> Any:
        """The compiled function, if that is what runs from the next call on; else this switch."""
        if self._direct is None and (self._name is None or waits()):
            self.change_over()
        return self if self._direct is None else self._direct

    def is_large(self, arguments: Sequence[Any]) -> bool:
        """Whether a call with these arguments is worth waiting for the compiler."""
        return self._always_large or _records(arguments) > MOST_RECORDS

    def _is_ready(self, arguments: Sequence[Any]) -> bool:
        """Whether the machine code is there; else sees to it that it will be."""
        if self._order is None and self._in_cache:
            return self._progress.loaded or self._progress.seconds > PATIENCE
        if self._order is None:
            self._order = background.ask(self._name or (), arguments)
        return self._order.outcome is not None

    def prepare(self, arguments: Sequence[Any]) -> background.Order | None:
        """Orders the machine code for such arguments, for somebody who is going to wait for it."""
        if self._order is None and self._direct is None and self._name is not None and not (self._in_cache or waits()):
            self._order = background.ask(self._name, arguments, urgent=True)
        return self._order

    def _wait(self, order: background.Order | None) -> None:
        if order is not None and order.outcome is None and not order.wait(1.0):
            with _Notice(self._progress.title) as notice:
                while not order.wait(0.5):
                    notice.go_on()

    def change_over(self) -> Any:
        """Takes the compiled function from now on, and returns it."""
        with _loading:
            self._direct = self.compiled
            self._progress.loaded = True
            if self._changed is not None:
                self._changed(self._direct)
        return self._direct

    def __deepcopy__(self, memo: Any) -> Switch:
        return self

    def __repr__(self) -> str:
        return f"<{self.__qualname__}, {'plain Python' if self.in_plain_python else 'compiled'}>"


def _records(arguments: Sequence[Any]) -> int:
    """How many games a call is about."""
    first = arguments[0] if arguments else None
    return len(first) if isinstance(first, np.ndarray) else 1


class _Notice:
    """Says on a terminal what is waited for, and for how long; the line is gone afterwards. Elsewhere it is logged."""

    def __init__(self, title: str) -> None:
        self._text = f"compiling {title} for this machine, once"
        self._begin, self._shown = time.monotonic(), sys.stderr is not None and sys.stderr.isatty()
        if title not in _said:
            _said.add(title)
            _LOG.info(self._text)

    def __enter__(self) -> _Notice:
        self.go_on()
        return self

    def go_on(self) -> None:
        if self._shown:
            print(f"\r{self._text}: {time.monotonic() - self._begin + 1:.0f} s", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: Any) -> None:
        if self._shown:
            print("\r" + " " * (len(self._text) + 10) + "\r", end="", file=sys.stderr, flush=True)
