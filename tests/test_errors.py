"""Errors: raised on purpose or a bug, and how the command shows either."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

pytest.importorskip("typer")
from helpers import distributions
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import trick_envs
from trick_envs import errors, load_game, make_agent
from trick_envs.cli import app, base, main
from trick_envs.cli.catalogue import games_table, policies_table
from trick_envs.cli.progress import progress_bar
from trick_envs.errors import (
    FolderInUseError,
    IllegalAction,
    InputError,
    InputTypeError,
    MissingExtraError,
    in_a_line,
)

ROOT = Path(trick_envs.__file__).parent.parent
SOURCES = [*(ROOT / "trick_envs").rglob("*.py"), *(ROOT / "training").rglob("*.py")]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit status of a command, and what it wrote to stderr."""
    monkeypatch.setattr(sys, "argv", ["trick", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0), capsys.readouterr().err


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """From now on, ``trick games`` raises this."""

    def fail(name: str) -> Any:
        raise error

    monkeypatch.setattr("trick_envs.interfaces.describe.describe_game", fail)


@pytest.mark.parametrize(
    ("kind", "also"),
    [(InputError, ValueError), (InputTypeError, TypeError), (IllegalAction, ValueError),
     (MissingExtraError, ImportError), (FolderInUseError, RuntimeError)],
)  # fmt: skip
def test_our_errors_have_one_base_class_and_are_pythons_own_as_well(kind: type[Exception], also: type) -> None:
    assert issubclass(kind, errors.TrickEnvsError)
    assert issubclass(kind, also)


def test_what_is_raised_on_purpose_has_the_base_class() -> None:
    plain = {"ValueError": "InputError", "TypeError": "InputTypeError", "ImportError": "MissingExtraError"}
    wrong = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                name = node.exc.func.id
                if name in plain:
                    wrong.append(
                        f"{path.relative_to(ROOT)}, line {node.lineno}: raise {plain[name]} of trick_envs.errors"
                    )
    assert len(SOURCES) > 100
    assert not wrong


def test_only_a_library_that_is_not_installed_is_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that is broken, or whose import Ctrl-C has ended: both are an ``ImportError``."""
    for path in SOURCES:
        assert "except ImportError" not in path.read_text(encoding="utf-8"), path
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxruntime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    library = tmp_path / "onnxruntime.py"
    library.write_text("raise ImportError('libstdc++.so.6: version `GLIBCXX_3.4.30` not found')")
    with pytest.raises(ImportError, match="GLIBCXX") as broken:
        make_agent("pretrained", load_game("donguri", 3))
    assert not isinstance(broken.value, MissingExtraError)
    library.write_text("raise ModuleNotFoundError('No module named onnxruntime', name='onnxruntime')")
    with pytest.raises(MissingExtraError, match=r"pip install 'trick_envs\[play\]'"):
        make_agent("pretrained", load_game("donguri", 3))


def test_an_error_of_the_user_is_one_line_and_with_traceback_everything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "error: there is no game 'peper'"
    for arguments in (["games", "peper"], ["evaluate", "--game", "peper", "greedy"]):
        status, told = run(monkeypatch, capsys, *arguments)
        assert status == 2
        assert told.startswith(line)
        assert len(told.splitlines()) == 1
    for arguments in (["--traceback", "games", "peper"], ["games", "peper", "--traceback"]):
        status, told = run(monkeypatch, capsys, *arguments)
        assert status == 2
        assert told.startswith("Traceback (most recent call last)")
        assert "engine/registry.py" in told
        assert told.splitlines()[-1].startswith(line)


def test_the_command_says_its_version_and_those_of_what_it_runs_on() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.exit_code == 0
    assert re.fullmatch(
        rf"trick_envs {re.escape(trick_envs.__version__)} \(numba [\d.]+, numpy [\d.]+, pettingzoo .*, Python 3.*\)\n",
        shown.output,
    )


@pytest.mark.parametrize(
    "bug",
    [ValueError("shapes (3,) (4,)"), TypeError("unsupported operand"), KeyError("score"),
     ImportError("circular import"),
     ModuleNotFoundError("No module named 'trick_envs.nothing'", name="trick_envs.nothing"),
     FileNotFoundError(errno.ENOENT, "No such file", str(ROOT / "trick_envs" / "interfaces" / "batch.py"))],
    ids=lambda bug: type(bug).__name__,
)  # fmt: skip
def test_a_bug_is_never_shown_as_bad_input(
    bug: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(monkeypatch, bug)
    status, told = run(monkeypatch, capsys, "games", "pepper")
    assert status == 1
    assert told.startswith("Traceback (most recent call last)")
    assert "error: " not in told.replace("Error: ", "")
    assert told.splitlines()[-1] == (
        "This is a bug in trick_envs or in a plug-in: please report it, with the lines above."
    )


def test_what_others_have_written_is_told_in_a_line_that_can_be_printed() -> None:
    error = ValueError("one\n\x1b[31mtwo " + "x" * 9000)
    assert in_a_line(error).startswith("ValueError: one [31mtwo xx")
    assert len(in_a_line(error)) < 320
    for path in SOURCES:
        assert "{type(error).__name__}: {error}" not in path.read_text(encoding="utf-8"), path


CHOSEN = "\x1b[2J\x1b]0;owned\x07\r\x9b1m\u202e\udcff"  # what a terminal obeys, in a name that somebody has chosen
TOLD = r"\x1b[2J\x1b]0;owned\x07\r\x9b1m\u202e\udcff"


def test_no_message_sends_a_terminal_what_it_would_obey(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn_and_fail(name: str) -> None:
        warnings.warn(f"{name}{CHOSEN}: a warning", stacklevel=1)
        raise InputError(f"{name}{CHOSEN}:\n  in a second line\u3000[x] :x:")

    monkeypatch.setattr("trick_envs.interfaces.describe.describe_game", warn_and_fail)
    with warnings.catch_warnings():
        status, told = run(monkeypatch, capsys, "games", "pepper")
    assert status == 2
    assert told == (f"warning: pepper{TOLD}: a warning\nerror: pepper{TOLD}:\n  in a second line\u3000[x] :x:\n")


def test_no_table_and_no_note_sends_a_terminal_what_it_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("player", title=f"title{CHOSEN}")
    table.add_row(f"row{CHOSEN}")
    base.out.print(table)
    base.out.print(f"line{CHOSEN}", soft_wrap=True)
    with progress_bar(base.out) as bar:
        bar.add_task("task", note=f"note{CHOSEN}")
    printed = capsys.readouterr().out
    assert all(each.isprintable() for each in printed.split("\n"))
    for name in ("title", "row", "line", "note"):
        assert rf"{name}\x1b[2J\x1b]0;owned\x07" in printed


@pytest.mark.parametrize(
    ("raised", "told_last"), [("OSError('not\\nthere')", "OSError: not there"), ("SystemExit(0)", "SystemExit: 0")]
)
def test_a_player_of_others_that_raises_is_named_behind_its_traceback(
    raised: str, told_last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raising.py").write_text(
        "class Player:\n"
        "    name = 'mine'\n"
        "    def __init__(self, game, seed): pass\n"
        "    def seed(self, seed): pass\n"
        "    def act(self, observations, masks, states=None):\n"
        f"        if (masks.sum(1) == 1).any(): raise {raised}\n"  # late in a deal
        "        return masks.argmax(1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "raising", raising=False)
    command = ("evaluate", "--game", "hearts", "--deals", "2", "--folder", str(tmp_path / "runs"))
    status, told = run(monkeypatch, capsys, *command, "raising:Player", "greedy")
    assert status == 2
    assert told.startswith("Traceback (most recent call last)")
    assert "raising.py" in told
    assert told.splitlines()[-1] == f"error: {told_last} (raised by player mine)"


def test_a_player_of_others_that_cannot_be_made_is_an_error_with_its_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unmade.py").write_text("import sys\ndef player(game, seed): sys.exit('no key')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"^unmade:player: SystemExit: no key$"):
        make_agent("unmade:player", load_game("hearts"))


def interrupted_import() -> ImportError:
    error = ImportError("initialization failed")  # what Python makes of Ctrl-C while a compiled module is imported
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), interrupted_import()], ids=["itself", "import"])
def test_ctrl_c_is_neither_a_bug_nor_a_traceback(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(monkeypatch, error)
    assert run(monkeypatch, capsys, "games", "pepper") == (130, "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "[Errno 28] No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "/home/x"), "[Errno 13] Permission denied: '/home/x'"),
        (ChildProcessError("a worker process died"), "a worker process died"),
        (FolderInUseError("runs/x is in use"), "runs/x is in use"),
        (OSError(errno.ENOSPC, "No space left on device", base.__file__),
         f"[Errno 28] No space left on device: '{base.__file__}'"),
        (MemoryError("Unable to allocate 3.03 GiB"),
         "there is not enough memory: MemoryError: Unable to allocate 3.03 GiB"),
        (RuntimeError("can't start new thread"),
         "the system starts no more threads or processes (see ulimit -u): RuntimeError: can't start new thread"),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
         "the system starts no more threads or processes (see ulimit -u): "
         f"BlockingIOError: [Errno {errno.EAGAIN}] {os.strerror(errno.EAGAIN)}"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"),
         "this command needs torch: pip install 'trick_envs[train]'"),
        (ModuleNotFoundError("No module named 'uvicorn.x'", name="uvicorn.x"),
         "this command needs uvicorn: pip install 'trick_envs[serve]'"),
    ],
)  # fmt: skip
def test_what_the_system_refuses_and_what_is_not_installed_is_one_line(
    error: Exception, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(monkeypatch, error)
    assert run(monkeypatch, capsys, "games", "pepper") == (2, f"error: {expected}\n")


def test_every_library_is_in_the_extra_that_the_message_names() -> None:
    def libraries(extra: str) -> set[str]:
        return {name.replace("-", "_") for name in distributions(extra)}

    names = {"yaml": "pyyaml"}
    for library, extra in base.EXTRAS.items():
        assert names.get(library, library) in libraries(extra), library
    for extra in ("play", "serve", "evaluate"):
        heavy = {
            "torch",
            "stable_baselines3",
            "sb3_contrib",
            "tensorboard",
            "onnxscript",
            "pyyaml",
            "pydantic",
            "jinja2",
        }
        assert not libraries(extra) & heavy


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_letter_that_the_console_does_not_have_is_no_error(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """Windows writes to a pipe in an encoding of the country, and so does Linux without a locale."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    monkeypatch.setattr("trick_envs.interfaces.describe.describe_game", lambda name: "\u2660 3 \u2026 9")
    monkeypatch.setattr(sys, "argv", ["trick", "games", "pepper"])
    with pytest.raises(SystemExit, match="0"):
        main()
    sys.stdout.flush()
    assert written.getvalue().decode(encoding).strip() == {"ascii": "? 3 ? 9", "cp1252": "? 3 \u2026 9"}[encoding]


# --- output paths -------------------------------------------------------------------------------------------------


def path_parameters() -> Iterator[tuple[str, str]]:
    """The commands that take paths, and the names of these options; of arguments, those of the parameters."""
    for command in app.registered_commands:
        function = command.callback
        assert function is not None
        for parameter, hint in get_type_hints(function, include_extras=True).items():
            kinds = {*get_args(get_args(hint)[0]), get_args(hint)[0]} if get_origin(hint) is Annotated else {hint}
            if Path in kinds:
                name = get_args(hint)[1].default  # the first argument of typer.Option
                name = name if isinstance(name, str) else parameter
                yield command.name or function.__name__.replace("_", "-"), name


PATHS = sorted(path_parameters())
OUTPUT = [each for each in PATHS if each[1].startswith("-")]
TRIED = [each for each in OUTPUT if each[0] != "serve"]  # which plays on where nothing can be saved


def test_every_path_that_a_command_only_reads_is_an_argument() -> None:
    assert set(PATHS) - set(OUTPUT) == {("replay", "file"), ("review", "file"), ("release", "run"), ("report", "run")}
    assert {option for _, option in OUTPUT} == {"--json", "--html", "--file", "--record", "--folder"}


@pytest.mark.parametrize(("command", "option"), TRIED)
def test_every_output_path_is_tried_before_the_command_begins(command: str, option: str, tmp_path: Path) -> None:
    """Nothing that a command needs is given: if it began, that would be the error."""
    (tmp_path / "file").write_text("")
    places = [tmp_path / "file" / "found", tmp_path / "file" / "there" / "is" / "none", tmp_path / ("long" * 64)]
    if sys.platform == "linux":
        places.append(Path("/proc/found"))
    for place in places:
        done = CliRunner().invoke(app, [command, option, str(place)])
        assert isinstance(done.exception, InputError), done.output
        assert re.fullmatch(r"\S+ cannot be written: [A-Z][\w ]+", str(done.exception))
        assert str(place) in str(done.exception)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file"]  # a trial leaves nothing


def test_results_go_into_a_folder_that_is_made_and_nothing_is_played_for_a_path_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["evaluate", "--game", "donguri", "--num-players", "3", "--deals", "2", "greedy", "random", "--json"]
    Path("file").write_text("")
    assert isinstance(CliRunner().invoke(app, [*command, "file/found.json"]).exception, InputError)
    assert not Path("runs").exists()
    assert CliRunner().invoke(app, [*command, "there/is/none.json"]).exit_code == 0
    assert len(json.loads(Path("there/is/none.json").read_text())["results"]) == 1


def test_the_lists_of_games_and_policies_are_whole_in_80_columns() -> None:
    """Titles and all options of Hearts were cut off, and "ismcts:1000" was "ismcts:10"."""
    for table in (games_table(), policies_table()):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(table)
        text = console.export_text()
        assert re.findall(r"\S…", text) == []
    assert "ismcts:1000" in text
