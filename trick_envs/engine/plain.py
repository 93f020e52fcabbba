"""The twin: the same rules and kernels as plain Python, on the same records, without the compiler.

A rule that is marked with ``@rule`` calls others by their global names, where compiled functions lie. ``twin`` makes
copies of all of them that call each other instead. The source is the same, the arguments are the same, and so are the
results, to the bit.

Compiled code reads the small integers of a record as 64-bit ones; NumPy would compute with them as they are, and
overflow. So the twin works on ``PlainState``: a record read into Python integers and lists, and written back when a
kernel returns.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine import intrinsics

Function = Callable[..., Any]

# --- records as Python objects ------------------------------------------------------------------------------------


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

    def __getattr__(self, name: str) -> Any:  # only for what is not there; the fields are in ``__dict__``
        raise AttributeError(f"a position has no field {name!r}")


class Codec:
    """Reads and writes records of one type."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        assert dtype.names is not None
        assert dtype.fields is not None
        form, end, start = "<", 0, 0
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
        starts_at = intrinsics.DEAL_STARTS_AT  # in positions; a search has other records, too
        of_a_deal = set(dtype.names[dtype.names.index(starts_at) :] if starts_at in dtype.names else ())
        self.deal_scalars = dict.fromkeys((name for name in self._names if name in of_a_deal), 0)
        self.deal_arrays = [name for name, *_ in self.arrays if name in of_a_deal]

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

    def __setitem__(self, i: int, state: PlainState) -> None:
        self._codec.copy(state, self[i])

    def write_back(self) -> None:
        """Writes what has changed to the array."""
        for row in self._rows:
            row.write_back()
        for i, (before, state) in self._read.items():
            after = self._codec.encode(state)
            if after != before:
                self.array[i : i + 1] = np.frombuffer(after, self.array.dtype)


# --- the intrinsics, for records and buffers as above ---------------------------------------------------------------


def _clear_deal(state: PlainState) -> None:
    fields, known = state.__dict__, state._codec
    fields.update(known.deal_scalars)
    for name in known.deal_arrays:
        array = fields[name]
        if type(array) is Rows:
            for row in array:
                row[:] = [0] * len(row)
        else:
            array[:] = [0] * len(array)


def _store(data: bytes, out: Any, at: int) -> None:
    """Writes bytes to an ``int8`` array or a memory view of one."""
    if isinstance(out, memoryview):
        out[at : at + len(data)] = memoryview(data).cast("b")
    else:
        out[at : at + len(data)] = np.frombuffer(data, np.int8)


_BITS = bytes.maketrans(b"01", b"\0\1")


def _bytes_of(bits: int, length: int) -> bytes:
    """The lowest bits of a number, one byte each."""
    return f"{int(bits) & ((1 << int(length)) - 1):0{length}b}"[::-1].encode().translate(_BITS)


def _write_bits(low: int, high: int, split: int, out: Any, at: int, length: int) -> None:
    if length > 0:
        _store(_bytes_of(int(low) | (int(high) << split), length), out, at)


def _write_bit_sums(one: int, other: int, out: Any, at: int, length: int) -> None:
    if length > 0:
        data = _bytes_of(int(one), length)
        if other:
            data = bytes(map(int.__add__, data, _bytes_of(int(other), length)))
        _store(data, out, at)


def _append_bits(word: int, filled: int, bits: int, length: int, out: Any, at: int) -> tuple[int, int, int]:
    filled, length = int(filled), int(length)  # what hangs on a number of an array may be one of NumPy's
    together, filled = int(word) | ((int(bits) & ((1 << length) - 1)) << filled), filled + length
    if filled < 64:
        return together, filled, at
    _store(_bytes_of(together, 64), out, at)
    return together >> 64, filled - 64, at + 64


def _clear_bytes(out: Any, at: int, length: int) -> None:
    _store(bytes(length), out, at)


def _copy_bytes(source: Any, start: int, out: Any, at: int, length: int) -> None:
    part = source[start : start + length]
    if type(part) is not list:
        out[at : at + length] = part
    else:
        _store(struct.pack(f"{length}b", *part), out, at)


_INSTEAD: dict[Any, Function] = {
    intrinsics.clear_deal: _clear_deal,
    intrinsics.write_bits: _write_bits,
    intrinsics.spill_bits: _write_bits,
    intrinsics.write_bit_sums: _write_bit_sums,
    intrinsics.spill_bit_sums: _write_bit_sums,
    intrinsics.clear_bytes: _clear_bytes,
    intrinsics.spill_zeros: _clear_bytes,
    intrinsics.copy_bytes: _copy_bytes,
    intrinsics.spill_copy: _copy_bytes,
    intrinsics.append_bits: _append_bits,
}

# --- functions that call each other --------------------------------------------------------------------------------


_SPACES: dict[int, tuple[Any, dict[str, Any]]] = {}  # by module: its names, with twins instead of rules
_TWINS: dict[int, tuple[Any, Function]] = {}  # by rule; the keys are ``id``s, so what they belong to is kept


def _copied(function: Function, space: dict[str, Any]) -> Function:
    made: Any = function
    copy = types.FunctionType(made.__code__, space, made.__name__, made.__defaults__, made.__closure__)
    copy.__qualname__, copy.__module__, copy.__kwdefaults__ = made.__qualname__, made.__module__, made.__kwdefaults__
    return copy


def _space(names: dict[str, Any]) -> dict[str, Any]:
    """A copy of a module's names in which every rule is its twin."""
    found = _SPACES.get(id(names))
    if found is None:
        found = _SPACES[id(names)] = names, dict(names)  # first, because modules may name each other's functions
        space = found[1]
        for name, value in names.items():
            space[name] = _replaced(value)
    return found[1]


def _replaced(value: Any) -> Any:
    if type(value).__name__ == "Rule":
        return twin_of_rule(value)
    if isinstance(value, types.FunctionType):
        return _INSTEAD.get(value, value)
    return value


def twin_of_rule(rule: Any) -> Function:
    """The twin of a function marked with ``@rule``."""
    found = _TWINS.get(id(rule))
    if found is None:
        function = rule.py_func
        found = _TWINS[id(rule)] = rule, _copied(function, _space(function.__globals__))
    return found[1]


def twin_of_kernel(kernel: Function, bound: Mapping[str, Any]) -> Function:
    """The twin of a kernel, which calls ``bound`` by their names: the twins of a game's hooks, and other kernels."""
    return _copied(kernel, {**_space(kernel.__globals__), **bound})


# --- calls ----------------------------------------------------------------------------------------------------------

_NARROW = frozenset("bBhHiI")


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.names is not None:
            return PlainStates(value)
        if value.ndim == 1 and value.dtype.char in _NARROW:
            return memoryview(value)  # type: ignore[arg-type]  # its numbers are Python's
        return value
    return value.item() if isinstance(value, np.generic) else value


def _result(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_result, value))
    return value.item() if isinstance(value, np.generic) else value


def call(function: Function, arguments: Sequence[Any]) -> Any:
    """Calls a twin with the arguments that the compiled function takes. If it raises, no record has changed."""
    seen: dict[int, Any] = {}
    taken = [seen.setdefault(id(each), _argument(each)) for each in arguments]
    result = function(*taken)
    for each in seen.values():
        if type(each) is PlainStates:
            each.write_back()
    return _result(result)
