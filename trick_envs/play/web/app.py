"""The server as an ASGI application: games, replays, pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from trick_envs.agents.policy import made_for
from trick_envs.engine.registry import game_type
from trick_envs.errors import optional_path
from trick_envs.play.web.games import Games
from trick_envs.play.web.http import (
    LOOPBACK,
    KnownBrowsers,
    KnownHosts,
    KnownLanguages,
    SafeHeaders,
    answer,
    broken,
    failed,
    refused,
)
from trick_envs.play.web.pages import (
    STATIC,
    avatar_picture,
    card_picture,
    choices,
    icon_picture,
    page,
    rule_picture,
    show_guide,
)
from trick_envs.play.web.replays import Replays
from trick_envs.play.web.validation import ApiError
from trick_envs.view.messages import spoken

FIRST = "pepper"
THREADS = 40  # of games and replays; files have others, so that they never wait for a search
THINKING = 4  # of hints: searches for several games; those for one game wait for each other


def make_app(
    first: str = FIRST,
    hosts: Sequence[str] = LOOPBACK,
    any_address: bool = False,
    folder: Path | None = None,
    prepare: bool = False,
    policies: Sequence[Path] = (),
) -> Starlette:
    """The server as an ASGI application; its ``state`` has ``games`` and ``replays``.

    Args:
        first: the game that is dealt if the page names none.
        hosts: the names under which it may be asked.
        any_address: whether it may also be asked under any address in numbers, as on a server that listens on all.
        folder: where games are saved; ``None``: they last as long as the server runs.
        prepare: whether a game's advisor is made ready when it is dealt first.
        policies: files that may be chosen as opponents, each in the game that it was made for.

    Raises:
        ValueError: if there is no such game, or a file holds no policy.
    """
    folder = optional_path(folder, "folder")
    first, own = game_type(first).name, {str(path): made_for(path) for path in policies}
    offered = [{"spec": spec, "game": game, "players": players} for spec, (game, players) in own.items()]
    threads, thinking = CapacityLimiter(THREADS), CapacityLimiter(THINKING)
    replays = Replays(threads, thinking)
    games = Games(first, folder, replays, threads, thinking, prepare, own)
    api = [
        Route("/choices", answer(lambda request: {**choices(first, spoken()), "policies": offered}, threads)),
        Route("/guides/{game}", answer(show_guide, threads)),
        *games.routes(),
        *replays.routes(),
    ]
    play, look = page("play.html"), page("replay.html")
    routes = [
        *(Route(path, play) for path in ("/", "/game/{game}", "/same/{link}", "/watch/{watched}")),
        *(Route(path, look) for path in ("/replay", "/replay/{replay}")),
        Route("/cards/{game}/{players}/{card}.svg", card_picture),
        Route("/avatars/{seat}.svg", avatar_picture),
        Route("/icons/{game}/{icon}.svg", icon_picture),
        Route("/guides/{game}/{page}.svg", rule_picture),
        Mount("/static", StaticFiles(directory=STATIC)),
        Mount("/api", routes=api),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(SafeHeaders),
            Middleware(KnownHosts, hosts=hosts, any_address=any_address),
            Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5),
            Middleware(KnownBrowsers),
            Middleware(KnownLanguages),
        ],
        exception_handlers={ApiError: refused, HTTPException: failed, Exception: broken},
    )
    app.state.games, app.state.replays = games, replays
    return app
