"""The functions of ``engine/intrinsics.py`` as the compiler makes them, each with a few instructions of LLVM.

Importing this module tells Numba. Nothing imports it before something is compiled: it needs the compiler.

Bits become bytes with one instruction of LLVM: a word of 64 bits is read as a vector of 64 flags, which is widened to a
vector of 64 bytes. Flag 0 is the lowest bit of the word, and goes to the lowest address, where machines are
little-endian, as all are that Numba supports. A big-endian machine would write the flags in the opposite order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import lower_getattr
from numba.np.arrayobj import record_getattr

from trick_envs.engine import intrinsics
from trick_envs.engine.intrinsics import DEAL_STARTS_AT, MOST_IN_VECTOR, OF_TABLE, constants_of

WORD, BYTE = ir.IntType(64), ir.IntType(8)
FLAGS, BYTES = ir.VectorType(ir.IntType(1), 64), ir.VectorType(BYTE, 64)
INT, UINT = types.int64, types.uint64


def _word(value: int) -> Any:
    return ir.Constant(WORD, value)


class _Code:
    """What is being written: instructions for one call of a function.

    Attributes:
        args: the arguments.
        signature: their types.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.args = context, builder, args
        self.signature = signature

    def _array(self, k: int) -> Any:
        return self.context.make_array(self.signature.args[k])(self.context, self.builder, value=self.args[k])

    def pointer(self, k: int, at: Any) -> Any:
        """A pointer to byte ``at`` of argument ``k``, a buffer or an array of a record."""
        return self.builder.gep(self.builder.bitcast(self._array(k).data, cgutils.voidptr_t), [at])

    def vector(self, k: int, at: Any, kind: Any = BYTES) -> Any:
        """The same, to a vector."""
        return self.builder.bitcast(self.pointer(k, at), kind.as_pointer())

    def has_room(self, k: int, end: Any, behind: int) -> Any:
        """Whether argument ``k`` has so many bytes behind ``end``."""
        size = cgutils.unpack_tuple(self.builder, self._array(k).shape, 1)[0]
        return self.builder.icmp_signed("<=", self.builder.add(end, _word(behind)), size)

    def widened(self, word: Any) -> Any:
        """64 bytes, one per bit of a word."""
        return self.builder.zext(self.builder.bitcast(word, FLAGS), BYTES)

    def store(self, bytes_: Any, k: int, at: Any) -> None:
        """Writes a vector of bytes to ``at`` of argument ``k``."""
        self.builder.store(bytes_, self.vector(k, at), align=1)

    def copy(self, source: tuple[int, Any], target: tuple[int, Any], length: Any = None) -> None:
        """Copies ``length`` bytes, or a vector; places are arguments and where in them."""
        if length is None:
            self.store(self.builder.load(self.vector(*source), align=1), *target)
        else:
            cgutils.raw_memcpy(self.builder, self.pointer(*target), self.pointer(*source), length, 1)

    def copy_from(self, buffer: Any, k: int, at: Any, length: Any) -> None:
        """Copies the first bytes of a buffer of its own."""
        start = self.builder.bitcast(buffer, cgutils.voidptr_t)
        cgutils.raw_memcpy(self.builder, self.pointer(k, at), start, length, 1)

    @contextmanager
    def longer(self, length: Any, than: int) -> Any:
        """What is done where ``length`` is larger."""
        with self.builder.if_then(self.builder.icmp_signed(">", length, _word(than))):
            yield


