"""Draws ``docs/_static/samples.svg`` from the table "What more samples win" of ``experiments.md``.

python docs/plot_samples.py
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from trick_envs.evaluation.plots import COLOURS

DOCS = Path(__file__).parent
ROW = re.compile(r"^\| ([\w-]+-\d) \| (\d+) M \| (\d+) M \| ([+-][\d.]+) ± ([\d.]+) \|", re.MULTILINE)


def main() -> None:
    text = (DOCS / "experiments.md").read_text(encoding="utf-8").partition("## What more samples win")[2]
    rows = ROW.findall(text.partition("\n## ")[0])
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        after, margins, half = [], [], []
        for _, _, end, margin, half_width in (row for row in rows if row[0] == name):
            same = [row[0] for row in rows if row[2] == end]  # they stand side by side
            after.append(float(end) + 8 * (same.index(name) - (len(same) - 1) / 2))
            margins.append(float(margin))
            half.append(float(half_width))
        colour, mark = COLOURS[number % len(COLOURS)], "osD^vP"[number // len(COLOURS)]
        axes.errorbar(after, margins, half, color=colour, marker=mark, markersize=5, capsize=2, label=name)
    axes.axhline(0, color="#888888", linewidth=1)
    axes.set_xlabel("samples at the end of the run, millions")
    axes.set_ylabel("points per deal over the policy\nthat the run began with")
    axes.legend(fontsize=8, frameon=False, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "samples"}):  # the same file for the same table
        figure.savefig(DOCS / "_static" / "samples.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
