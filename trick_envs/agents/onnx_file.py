"""Reads an ONNX file without trusting it: its parts, checked, before anything compiled sees it.

Only what a policy needs is let through: one graph of operators of ONNX itself, with its numbers inside the file.
Functions, custom operators, graphs within the graph (loops) and external data are refused, and so is every field that
is unknown here, or that stands twice where once is allowed: another reader might take it otherwise.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.errors import InputError

MAX_BYTES = 64 << 20  # of a file
MAX_PARTS = 200_000  # messages, strings and numbers in one file; arrays count as one
MAX_RANK = 8
KNOWN = 1024  # numbers in a tensor that are read: sizes and indices, not weights

Attribute: TypeAlias = "int | float | str | list[int] | list[float] | Tensor"


class GraphError(InputError):
    """A file that is damaged, or computes what no policy has to; the message says what, without the file's name."""


@dataclass(frozen=True)
class Tensor:
    """A constant of the file.

    Attributes:
        shape: its lengths.
        numbers: its numbers as Python's own (``int``, ``bool``, ``float``), if they are few.
        whole: whether they are integers or truth values.
    """

    shape: tuple[int, ...]
    numbers: npt.NDArray[np.object_] | None
    whole: bool


@dataclass(frozen=True)
class Node:
    """An operation.

    Attributes:
        kind: the operator.
        inputs, outputs: names of values; ``""`` stands for one that is left out.
        attributes: by name.
    """

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Attribute]


@dataclass
class Graph:
    """What the file holds.

    Attributes:
        nodes: in their order.
        constants: by name.
        inputs: by name, its lengths; ``None`` for one that is not fixed. ``()`` if the file does not say.
        outputs: names.
        metadata: texts by key.
    """

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Tensor] = field(default_factory=dict)
    inputs: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)


def read_graph(content: bytes) -> Graph:
    """The graph in a file.

    Raises:
        GraphError: if it is none, or more than a policy needs.
    """
    if len(content) > MAX_BYTES:
        raise GraphError(f"it has {len(content):,} bytes: at most {MAX_BYTES:,} are allowed")
    try:
        return _Reader(content).graph()
    except (struct.error, UnicodeDecodeError, IndexError, OverflowError) as error:
        raise GraphError("it is damaged, or no ONNX file") from error


# --- fields of messages: number: (name, what it holds); behind a "*" any number of them -------------------------------

_MODEL = {
    1: ("ir_version", "int"), 2: ("producer_name", "text"), 3: ("producer_version", "text"), 4: ("domain", "text"),
    5: ("model_version", "int"), 6: ("doc_string", "text"), 7: ("graph", "bytes"), 8: ("opset_import", "bytes*"),
    14: ("metadata_props", "bytes*"),
}  # fmt: skip
_GRAPH = {
    1: ("node", "bytes*"), 2: ("name", "text"), 5: ("initializer", "bytes*"), 10: ("doc_string", "text"),
    11: ("input", "bytes*"), 12: ("output", "bytes*"), 13: ("value_info", "bytes*"), 16: ("metadata_props", "bytes*"),
}  # fmt: skip
_NODE = {
    1: ("input", "text*"), 2: ("output", "text*"), 3: ("name", "text"), 4: ("op_type", "text"),
    5: ("attribute", "bytes*"), 6: ("doc_string", "text"), 7: ("domain", "text"), 9: ("metadata_props", "bytes*"),
}  # fmt: skip
_ATTRIBUTE = {
    1: ("name", "text"), 2: ("f", "float"), 3: ("i", "int"), 4: ("s", "text"), 5: ("t", "bytes"),
    7: ("floats", "float*"), 8: ("ints", "int*"), 13: ("doc_string", "text"), 20: ("type", "int"),
}  # fmt: skip
_TENSOR = {
    1: ("dims", "int*"), 2: ("data_type", "int"), 4: ("float_data", "array"), 5: ("int32_data", "array"),
    7: ("int64_data", "array"), 8: ("name", "text"), 9: ("raw_data", "bytes"), 10: ("double_data", "array"),
    12: ("doc_string", "text"), 14: ("data_location", "int"), 16: ("metadata_props", "bytes*"),
}  # fmt: skip
_INFO = {1: ("name", "text"), 2: ("type", "bytes"), 3: ("doc_string", "text"), 4: ("metadata_props", "bytes*")}
_TYPE = {1: ("tensor_type", "bytes"), 6: ("denotation", "text")}
_TENSOR_TYPE = {1: ("elem_type", "int"), 2: ("shape", "bytes")}
_SHAPE = {1: ("dim", "bytes*")}
_DIM = {1: ("dim_value", "int"), 2: ("dim_param", "text"), 3: ("denotation", "text")}
_OPSET = {1: ("domain", "text"), 2: ("version", "int")}
_ENTRY = {1: ("key", "text"), 2: ("value", "text")}

