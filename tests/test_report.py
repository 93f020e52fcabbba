"""The report of a run: complete in itself, with the numbers of its files, also after an interruption."""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")
import torch
from helpers import chromium
from matplotlib.figure import Figure
from rich.console import Console
from typer.testing import CliRunner

from training import run
from training.config import RunConfig, load_config
from training.network import NetworkAgent
from training.report.deals import Difference, best_and_worst
from training.report.page import Finished, draw_report, pretrained_results, write_report
from training.report.provenance import git_commit
from trick_envs import load_game, make_agent
from trick_envs.cli import app
from trick_envs.errors import InputError
from trick_envs.evaluation.duplicate import Result, evaluate, play_points
from trick_envs.evaluation.plots import draw_margins, in_samples
from trick_envs.evaluation.seeds import Purpose, match_seeds
from trick_envs.files import read_json, read_signed_json, write_json, write_signed_json
from trick_envs.matches.replay import replay

pytestmark = pytest.mark.usefixtures("quick_export")
QUIET = Console(quiet=True)
SMALL: dict[str, Any] = {
    "game": "donguri", "num_players": 3, "width": 16, "depth": 2, "deals": 4, "final_deals": 6, "total_samples": 4000,
    "evaluate_every": 500, "checkpoint_every": 1000, "n_envs": 16, "n_steps": 32, "batch_size": 128,
}  # fmt: skip
EMPTY = {"meta", "link", "br", "img", "path", "use", "rect", "stop"}


class Page(HTMLParser):
    """Checks that tags are closed; gathers texts, tables and what refers to other things."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [
            str(value) for name, value in attrs if name in ("href", "src", "xlink:href", "data", "action")
        ]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.replace("\n", "")


def check_whole(text: str) -> Page:
    """A page that parses and needs nothing but itself; ``pages_of`` has the replays in it."""
    text = re.sub(r'(<script type="application/gzip" id="\S+">)[\w+/=]+(</script>)', r"\1\2", text)
    page = Page(text)
    assert "http" not in text
    assert "url(" not in re.sub(r"url\(#\w+\)", "", text)
    assert not {"link", "img", "object"} & set(page.tags)
    assert not page.references or all(reference.startswith("#") for reference in page.references)
    ids = set(re.findall(r' id="([^"]+)"', text))
    inside = {reference.removeprefix("#") for reference in page.references} | set(re.findall(r"url\(#(\w+)\)", text))
    assert inside <= ids
    assert page.tags.count("html") == page.tags.count("body") == page.tags.count("title") == 1
    assert 'name="viewport"' in text
    assert "@media print" in text
    return page


def number(points: float) -> str:
    return f"{points:+g}".replace("-", "−") if points else "0"


def told(margin: float, half_width: float) -> str:
    return f"{margin:+.2f} ± {half_width:.2f}".replace("-", "−")


def pages_of(text: str) -> dict[str, str]:
    """The replays in a report, by their ids."""
    packed = re.findall(r'<script type="application/gzip" id="(\S+)">([\w+/=]+)</script>', text)
    return {name: gzip.decompress(base64.b64decode(page)).decode() for name, page in packed}


def read(folder: Path) -> tuple[Page, dict[str, Any]]:
    """The report and ``evaluation.json`` of a run."""
    evaluation = json.loads((folder / "evaluation.json").read_text())
    return check_whole((folder / "report.html").read_text(encoding="utf-8")), evaluation


def check_numbers(page: Page, evaluation: dict[str, Any]) -> None:
    """The ladder has the numbers of ``evaluation.json``, and beside them those of the policy that comes with the game.

    What only this was measured against follows.
    """
    known = pretrained_results(load_game("donguri", evaluation.get("num_players", 4), 1))
    (_, *rows) = page.tables[0]
    met = [result["opponent"] for result in evaluation["results"]]
    others = [opponent for opponent in known if opponent not in met]
    assert [row[0].strip() for row in rows] == [*met, *others]
    reached = [told(known[name].margin, known[name].half_width) if name in known else "" for name in [*met, *others]]
    assert [row[5].strip() for row in rows] == reached
    assert [[cell.strip() for cell in row[1:5]] for row in rows[len(met) :]] == [["", "not measured", "", ""]] * len(
        others
    )
    for row, result in zip(rows, evaluation["results"], strict=False):
        margin = told(result["margin"], result["half_width"])
        as_one = told(result["margin_as_one"], result["half_width_as_one"])
        assert [cell.strip() for cell in row[:5]] == [result["opponent"], str(result["deals"]), margin, as_one, ""]
    assert f"{evaluation['samples']:,}" in page.text


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and its report from a copy of its files."""
    folder = tmp_path_factory.mktemp("runs")
    run.train(RunConfig.model_validate(SMALL), folder / "first", QUIET)
    assert not (folder / "first" / "report.html").exists()
    files = ("config.yaml", "evaluation.json", "policy.onnx")
    (folder / "small").mkdir()
    for name in files:
        shutil.copy(folder / "first" / name, folder / "small" / name)
    shutil.copytree(folder / "first" / "past", folder / "small" / "past")
    made = CliRunner().invoke(app, ["report", str(folder / "small")])
    assert made.exit_code == 0, made.output
    return folder / "small"


