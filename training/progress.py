"""The progress bar of everything that takes its time."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar(console: Console, transient: bool = False) -> Progress:
    """A bar whose tasks have a ``note`` behind them; a transient one is gone at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    note = TextColumn("{task.fields[note]}", style="dim", markup=False)
    return Progress(*columns, note, console=console, transient=transient)
