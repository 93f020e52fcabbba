"""Pages, pictures, and what is told of the games: what does not depend on who asks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from trick_envs.agents.pretrained import pretrained_players
from trick_envs.engine.game import Game
from trick_envs.engine.registry import all_games, game_type, load_game
from trick_envs.engine.state import fields
from trick_envs.play.characters import character
from trick_envs.play.web.http import Endpoint, in_words
from trick_envs.play.web.validation import ApiError, whole
from trick_envs.view import avatar_svg, card_svg, icon_svg
from trick_envs.view.guide import guide_of, rule_svg, rule_words, title_of
from trick_envs.view.look import match_length
from trick_envs.view.messages import ENGLISH, declared, spoken
from trick_envs.view.style import suit_style
from trick_envs.view.words import card_words

STATIC = Path(__file__).parent / "static"
T = TypeVar("T")


def page(name: str) -> Endpoint:
    """An endpoint that sends a page."""
    text = (STATIC / name).read_text(encoding="utf-8")

    async def endpoint(request: Request) -> Response:
        return HTMLResponse(in_words(text), headers={"vary": "accept-language"})

    return endpoint


def picture(svg: str, kept: str = "max-age=86400", **headers: str) -> Response:
    """A picture, which browsers keep for a while."""
    return Response(svg, media_type="image/svg+xml", headers={"cache-control": kept, **headers})


def known(find: Callable[..., T], *asked: Any) -> T:
    """What ``find`` finds of what is asked for.

    Raises:
        ApiError: if there is no such thing, such as a game of this name.
    """
    try:
        return find(*asked)
    except ValueError as error:
        raise ApiError(404, str(error)) from None


async def card_picture(request: Request) -> Response:
    """The picture of a card, by its kind."""
    asked = request.path_params
    deck = known(load_game, asked["game"], whole(asked["players"], "players", 1, 99)).deck
    return picture(card_svg(deck, whole(asked["card"], "card", 0, deck.kinds - 1), game=asked["game"]))


async def icon_picture(request: Request) -> Response:
    """A mark of a game's rows."""
    asked = request.path_params
    return picture(icon_svg(known(game_type, asked["game"]).name, asked["icon"][:20]))


async def avatar_picture(request: Request) -> Response:
    """The mark of a seat, or of a person, ``you``."""
    asked = request.path_params["seat"]
    return picture(avatar_svg(0, you=True) if asked == "you" else avatar_svg(whole(asked, "seat", 0, 99)))


def show_guide(request: Request) -> Any:
    """The rules of a game for people."""
    return known(guide_data, request.path_params["game"], spoken())


async def rule_picture(request: Request) -> Response:
    """The picture of a page of a guide, by its number."""
    guide = known(guide_of, request.path_params["game"], spoken())
    if guide is None:
        raise ApiError(404, "this game has no pictures of its rules")
    page = guide.pages[whole(request.path_params["page"], "page", 0, len(guide.pages) - 1)]
    return picture(rule_svg(guide, page), "max-age=3600", vary="accept-language")


def guide_data(name: str, language: str = ENGLISH) -> dict[str, Any]:
    """The rules of a game for people: what its guide says, or else its rules' docstring. JSON-serialisable.

    ``language`` of the texts; ``goal``, a sentence; ``pages``: ``title``, ``text``, ``words``
    (what the picture shows; empty if there is none) and ``when`` (the moments of a guided deal at which it matters);
    ``learn``: what to ask for to be dealt a guided deal; ``None`` if there is none.

    Raises:
        ValueError: if there is no such game.
    """
    guide = guide_of(name, language)
    if guide is None:
        told = re.split(r"\n\s*\n", inspect.getdoc(game_type(name).modules[0]) or "")
        texts = [" ".join(paragraph.split()).replace("``", "").replace("*", "") for paragraph in told]
        pages = [{"title": "", "text": text, "words": "", "when": []} for text in texts]
        return {"language": ENGLISH, "game": name, "goal": "", "pages": pages, "learn": None}
    pages = [
        {"title": rule.title, "text": rule.text, "words": rule_words(guide, rule), "when": list(rule.when)}
        for rule in guide.pages
    ]
    seat, players, seed = (guide.learn[key] for key in ("seat", "players", "seed"))
    learn = {"game": name, "num_players": players, "seat": seat, "seed": seed, "num_deals": 1, "opponents": "greedy"}
    return {"language": guide.language, "game": name, "goal": guide.goal, "pages": pages, "learn": learn}


@cache
def choices(first: str, language: str) -> Any:
    """The games, and what may be chosen for each."""
    return {
        "first": first,
        "names": [character(seat) for seat in range(max(max(kind.players) for kind in all_games()))],
        "games": [about_type(kind.name, language) for kind in all_games()],
    }


def about_type(name: str, language: str) -> Any:
    """A game: players, options, and its rules in short.

    ``title``, and ``original`` as its author writes it, if in another way; ``goal``, a sentence in ``language``;
    ``guided``: whether a first deal can be guided.
    """
    kind, title, guide = game_type(name), title_of(name), guide_of(name, language)
    found, english = fields(kind.state), guide_of(name)
    return {
        "name": name,
        "title": title,
        "original": english.original if english and english.original != title else "",
        "goal": guide.goal if guide else "",
        "language": guide.language if guide else ENGLISH,
        "guided": guide is not None,
        "cover": cover(name),
        "players": list(kind.players),
        "default_players": kind.default_players,
        "pretrained": pretrained_players(kind),
        "deals": {players: kind.deals(players) for players in kind.players},
        "until": declared(name, "until", kind.until),
        "options": {
            option: {"default": default, "meaning": declared(name, option, found[option].meaning)}
            for option, default in kind.options.items()
        },
    }


def cover(name: str) -> list[int]:
    """Three cards that stand for a game: of three suits, a low one, a middle one, the highest."""
    deck = game_type(name).deck(game_type(name).default_players)
    last = len(deck.ranks) - 1
    return [suit * len(deck.ranks) + rank for suit, rank in enumerate((0, last // 2, last))]


def about_game(game: Game) -> Any:
    """What a page needs to know of a game at a table."""
    return _about_game(game, spoken())


@lru_cache(maxsize=64)
def _about_game(game: Game, language: str) -> Any:
    deck = game.deck
    return {
        "name": game.name,
        "title": title_of(game.name),
        "num_players": game.num_players,
        "num_deals": int(game.template["num_deals"][0]),
        "length": match_length(game),
        "teams": game.type.teams,
        "suits": {letter: suit_style(letter, deck.suits).symbol for letter in deck.suits},
        "cards": [
            {"name": name, "words": card_words(deck.suits, deck.ranks, kind)} for kind, name in enumerate(deck.names)
        ],
    }
