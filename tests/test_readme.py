"""What README and docs show works as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from trick_envs.discovery import built_in_games

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
ALL_PAGES = [*PAGES, ROOT / "CONTRIBUTING.md"]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in ALL_PAGES}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


PYTHON = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page.read_text(encoding="utf-8"), "python"))
]


@pytest.mark.parametrize("code", PYTHON)
def test_python_blocks_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a namespace of its own: what a block uses, it imports, and by its new name."""
    if "openspiel" in code:
        pytest.importorskip("pyspiel")
    if "export_policy" in code:
        pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the frameworks
        warnings.filterwarnings("error", message=".*has been renamed")
        exec(compile(code, "<a block of the docs>", "exec"), {"__name__": "__main__"})


def commands(text: str) -> list[str]:
    """Every ``trick`` command in the code of a page, with its arguments."""
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    code = [line for block in blocks(text, "bash") for line in block.replace("\\\n", " ").splitlines()]
    code += [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", without_blocks)]
    return [found[1] for line in code if (found := re.search(r"(?:^|/| )trick ([a-z].*)", line))]


@pytest.mark.parametrize("page", TEXTS)
def test_trick_commands_and_their_options_exist(page: str) -> None:
    typer = pytest.importorskip("typer")
    from trick_envs.cli import app

    known = typer.main.get_command(app).commands
    for command in commands(TEXTS[page]):
        name, *arguments = re.sub(r" #.*", "", command).split()
        assert name in known, command
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("--")} <= options, command


def test_the_readme_names_the_main_commands() -> None:
    named = {command.split()[0] for command in commands(TEXTS["README.md"])}
    assert {"train", "evaluate", "arena", "best-response", "bench", "games"} <= named


@pytest.mark.parametrize("page", TEXTS)
def test_files_named_in_links_and_commands_exist(page: str) -> None:
    text, folder = TEXTS[page], (ROOT / page).parent
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        if link.startswith(
            "../../actions/workflows/"
        ):  # GitHub's page of a workflow, as seen from its page of the file
            link = f".github/workflows/{link.split('/')[4]}"
        with_the_site = "/generated/" in link or link in {f"games/{name}.md" for name in built_in_games()}
        assert with_the_site or (folder / link).exists(), link
    for config in re.findall(r"configs/[\w-]+\.yaml", text):
        assert (ROOT / config).is_file() or config == "configs/slobberhannes.yaml", config


@pytest.mark.parametrize("page", TEXTS)
def test_configs_named_in_commands_exist(page: str) -> None:
    for command in commands(TEXTS[page]):
        named = re.match(r"train ([a-z][\w-]*)(?: |$)", command)  # a name; paths are looked for above
        assert named is None or (ROOT / "configs" / f"{named[1]}.yaml").is_file(), command


@pytest.mark.parametrize("page", TEXTS)
def test_settings_named_in_commands_are_keys_of_a_config(page: str) -> None:
    fields = pytest.importorskip("training.config").RunConfig.model_fields
    current = re.sub(r"^```text\n.*?^```$", "", TEXTS[page], flags=re.DOTALL | re.MULTILINE)  # else of an old commit
    for key in re.findall(r"--(?:set|both)\s+'?([\w.]+)=", current):
        assert key.partition(".")[0] in {*fields, "key"}, key


@pytest.mark.parametrize("page", TEXTS)
def test_anchors_in_links_are_headings(page: str) -> None:
    for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", TEXTS[page]):
        target = ((ROOT / page).parent / link) if link else ROOT / page
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in anchors, f"{link}#{anchor}"


@pytest.mark.parametrize("page", ["README.md", "docs/environments.md"])
def test_a_page_that_lists_the_games_lists_all(page: str) -> None:
    assert [game for game in built_in_games() if not re.search(rf"`{game}(_v0)?`", TEXTS[page])] == []


def test_the_readme_is_at_most_150_lines() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 150


@pytest.mark.parametrize(("ci", "status"), [("true", 2), ("", 5)])
def test_where_ci_is_set_the_page_is_tested_or_the_tests_fail(ci: str, status: int, tmp_path: Path) -> None:
    for library in ("starlette", "uvicorn", "onnxruntime", "playwright"):
        pytest.importorskip(library)
    environment = {**os.environ, "CI": ci, "PATH": str(tmp_path)}  # no chromium there
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        str(ROOT / "tests/test_serve_browser.py"),
    ]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout
    assert ("CI=true, but there is no chromium" in done.stdout) == (ci == "true")
