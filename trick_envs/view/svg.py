"""A display list as SVG. Text is drawn as outlines, so that it looks the same everywhere; letters that the font lacks
are left to the system.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape

from trick_envs.view.pen import EM, Box, Card, Drawing, Item, Shape, Text, measure, outlines
from trick_envs.view.style import DIM


def to_svg(drawing: Drawing, scale: float = 1, title: str = "", description: str = "") -> str:
    """A drawing as an SVG document without ids, scripts, styles or links."""
    width, height = drawing.width, drawing.height
    size = f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(scale * width)}" height="{_n(scale * height)}"'
    told = f"<title>{escape(title)}</title>" if title else ""
    told += f"<desc>{escape(description)}</desc>" if description else ""
    drawn = _group(drawing.ground) + "".join(map(_item, drawing.items))
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{told}{drawn}</svg>'


@lru_cache(64)
def _group(items: tuple[Item, ...]) -> str:
    return "".join(map(_item, items))


def _item(item: Item) -> str:
    if type(item) is Card:
        faded = f' opacity="{DIM}"' if item.dim else ""
        return f'<g transform="translate({item.x:.4g} {item.y:.4g})"{faded}>{_group(item.face)}</g>'
    return _plain(item)


@lru_cache(4096)
def _plain(item: Box | Text | Shape) -> str:
    if isinstance(item, Box):
        return _box(item)
    return _text(item) if isinstance(item, Text) else _shape(item)


def _box(item: Box) -> str:
    radius = f' rx="{_n(item.radius)}"' if item.radius else ""
    stroke = f' stroke="{item.stroke}" stroke-width="{_n(item.line)}"' if item.stroke else ""
    return (
        f'<rect x="{_n(item.x)}" y="{_n(item.y)}" width="{_n(item.width)}" height="{_n(item.height)}"{radius} '
        f'fill="{item.fill or "none"}"{stroke}{_opacity(item.opacity)}/>'
    )


def _shape(item: Shape) -> str:
    points = " ".join(
        f"{_n(item.x + x)},{_n(item.y + y)}" for x, y in zip(item.points[::2], item.points[1::2], strict=True)
    )
    return f'<polygon points="{points}" fill="{item.fill}"{_opacity(item.opacity)}/>'


def _text(item: Text) -> str:
    if not outlines(item.bold).keys() >= set(item.text):  # letters of the system, such as Japanese ones
        weight, width = ' font-weight="bold"' if item.bold else "", measure(item.text, item.size, item.bold)
        return (
            f'<text x="{_n(item.x)}" y="{_n(item.y)}" font-size="{_n(item.size)}" font-family="sans-serif"{weight} '
            f'textLength="{_n(width)}" lengthAdjust="spacingAndGlyphs" fill="{item.fill}">'
            f"{escape(item.text)}</text>"
        )
    return (
        f'<path transform="translate({_n(item.x)} {_n(item.y)}) scale({item.size / EM:.4g})" fill="{item.fill}" '
        f'd="{_chain(item.text, item.bold)}"/>'
    )


@lru_cache(4096)
def _chain(text: str, bold: bool) -> str:
    """The outlines of a line of text, one after the other."""
    known, parts, at, end_x, end_y = outlines(bold), [], 0, 0, 0
    for letter in text:
        advance, *outline = known.get(letter, known["?"])
        if outline:
            x, y, commands, last_x, last_y = outline
            parts.append(f"m{at + x - end_x} {y - end_y}{commands}")
            end_x, end_y = at + last_x, last_y
        at += advance
    return "".join(parts)


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _opacity(opacity: float) -> str:
    return f' opacity="{opacity:.2g}"' if opacity < 1 else ""
