"""The server: a page to play on, a page for replays, and what they ask for."""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import secrets
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trick_envs.agents.pretrained import PRETRAINED, pretrained_players
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import fields
from trick_envs.matches.match import Match
from trick_envs.play.advice import hint_data
from trick_envs.play.characters import PERSON, character
from trick_envs.play.guides import guide_data
from trick_envs.play.lessons import lesson_data
from trick_envs.play.saved import SavedGames
from trick_envs.play.session import Session, default_player, seated
from trick_envs.play.web.frames import Layout, Snapshot, frame_data, names
from trick_envs.play.web.replays import Replay, ReviewJob
from trick_envs.play.web.sessions import Load, Store, WebSession
from trick_envs.play.web.validation import (
    EFFORTS,
    MAX_BODY,
    MAX_DEALS,
    MAX_GAMES,
    MAX_REPLAYS,
    ApiError,
    check_origin,
    checked_player,
    read_json,
    read_object,
    whole,
)
from trick_envs.view import avatar_svg, card_svg, tips
from trick_envs.view.guide import guide_of, rule_svg
from trick_envs.view.words import card_words

STATIC = Path(__file__).parent / "static"
HOUR = 3600.0
COOKIE = "trick_envs_browser"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
FIRST = "pepper"
LINES = 200  # of the log that a reload gets back
MAX_WEB_SEED = 2**53 - 1  # the largest whole number that JavaScript can hold
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOG = logging.getLogger("trick_envs.serve")
THREADS = 40  # of games and replays; files have others, so that they never wait for a search
THINKING = 4  # of hints: searches for several games; those for one game wait for each other


class SafeJSON(Response):
    """JSON in ASCII: whatever a text holds, lone surrogates too, the answer can be sent."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class SafeHeaders:
    """Adds headers to every response; what is asked of the API is never cached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = dict(HEADERS)
                if not any(name == b"cache-control" for name, _ in message["headers"]):
                    headers["cache-control"] = "no-store" if scope["path"].startswith("/api/") else "no-cache"
                message["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class KnownHosts(TrustedHostMiddleware):
    """Refuses requests whose ``Host`` is none of this server's names: another site's name may lead here.

    Args:
        app: what it protects.
        hosts: the names.
        any_address: whether every address written in numbers is one too. No other site has a name of that form.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], any_address: bool) -> None:
        super().__init__(app, list(hosts), www_redirect=False)
        self.any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = self.any_address and scope["type"] == "http" and _is_address(Headers(scope=scope).get("host", ""))
        await (self.app if known else super().__call__)(scope, receive, send)


def _is_address(host: str) -> bool:
    """Whether a ``Host`` is an address in numbers, with or without a port."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?", host, re.ASCII)
    try:
        return found is not None and bool(ipaddress.ip_address(found[1] or found[2]))
    except ValueError:
        return False


