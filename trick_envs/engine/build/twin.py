"""The arguments of a kernel for plain Python, without the compiler.

The source is the same as for the compiler, the arguments are the same, and so are the results, to the bit. Compiled
code reads the small integers of a record as 64-bit ones; NumPy would compute with them as they are, and overflow. So
plain Python works on ``PlainState``: a record read into Python integers and lists, and written back when a kernel
returns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt


class Rows(list[Any]):
    """A two-dimensional array of a record: ``rows[i]`` is a list, ``rows[i, j]`` a number."""

    def __getitem__(self, key: Any) -> Any:
        return list.__getitem__(self, key[0])[key[1]] if type(key) is tuple else list.__getitem__(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is tuple:
            list.__getitem__(self, key[0])[key[1]] = value
        else:
            list.__getitem__(self, key)[:] = value


class PlainState:
    """One record as Python objects: numbers, lists of numbers, and ``Rows``, under the names of its fields."""

    _codec: Codec

    def clear_from(self, first: str) -> None:
        """Sets a field and all behind it to zero."""
        self._codec.clear(self, first)

    def copy_from(self, other: PlainState) -> None:
        """Becomes equal to another position."""
        self._codec.copy(other, self)

    def __getattr__(self, name: str) -> Any:  # only for what is not there; the fields are in ``__dict__``
        raise AttributeError(f"a position has no field {name!r}")


class Codec:
    """Reads and writes records of one type."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        assert dtype.names is not None
        assert dtype.fields is not None
        form, end, start = "<", 0, 0
        self.names = dtype.names
        self.scalars: list[tuple[str, int]] = []
        self.arrays: list[tuple[str, int, int, int]] = []  # name, first and last number, and numbers in a row (or 0)
        self.kinds: list[str] = []
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            assert offset == end, "records have no unnamed padding"
            end += field.itemsize
            count, code = int(np.prod(field.shape, dtype=int)), str(field.base.char)
            code = {"l": "q", "L": "Q"}.get(code, code) if field.base.itemsize == 8 else code
            form += f"{count}{code}"
            self.kinds += [code] * count
            if field.shape:
                self.arrays.append((name, start, start + count, field.shape[1] if len(field.shape) > 1 else 0))
            else:
                self.scalars.append((name, start))
            start += count
        self.struct, self.count = struct.Struct(form), start
        assert self.struct.size == end == dtype.itemsize
        self._names = [name for name, _ in self.scalars]
        self._pick = itemgetter(*(at for _, at in self.scalars))

    def decode(self, data: bytes) -> PlainState:
        """The record with these bytes."""
        values = self.struct.unpack(data)
        state = PlainState()
        fields = state.__dict__
        fields["_codec"] = self
        fields.update(zip(self._names, self._pick(values), strict=True))
        for name, start, stop, width in self.arrays:
            part = list(values[start:stop])
            fields[name] = Rows(part[i : i + width] for i in range(0, len(part), width)) if width else part
        return state

    def encode(self, state: PlainState) -> bytes:
        """The bytes of a record. Numbers that do not fit into a field lose their upper bits, as in compiled code."""
        values: list[Any] = [0] * self.count
        fields = state.__dict__
        for name, at in self.scalars:
            values[at] = fields[name]
        for name, start, stop, width in self.arrays:
            values[start:stop] = [each for row in fields[name] for each in row] if width else fields[name]
        try:
            return self.struct.pack(*values)
        except struct.error:
            return self.struct.pack(*map(_truncated, values, self.kinds))

    def copy(self, source: PlainState, target: PlainState) -> None:
        """Makes ``target`` equal to ``source``."""
        fields, others = target.__dict__, source.__dict__
        for name in self._names:
            fields[name] = others[name]
        for name, _, _, width in self.arrays:
            if width:
                for row, other in zip(fields[name], others[name], strict=True):
                    row[:] = other
            else:
                fields[name][:] = others[name]

    def clear(self, state: PlainState, first: str) -> None:
        """``PlainState.clear_from``."""
        fields, behind = state.__dict__, self.names[self.names.index(first) :]
        for name in behind:
            value = fields[name]
            if type(value) is Rows:
                for row in value:
                    row[:] = [0] * len(row)
            elif type(value) is list:
                value[:] = [0] * len(value)
            else:
                fields[name] = 0


def _truncated(value: Any, kind: str) -> Any:
    if kind not in "bBhHiIqQ":
        return value
    bits = 8 * struct.calcsize("<" + kind)
    low = int(value) & ((1 << bits) - 1)
    return low - (1 << bits) if kind.islower() and low >> (bits - 1) else low


@cache
def codec(dtype: np.dtype[Any]) -> Codec:
    """What reads and writes records of a type."""
    return Codec(dtype)


class PlainStates:
    """An array of records: ``states[i]`` is a ``PlainState``, always the same for the same ``i``.

    Of two dimensions: ``states[i]`` is such an array.
    """

    def __init__(self, states: npt.NDArray[Any]) -> None:
        self.array, self.shape, self._codec = states, states.shape, codec(states.dtype)
        self._read: dict[int, tuple[bytes, PlainState]] = {}
        self._rows = [PlainStates(row) for row in states] if states.ndim > 1 else []

    def __getitem__(self, i: int) -> Any:
        i = int(i)
        if i < 0:
            i += self.shape[0]
        if self._rows:
            return self._rows[i]
        found = self._read.get(i)
        if found is None:
            data = self.array[i].tobytes()
            found = self._read[i] = data, self._codec.decode(data)
        return found[1]

    def write_back(self) -> None:
        """Writes what has changed to the array."""
        for row in self._rows:
            row.write_back()
        for i, (before, state) in self._read.items():
            after = self._codec.encode(state)
            if after != before:
                self.array[i : i + 1] = np.frombuffer(after, self.array.dtype)


_NARROW = frozenset("bBhHiI")


def _argument(value: Any, records: dict[int, PlainStates]) -> Any:
    """What plain Python gets for an argument; ``records`` has the arrays of records so far, by ``id``."""
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            if id(value) not in records:
                records[id(value)] = PlainStates(value)
            return records[id(value)]
        if value.ndim == 1 and value.dtype.char in _NARROW:
            return memoryview(value)  # type: ignore[arg-type]  # its numbers are Python's
        return value
    if isinstance(value, tuple):
        each = [_argument(one, records) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else tuple(each)
    return value.item() if isinstance(value, np.generic) else value


def _result(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_result, value))
    return value.item() if isinstance(value, np.generic) else value


def call(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Calls a kernel in plain Python with the arguments that the compiled one takes.

    If it raises, no record has changed.
    """
    records: dict[int, PlainStates] = {}
    result = function(*(_argument(each, records) for each in arguments))
    for each in records.values():
        each.write_back()
    return _result(result)
