"""Copies of objects that change: they share nothing with their originals, and can write into their arrays."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np


class OwnCopies:
    """An object of which ``copy.copy`` is a copy of its own, too: it would play, or draw, with its original."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)


class OwnArrays:
    """An object that writes into its arrays: in a pickle whose buffers cannot be written, they are copied.

    Ray's object store and whatever maps pickles from shared memory give such buffers (pickle protocol 5).
    """

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(writable(state))


def writable(state: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes, with copies of the arrays that cannot be written; what was one array stays one."""
    copies: dict[int, Any] = {}

    def of(value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            return copies.setdefault(id(value), value.copy())
        return value

    return {name: of(value) for name, value in state.items()}
