"""Words for cards, numbers and points, as one says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trick_envs.view.messages import messages, said, spoken


class ScoreItem(NamedTuple):
    """A part of what a seat has scored in a deal.

    Attributes:
        words: what it is for: ``four red cards``.
        points: what it adds; the items of a seat add up to its points of the deal.
    """

    words: str
    points: int


def suit_name(letter: str, language: str = "") -> str:
    """A suit or colour in words: ``spades``, ``green``; by default in the language that is spoken."""
    return str(messages(language or spoken())["suits"].get(letter, letter))


def of_suit(letter: str) -> str:
    """A suit after a superlative: ``the highest heart``, ``the highest red card``."""
    return str(messages(spoken())["of_suit"].get(letter) or said("of_suit.other", letter=letter))


def card_words(suits: str, ranks: Sequence[str], kind: int) -> str:
    """A card as one says it: ``4 yellow``."""
    return said("guide.card", rank=ranks[kind % len(ranks)], suit=suit_name(suits[kind // len(ranks)]))


def place_words(name: str) -> str:
    """A place as one says it: ``to right``."""
    return name.replace("_", " ")


def counted(number: int, unit: str, what: str = "") -> str:
    """A number of things: ``one card``, ``14 points``, ``four red cards``.

    Args:
        number: of them.
        unit: of which kind: a key of the messages.
        what: their name, if the unit is ``suit``: see ``of_suit``.
    """
    words = said("counted.numbers").split()
    told = words[number] if 0 <= number < len(words) else str(number).replace("-", "−")
    return said(f"counted.{'one_' if number == 1 else ''}{unit}", number=told, what=what)


def listed(parts: Sequence[str], last: str = "words.and") -> str:
    """``a``, ``a and b``, ``a, b and c``; ``last``: the message between the last two."""
    return said(last).join([said("words.comma").join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def signed(points: int) -> str:
    """Points with their sign: ``+3``, ``−2``, ``0``."""
    return f"{points:+d}".replace("-", "−") if points else "0"


def sentence(text: str) -> str:
    """With a capital letter; names such as player_1 stay as they are."""
    return text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
