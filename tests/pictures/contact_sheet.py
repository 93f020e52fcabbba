"""Pictures of every game at its smallest and largest table, in several positions: to be looked at.

python tests/pictures/contact_sheet.py FOLDER [--game pepper] [--sizes 800x600] [--svg]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView, rgb_array, svg

sys.path.append(str(Path(__file__).parent.parent))
from helpers import greedy_action

COLUMNS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--game", choices=game_names())
    parser.add_argument("--sizes", nargs="+", default=["800x600"])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--svg", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in [given.game] if given.game else game_names():
        tables = game_type(name).players
        for players in sorted({min(tables), max(tables)}):
            views = positions(load_game(name, players), given.seed)
            for size in given.sizes:
                width, height = map(int, size.split("x"))
                for where, view in views.items():
                    path = given.folder / f"{name}-{players}-{size}-{where}.png"
                    Image.fromarray(rgb_array(view, width, height)).save(path)
                    if given.svg:
                        path.with_suffix(".svg").write_text(svg(view, width, height), encoding="utf-8")
    for size in given.sizes:
        sheet(sorted(given.folder.glob(f"*-{size}-*.png"))).save(given.folder / f"sheet-{size}.png")
    print(given.folder)


def positions(game: Game, seed: int) -> dict[str, TableView]:
    """Views of a match at its start, twice in its middle, and at its end: all open, and of seat 1."""
    match, rng, found, count = Match(game, seed), np.random.default_rng(seed), {}, 0
    while not match.over:
        if count in (0, 5, 5 * game.num_players + 3, 8 * game.num_players + 1):
            found[f"{count:03d}-all"], found[f"{count:03d}-seat"] = match_view(match), match_view(match, 1)
        legal = [game.deck.kind(card) for card in members(game.kernels.legal_cards(match.states))]
        match.step(greedy_action(game, match.states) if rng.random() < 0.75 else int(rng.choice(legal)))
        count += 1
    return {**found, "over-seat": match_view(match, 1)}


def sheet(paths: list[Path]) -> Image.Image:
    """All pictures at half size on one."""
    images = [Image.open(path) for path in paths]
    width, height = (side // 2 + 6 for side in images[0].size)
    whole = Image.new("RGB", (COLUMNS * width, -(-len(images) // COLUMNS) * height), "white")
    for i, image in enumerate(images):
        whole.paste(image.resize((width - 6, height - 6)), (i % COLUMNS * width, i // COLUMNS * height))
    return whole


if __name__ == "__main__":
    main()
