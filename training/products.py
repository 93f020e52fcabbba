"""Matrix products of torch for code that Numba compiles, which then needs no lock of the interpreter.

A pass through the network is some thirty small products with loops between them. Called from Python one by one, two
threads that share a minibatch wait for each other's lock at every call. Here torch's product is called by its C
interface, which is stable, since compiled models of torch use it
(https://docs.pytorch.org/docs/main/torch.compiler_aot_inductor.html).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import numpy.typing as npt
import torch
from numba.core import types
from numba.extending import overload

_torch = ctypes.CDLL("torch_cpu.dll" if sys.platform == "win32" else torch._C.__file__)  # also finds what that loads
for _name in ("aoti_torch_create_tensor_from_blob", "aoti_torch_cpu_mm_out", "aoti_torch_delete_tensor_object"):
    llvmlite.binding.add_symbol(_name, ctypes.cast(getattr(_torch, _name), ctypes.c_void_p).value)

_ADDRESS, _ERROR = types.uintp, types.int32
_tensor: Any = types.ExternalFunction(
    "aoti_torch_create_tensor_from_blob",  # data, dimensions, sizes, strides, offset, type, device, its number, tensor
    _ERROR(_ADDRESS, types.int64, _ADDRESS, _ADDRESS, types.int64, types.int32, types.int32, types.int32, _ADDRESS),
)
_mm_out: Any = types.ExternalFunction("aoti_torch_cpu_mm_out", _ERROR(_ADDRESS, _ADDRESS, _ADDRESS))
_delete: Any = types.ExternalFunction("aoti_torch_delete_tensor_object", _ERROR(_ADDRESS))
_FLOAT32, _BFLOAT16, _CPU = 6, 15, 0  # torch's numbers of these types and this device


@contextmanager
def one_thread() -> Iterator[None]:
    """In this block torch computes in one thread: on small batches it is faster, and the same on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def numbers(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """The memory of a tensor on a CPU for compiled code, which knows ``bfloat16`` by its bits, ``uint16``."""
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    """The opposite of ``numbers``."""
    return torch.from_numpy(array).view(torch.bfloat16) if array.dtype == np.uint16 else torch.from_numpy(array)


def product(left: Any, left_turned: bool, right: Any, right_turned: bool, out: Any) -> None:
    """Writes the matrix product of ``left`` and ``right`` to ``out``, in compiled code as in Python.

    Args:
        left, right, out: ``(rows, columns)``, C-contiguous, all ``float32`` or all ``uint16``, which is ``bfloat16``.
        left_turned, right_turned: whether this one is transposed first.
    """
    first, second = tensor(left), tensor(right)
    torch.mm(first.t() if left_turned else first, second.t() if right_turned else second, out=tensor(out))


@overload(product)
def _product_compiled(left: Any, left_turned: Any, right: Any, right_turned: Any, out: Any) -> Any:
    if not all(each.layout == "C" and each.ndim == 2 and each.dtype == out.dtype for each in (left, right, out)):
        return None
    kind = {types.float32: _FLOAT32, types.uint16: _BFLOAT16}[out.dtype]

    def compiled(left: Any, left_turned: Any, right: Any, right_turned: Any, out: Any) -> None:
        (rows, inner), (other, columns) = left.shape, right.shape
        if left_turned:
            rows, inner = inner, rows
        if right_turned:
            other, columns = columns, other
        if inner != other or out.shape != (rows, columns):
            raise RuntimeError("product: expected matrices that fit")
        tensors, shapes = np.empty(3, np.uintp), np.empty((3, 4), np.int64)  # of each: sizes, then strides
        error = _wrap(out, False, kind, shapes, tensors, 0)
        error |= _wrap(left, left_turned, kind, shapes, tensors, 1)
        error |= _wrap(right, right_turned, kind, shapes, tensors, 2)
        if error == 0:
            error = _mm_out(tensors[0], tensors[1], tensors[2])
            for each in tensors:
                _delete(each)
        if error != 0:
            raise RuntimeError("product: torch cannot compute it")

    return compiled


@numba.njit
def _wrap(array: Any, turned: bool, kind: int, shapes: Any, tensors: Any, number: int) -> int:
    """Makes a tensor of an array's memory."""
    rows, columns = array.shape
    shapes[number, 0], shapes[number, 1], shapes[number, 2], shapes[number, 3] = rows, columns, columns, 1
    if turned:
        shapes[number, 0], shapes[number, 1], shapes[number, 2], shapes[number, 3] = columns, rows, 1, columns
    at, into = shapes.ctypes.data + 32 * number, tensors.ctypes.data + 8 * number
    return _tensor(array.ctypes.data, 2, at, at + 16, 0, kind, _CPU, 0, into)