def _compiled(function: Callable[..., Any], returns: Any, *kinds: Any) -> Any:
    """Says what machine code a function is.

    Args:
        function: the one in Python.
        returns: the type of its result.
        kinds: the types of its arguments; ``None``: an array, of whatever type.
    """

    def decorate(write: Callable[[_Code], Any]) -> Any:
        def typed(typing: Any, *args: Any) -> Any:
            def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                result = write(_Code(context, builder, signature, values))
                if result is None:
                    return context.get_dummy_value()
                return context.make_tuple(builder, signature.return_type, result) if type(result) is list else result

            taken = [arg if kind is None else kind for arg, kind in zip(args, kinds, strict=True)]
            return returns(*taken), build

        parameters = [inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        parameters += inspect.signature(function).parameters.values()
        typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Numba asks for it
        template = make_intrinsic_template(function, typed, function.__name__)
        infer(template)
        infer_global(function, types.Function(template))
        return write

    return decorate


# --- numbers ------------------------------------------------------------------------------------------------------


@_compiled(intrinsics.popcount, INT, INT)
def _popcount(code: _Code) -> Any:
    return code.builder.ctpop(code.args[0])


@_compiled(intrinsics.lowest_bit, INT, INT)
def _lowest_bit(code: _Code) -> Any:
    return code.builder.cttz(code.args[0], ir.Constant(ir.IntType(1), 1))


@_compiled(intrinsics.highest_bit, INT, INT)
def _highest_bit(code: _Code) -> Any:
    return code.builder.sub(_word(63), code.builder.ctlz(code.args[0], ir.Constant(ir.IntType(1), 1)))


@_compiled(intrinsics.splitmix, types.UniTuple(UINT, 2), UINT)
def _splitmix(code: _Code) -> Any:
    build = code.builder

    def mixed(bits: Any, shift: int) -> Any:
        return build.xor(bits, build.lshr(bits, _word(shift)))

    following = build.add(code.args[0], _word(intrinsics.GOLDEN))
    bits = build.mul(mixed(following, 30), _word(intrinsics.MIX_1))
    bits = build.mul(mixed(bits, 27), _word(intrinsics.MIX_2))
    return [following, mixed(bits, 31)]


@_compiled(intrinsics.scale_bits, INT, UINT, INT)
def _scale_bits(code: _Code) -> Any:
    bits, count = code.args
    upper = code.builder.lshr(bits, _word(32))
    return code.builder.lshr(code.builder.mul(upper, count), _word(32))


# --- bytes --------------------------------------------------------------------------------------------------------


@_compiled(intrinsics.copy_bytes, types.void, None, INT, None, INT, INT)
def _copy_bytes(code: _Code) -> None:
    start, at, length = code.args[1], code.args[3], code.args[4]
    code.copy((0, start), (2, at), length)


@_compiled(intrinsics.clear_bytes, types.void, None, INT, INT)
def _clear_bytes(code: _Code) -> None:
    cgutils.memset(code.builder, code.pointer(0, code.args[1]), code.args[2], 0)


@_compiled(intrinsics.write_bits, types.void, INT, INT, INT, None, INT, INT)
def _write_bits(code: _Code) -> None:
    """Both words become vectors of bytes in a buffer, of which ``length`` are copied.

    The second store, from byte ``split`` on, overwrites what the first one has written from there on: with a ``split``
    of 54 the buffer of 128 bytes then holds 54 + 64 = 118 that are valid.
    """
    low, high, split, _, at, length = code.args
    build, buffer = code.builder, cgutils.alloca_once(code.builder, ir.ArrayType(BYTE, 128))
    start = build.bitcast(buffer, cgutils.voidptr_t)
    for word, offset in ((low, _word(0)), (high, split)):
        target = build.bitcast(build.gep(start, [offset]), BYTES.as_pointer())
        build.store(code.widened(word), target, align=1)
    code.copy_from(buffer, 3, at, length)


@_compiled(intrinsics.write_bit_sums, types.void, INT, INT, None, INT, INT)
def _write_bit_sums(code: _Code) -> None:
    """Both words become vectors of bytes; ``length`` bytes of their sum are copied."""
    one, other, _, at, length = code.args
    buffer = cgutils.alloca_once(code.builder, BYTES)
    code.builder.store(code.builder.add(code.widened(one), code.widened(other)), buffer)
    code.copy_from(buffer, 2, at, length)


@_compiled(intrinsics.spill_bits, types.void, INT, INT, INT, None, INT, INT)
def _spill_bits(code: _Code) -> None:
    low, high, split, _, at, length = code.args
    has_room = code.has_room(3, code.builder.add(at, length), 128)
    with code.builder.if_else(has_room) as (wide, exact):
        with wide:
            code.store(code.widened(low), 3, at)
            code.store(code.widened(high), 3, code.builder.add(at, split))
        with exact:
            _write_bits(code)


@_compiled(intrinsics.spill_bit_sums, types.void, INT, INT, None, INT, INT)
def _spill_bit_sums(code: _Code) -> None:
    one, other, _, at, length = code.args
    has_room = code.has_room(2, code.builder.add(at, length), 64)
    with code.builder.if_else(has_room) as (wide, exact):
        with wide:
            code.store(code.builder.add(code.widened(one), code.widened(other)), 2, at)
        with exact:
            _write_bit_sums(code)


@_compiled(intrinsics.spill_copy, types.void, None, INT, None, INT, INT)
def _spill_copy(code: _Code) -> None:
    """No loop: it would become a call of ``memcpy``, which takes longer for so few bytes."""
    _, start, _, at, length = code.args
    has_room, add = code.has_room(2, code.builder.add(at, length), 64), code.builder.add
    with code.builder.if_else(has_room) as (wide, exact):
        with wide:
            code.copy((0, start), (2, at))
            with code.longer(length, 64):
                code.copy((0, add(start, _word(64))), (2, add(at, _word(64))))
                with code.longer(length, 128):
                    rest = code.builder.sub(length, _word(128))
                    code.copy((0, add(start, _word(128))), (2, add(at, _word(128))), rest)
        with exact:
            _copy_bytes(code)


@_compiled(intrinsics.spill_zeros, types.void, None, INT, INT)
def _spill_zeros(code: _Code) -> None:
    _, at, length = code.args
    has_room, add = code.has_room(0, code.builder.add(at, length), 64), code.builder.add
    zeros = ir.Constant(BYTES, [0] * 64)
    with code.builder.if_else(has_room) as (wide, exact):
        with wide:
            code.store(zeros, 0, at)
            with code.longer(length, 64):
                code.store(zeros, 0, add(at, _word(64)))
                with code.longer(length, 128):
                    rest = code.builder.sub(length, _word(128))
                    cgutils.memset(code.builder, code.pointer(0, add(at, _word(128))), rest, 0)
        with exact:
            _clear_bytes(code)


@_compiled(intrinsics.append_bits, types.UniTuple(INT, 3), INT, INT, INT, INT, None, INT)
def _append_bits(code: _Code) -> Any:
    word, filled, bits, length, _, at = code.args
    build = code.builder
    together, total = build.or_(word, build.shl(bits, filled)), build.add(filled, length)
    before = build.block
    with build.if_then(build.icmp_signed(">=", total, _word(64))):
        code.store(code.widened(together), 4, at)
        # What is left of ``bits`` is ``bits >> (64 - filled)``, in two steps: a shift by 64 is not defined.
        left_over = build.lshr(build.lshr(bits, _word(1)), build.sub(_word(63), filled))
        stored = (left_over, build.sub(total, _word(64)), build.add(at, _word(64)))
        after = build.block
    results = []
    for kept, changed in zip((together, total, at), stored, strict=True):
        result = build.phi(WORD)
        result.add_incoming(kept, before)
        result.add_incoming(changed, after)
        results.append(result)
    return results


@_compiled(intrinsics.flags_of, INT, None, INT)
def _flags_of(code: _Code) -> Any:
    """Which of 64 bytes are not 0."""
    build = code.builder
    found = build.icmp_unsigned("!=", build.load(code.vector(0, _word(0)), align=1), ir.Constant(BYTES, [0] * 64))
    kept = build.sub(build.shl(_word(1), code.args[1]), _word(1))
    return build.and_(build.bitcast(found, WORD), kept)


# --- records ------------------------------------------------------------------------------------------------------


def _rotated(build: Any, values: Any, count: Any, first: Any) -> Any:
    """The ``count`` lowest bytes of an integer of 8, from byte ``first`` on, in a circle."""
    kept = build.and_(values, build.lshr(_word(-1), build.mul(_word(8), build.sub(_word(8), count))))
    later = build.sub(build.sub(count, first), _word(1))  # in two steps, as above
    beginning = build.shl(build.shl(kept, build.mul(_word(8), later)), _word(8))
    return build.or_(build.lshr(kept, build.mul(_word(8), first)), beginning)


@_compiled(intrinsics.spill_sizes, types.void, None, INT, INT, None, INT)
def _spill_sizes(code: _Code) -> None:
    """Up to 8 places: the bits of their words are counted in one vector."""
    _, count, first, _, at = code.args
    build, words = code.builder, ir.VectorType(WORD, 16)
    few = build.icmp_signed("<=", count, _word(MOST_IN_VECTOR))
    with build.if_else(build.and_(few, code.has_room(3, at, MOST_IN_VECTOR))) as (wide, exact):
        with wide:
            loaded = build.load(code.vector(0, _word(0), words), align=8)
            kind = ir.FunctionType(words, [words])
            found = build.call(cgutils.get_or_insert_function(build.module, kind, "llvm.ctpop.v16i64"), [loaded])
            undefined = ir.Constant(words, ir.Undefined)
            halves = [
                build.shuffle_vector(
                    found, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 8), list(range(half, 16, 2)))
                )
                for half in (0, 1)
            ]
            sizes = build.trunc(build.add(*halves), ir.VectorType(BYTE, 8))
            turned = _rotated(build, build.bitcast(sizes, WORD), count, first)
            build.store(turned, build.bitcast(code.pointer(3, at), WORD.as_pointer()), align=1)
        with exact, cgutils.for_range(build, count) as loop:
            place = build.add(first, loop.index)
            place = build.select(build.icmp_signed(">=", place, count), build.sub(place, count), place)
            both = build.load(code.vector(0, build.mul(place, _word(16)), ir.VectorType(WORD, 2)), align=8)
            held = [build.ctpop(build.extract_element(both, ir.Constant(ir.IntType(32), half))) for half in (0, 1)]
            build.store(build.trunc(build.add(*held), BYTE), code.pointer(3, build.add(at, loop.index)))


