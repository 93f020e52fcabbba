"""Pictures of every game, compared with stored ones: block by block, so that fonts and rounding may differ a little.

``python tests/test_pictures.py`` writes them anew; look at them before you commit them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import greedy_action

from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView, rgb_array

Image = pytest.importorskip("PIL.Image")

FOLDER = Path(__file__).parent / "pictures"
SIZE = (400, 300)
BLOCK, TOLERANCE = 5, 20  # pixels, and the mean difference of a block's values


def position(name: str) -> TableView:
    """The largest table of a game after two thirds of a deal: what seat 1 sees."""
    game = load_game(name, max(game_type(name).players), num_deals=1)
    match = Match(game, seed=7)
    for _ in range(2 * game.num_players * game.hand_size // 3 + 3):
        match.step(greedy_action(game, match.states))
    return match_view(match, 1)


def different(one: np.ndarray, other: np.ndarray) -> float:
    """The largest mean difference of a block."""
    height, width, _ = one.shape
    apart = np.abs(one.astype(float) - other).reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3)
    return float(apart.mean(axis=(1, 3, 4)).max())


@pytest.mark.parametrize("name", game_names())
def test_a_game_looks_as_it_did(name):
    stored = FOLDER / f"{name}.png"
    if game_type(name).package != "trick_envs":
        pytest.skip("a plug-in's pictures are its own")
    drawn = rgb_array(position(name), *SIZE)
    assert different(drawn, np.asarray(Image.open(stored).convert("RGB"))) < TOLERANCE


def test_one_card_that_looks_different_is_found():
    """What the tolerance is worth."""
    view = position("pepper")
    one = rgb_array(view, *SIZE)
    (seat, kind), *others = view.trick
    changed = replace(view, trick=((seat, kind + 1), *others))
    assert different(one, rgb_array(changed, *SIZE)) > TOLERANCE


if __name__ == "__main__":
    for name in game_names():
        picture = Image.fromarray(rgb_array(position(name), *SIZE))
        picture.quantize(256, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
