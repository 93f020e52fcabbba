"""How large the numbers of an ONNX graph become, and how much work it is, for any number of rows.

Every operation is followed with sizes in the place of numbers. A length is a number or a multiple of the number of rows
``n`` (``BatchSize``), so what is found holds for every ``n``. Integers that decide about lengths are followed, too. An
operator that is not in the table below, or a length that hangs on what is observed, is refused: of such a file nobody
can say how much memory it takes, or whether it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.agents.onnx_file import FLOATS, KNOWN, MAX_RANK, TYPES, Graph, GraphError, Node, Tensor, short
from trick_envs.errors import InputError

_INT32, _INT64, _BOOL = 6, 7, 9  # numbers of types

MAX_NODES = 5_000
MAX_NUMBERS = 1 << 25  # that do not depend on rows, all together
MAX_NUMBERS_A_ROW = 1 << 23  # all together, too: onnxruntime has an order of its own, and frees some of them late
MAX_WORK = 1 << 30  # multiplications, and numbers read and written, for a row and besides


@dataclass(frozen=True)
class BatchSize:
    """A multiple of the number of rows."""

    times: int

    def __mul__(self, other: Any) -> BatchSize:
        if isinstance(other, BatchSize):
            raise GraphError("it compares rows with each other: a policy judges each by itself")
        return BatchSize(self.times * other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return "n" if self.times == 1 else f"{self.times} n"


Length: TypeAlias = "int | BatchSize"
Shape: TypeAlias = tuple[Length, ...]


@dataclass(frozen=True)
class Value:
    """What is known of a tensor.

    Attributes:
        shape: its lengths.
        numbers: its numbers, if they are known; some may be ``BatchSize``. Of floats only constants are.
        whole: whether they are integers or truth values.
    """

    shape: Shape
    numbers: npt.NDArray[np.object_] | None = None
    whole: bool = False


@dataclass(frozen=True)
class Sizes:
    """What was found out about a graph.

    Attributes:
        values: by name.
        numbers_a_row: how many numbers it makes for each row.
    """

    values: dict[str, Value]
    numbers_a_row: int


def sizes_of(graph: Graph, inputs: dict[str, Shape]) -> Sizes:
    """Follows a graph.

    Args:
        graph: as ``read_graph`` gives it.
        inputs: the shapes of its inputs.

    Raises:
        GraphError: if the graph is not sound, or takes too much memory or work; says where.
    """
    if len(graph.nodes) > MAX_NODES:
        raise GraphError(f"it has {len(graph.nodes):,} operations: at most {MAX_NODES:,} are allowed")
    values = {name: Value(shape) for name, shape in inputs.items()}
    for name, constant in graph.constants.items():
        _define(values, name, Value(constant.shape, constant.numbers, constant.whole))
    fixed = work = a_row = work_a_row = 0
    for node in graph.nodes:
        missing = [name for name in node.inputs if name and name not in values]
        if missing:
            raise GraphError(f"its {short(node.kind)} reads {short(missing[0])}, which nothing has written before")
        step = _Step(node, [values[name] if name else None for name in node.inputs])
        found = step.outputs()
        for name, value in zip(node.outputs, found, strict=False):
            if name:
                _define(values, name, value)
        for amount in [*(count(values[name].shape) for name in node.outputs if name), *step.scratch]:
            if isinstance(amount, BatchSize):
                a_row, work_a_row = a_row + amount.times, work_a_row + amount.times
            else:
                fixed, work = fixed + amount, work + amount
        for amount in [*step.work, *(count(values[name].shape) for name in node.inputs if name)]:
            work_a_row += amount.times if isinstance(amount, BatchSize) else 0
            work += 0 if isinstance(amount, BatchSize) else amount
        if fixed > MAX_NUMBERS or a_row > MAX_NUMBERS_A_ROW:
            raise GraphError(
                f"with its {short(node.kind)} it makes {max(fixed, a_row):,} numbers: no policy needs so many"
            )
        if max(work, work_a_row) > MAX_WORK:
            raise GraphError(f"with its {short(node.kind)} it computes more than {MAX_WORK:,} numbers a row")
    return Sizes(values, max(a_row, 1))


def _define(values: dict[str, Value], name: str, value: Value) -> None:
    if name in values:
        raise GraphError(f"it writes {short(name)} twice")
    values[name] = value


def count(lengths: Sequence[Length]) -> Length:
    """How many numbers a tensor has."""
    found: Length = 1
    for one in lengths:
        found = one * found if isinstance(one, BatchSize) else found * one
    return found


class _Step:
    """One operation: what goes in, what comes out.

    Attributes:
        scratch: numbers that it needs besides those that it writes.
        work: multiplications.
    """

    def __init__(self, node: Node, inputs: list[Value | None]) -> None:
        self.node, self.inputs = node, inputs
        self.scratch: list[Length] = []
        self.work: list[Length] = []

    def outputs(self) -> list[Value]:
        """What it writes."""
        rule = _RULES.get(self.node.kind)
        if rule is None:
            random = self.node.kind.startswith("Random") or self.node.kind in ("Bernoulli", "Multinomial")
            raise self.refused("draws random numbers" if random else "is an operator that no policy needs")
        if self.node.kind not in _OF_ANY_LENGTH and any(one is not None and 0 in one.shape for one in self.inputs):
            raise self.refused("brings no numbers together")  # there onnxruntime ends whole programs
        try:
            found = [Value(tuple(shape)) for shape in rule(self)]
        except GraphError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise self.refused("has inputs or attributes that do not fit") from error
        if len(self.node.outputs) > len(found):
            raise self.refused(f"has {len(self.node.outputs)} outputs")
        for value in found:
            lengths = [one.times if isinstance(one, BatchSize) else one for one in value.shape]
            if len(lengths) > MAX_RANK or min(lengths, default=0) < 0:
                raise self.refused(f"makes a tensor of shape {list(value.shape)}")
        whole = self.whole()
        rest = [Value(value.shape, None, whole or self.node.kind == "TopK") for value in found[1:]]
        return [Value(found[0].shape, self.numbers(found[0].shape), whole), *rest]

    def whole(self) -> bool:
        """Whether it writes integers or truth values."""
        kind = self.node.kind
        if kind in _WHOLE.split():
            return True
        if kind == "Cast":
            return self.attribute("to", 0) not in FLOATS
        if kind in ("Constant", "ConstantOfShape"):
            given = self.node.attributes
            return any(one.whole if isinstance(one, Tensor) else "int" in name for name, one in given.items())
        return self.value({"CastLike": 1, "Where": 1, "OneHot": 2}.get(kind, 0)).whole

    def numbers(self, shape: Shape) -> npt.NDArray[np.object_] | None:
        """The integers that it writes, where they are few and known."""
        compute, amount = _NUMBERS.get(self.node.kind), count(shape)
        if compute is None or isinstance(amount, BatchSize) or amount > KNOWN:
            return None
        try:
            found = np.asarray(compute(self), object)
        except (GraphError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            return None
        numbers = [one.times if isinstance(one, BatchSize) else one for one in found.reshape(-1)]
        most = 1 << (31 if self.node.kind in _ARITHMETIC else 63)  # beyond, int32 and int64 would begin anew
        kinds = (int, float) if self.node.kind == "Constant" else int
        if found.shape != shape or not all(isinstance(one, kinds) and -most <= one < most for one in numbers):
            return None
        return found

    def refused(self, what: str) -> GraphError:
        return GraphError(f"its {short(self.node.kind)} {what}")

    # --- what rules ask for ----------------------------------------------------------------------------------------

    def has(self, k: int) -> bool:
        return k < len(self.inputs) and self.inputs[k] is not None

    def value(self, k: int = 0) -> Value:
        found = self.inputs[k]
        if found is None:
            raise self.refused(f"lacks input {k}")
        return found

    def shape(self, k: int = 0) -> Shape:
        return self.value(k).shape

    def known(self, k: int) -> npt.NDArray[np.object_]:
        """The integers of an input.

        Raises:
            GraphError: if they are not known.
        """
        numbers = self.value(k).numbers
        if numbers is None or any(isinstance(one, float) for one in numbers.flat):
            raise self.refused("has sizes that hang on what is observed")
        return numbers

    def attribute(self, name: str, default: Any) -> Any:
        found = self.node.attributes.get(name, default)
        if default is not None and type(found) is not type(default):
            raise self.refused(f"has {short(name)} of the wrong kind")
        return found

    def flag(self, name: str, default: int = 0) -> int:
        """An attribute that says yes or no: onnxruntime takes some other numbers for yes, and some for no."""
        found = self.attribute(name, default)
        if found not in (0, 1):
            raise self.refused(f"has {name} {found}: expected 0 or 1")
        return int(found)

    def list_of(self, name: str, k: int) -> list[int] | None:
        """Integers from an attribute, as older files have them, or from an input."""
        if name in self.node.attributes:
            return list(self.attribute(name, [0]))
        return [int(one) for one in self.known(k).reshape(-1)] if self.has(k) else None

    def axis(self, default: int, rank: int) -> int:
        return _axis(self.attribute("axis", default), rank)

    def broadcast(self, *shapes: Shape) -> Shape:
        found: list[Length] = []
        for k in range(1, max(map(len, shapes)) + 1):
            there = {shape[-k] for shape in shapes if len(shape) >= k} - {1}
            if len(there) > 1:
                raise self.refused(f"joins the shapes {', '.join(str(list(shape)) for shape in shapes)}")
            found.append(there.pop() if there else 1)
        return tuple(found[::-1])


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < max(rank, 1):
        raise InputError("axis")
    return axis % max(rank, 1)


def _integer(length: Any) -> int:
    if not isinstance(length, int):
        raise GraphError(f"it has a length of {length} where a fixed one is needed")
    return length


# --- rules: the shapes that an operator writes ------------------------------------------------------------------------

Rule: TypeAlias = Callable[[_Step], "Sequence[Sequence[Length]]"]


def _same(step: _Step) -> Any:
    return [step.shape()]


def _joined(step: _Step) -> Any:
    return [step.broadcast(*(step.shape(k) for k in range(len(step.inputs))))]


def _cast(step: _Step) -> Any:
    if step.node.kind == "Cast" and step.attribute("to", 0) not in TYPES:
        raise step.refused("makes texts, or numbers that no policy needs")
    step.flag("saturate", 1)  # for another number, onnxruntime writes nothing where its numbers are to be
    return [step.shape()]


def _quotient_of(step: _Step) -> Any:
    """A processor stops the whole program where it divides the least integer by -1."""
    divisors = step.value(1).numbers
    if step.value(1).whole and (divisors is None or any(one in (0, -1) for one in divisors.flat)):
        raise step.refused("divides integers by what may be 0 or -1")
    return _joined(step)


def _p_relu(step: _Step) -> Any:
    if step.broadcast(step.shape(0), step.shape(1)) != step.shape(0):
        raise step.refused(f"joins the shapes {list(step.shape(0))} and {list(step.shape(1))}")
    return [step.shape()]


def _layer_normalization(step: _Step) -> Any:
    if len(step.inputs) > 2 and not step.has(2):  # onnxruntime ends the whole program
        raise step.refused("lacks input 2")
    return [step.shape()]


def _dropout(step: _Step) -> Any:
    if step.has(2):
        raise step.refused("draws random numbers")
    return [step.shape(), step.shape()]


def _batch_normalization(step: _Step) -> Any:
    if step.attribute("training_mode", 0):
        raise step.refused("is in training mode")
    return [step.shape()]


def _mat_mul(step: _Step) -> Any:
    one, other = step.shape(0), step.shape(1)
    left, right = (1, *one) if len(one) == 1 else one, (*other, 1) if len(other) == 1 else other
    if left[-1] != right[-2]:
        raise step.refused(f"joins the shapes {list(one)} and {list(other)}")
    begin = step.broadcast(left[:-2], right[:-2]) if len(left) > 2 or len(right) > 2 else ()
    step.work.append(count([*begin, left[-2], right[-1], left[-1]]))
    return [(*begin, *([left[-2]] if len(one) > 1 else []), *([right[-1]] if len(other) > 1 else []))]


def _gemm(step: _Step) -> Any:
    one, other = (
        shape[::-1] if step.flag(name) else shape
        for name, shape in (("transA", step.shape(0)), ("transB", step.shape(1)))
    )
    (rows, inner), (same, columns) = one, other
    if inner != same:
        raise step.refused(f"joins the shapes {list(one)} and {list(other)}")
    if step.has(2) and step.broadcast(step.shape(2), (rows, columns)) != (rows, columns):
        raise step.refused(f"adds the shape {list(step.shape(2))}")
    step.work.append(count([rows, inner, columns]))
    return [(rows, columns)]


def _einsum(step: _Step) -> Any:
    given, arrow, wanted = step.attribute("equation", "").replace(" ", "").partition("->")
    terms = given.split(",")
    lengths: dict[str, Length] = {}
    letters = "".join(terms)
    if not arrow or not (letters + wanted).isalpha() or len(terms) != len(step.inputs) or len(terms) > 2:
        raise step.refused(f"has the equation {short(step.attribute('equation', ''))}")
    for k, term in enumerate(terms):
        for letter, length in zip(term, step.shape(k), strict=True):
            if lengths.setdefault(letter, length) != length or term.count(letter) > 1:
                raise step.refused(f"has the equation {short(given)}, which does not fit")
    step.work.append(count(list(lengths.values())))
    return [[lengths[letter] for letter in wanted]]


def _window(step: _Step, kernel: list[int]) -> list[int]:
    """The lengths that a convolution or a pooling leaves."""
    lengths, rank = [_integer(one) for one in step.shape()[2:]], len(kernel)
    strides, dilations = (list(step.attribute(name, [1] * rank)) for name in ("strides", "dilations"))
    pads, auto = list(step.attribute("pads", [0] * 2 * rank)), step.attribute("auto_pad", "NOTSET")
    if not len(lengths) == len(strides) == len(dilations) == rank > 0 or len(pads) != 2 * rank:
        raise InputError("rank")
    if min(*kernel, *strides, *dilations, *(one + 1 for one in pads)) < 1 or max(pads) > KNOWN:
        raise InputError("window")
    found = []
    for k, length in enumerate(lengths):
        reach = dilations[k] * (kernel[k] - 1) + 1
        room = length + pads[k] + pads[k + rank] - reach
        if auto != "NOTSET" and dilations[k] != 1:
            raise InputError("auto_pad")
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            found.append(-(-length // strides[k]))
        elif room < 0:
            raise InputError("window")
        else:
            wide = step.flag("ceil_mode") and (-(-room // strides[k])) * strides[k] < length + pads[k]
            found.append((-(-room // strides[k]) if wide else room // strides[k]) + 1)
    return found


def _conv(step: _Step) -> Any:
    weights = [_integer(one) for one in step.shape(1)]
    there = (step.shape()[0], weights[0], *_window(step, weights[2:]))
    step.work.append(count([*there, *weights[1:]]))
    step.scratch.append(count([there[0], *there[2:], *weights[1:]]))  # its windows, side by side
    return [there]


def _pool(step: _Step) -> Any:
    kernel = list(step.attribute("kernel_shape", [1]))
    there = (*step.shape()[:2], *_window(step, kernel))
    step.work.append(count([*there, *kernel]))
    return [there]


def _global_pool(step: _Step) -> Any:
    return [(*step.shape()[:2], *[1] * (len(step.shape()) - 2))]


def _recurrent(step: _Step) -> Any:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[step.node.kind]
    (time, rows, size), (directions, _, hidden) = step.shape(), step.shape(2)
    if step.attribute("layout", 0) or step.attribute("hidden_size", 0) != hidden:
        raise InputError("layout")
    if step.shape(1) != (directions, gates * _integer(hidden), size) or step.shape(2)[1] != gates * _integer(hidden):
        raise InputError("weights")
    step.work.append(
        count([_integer(time), rows, directions, gates * _integer(hidden), _integer(hidden) + _integer(size)])
    )
    step.scratch.append(count([_integer(time), rows, directions, gates * _integer(hidden)]))
    state = (directions, rows, hidden)
    return [(time, directions, rows, hidden), state, state]


def _reduce(step: _Step) -> Any:
    shape, axes = step.shape(), step.list_of("axes", 1)
    if 0 in shape:  # onnxruntime makes tensors of other shapes; the list of axes may be empty
        raise step.refused("brings no numbers together")
    if not axes:
        axes = [] if step.flag("noop_with_empty_axes") else list(range(len(shape)))
    gone, keep = {_axis(one, len(shape)) for one in axes}, step.flag("keepdims", 1)
    return [[1 if k in gone else one for k, one in enumerate(shape) if keep or k not in gone]]


def _best(step: _Step) -> Any:
    shape = step.shape()
    gone, keep = step.axis(0, len(shape)), step.flag("keepdims", 1)
    return [[1 if k == gone else one for k, one in enumerate(shape) if keep or k != gone]]


def _top(step: _Step) -> Any:
    shape = list(step.shape())
    wanted = step.attribute("k", 0) or int(step.known(1).reshape(-1)[0])
    axis = step.axis(-1, len(shape))
    if not 0 <= wanted <= _integer(shape[axis]):
        raise InputError("k")
    shape[axis] = wanted
    return [shape, shape]


def _reshape(step: _Step) -> Any:
    shape = step.shape()
    wanted: list[Length] = list(step.known(1).reshape(-1))
    keep_zero = step.flag("allowzero")
    found = [shape[k] if one == 0 and not keep_zero else one for k, one in enumerate(wanted)]
    if -1 in found:
        others = count([one for one in found if one != -1])
        found[found.index(-1)] = _quotient(count(shape), others)
    if -1 in found or count(found) != count(shape):
        raise step.refused(f"makes {found} of the shape {list(shape)}")
    return [found]


def _quotient(one: Length, other: Length) -> Length:
    if isinstance(one, BatchSize) and isinstance(other, BatchSize):
        one, other = one.times, other.times
    if isinstance(one, BatchSize) and isinstance(other, int) and one.times % other == 0:
        return BatchSize(one.times // other)
    if isinstance(one, int) and isinstance(other, int) and one % other == 0:
        return one // other
    raise InputError("division")


def _flatten(step: _Step) -> Any:
    shape, axis = step.shape(), _axis_or_end(step.attribute("axis", 1), len(step.shape()))
    return [(count(shape[:axis]), count(shape[axis:]))]


def _axis_or_end(axis: int, rank: int) -> int:
    """An axis that may also stand behind the last."""
    return rank if axis == rank else _axis(axis, rank)


def _squeeze(step: _Step) -> Any:
    shape, axes = step.shape(), step.list_of("axes", 1)
    if not axes and any(isinstance(one, BatchSize) for one in shape):
        raise step.refused("takes away the rows where there is only one")
    gone = {_axis(k, len(shape)) for k in axes} if axes else {k for k, one in enumerate(shape) if one == 1}
    if any(shape[k] != 1 for k in gone):
        raise InputError("axes")
    return [[one for k, one in enumerate(shape) if k not in gone]]


def _unsqueeze(step: _Step) -> Any:
    shape, axes = list(step.shape()), step.list_of("axes", 1) or []
    for axis in sorted(_axis(one, len(shape) + len(axes)) for one in axes):
        shape.insert(axis, 1)
    return [shape]


def _transpose(step: _Step) -> Any:
    shape = step.shape()
    order = step.attribute("perm", list(range(len(shape)))[::-1])
    if sorted(order) != list(range(len(shape))):
        raise InputError("perm")
    return [[shape[k] for k in order]]


def _concat(step: _Step) -> Any:
    shapes = [list(step.shape(k)) for k in range(len(step.inputs))]
    axis = step.axis(0, len(shapes[0]))
    lengths = [shape.pop(axis) for shape in shapes]
    if any(shape != shapes[0] for shape in shapes):
        raise InputError("shapes")
    if all(isinstance(one, BatchSize) for one in lengths):
        total: Length = BatchSize(sum(one.times for one in lengths if isinstance(one, BatchSize)))
    else:
        total = sum(map(_integer, lengths))
    return [[*shapes[0][:axis], total, *shapes[0][axis:]]]


def _split(step: _Step) -> Any:
    shape, number = step.shape(), len(step.node.outputs)
    axis = step.axis(0, len(shape))
    length = _integer(shape[axis])
    parts = step.list_of("split", 1)
    if parts is None:
        size = -(-length // number)
        parts = [max(0, min(size, length - k * size)) for k in range(number)]
    if step.attribute("num_outputs", number) != number:  # onnxruntime would write beyond its outputs
        raise InputError("num_outputs")
    if sum(parts) != length or min(parts) < 0 or len(parts) != number:
        raise InputError("split")
    return [(*shape[:axis], one, *shape[axis + 1 :]) for one in parts]


def _slices(step: _Step) -> list[slice]:
    """What a ``Slice`` takes of each axis."""
    rank = len(step.shape())
    starts, ends = step.known(1).reshape(-1), step.known(2).reshape(-1)
    axes = [_axis(int(one), rank) for one in step.known(3).reshape(-1)] if step.has(3) else list(range(len(starts)))
    steps = step.known(4).reshape(-1) if step.has(4) else [1] * len(starts)
    found = [slice(None)] * rank
    for axis, start, end, by in zip(axes, starts, ends, steps, strict=True):
        if by < 0:  # onnxruntime begins no earlier than at the first number, and takes a large end for the least one
            start = max(start, -_integer(step.shape()[axis]))
            if end >= (1 << 31) - 1:
                raise InputError("end")
        found[axis] = slice(start, end, by)
    return found


def _slice(step: _Step) -> Any:
    found: list[Length] = []
    for length, part in zip(step.shape(), _slices(step), strict=True):
        if isinstance(length, int):
            found.append(len(range(*part.indices(length))))
        elif part == slice(None) or (part.start == 0 and part.step == 1 and _all_rows(length, part.stop)):
            found.append(length)
        else:
            raise step.refused("takes some of the rows")
    return [found]


def _all_rows(length: BatchSize, stop: Any) -> bool:
    return stop == length or (isinstance(stop, int) and stop >= (1 << 31) - 1)


def _gather(step: _Step) -> Any:
    shape = step.shape()
    axis = step.axis(0, len(shape))
    return [(*shape[:axis], *step.shape(1), *shape[axis + 1 :])]


def _gather_elements(step: _Step) -> Any:
    return [step.shape(1)]


def _gather_nd(step: _Step) -> Any:
    shape, indices, batch = step.shape(), step.shape(1), step.attribute("batch_dims", 0)
    if not 0 <= batch < min(len(shape), len(indices)) or shape[:batch] != indices[:batch]:
        raise InputError("batch_dims")
    if not 1 <= _integer(indices[-1]) <= len(shape) - batch:
        raise InputError("indices")
    return [(*indices[:-1], *shape[batch + _integer(indices[-1]) :])]


def _expand(step: _Step) -> Any:
    return [step.broadcast(step.shape(), tuple(step.known(1).reshape(-1)))]


def _tile(step: _Step) -> Any:
    times = step.known(1).reshape(-1)
    return [[one * many for one, many in zip(step.shape(), times, strict=True)]]


def _pad(step: _Step) -> Any:
    shape, pads = list(step.shape()), step.list_of("pads", 1) or []
    axes = [_axis(int(one), len(shape)) for one in step.known(3).reshape(-1)] if step.has(3) else range(len(shape))
    for axis, before, after in zip(axes, pads[: len(pads) // 2], pads[len(pads) // 2 :], strict=True):
        if before or after:
            shape[axis] = _integer(shape[axis]) + before + after
    return [shape]


def _constant(step: _Step) -> Any:
    ((name, found),) = step.node.attributes.items()
    if name not in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        raise InputError("value")
    if isinstance(found, Tensor):
        return [found.shape]
    return [(len(found),) if isinstance(found, list) else ()]


def _constant_numbers(step: _Step) -> Any:
    found = next(iter(step.node.attributes.values()))
    if isinstance(found, Tensor):
        return found.numbers
    return np.array(found, object)


def _one_hot(step: _Step) -> Any:
    shape, depth = list(step.shape()), int(step.known(1).reshape(-1)[0])
    shape.insert(_axis(step.attribute("axis", -1), len(shape) + 1), depth)
    return [shape]


def _range(step: _Step) -> Any:
    begin, end, by = (_integer(step.known(k).reshape(-1)[0]) for k in range(3))
    return [(len(range(begin, end, by)),)]


_ELEMENTWISE = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumSum Elu Erf Exp Floor "
    "Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN "
    "LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not "
    "RMSNormalization Reciprocal Relu Round Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh "
    "Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu"
)
_JOINING = (
    "Add And BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mul Or "
    "Pow Sub Sum Where Xor"
)
_WHOLE = "And ArgMax ArgMin Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Shape Size Xor"
_REDUCING = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
_MOVING = (
    "Cast CastLike Concat Constant ConstantOfShape Expand Flatten Gather GatherElements GatherND Identity Pad Range "
    "Reshape Shape Size Slice Split Squeeze Tile Transpose Unsqueeze"
)
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _same),
    **dict.fromkeys(_JOINING.split(), _joined),
    **{f"Reduce{kind}": _reduce for kind in _REDUCING.split()},
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(("MaxPool", "AveragePool"), _pool),
    **dict.fromkeys(("GlobalMaxPool", "GlobalAveragePool"), _global_pool),
    **dict.fromkeys(("ArgMax", "ArgMin"), _best),
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    **dict.fromkeys(("Div", "Mod"), _quotient_of),
    "BatchNormalization": _batch_normalization,
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": lambda step: [list(step.known(0).reshape(-1))],
    "Conv": _conv,
    "Dropout": _dropout,
    "Einsum": _einsum,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "LayerNormalization": _layer_normalization,
    "MatMul": _mat_mul,
    "OneHot": _one_hot,
    "PRelu": _p_relu,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": lambda step: [(len(_shape_numbers(step)),)],
    "Size": lambda step: [()],
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "TopK": _top,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
_OF_ANY_LENGTH = {*_MOVING.split(), *_JOINING.split(), *(f"Reduce{kind}" for kind in _REDUCING.split())}  # also of 0

# --- the integers that some operators write ---------------------------------------------------------------------------


def _shape_numbers(step: _Step) -> list[Length]:
    end = step.attribute("end", len(step.shape()))
    return list(step.shape()[step.attribute("start", 0) : end])


def _cast_numbers(step: _Step) -> Any:
    given, to = step.value().numbers, step.attribute("to", 0)
    if given is None:
        return None
    if to == _BOOL:
        return np.array([bool(one) for one in given.flat], object).reshape(given.shape)
    numbers = [one if isinstance(one, BatchSize) else int(one) for one in given.flat]
    most = {_INT32: 1 << 31, _INT64: 1 << 63}[to]
    if not all(isinstance(one, BatchSize) or -most <= one < most for one in numbers):
        raise InputError("they begin anew")
    return np.array(numbers, object).reshape(given.shape)


def _cast_like_numbers(step: _Step) -> Any:
    given = step.value().numbers
    if given is None or any(isinstance(one, (bool, BatchSize)) for one in step.known(1).flat) or not step.known(1).size:
        return None
    numbers = [int(one) for one in given.flat]
    return np.array(numbers, object).reshape(given.shape) if all(0 <= one < 128 for one in numbers) else None


def _quotients(step: _Step) -> Any:
    one, other = np.broadcast_arrays(step.known(0), step.known(1))
    found = [
        a // b if isinstance(a, int) and isinstance(b, int) and a >= 0 and b > 0 else _quotient(a, b)
        for a, b in zip(one.flat, other.flat, strict=True)
    ]
    return np.array(found, object).reshape(one.shape)


def _equal(step: _Step) -> Any:
    one, other = np.broadcast_arrays(step.known(0), step.known(1))
    if any(isinstance(each, BatchSize) and not (isinstance(both, int) and both < 1) and each != both
           for pair in zip(one.flat, other.flat, strict=True) for each, both in (pair, pair[::-1])):  # fmt: skip
        raise InputError("it depends on the number of rows")
    return one == other


_ARITHMETIC = ("Add", "Div", "Mod", "Mul", "Neg", "Range", "ReduceProd", "Sub")
_NUMBERS: dict[str, Callable[[_Step], Any]] = {
    "Add": lambda step: step.known(0) + step.known(1),
    "Cast": _cast_numbers,
    "CastLike": _cast_like_numbers,
    "Concat": lambda step: np.concatenate([step.known(k) for k in range(len(step.inputs))], step.attribute("axis", 0)),
    "Constant": _constant_numbers,
    "ConstantOfShape": lambda step: np.full(
        tuple(step.known(0).reshape(-1)), step.attribute("value", None).numbers.reshape(-1)[0], object
    ),
    "Div": _quotients,
    "Equal": _equal,
    "Expand": lambda step: np.broadcast_to(step.known(0), [_integer(one) for one in _expand(step)[0]]),
    "Gather": lambda step: np.take(step.known(0), step.known(1).astype(np.int64), axis=step.attribute("axis", 0)),
    "Identity": lambda step: step.known(0),
    "Mod": lambda step: None if step.flag("fmod") else step.known(0) % step.known(1),
    "Mul": lambda step: step.known(0) * step.known(1),
    "Neg": lambda step: -step.known(0),
    "Range": lambda step: np.arange(*(step.known(k).reshape(-1)[0] for k in range(3))).astype(object),
    "ReduceProd": lambda step: math.prod(step.known(0).reshape(-1)),
    "Reshape": lambda step: step.known(0).reshape([_integer(one) for one in _reshape(step)[0]]),
    "Shape": _shape_numbers,
    "Size": lambda step: count(step.shape()),
    "Slice": lambda step: step.known(0)[tuple(_slices(step))],
    "Squeeze": lambda step: step.known(0).reshape([_integer(one) for one in _squeeze(step)[0]]),
    "Sub": lambda step: step.known(0) - step.known(1),
    "Unsqueeze": lambda step: step.known(0).reshape(_unsqueeze(step)[0]),
    "Where": lambda step: np.where(step.known(0).astype(bool), step.known(1), step.known(2)),
}
