"""Colours, suits and their symbols."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

FELT, FELT_LIGHT, FELT_DARK = "#2f5a4b", "#386857", "#254a3d"
PAPER, INK, FAINT = "#fffdf7", "#2b2622", "#736a5e"
CREAM, MIST, RIM, WINE = "#f6f0e2", "#b9cfc0", "#6a9482", "#b3261e"
DIM = 0.6  # opacity of a card that may not be named
GOLD, LED = "#f2c14e", "#8fd0ff"
TRACK, RAIL = "#e3d9c4", "#b8ab92"  # of bars; of a line of stations
BACK, BACK_LIGHT, EDGE = "#4d6588", "#6f88ad", "#d9d0be"


SEATS = ("#d9a227", "#4b9cd8", "#c9668f", "#6aa84f", "#a07be0", "#e08a4f", "#52b3ad", "#b0a060", "#9a9a9a")


@dataclass(frozen=True)
class Suit:
    """How a suit looks.

    Attributes:
        symbol: a letter of the fonts.
        fill: its true colour, for surfaces and shapes.
        on: the colour of text on ``fill``.
        colour: of text and symbols on paper: ``fill``, or darker where that is too pale to read.
        light: of text and symbols on dark ground.
    """

    symbol: str
    fill: str
    on: str
    colour: str
    light: str


RED = ("#d04432", PAPER, "#d04432", "#ff8a7a")
YELLOW = ("#f1d441", INK, "#978000", "#f6d84a")
GREEN = ("#44b989", INK, "#2b8a60", "#63d3a0")
BLUE = ("#3e70cd", PAPER, "#3e70cd", "#8db4ff")
BROWN = ("#621e00", PAPER, "#621e00", "#d3a183")
PURPLE = ("#51276c", PAPER, "#51276c", "#cf94ee")
BLACK = ("#2b2622", PAPER, "#2b2622", "#d8cfc4")

# By the letters of the deck: the four suits and stars, and six colours, each with a shape of its own. The six are what
# their names say, and with any kind of colour vision they differ by a CIEDE2000 of 18 or more (``test_colours.py``).
SUITS = {
    "S": Suit("♠", *BLACK), "H": Suit("♥", *RED), "D": Suit("♦", *BLUE), "C": Suit("♣", *GREEN),
    "X": Suit("★", *PURPLE),
    "R": Suit("●", *RED), "Y": Suit("▲", *YELLOW), "G": Suit("■", *GREEN), "B": Suit("◆", *BLUE),
    "N": Suit("⬢", *BROWN), "P": Suit("★", *PURPLE),
}  # fmt: skip
_OTHERS = (RED, YELLOW, GREEN, BLUE, BROWN, PURPLE)


def suit_style(letter: str, suits: str) -> Suit:
    """How a suit of a deck looks; an unknown one is shown by its letter, in the colour of its place."""
    if letter in SUITS:
        return SUITS[letter]
    return Suit(letter, *_OTHERS[suits.index(letter) % len(_OTHERS)])


@cache
def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers of 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
