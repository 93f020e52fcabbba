"""Where everything lies on the table: one plan for wide pictures, one for a phone's.

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
WIDE, PHONE = (800, 600), (390, 520)  # the sizes for which the two layouts are made; other pictures are scaled
STRIP = 62  # height of what only a game has, on a phone

# How many of the other seats sit at the left, at the top and at the right.
_AROUND = {1: (0, 1, 0), 2: (1, 0, 1), 3: (1, 1, 1), 4: (1, 2, 1), 5: (1, 3, 1), 6: (1, 4, 1)}


@dataclass(frozen=True)
class Spot:
    """Where a seat is drawn: its plate, its hand (unless there is no room), and the middle of its card in the trick."""

    plate: Area
    hand: Area | None
    card: tuple[float, float]


@dataclass(frozen=True)
class Plan:
    """Where things are drawn: the same in all positions of a match."""

    width: float
    height: float
    phone: bool
    header: Area
    table: Area
    spots: tuple[Spot, ...]  # the seat at the bottom first, then clockwise
    trick_card: float  # width of a card in the trick
    own_card: float  # width of a card in the hand at the bottom
    prompt: Area
    panel: Area | None


@lru_cache(64)
def plan_for(game: str, players: int, hand_size: int, all_open: bool, width: float, height: float, phone: bool) -> Plan:
    """Where things are drawn.

    Args:
        game: its name.
        players, hand_size: seats, and cards dealt to each.
        all_open: whether all hands are open.
        width, height: of the picture.
        phone: which layout.
    """
    faces = all_open or game_type(game).hands_seen  # whether cards in the hands of others may be known
    if phone:
        return _phone_plan(game, players, hand_size, faces, all_open, width, height)
    return _wide_plan(game, players, hand_size, faces, width, height)


def _wide_plan(game: str, players: int, hand_size: int, faces: bool, width: float, height: float) -> Plan:
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
    cards = 2 * RATIO * _small(block, hand_size) + 2 if faces else RATIO * back
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
        width, height, False, Area(MARGIN, 6, inner, 36), table, (own, *others), trick, own_card, prompt, panel
    )  # fmt: skip


def _phone_plan(
    game: str, players: int, hand_size: int, faces: bool, all_open: bool, width: float, height: float
) -> Plan:
    margin = 8
    inner, per_row = width - 2 * margin, ceil(hand_size / 2)
    own_card = min(46.0, (inner - 3 * (per_row - 1)) / per_row)
    own_high = 2 * RATIO * own_card + 5
    foot = height - margin - 75 - (own_high + 10)
    y, others = 34.0, players - 1
    tall_enough = height >= PHONE[1] + 38 * (others - 3)
    in_rows = faces and (others <= 3 or (all_open and tall_enough))  # a row for each seat, with room for its cards
    columns = 1 if in_rows else ceil(others / ceil(others / 4))
    wide, tall = (inner - 4 * (columns - 1)) / columns, 34 if in_rows else 40
    plates = []
    for i in range(others):
        x, at = margin + (i % columns) * (wide + 4), y + (i // columns) * (tall + 4)
        held = Area(x + 102, at + 2, wide - 102, tall - 4) if in_rows else None
        plates.append((Area(x, at, 98 if in_rows else wide, tall), held))
    y += ceil(others / columns) * (tall + 4) + 1
    size = STRIP if hasattr(game_module(game), "PANEL") else 0
    panel = Area(margin, y, inner, size) if size else None
    y += size + 5 if size else 0
    table = Area(margin, y, inner, foot - y - 6)
    trick, places = _phone_slots(players, table, 1 if in_rows else columns)
    own = Spot(
        Area(margin, foot + 40, inner, 35),
        Area(margin, height - margin - own_high, inner, own_high),
        places[0],
    )
    rest = tuple(Spot(plate, held, place) for (plate, held), place in zip(plates, places[1:], strict=True))
    header, prompt = Area(margin, 4, inner, 26), Area(margin, foot, inner, 36)
    return Plan(width, height, True, header, table, (own, *rest), trick, own_card, prompt, panel)


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


def _phone_slots(players: int, area: Area, columns: int) -> tuple[float, list[tuple[float, float]]]:
    """The width of a card of the trick, and the middles of all: the others' as their plates lie, the own one below.

    Args:
        players: seats.
        area: where the cards lie.
        columns: of the plates.
    """
    others, width = players - 1, area.width - 6
    if columns == 1:  # hands in rows above: side by side, or in two rows if that makes larger cards
        columns = others if others <= 4 else ceil(others / 2)
    rows = ceil(others / columns)
    stacked = min(60.0, (area.height - 12) / (1.06 * (rows + 1)) / RATIO, width / columns - 8)
    flat = min(60.0, (area.height - 18) / 1.25 / RATIO, width / players - 8)
    middle_x, middle_y = area.x + area.width / 2, area.y + area.height / 2
    if rows > 1 or stacked >= 0.85 * flat:
        pitch, step = min(2.6 * stacked, width / columns), 1.06 * RATIO * stacked
        found = [(middle_x, middle_y + rows / 2 * step)]
        for i in range(others):
            x = middle_x + (i % columns - (columns - 1) / 2) * pitch
            found.append((x, middle_y + (i // columns - rows / 2) * step))
        return stacked, found
    half = others // 2 + others % 2
    order = [*range(1, half + 1), 0, *range(half + 1, players)]
    pitch, places = min(2.1 * flat, width / players), {}
    for i, seat in enumerate(order):
        x = middle_x + (i - (players - 1) / 2) * pitch
        places[seat] = (x, middle_y + (0.12 if seat == 0 else -0.04) * RATIO * flat)
    return flat, [places[seat] for seat in range(players)]


def _small(width: float, hand_size: int) -> float:
    """The width of a card of which half a hand lies in a row."""
    per_row = ceil(hand_size / 2)
    return min(28.0, (width - (per_row - 1)) / per_row)
