"""Compilation: ``@rule`` and ``@subroutine`` for functions of the rules and the engine, ``bind`` for kernels.

Neither compiles anything: machine code is made when it is needed (``changeover.py``), and kept (``cache.py``).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from trick_envs.engine.cache import jit_disabled, machine_code
from trick_envs.engine.changeover import Progress, Switch
from trick_envs.engine.plain import twin_of_rule

F = TypeVar("F", bound=Callable[..., Any])

_ENGINE = Progress("the engine")


class Rule:
    """A function of the rules or the engine: plain Python (``py_func``) and machine code (``compiled``).

    Kernels and other rules call the one or the other. A call from Python runs machine code, if that is there
    (``Switch``).
    """

    def __init__(self, function: Callable[..., Any], inline: bool) -> None:
        self.py_func, self._inline = function, inline
        functools.update_wrapper(self, function)

    @property
    def _folder(self) -> Path:
        return Path(self.py_func.__code__.co_filename).parent

    @cached_property
    def compiled(self) -> Any:
        """Numba's function (a ``Dispatcher``), for calls from Python."""
        return machine_code(self.py_func, self._folder, self._inline)

    @cached_property
    def _inner(self) -> Any:
        """Numba's function, for calls from compiled code."""
        return machine_code(self.py_func, self._folder, self._inline, inner=True)

    @property
    def _numba_type_(self) -> Any:
        """What Numba sees where compiled code names this rule."""
        return self._inner._numba_type_

    @cached_property
    def _switch(self) -> Switch:
        function = self.py_func
        return Switch(
            ("", function.__module__, function.__qualname__),
            function,
            self._folder,
            lambda: twin_of_rule(self),
            lambda: self.compiled,
            _ENGINE,
        )

    def __call__(self, *arguments: Any) -> Any:
        return self._switch(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    def __repr__(self) -> str:
        return f"<rule {self.py_func.__module__}.{self.py_func.__qualname__}>"


def rule(function: F) -> F:
    """Marks a plain function of the rules or the engine, which is to become machine code."""
    return function if jit_disabled() else cast(F, Rule(function, inline=True))


def subroutine(function: F) -> F:
    """``rule`` for a long function that is called in several places: it is not compiled into its callers.

    Inlining it everywhere would make no difference in speed, but take much longer to compile.
    """
    return function if jit_disabled() else cast(F, Rule(function, inline=False))


def bind(kernel: Callable[..., Any], functions: Mapping[str, Any], name: str, folder: Path, inner: bool = False) -> Any:
    """A copy of a generic ``kernel`` that calls the given ``functions``, compiled.

    Args:
        kernel: a plain function that refers to a game's functions by their global names.
        functions: by name: the functions that this copy calls.
        name: the game's; distinguishes the copies in the compile cache.
        folder: the game's; an edit there recompiles the copy.
        inner: whether only compiled code calls the copy.
    """
    return machine_code(bound_copy(kernel, functions, name), folder, not hasattr(kernel, "noinline"), inner)


def bound_copy(kernel: Callable[..., Any], functions: Mapping[str, Any], name: str) -> Callable[..., Any]:
    """The copy of ``bind``, not compiled."""
    copy = types.FunctionType(
        kernel.__code__, {**kernel.__globals__, **functions}, kernel.__name__, kernel.__defaults__
    )
    # Numba names the files of a function in the cache, and its symbols in machine code, by ``__qualname__``. All games'
    # copies of a kernel have the same source line; without the game in their names, one would be taken for another.
    copy.__qualname__ = f"{name}.{kernel.__name__}"
    copy.__module__, copy.__doc__ = kernel.__module__, kernel.__doc__
    return copy
