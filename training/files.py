"""Files that are either the old ones or the new ones, whatever happens in between."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_text(path: Path, text: str) -> None:
    """Writes to a temporary name first, then renames."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def write_json(path: Path, content: Any) -> None:
    """``write_text`` of JSON."""
    write_text(path, json.dumps(content, indent=2) + "\n")
