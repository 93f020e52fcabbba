"""The functions of ``intrinsics.py`` as the compiler makes them: what Numba calls instead of the plain Python there.

Importing this module tells Numba. Nothing imports it before something is compiled: it needs the compiler.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_getattr, overload
from numba.np.arrayobj import record_getattr

from trick_envs.engine.intrinsics import (
    _GOLDEN,
    _MIX_1,
    _MIX_2,
    DEAL_STARTS_AT,
    MOST_IN_VECTOR,
    OF_TABLE,
    add_to_word,
    append_bits,
    clear_bytes,
    clear_deal,
    constants_of,
    copy_bytes,
    flags_of,
    highest_bit,
    lowest_bit,
    pause,
    popcount,
    prefetch,
    replace_word,
    scale_bits,
    shared_word,
    spill_bit_sums,
    spill_bits,
    spill_copy,
    spill_sizes,
    spill_zeros,
    splitmix,
    write_bit_sums,
    write_bits,
)

# Bits become bytes with one instruction of LLVM: a word of 64 bits is read as a vector of 64 flags, which is widened to
# a vector of 64 bytes. Flag 0 is the lowest bit of the word, and goes to the lowest address, where machines are
# little-endian, as all are that Numba supports. A big-endian machine would write the flags in the opposite order.


@intrinsic
def _popcount(typing: Any, word: Any) -> Any:
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def _lowest_bit(typing: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


@intrinsic
def _leading_zeros(typing: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    """A byte pointer to ``array[at]`` of an array of one-byte items."""
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.gep(builder.bitcast(data, cgutils.voidptr_t), [at])


@intrinsic
def _copy_bytes(typing: Any, source: Any, start: Any, out: Any, at: Any, length: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        origin = _pointer(context, builder, signature.args[0], args[0], args[1])
        target = _pointer(context, builder, signature.args[2], args[2], args[3])
        cgutils.raw_memcpy(builder, target, origin, args[4], 1)
        return context.get_dummy_value()

    return types.void(source, types.int64, out, types.int64, types.int64), build


@intrinsic
def _clear_bytes(typing: Any, out: Any, at: Any, length: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _pointer(context, builder, signature.args[0], args[0], args[1])
        cgutils.memset(builder, target, args[2], 0)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int64), build


@overload(popcount, strict=False)
def _compiled_popcount(word: Any) -> Any:
    return lambda word: _popcount(word)


@overload(lowest_bit, strict=False)
def _compiled_lowest_bit(word: Any) -> Any:
    return lambda word: _lowest_bit(word)


@overload(highest_bit, strict=False)
def _compiled_highest_bit(word: Any) -> Any:
    return lambda word: 63 - _leading_zeros(word)


@overload(splitmix, strict=False)
def _compiled_splitmix(state: Any) -> Any:
    golden, mix_1, mix_2 = np.uint64(_GOLDEN), np.uint64(_MIX_1), np.uint64(_MIX_2)
    s30, s27, s31 = np.uint64(30), np.uint64(27), np.uint64(31)

    def compiled(state: Any) -> Any:
        following = state + golden
        bits = (following ^ (following >> s30)) * mix_1
        bits = (bits ^ (bits >> s27)) * mix_2
        return following, bits ^ (bits >> s31)

    return compiled


@overload(scale_bits, strict=False)
def _compiled_scale_bits(bits: Any, count: Any) -> Any:
    half = np.uint64(32)
    return lambda bits, count: np.int64(((bits >> half) * np.uint64(count)) >> half)


@intrinsic
def _write_bits(typing: Any, low: Any, high: Any, split: Any, out: Any, at: Any, length: Any) -> Any:
    """Both words become vectors of bytes in a buffer, of which ``length`` are copied.

    The second store, from byte ``split`` on, overwrites what the first one has written from there on: with a ``split``
    of 54 the buffer of 128 bytes then holds 54 + 64 = 118 that are valid.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        low, high, split, out, at, length = args
        byte, flags = ir.VectorType(ir.IntType(8), 64), ir.VectorType(ir.IntType(1), 64)
        buffer = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(8), 128)), cgutils.voidptr_t)
        for word, offset in ((low, ir.Constant(ir.IntType(64), 0)), (high, split)):
            target = builder.bitcast(builder.gep(buffer, [offset]), byte.as_pointer())
            builder.store(builder.zext(builder.bitcast(word, flags), byte), target, align=1)
        cgutils.raw_memcpy(builder, _pointer(context, builder, signature.args[3], out, at), buffer, length, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, out, types.int64, types.int64), build


