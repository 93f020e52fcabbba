"""Draws ``docs/_static/samples.svg`` from the table "What more samples win" of ``experiments.md``.

python docs/plot_samples.py
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from trick_envs.evaluation.plots import COLOURS

DOCS = Path(__file__).parent
ROW = re.compile(r"^\| ([\w-]+-\d) \| (\d+) M \| (\d+) M \| ([+-][\d.]+) ± ([\d.]+) \|", re.MULTILINE)


def main() -> None:
    text = (DOCS / "experiments.md").read_text(encoding="utf-8").partition("## What more samples win")[2]
    rows = ROW.findall(text.partition("\n## ")[0])
    beside = Counter(row[2] for row in rows)  # where several runs end, they stand side by side
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for number, name in enumerate(dict.fromkeys(row[0] for row in rows)):
        runs = [[float(each) for each in row[1:]] for row in rows if row[0] == name]
        after, margins, half = ([run[part] for run in runs] for part in (1, 2, 3))
        after = [end + 8 * (number - (beside[f"{end:.0f}"] - 1) / 2) * (beside[f"{end:.0f}"] > 1) for end in after]
        colour, mark = COLOURS[number % len(COLOURS)], "osD^vP"[number // len(COLOURS)]
        axes.errorbar(after, margins, half, color=colour, marker=mark, markersize=5, capsize=2, label=name)
    axes.axhline(0, color="#888888", linewidth=1)
    axes.set_xlabel("samples at the end of the run, millions")
    axes.set_ylabel("points per deal over the policy\nthat the run began with")
    axes.legend(fontsize=8, frameon=False, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "_static" / "samples.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
