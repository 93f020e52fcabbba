"""A replay as one page that needs nothing else: to send to somebody, to open from a file."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from trick_envs.play.web.http import in_words
from trick_envs.play.web.pages import STATIC, about_game
from trick_envs.play.web.replays import Replay, review_data
from trick_envs.view import svg

SCRIPTS = ("lib.js", "logic.js", "cards.js", "table.js", "replay.js")  # each after those that it imports
SIZES = {"wide": (800, 620), "phone": (390, 640)}
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

_TAG = re.compile(r"<(/?)(\w+)[^>]*?(/?)>")
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
    parts: dict[str, int] = {}
    seats = ["all", *map(str, range(replay.game.num_players))]
    told: dict[str, list[Any]] = {seat: [] for seat in seats}
    pictures: dict[str, dict[str, list[Any]]] = {name: {seat: [] for seat in seats} for name in SIZES}
    for step in range(len(replay.steps)):
        for seat in seats:
            shot = replay.shot(step, None if seat == "all" else int(seat))
            told[seat].append({"prompt": shot.view.prompt, "told": shot.told, "pause": shot.pause})
            for name, size in SIZES.items():
                found = elements(svg(shot.view, *size))
                pictures[name][seat].append([parts.setdefault(part, len(parts)) for part in found])
        if on_step is not None:
            on_step(step + 1, 2 * len(replay.steps))

    def judged(done: int, total: int) -> None:
        if on_step is not None:
            on_step(len(replay.steps) + len(replay.steps) * done // max(total, 1), 2 * len(replay.steps))

    review = review_data(replay.match, 0, None, judged) if judge else None
    about = {**about_game(replay.game), **replay.timeline(), "record": replay.match.record()}
    data = {"about": about, "told": told, "pictures": pictures, "parts": list(parts), "review": review}
    return _page(data)


def elements(svg: str) -> list[str]:
    """A picture cut into its outermost elements, most of which many pictures share; joined they are the picture."""
    found, depth, start = [], 0, 0
    for tag in _TAG.finditer(svg):
        closes, name, empty = tag.groups()
        if name == "svg":
            depth = 0
        elif not empty:
            depth += -1 if closes else 1
        if depth == 0:
            found.append(svg[start : tag.end()])
            start = tag.end()
    return [*found, svg[start:]]


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
