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
        copies: dict[int, Any] = {}  # what was one array stays one
        for name, value in state.items():
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                value = copies.setdefault(id(value), value.copy())
            self.__dict__[name] = value