def test_the_report_has_the_numbers_of_the_run(finished: Path) -> None:
    page, evaluation = read(finished)
    check_numbers(page, evaluation)
    assert re.search(r"[\d,]+ samples/s, evaluations included; settings: total_samples 4000", page.text)
    assert "Donguri to Yamaneko, 3 players" in page.text
    assert "evaluate_every: 500" in page.text  # the complete config
    assert "explained variance of the returns" in page.text
    assert page.tags.count("svg") == 3 + 5
    assert "over random" in page.text


def test_the_curves_begin_at_0_with_what_the_run_began_with(finished: Path) -> None:
    """At 0 a policy is untrained."""
    page, evaluation = read(finished)
    (initial, *others), config = evaluation["report"]["evaluations"], load_config(finished / "config.yaml")
    samples, seconds = ([entry[key] for entry in [initial, *others]] for key in ("samples", "seconds"))
    assert samples == sorted(set(samples))
    assert seconds == sorted(seconds)
    assert (samples[0], samples[-1], len(samples)) == (0, evaluation["samples"], 9)
    assert seconds[-1] <= evaluation["seconds"]
    for entry in others:
        assert [name for name in entry["figures"] if math.isfinite(entry["figures"][name])]
    untrained = NetworkAgent(run.new_model(config, run.games_of(config)).policy)
    for result in initial["results"]:
        opponent = make_agent(result["opponent"], config.make_game())
        found = evaluate(config.make_game(), untrained, opponent, config.deals, config.seed, Purpose.MONITORING)
        assert {**found.as_dict(), "player": ""} == {**result, "player": ""}
    axes = Figure().add_subplot()
    draw_margins(axes, [initial, *others], *in_samples([initial, *others]))
    assert [line.get_xdata()[0] for line in axes.lines[:2]] == [0, 0]
    assert axes.get_xlim()[0] == 0
    known = pretrained_results(config.make_game())
    for result in initial["results"]:  # the reference lines
        assert f"pretrained over {result['opponent']}, {known[result['opponent']].deals} deals" in page.text
    assert "the policy that comes with the game, on other deals" in page.text
    assert pretrained_results(load_game("pepper", 5, 2)) == {}


