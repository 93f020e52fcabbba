"""What every response has in common: JSON, headers, who may ask, which browser asks, and how a refusal looks."""

from __future__ import annotations

import html
import ipaddress
import json
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trick_envs.play.web.validation import MAX_BODY, ApiError, check_origin
from trick_envs.view.messages import ENGLISH, languages, messages, said, speaking, spoken

COOKIE = "trick_envs_browser"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]", re.ASCII)  # a name by which a server may be asked
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOG = logging.getLogger("trick_envs.serve")


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
                headers = MutableHeaders(scope=message)
                headers.setdefault("cache-control", "no-store" if scope["path"].startswith("/api/") else "no-cache")
                headers.update(HEADERS)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class KnownHosts:
    """Refuses requests whose ``Host`` is none of this server's names: another site's name may lead here.

    Args:
        app: what it protects.
        hosts: the names.
        any_address: whether every address written in numbers is one too. No other site has a name of that form.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], any_address: bool) -> None:
        self.app, self.names, self.any_address = app, {name.lower() for name in hosts}, any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")
        name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
        if name.lower() in self.names or (self.any_address and _is_address(host)):
            await self.app(scope, receive, send)
            return
        told = "This server does not answer to the name by which it was asked."
        if HOST.fullmatch(name):
            told += f" If that name is meant to lead here: trick serve --allowed-host {name}"
        await PlainTextResponse(told, 400)(scope, receive, send)


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
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self.app(scope, receive, send_with_cookie)


def browser_of(request: Request) -> str:
    """The secret of the browser that asks."""
    return str(request.scope[COOKIE])


def owners_of(request: Request) -> tuple[str, str]:
    """Who asks, for limits: the browser, and the address."""
    return f"browser {browser_of(request)}", f"address {request.client.host if request.client else ''}"


class KnownLanguages:
    """Answers in the language that a browser asks for first, of those that there are messages in; else in English."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Headers(scope=scope).get("accept-language", "") if scope["type"] == "http" else ""
        wanted = re.split(r"[,;-]", asked[:200].lower())[0].strip()
        with speaking(wanted if wanted in languages() else ENGLISH):
            await self.app(scope, receive, send)


# Sections of the messages that the scripts of the pages use.
SECTIONS = (
    "words", "page", "places", "guide", "start", "strengths", "new", "speeds", "play", "saved", "hint", "lesson",
    "result", "replay", "phases", "moves", "review", "marks", "retry",
)  # fmt: skip


def in_words(page: str) -> str:
    """A page with its messages, ``{section.key}``, in the language that is spoken; with those of its scripts."""
    found = messages(spoken())

    def message(name: re.Match[str]) -> str:
        text = html.escape(found[name[1]][name[2]])
        return re.sub("`(.*?)`", r"<code>\1</code>", text)

    data = json.dumps({section: found[section] for section in SECTIONS}, separators=(",", ":")).replace("<", "\\u003c")
    head = f'<script type="application/json" id="messages">{data}</script>\n</head>'
    page = re.sub(r"\{([a-z]+)\.(\w+)\}", message, page.replace("{language}", spoken()))
    return page.replace("</head>", head)


# --- requests -------------------------------------------------------------------------------------------------------

Endpoint = Callable[[Request], Awaitable[Response]]


def answer(make: Callable[[Request], Any], threads: CapacityLimiter) -> Endpoint:
    """An endpoint that answers a GET with JSON, computed in one of these threads."""

    async def endpoint(request: Request) -> Response:
        return SafeJSON(await run_sync(make, request, limiter=threads))

    return endpoint


def post(make: Callable[[Request, bytes], Any], threads: CapacityLimiter, kind: str = "application/json") -> Endpoint:
    """An endpoint that answers a POST of this server's own page with JSON, computed in one of these threads."""

    async def endpoint(request: Request) -> Response:
        return SafeJSON(await run_sync(make, request, await posted(request, kind), limiter=threads))

    return endpoint


async def posted(request: Request, kind: str = "application/json") -> bytes:
    """The body of a POST that comes from a page of this server."""
    check_origin(request, kind)
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise ApiError(413, f"expected at most {MAX_BODY} bytes: what was sent is larger")
    except ClientDisconnect:
        raise ApiError(400, "the request ended before its body did") from None
    return bytes(body)


async def refused(request: Request, error: Exception) -> Response:
    """What was wrong."""
    assert isinstance(error, ApiError)
    return SafeJSON({"error": error.message}, status_code=error.status)


NOT_FOUND = """<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{missing.title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/static/style.css">
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<body class="plain"><main><h1>{missing.head}</h1>
<p>{missing.told} <a class="button" href="/">{missing.games}</a></p></main></html>"""


async def failed(request: Request, error: Exception) -> Response:
    """No such page, wrong method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):  # a person follows a link
        return HTMLResponse(in_words(NOT_FOUND), 404, {"vary": "accept-language"})
    return SafeJSON({"error": error.detail}, status_code=error.status_code, headers=error.headers)


async def broken(request: Request, error: Exception) -> Response:
    """A bug, which the server's log tells."""
    LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    return SafeJSON({"error": said("refused.failed", error=type(error).__name__)}, status_code=500)
