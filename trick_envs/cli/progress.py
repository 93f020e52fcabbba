"""The progress bar of runs and arenas."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from trick_envs.errors import printable


class _Note(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(printable(task.fields["note"]), "dim")


def progress_bar(console: Console, transient: bool = False) -> Progress:
    """A progress bar whose tasks show a ``note`` at the end of the line; a transient one disappears when it ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, _Note(), console=console, transient=transient)