def test_the_report_says_when_where_and_with_which_code(finished: Path, tmp_path: Path) -> None:
    page, evaluation = read(finished)
    assert re.search(rf"date\s*{datetime.now().year}-\d\d-\d\d \d\d:\d\d", page.text)
    assert f"{os.cpu_count()} cores" in page.text
    assert re.search(rf"torch\s*{re.escape(torch.__version__)}", page.text)
    assert re.search(rf"python\s*{re.escape(platform.python_version())}", page.text)
    assert evaluation["report"]["provenance"]["device"] == "cpu"
    (tmp_path / "code.py").write_text("")
    assert git_commit(tmp_path / "code.py") is None
    for command in ("init -q", "add code.py", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    clean = git_commit(tmp_path / "code.py")
    assert clean is not None
    assert re.fullmatch("[0-9a-f]{12}", clean)
    (tmp_path / "code.py").write_text("changed = True")
    assert git_commit(tmp_path / "code.py") == f"{clean}-dirty"
    (tmp_path / "other.py").write_text("")
    assert git_commit(tmp_path / "other.py") is None  # not a part of that checkout


def test_the_cross_table_is_measured_against_the_policies_that_were_kept(finished: Path) -> None:
    page, evaluation = read(finished)
    assert [path.name for path in sorted((finished / "past").iterdir())] == ["1024.zip", "2048.zip", "3072.zip"]
    config = load_config(finished / "config.yaml")
    game = config.make_game()
    early, _, late = run.past_players(finished, 4096)
    assert (early.name, late.name) == ("1,024", "3,072")
    found = evaluate(game, late, early, config.deals, config.seed, Purpose.FINAL)
    cross = page.tables[1]
    names = ["1,024", "2,048", "3,072", f"{evaluation['samples']:,}"]
    assert [row[0] for row in cross] == ["", *names]
    assert cross[0] == ["", *names]
    assert cross[3][1] == told(found.margin, found.half_width)
    assert cross[1][3] == told(-found.margin, found.half_width)
    assert [cross[i][i] for i in range(1, 5)] == [""] * 4
    assert all(cross[i][j] for i in range(1, 5) for j in range(1, 5) if i != j)


def test_the_best_and_the_worst_deal_are_those_where_the_same_cards_made_the_most_difference() -> None:
    """Of each seat: the game in which the policy sits there, beside the mean of those in which it sits elsewhere."""
    points = np.zeros((3, 6, 3))  # the first three games of a deal have a single policy, in each of the seats
    points[1, :, 2] = [-4.0, -2.0, 5.0, 90.0, 90.0, 90.0]
    points[2, :, 0] = [-3.0, 1.0, 2.0, -90.0, -90.0, -90.0]
    game = load_game("donguri", 3)
    assert best_and_worst(game, points) == (Difference(1, 2, 5.0, -3.0), Difference(2, 0, -3.0, 1.5))
    teams = np.zeros((2, 2, 4))
    teams[0] = [[3.0, -3.0, 3.0, -3.0], [1.0, -1.0, 1.0, -1.0]]  # seats 0 and 2 have the policy, then 1 and 3
    found = best_and_worst(load_game("double_deck_whist"), teams)
    assert found == (Difference(0, 0, 3.0, 1.0), Difference(1, 0, 0.0, 0.0))


def test_the_report_replays_the_best_and_the_worst_deal_of_the_final_evaluation(finished: Path) -> None:
    page, evaluation = read(finished)
    config = load_config(finished / "config.yaml")
    game, deals = config.make_game(), config.final_deals
    opponent = min(evaluation["results"], key=lambda result: result["margin"])["opponent"]
    players = make_agent(str(finished / "policy.onnx"), game), make_agent(opponent, game)
    points = play_points(game, players, Purpose.FINAL, config.seed, 0, deals)
    replays = pages_of((finished / "report.html").read_text(encoding="utf-8"))
    assert list(replays) == ["best-deal", "worst-deal"]
    text = " ".join(page.text.split())
    for which, found in zip(("best", "worst"), best_and_worst(game, points), strict=True):
        packed = re.search(r'<script type="application/gzip" id="data">(\S+)</script>', replays[f"{which}-deal"])
        assert packed is not None
        about = json.loads(gzip.decompress(base64.b64decode(packed[1])))["about"]
        record, seat = about["record"], found.seat
        assert replay(record).record() == record
        assert record["seed"] == match_seeds(Purpose.FINAL, config.seed, found.deal, 1)[0]
        assert record["players"] == ["policy.onnx" if each == seat else opponent for each in range(3)]
        assert (
            record["deals"][0]["score"] == points[found.deal, seat].tolist()
        )  # game number seat: the policy sits there
        assert found.own == points[found.deal, seat, seat]
        assert found.theirs == np.delete(points[found.deal, :3, seat], seat).mean()
        assert f"The {which} deal: number {found.deal + 1} of {deals}. As player_{seat}, the policy scores" in text
        theirs = f"{found.theirs:+.1f}".replace("-", "−")
        assert f"scores {number(found.own)}; {opponent} scores {theirs} there" in text
        more = f"{abs(found.own - found.theirs):.1f} points {'more' if which == 'best' else 'less'}"
        assert f"the mean of the 2 games in which the policy sits elsewhere: {more}" in text


def test_the_replays_play_in_the_report(finished: Path) -> None:
    """In a browser, from the file: each is made when somebody comes near it."""
    sync_api = pytest.importorskip("playwright.sync_api")
    browser_file = chromium()
    if browser_file is None:
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if asked.url.startswith("http") else None)
        page.goto(f"file://{finished / 'report.html'}")
        for which in ("best", "worst"):
            frame = page.locator(f"iframe[data-page={which}-deal]")
            if which == "best":
                assert frame.get_attribute("src") is None
            frame.scroll_into_view_if_needed()
            inside = frame.content_frame
            sync_api.expect(inside.locator("#table .plate.own")).to_be_visible(timeout=60_000)
            seat = re.search(rf"The {which} deal: [^.]+\. As player_(\d)", page.inner_text("body"))
            assert seat is not None
            assert inside.locator("#view").input_value() == seat[1]
            inside.locator("#to-last").press("End")
            inside.locator("#to-last").evaluate("(one) => one.scrollIntoView()")  # as replays do
            assert page.locator(".replay").evaluate_all("(all) => all.map((one) => one.scrollTop)") == [0, 0]
            sync_api.expect(inside.locator("#told")).to_contain_text("the match is over", ignore_case=True)
        assert not wrong
        browser.close()


