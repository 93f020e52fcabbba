"""One table of messages for each language: ``en.toml``, and translations with the same keys beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

ENGLISH = "en"
_SPOKEN: ContextVar[str] = ContextVar("language", default=ENGLISH)


def said(name: str, /, **blanks: object) -> str:
    """A message, by ``section.key``, in the language that is spoken, with its blanks filled in."""
    section, key = name.split(".")
    return str(messages(spoken())[section][key]).format(**blanks)


def said_to(you: bool, name: str, /, **blanks: object) -> str:
    """A message about a seat, or, if it is spoken to, that with ``you_`` before its key: ``you take the trick``."""
    section, key = name.split(".")
    return said(f"{section}.{'you_' if you else ''}{key}", **blanks)


def declared(game: str, what: str, english: str) -> str:
    """What a game declares in English in its own code, in the language that is spoken, if its table has it."""
    return str(messages(spoken()).get("declared", {}).get(f"{game}.{what}", english))


def spoken() -> str:
    """The language in which everything is said: English, but within ``speaking``."""
    return _SPOKEN.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Within it everything is said in a language: in this thread or task, and in those that it starts by anyio."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


@cache
def messages(language: str) -> dict[str, Any]:
    """The table of a language."""
    return tomllib.loads(_file(language).read_text(encoding="utf-8"))


@cache
def languages() -> tuple[str, ...]:
    """Those that there are tables of, by their two letters."""
    return tuple(sorted(file.stem for file in _file("").parent.glob("*.toml")))


def _file(language: str) -> Path:
    return Path(__file__).with_name(f"{language}.toml")
