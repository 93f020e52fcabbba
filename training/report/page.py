"""The report of a run, made from its files alone: one HTML page that needs no other, for a screen or for paper."""

from __future__ import annotations

import base64
import gzip
import io
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from training.config import RunConfig, dump_config, load_config
from training.evaluation import EVALUATION, read_evaluation
from training.report.deals import Difference, Shown, replayed
from trick_envs.agents import make_agent
from trick_envs.agents.pretrained import PRETRAINED, load_manifest, pretrained_file
from trick_envs.engine.game import Game
from trick_envs.errors import InputError
from trick_envs.evaluation.duplicate import Result
from trick_envs.evaluation.plots import COLOURS, draw_margins, in_samples, in_time
from trick_envs.evaluation.seeds import Purpose
from trick_envs.files import write_text
from trick_envs.matches.seating import seatings
from trick_envs.play.web.export import replay_page
from trick_envs.view.table import seat_name

TEMPLATE = Path(__file__).with_name("report.jinja").read_text(encoding="utf-8")  # before a run, not after it
LARGE, SMALL = (5.2, 3.4), (3.6, 2.2)  # of charts, in inches, for the proportions of texts and lines
FIGURES = {  # what is logged of learning: its title
    "train/policy_gradient_loss": "policy loss",
    "train/value_loss": "value loss",
    "train/entropy_loss": "entropy loss (negative entropy)",
    "train/approx_kl": "divergence per update",
    "train/explained_variance": "explained variance of the returns",
}


@dataclass(frozen=True)
class Finished:
    """All that the report of a finished run is about.

    Attributes:
        name: of the run.
        config: of the run.
        game: that was learned.
        evaluation: the content of ``evaluation.json``.
        shown: the best and the worst deal of the final evaluation; empty: none is shown.
    """

    name: str
    config: RunConfig
    game: Game
    evaluation: dict[str, Any]
    shown: list[Shown] = field(default_factory=list)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The evaluations before the first sample and on the way."""
        entries = self.evaluation["report"]["evaluations"]
        return [{**one, "results": [Result.from_dict(each).as_dict() for each in one["results"]]} for one in entries]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The final evaluation, as ``Result.as_dict``."""
        return [Result.from_dict(one).as_dict() for one in self.evaluation["results"]]

    @property
    def past(self) -> list[str]:
        """The policies that were kept and the last one, in chronological order."""
        return self.evaluation["report"]["past"]


def draw_report(folder: Path, path: Path, trust: bool = False) -> None:
    """Draws the report of the finished run in a folder.

    Args:
        folder: of the run.
        path: the page; it is replaced atomically.
        trust: whether the run's opponents may be programs or Python functions: one of them plays two deals again.

    Raises:
        ValueError: if the folder holds no finished run.
    """
    for name in ("config.yaml", EVALUATION, "policy.onnx"):
        if not (folder / name).is_file():
            raise InputError(f"{folder} holds no finished run (there is no {name} in it)")
    config = load_config(folder / "config.yaml", trust=trust)
    evaluation = read_evaluation(folder, config)
    game, found = config.make_game(), evaluation["report"]
    pair = make_agent(str(folder / "policy.onnx"), game), make_agent(found["strongest"], game)
    differences = [Difference(**each) for each in found["best_and_worst"]]
    shown = [
        Shown(each, pair[1].name, replay_page(replayed(game, each, pair, Purpose.FINAL, config.seed), None, False))
        for each in differences
    ]
    write_report(path, Finished(folder.resolve().name, config, game, evaluation, shown))


