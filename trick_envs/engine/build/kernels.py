"""The kernels of a table: plain Python at first, then machine code, between two calls.

The compiler needs seconds for a game, plain Python none. So small work begins in plain Python (``twin.py``), while
another process compiles what is called (``process.py``). Large work waits for the compiler, and says so.

``TRICK_ENVS_COMPILE=first`` always waits, in this process: for measurements, and for tests of compiled code.
``TRICK_ENVS_COMPILE=never`` stays with plain Python: to debug rules. (So does ``NUMBA_DISABLE_JIT=1``.)
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trick_envs.engine.build import process, twin
from trick_envs.engine.build.cache import cache_folder
from trick_envs.engine.build.rule import KERNELS, Function, types_of
from trick_envs.errors import InputError, shown

MOST_RECORDS = 64  # in a call; more is large work
PATIENCE = 0.3  # seconds of plain Python in a game after which machine code that is in the cache is loaded: it takes
# about as long, and a program that ends sooner never needs it
LOOK = 0.002  # seconds of plain Python after which it is looked again whether the code is there

# They import the others.
_MODULES = ("kernels.batch", "kernels.seats", "search.playouts", "search.rollouts", "search.tree")
_LARGE = frozenset({"pimc", "ismcts", "draw_branches", "play_to_choice"})  # searches: thousands of plays in every call
_LOG = logging.getLogger("trick_envs")
_compiling = threading.RLock()  # a process that is forked meanwhile would have half of what Numba knows
_said: set[str] = set()  # of which it has been logged that it is compiled

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release
    )


def _asked_for(when: str) -> bool:
    asked = os.environ.get("TRICK_ENVS_COMPILE", "")
    if asked not in ("", "first", "never"):
        raise InputError(f"the variable TRICK_ENVS_COMPILE: expected 'first' or 'never', not {shown(asked)}")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):  # then Numba compiles nothing
        return when == "never"
    return asked == when


class Kernels:
    """The kernels of a table, as attributes.

    Those that Python calls are a ``Switch`` at first: plain Python, until there is machine code. Then the attribute is
    the compiled function itself. Whoever keeps one of them for longer than a match had better ask again, to save the
    detour.

    Args:
        name: the game's, and of which table, such as ``pepper-5``: another process finds the kernels by it.
        title: what is compiled, for the user.
        sources: the game's folder; an edit there recompiles.
        record: the type of the positions.
        bound: by name: the hooks, and the numbers that kernels have as constants.
        known: whether another process finds the game by its name.

    Attributes:
        plain: by name: this table's copies of all kernels.
        entries: by name: the machine code itself, of those that have taken over.
    """

    def __init__(
        self, name: str, title: str, sources: Path, record: np.dtype[Any], bound: Mapping[str, Any],
        known: Callable[[], bool],
    ) -> None:  # fmt: skip
        for module in _MODULES:
            importlib.import_module(f"trick_envs.engine.{module}")
        self._name, self.title, self._sources, self.record = name, title, sources, record
        self._bound, self.is_known = bound, known
        self.seconds, self.loaded = 0.0, False  # of plain Python so far; whether machine code runs in this process
        self.plain = {each: self._copy(each, kernel.function) for each, kernel in KERNELS.items()}
        for copy in self.plain.values():
            copy.__globals__.update(self.plain)
        self._switches: dict[str, Switch] = {}
        self.entries: dict[str, Callable[..., Any]] = {}

    def _copy(self, name: str, function: Function) -> types.FunctionType:
        """A copy of a kernel that calls this game's hooks, and other kernels of this table."""
        assert isinstance(function, types.FunctionType)
        space = {**function.__globals__, **self._bound}
        copy = types.FunctionType(function.__code__, space, name, function.__defaults__)
        # Numba names its symbols by ``__qualname__``. All copies of a kernel have the same source line; without the
        # table in their names, one would be taken for another.
        copy.__qualname__, copy.__module__ = f"{self._name}.{name}", function.__module__
        copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
        copy.inline = getattr(function, "inline", True)  # type: ignore[attr-defined]
        return copy

    @cached_property
    def folder(self) -> Path:
        """Where machine code is kept."""
        hooks = [each for each in self._bound.values() if isinstance(each, types.FunctionType)]
        return cache_folder(self._sources, hooks)

    def file(self, name: str) -> Path:
        """Where the machine code of a kernel is kept."""
        return self.folder / f"{self._name}.{name}.code"

    def direct(self, name: str) -> Callable[..., Any]:
        """A kernel for who makes small calls, one after the other: its machine code itself.

        The function that numba puts before it looks at the types of all arguments, which takes 300 ns. The code trusts
        them: call it only with arguments of the declared types. As long as there is none, it is the kernel: ask again
        for the next match.
        """
        if (entry := self.entries.get(name)) is not None:
            return entry
        switch = self._switch(name)
        if switch.compiles_first:
            switch.change_over()
        return self.entries.get(name, switch)

    def prepare(self, *names: str) -> None:
        """Compiles kernels for somebody who waits for all of them; another process helps.

        Args:
            names: those that take longest to compile first.
        """
        missing = [each for each in map(self._switch, names) if not each.is_there]
        if not missing or _asked_for("never"):
            return
        if not missing[0].compiles_first and len(missing) > 1:
            for each in missing[1:]:
                each.order(urgent=True)
        with self.notice():
            for each in missing:
                each.change_over()

    @contextlib.contextmanager
    def notice(self) -> Iterator[None]:
        """Says on a terminal what is waited for; the line is gone afterwards. Elsewhere it is logged."""
        text = f"compiling {self.title} for this machine, once"
        shown = sys.stderr is not None and sys.stderr.isatty()
        if self.title not in _said:
            _said.add(self.title)
            _LOG.info(text)
        over, begin = threading.Event(), time.monotonic()

        def show() -> None:
            while not over.wait(0.5):
                print(f"\r{text}: {time.monotonic() - begin + 1:.0f} s", end="", file=sys.stderr, flush=True)

        shows = threading.Thread(target=show, daemon=True)
        if shown:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
            shows.start()
        try:
            yield
        finally:
            if shown:
                over.set()
                shows.join()
                print("\r" + " " * (len(text) + 10) + "\r", end="", file=sys.stderr, flush=True)

    def _switch(self, name: str) -> Switch:
        if name not in self._switches:
            if name not in KERNELS or not KERNELS[name].called:
                raise AttributeError(f"there is no kernel {name!r} that Python may call")
            self._switches[name] = Switch(self, name)
        return self._switches[name]

    def __getattr__(self, name: str) -> Any:  # only for what is not there yet
        switch = self._switch(name)
        return self.__dict__.setdefault(name, switch.machine_code or switch)

    def __repr__(self) -> str:
        return f"<kernels of {self._name}>"


