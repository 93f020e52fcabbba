"""Numba: makes machine code of kernels, keeps it in files, and loads it.

Rules and kernels that other kernels call become instructions of LLVM, and nothing more: they are linked into the kernel
that Python calls, and optimised there, once, all together. Only that kernel has machine code, and a wrapper that takes
Python's objects apart.

This module imports Numba, which takes as long as a deal of cards. Nothing imports it before machine code is needed.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import pickle
import signal
import sys
import threading
import types
import typing
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from trick_envs.engine.build.rule import RULES, ArrayOf, Function, type_of
from trick_envs.files import replacing

_DIGEST_BYTES = hashlib.sha256().digest_size
LONGEST = 60.0  # seconds to wait for another process that compiles the same kernel, before it is compiled twice


@contextlib.contextmanager
def _later(name: str) -> Iterator[None]:
    """Lets a module that is asked for be imported when it is used.

    Numba imports SciPy's linear algebra to see whether it is there, which takes a quarter of a second. Its own code
    imports it again when somebody multiplies matrices.
    """
    asked = False
    with contextlib.suppress(ImportError):
        asked = name not in sys.modules and importlib.util.find_spec(name.partition(".")[0]) is not None
    if asked:
        sys.modules[name] = types.ModuleType(name)
    try:
        yield
    finally:
        if asked:
            sys.modules.pop(name, None)


import numba  # noqa: E402
from llvmlite import binding  # noqa: E402
from numba.core import codegen, compiler, serialize  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.registry import CPUDispatcher, cpu_target  # noqa: E402
from numba.np import numpy_support  # noqa: E402

with _later("scipy.linalg.cython_blas"):
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

from trick_envs.engine.build import intrinsics  # noqa: E402, F401  (Numba learns of them by the import)

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Linked(codegen.JITCodeLibrary):
    """The code of a function that only compiled code calls: no machine code."""

    def _optimize_functions(self, module: Any) -> None:
        """Makes it smaller, no more: it is optimised with the kernel that it becomes part of."""
        module.data_layout = self._codegen._data_layout
        builder, passes = self._codegen._pass_builder(), binding.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_refprune_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _Nowhere(self._codegen)


class _Nowhere:
    """The code generator of such a function, which has no place in memory that could be told of its environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


def _keep_tables_of(context: Any) -> None:
    """Makes large tables of numbers part of the code, as small ones are: else it could not be kept in a file."""
    original = context.make_constant_array

    def constant_array(builder: Any, kind: Any, table: Any) -> Any:
        context.allow_dynamic_globals = kind.layout not in "FC"
        try:
            return original(builder, kind, table)
        finally:
            context.allow_dynamic_globals = True

    context.make_constant_array = constant_array


class _Outer(compiler.Compiler):
    """How a kernel that Python calls is compiled."""

    def define_pipelines(self) -> Any:
        _keep_tables_of(self.state.targetctx)
        _teach(self.state.func_id.func)
        return super().define_pipelines()