def result_of(opponent: str, margin: float, half_width: float) -> dict[str, Any]:
    return Result("policy", opponent, 1, margin, half_width, margin, half_width).as_dict()


def test_a_report_is_written_whatever_the_names_and_numbers_are(tmp_path: Path) -> None:
    config = RunConfig.model_validate({"game": "donguri", "opponent": "greedy", "deals": 1})
    opponents = ["greedy", "runs/<b>&\"'/policy.onnx"]
    entry = {"samples": 0, "seconds": 0.0, "figures": {"train/value_loss": math.nan}}
    report: dict[str, Any] = {"past": ["0"], "cross": [], "weights": 10, "provenance": {"date": "<b>"}}
    for history in ([], [{**entry, "results": [result_of(each, 0.0, math.inf) for each in opponents]}]):
        results = [result_of(opponents[0], 0.0, math.inf), result_of(opponents[1], -3.0, 0.25)]
        evaluation = {"samples": 0, "seconds": 7500.0, "results": results, "report": {**report, "evaluations": history}}
        write_json(tmp_path / "evaluation.json", evaluation)
        held = read_json(tmp_path / "evaluation.json")
        write_report(tmp_path / "report.html", Finished("<i>run", config, config.make_game(), held))
        page = check_whole((tmp_path / "report.html").read_text(encoding="utf-8"))
        check_numbers(page, evaluation)
        assert "a best response to greedy" in page.text
        assert "Training run <i>run" in page.text
        assert "2 h 05 min" in page.text
        assert "Against its own past" not in page.text
    assert {path.name for path in tmp_path.iterdir()} == {"evaluation.json", "report.html"}


def test_only_a_finished_run_has_a_report(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "config.yaml", tmp_path / "config.yaml")
    told = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "holds no finished run (there is no evaluation.json in it)" in str(told.exception)
    shutil.copy(finished / "policy.onnx", tmp_path / "policy.onnx")
    (tmp_path / "evaluation.json").write_text("[]")
    told = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert "evaluation.json: damaged, edited, or not written by trick" in str(told.exception)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("samples", None),
        ("seconds", 1e300),
        ("results", []),
        ("results.0", {"margin": 3}),
        ("report", []),
        ("report.evaluations.0.results.0.opponent", "somebody"),
        ("report.evaluations.0.figures", {"train/value_loss": "x"}),
        ("report.best_and_worst.0.seat", 3),
        ("report.best_and_worst.1", {"deal": 0}),
        ("report.strongest", "os:system"),
        ("report.provenance.date", 7),
        ("deviators", []),
    ],
)
def test_an_evaluation_that_was_written_by_somebody_else_is_told_what_is_wrong(
    finished: Path, where: str, value: Any
) -> None:
    """The digest shows damage, not who has written it."""
    content = read_signed_json(finished / "evaluation.json")
    part, (*path, last) = content, where.split(".")
    for each in path:
        part = part[int(each) if each.isdecimal() else each]
    part[int(last) if last.isdecimal() else last] = value
    with forged(finished, content), pytest.raises(InputError, match=rf"evaluation\.json: {where[:12]}\S*: .+"):
        draw_report(finished, finished / "other.html")


def test_half_a_letter_in_a_name_is_escaped_on_the_page(finished: Path) -> None:
    content = read_signed_json(finished / "evaluation.json")
    content["report"]["past"][0] = "\ud800"
    with forged(finished, content):
        draw_report(finished, finished / "other.html")
    assert "\\ud800" in (finished / "other.html").read_text(encoding="utf-8")


@contextmanager
def forged(finished: Path, content: dict[str, Any]) -> Iterator[None]:
    """An evaluation in place of the run's own, with its digest."""
    path = finished / "evaluation.json"
    before = path.read_bytes()
    write_signed_json(path, content)
    try:
        yield
    finally:
        path.write_bytes(before)