class Switch:
    """A kernel that is plain Python at first, and then machine code.

    Args:
        kernels: those of its table.
        name: which of them.

    Attributes:
        machine_code: Numba's compiled function, once it has taken over.
    """

    def __init__(self, kernels: Kernels, name: str) -> None:
        self._kernels, self._name = kernels, name
        self.machine_code: Any = None
        self._order: process.Order | None = None
        self._look = 0.0  # when it is looked again whether the code is there: in seconds of plain Python
        copy = self._copy = kernels.plain[name]
        self.__name__, self.__qualname__, self.__doc__ = copy.__name__, copy.__qualname__, copy.__doc__
        self.__module__ = copy.__module__

    def __call__(self, *arguments: Any) -> Any:
        run = self.machine_code
        return run(*arguments) if run is not None else self._first(arguments)

    @property
    def in_plain_python(self) -> bool:
        """Whether it still runs as plain Python."""
        return self.machine_code is None

    @property
    def compiles_first(self) -> bool:
        """Whether it is compiled here before it is called."""
        return not _asked_for("never") and (_asked_for("first") or not self._kernels.is_known())

    @property
    def is_there(self) -> bool:
        """Whether there is machine code. (Asking needs no compiler.)"""
        return self.machine_code is not None or self._file.exists()

    @cached_property
    def _file(self) -> Path:
        return self._kernels.file(self._name)

    def _first(self, arguments: Sequence[Any]) -> Any:
        if not _asked_for("never"):
            if self.compiles_first:
                return self.change_over()(*arguments)
            if self._name in _LARGE or _records(arguments) > MOST_RECORDS:
                with contextlib.nullcontext() if self.is_there else self._kernels.notice():
                    self.change_over()
                return self.machine_code(*arguments)
            if self._is_ready():
                return self.change_over()(*arguments)
        begin = time.perf_counter()
        try:
            return twin.call(self._copy, arguments)
        finally:
            self._kernels.seconds += time.perf_counter() - begin

    def _is_ready(self) -> bool:
        """Whether the machine code is to take over now; else sees to it that it will be there."""
        kernels = self._kernels
        if kernels.seconds < self._look:
            return False
        self._look = kernels.seconds + LOOK
        if self._file.exists():
            return kernels.loaded or kernels.seconds > PATIENCE or self._order is not None
        self.order()
        assert self._order is not None
        self._order.look()
        return self._order.lost

    def order(self, urgent: bool = False) -> None:
        """Asks another process for the machine code, if that has not been done."""
        if self._order is None:
            self._order = process.Order((self._kernels._name, self._name), self._kernels.folder, polite=not urgent)

    def change_over(self) -> Any:
        """Takes the compiled function from now on, and returns it."""
        if self.machine_code is None:
            with _compiling:
                if self.machine_code is None:
                    self._take_over()
        return self.machine_code

    def _take_over(self) -> None:
        from trick_envs.engine.build.compiler import machine_code

        kinds = types_of(KERNELS[self._name].function)
        compiled = machine_code(self._copy, kinds, self._kernels.record, self._file)
        self._kernels.entries[self._name] = next(iter(compiled.overloads.values())).entry_point
        self.machine_code = compiled
        self._kernels.loaded = True
        if self._name in vars(self._kernels):
            vars(self._kernels)[self._name] = compiled  # no detour for those who ask again

    def __deepcopy__(self, memo: Any) -> Switch:
        return self

    def __repr__(self) -> str:
        return f"<{self.__qualname__}, {'plain Python' if self.in_plain_python else 'compiled'}>"


def _records(arguments: Sequence[Any]) -> int:
    """How many games a call is about."""
    first = arguments[0] if arguments else None
    if isinstance(first, tuple):
        first = first[0]
    return len(first) if isinstance(first, np.ndarray) else 1
