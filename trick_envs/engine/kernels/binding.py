"""Binding: a copy of every kernel for each table of a game, as plain Python and as machine code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from trick_envs.engine import hooks
from trick_envs.engine.cache import jit_disabled
from trick_envs.engine.changeover import Progress, Switch
from trick_envs.engine.compile import Rule, bind, bound_copy
from trick_envs.engine.plain import twin_of_kernel, twin_of_rule
from trick_envs.errors import InputTypeError

F = TypeVar("F", bound=Callable[..., Any])

# Compile-time constants: a game's copies of the kernels have the game's own values.
PHASES_OF_GAME: tuple[int, ...] = ()
HANDS_SEEN = False
TWO_PACKS = True  # whether the deck of a table may have two cards of a kind: without, the code for them is left out

_KERNELS: dict[str, Callable[..., Any]] = {}
_MODULES = ("kernels.batch", "kernels.seats", "search.playouts", "search.tree")  # they import the others
_LARGE = frozenset({"pimc", "ismcts", "draw_branches", "play_on"})  # searches: thousands of plays in every call


def kernel(function: F) -> F:
    """Marks a function that is copied and compiled for each game; it may call kernels defined before it."""
    _KERNELS[function.__name__] = function
    return function


def noinline(function: F) -> F:
    """Marks a long kernel that is not inlined into its callers, which would take minutes to compile."""
    function.noinline = True  # type: ignore[attr-defined]
    return function


class Kernels:
    """The kernels of a game, as attributes.

    Each is a ``Switch`` at first: plain Python, until there is machine code. Then the attribute is the compiled
    function itself. Whoever keeps one of them for longer than a match had better ask again, to save the detour.
    """

    def __init__(
        self, bound: Mapping[str, Any], name: str, title: str, folder: Path, known: Callable[[], bool]
    ) -> None:
        self._bound, self._name, self._folder, self._known = bound, name, folder, known
        self._progress = Progress(title)
        self._outer: dict[Callable[..., Any], Any] = {}  # what Python calls: Numba's functions

    @cached_property
    def _inner(self) -> dict[str, Any]:
        """What kernels call: Numba's functions, by name."""
        bound = dict(self._bound)
        for name, function in _KERNELS.items():
            bound[name] = bind(function, bound, self._name, self._folder, inner=True)
        return bound

    @cached_property
    def _plain(self) -> dict[str, Any]:
        bound = {name: twin_of_rule(each) if isinstance(each, Rule) else each for name, each in self._bound.items()}
        for name, function in _KERNELS.items():
            bound[name] = twin_of_kernel(function, bound)
        return bound

    def compiled(self, function: Callable[..., Any]) -> Any:
        """Numba's function for a kernel, or for a function of another module that calls kernels by their names."""
        if function not in self._outer:
            self._outer[function] = bind(function, self._inner, self._name, self._folder)
        return self._outer[function]

    def bind(self, function: Callable[..., Any]) -> Any:
        """A kernel of another module, which calls those of the engine by their names.

        It is not an attribute: keep it.
        """
        return self._switch(function)

    def prepare(self, calls: Mapping[str, Sequence[Any]]) -> None:
        """Says which kernels are going to be called with how large arguments, so that they are compiled side by side.

        Args:
            calls: arguments by the kernel's name; those that take longest to compile first.
        """
        for name, arguments in calls.items():
            if isinstance(switch := getattr(self, name), Switch) and switch.is_large(arguments):
                switch.prepare(arguments)

    def _switch(self, function: Callable[..., Any], changed: Callable[[Any], None] | None = None) -> Any:
        if jit_disabled():
            return self.compiled(function)
        return Switch(
            (self._name, function.__module__, function.__name__) if self._known() else None,
            bound_copy(function, {}, self._name),
            self._folder,
            lambda: self._plain.get(function.__name__) or twin_of_kernel(function, self._plain),
            lambda: self.compiled(function),
            self._progress,
            function.__name__ in _LARGE,
            changed,
        )

    def __getattr__(self, name: str) -> Any:  # only for what is not there yet
        if name in _KERNELS:
            found = self._switch(_KERNELS[name], lambda compiled: self.__dict__.update({name: compiled}))
        elif not name.startswith("_") and name in self._bound:
            found = self._bound[name]
        else:
            raise AttributeError(f"there is no kernel {name!r}")
        self.__dict__.setdefault(name, found)
        return self.__dict__[name]

    def __repr__(self) -> str:
        return f"<kernels of {self._name}>"


def bind_kernels(
    modules: Sequence[ModuleType],
    name: str,
    title: str,
    folder: Path,
    phases: Sequence[int],
    hands_seen: bool,
    known: Callable[[], bool],
    two_packs: bool = True,
) -> Kernels:
    """All kernels, bound to the hooks that a game's modules define.

    Args:
        modules: the game's.
        name: the game's, and of which table, such as ``pepper-5``: another process finds the kernels by it.
        title: what is compiled, for the user.
        folder: the game's; an edit there recompiles.
        phases: that occur in the game.
        hands_seen: whether a seat may come to know cards in the hands of others.
        known: whether another process finds the game by its name.
        two_packs: whether there are two cards of a kind.

    Raises:
        TypeError: if the game lacks a hook that every game has to define, or two of its modules define the same one.
    """
    for name_of_module in _MODULES:
        importlib.import_module(f"trick_envs.engine.{name_of_module}")
    bound: dict[str, Any] = {"PHASES_OF_GAME": tuple(phases), "HANDS_SEEN": hands_seen, "TWO_PACKS": two_packs}
    for hook in (*hooks.REQUIRED, *hooks.OPTIONAL):
        defined = [getattr(module, hook) for module in modules if _defines(module, hook)]
        if len(defined) > 1:
            raise InputTypeError(f"{name}: {hook}() is defined in more than one of its modules")
        if not defined and hook in hooks.REQUIRED:
            raise InputTypeError(
                f"{name}: no module of it defines {hook}() (trick_envs/engine/hooks.py says what it does)"
            )
        bound[hook] = defined[0] if defined else getattr(hooks, hook)
    return Kernels(bound, name, title, folder, known)


def _defines(module: ModuleType, hook: str) -> bool:
    function = getattr(module, hook, None)
    return function is not None and getattr(function, "__module__", None) == module.__name__