class _Inner(compiler.Compiler):
    """How everything else is compiled."""

    def define_pipelines(self) -> Any:
        _keep_tables_of(self.state.targetctx)
        self.state.library = _Linked(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _Within(CPUDispatcher):
    """A function that only compiled code calls: its integers have 64 bits, whatever type they have where it is called.

    Else it would be compiled for zero, for a number of a record and for the result of a sum, though Numba computes with
    all of them alike, and a constant reaches its code by inlining.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(_widened, args)), {name: _widened(kws[name]) for name in kws})


def _widened(kind: Any) -> Any:
    if isinstance(kind, numba.types.BaseAnonymousTuple):
        return numba.types.Tuple([_widened(each) for each in kind])
    kind = numba.types.unliteral(kind)
    return numba.types.int64 if isinstance(kind, numba.types.Integer) and kind.signed else kind


def _teach(function: Function) -> None:
    """Tells Numba what all rules are, and the kernels that a function may call."""
    for each in (*RULES, *function.__globals__.values()):
        if isinstance(each, types.FunctionType) and hasattr(each, "inline") and not hasattr(each, "_numba_type_"):
            options = {"nopython": True, "boundscheck": None, "forceinline": each.inline, "no_cpython_wrapper": True}
            inner = _Within(each, {}, options | _OPTIONS, _Inner)
            function_type = inner._numba_type_  # which knows the compiled function weakly
            each.compiled, each._numba_type_ = inner, function_type  # type: ignore[attr-defined]


def _numba_type(kind: Any, record: np.dtype[Any]) -> Any:
    """Numba's type of an argument (``rule.types_of``), where positions are such records."""
    if isinstance(kind, ArrayOf):
        items = numpy_support.from_dtype(record if kind.dtype is None else np.dtype(kind.dtype))
        return numba.types.Array(items, kind.ndim, "C", readonly=kind.readonly)
    if isinstance(kind, type) and issubclass(kind, tuple):
        hints = typing.get_type_hints(kind, include_extras=True).values()
        return numba.types.NamedTuple([_numba_type(type_of(each), record) for each in hints], kind)
    return numba.types.int64 if kind is int else numpy_support.from_dtype(np.dtype(kind))


def machine_code(function: Function, kinds: Sequence[Any], record: np.dtype[Any], file: Path | None) -> Any:
    """The compiled function (Numba's ``Dispatcher``), from its file, or else compiled and written there.

    Of processes that want the same, one compiles. The others wait for its code; if it dies, the next one compiles: the
    lock is the operating system's. For other types of arguments, a call compiles the function again, for this process.

    Args:
        function: what Python calls.
        kinds: the types of its arguments.
        record: the type of positions.
        file: where its code is kept; ``None``: nowhere.
    """
    if file is not None and file.exists() and not file.is_file():  # whoever opens a pipe waits for somebody else
        file = None
    compiled = numba.njit(function, pipeline_class=_Outer, **_OPTIONS)
    if not _load(compiled, file):
        with _alone(file):
            if not _load(compiled, file):
                signature = tuple(_numba_type(kind, record) for kind in kinds)
                with _ctrl_c_waits():
                    _save(_compile(compiled, signature), file)
    (result,) = compiled.overloads.values()
    types_ = result.signature.args
    writeable = tuple(each.copy(readonly=False) if isinstance(each, numba.types.Array) else each for each in types_)
    if writeable != types_:  # Numba would compile it once more: for what it only reads
        compiled.add_overload(result._replace(signature=result.signature.replace(args=writeable)))
    return compiled


@contextlib.contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Puts the first Ctrl-C off until the end of the block; the second one has its usual effect at once.

    LLVM and Numba call Python from native code and from weak references, where Python drops what is raised.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():  # signals arrive there
        yield
        return
    received: list[FrameType | None] = []

    def put_off(number: int, frame: FrameType | None) -> None:
        signal.signal(number, usual)
        received.append(frame)

    try:
        signal.signal(signal.SIGINT, put_off)
        yield
    finally:
        if not received:
            signal.signal(signal.SIGINT, usual)
        if received:  # no else: it may have come between the two
            usual(signal.SIGINT, received[0])


def _compile(compiled: Any, signature: tuple[Any, ...]) -> Any:
    collects = gc.isenabled()
    gc.disable()  # Numba makes next to no garbage meanwhile: looking for it takes a tenth of the time
    try:
        compiled.compile(signature)
    finally:
        if collects:
            gc.enable()
    result = compiled.overloads[signature]
    for environment in result._find_referenced_environments():  # of functions that are part of it
        result.library.codegen.set_env(environment.env_name, environment)
    return result


@_ctrl_c_waits()
def _load(compiled: Any, file: Path | None) -> bool:
    """Takes the code from a file, if it is there; returns whether it is."""
    try:
        data = file.read_bytes() if file is not None else b""
        digest, code = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if digest != hashlib.sha256(code).digest():  # of a damaged file: a changed bit would run
            return False
        parts = pickle.loads(code)
    except Exception:  # it is not there
        return False
    try:
        with global_compiler_lock:
            result = compiler.CompileResult._rebuild(compiled.targetctx, *parts)
            compiled.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            compiled.add_overload(result)
    except (AttributeError, TypeError) as error:
        return _cannot_keep(error)
    return True


def _save(result: Any, file: Path | None) -> None:
    if file is not None:
        try:
            code = serialize.dumps(result._reduce())
        except (AttributeError, TypeError) as error:
            _cannot_keep(error)
            return
        with contextlib.suppress(OSError), replacing(file) as temporary:  # a full disk: the code is used, but not kept
            temporary.write_bytes(hashlib.sha256(code).digest() + code)


def _cannot_keep(error: Exception) -> bool:
    """Warns that this Numba lacks the private names by which code goes to files and comes from them: ``False``."""
    warnings.warn(
        f"numba {numba.__version__} keeps no compiled code for trick_envs ({error}), so every process compiles anew: "
        "install a version that trick_envs asks for",
        RuntimeWarning,
        stacklevel=2,
    )
    return False


@contextlib.contextmanager
def _alone(file: Path | None) -> Iterator[None]:
    """Nobody else compiles the kernel of this file meanwhile."""
    lock = None
    if file is not None:
        with contextlib.suppress(OSError, NotImplementedError, Timeout):  # then it is compiled without a lock
            lock = FileLock(file.with_suffix(".lock"), thread_local=False)
            lock.acquire(timeout=LONGEST, poll_interval=0.02)
    try:
        yield
    finally:
        if lock is not None:
            with contextlib.suppress(OSError):
                lock.release(force=True)
