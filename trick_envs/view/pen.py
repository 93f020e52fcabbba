"""A display list: what to draw, in order, which the two drawers (``svg.py``, ``raster.py``) turn into a picture.

Coordinates are pixels from the top left corner; colours are ``#rrggbb``. An item is a tuple, so equal ones are drawn
once and kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from trick_envs.engine.arguments import whole_number

FONTS = Path(__file__).parent / "font"
EM = 256  # units of an outline
CAP = 0.729  # height of a capital or a digit, in sizes
RATIO = 1.4  # height of a card, in widths
MOST_PIXELS = 10_000  # of a side of a picture


def pixels(size: Any, name: str) -> int:
    """The size of a picture that somebody asks for.

    Raises:
        ValueError: if it is none.
    """
    return whole_number(size, 8, MOST_PIXELS, name)


class Area(NamedTuple):
    """A rectangle to draw in."""

    x: float
    y: float
    width: float
    height: float


class Box(NamedTuple):
    """A rectangle with round corners, or a disc."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str | None
    stroke: str | None
    line: float
    opacity: float


class Text(NamedTuple):
    """A line of text. ``x`` is its left end, ``y`` the baseline."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    bold: bool


class Shape(NamedTuple):
    """A polygon: x, y, x, y, …, relative to ``x`` and ``y``."""

    x: float
    y: float
    points: tuple[float, ...]
    fill: str
    opacity: float


class Card(NamedTuple):
    """A card: its face (items around 0, 0), dimmed or not."""

    x: float
    y: float
    width: float
    face: tuple[Item, ...]
    dim: bool


Item: TypeAlias = Box | Text | Shape | Card


@dataclass(frozen=True)
class Drawing:
    """A picture: what lies below and seldom changes, and the rest."""

    width: float
    height: float
    ground: tuple[Item, ...]
    items: tuple[Item, ...]


def scaled(drawing: Drawing, scale: float) -> Drawing:
    """The same picture larger or smaller."""
    return Drawing(
        scale * drawing.width, scale * drawing.height, _scaled(drawing.ground, scale), _scaled(drawing.items, scale)
    )


@lru_cache(1024)
def _scaled(items: tuple[Item, ...], scale: float) -> tuple[Item, ...]:
    found: list[Item] = []
    for item in items:
        x, y = scale * item.x, scale * item.y
        match item:
            case Box():
                sizes = [scale * each for each in (item.width, item.height, item.radius, item.line)]
                width, height, radius, line = sizes
                found.append(item._replace(x=x, y=y, width=width, height=height, radius=radius, line=line))
            case Text():
                found.append(item._replace(x=x, y=y, size=scale * item.size))
            case Shape():
                found.append(item._replace(x=x, y=y, points=tuple(scale * each for each in item.points)))
            case Card():
                found.append(item._replace(x=x, y=y, width=scale * item.width, face=_scaled(item.face, scale)))
    return tuple(found)


class Pen:
    """Writes a display list."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str | None,
        radius: float = 0,
        stroke: str | None = None,
        line: float = 1,
        opacity: float = 1,
    ) -> None:
        """A rectangle with round corners."""
        self.items.append(Box(x, y, width, height, radius, fill, stroke, line if stroke else 0, opacity))

    def disc(self, x: float, y: float, radius: float, fill: str | None, **more: Any) -> None:
        """A disc around a point."""
        self.box(x - radius, y - radius, 2 * radius, 2 * radius, fill, radius, **more)

    def label(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        fill: str,
        bold: bool = False,
        anchor: float = 0,
        width: float | None = None,
    ) -> float:
        """A line of text whose capitals are centred vertically at ``y``; returns its width.

        Args:
            x, y: where it stands.
            text: what it says.
            size: of the font, in pixels.
            fill: colour.
            bold: weight.
            anchor: 0: it begins at ``x``; 0.5: it is centred there; 1: it ends there.
            width: it is made smaller, and then cut, to be no wider.
        """
        y += CAP / 2 * size
        length = measure(text, size, bold)
        if width is not None and length > width:
            size = max(size * width / length, 0.75 * size)
            text = cut(text, size, bold, width)
            length = measure(text, size, bold)
        if text.strip():
            self.items.append(Text(x - anchor * length, y, text, size, fill, bold))
        return length

    def shape(
        self, x: float, y: float, points: Sequence[tuple[float, float]], fill: str, scale: float = 1, opacity: float = 1
    ) -> None:
        """A polygon, its points scaled and moved to ``x``, ``y``."""
        flat = tuple(round(scale * value, 2) for point in points for value in point)
        self.items.append(Shape(x, y, flat, fill, opacity))

    def card(self, x: float, y: float, width: float, face: tuple[Item, ...], dim: bool = False) -> None:
        """A card with its top left corner at ``x``, ``y``."""
        self.items.append(Card(x, y, width, face, dim))


# --- shapes -------------------------------------------------------------------------------------------------------


def smooth(*points: tuple[float, float], steps: int = 5) -> tuple[tuple[float, float], ...]:
    """A closed curve through some points (Catmull-Rom), as a polygon."""
    found, count = [], len(points)
    for i in range(count):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = (points[(i + k) % count] for k in (-1, 0, 1, 2))
        for step in range(steps):
            t = step / steps
            weights = (-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2)
            x, y = (
                sum(weight * value for weight, value in zip(weights, values, strict=True)) / 2
                for values in ((ax, bx, cx, dx), (ay, by, cy, dy))
            )
            found.append((x, y))
    return tuple(found)


# --- letters ------------------------------------------------------------------------------------------------------


@cache
def outlines(bold: bool) -> dict[str, list[Any]]:
    """By letter: advance, and unless it is empty where the outline begins, relative commands, where they end."""
    return json.loads((FONTS / "outlines.json").read_text(encoding="utf-8"))["bold" if bold else "book"]


@lru_cache(4096)
def measure(text: str, size: float, bold: bool) -> float:
    """The width of a line of text."""
    known = outlines(bold)
    return sum(known[letter][0] if letter in known else EM for letter in text) * size / EM


def cut(text: str, size: float, bold: bool, width: float) -> str:
    """The text, or as much of it as fits, with an ellipsis."""
    if measure(text, size, bold) <= width:
        return text
    while text and measure(text + "…", size, bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"
