"""Files that survive interruptions, and folders with one writer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers import largest_file

from trick_envs.cli.base import user_error
from trick_envs.errors import FolderInUseError
from trick_envs.evaluation.plots import heat_map
from trick_envs.files import locked, read_json, replacing, try_to_write, write_bytes, write_json, write_text


def test_a_file_is_on_the_disk_before_it_gets_its_name_and_then_so_is_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, done = tmp_path / "file.txt", list[str]()
    sync, replace = os.fsync, os.replace

    def synced(number: int) -> None:
        target = Path(os.readlink(f"/proc/self/fd/{number}")) if sys.platform == "linux" else tmp_path
        done.append(f"fsync {'folder' if target == tmp_path.resolve() else target.read_text()}")
        sync(number)

    def replaced(one: Path, other: Path) -> None:
        done.append("replace")
        replace(one, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_text(path, "new")
    if sys.platform == "linux":
        assert done == ["fsync new", "replace", "fsync folder"]
    assert path.read_text() == "new"


def test_two_writers_of_one_file_do_not_write_into_each_others_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with replacing(path) as one, replacing(path) as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"  # the last one to end
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_many_threads_write_one_file_and_it_is_always_whole(tmp_path: Path) -> None:
    path, failed = tmp_path / "file.json", list[BaseException]()

    def write(number: int) -> None:
        try:
            for _ in range(10):
                write_json(path, {"numbers": [number] * 1000})
                assert len(set(json.loads(path.read_text())["numbers"])) == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert [each.name for each in tmp_path.iterdir()] == ["file.json"]


def test_a_link_stays_a_link_and_a_pipe_gets_the_content(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    code = "from pathlib import Path; from trick_envs.files import write_text; write_text(Path('/dev/stdout'), 'piped')"
    if Path("/dev/stdout").exists():
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"piped"


def test_json_files_hold_no_number_that_json_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"half_width": float("inf"), "figures": [1.5, float("nan"), (-float("inf"), 2)]})
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == {
        "half_width": None, "figures": [1.5, None, [None, 2]],
    }  # fmt: skip


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    code = (
        "import sys; from pathlib import Path; from trick_envs.files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(FolderInUseError) as caught, locked(folder):
            pytest.fail("two writers")
        message = f"{folder} is in use: another process is writing to it; wait for its end, or choose another --folder"
        assert str(caught.value) == message
        other.kill()  # not even a chance to clean up
        other.wait()
        with locked(folder):
            pass
    with locked(folder), pytest.raises(FolderInUseError), locked(folder):
        pytest.fail("two writers in one process")
    with locked(folder):
        pass


def test_who_locks_a_folder_deletes_what_an_interrupted_process_has_left(tmp_path: Path) -> None:
    file, mine = tmp_path / "file.txt", tmp_path / "notes.tmp"
    mine.write_text("the user's own")
    context = replacing(file)
    left = context.__enter__()
    left.write_text("half of the n")  # and then kill -9
    with locked(tmp_path):
        assert not left.exists()
    assert mine.exists()
    left.write_text("")
    context.__exit__(None, None, None)


def test_a_trial_leaves_nothing_and_finds_what_stops_the_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for good in (tmp_path / "file", tmp_path / "new", tmp_path / "there" / "is" / "none", Path(os.devnull)):
        try_to_write(good)
    for bad in (tmp_path, tmp_path / "file" / "new", tmp_path / ("long" * 63)):
        with pytest.raises(ValueError, match=f"^{re.escape(str(bad))} cannot be written: "):
            try_to_write(bad)
        with pytest.raises(OSError, match=r"."):
            write_text(bad, "")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"
    write_text(tmp_path / "there" / "is" / "none", "now")
    assert (tmp_path / "there" / "is" / "none").read_text() == "now"


@pytest.mark.skipif(os.name != "posix", reason="links need rights there")
def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.symlink_to(path)
    try_to_write(path)
    write_text(path, "[]")
    assert path.read_text() == "[]"


@pytest.mark.skipif(os.name != "posix", reason="links need rights there")
def test_a_folder_that_is_a_link_to_itself_is_no_bug(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.symlink_to(folder)
    with pytest.raises(OSError, match="folder") as raised:
        write_text(folder / "results.json", "[]")
    assert user_error(raised.value) == str(raised.value)


@pytest.mark.skipif(os.name != "posix", reason="paths are shorter elsewhere")
def test_a_path_of_a_thousand_folders_is_made(tmp_path: Path) -> None:
    """It was a RecursionError of ``pathlib``, called a bug, in every command that writes."""
    path = tmp_path / ("d/" * 1500 + "file.json")
    try:
        write_json(path, {})
        assert read_json(path) == {}
    finally:  # ``rmtree`` calls itself, too: pytest could not clear the folder
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_player_whose_file_has_no_name_in_unicode_is_drawn(tmp_path: Path) -> None:
    heat_map(["\udcff.onnx", "random"], [[None, (1.0, 0.5)], [(-1.0, 0.5), None]], tmp_path / "map.png", "title")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_what_cannot_be_written_has_a_name(tmp_path: Path) -> None:
    """A full disk was "[Errno 28] No space left on device", whatever was being written. Here files have a limit."""
    file, large = tmp_path / "results.json", "x" * 50_000
    with largest_file(1000), pytest.raises(OSError, match=r"too large: .*results\.json") as raised:
        write_text(file, large)
    assert user_error(raised.value) == str(raised.value)
    assert not file.exists()
    if Path("/dev/full").exists():
        with pytest.raises(OSError, match=r"No space .*: '/dev/full'"):
            write_text(Path("/dev/full"), large)
