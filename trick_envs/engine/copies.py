"""Copies of objects that write into arrays of their own: what they need when they are unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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
