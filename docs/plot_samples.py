"""Draws the pictures of ``experiments.md`` from its tables: "What more samples win", and "Width and samples".

python docs/plot_samples.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trick_envs.evaluation.plots import COLOURS

DOCS = Path(__file__).parent
ROW = re.compile(r"^\| ([\w-]+-\d) \| (\d+) M \| (\d+) M \| ([+-][\d.]+) ± ([\d.]+) \|", re.MULTILINE)
WIDTHS = re.compile(r"^\| ([\w]+-\d), (\d+) M \| ([-+\d.]+) \| ([-+\d.]*) ?\| ([-+\d.]*) ?\|", re.MULTILINE)


def main() -> None:
    text = (DOCS / "experiments.md").read_text(encoding="utf-8")
    _draw(_of_more_samples, "samples", _section(text, "What more samples win"))
    _draw(_of_widths, "width", _section(text, "Width and samples, from nothing"))


def _section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _draw(draw: Callable[[Axes, str], None], name: str, section: str) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    draw(axes, section)
    axes.axhline(0, color="#888888", linewidth=1)
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "samples"}):  # the same file for the same table
        figure.savefig(DOCS / "_static" / f"{name}.svg", metadata={"Date": None})


def _of_more_samples(axes: Axes, section: str) -> None:
    rows = ROW.findall(section)
    for number, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        after, margins, half = [], [], []
        for _, _, end, margin, half_width in (row for row in rows if row[0] == name):
            same = [row[0] for row in rows if row[2] == end]  # they stand side by side
            after.append(float(end) + 8 * (same.index(name) - (len(same) - 1) / 2))
            margins.append(float(margin))
            half.append(float(half_width))
        colour, mark = COLOURS[number % len(COLOURS)], "osD^vP"[number // len(COLOURS)]
        axes.errorbar(after, margins, half, color=colour, marker=mark, markersize=5, capsize=2, label=name)
    axes.set_xlabel("samples at the end of the run, millions")
    axes.set_ylabel("points per deal over the policy\nthat the run began with")
    axes.legend(fontsize=8, frameon=False, ncols=2)


def _of_widths(axes: Axes, section: str) -> None:
    rows = WIDTHS.findall(section)
    for number, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        for width, mark in enumerate("osD"):
            points = [(int(row[1]), float(row[2 + width])) for row in rows if row[0] == name and row[2 + width].strip()]
            axes.plot(*zip(*points, strict=True), color=COLOURS[number], marker=mark, markersize=4 + 2 * width,
                      label=f"{name}, width {64 << width}")  # fmt: skip
    axes.set_xscale("log")
    ticks = sorted({int(row[1]) for row in rows})
    axes.set_xticks(ticks, map(str, ticks))
    axes.set_xticks([], minor=True)
    axes.set_xlabel("samples from nothing, millions")
    axes.set_ylabel("points per deal over the policy\nthat came with the package then")
    axes.legend(fontsize=8, frameon=False)


if __name__ == "__main__":
    main()
