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
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_THE_CALLER:
        frame = frame.f_back
    message = f"{old} has been renamed: write {new}. The old name goes with the next version."
    module, registry = frame.f_globals.get("__name__"), frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, DeprecationWarning, frame.f_code.co_filename, frame.f_lineno, module, registry
    )  # not warn(): it leaves frames of the import machinery out when it counts