@overload(write_bits, strict=False)
def _compiled_write_bits(low: Any, high: Any, split: Any, out: Any, at: Any, length: Any) -> Any:
    return lambda low, high, split, out, at, length: _write_bits(low, high, split, out, at, length)


@intrinsic
def _write_bit_sums(typing: Any, one: Any, other: Any, out: Any, at: Any, length: Any) -> Any:
    """Both words become vectors of bytes; ``length`` bytes of their sum are copied."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, other, out, at, length = args
        byte, flags = ir.VectorType(ir.IntType(8), 64), ir.VectorType(ir.IntType(1), 64)
        buffer = cgutils.alloca_once(builder, byte)
        sums = builder.add(*(builder.zext(builder.bitcast(word, flags), byte) for word in (one, other)))
        builder.store(sums, buffer)
        target = _pointer(context, builder, signature.args[2], out, at)
        cgutils.raw_memcpy(builder, target, builder.bitcast(buffer, cgutils.voidptr_t), length, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, out, types.int64, types.int64), build


@overload(write_bit_sums, strict=False)
def _compiled_write_bit_sums(one: Any, other: Any, out: Any, at: Any, length: Any) -> Any:
    return lambda one, other, out, at, length: _write_bit_sums(one, other, out, at, length)


@overload(copy_bytes, strict=False)
def _compiled_copy_bytes(source: Any, start: Any, out: Any, at: Any, length: Any) -> Any:
    return lambda source, start, out, at, length: _copy_bytes(source, start, out, at, length)


@overload(clear_bytes, strict=False)
def _compiled_clear_bytes(out: Any, at: Any, length: Any) -> Any:
    return lambda out, at, length: _clear_bytes(out, at, length)


@intrinsic
def _store_bits(typing: Any, word: Any, out: Any, at: Any) -> Any:
    """64 bytes, one per bit of a word."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, flags = ir.VectorType(ir.IntType(8), 64), ir.VectorType(ir.IntType(1), 64)
        target = builder.bitcast(_pointer(context, builder, signature.args[1], args[1], args[2]), byte.as_pointer())
        builder.store(builder.zext(builder.bitcast(args[0], flags), byte), target, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64), build


