"""The colours of the suits: what their names say, and told apart with any kind of colour vision."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import trick_envs.play.web
from trick_envs.view.style import PAPER, SUITS, rgb

NAMED = {"R": "red", "Y": "yellow", "G": "green", "B": "blue", "N": "brown", "P": "purple"}
VISIONS = {  # Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
LOOKS = {  # lightness, chroma and hue (degrees) in CIELAB of what people call by that name
    "red": ((40, 58), (60, 105), (24, 42)),
    "yellow": ((75, 95), (60, 100), (78, 104)),
    "green": ((40, 70), (35, 90), (125, 168)),
    "blue": ((35, 65), (40, 110), (250, 300)),
    "brown": ((22, 42), (25, 55), (40, 75)),
    "purple": ((20, 50), (40, 100), (305, 335)),
}


def linear(colour: str) -> np.ndarray:
    part = np.array(rgb(colour)) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> tuple[float, float, float]:
    """CIELAB of linear RGB."""
    part = TO_XYZ @ np.clip(light, 0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(part > 216 / 24389, np.cbrt(part), (24389 / 27 * part + 16) / 116)
    return float(116 * y - 16), float(500 * (x - y)), float(200 * (y - z))


def ciede2000(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """The difference of two colours in CIELAB; formula of Sharma, Wu and Dalal (2005)."""
    (light1, a1, b1), (light2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    a1, a2 = a1 * stretch, a2 * stretch
    chroma1, chroma2 = np.hypot(a1, b1), np.hypot(a2, b2)
    hue1, hue2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    turn = (hue2 - hue1 + 180) % 360 - 180 if chroma1 * chroma2 else 0.0
    by_hue = 2 * np.sqrt(chroma1 * chroma2) * np.sin(np.radians(turn) / 2)
    light, chroma, hue = (light1 + light2) / 2, (chroma1 + chroma2) / 2, (hue1 + turn / 2) % 360
    weight = 1 - 0.17 * np.cos(np.radians(hue - 30)) + 0.24 * np.cos(np.radians(2 * hue))
    weight += 0.32 * np.cos(np.radians(3 * hue + 6)) - 0.2 * np.cos(np.radians(4 * hue - 63))
    lightness = (light2 - light1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    strength, tone = (chroma2 - chroma1) / (1 + 0.045 * chroma), by_hue / (1 + 0.015 * chroma * weight)
    turned = np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))) * 2 * np.sqrt(chroma**7 / (chroma**7 + 25**7))
    return float(np.sqrt(lightness**2 + strength**2 + tone**2 - turned * strength * tone))


def contrast(one: str, other: str) -> float:
    """As in WCAG."""
    dark, light = sorted(float(TO_XYZ[1] @ linear(each)) for each in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425), ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((6.7747, -0.2908, -2.4247), (5.8714, -0.0985, -2.2286), 0.6377),
    ],
)  # fmt: skip
def test_the_difference_is_that_of_the_published_examples(one, other, apart):
    assert ciede2000(one, other) == pytest.approx(apart, abs=1e-4)


@pytest.mark.parametrize("letter", NAMED)
def test_a_colour_is_what_its_name_says(letter):
    light, a, b = lab(linear(SUITS[letter].fill))
    found = light, np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360
    for value, (least, most) in zip(found, LOOKS[NAMED[letter]], strict=True):
        assert least <= value <= most, (NAMED[letter], found)


@pytest.mark.parametrize("vision", VISIONS)
def test_the_six_colours_are_told_apart_with_any_kind_of_colour_vision(vision):
    seen = {letter: lab(np.array(VISIONS[vision]) @ linear(SUITS[letter].fill)) for letter in NAMED}
    for one, other in combinations(NAMED, 2):
        assert ciede2000(seen[one], seen[other]) >= 18, (vision, NAMED[one], NAMED[other])


@pytest.mark.parametrize("letter", SUITS)
def test_suits_can_be_read_on_a_card(letter):
    suit = SUITS[letter]
    assert contrast(suit.fill, suit.on) >= 4.5
    assert contrast(PAPER, suit.colour) >= 3


def test_the_page_has_the_colours_of_the_cards():
    style = (Path(trick_envs.play.web.__file__).parent / "static" / "style.css").read_text(encoding="utf-8")
    found = {
        letter: (fill, on)
        for letters, fill, on in re.findall(r"^((?:\.suit-\w[, ]*)+) \{ --fill: (\S+); --on: (\S+);", style, re.M)
        for letter in re.findall(r"suit-(\w)", letters)
    }
    assert found == {letter: (suit.fill, suit.on) for letter, suit in SUITS.items()}