_REFUSED = {  # fields that a file may have, but not a stranger's policy
    ("model", 20): "training information", ("model", 25): "functions of its own", ("graph", 15): "sparse tensors",
    ("attribute", 6): "a graph within the graph", ("attribute", 11): "graphs within the graph",
    ("attribute", 9): "texts", ("tensor", 6): "texts", ("tensor", 13): "numbers in another file (external data)",
    ("type", 4): "a sequence", ("type", 5): "a map", ("type", 9): "an optional value", ("type", 8): "a sparse tensor",
}  # fmt: skip
_ATTRIBUTE_FIELDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints"}  # by the number of their type
_FLOAT, _STRING = 1, 8
FLOATS = (1, 10, 11)  # numbers of types that are no integers
# Numbers of types: bytes of a number, and the field that holds them where they are not raw.
TYPES = {
    1: (4, "float_data"), 2: (1, "int32_data"), 3: (1, "int32_data"), 6: (4, "int32_data"), 7: (8, "int64_data"),
    9: (1, "int32_data"), 10: (2, "int32_data"), 11: (8, "double_data"),
}  # fmt: skip
_READ = {1: "<f4", 6: "<i4", 7: "<i8", 9: "?"}  # those of which numbers are read


class _Reader:
    """Reads one file, and counts its parts."""

    def __init__(self, content: bytes) -> None:
        self._content, self._parts = memoryview(content), 0

    def graph(self) -> Graph:
        model = self._message(self._content, _MODEL, "model")
        found = Graph()
        for entry in model.get("metadata_props", []):
            said = self._message(entry, _ENTRY, "entry")
            _add(found.metadata, said.get("key", ""), said.get("value", ""), "metadata")
        for entry in model.get("opset_import", []):
            said = self._message(entry, _OPSET, "opset")
            if said.get("domain", "") in ("", "ai.onnx") and said.get("version", 0) < 7:
                raise GraphError("its operators are of before 2018 (opset 7)")
        if "graph" not in model:
            raise GraphError("it has no graph")
        graph = self._message(model["graph"], _GRAPH, "graph")
        for part in graph.get("initializer", []):
            _add(found.constants, *self._tensor(part), "constant")
        for part in graph.get("input", []):
            name, shape = self._input(part)
            if name not in found.constants:  # files of before 2019 list them among the inputs
                _add(found.inputs, name, shape, "input")
        found.outputs = [self._message(part, _INFO, "value").get("name", "") for part in graph.get("output", [])]
        found.nodes = [self._node(part) for part in graph.get("node", [])]
        return found

    def _node(self, data: memoryview) -> Node:
        node = self._message(data, _NODE, "node")
        kind, domain = node.get("op_type", ""), node.get("domain", "")
        if domain not in ("", "ai.onnx"):
            raise GraphError(f"it uses {short(domain)}.{short(kind)}, which is no operator of ONNX")
        attributes: dict[str, Attribute] = {}
        for part in node.get("attribute", []):
            _add(attributes, *self._attribute(part), "attribute")
        return Node(kind, node.get("input", []), node.get("output", []), attributes)

    def _attribute(self, data: memoryview) -> tuple[str, Attribute]:
        attribute = self._message(data, _ATTRIBUTE, "attribute")
        name, kind = attribute.get("name", ""), _ATTRIBUTE_FIELDS.get(attribute.get("type", 0))
        if kind is None or any(one in attribute for one in _ATTRIBUTE_FIELDS.values() if one != kind):
            raise GraphError(f"its attribute {short(name)} is of no kind that a policy needs")
        if kind == "t":
            return name, self._tensor(attribute.get("t", memoryview(b"")))[1]
        return name, attribute.get(kind, {"f": 0.0, "i": 0, "s": "", "floats": [], "ints": []}[kind])

    def _tensor(self, data: memoryview) -> tuple[str, Tensor]:
        tensor = self._message(data, _TENSOR, "tensor")
        name, shape, kind = tensor.get("name", ""), tuple(tensor.get("dims", [])), tensor.get("data_type", 0)
        if tensor.get("data_location", 0) != 0:
            raise GraphError(f"it has {_REFUSED['tensor', 13]}")
        if kind == _STRING or kind not in TYPES:
            raise GraphError(f"its constant {short(name)} holds no numbers that a policy needs (type {kind})")
        if len(shape) > MAX_RANK or min(shape, default=0) < 0:
            raise GraphError(f"its constant {short(name)} has the shape {list(shape)[: MAX_RANK + 1]}")
        size, typed = TYPES[kind]
        held = [one for one in ("raw_data", "float_data", "int32_data", "int64_data", "double_data") if one in tensor]
        count, numbers = math.prod(shape), None
        if held == ["raw_data"]:
            fits = len(tensor["raw_data"]) == count * size
            if fits and kind in _READ and count <= KNOWN:
                numbers = np.frombuffer(tensor["raw_data"], _READ[kind]).astype(object)
        elif held == [typed]:
            fits = _length(tensor[typed], typed) == count
            if fits and kind in _READ and count <= KNOWN:
                read: Any = _floats if kind == _FLOAT else _integers
                numbers = (
                    np.array([one for part in tensor[typed] for one in read(part)]).astype(_READ[kind]).astype(object)
                )
        else:
            fits = count == 0 and not held
            numbers = np.zeros(0, object) if fits and kind in _READ else None
        if not fits:
            raise GraphError(f"its constant {short(name)} does not hold as many numbers as its shape says")
        return name, Tensor(shape, None if numbers is None else numbers.reshape(shape), kind not in FLOATS)

    def _input(self, data: memoryview) -> tuple[str, tuple[int | None, ...]]:
        info = self._message(data, _INFO, "value")
        kind = self._message(info.get("type", memoryview(b"")), _TYPE, "type")
        tensor = self._message(kind.get("tensor_type", memoryview(b"")), _TENSOR_TYPE, "tensor type")
        name = info.get("name", "")
        if tensor.get("elem_type") != _FLOAT:
            raise GraphError(f"its input {short(name)} holds no float32 numbers")
        shape = self._message(tensor.get("shape", memoryview(b"")), _SHAPE, "shape").get("dim", [])
        return name, tuple(self._message(one, _DIM, "dimension").get("dim_value") for one in shape)

    # --- the format of the bytes: Protocol Buffers -----------------------------------------------------------------

    def _message(self, data: memoryview, fields: dict[int, tuple[str, str]], of: str) -> dict[str, Any]:
        """The fields of a message by name; those that may stand there more than once as lists."""
        found: dict[str, Any] = {}
        for number, value in self._fields(data):
            if number not in fields:
                what = _REFUSED.get((of, number), f"a field that is unknown ({of}, {number})")
                raise GraphError(f"it has {what}, which no policy needs")
            name, kind = fields[number]
            if kind == "array":
                found.setdefault(name, []).append(value)
            elif kind in ("int*", "float*"):
                found.setdefault(name, []).extend(_floats(value) if kind == "float*" else _integers(value))
                if len(found[name]) > KNOWN:
                    raise GraphError(f"it has a list of more than {KNOWN} numbers ({of}, {name})")
            elif kind.endswith("*"):
                found.setdefault(name, []).append(_one(value, kind[:-1]))
            elif name in found:
                raise GraphError(f"it is damaged: {name} stands twice in one {of}")
            else:
                found[name] = _one(value, kind)
        return found

    def _fields(self, data: memoryview) -> Iterator[tuple[int, int | float | memoryview | bytes]]:
        at, end = 0, len(data)
        while at < end:
            self._parts += 1
            if self._parts > MAX_PARTS:
                raise GraphError(f"it has more than {MAX_PARTS:,} parts")
            key, at = _varint(data, at)
            value: int | memoryview | bytes
            if key & 7 == 0:
                value, at = _varint(data, at)
            elif key & 7 == 2:
                length, at = _varint(data, at)
                value, at = data[at : at + length], at + length
            elif key & 7 in (1, 5):
                length = 8 if key & 7 == 1 else 4
                value, at = bytes(data[at : at + length]), at + length
            else:
                raise GraphError("it is damaged, or no ONNX file")
            if at > end:
                raise GraphError("it is damaged: it ends too early")
            yield key >> 3, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for k in range(10):
        byte = data[at + k]
        number |= (byte & 127) << (7 * k)
        if byte < 128:
            return number & (1 << 64) - 1, at + k + 1
    raise GraphError("it is damaged, or no ONNX file")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _one(value: Any, kind: str) -> Any:
    """A value of a field that holds one; a packed or wrong one is refused."""
    if kind == "int" and isinstance(value, int):
        return _signed(value)
    if kind == "float" and isinstance(value, bytes) and len(value) == 4:
        return struct.unpack("<f", value)[0]
    if isinstance(value, memoryview) and kind in ("text", "bytes"):
        return value if kind == "bytes" else str(value, "utf-8")
    raise GraphError("it is damaged, or no ONNX file")


