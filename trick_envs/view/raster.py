"""A display list as pixels, with Pillow (the extra ``render``). Everything is drawn once, at four times the size."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from trick_envs.view.pen import FONTS, Box, Card, Drawing, Item, Shape, Text
from trick_envs.view.style import DIM, rgb

_FINE = 4  # times finer, then averaged
_MARGIN = 4  # pixels around a card for its shadow

# Masks of one colour each, and where they go.
Sprite: TypeAlias = list[tuple[int, int, tuple[int, int, int], Image.Image]]


def to_pixels(drawing: Drawing, width: int, height: int) -> npt.NDArray[np.uint8]:
    """A drawing as ``(H, W, 3) uint8``."""
    image = _ground(width, height, drawing.ground).copy()
    _paint(image, drawing.items)
    return np.asarray(image).copy()


@lru_cache(16)
def _ground(width: int, height: int, items: tuple[Item, ...]) -> Image.Image:
    image = Image.new("RGB", (width, height))
    _paint(image, items)
    return image


def _paint(image: Image.Image, items: tuple[Item, ...]) -> None:
    for item in items:
        left, top, rest = _parted(item)
        if type(rest) is Card:
            sprite = _card(rest)
            image.paste(sprite, (left - _MARGIN, top - _MARGIN), sprite)
            continue
        for x, y, colour, mask in _sprite(rest):
            image.paste(colour, (left + x, top + y), mask)


def _parted(item: Any) -> tuple[int, int, Any]:
    """The whole pixels of an item's place, and the item at what is left of it."""
    left, top = floor(item.x), floor(item.y)
    return left, top, item._replace(x=round(item.x - left, 1), y=round(item.y - top, 1))


@lru_cache(4096)
def _card(card: Card) -> Image.Image:
    """A card with its shadow, on pixels that are transparent."""
    size = (ceil(card.width) + 2 * _MARGIN + 1, ceil(1.4 * card.width) + 2 * _MARGIN + 1)
    picture = Image.new("RGBA", size)
    for item in card.face:
        left, top, rest = _parted(item._replace(x=item.x + card.x + _MARGIN, y=item.y + card.y + _MARGIN))
        for x, y, colour, mask in _sprite(rest):
            layer = Image.new("RGBA", mask.size, colour)
            layer.putalpha(mask)
            picture.alpha_composite(layer, (left + x, top + y))
    if card.dim:
        picture.putalpha(picture.getchannel("A").point(lambda value: round(DIM * value)))
    return picture


@lru_cache(8192)
def _sprite(item: Box | Text | Shape) -> Sprite:
    if isinstance(item, Box):
        return _box(item)
    return _text(item) if isinstance(item, Text) else _shape(item)


def _box(item: Box) -> Sprite:
    found: Sprite = []
    out = item.line / 2
    for colour, grown in ((item.fill, 0.0), (item.stroke, out)):
        if colour is None:
            continue
        pad = ceil(grown) + 1
        size = (ceil(item.x + item.width) + 2 * pad, ceil(item.y + item.height) + 2 * pad)
        mask = Image.new("L", (size[0] * _FINE, size[1] * _FINE))
        draw = ImageDraw.Draw(mask)
        _rounded(draw, item, pad, grown, 255)
        if grown:
            _rounded(draw, item, pad, -grown, 0)
        found.append((-pad, -pad, rgb(colour), _finish(mask, item.opacity)))
    return found


def _rounded(draw: ImageDraw.ImageDraw, item: Box, pad: int, grown: float, value: int) -> None:
    x, y = (item.x + pad - grown) * _FINE, (item.y + pad - grown) * _FINE
    width, height = (item.width + 2 * grown) * _FINE, (item.height + 2 * grown) * _FINE
    radius = max(min(item.radius + grown, (item.width + 2 * grown) / 2, (item.height + 2 * grown) / 2), 0) * _FINE
    draw.rounded_rectangle((x, y, max(x, x + width - 1), max(y, y + height - 1)), radius, fill=value)


def _shape(item: Shape) -> Sprite:
    xs, ys = item.points[::2], item.points[1::2]
    left, top = floor(min(xs)) - 1, floor(min(ys)) - 1
    size = (ceil(max(xs) + item.x) - left + 2, ceil(max(ys) + item.y) - top + 2)
    mask = Image.new("L", (size[0] * _FINE, size[1] * _FINE))
    points = [((x + item.x - left) * _FINE, (y + item.y - top) * _FINE) for x, y in zip(xs, ys, strict=True)]
    ImageDraw.Draw(mask).polygon(points, fill=255)
    return [(left, top, rgb(item.fill), _finish(mask, item.opacity))]


def _finish(mask: Image.Image, opacity: float) -> Image.Image:
    mask = mask.reduce(_FINE)
    return mask if opacity == 1 else mask.point(lambda value: round(opacity * value))


def _text(item: Text) -> Sprite:
    font = _font(max(_FINE * item.size, 1), item.bold)  # at this size rounded advances do not matter
    left, top, right, bottom = (edge / _FINE for edge in font.getbbox(item.text, anchor="ls"))
    x, y = floor(left) - 1, floor(top) - 1
    size = (ceil(right + item.x) - x + 2, ceil(bottom + item.y) - y + 2)
    mask = Image.new("L", (size[0] * _FINE, size[1] * _FINE))
    ImageDraw.Draw(mask).text(((item.x - x) * _FINE, (item.y - y) * _FINE), item.text, 255, font, "ls")
    return [(x, y, rgb(item.fill), mask.reduce(_FINE))]


@lru_cache(256)
def _font(size: float, bold: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(
        str(FONTS / ("bold.ttf" if bold else "book.ttf")), size, layout_engine=ImageFont.Layout.BASIC
    )