class KnownBrowsers:
    """Gives every browser a secret of its own, in a cookie, by which it finds its games again: ``browser_of``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(("/static/", "/cards/", "/avatars/")):
            await self.app(scope, receive, send)
            return
        known = Request(scope).cookies.get(COOKIE, "")
        fresh = "" if re.fullmatch(r"[A-Za-z0-9_-]{22}", known, re.ASCII) else secrets.token_urlsafe(16)
        scope[COOKIE] = fresh or known

        async def send_with_cookie(message: Message) -> None:
            if fresh and message["type"] == "http.response.start":
                # Lax: a link that a friend has sent must not look like a new browser
                cookie = f"{COOKIE}={fresh}; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax"
                message["headers"] += [(b"set-cookie", cookie.encode())]
            await send(message)

        await self.app(scope, receive, send_with_cookie)


def browser_of(request: Request) -> str:
    """The secret of the browser that asks."""
    return str(request.scope[COOKIE])


def make_app(
    first: str = FIRST, hosts: Sequence[str] = LOOPBACK, any_address: bool = False, folder: Path | None = None
) -> Starlette:
    """The server as an ASGI application.

    Args:
        first: the game that is dealt if the page names none.
        hosts: the names under which it may be asked.
        any_address: whether it may also be asked under any address in numbers, as on a server that listens on all.
        folder: where games are saved; ``None``: they last as long as the server runs.

    Raises:
        ValueError: if there is no such game.
    """
    return Api(game_type(first).name, folder).application(hosts, any_address)


class Api:
    """What the server answers.

    Args:
        first: the game that is dealt if the page names none.
        folder: where games are saved; ``None``: they last as long as the server runs.

    Attributes:
        games: the games that are played now.
        saved: the games on disk; ``None`` without a folder.
        replays: the records that are looked at.
    """

    def __init__(self, first: str, folder: Path | None = None) -> None:
        self.first = first
        self.saved = None if folder is None else SavedGames(folder)
        self._opening = threading.Lock()
        self.games: Store[WebSession] = Store("games", MAX_GAMES, max_age=24 * HOUR, min_age=HOUR / 4)
        self.replays: Store[Replay] = Store("replays", MAX_REPLAYS, max_age=24 * HOUR, min_age=HOUR / 60)
        self.load = Load()
        self._reviewing = threading.Lock()  # one review after the other: people are playing meanwhile
        self.threads, self.thinking = CapacityLimiter(THREADS), CapacityLimiter(THINKING)

    def application(self, hosts: Sequence[str], any_address: bool = False) -> Starlette:
        """The ASGI application."""
        threads, thinking = self.threads, self.thinking
        api = [
            Route("/choices", answer(lambda request: choices(self.first), threads)),
            Route("/guides/{game}", answer(show_guide, threads)),
            Route("/games", answer(self.list_games, threads)),
            Route("/games", post(self.new_game, threads), methods=["POST"]),
            Route("/games/{game}", self._in_turn(self.show_game)),
            Route("/games/{game}/plays", self._in_turn(self.play), methods=["POST"]),
            Route("/games/{game}/hint", self.hint),
            Route("/games/{game}/stamp", self.stamp),
            Route("/games/{game}/share", self._in_turn(self.share), methods=["POST"]),
            Route("/games/{game}/back", self._in_turn(self.take_back), methods=["POST"]),
            Route("/games/{game}/delete", post(self.delete_game, threads), methods=["POST"]),
            Route("/games/{game}/lesson", self._in_turn(self.lesson)),
            Route("/games/{game}/end", self._in_turn(self.end), methods=["POST"]),
            Route("/games/{game}/record", self._in_turn(self.record)),
            Route("/replays", post(self.new_replay, threads), methods=["POST"]),
            Route("/replays/{replay}", answer(self.show_replay, threads)),
            Route("/replays/{replay}/steps/{step}", answer(self.show_step, threads)),
            Route("/replays/{replay}/hints/{step}", answer(self.replay_hint, thinking)),
            Route("/replays/{replay}/beliefs/{step}", answer(self.replay_belief, thinking)),
            Route("/replays/{replay}/review", answer(self.show_review, threads)),
            Route("/replays/{replay}/review", post(self.start_review, threads), methods=["POST"]),
        ]
        routes = [
            Route("/", page("play.html")),
            Route("/game/{game}", page("play.html")),
            Route("/same/{link}", page("play.html")),
            Route("/replay", page("replay.html")),
            Route("/replay/{replay}", page("replay.html")),
            Route("/cards/{game}/{players}/{card}.svg", card_picture),
            Route("/avatars/{seat}.svg", avatar_picture),
            Route("/guides/{game}/{page}.svg", rule_picture),
            Mount("/static", StaticFiles(directory=STATIC)),
            Mount("/api", routes=api),
        ]
        return Starlette(
            routes=routes,
            middleware=[
                Middleware(SafeHeaders),
                Middleware(KnownHosts, hosts=hosts, any_address=any_address),
                Middleware(KnownBrowsers),
            ],
            exception_handlers={ApiError: refused, HTTPException: failed, Exception: broken},
            max_body_size=MAX_BODY,
        )

    def _in_turn(self, make: Callable[[WebSession, Request, bytes], Any]) -> Endpoint:
        """An endpoint of a game: one request at a time, and those that wait take no thread from other games."""

        async def endpoint(request: Request) -> Response:
            body = await posted(request) if request.method == "POST" else b""
            played = await self._open(request.path_params["game"])
            async with played.lock:
                return SafeJSON(await run_sync(make, played, request, body, limiter=self.threads))

        return endpoint

    async def _open(self, name: str) -> WebSession:
        """A game that is played now, or was saved."""
        try:
            return self.games.get(name)
        except ApiError:
            return await run_sync(self._load, name, limiter=self.threads)

    def _load(self, name: str) -> WebSession:
        with self._opening:  # two tabs must not get two sessions
            try:
                return self.games.get(name)
            except ApiError:
                try:
                    session = self.saved.load(name) if self.saved else None
                except ValueError as error:
                    raise ApiError(409, f"this game was saved, but cannot go on: {error}") from None
                if session is None:
                    raise
                played = WebSession(session, name)
                self.games.put(played)
                return played

    # --- games ----------------------------------------------------------------------------------------------------

    def new_game(self, request: Request, body: bytes) -> Any:
        """Deals: a new match, or one that goes on from a step of a replay."""
        asked = read_object(body, {
            "game": str, "num_players": int, "num_deals": int, "options": dict, "opponents": object, "seat": int,
            "seed": int, "replay": str, "step": int, "same": str, "size": str,
        })  # fmt: skip
        layout = chosen_size(asked.get("size"))
        if asked.get("same") is not None:
            return self._opened(request, self._same_cards(asked["same"]), layout)
        match = self._match(asked)
        n, seat = match.game.num_players, asked.get("seat") or 0
        if not 0 <= seat < n:
            raise ApiError(400, f"seat: expected a seat of 0 to {n - 1}")
        opponents = asked.get("opponents")
        if opponents is None and asked.get("replay") is not None:
            opponents = self.replays.get(asked["replay"]).opponents(seat)
        players = seated(seat, chosen_opponents(match.game, opponents))
        return self._opened(request, Session(match, players, named=True), layout)

    def _opened(self, request: Request, session: Session, layout: Layout) -> Any:
        """A new game at the person's first decision."""
        played = WebSession(session)
        if self.saved and session.same_cards:
            self.saved.join(session.same_cards, played.id)
        if self.saved:
            played.session.file = self.saved.file_for(browser_of(request), played.id)
        with self.load:
            shots = list(played.play_on(self.load))
        self.games.put(played)
        return {"game": self._about(played), "frames": self._frames(played, shots, layout)}

    def _same_cards(self, name: str) -> Session:
        """The cards of a game that somebody has sent a link to."""
        shared = self.saved.shared(name) if self.saved else None
        first = None if shared is None or self.saved is None else self.saved.load(shared.first)
        if first is None:
            raise ApiError(404, "this link leads to no cards: the game that they are from was deleted")
        session = Session(first.from_the_start(), first.players, named=True)
        session.same_cards = name
        return session

    def share(self, played: WebSession, request: Request, body: bytes) -> Any:
        """A link by which others play the same cards, from the same seat; only when the match is over."""
        read_object(body, {})
        session = played.session
        if self.saved is None or session.file is None:
            raise ApiError(409, "this game is not saved, so its cards cannot be sent")
        if not session.match.over:
            raise ApiError(409, "the cards can be sent when the match is over")
        if not session.same_cards or self.saved.shared(session.same_cards) is None:
            session.same_cards = self.saved.share(played.id).name
            session.save()
        return {"path": f"/same/{session.same_cards}"}

    def list_games(self, request: Request) -> Any:
        """The saved games that were begun in this browser, the latest first."""
        return {"games": [one.as_dict() for one in self.saved.games_of(browser_of(request))] if self.saved else []}

    def delete_game(self, request: Request, body: bytes) -> Any:
        """Deletes a game that was begun in this browser."""
        read_object(body, {})
        name = request.path_params["game"]
        if self.saved is None or not self.saved.delete(browser_of(request), name):
            raise ApiError(404, "this is none of your saved games")
        with suppress(ApiError):
            self.games.get(name).session.file = None  # a tab may still show it
        self.games.drop(name)
        return {"deleted": name}

    async def stamp(self, request: Request) -> Response:
        """Whether a game has changed: other tabs ask for it. Waits for nothing."""
        return SafeJSON({"stamp": (await self._open(request.path_params["game"])).stamp})

    def take_back(self, played: WebSession, request: Request, body: bytes) -> Any:
        """Back to the person's last decision; the record counts how often."""
        asked = read_object(body, {"number": int, "size": str})
        played.check(-1 if asked.get("number") is None else asked["number"])
        layout = chosen_size(asked.get("size"))
        if not played.session.take_back():
            raise ApiError(409, "you have played no card yet")
        played.notice = ""
        return {"game": self._about(played), "frames": [self._frame(played, played.look(), layout)]}

    def _match(self, asked: dict[str, Any]) -> Match:
        if asked.get("replay") is not None:
            source = self.replays.get(asked["replay"])
            step = asked.get("step") or 0
            if not 0 <= step < len(source.steps):
                raise ApiError(400, f"step: expected 0 to {len(source.steps) - 1}")
            return source.rest(step)
        length, seed = asked.get("num_deals"), asked.get("seed")
        if length is not None and not 1 <= length <= MAX_DEALS:
            raise ApiError(400, f"num_deals: expected 1 to {MAX_DEALS}")
        if seed is not None and not 0 <= seed <= MAX_WEB_SEED:
            raise ApiError(400, f"seed: expected 0 to {MAX_WEB_SEED}")
        try:
            game = load_game(
                asked.get("game") or self.first, asked.get("num_players"), length, **asked.get("options") or {}
            )
        except (ValueError, TypeError) as error:
            raise ApiError(400, str(error)) from None
        return Match(game, secrets.randbelow(MAX_WEB_SEED + 1) if seed is None else seed)

    def show_game(self, played: WebSession, request: Request, body: bytes) -> Any:
        """A game as it stands, for a reload; if it was left while others were to play, they play now."""
        layout = chosen_size(request.query_params.get("size"))
        with self.load:
            shots = list(played.play_on(self.load))
        return {"game": self._about(played), "frames": self._frames(played, shots, layout)}

    def play(self, played: WebSession, request: Request, body: bytes) -> Any:
        """The person's card, and all plays up to the person's next decision."""
        asked = read_object(body, {"number": int, "card": str, "size": str})
        number, card = asked.get("number"), asked.get("card")
        if number is None or card is None:
            raise ApiError(400, "expected number, of plays so far, and card, such as '4Y'")
        layout = chosen_size(asked.get("size"))
        with self.load:
            shots = list(played.play(number, card, self.load))
        return {"game": self._changed(played), "frames": self._frames(played, shots, layout)}

    async def hint(self, request: Request) -> Response:
        """What policy and search think, from what the person's seat knows; meanwhile the game can be played on."""
        played = await self._open(request.path_params["game"])
        number = whole(request.query_params.get("number"), "number", 0, 999_999)
        async with played.lock:
            played.check(number)
            question = played.session.question()
        advice = await run_sync(played.session.advise, question, limiter=self.thinking)
        return SafeJSON(hint_data(advice.hint, played.session.game))

    def lesson(self, played: WebSession, request: Request, body: bytes) -> Any:
        """What is possible in the person's decision, why, and what each card would do."""
        played.check(whole(request.query_params.get("number"), "number", 0, 999_999))
        if not played.session.asks:
            raise ApiError(409, "it is not your turn")
        return lesson_data(played.session.match)

    def end(self, played: WebSession, request: Request, body: bytes) -> Any:
        """Ends a match before its end: nobody plays any more, and everything is open."""
        layout = chosen_size(read_object(body, {"size": str}).get("size"))
        played.session.end()
        return {"game": self._about(played), "frames": [self._frame(played, played.look(), layout)]}

    def record(self, played: WebSession, request: Request, body: bytes) -> Any:
        """The record, once the match is over: it holds all hands."""
        if not played.session.over:
            raise ApiError(409, "the record shows all hands: it is there when the match is over, or ended")
        return played.session.record()

    def _about(self, played: WebSession) -> Any:
        """What stays the same throughout a match, and what changes."""
        session = played.session
        return {
            **about_game(session.game),
            "id": played.id,
            "seat": session.seat,
            "players": ["you" if spec == PERSON else spec for spec in session.players],
            "log": session.log[-LINES:],
            "last_deal": played.last_deal(),
            **self._changed(played),
        }

    def _changed(self, played: WebSession) -> Any:
        match, over = played.session.match, played.session.over
        return {
            "deals": [deal.score for deal in match.deals if deal.score is not None],
            "over": over,
            "winners": match.winners(),
            "stamp": played.stamp,
            "begun": played.session.begun,
            "taken_back": played.session.taken_back,
            "notice": played.notice,
            **({"seed": match.seed, "others": self._others(played)} if over else {}),  # they tell how the cards lie
        }

    def _others(self, played: WebSession) -> Any:
        """What others have scored with the same cards."""
        name = played.session.same_cards
        return self.saved.results(name, played.id) if self.saved and name and played.session.match.over else []

    def _frames(self, played: WebSession, shots: list[Snapshot], layout: Layout) -> Any:
        if not shots or shots[-1].pause:
            shots = [*shots, played.look()]
        return [self._frame(played, shot, layout) for shot in shots]

    def _frame(self, played: WebSession, shot: Snapshot, layout: Layout) -> Any:
        session = played.session
        view, own = shot.view, shot.view.seats[session.seat]
        yours = view.acting == session.seat and not session.over
        held = {"hand": own.hand, **{name: own.places.get(name, ()) for name in session.game.type.hand_places[1:]}}
        shown = {kind for kinds in held.values() for kind in kinds}
        beside = [kind for kind in view.legal if kind not in shown] if yours else []
        return {
            **frame_data(shot, layout),
            "tips": tips(view, layout.width, layout.height, layout.hand),
            "hand": [kind for kind in held.pop("hand") if kind is not None],
            "places": {
                **{name: list(kinds) for name, kinds in held.items() if kinds and name != "hand"},
                **({view.phase: beside} if beside else {}),
            },
            "yours": yours,
            "legal": list(view.legal) if yours else [],
            "names": ["you" if seat == session.seat else name for seat, name in enumerate(names(view))],
        }

    # --- replays --------------------------------------------------------------------------------------------------

    def new_replay(self, request: Request, body: bytes) -> Any:
        """A record to look at: the body is the record itself."""
        record = read_json(body)
        try:
            found = Replay(record)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ApiError(422, f"this record cannot be replayed: {error}") from None
        self.replays.put(found)
        return {"id": found.id}

    def show_replay(self, request: Request) -> Any:
        """What a record holds, at a glance."""
        found = self.replays.get(request.path_params["replay"])
        return {"id": found.id, **about_game(found.game), **found.timeline(), "record": found.match.record()}

    def show_step(self, request: Request) -> Any:
        """A step as a seat saw it, or with everything open."""
        found, query = self.replays.get(request.path_params["replay"]), request.query_params
        step = whole(request.path_params["step"], "step", 0, len(found.steps) - 1)
        seat = query.get("seat", "all")
        observer = None if seat == "all" else whole(seat, "seat", 0, found.game.num_players - 1)
        return frame_data(found.shot(step, observer), chosen_size(query.get("size"), hand=True))

    def replay_hint(self, request: Request) -> Any:
        """What policy and search think of the decision at a step, from what its seat knew."""
        found = self.replays.get(request.path_params["replay"])
        hint = found.hint(whole(request.path_params["step"], "step", 0, len(found.steps) - 1))
        return None if hint is None else hint_data(hint, found.game)

    def replay_belief(self, request: Request) -> Any:
        """Where a seat could think the unseen cards to be at a step, and where they are."""
        found = self.replays.get(request.path_params["replay"])
        step = whole(request.path_params["step"], "step", 0, len(found.steps) - 1)
        return found.belief(
            step, whole(request.query_params.get("seat"), "seat", 0, found.game.num_players - 1)
        ).as_dict()

    def start_review(self, request: Request, body: bytes) -> Any:
        """Begins to judge every play of a record, in the background."""
        seat = read_object(body, {"seat": int}).get("seat") or 0
        found = self.replays.get(request.path_params["replay"])
        if not 0 <= seat < found.game.num_players:
            raise ApiError(400, f"seat: expected a seat of 0 to {found.game.num_players - 1}")
        with found.lock:
            if found.job is None or found.job.state == "failed":
                found.job = ReviewJob(found.match, seat)
                threading.Thread(target=self._review, args=(found.job,), daemon=True).start()
        return found.job.as_dict()

    def _review(self, job: ReviewJob) -> None:
        with self._reviewing:
            job.run()

    def show_review(self, request: Request) -> Any:
        """How far the review of a record is, and the review once it is done."""
        job = self.replays.get(request.path_params["replay"]).job
        return {"state": "none", "done": 0, "total": 0, "review": None} if job is None else job.as_dict()