def _floats(value: Any) -> list[float]:
    """Numbers of a repeated field, packed or one by one."""
    if isinstance(value, int) or len(value) % 4:
        raise GraphError("it is damaged, or no ONNX file")
    return list(np.frombuffer(value, "<f4").tolist())


def _integers(value: Any) -> list[int]:
    """Numbers of a repeated field, packed or one by one."""
    if isinstance(value, int):
        return [_signed(value)]
    if isinstance(value, bytes):
        raise GraphError("it is damaged, or no ONNX file")
    found, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(_signed(number))
    return found


def _length(values: list[Any], name: str) -> int:
    """How many numbers the values of an ``array`` hold."""
    if name in ("float_data", "double_data"):
        return sum(0 if isinstance(one, int) else len(one) for one in values) // (4 if name == "float_data" else 8)
    return sum(int((np.frombuffer(one, np.uint8) < 128).sum()) if isinstance(one, memoryview) else 1 for one in values)


def _add(to: dict[str, Any], name: str, value: Any, what: str) -> None:
    if name in to:
        raise GraphError(f"it has two of the {what} {short(name)}")
    to[name] = value


def short(name: object) -> str:
    """A name from a file, as it may stand in a message."""
    text = repr(name)
    return text if len(text) <= 60 else f"{text[:60]}…"
