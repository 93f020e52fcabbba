"""One table of messages for each language: ``en.toml``, and translations with the same keys beside it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ENGLISH = "en"


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
