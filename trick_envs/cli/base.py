"""The application that all commands are added to, and the options that several of them share."""

from __future__ import annotations

import errno
import io
import os
import platform
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from enum import StrEnum
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from trick_envs import __version__
from trick_envs.errors import RAISED_BY, InputError, TrickEnvsError, in_a_line, printable
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import KEPT, LOCK, try_to_write

try:
    import typer
    import typer.core
    from rich.console import Console
    from rich.text import Text
except ModuleNotFoundError as missing:  # a core install
    raise SystemExit(
        "the trick command needs typer and rich: pip install 'trick_envs[cli]' ([train], to train)"
    ) from missing


class Command(typer.core.TyperCommand):
    """A command that refuses, before it begins, an output file that would replace what it needs (``keep_apart``)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        for option, file in ctx.meta.get(OUTPUTS, {}).items():
            for param in self.params:
                if option not in param.opts:
                    for path in _paths_in(ctx.params.get(param.name)):
                        keep_apart(option, file, param.opts[-1], path)
            if (file.parent / LOCK).exists():
                keep_apart(option, file, "the folder", file.parent)
        return rest


class App(typer.Typer):
    """An application whose commands are a ``Command`` if nothing else is asked for."""

    def command(self, name: str | None = None, **options: Any) -> Any:
        return super().command(name, **{"cls": Command, **options})


app = App(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class _Terminal(Console):
    """Prints texts and tables without what a terminal would obey: names of players and files come from others."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


out, err = _Terminal(markup=False), _Terminal(stderr=True, markup=False)  # names may hold brackets

OUTPUTS = "trick_envs.outputs"  # in the context of a command: its output files, by option
# No room, a disk that fails or may not be written to, or too many open files: whosever the file is.
OF_THE_SYSTEM = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EMFILE", "ENFILE")
    if hasattr(errno, name)
}

# What Python says where a thread or a process cannot be started.
_NO_MORE = ("can't start new thread", str(OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))))

# The extra that has a library.
EXTRAS = {
    "matplotlib": "evaluate",
    "h5py": "minari",
    "minari": "minari",
    "onnxruntime": "play",
    "openai": "llm",
    "openenv": "openenv",
    "ray": "ray",
    "jinja2": "report",
    "starlette": "serve",
    "textual": "play",
    "uvicorn": "serve",
    **dict.fromkeys(
        (
            "onnx",
            "onnxscript",
            "pydantic",
            "sb3_contrib",
            "stable_baselines3",
            "tensorboard",
            "torch",
            "yaml",
        ),
        "train",
    ),
}


def _show_versions(wanted: bool) -> None:
    if wanted:
        libraries = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "pettingzoo", "gymnasium"))
        out.print(f"trick_envs {__version__} ({libraries}, Python {platform.python_version()})", soft_wrap=True)
        raise typer.Exit


@app.callback()
def options(
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show errors with their traceback; also behind a command.")
    ] = False,
    versions: Annotated[
        bool,
        typer.Option("--version", callback=_show_versions, is_eager=True, help="Show versions, for reports of bugs."),
    ] = False,
) -> None:
    """Trick-taking card games for reinforcement learning: train, evaluate, measure."""


def main(add_commands: Callable[[], None]) -> None:
    """Runs the command line, after ``add_commands``.

    An error that was raised on purpose (``TrickEnvsError``), a library that is not installed, and what the system
    refuses, such as a full disk, are one line, and exit with 2; ``--traceback`` shows where it came from. Ctrl-C exits
    with 130. Anything else is a bug: it is shown with its traceback, and exits with 1.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that the console or the pipe does not have is no error
            stream.reconfigure(errors="replace")
    warnings.showwarning = _show_warning
    whole = "--traceback" in sys.argv
    sys.argv[1:] = [argument for argument in sys.argv[1:] if argument != "--traceback"]
    try:
        add_commands()
        app()
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        if isinstance(error, SystemExit) and not _raised_by(error):
            raise
        if _is_interrupt(error):
            sys.exit(130)
        told = user_error(error)
        whole = whole or _raised_by(error) != ""
        if told is None or whole:
            traceback.print_exception(error)
        if told is None:
            err.print(
                "This is a bug in trick_envs or in a plug-in: please report it, with the lines above.", soft_wrap=True
            )
            sys.exit(1)
        err.print(Text.assemble(("error:", "red"), f" {printable(told)}"), soft_wrap=True)
        sys.exit(2)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: while a compiled module is imported, it is the cause of an ``ImportError``."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _raised_by(error: BaseException) -> str:
    """Which code of others has raised it, if it was one of theirs: a player's, for example."""
    notes = getattr(error, "__notes__", ()) if not isinstance(error, TrickEnvsError) else ()
    return next((note for note in notes if note.startswith(RAISED_BY)), "")


