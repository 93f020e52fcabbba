"""Pictures of what was measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def learning_curve(history: list[dict[str, Any]], path: Path, title: str) -> None:
    """Margin over each opponent against samples, with 95 % intervals, as a PNG.

    Args:
        history: evaluations in the order of time, as in a run's ``progress.json``.
        path: the file.
        title: above the picture.
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
    axes.set(title=title, xlabel="samples, millions", ylabel="margin, points a deal (95 % interval)")
    if opponents:
        axes.legend()
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=150)
    os.replace(temporary, path)
