"""What a browser may ask: JSON bodies and queries, read and checked; whatever is wrong is a ``ApiError``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from trick_envs.errors import InputError
from trick_envs.play.players import EFFORTS, PLAIN_PLAYERS, is_allowed
from trick_envs.view.messages import said

MAX_BODY = 1_000_000  # bytes
MAX_MESSAGE = 400  # characters of an error
MAX_DEALS = 50  # of a match
MAX_PLAYS = 2000  # of a record
MAX_GAMES, MAX_GAMES_OF_A_BROWSER, MAX_GAMES_OF_AN_ADDRESS = 200, 20, 60  # in memory
MAX_POLICIES, MAX_POLICIES_OF_A_BROWSER, MAX_POLICIES_OF_AN_ADDRESS = 100, 5, 20  # files that people have brought
MAX_REPLAYS = 24


class ApiError(Exception):
    """A request that is refused.

    Args:
        status: the HTTP status, 400 to 499.
        message: what was wrong, what was expected, what to do.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]} …"


def check_origin(request: Request, kind: str = "application/json") -> None:
    """Refuses a POST that another site's page sends, or a form, or one of another kind."""
    origin, host = request.headers.get("origin"), request.headers.get("host")
    if origin not in (f"http://{host}", f"https://{host}"):  # a proxy in front may speak the other one
        raise ApiError(403, said("refused.origin"))
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise ApiError(415, f"expected Content-Type: {kind}")


def read_json(body: bytes) -> Any:
    """The value that a body holds.

    Raises:
        ApiError: if it is not JSON; names the line.
    """
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = said("refused.line", line=error.lineno, error=error.msg)
    except UnicodeDecodeError as error:
        where = said("refused.line", line=body[: error.start].count(b"\n") + 1, error="UTF-8")
    except (RecursionError, ValueError) as error:  # brackets inside each other, NaN, a number with thousands of digits
        where = str(error)
    raise ApiError(400, said("refused.no_json", where=where))


def _no_constant(name: str) -> Any:
    raise InputError(f"{name} is no JSON")


def read_object(body: bytes, allowed: Mapping[str, type]) -> dict[str, Any]:
    """The object that a body holds: some of the allowed keys, each ``None`` or of its type.

    Raises:
        ApiError: for anything else; says what is allowed.
    """
    found = read_json(body)
    if not isinstance(found, dict):
        raise ApiError(400, f"expected a JSON object with {', '.join(allowed)}")
    for key, value in found.items():
        if key not in allowed:
            raise ApiError(400, f"unknown key {key[:40]!r}; known here: {', '.join(allowed)}")
        if value is not None and (not isinstance(value, allowed[key]) or isinstance(value, bool)):
            raise ApiError(400, f"{key}: expected {_KINDS[allowed[key]]}")
    return found


_KINDS = {int: "a whole number", str: "a text", dict: "an object", list: "a list", object: "a value"}


def whole(text: str | None, name: str, least: int, most: int) -> int:
    """A whole number of a query.

    Raises:
        ApiError: if it is none, or not from ``least`` to ``most``.
    """
    if text is None or not re.fullmatch(r"[0-9]{1,6}", text, re.ASCII) or not least <= int(text) <= most:
        raise ApiError(400, f"{name}: expected a whole number of {least} to {most}")
    return int(text)


def checked_player(spec: Any) -> str:
    """A player that a browser may ask for: never a path, nor anything that is imported.

    Raises:
        ApiError: for any other.
    """
    if is_allowed(spec):
        return str(spec)
    most = ", ".join(f"{method}:N with N up to {effort}" for method, effort in EFFORTS.items())
    raise ApiError(400, f"opponents: expected {', '.join(PLAIN_PLAYERS)}, {most}, or a list of these")
