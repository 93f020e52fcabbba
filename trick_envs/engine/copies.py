"""Copies of objects that change: they share nothing with their originals, and can write into their arrays; and those
arrays, which stay the same ones.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


class OwnCopies:
    """An object of which ``copy.copy`` is a copy of its own, too: it would play, or draw, with its original."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)


class OwnArrays:
    """An object that writes into its arrays: a copy has its own, whatever memory a pickle's buffers lie in.

    Those of protocol 5 may be the original's, or another copy's; from Ray's object store, they cannot be written.
    """

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        copies: dict[int, Any] = {}  # what was one array stays one
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value = copies.setdefault(id(value), value.copy())
            self.__dict__[name] = value


class InPlace(Generic[T]):
    """An array, as an attribute, that compiled code writes in place: another one that is assigned is copied into it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    if TYPE_CHECKING:  # it is read from where the instance has it

        def __get__(self, instance: Any, owner: type) -> npt.NDArray[T]: ...

    def __set__(self, instance: Any, array: npt.NDArray[T]) -> None:
        kept: npt.NDArray[T] = vars(instance).setdefault(self._name, array)
        if kept is not array:
            kept[...] = array