# --- what is chosen, and told of games ------------------------------------------------------------------------------


def chosen_size(text: Any, hand: bool = False) -> Layout:
    """The size of a picture, ``800x500``.

    Args:
        text: as the page sends it; ``None``: the default.
        hand: whether the picture shows the observer's own hand.
    """
    if text is None:
        return Layout(800, 600 if hand else 500, hand)
    found = re.fullmatch(r"([0-9]{3,4})x([0-9]{3,4})", text, re.ASCII) if isinstance(text, str) else None
    if found is None or not (300 <= int(found[1]) <= 2000 and 300 <= int(found[2]) <= 2000):
        raise ApiError(400, "size: expected WIDTHxHEIGHT in pixels, each 300 to 2000")
    return Layout(int(found[1]), int(found[2]), hand)


def chosen_opponents(game: Game, asked: Any) -> list[str]:
    """The players of the other seats, clockwise from the person's left."""
    others = game.num_players - 1
    listed = asked if isinstance(asked, list) else [default_player(game) if asked is None else asked] * others
    if len(listed) != others:
        raise ApiError(400, f"opponents: expected one player, or a list of {others}, clockwise from your left")
    specs = [checked_player(spec) for spec in listed]
    if any(spec.startswith(PRETRAINED) for spec in specs) and game.num_players not in pretrained_players(game.type):
        raise ApiError(400, f"opponents: no trained policy comes with {game.name} for {game.num_players} players")
    return specs


