"""Calls of compiled kernels from Python in a third of the time, for who makes them one play at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trick_envs.engine.changeover import Switch

_ENTRIES: dict[Any, Callable[..., Any]] = {}


def direct(kernel: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """The machine code of a kernel, without the dispatcher before it.

    A dispatcher looks at the types of all arguments to find the code for them, which takes 300 ns. The code itself
    trusts them: call it only with arguments of the same types as the examples.

    Args:
        kernel: from ``game.kernels``; it is compiled for such arguments, if it is not yet.
        examples: arguments, of the types that all calls will have.

    Returns:
        the machine code; the kernel itself, if it is plain Python for now (``changeover.py``) or for ever
        (``NUMBA_DISABLE_JIT=1``): ask again for the next match.
    """
    found: Any = kernel.settled() if isinstance(kernel, Switch) else kernel
    if not hasattr(found, "typeof_pyval"):
        return found
    entry = _ENTRIES.get(found)
    if entry is None:
        entry = _ENTRIES[found] = found.compile(tuple(map(found.typeof_pyval, examples)))
    return entry
