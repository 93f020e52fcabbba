"""Binding: a compiled copy of every kernel for each game."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

from trick_envs.deprecation import warn_renamed
from trick_envs.engine import hooks
from trick_envs.engine.compile import bind
from trick_envs.errors import InputTypeError

F = TypeVar("F", bound=Callable[..., Any])

# Compile-time constants: a game's copies of the kernels have the game's own values.
PHASES_OF_GAME: tuple[int, ...] = ()
HANDS_SEEN = False

_KERNELS: list[Callable[..., Any]] = []
_MODULES = ("kernels.batch", "kernels.seats", "search.playouts", "search.tree")  # they import the others


def kernel(function: F) -> F:
    """Marks a function that is copied and compiled for each game; it may call kernels defined before it."""
    _KERNELS.append(function)
    return function


def noinline(function: F) -> F:
    """Marks a long kernel that is not inlined into its callers, which would take minutes to compile."""
    function.noinline = True  # type: ignore[attr-defined]
    return function


def bind_kernels(
    modules: Sequence[ModuleType], name: str, folder: Path, phases: Sequence[int], hands_seen: bool
) -> SimpleNamespace:
    """All kernels, bound to the hooks that a game's modules define.

    Raises:
        TypeError: if the game lacks a hook that every game has to define, or two of its modules define the same one.
    """
    for name_of_module in _MODULES:
        importlib.import_module(f"trick_envs.engine.{name_of_module}")
    bound: dict[str, Any] = {"PHASES_OF_GAME": tuple(phases), "HANDS_SEEN": hands_seen}
    for hook in (*hooks.REQUIRED, *hooks.OPTIONAL):
        defined = [getattr(module, hook) for module in modules if _defines(module, hook)]
        if not defined and hook in hooks.RENAMED:
            old = hooks.RENAMED[hook]
            defined = [getattr(module, old) for module in modules if _defines(module, old)]
            if defined:
                warn_renamed(f"{name}: the hook {old}()", f"{hook}()")
        if len(defined) > 1:
            raise InputTypeError(f"{name}: {hook}() is defined in more than one of its modules")
        if not defined and hook in hooks.REQUIRED:
            raise InputTypeError(
                f"{name}: no module of it defines {hook}() (trick_envs/engine/hooks.py says what it does)"
            )
        bound[hook] = defined[0] if defined else getattr(hooks, hook)
    for function in _KERNELS:
        bound[function.__name__] = bind(function, bound, name, folder)
    return SimpleNamespace(**bound)


def _defines(module: ModuleType, hook: str) -> bool:
    function = getattr(module, hook, None)
    return function is not None and getattr(function, "__module__", None) == module.__name__
