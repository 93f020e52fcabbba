"""Where everything lies on the table of a picture.

The observer (seat 0 if all is open) sits at the bottom, the others clockwise. All places follow from the game, the
number of players and the size of the picture, so nothing jumps from one position to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from trick_envs.engine.registry import game_type
from trick_envs.view.cards import game_module
from trick_envs.view.pen import RATIO, Area

MARGIN = 10
SIZE = (800, 600)  # for which the layout is made; other pictures are scaled

# How many of the other seats sit at the left, at the top and at the right.
_AROUND = {1: (0, 1, 0), 2: (1, 0, 1), 3: (1, 1, 1), 4: (1, 2, 1), 5: (1, 3, 1), 6: (1, 4, 1)}


@dataclass(frozen=True)
class Spot:
    """Where a seat is drawn: its plate, its hand, and the middle of its card in the trick."""

    plate: Area
    hand: Area
    card: tuple[float, float]


@dataclass(frozen=True)
class Plan:
    """Where things are drawn: the same in all positions of a match."""

    width: float
    height: float
    header: Area
    table: Area
    spots: tuple[Spot, ...]  # the seat at the bottom first, then clockwise
    trick_card: float  # width of a card in the trick
    own_card: float  # width of a card in the hand at the bottom
    prompt: Area
    panel: Area | None


@lru_cache(64)
def plan_for(game: str, players: int, hand_size: int, all_open: bool, width: float, height: float) -> Plan:
    """Where things are drawn.

    Args:
        game: its name.
        players, hand_size: seats, and cards dealt to each.
        all_open: whether all hands are open.
        width, height: of the picture.
    """
    faces = all_open or game_type(game).hands_seen  # whether cards in the hands of others may be known
    inner = width - 2 * MARGIN
    own_card = min(62.0, (inner - 3 * (hand_size - 1)) / hand_size)
    foot = height - MARGIN - 34 - (RATIO * own_card + 14)
    top, right, panel = 50.0, width - MARGIN, None
    side, size = getattr(game_module(game), "PANEL", ("", 0))
    if side == "right":
        right -= size + MARGIN
        panel = Area(right + MARGIN, top - 4, size, foot - top - MARGIN + 8)
    elif side == "top":
        panel = Area(MARGIN - 4, top - 4, inner + 8, size)
        top += size + MARGIN - 4
    table = Area(MARGIN, top, right - MARGIN, foot - top - MARGIN)

    around = _AROUND.get(players - 1, (2, players - 5, 2))
    at_left, at_top, at_right = around
    block = min(194.0 if faces else 176.0, (table.width + 8) / max(at_top, 3) - 8)
    plate, back = 38, 22 if players > 6 else 28
    in_row = ceil(hand_size / 2)  # of a hand in two rows
    cards = 2 * RATIO * min(28.0, (block - (in_row - 1)) / in_row) + 2 if faces else RATIO * back
    tall = plate + 5 + cards
    above = tall + 8 if at_top or panel else 0
    below = table.y + (above if at_top else 0)
    room = table.y + table.height - below if at_top or not panel else 0
    blocks = [
        *_column(at_left, table.x, below, room, block, tall)[::-1],
        *(Area(table.x + table.width * (i + 0.5) / at_top - block / 2, table.y, block, tall) for i in range(at_top)),
        *_column(at_right, table.x + table.width - block, below, room, block, tall),
    ]
    trick = (44.0 if faces else 48.0) if players > 6 else 58.0 if players > 4 or (at_top and faces) else 68.0
    beside = block + 10 if at_top or not above else 0  # without seats at the top, those at the sides may lie above
    centre = Area(table.x + beside, table.y + above + 6, table.width - 2 * beside, table.height - above - 10)
    trick = min(trick, (centre.height - 8) / 2.06 / RATIO)  # two cards, one above the other
    if at_top and at_left == 1:
        trick = min(trick, (centre.width - 8) / 3.1)  # and three side by side
    places = _slots(around, centre, trick)
    own = Spot(
        Area(MARGIN, foot, 330, 34),
        Area(MARGIN, height - MARGIN - RATIO * own_card, inner, RATIO * own_card),
        places[0],
    )
    others = (
        Spot(Area(x, y, block, plate), Area(x, y + plate + 5, block, cards), place)
        for (x, y, *_), place in zip(blocks, places[1:], strict=True)
    )
    prompt = Area(MARGIN + 340, foot, inner - 340, 34)
    return Plan(
        width, height, Area(MARGIN, 6, inner, 36), table, (own, *others), trick, own_card, prompt, panel
    )  # fmt: skip


def _column(seats: int, x: float, y: float, room: float, width: float, height: float) -> list[Area]:
    """Blocks of seats one below the other, spread over the room; a single one a little above its middle."""
    if seats == 1:
        return [Area(x, y + max((room - height) * 0.4, 0), width, height)]
    return [Area(x, y + i * (room - height) / (seats - 1), width, height) for i in range(seats)]


def _slots(around: tuple[int, int, int], area: Area, width: float) -> list[tuple[float, float]]:
    """The middles of the cards of the trick, around the middle: the seat at the bottom first, then clockwise.

    Args:
        around: seats at the left, at the top and at the right.
        area: where they lie.
        width: of a card.
    """
    at_left, at_top, at_right = around
    height, x, y = RATIO * width, area.x + area.width / 2, area.y + area.height / 2
    pitch = min(width + 20, area.width / max(at_top, 1))
    out = min(max((1.45 if at_top else 1.8) * width, pitch * at_top / 2 + width / 2 + 8), (area.width - width) / 2 - 2)
    rows = (1.55, 0.52) if at_left > 1 else (1.1, 0) if at_top else (0.58, 0.58)
    fits = min(1, (area.height - height - 8) / (2 * rows[0] * height))
    away, side = rows[0] * height * fits, rows[1] * height
    if not at_top:
        return [(x, y + away), (x - out, y - side), (x + out, y - side)]
    lower, upper = ([side, -side], [-side, side]) if at_left > 1 else ([0.0], [0.0])
    return [
        (x, y + away),
        *((x - out, y + up) for up in lower[:at_left]),
        *((x + (i - (at_top - 1) / 2) * pitch, y - away) for i in range(at_top)),
        *((x + out, y + up) for up in upper[:at_right]),
    ]
