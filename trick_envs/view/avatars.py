"""A mark for each seat that has a name: the head of an animal in the seat's colour; for a person, a person.

They are drawn from a few shapes, so that they can be told apart at 16 pixels.
"""

from __future__ import annotations

from typing import Any

from trick_envs.view.pen import Pen
from trick_envs.view.style import GOLD, INK, SEATS

LIGHT, CORAL = "#efe3c8", "#e0604f"  # no seat has the second one: it is a person's
PERSON = "person"

# Shapes within a radius of 1 around 0, 0; y points downwards. A disc: fill, x, y, radius; a bar with round ends: fill,
# x, y, half its width, half its height; a polygon: fill, then its points. The fill "" is the seat's colour.
_Shape = tuple[Any, ...]


def _both(shape: str, fill: str, *rest: Any) -> tuple[_Shape, _Shape]:
    """A shape, and the same on the other side."""
    if shape == "polygon":
        return (shape, fill, *rest), (shape, fill, *((-x, y) for x, y in rest))
    x, *more = rest
    return (shape, fill, x, *more), (shape, fill, -x, *more)


_HEAD = ("disc", "", 0, 0.18, 0.8)
_EYES = _both("disc", INK, 0.3, -0.02, 0.11)
_NOSE = ("polygon", INK, (-0.13, 0.2), (0.13, 0.2), (0, 0.36))
_HEADS: dict[str, tuple[_Shape, ...]] = {
    "cat": (
        *_both("polygon", "", (0.8, 0.2), (0.76, -0.98), (-0.05, -0.45)), _HEAD, *_EYES, _NOSE,
        *_both("bar", INK, 0.62, 0.4, 0.24, 0.03),
    ),
    "bear": (
        *_both("disc", "", 0.6, -0.55, 0.36), *_both("disc", LIGHT, 0.6, -0.55, 0.16), _HEAD,
        ("disc", LIGHT, 0, 0.45, 0.36), *_EYES, _NOSE,
    ),
    "rabbit": (
        *_both("bar", "", 0.34, -0.5, 0.2, 0.5), *_both("bar", LIGHT, 0.34, -0.5, 0.08, 0.34),
        ("disc", "", 0, 0.32, 0.66), *_both("disc", INK, 0.25, 0.18, 0.11),
        ("polygon", INK, (-0.12, 0.38), (0.12, 0.38), (0, 0.52)), ("disc", LIGHT, 0, 0.7, 0.14),
    ),
    "frog": (
        *_both("disc", "", 0.5, -0.42, 0.38), ("bar", "", 0, 0.22, 0.95, 0.66),
        *_both("disc", LIGHT, 0.5, -0.46, 0.24), *_both("disc", INK, 0.5, -0.46, 0.12),
        ("bar", INK, 0, 0.42, 0.55, 0.06),
    ),
    "owl": (
        *_both("polygon", "", (0.8, 0.1), (0.8, -0.95), (0, -0.5)), _HEAD, *_both("disc", LIGHT, 0.36, -0.1, 0.3),
        *_both("disc", INK, 0.36, -0.1, 0.14), ("polygon", GOLD, (-0.15, 0.12), (0.15, 0.12), (0, 0.45)),
    ),
    "fox": (
        *_both("polygon", "", (0.85, 0.1), (0.9, -0.95), (0.05, -0.4)),
        ("polygon", "", (-0.95, 0.05), (-0.5, -0.45), (0.5, -0.45), (0.95, 0.05), (0, 0.98)),
        *_both("polygon", LIGHT, (0.95, 0.05), (0.2, 0.3), (0, 0.98)), *_EYES, ("disc", INK, 0, 0.82, 0.16),
    ),
    "pig": (
        *_both("polygon", "", (0.85, -0.15), (0.8, -0.85), (0.15, -0.5)), _HEAD, *_EYES,
        ("bar", LIGHT, 0, 0.42, 0.42, 0.28), *_both("disc", INK, 0.16, 0.42, 0.09),
    ),
    "mouse": (
        *_both("disc", "", 0.58, -0.48, 0.5), *_both("disc", LIGHT, 0.58, -0.48, 0.3), ("disc", "", 0, 0.3, 0.68),
        *_both("disc", INK, 0.26, 0.2, 0.11), ("disc", INK, 0, 0.58, 0.13),
    ),
    "penguin": (
        ("disc", "", 0, 0, 0.96), *_both("disc", LIGHT, 0.3, 0.05, 0.42), ("disc", LIGHT, 0, 0.4, 0.5),
        *_both("disc", INK, 0.28, 0, 0.12), ("polygon", GOLD, (-0.2, 0.2), (0.2, 0.2), (0, 0.48)),
    ),
    PERSON: (("disc", "", 0, -0.38, 0.46), ("bar", "", 0, 0.62, 0.8, 0.46), ("bar", "", 0, 0.8, 0.8, 0.28)),
}  # fmt: skip
_BY_SEAT = tuple(name for name in _HEADS if name != PERSON)


def draw_avatar(pen: Pen, seat: int, you: bool, x: float, y: float, radius: float) -> None:
    """The mark of a seat around a point.

    Args:
        pen: draws it.
        seat: whose it is.
        you: whether a person sits there.
        x, y: its middle.
        radius: of the circle in which it is.
    """
    colour = CORAL if you else SEATS[seat % len(SEATS)]
    for shape, fill, *rest in _HEADS[PERSON if you else _BY_SEAT[seat % len(_BY_SEAT)]]:
        if shape == "polygon":
            pen.shape(x, y, rest, fill or colour, radius)
            continue
        at_x, at_y, wide, *tall = (radius * value for value in rest)
        high = tall[0] if tall else wide
        pen.box(x + at_x - wide, y + at_y - high, 2 * wide, 2 * high, fill or colour, min(wide, high))