@cache
def choices(first: str) -> Any:
    """The games, and what may be chosen for each."""
    return {
        "first": first,
        "efforts": EFFORTS,
        "names": [character(seat) for seat in range(max(max(game_type(name).players) for name in game_names()))],
        "games": [about_type(name) for name in game_names()],
    }


def about_type(name: str) -> Any:
    """A game: players, options, and its rules in short."""
    kind = game_type(name)
    declared = fields(kind.state)
    return {
        "name": name,
        "title": kind.title,
        "players": list(kind.players),
        "default_players": kind.default_players,
        "pretrained": pretrained_players(kind),
        "deals": {players: kind.deals(players) for players in kind.players},
        "options": {
            option: {"default": default, "meaning": declared[option].meaning}
            for option, default in kind.options.items()
        },
    }


@lru_cache(maxsize=64)
def about_game(game: Game) -> Any:
    """What a page needs to know of a game at a table."""
    deck = game.deck
    return {
        "name": game.name,
        "title": game.title,
        "num_players": game.num_players,
        "num_deals": int(game.template["num_deals"][0]),
        "teams": game.type.teams,
        "cards": [
            {"name": name, "words": card_words(deck.suits, deck.ranks, kind)} for kind, name in enumerate(deck.names)
        ],
    }


# --- requests -------------------------------------------------------------------------------------------------------

