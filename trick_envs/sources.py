"""A digest of source files: what was made by other code is not mixed with what this code makes."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def sources_digest(place: Path, below: bool = False, without: str = "") -> str:
    """A digest of Python files: names and contents, wherever they lie. Computed once per process.

    Args:
        place: a file, or a folder.
        below: the folders in that folder, too.
        without: the name of files that do not matter.
    """
    files = [place] if place.is_file() else sorted(place.rglob("*.py") if below else place.glob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        if file.name != without:
            name = file.name if file == place else file.relative_to(place).as_posix()
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def digest_of_all(*parts: str) -> str:
    """One digest for several, and for whatever else matters, such as versions."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
