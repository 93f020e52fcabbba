"""Old names that still work for one version, with a ``DeprecationWarning`` that names the new one."""

from __future__ import annotations

import sys
import warnings

_NOT_THE_CALLER = (
    "trick_envs",
    "training",
    "gymnasium",
    "importlib",
    "_frozen_importlib",
    "pettingzoo",
    "typer",
    "click",
)


def warn_renamed(old: str, new: str) -> None:
    """Warns that something has a new name, at the line outside the package that used the old one.

    Args:
        old: what was used, as a user writes it, such as ``illegal='random'``.
        new: what to write instead.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_CALLER:
        level, frame = level + 1, frame.f_back
    message = f"{old} has been renamed: write {new}. The old name goes with the next version."
    warnings.warn(message, DeprecationWarning, stacklevel=level)
