"""The trained policies that come with a game: ``policies/GAME-PLAYERS.onnx`` in its folder, each with a manifest.

A plug-in ships its own in the same place, as data of its package. The manifest lies next to the policy and has the same
name, but ends in ``.json``: how it was trained, its digest, and how strong it is. ``trick release`` writes both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trick_envs.engine.game import Game, GameType
from trick_envs.errors import InputError
from trick_envs.files import is_list, read_json

PRETRAINED = "pretrained"


def policies_folder(game: GameType) -> Path:
    """The folder with the policies of a game."""
    return game.folder / "policies"


def pretrained_file(game: GameType, num_players: int) -> Path:
    """Where the policy for a number of players belongs, whether or not there is one."""
    return policies_folder(game) / f"{game.name}-{num_players}.onnx"


def pretrained_players(game: GameType) -> list[int]:
    """The numbers of players for which there is a policy."""
    return [players for players in game.players if pretrained_file(game, players).is_file()]


def pretrained_policy(game: Game) -> Path:
    """The policy for a game and its number of players.

    Raises:
        ValueError: if there is none; says which there are.
    """
    path = pretrained_file(game.type, game.num_players)
    if not path.is_file():
        there = ", ".join(map(str, pretrained_players(game.type)))
        held = f"those of {game.name} are for {there} players" if there else f"{game.name} has none"
        raise InputError(
            f"{PRETRAINED!r}: there is no trained policy for {game.name} with {game.num_players} players ({held}; "
            "'trick policies' lists all): train one with 'trick train CONFIG', and name its policy.onnx"
        )
    return path


def manifest_file(policy: Path) -> Path:
    """Where the manifest of a policy belongs."""
    return policy.with_suffix(".json")


def load_manifest(policy: Path) -> dict[str, Any]:
    """The manifest of a policy.

    Raises:
        ValueError: if there is none, or it is not readable.
    """
    path = manifest_file(policy)
    try:
        manifest = read_json(path)
        results, numbers = manifest["ladder"]["results"], [manifest["seconds"], manifest["size"]]
        if isinstance(results, list) and is_list(numbers, 2, float):
            return manifest
        why = "expected a ladder with results, seconds and a size"
    except (KeyError, TypeError) as error:
        why = f"expected an object with a ladder, seconds and a size: {error}"
    except (OSError, ValueError) as error:
        why = str(error)
    raise InputError(f"{path}: not readable as the manifest of {policy.name} ({why})")
