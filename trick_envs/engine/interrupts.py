"""Calls that happen whole, or leave an object that says that it needs ``reset``: of Ctrl-C and opponents that raise."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from trick_envs.engine.copies import OwnCopies
from trick_envs.errors import ResetNeeded


class Interruptible(OwnCopies):
    """Something with ``reset`` and ``step`` that may be stopped half-way; then it asks for ``reset``."""

    _complete = True  # whether the last call has run to its end

    def _needs_complete(self) -> None:
        """Raises ``ResetNeeded`` if it has not."""
        if not self._complete:
            raise ResetNeeded("the last step() or reset() has stopped half-way: call reset()")


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Interruptible)


def whole(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method after which its object is complete if it returns, and not complete if anything is raised.

    That includes what is raised between the end of the work and the return: who called does not have the result then.
    """

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            self._complete = False
            result = method(self, *args, **kwargs)
            self._complete = True
            return result
        except BaseException:
            self._complete = False
            raise

    return guarded
