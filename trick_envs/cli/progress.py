"""The progress bar of runs and arenas."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar(console: Console, transient: bool = False) -> Progress:
    """A progress bar whose tasks show a ``note`` at the end of the line; a transient one disappears when it ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    note = TextColumn("{task.fields[note]}", style="dim", markup=False)
    return Progress(*columns, note, console=console, transient=transient)
