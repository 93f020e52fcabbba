"""A replay as one page that needs nothing else: to send to somebody, to open from a file."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.play.web.frames import frame_data
from trick_envs.play.web.http import in_words
from trick_envs.play.web.pages import STATIC, about_game
from trick_envs.play.web.replays import Replay, review_data
from trick_envs.view import avatar_svg, card_svg, icon_svg

SCRIPTS = ("lib.js", "logic.js", "cards.js", "table.js", "tables.js", "replay.js")  # each after those that it imports
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

_SERVED = re.compile(r"<!-- served -->.*?<!-- end -->\n?", re.DOTALL)


def replay_page(
    record: Mapping[str, Any], on_step: Callable[[int, int], None] | None = None, judge: bool = True
) -> str:
    """A record as an HTML page: every step as every seat saw it, and the review of every decision.

    Args:
        record: as ``record()`` returns it.
        on_step: is called with the number of steps done, and of all.
        judge: whether decisions are judged; else it is the table alone, in seconds.

    Raises:
        ValueError: if it is no record, or its match breaks a rule; says where.
    """
    replay = Replay(record)
    observers = {"all": None, **{str(seat): seat for seat in range(replay.game.num_players)}}
    frames: dict[str, list[Any]] = {seat: [] for seat in observers}
    for step in range(len(replay.steps)):
        for seat, observer in observers.items():
            frames[seat].append(frame_data(replay.shot(step, observer)))
        if on_step is not None:
            on_step(step + 1, 2 * len(replay.steps))

    def judged(done: int, total: int) -> None:
        if on_step is not None:
            on_step(len(replay.steps) + len(replay.steps) * done // max(total, 1), 2 * len(replay.steps))

    review = review_data(replay.match, 0, None, judged) if judge else None
    about = {**about_game(replay.game), **replay.timeline(), "record": replay.match.record()}
    return _page({"about": about, "frames": frames, "pictures": _pictures(replay.game, frames), "review": review})


def _pictures(game: Game, frames: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The pictures that the frames show, by the addresses at which a server has them."""
    tables = [frame["table"] for seen in frames.values() for frame in seen]
    icons = {
        row["icon"] for table in tables for rows in (table["rows"], *(seat["facts"] for seat in table["seats"]))
        for row in rows if "icon" in row
    }  # fmt: skip
    drawn = {"/avatars/you.svg": avatar_svg(0, you=True)}
    drawn |= {f"/avatars/{seat}.svg": avatar_svg(seat) for seat in range(game.num_players)}
    drawn |= {f"/icons/{game.name}/{icon}.svg": icon_svg(game.name, icon) for icon in icons}
    deck, folder = game.deck, f"/cards/{game.name}/{game.num_players}"
    drawn |= {f"{folder}/{kind}.svg": card_svg(deck, kind, game.name) for kind in range(deck.kinds)}
    data = {address: base64.b64encode(svg.encode()).decode() for address, svg in drawn.items()}
    return {address: f"data:image/svg+xml;base64,{text}" for address, text in data.items()}


def _page(data: Any) -> str:
    """The viewer's page with style, scripts and data inside."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).encode("ascii")
    packed = base64.b64encode(gzip.compress(text, mtime=0)).decode()
    scripts = f'<script type="module">\n{"".join(map(_bare, SCRIPTS))}</script>\n'
    head = f'<meta http-equiv="content-security-policy" content="{POLICY}">\n<style>\n{_read("style.css")}</style>\n'
    page = in_words(_SERVED.sub("", _read("replay.html")))
    page = page.replace("</head>", f"{head}</head>")
    return page.replace("</body>", f'<script type="application/gzip" id="data">{packed}</script>\n{scripts}</body>')


def _bare(name: str) -> str:
    """A module without its imports and exports, to stand after those that it needs in one script."""
    text = re.sub(r"^import .*\n", "", _read(name), flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
