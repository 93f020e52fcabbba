"""When, where and with which code a run was made."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import trick_envs

_CPU_INFO = Path("/proc/cpuinfo")


def provenance() -> dict[str, str]:
    """Date, machine and code, as texts by name."""
    commit = git_commit(Path(__file__))
    return {
        "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "trick_envs": trick_envs.__version__ + (f", commit {commit}" if commit else ""),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
    }


def processor() -> str:
    """The name of the processor, as well as the system knows it."""
    if _CPU_INFO.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", _CPU_INFO.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or "unknown processor"


def git_commit(file: Path) -> str | None:
    """The commit of the git checkout that a file belongs to, with ``-dirty`` if it was changed since; or ``None``."""
    try:
        for command in (["ls-files", "--error-unmatch", file.name], ["describe", "--always", "--dirty", "--abbrev=12"]):
            done = subprocess.run(
                ["git", *command], cwd=file.parent, capture_output=True, text=True, timeout=10, check=True
            )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
