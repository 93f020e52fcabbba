"""Marks: ``@rule`` for functions of the rules and the engine, ``@kernel`` for loops that are copied for every table.

A marked function stays a plain function. Nothing is compiled here (``compiler.py``), and Numba is not imported.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

RULES: list[Function] = []
KERNELS: dict[str, Kernel] = {}


class ArrayOf(NamedTuple):
    """The type of an array, as an annotation: contiguous, and as the machine code of a kernel expects it.

    Attributes:
        dtype: of its items; ``None``: positions of the table.
        ndim: how many axes it has.
        readonly: whether it may be one that cannot be written.
    """

    dtype: Any
    ndim: int
    readonly: bool = False


@dataclass(frozen=True)
class Kernel:
    """A function that every table has a copy of.

    Attributes:
        function: the function, which calls hooks and other kernels by their global names.
        called: whether Python calls it.
    """

    function: Function
    called: bool


def types_of(function: Function) -> list[Any]:
    """The types of the arguments of a function that Python calls.

    ``int``, ``bool``, ``float``, ``np.uint64``, an ``ArrayOf``, or a tuple class.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    return [type_of(hint) for name, hint in hints.items() if name != "return"]


def type_of(hint: Any) -> Any:
    """What an annotation says of the type of an argument."""
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, ArrayOf)), hint)


def _mark(function: Function, inline: bool) -> None:
    function.inline = inline  # type: ignore[attr-defined]


def rule(function: F | None = None, *, inline: bool = True) -> Any:
    """Marks a function of the rules or the engine, which is to become machine code.

    Args:
        function: the function.
        inline: whether it is compiled into every function that calls it. For a long function that is called in several
            places it makes no difference in speed, but takes much longer to compile: ``@rule(inline=False)``.
    """
    if function is None:
        return lambda function: rule(function, inline=inline)
    _mark(function, inline)
    RULES.append(function)
    return function


def kernel(function: F | None = None, *, inline: bool = True, called: bool = False) -> Any:
    """Marks a function that is copied and compiled for each table; it may call kernels that are defined before it.

    Args:
        function: the function.
        inline: as for ``rule``.
        called: whether Python calls it: its annotations are then the types of its arguments.
    """
    if function is None:
        return lambda function: kernel(function, inline=inline, called=called)
    _mark(function, inline)
    KERNELS[function.__name__] = Kernel(function, called)
    return function
