"""The errors that this package raises on purpose: something outside of it is wrong, and the message says what to do.

All are a ``TrickEnvsError`` and, as Python's own errors for the same, a ``ValueError``, a ``TypeError`` and so on. The
``trick`` command shows them as one line. Any other exception is a bug, and is shown with its traceback.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any, TypeVar

from gymnasium import error

T = TypeVar("T")

RAISED_BY = "raised by "  # a note of an exception from code of others begins so


class TrickEnvsError(Exception):
    """Base class of all errors that are raised on purpose."""


class InputError(TrickEnvsError, ValueError):
    """A value that is not allowed."""


class InputTypeError(TrickEnvsError, TypeError):
    """An argument of the wrong type, or one that is missing or unknown."""


class IllegalAction(InputError):
    """An action that the rules do not allow now; the message names the seat, the card and the rule.

    Environments, ``BatchEnv`` and ``Match`` raise it before anything has changed. Only this error counts as an illegal
    move where one ends a match: any other ``ValueError``, such as one of a plug-in's drawing, is a bug and gets out.
    """


class InvalidAction(IllegalAction, error.InvalidAction, AssertionError):
    """What is no action at all: not one whole number, or outside of the action space where that is an error.

    Nothing has been played then, whatever ``illegal`` says. It is an ``AssertionError``, too, as in PettingZoo.
    """


class ResetNeeded(TrickEnvsError, error.ResetNeeded, RuntimeError):
    """No match is going on: before the first ``reset()``, after the end, or because a call has stopped half-way."""


class MissingExtraError(TrickEnvsError, ImportError):
    """A library is needed that is not installed; the message names the extra that has it."""


class FolderInUseError(TrickEnvsError, RuntimeError):
    """Another process writes into the same folder."""


def checked(given: Any, kind: type[T], name: str, what: str) -> T:
    """What is given, if it is of a kind.

    Raises:
        TypeError: if it is not; names the argument, and what was expected.
    """
    if not isinstance(given, kind):
        raise InputTypeError(f"{name}: expected {what}, not {shown(given)}")
    return given


def checked_list(given: Any, kind: type, name: str, what: str) -> list[Any]:
    """What is given as a list, if it can be gone through, is no text, and all of it is of a kind.

    Raises:
        TypeError: if it is not; names the argument, and what was expected.
    """
    try:
        each = list(given)
    except TypeError:
        each = None
    if each is None or isinstance(given, str) or not all(isinstance(one, kind) for one in each):
        raise InputTypeError(f"{name}: expected {what}, not {shown(given)}")
    return each


def checked_path(given: Any, name: str, what: str = "a path") -> Path:
    """What is given as a path, if it is one.

    Raises:
        TypeError: if it is not; names the argument, and what was expected.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise InputTypeError(f"{name}: expected {what}, not {shown(given)}")
    return Path(given)


def optional_path(given: Any, name: str) -> Path | None:
    """``checked_path``, but ``None`` stays ``None``."""
    return None if given is None else checked_path(given, name)


def shown(given: object) -> str:
    """Something that is told in a message: in a line, of 201 letters at most."""
    try:
        text = " ".join(repr(given).split())
    except Exception:  # an integer of more than 4,300 digits, or whatever another class raises
        return f"a {type(given).__name__}"
    return text if len(text) <= 200 else f"{text[:200]}…"


def in_a_line(error: BaseException) -> str:
    """An error of a library in one line, without what a terminal would obey."""
    return f"{type(error).__name__}: {one_line(str(error))}"


def one_line(text: str) -> str:
    """What others have written, in one line, cut off, and without what a terminal would obey."""
    text = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return text if len(text) <= 300 else f"{text[:300]}…"


def printable(text: str) -> str:
    """A text for a terminal, which may hold names that others have chosen: what it would obey is told, not sent.

    Lines and blanks stay as they are.
    """
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t" or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )
