"""The answer of somebody who writes: which card it names, or a sentence that says what was wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from trick_envs.engine.cards import Deck
from trick_envs.errors import checked, checked_list
from trick_envs.view.words import suit_name

_COUNT = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_RANK_WORDS = {
    "A": ("ace", "aces"), "K": ("king", "kings"), "Q": ("queen", "queens"), "J": ("jack", "jacks", "knave", "valet"),
    "10": ("t",), "2": ("deuce",),
}  # fmt: skip
_SIGNS = {"S": "♠♤", "H": "♥♡", "D": "♦♢", "C": "♣♧", "X": "★☆"}
_KEYS = ("play", "card", "answer", "action", "move")
_LETTERS, _NUMBERS = "SHDCXRYGBNP", (*map(str, range(1, 21)), "J", "Q", "K", "A")
_TAG = re.compile(r"<play>(.*?)(?=</play>|<play>|$)", re.IGNORECASE | re.DOTALL)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)", re.IGNORECASE | re.DOTALL)
_OPENS = re.compile(r"\{")
_POLITE = {
    "i", "i'll", "i'd", "will", "would", "play", "choose", "pick", "pass", "keep", "lead", "follow", "with", "the",
    "my", "our", "final", "answer", "card", "move", "action", "is", "now", "so", "therefore", "then", "legal", "best",
    "of", "a",
}  # fmt: skip
MOST_SHOWN = 80  # letters of an answer in a sentence about it
MOST_READ = 8000  # letters of an answer, from its end


class Answer(NamedTuple):
    """What an answer says.

    Attributes:
        card: the legal card that it names, as written, such as ``10B``; ``None`` if it names none.
        problem: then what was understood and what is legal, in a sentence; else empty.
    """

    card: str | None
    problem: str = ""


def parse_answer(text: str, legal: Sequence[str], deck: Deck | None = None) -> Answer:
    """The card that an answer names: the last one in the last marked place.

    Marked places are ``<play>10 blue</play>``, a JSON object with one of the keys ``play``, ``card``, ``answer``,
    ``action`` or ``move``, and, where there is neither, a last line of its own: ``10 blue`` or ``I play 10 blue.`` What
    stands in ``<think>…</think>`` does not count. Case, the order of suit and rank, words, letters and suit signs do
    not matter: ``10B``, ``b10``, ``Blue Ten`` and ``ten of blue`` are one card, and ``Q♥`` is the queen of hearts.

    Args:
        text: the answer.
        legal: the legal cards, as written: ``["10B", "4Y"]``.
        deck: the deck, to know other cards when it sees them; ``None``: all ranks and suits that the games have.
    """
    legal = checked_list(legal, str, "legal", "the legal cards as written, such as ['10B', '4Y']")
    if deck is not None:
        checked(deck, Deck, "deck", "the deck of a game, such as game.deck")
    suits = deck.suits if deck else "".join(dict.fromkeys([*_LETTERS, *(card[-1] for card in legal)]))
    ranks = deck.ranks if deck else tuple(dict.fromkeys([*_NUMBERS, *(card[:-1] for card in legal)]))
    text = _THOUGHT.sub("\n", checked(text, str, "text", "a text")).rpartition("</think>")[2][-MOST_READ:]
    tags = ((found.start(), found[1]) for found in _TAG.finditer(text))  # also a last one that is not closed
    places = sorted([*tags, *_objects(text)])
    found = places[-1][1] if places else _last_line(text)
    if not found.strip():
        return Answer(
            None, f"No card was understood: {'its place' if places else 'the answer'} is empty. {_told(legal)}"
        )
    cards = list(_cards(found, suits, ranks))
    if not places and _beside(found, cards):  # a sentence that mentions cards is no answer
        return Answer(
            None, f"No card was understood: there is no <play>CARD</play>, and the last line is none. {_told(legal)}"
        )
    if not cards:
        return Answer(None, f"No card was understood in {_short(found)!r}. {_told(legal)}")
    card = cards[-1][0]
    if card not in legal:
        return Answer(None, f"{_words(card)} was understood, which is not legal now. {_told(legal)}")
    return Answer(card)


def _told(legal: Sequence[str]) -> str:
    return f"Legal: {' '.join(legal)}. Answer with one of them, such as <play>{legal[0]}</play>." if legal else ""


def _words(card: str) -> str:
    return f"{card} ({card[:-1]} {suit_name(card[-1])})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def _objects(text: str) -> Iterator[tuple[int, str]]:
    """What stands under one of the keys of JSON objects, with where they stand."""
    decoder, end = json.JSONDecoder(), 0
    for found in _OPENS.finditer(text):
        if found.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            lower = {str(key).lower(): each for key, each in value.items()}
            for key in _KEYS:
                if isinstance(lower.get(key), str | int):
                    yield found.start(), str(lower[key])
                    break
                if isinstance(lower.get(key), dict):  # {"card": {"rank": 10, "suit": "blue"}}
                    inner = {str(name).lower(): each for name, each in lower[key].items()}
                    yield found.start(), f"{inner.get('rank', '')} {inner.get('suit', inner.get('color', ''))}"
                    break


def _last_line(text: str) -> str:
    lines = [line for line in (each.strip() for each in text.splitlines()) if line.strip("`*_ ")]
    return lines[-1] if lines else ""


def _beside(line: str, cards: Sequence[tuple[str, int, int]]) -> bool:
    """Whether a line says more than one card, and the words that one puts around it."""
    if len({card for card, _, _ in cards}) != 1:
        return True
    _, start, end = cards[-1]
    rest = re.findall(r"[\w'’]+", f"{line[:start]} {line[end:]}".lower())
    return any(word.replace("’", "'") not in _POLITE for word in rest)


def _cards(text: str, suits: str, ranks: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """The cards that a text names, in order, each with where it begins and ends."""
    pattern, rank_of, suit_of = _grammar(suits, ranks)
    for found in pattern.finditer(text):
        rank, suit = found["rank"] or found["rank2"], found["suit"] or found["suit2"]
        if rank == "a" and len(suit) > 1 and found[0][1].isspace():
            continue  # "a spade"
        if rank.lower() in rank_of and suit.lower() in suit_of:  # the pattern takes a long s for an s, too
            yield rank_of[rank.lower()] + suit_of[suit.lower()], found.start(), found.end()


@cache
def _grammar(suits: str, ranks: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str], dict[str, str]]:
    """The pattern of a card of a deck, and what its words for ranks and suits mean."""
    rank_of = {rank.lower(): rank for rank in ranks}
    suit_of: dict[str, str] = {}
    for rank in ranks:
        words = [*_RANK_WORDS.get(rank, ()), *([_COUNT[int(rank) - 1]] if rank.isdigit() and int(rank) <= 20 else [])]
        rank_of |= {word: rank for word in words if word not in rank_of}
    if "A" in ranks and "1" not in ranks:
        rank_of |= {"1": "A", "one": "A"}
    for suit in suits:
        name = suit_name(suit).lower()
        for word in (suit.lower(), name, name.removesuffix("s"), *_SIGNS.get(suit, "")):
            suit_of.setdefault(word, suit)
    rank, suit = (
        "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) for words in (rank_of, suit_of)
    )
    between = r"[\s_:-]{0,9}(?:\bof[\s_-]{1,9}(?:the[\s_-]{1,9})?)?"
    one = rf"(?P<rank>{rank}){between}(?P<suit>{suit})\ufe0f?"
    other = rf"(?P<suit2>{suit})\ufe0f?{between}(?P<rank2>{rank})"
    whole = rf"(?<![^\W_])(?:{one}|{other})(?:\s+cards?)?(?![^\W_])"
    return re.compile(whole, re.IGNORECASE), rank_of, suit_of