Endpoint = Callable[[Request], Awaitable[Response]]


def answer(make: Callable[[Request], Any], threads: CapacityLimiter) -> Endpoint:
    """An endpoint that answers a GET with JSON, computed in one of these threads."""

    async def endpoint(request: Request) -> Response:
        return SafeJSON(await run_sync(make, request, limiter=threads))

    return endpoint


def post(make: Callable[[Request, bytes], Any], threads: CapacityLimiter) -> Endpoint:
    """An endpoint that answers a POST of this server's own page with JSON, computed in one of these threads."""

    async def endpoint(request: Request) -> Response:
        return SafeJSON(await run_sync(make, request, await posted(request), limiter=threads))

    return endpoint


async def posted(request: Request) -> bytes:
    """The body of a POST that comes from a page of this server."""
    check_origin(request)
    try:
        return await request.body()
    except ClientDisconnect:
        raise ApiError(400, "the request ended before its body did") from None


def page(name: str) -> Endpoint:
    """An endpoint that sends a page."""

    async def endpoint(request: Request) -> Response:
        return FileResponse(STATIC / name)

    return endpoint


async def card_picture(request: Request) -> Response:
    """The picture of a card, by its kind, or of its back."""
    asked = request.path_params
    try:
        deck = load_game(asked["game"], whole(asked["players"], "players", 1, 99)).deck
    except ValueError as error:
        raise ApiError(404, str(error)) from None
    kind = None if asked["card"] == "back" else whole(asked["card"], "card", 0, deck.kinds - 1)
    kept = {"cache-control": "max-age=86400"}
    return Response(card_svg(deck, kind, game=asked["game"]), media_type="image/svg+xml", headers=kept)


