"""Plots of results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trick_envs.evaluation.duplicate import Result
from trick_envs.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#8e6c8a", "#b8860b", "#4a4e69")


def in_samples(history: list[dict[str, Any]]) -> tuple[list[float], str]:
    """The samples of every evaluation, and what they are: in millions or in thousands."""
    samples = [entry["samples"] for entry in history]
    unit, name = (1e6, "millions") if max(samples, default=0) >= 1e6 else (1e3, "thousands")
    return [count / unit for count in samples], f"samples, {name}"


def in_time(history: list[dict[str, Any]]) -> tuple[list[float], str]:
    """The time of every evaluation, and what it is in: in minutes or in hours."""
    seconds = [entry["seconds"] for entry in history]
    unit, name = (3600, "hours") if max(seconds, default=0) >= 3 * 3600 else (60, "minutes")
    return [each / unit for each in seconds], name


def draw_margins(
    axes: Axes,
    history: list[dict[str, Any]],
    positions: list[float],
    label: str,
    references: Mapping[str, Mapping[str, Result]] | None = None,
) -> None:
    """Margin over each opponent with 95 % intervals.

    Args:
        axes: of matplotlib.
        history: evaluations in chronological order.
        positions: of the evaluations on the x axis.
        label: of the x axis.
        references: by player, what it was measured to score over the same opponents, as a dashed line.
    """
    opponents = [result["opponent"] for result in history[0]["results"]] if history else []
    for i, opponent in enumerate(opponents):
        margins = [entry["results"][i]["margin"] for entry in history]
        widths = [entry["results"][i]["half_width"] for entry in history]
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(positions, margins, marker="o", markersize=3, color=colour, label=f"over {opponent}")
        low = [margin - width for margin, width in zip(margins, widths, strict=True)]
        high = [margin + width for margin, width in zip(margins, widths, strict=True)]
        axes.fill_between(positions, low, high, where=[math.isfinite(each) for each in high], color=colour, alpha=0.2)
        for player, known in (references or {}).items():
            if opponent in known:
                told = f"{player} over {opponent}, {known[opponent].deals} deals"
                axes.axhline(known[opponent].margin, color=colour, linewidth=0.9, linestyle="--", label=told)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlim(left=0)
    axes.set(xlabel=label, ylabel="margin, points per deal (95 % interval)")
    if opponents:
        axes.legend()


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
    names = [name.encode("utf-8", "backslashreplace").decode() for name in names]  # of files that are no UTF-8
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(title=title, xlabel="against", ylabel="player")
    figure.colorbar(image, label="margin, points per deal")
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
