"""Words for cards, numbers and points, as one says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trick_envs.view.messages import ENGLISH, messages

_COLOURS = "RYGBNP"
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class ScoreItem(NamedTuple):
    """A part of what a seat has scored in a deal.

    Attributes:
        words: what it is for: ``four red cards``.
        points: what it adds; the items of a seat add up to its points of the deal.
    """

    words: str
    points: int


def suit_name(letter: str, language: str = ENGLISH) -> str:
    """A suit or colour in words: ``spades``, ``green``."""
    return str(messages(language)["suits"].get(letter, letter))


def of_suit(letter: str) -> str:
    """A suit after a superlative: ``the highest heart``, ``the highest red card``."""
    if letter in _COLOURS:
        return f"{suit_name(letter)} card"
    return f"card of {letter}" if suit_name(letter) == letter else suit_name(letter).removesuffix("s")


def card_words(suits: str, ranks: Sequence[str], kind: int) -> str:
    """A card as one says it: ``4 yellow``."""
    return f"{ranks[kind % len(ranks)]} {suit_name(suits[kind // len(ranks)])}"


def place_words(name: str) -> str:
    """A place as one says it: ``to right``."""
    return name.replace("_", " ")


def counted(number: int, what: str) -> str:
    """A number of things: ``one card``, ``four red cards``, ``14 points``."""
    return f"{_NUMBERS[number] if number < len(_NUMBERS) else number} {what}{'' if number == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def signed(points: int) -> str:
    """Points with their sign: ``+3``, ``−2``, ``0``."""
    return f"{points:+d}".replace("-", "−") if points else "0"


def sentence(text: str) -> str:
    """With a capital letter; names such as player_1 stay as they are."""
    return text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
