"""From ``@rule`` to machine code.

| file | what |
| --- | --- |
| ``rule.py`` | marks functions: rules, kernels, and kernels that Python calls |
| ``kernels.py`` | the kernels of a table: plain Python at first, then machine code |
| ``twin.py`` | the arguments of a kernel for plain Python |
| ``compiler.py`` | Numba: makes machine code, keeps it in files, and loads it |
| ``intrinsics.py`` | bits and bytes as LLVM makes them (``engine/intrinsics.py`` has them in Python) |
| ``cache.py``, ``digest.py`` | the folder for this code on this processor |
| ``process.py``, ``child.py`` | a process that compiles meanwhile |
"""

from trick_envs.engine.build.rule import kernel, rule

__all__ = ["kernel", "rule"]
