"""A deal of the released policies for every game's page: a replay, written when a site is built."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from trick_envs.agents import make_agent
from trick_envs.agents.pretrained import pretrained_players
from trick_envs.engine.build.digest import sources_digest
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.matches.loop import play_match
from trick_envs.play.web.export import replay_page

SEED = 3


def write(site: Path) -> None:
    """Writes ``games/NAME-replay.html`` of every game with policies, unless it is there from the same sources."""
    for name in game_names():
        kind = game_type(name)
        if kind.default_players not in pretrained_players(kind):
            continue
        game = load_game(name, None, 1)
        player = make_agent("pretrained", game)
        record = play_match(name, dict.fromkeys(range(game.num_players), player), SEED, None, 1)
        record["players"] = ["pretrained"] * game.num_players
        mark = f"<!-- {_digest(kind.folder, json.dumps(record))} -->"
        path = site / "games" / f"{name}-replay.html"
        if not path.is_file() or mark not in path.read_text(encoding="utf-8")[-200:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{replay_page(record, judge=False)}\n{mark}\n", encoding="utf-8")


def _digest(game: Path, record: str) -> str:
    package = Path(__file__).parent.parent / "trick_envs"
    parts = [sources_digest(place, below=True) for place in (package / "play", package / "view", game)]
    static = [path.read_bytes() for path in sorted((package / "play" / "web" / "static").glob("*"))]
    return hashlib.sha256(b"".join([record.encode(), *(each.encode() for each in parts), *static])).hexdigest()[:16]
