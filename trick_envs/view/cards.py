"""Faces and backs of cards."""

from __future__ import annotations

from functools import cache, lru_cache
from types import ModuleType

from trick_envs.engine.registry import game_type
from trick_envs.view.pen import RATIO, Item, Pen, measure
from trick_envs.view.style import BACK, BACK_LIGHT, EDGE, PAPER, Suit, suit_style

SMALL = 34  # a narrower card has its rank on the upper half, its suit on the lower


@lru_cache(4096)
def face(game: str, suits: str, ranks: tuple[str, ...], kind: int | None, width: float) -> tuple[Item, ...]:
    """A card of a game as items around its top left corner; the back for ``None``."""
    pen, height, radius = Pen(), RATIO * width, max(0.09 * width, 2.5)
    pen.box(-0.5, 1.5, width + 1, height + 0.5, "#000000", radius + 1, opacity=0.16)
    pen.box(-0.5, 0.5, width + 1, height + 0.5, "#000000", radius, opacity=0.18)
    if kind is None:
        _back(pen, width, height, radius)
        return tuple(pen.items)
    letter, rank = suits[kind // len(ranks)], ranks[kind % len(ranks)]
    suit, module = suit_style(letter, suits), game_module(game)
    pen.box(0, 0, width, height, PAPER, radius, stroke=EDGE, line=1)
    emblem, badge = getattr(module, "emblem", None), getattr(module, "badge", None)
    small = width < SMALL
    band = (0.5 if small else 0.29) * height
    pen.box(0.5, 0.5, width - 1, band, suit.fill, radius - 0.5)
    pen.box(0.5, band / 2, width - 1, band / 2 + 0.5, suit.fill)
    if small:
        in_width = min(0.62 * width, 0.9 * width / measure(rank, 1, True))
        pen.label(width / 2, 0.27 * height, rank, in_width, suit.on, bold=True, anchor=0.5)
        x, y, size = 0.5, 0.75, 0.54
    else:
        pen.label(0.08 * width, 0.15 * height, rank, 0.36 * width, suit.on, bold=True)
        pen.label(0.93 * width, 0.15 * height, suit.symbol, 0.27 * width, suit.on, bold=True, anchor=1)
        x, y, size = (0.5 if badge is None else 0.4), 0.64, 0.62
        if badge is not None:
            badge(pen, kind, len(suits), len(ranks), 0.85 * width, 0.41 * height, 0.11 * width)
    if emblem is None or not emblem(pen, kind, len(ranks), x * width, y * height, size * width / 2, suit.fill):
        draw_symbol(pen, suit, x * width, y * height, size * width)
    return tuple(pen.items)


def draw_symbol(pen: Pen, suit: Suit, x: float, y: float, size: float) -> None:
    """The symbol of a suit on paper around a point, with an edge where its colour is pale."""
    if suit.fill != suit.colour:
        pen.label(x, y, suit.symbol, size, suit.colour, bold=True, anchor=0.5)
        size *= 0.86
    pen.label(x, y, suit.symbol, size, suit.fill, bold=True, anchor=0.5)


def _back(pen: Pen, width: float, height: float, radius: float) -> None:
    """A frame, and a diamond in the middle."""
    inset = max(0.06 * width, 1.5)
    pen.box(0, 0, width, height, PAPER, radius)
    pen.box(inset, inset, width - 2 * inset, height - 2 * inset, BACK, max(radius - inset, 1.5))
    inset *= 2.2
    if width >= SMALL:
        pen.box(inset, inset, width - 2 * inset, height - 2 * inset, None, 2, stroke=BACK_LIGHT, line=1)
    across, down = 0.24 * width, 0.24 * height
    pen.shape(width / 2, height / 2, ((0, -down), (across, 0), (0, down), (-across, 0)), BACK_LIGHT)


def draw_icon(game: str, pen: Pen, name: str, x: float, y: float, size: float) -> None:
    """A mark that only one game has, around a point (``icon`` of its view)."""
    icon = getattr(game_module(game), "icon", None)
    if icon is not None:
        icon(pen, name, x, y, size)


@cache
def game_module(game: str) -> ModuleType | None:
    """The module that draws what only this game has."""
    return game_type(game).view if game else None
