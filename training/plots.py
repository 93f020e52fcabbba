"""Plots of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.files import replacing


def learning_curve(history: list[dict[str, Any]], path: Path, title: str) -> None:
    """Margin over each opponent against samples, with 95 % intervals, as a PNG.

    Args:
        history: evaluations in chronological order, as in a run's ``progress.json``.
        path: the file.
        title: of the plot.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    samples = [entry["samples"] / 1e6 for entry in history]
    opponents = [result["opponent"] for result in history[0]["results"]] if history else []
    for i, opponent in enumerate(opponents):
        margins = [entry["results"][i]["margin"] for entry in history]
        widths = [entry["results"][i]["half_width"] for entry in history]
        axes.plot(samples, margins, marker="o", markersize=3, label=f"over {opponent}")
        low = [margin - width for margin, width in zip(margins, widths, strict=True)]
        high = [margin + width for margin, width in zip(margins, widths, strict=True)]
        axes.fill_between(samples, low, high, alpha=0.2)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(title=title, xlabel="samples, millions", ylabel="margin, points per deal (95 % interval)")
    if opponents:
        axes.legend()
    _save(figure, path)


def heat_map(
    names: Sequence[str], cells: Sequence[Sequence[tuple[float, float] | None]], path: Path, title: str
) -> None:
    """Margins of all players over each other, as a PNG.

    Args:
        names: the players, from top to bottom and from left to right.
        cells: margin and half width of its 95 % interval, one row per player; ``None`` where nothing was played.
        path: the file.
        title: of the plot.
    """
    from matplotlib.figure import Figure

    margins = [[cell[0] if cell else math.nan for cell in row] for row in cells]
    largest = max((abs(cell[0]) for row in cells for cell in row if cell), default=0.0) or 1.0
    figure = Figure(figsize=(2.6 + 1.1 * len(names), 1.8 + 0.8 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(margins, cmap="RdBu", vmin=-largest, vmax=largest, aspect="auto")
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            if cell:
                colour = "white" if abs(cell[0]) > 0.6 * largest else "black"
                text = f"{cell[0]:+.2f}\n± {cell[1]:.2f}"
                axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(title=title, xlabel="against", ylabel="player")
    figure.colorbar(image, label="margin, points per deal")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
