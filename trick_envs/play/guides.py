"""The rules of a game for a page: what its guide says, or the paragraphs of its rules' docstring."""

from __future__ import annotations

import inspect
import re
from typing import Any

from trick_envs.engine.registry import game_type
from trick_envs.view.guide import guide_of, rule_words
from trick_envs.view.messages import ENGLISH


def guide_data(name: str, language: str = ENGLISH) -> dict[str, Any]:
    """The rules of a game for people. JSON-serialisable.

    ``language`` of the texts; ``goal``, a sentence; ``pages``: ``title``, ``text``, ``words``
    (what the picture shows; empty if there is none) and ``when`` (the moments of a guided deal at which it matters);
    ``learn``: what to ask for to be dealt a guided deal; ``None`` if there is none.

    Raises:
        ValueError: if there is no such game.
    """
    guide = guide_of(name, language)
    if guide is None:
        told = paragraphs(inspect.getdoc(game_type(name).modules[0]) or "")
        return {
            "language": ENGLISH,
            "game": name,
            "goal": "",
            "pages": [_page("", text) for text in told],
            "learn": None,
        }
    pages = [_page(rule.title, rule.text, rule_words(guide, rule), list(rule.when)) for rule in guide.pages]
    seat, players, seed = (guide.learn[key] for key in ("seat", "players", "seed"))
    learn = {"game": name, "num_players": players, "seat": seat, "seed": seed, "num_deals": 1, "opponents": "greedy"}
    return {"language": guide.language, "game": name, "goal": guide.goal, "pages": pages, "learn": learn}


def _page(title: str, text: str, words: str = "", when: list[str] | None = None) -> dict[str, Any]:
    return {"title": title, "text": text, "words": words, "when": when or []}


def paragraphs(docstring: str) -> list[str]:
    """The paragraphs of a docstring, each on one line, without the marks of code."""
    found = re.split(r"\n\s*\n", docstring)
    return [" ".join(paragraph.split()).replace("``", "").replace("*", "") for paragraph in found]
