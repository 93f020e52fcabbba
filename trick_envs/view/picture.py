"""Pictures of a view: SVG, and pixels."""

from __future__ import annotations

import base64
from math import inf

import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import whole_number
from trick_envs.engine.cards import Deck
from trick_envs.engine.registry import game_type
from trick_envs.errors import checked
from trick_envs.view.avatars import draw_avatar
from trick_envs.view.cards import draw_icon, face
from trick_envs.view.layout import drawing_of
from trick_envs.view.pen import RATIO, Drawing, Pen, pixels, scaled
from trick_envs.view.svg import to_svg
from trick_envs.view.table import TableView


def svg(view: TableView, width: int = 800, height: int = 600) -> str:
    """A view as an SVG document: no fonts, no ids, no scripts, no links.

    Args:
        view: what is seen.
        width, height: size of the picture in pixels, 8 to 10,000.

    Raises:
        ValueError: for other sizes.
        TypeError: if it is no view.
    """
    drawing, scale = drawing_of(view, width, height)
    return to_svg(drawing, scale, view.title, view.prompt)


def rgb_array(view: TableView, width: int = 800, height: int = 600) -> npt.NDArray[np.uint8]:
    """A view as pixels: ``(H, W, 3) uint8``.

    Raises:
        ModuleNotFoundError: without Pillow (``pip install 'trick_envs[render]'``).
    """
    from trick_envs.view.raster import to_pixels

    drawing, scale = drawing_of(view, width, height)
    return to_pixels(drawing if scale == 1 else scaled(drawing, scale), width, height)


def card_svg(deck: Deck, kind: int | None, game: str = "", width: int = 100) -> str:
    """A single card as an SVG document; the back for ``None``.

    Args:
        deck: the cards.
        kind: the card.
        game: the name of the game, if it has marks of its own on its cards.
        width: in pixels; the height is 1.4 times that.

    Raises:
        ValueError: if there is no such card.
    """
    checked(deck, Deck, "deck", "the deck of a game, such as game.deck")
    if not isinstance(game, str) or game:
        game_type(game)
    width = pixels(width, "width")
    if kind is not None:
        kind = whole_number(kind, 0, deck.kinds - 1, "kind")
    margin = 2
    pen_items = face(game, deck.suits, deck.ranks, kind, float(width - 2 * margin))
    moved = tuple(item._replace(x=item.x + margin, y=item.y + margin / 2) for item in pen_items)
    return to_svg(Drawing(width, RATIO * width, (), moved), 1, "a card" if kind is None else deck.names[kind])


def avatar_svg(seat: int, you: bool = False, size: int = 24) -> str:
    """The mark of a seat as an SVG document.

    Args:
        seat: whose it is.
        you: whether a person sits there.
        size: width and height in pixels.
    """
    pen, size = Pen(), pixels(size, "size")
    draw_avatar(pen, whole_number(seat, 0, inf, "seat", "a seat"), you, size / 2, size / 2, size / 2 - 1)
    return to_svg(Drawing(size, size, (), tuple(pen.items)))


def icon_svg(game: str, name: str, size: int = 24) -> str:
    """A mark of a game's rows (``Row.icon``) as an SVG document.

    Args:
        game: the name of the game.
        name: of the mark; one that the game does not know may be drawn as any other.
        size: width and height in pixels.
    """
    pen, size = Pen(), pixels(size, "size")
    draw_icon(
        game_type(game).name, pen, checked(name, str, "name", "the name of a mark"), size / 2, size / 2, 0.46 * size
    )
    return to_svg(Drawing(size, size, (), tuple(pen.items)))


def image_tag(view: TableView) -> str:
    """A view as an HTML image, for notebooks: ids and styles of other pictures on the page do not matter to it."""
    data = base64.b64encode(svg(view).encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{data}" width="800" height="600">'