@intrinsic
def _store_bit_sums(typing: Any, one: Any, other: Any, out: Any, at: Any) -> Any:
    """64 bytes, how many of the two words have the bit set."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, flags = ir.VectorType(ir.IntType(8), 64), ir.VectorType(ir.IntType(1), 64)
        target = builder.bitcast(_pointer(context, builder, signature.args[2], args[2], args[3]), byte.as_pointer())
        sums = builder.add(*(builder.zext(builder.bitcast(word, flags), byte) for word in args[:2]))
        builder.store(sums, target, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, out, types.int64), build


@intrinsic
def _copy_vector(typing: Any, source: Any, start: Any, out: Any, at: Any) -> Any:
    """64 bytes."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64).as_pointer()
        origin = builder.bitcast(_pointer(context, builder, signature.args[0], args[0], args[1]), vector)
        target = builder.bitcast(_pointer(context, builder, signature.args[2], args[2], args[3]), vector)
        builder.store(builder.load(origin, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(source, types.int64, out, types.int64), build


@overload(spill_bits, strict=False)
def _compiled_spill_bits(low: Any, high: Any, split: Any, out: Any, at: Any, length: Any) -> Any:
    def compiled(low: Any, high: Any, split: Any, out: Any, at: Any, length: Any) -> None:
        if at + length + 128 <= out.shape[0]:
            _store_bits(low, out, at)
            _store_bits(high, out, at + split)
        else:
            _write_bits(low, high, split, out, at, length)

    return compiled


@overload(spill_bit_sums, strict=False)
def _compiled_spill_bit_sums(one: Any, other: Any, out: Any, at: Any, length: Any) -> Any:
    def compiled(one: Any, other: Any, out: Any, at: Any, length: Any) -> None:
        if at + length + 64 <= out.shape[0]:
            _store_bit_sums(one, other, out, at)
        else:
            _write_bit_sums(one, other, out, at, length)

    return compiled


@overload(spill_copy, strict=False)
def _compiled_spill_copy(source: Any, start: Any, out: Any, at: Any, length: Any) -> Any:
    def compiled(source: Any, start: Any, out: Any, at: Any, length: Any) -> None:
        if at + length + 64 <= out.shape[0]:
            _copy_vector(source, start, out, at)
            if length > 64:  # no loop: it would become a call of ``memcpy``, which takes longer for so few bytes
                _copy_vector(source, start + 64, out, at + 64)
                if length > 128:
                    _copy_bytes(source, start + 128, out, at + 128, length - 128)
        else:
            _copy_bytes(source, start, out, at, length)

    return compiled


@overload(spill_zeros, strict=False)
def _compiled_spill_zeros(out: Any, at: Any, length: Any) -> Any:
    def compiled(out: Any, at: Any, length: Any) -> None:
        if at + length + 64 <= out.shape[0]:
            _store_bits(0, out, at)
            if length > 64:
                _store_bits(0, out, at + 64)
                if length > 128:
                    _clear_bytes(out, at + 128, length - 128)
        else:
            _clear_bytes(out, at, length)

    return compiled


@intrinsic
def _append_bits(typing: Any, word: Any, filled: Any, bits: Any, length: Any, out: Any, at: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, filled, bits, length, out, at = args
        integer = ir.IntType(64)
        one, most, whole = (ir.Constant(integer, number) for number in (1, 63, 64))
        together, total = builder.or_(word, builder.shl(bits, filled)), builder.add(filled, length)
        before = builder.block
        with builder.if_then(builder.icmp_signed(">=", total, whole)):
            byte, flags = ir.VectorType(ir.IntType(8), 64), ir.VectorType(ir.IntType(1), 64)
            target = builder.bitcast(_pointer(context, builder, signature.args[4], out, at), byte.as_pointer())
            builder.store(builder.zext(builder.bitcast(together, flags), byte), target, align=1)
            # What is left of ``bits`` is ``bits >> (64 - filled)``, in two steps: a shift by 64 is not defined.
            left_over = builder.lshr(builder.lshr(bits, one), builder.sub(most, filled))
            stored = (left_over, builder.sub(total, whole), builder.add(at, whole))
            after = builder.block
        results = []
        for kept, changed in zip((together, total, at), stored, strict=True):
            result = builder.phi(integer)
            result.add_incoming(kept, before)
            result.add_incoming(changed, after)
            results.append(result)
        return context.make_tuple(builder, signature.return_type, results)

    number = types.int64
    return types.UniTuple(number, 3)(number, number, number, number, out, number), build


@overload(append_bits, strict=False)
def _compiled_append_bits(word: Any, filled: Any, bits: Any, length: Any, out: Any, at: Any) -> Any:
    return lambda word, filled, bits, length, out, at: _append_bits(word, filled, bits, length, out, at)


@intrinsic
def _flags_of(typing: Any, numbers: Any) -> Any:
    """Which of 64 bytes are not 0."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, start = ir.VectorType(ir.IntType(8), 64), ir.Constant(ir.IntType(64), 0)
        source = builder.bitcast(_pointer(context, builder, signature.args[0], args[0], start), vector.as_pointer())
        found = builder.icmp_unsigned("!=", builder.load(source, align=1), ir.Constant(vector, [0] * 64))
        return builder.bitcast(found, ir.IntType(64))

    return types.int64(numbers), build


@overload(flags_of, strict=False)
def _compiled_flags_of(numbers: Any, length: Any) -> Any:
    return lambda numbers, length: _flags_of(numbers) & ((1 << length) - 1)


def _rotated(builder: Any, values: Any, count: Any, first: Any) -> Any:
    """The ``count`` lowest bytes of an integer of 8, from byte ``first`` on, in a circle."""
    width = ir.Constant(values.type, 8)
    kept = builder.and_(values, builder.lshr(
        ir.Constant(values.type, -1), builder.mul(width, builder.sub(ir.Constant(values.type, 8), count))
    ))  # fmt: skip
    later = builder.sub(builder.sub(count, first), ir.Constant(values.type, 1))  # in two steps, as above
    beginning = builder.shl(builder.shl(kept, builder.mul(width, later)), width)
    return builder.or_(builder.lshr(kept, builder.mul(width, first)), beginning)


@intrinsic
def _store_sizes(typing: Any, places: Any, count: Any, first: Any, out: Any, at: Any) -> Any:
    """The sizes of up to 8 places: the bits of their words are counted in one vector."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places, count, first, out, at = args
        words = ir.VectorType(ir.IntType(64), 16)
        data = context.make_array(signature.args[0])(context, builder, value=places).data
        loaded = builder.load(builder.bitcast(data, words.as_pointer()), align=8)
        count_bits = ir.FunctionType(words, [words])
        found = builder.call(cgutils.get_or_insert_function(builder.module, count_bits, "llvm.ctpop.v16i64"), [loaded])
        undefined = ir.Constant(words, ir.Undefined)
        halves = [
            builder.shuffle_vector(
                found, undefined, ir.Constant(ir.VectorType(ir.IntType(32), 8), list(range(half, 16, 2)))
            )
            for half in (0, 1)
        ]
        sizes = builder.trunc(builder.add(*halves), ir.VectorType(ir.IntType(8), 8))
        turned = _rotated(builder, builder.bitcast(sizes, ir.IntType(64)), count, first)
        target = _pointer(context, builder, signature.args[3], out, at)
        builder.store(turned, builder.bitcast(target, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(places, types.int64, types.int64, out, types.int64), build


@overload(spill_sizes, strict=False)
def _compiled_spill_sizes(places: Any, count: Any, first: Any, out: Any, at: Any) -> Any:
    def compiled(places: Any, count: Any, first: Any, out: Any, at: Any) -> None:
        if count <= MOST_IN_VECTOR and at + MOST_IN_VECTOR <= out.shape[0]:
            _store_sizes(places, count, first, out, at)
        else:
            for k in range(count):
                i = first + k - count * (first + k >= count)
                out[at + k] = _popcount(places[i, 0]) + _popcount(places[i, 1])

    return compiled


@intrinsic
def _prefetch(typing: Any, states: Any, i: Any) -> Any:
    size = states.dtype.size

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer, pointer = ir.IntType(32), cgutils.voidptr_t
        kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        data = context.make_array(signature.args[0])(context, builder, value=args[0]).data
        start = builder.mul(args[1], ir.Constant(ir.IntType(64), size))
        for offset in range(0, size, 64):
            at = builder.add(start, ir.Constant(ir.IntType(64), offset))
            hints = [ir.Constant(integer, value) for value in (0, 3, 1)]  # to read, to be kept, data
            builder.call(function, [builder.gep(builder.bitcast(data, pointer), [at]), *hints])
        return context.get_dummy_value()

    return types.void(states, types.int64), build


@overload(prefetch, strict=False)
def _compiled_prefetch(states: Any, i: Any) -> Any:
    def compiled(states: Any, i: Any) -> None:
        if i < states.shape[0]:
            _prefetch(states, i)

    return compiled


def _word(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    """A pointer to ``array[at]`` of an ``int64`` array."""
    data = context.make_array(array_type)(context, builder, value=array).data
    return builder.gep(builder.bitcast(data, ir.IntType(64).as_pointer()), [at])


@intrinsic
def _shared_word(typing: Any, words: Any, at: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_word(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(words, types.int64), build


@intrinsic
def _add_to_word(typing: Any, words: Any, at: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _word(context, builder, signature.args[0], *args[:2]), args[2], "seq_cst")

    return types.int64(words, types.int64, types.int64), build


@intrinsic
def _replace_word(typing: Any, words: Any, at: Any, expected: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _word(context, builder, signature.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(pointer, args[2], args[3], "seq_cst", "seq_cst"), 1)

    return types.boolean(words, types.int64, types.int64, types.int64), build


_PAUSES = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}  # elsewhere nothing: it only saves energy


@intrinsic
def _pause(typing: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if (name := _PAUSES.get(platform.machine())) is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), build


@overload(shared_word, strict=False)
def _compiled_shared_word(words: Any, at: Any) -> Any:
    return lambda words, at: _shared_word(words, at)


@overload(add_to_word, strict=False)
def _compiled_add_to_word(words: Any, at: Any, value: Any) -> Any:
    return lambda words, at, value: _add_to_word(words, at, value)


@overload(replace_word, strict=False)
def _compiled_replace_word(words: Any, at: Any, expected: Any, value: Any) -> Any:
    return lambda words, at, expected, value: _replace_word(words, at, expected, value)


@overload(pause, strict=False)
def _compiled_pause() -> Any:
    return lambda: _pause()


@intrinsic
def _clear_deal(typing: Any, state: Any) -> Any:
    start, size = state.offset(DEAL_STARTS_AT), state.size

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = builder.gep(builder.bitcast(args[0], cgutils.voidptr_t), [ir.Constant(ir.IntType(64), start)])
        cgutils.memset(builder, target, ir.Constant(ir.IntType(64), size - start), 0)
        return context.get_dummy_value()

    return types.void(state), build


@overload(clear_deal, strict=False)
def _compiled_clear_deal(state: Any) -> Any:
    return lambda state: _clear_deal(state)


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