@_compiled(intrinsics.clear_deal, types.void, None)
def _clear_deal(code: _Code) -> None:
    record = code.signature.args[0]
    start = record.offset(DEAL_STARTS_AT)
    target = code.builder.gep(code.builder.bitcast(code.args[0], cgutils.voidptr_t), [_word(start)])
    cgutils.memset(code.builder, target, _word(record.size - start), 0)


@_compiled(intrinsics.copy_state, types.void, None, None)
def _copy_state(code: _Code) -> None:
    source, target = (code.builder.bitcast(each, cgutils.voidptr_t) for each in code.args)
    cgutils.raw_memcpy(code.builder, target, source, _word(code.signature.args[1].size), 1, align=8)


@_compiled(intrinsics.prefetch, types.void, None, INT)
def _prefetch(code: _Code) -> None:
    """Of an address that is nobody's, the processor brings nothing."""
    build, size, hint = code.builder, code.signature.args[0].dtype.size, ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, hint, hint, hint])
    ask = cgutils.get_or_insert_function(build.module, kind, "llvm.prefetch.p0i8")
    start = build.mul(code.args[1], _word(size))
    for offset in range(0, size, 64):  # lines of the cache
        to_read_and_keep = (ir.Constant(hint, value) for value in (0, 3, 1))
        build.call(ask, [code.pointer(0, build.add(start, _word(offset))), *to_read_and_keep])


def _read_constant(field: str) -> None:
    """Compiled code that reads a field of a record has the number itself, if the record's type says it."""

    @lower_getattr(types.Record, field)
    def read(context: Any, builder: Any, record: Any, value: Any) -> Any:
        constants = constants_of(list(record.fields))
        if field in constants:
            return context.get_constant(record.typeof(field), constants[field])
        return record_getattr(context, builder, record, value, field)


for _field in OF_TABLE:
    _read_constant(_field)
