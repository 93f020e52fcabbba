"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_commands_it_names_exist() -> None:
    pytest.importorskip("typer")
    from training.cli import app

    known = {command.callback.__name__ for command in app.registered_commands if command.callback is not None}
    named = set(re.findall(r"\btrick ([a-z]+)", README))
    assert named <= known
    assert {"train", "evaluate", "bench"} <= named