def user_error(error: BaseException) -> str | None:
    """What to tell the user; ``None`` if it is a bug."""
    if isinstance(error, TrickEnvsError):
        return str(error)
    if by := _raised_by(error):
        return f"{in_a_line(error)} ({by})"
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(library)
        return f"this command needs {library}: pip install 'trick_envs[{extra}]'" if extra else None
    if str(error) in _NO_MORE:
        return f"the system starts no more threads or processes (see ulimit -u): {in_a_line(error)}"
    if isinstance(error, OSError) and (error.errno in OF_THE_SYSTEM or not _is_our_own(error.filename)):
        return str(error)
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)):
        return f"there is not enough memory: {in_a_line(error)}"
    return None


def _is_our_own(file: object) -> bool:
    """Whether a file belongs to the package: if it cannot be read, the user is not to blame."""
    return isinstance(file, str | Path) and Path(os.path.realpath(file)).is_relative_to(Path(__file__).parents[1])


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    err.print(Text.assemble(("warning:", "yellow"), f" {printable(str(message))}"), soft_wrap=True)


GameOption = Annotated[str, typer.Option("--game", help="The game, such as pepper.")]
PlayersOption = Annotated[int | None, typer.Option("--num-players", help="Seats; the default is the game's own.")]
DealsOption = Annotated[int, typer.Option("--deals", help="Maximum number of different deals per pair.")]
HalfWidthOption = Annotated[
    float | None,
    typer.Option("--half-width", help="A pair stops when its 95 % interval is ± this (after 100 deals or more)."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of deals and players.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=1, help="Number of processes; the results do not depend on it.")
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Use Ray: a local one with as many workers as without it, or all cores of the cluster at HOST:PORT.",
    ),
]


def output_file(name: str, help: str) -> Any:
    """An option for a file that the command writes: it is tried before the command begins."""
    return typer.Option(name, help=help, dir_okay=False, callback=_try_file)


def output_folder(help: str) -> Any:
    """The option for the folder that the command writes into: it is tried before the command begins."""
    return typer.Option("--folder", help=help, file_okay=False, callback=_try_folder)


def _try_file(ctx: typer.Context, param: typer.CallbackParam, value: Path | None) -> Path | None:
    if value is not None:
        try_to_write(value)
        ctx.meta.setdefault(OUTPUTS, {})[param.opts[-1]] = value
    return value


def keep_apart(option: str, file: Path | None, name: str, path: Path) -> None:
    """Checks that an output file would not replace a file that is read, nor a folder or one of the files it keeps.

    Args:
        option: whose file it is.
        file: the output; nothing is replaced by what is no regular file, such as ``/dev/stdout``.
        name: of the other parameter, for the message.
        path: the other parameter's file or folder.

    Raises:
        ValueError: if it would; names both.
    """
    if file is None or (file.exists() and not file.is_file()):
        return
    one, other = (Path(os.path.realpath(each)) for each in (file, path))
    if other.is_relative_to(one) or (one.is_relative_to(other) and one.name in KEPT):
        raise InputError(f"{option}: {file} is in use by {name} {path}: choose another file")


def _paths_in(value: Any) -> Iterator[Path]:
    """The paths in the value of a parameter: also the policies and programs in specs of players."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, str):
        for part in (value, *re.split(r"[,:+?=]", value)):
            if os.path.splitext(part)[1] and os.path.isfile(part):
                yield Path(part)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _paths_in(each)


def _try_folder(value: Path | None) -> Path | None:
    if value is not None:
        try_to_write(value / LOCK)
    return value


ArenaFolderOption = Annotated[
    Path | None,
    output_folder(
        "For finished deals and results; runs/arena-GAME-PLAYERS by default, with -seed-N and -test appended."
    ),
]
JsonOption = Annotated[Path | None, output_file("--json", "Also write the results to this file.")]


class Split(StrEnum):
    """Which deals an evaluation plays."""

    VALIDATION = "validation"
    TEST = "test"

    @property
    def purpose(self) -> Purpose:
        """What its deals are played for."""
        return Purpose[self.name]


SplitOption = Annotated[
    Split,
    typer.Option(
        "--split",
        help="validation: to choose between players. test: for tables that are published, on other deals, which no "
        "choice was based on.",
    ),
]


class RayCommand(Command):
    """A command whose option ``--ray`` may stand alone, which means ``--ray local``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        whole = []
        for arg, following in pairwise([*args, ""]):
            whole.append(arg)
            if arg == "--ray" and not _is_address(following):
                whole.append("local")
        return super().parse_args(ctx, whole)


def _is_address(text: str) -> bool:
    """Whether this is an address of a cluster, and not a player such as pimc:10."""
    from trick_envs.agents.spec import parse_spec

    return re.fullmatch(r"auto|local|\S+:\d+", text) is not None and parse_spec(text).method is None