def write_report(path: Path, run: Finished) -> None:
    """Writes the report; the file is replaced atomically."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    history = run.history
    axes = in_samples(history), in_time(history)
    known = pretrained_results(run.game)
    references = {PRETRAINED: known} if known else {}
    ladder = _ladder(run.results, known)
    text = environment.from_string(TEMPLATE).render(
        run=run,
        known=known,
        missing=[row["opponent"] for row in ladder if "margin_text" not in row],
        duration=_duration(run.evaluation["seconds"]),
        facts=_facts(run),
        learning=_learning(run),
        ladder=ladder,
        curves=[
            _chart(partial(draw_margins, history=history, positions=at, label=label, references=references))
            for at, label in axes
        ],
        speed=_chart(partial(_draw_speed, run=run)),
        figures=_figures(run),
        cross=_cross(run),
        shown=[_shown(run, *each) for each in zip(("best", "worst"), run.shown, strict=False)],
        config=dump_config(run.config),
    )
    write_text(path, text)


def pretrained_results(game: Game) -> dict[str, Result]:
    """By opponent: how strong the policy is that comes with the game; empty if there is none for this table."""
    file = pretrained_file(game.type, game.num_players)
    if not file.is_file() or game.options != game.type.options or game.num_deals != 1:
        return {}
    return {one["opponent"]: Result.from_dict(one) for one in load_manifest(file)["ladder"]["results"]}


def _facts(run: Finished) -> dict[str, str]:
    """What the run was, in short."""
    config, found = run.config, run.evaluation["report"]
    layers = f"shared over suits, {config.depth} layers of {config.width}"
    return {
        "game": f"{run.game.title}, {run.game.num_players} players",
        "options": ", ".join(name for name, chosen in run.game.options.items() if chosen) or "none",
        "deals per match": str(run.game.num_deals),
        "reward": config.reward,
        "plays against": config.opponent or "itself",
        "starts from": config.init_from or "random weights",
        "network": f"{layers}: {found['weights']:,} weights",
        "seed": str(config.seed),
        **found["provenance"],
    }


def _learning(run: Finished) -> str:
    """How it learned, in a sentence: speed, and settings other than the defaults."""
    samples, seconds = run.evaluation["samples"], run.evaluation["seconds"]
    told = {"game", "num_players", "opponent", "init_from", "seed", "width", "depth", "options", "opponents"}
    changed = run.config.model_dump(exclude_defaults=True, exclude=told)
    settings = ", ".join(f"{key} {value}" for key, value in changed.items()) or "the defaults"
    speed = f"{samples / seconds:,.0f} samples/s, evaluations included; " if seconds else ""
    return f"{speed}settings: {settings}."


def _ladder(results: list[dict[str, Any]], known: Mapping[str, Result]) -> list[dict[str, Any]]:
    """A row for each opponent: the margin, and where its interval is drawn, in per cent of the width.

    Args:
        results: of the run, as ``Result.as_dict``.
        known: by opponent, the result of the policy that comes with the game; opponents that the run has not met follow
            the others.
    """
    ends = [end for one in results for end in _interval(one)] + [one.margin for one in known.values()]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    scale = 100 / ((high - low) or 1.0)
    rows = []
    for one in results:
        left, right = _interval(one)
        rows.append({
            **one,
            "margin_text": _margin(one["margin"], one["half_width"]),
            "as_one_text": _margin(one["margin_as_one"], one["half_width_as_one"]),
            "left": (left - low) * scale,
            "width": (right - left) * scale,
            "at": (one["margin"] - low) * scale,
        })  # fmt: skip
    rows += [{"opponent": name} for name in known if name not in {one["opponent"] for one in results}]
    for row in rows:
        row["zero"] = -low * scale
        if found := known.get(row["opponent"]):
            row["known_text"] = _margin(found.margin, found.half_width)
            row["known_at"] = (found.margin - low) * scale
    return rows


def _interval(result: dict[str, Any]) -> tuple[float, float]:
    margin, half = result["margin"], result["half_width"]
    return (margin - half, margin + half) if math.isfinite(half) else (margin, margin)


def _cross(run: Finished) -> list[dict[str, Any]]:
    """A row for each policy: its name, and its cells, ``None`` against itself."""
    played = [Result.from_dict(one) for one in run.evaluation["report"]["cross"]]
    margins = {(one.player, one.opponent): (one.margin, one.half_width) for one in played}
    margins |= {(opponent, player): (-margin, half) for (player, opponent), (margin, half) in margins.items()}
    largest = max((abs(margin) for margin, _ in margins.values()), default=0.0) or 1.0
    return [
        {
            "name": player,
            "cells": [
                {
                    "margin": _signed(found[0]),
                    "half_width": f"± {found[1]:.2f}",
                    "shade": round(45 * abs(found[0]) / largest),
                    "better": found[0] > 0,
                }
                if (found := margins.get((player, opponent)))
                else None
                for opponent in run.past
            ],
        }
        for player in run.past
    ]


def _shown(run: Finished, which: str, shown: Shown) -> dict[str, Any]:
    """A deal for the page: its replay, packed, and what it shows."""
    found = shown.difference
    more = found.own - found.theirs
    return {
        "which": which,
        "page": base64.b64encode(gzip.compress(shown.page.encode(), mtime=0)).decode(),
        "at": f"#step=0&seat={found.seat}",
        "deal": found.deal + 1,
        "deals": run.evaluation["results"][0]["deals"],
        "opponent": shown.opponent,
        "seat": seat_name(found.seat),
        "own": f"{found.own:+g}".replace("-", "−") if found.own else "0",
        "theirs": _signed(found.theirs, 1),
        "more": f"{abs(more):.1f} points {'more' if more >= 0 else 'less'}",
        "elsewhere": len(seatings(run.game)) - 1,
    }


def _draw_speed(axes: Any, run: Finished) -> None:
    """Samples per second between two evaluations."""
    positions, label = in_time(run.history)
    rates = [
        (after["samples"] - before["samples"]) / max(after["seconds"] - before["seconds"], 0.1)
        for before, after in pairwise(run.history)
    ]
    axes.plot(positions[1:], rates, marker="o", markersize=3, color=COLOURS[0])
    axes.set(xlabel=label, ylabel="samples per second")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)


def _figures(run: Finished) -> list[tuple[str, Markup]]:
    """A small chart for every figure that was logged: its title, and the chart."""
    found = []
    for name, title in FIGURES.items():
        entries = [entry for entry in run.history if entry["figures"].get(name) is not None]
        if entries:
            positions, label = in_samples(entries)
            values = [entry["figures"][name] for entry in entries]
            found.append((title, _chart(partial(_draw_line, positions=positions, values=values, label=label), SMALL)))
    return found


def _draw_line(axes: Any, positions: list[float], values: list[float], label: str) -> None:
    axes.plot(positions, values, marker="o", markersize=3, color=COLOURS[0])
    axes.set_xlabel(label)
    axes.set_xlim(left=0)


def _chart(draw: Callable[[Any], None], size: tuple[float, float] = LARGE) -> Markup:
    """A chart as an SVG element for the page: its texts stay texts, its width is the page's."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "report", "font.size": 9}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25, linewidth=0.6)
        draw(axes)
        file = io.StringIO()
        figure.savefig(
            file, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    svg = file.getvalue()
    svg = re.sub(
        r' (xmlns(:\w+)?="[^"]*"|width="[\d.]+pt"|height="[\d.]+pt"|id="[\w.]+_\d+")', "", svg[svg.index("<svg") :]
    )
    return Markup(svg.replace("xlink:href", "href"))


def _signed(points: float, digits: int = 2) -> str:
    """Points with their sign: ``+0.25``, ``−1.00``."""
    return f"{round(points, digits) + 0.0:+.{digits}f}".replace("-", "−")  # 0.0: no negative zero


def _margin(margin: float, half_width: float) -> str:
    return f"{_signed(margin)} ± {half_width:.2f}"


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"