async def avatar_picture(request: Request) -> Response:
    """The mark of a seat, or of a person, ``you``."""
    asked = request.path_params["seat"]
    picture = avatar_svg(0, you=True) if asked == "you" else avatar_svg(whole(asked, "seat", 0, 99))
    return Response(picture, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})


def show_guide(request: Request) -> Any:
    """The rules of a game for people."""
    try:
        return guide_data(request.path_params["game"])
    except ValueError as error:
        raise ApiError(404, str(error)) from None


async def rule_picture(request: Request) -> Response:
    """The picture of a page of a guide, by its number."""
    try:
        guide = guide_of(request.path_params["game"])
    except ValueError as error:
        raise ApiError(404, str(error)) from None
    if guide is None:
        raise ApiError(404, "this game has no pictures of its rules")
    page = guide.pages[whole(request.path_params["page"], "page", 0, len(guide.pages) - 1)]
    return Response(rule_svg(guide, page), media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})


async def refused(request: Request, error: Exception) -> Response:
    """What was wrong."""
    assert isinstance(error, ApiError)
    return SafeJSON({"error": error.message}, status_code=error.status)


async def failed(request: Request, error: Exception) -> Response:
    """No such page, wrong method, too long a body."""
    assert isinstance(error, HTTPException)
    return SafeJSON({"error": error.detail}, status_code=error.status_code, headers=error.headers)


async def broken(request: Request, error: Exception) -> Response:
    """A bug, which the server's log tells."""
    LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    told = f"the server failed ({type(error).__name__}): its log says more. Load this page again to go on"
    return SafeJSON({"error": told}, status_code=500)
