"""The games, described from their own declarations."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.state import PHASES, fields


def describe_game(name: str) -> str:
    """A game in full, at its default number of players, as Markdown: the docstring of its ``*_v0`` module."""
    kind, game = game_type(name), load_game(name)
    deck = game.deck
    ranks = len(deck.ranks)
    numbering = [
        f"  {first} … {first + ranks - 1}  {' '.join(deck.names[first : first + ranks])}"
        for first in range(0, deck.kinds, ranks)
    ]
    return "\n".join(
        [
            f"# {kind.title} (`{name}`)",
            "",
            inspect.getdoc(kind.modules[0]) or "",
            "",
            f"Players: {number_range(kind.players)} (default {kind.default_players}). "
            f"Phases: {', '.join(PHASES[phase] for phase in kind.phases)}. "
            f"Options: {', '.join(f'{key}={value}' for key, value in kind.options.items()) or 'none'}.",
            "",
            "## Environment",
            "",
            f"    from {kind.package} import {name}_v{kind.version}",
            f"    env = {name}_v{kind.version}.env()  # raw_env() without the checks of PettingZoo's standard wrappers",
            "",
            describe_arguments(name),
            "",
            "Agents are `player_0`, `player_1`, …, clockwise. An observation is a dict: `observation`, "
            f"({game.layout.size},) float32, and `action_mask`, ({game.num_actions},) int8, all zeros for a seat that "
            "is not to act. Rewards are paid when a deal ends. All seats terminate together, when the match is over.",
            "",
            f"## Actions: which card is named, Discrete({deck.kinds}) with {game.num_players} players",
            "",
            *numbering,
            "",
            f"## Observation: {game.layout.size} numbers with {game.num_players} players, relative to the observer",
            "",
            game.layout.table(),
        ]
    )


def describe_arguments(name: str) -> str:
    """The keyword arguments of a game's environments."""
    kind = game_type(name)
    choice = f"seats, {number_range(kind.players)}; {kind.default_players} by default."
    listed = {
        **({"num_players": choice} if len(kind.players) > 1 else {}),
        "num_deals": "exact number of deals in a match; None plays what the original plays or recommends.",
        "reward": '"score" (the rules\' points), "zero_sum" (own minus the mean of all; in team games own team minus '
        'the other) or "win" (at the end of the match the winners share +1, the others share -1; 0 if all win).',
        "render_mode": 'None, "ansi" or "human".',
        **{
            option: f"True or False (default {each.default}): {each.meaning}."
            for option, each in fields(kind.state).items()
            if each.default is not None
        },
    }
    return "\n".join(["Arguments, all by name:", "", *(f"- `{key}`: {meaning}" for key, meaning in listed.items())])


def number_range(numbers: Sequence[int]) -> str:
    """Numbers as a person would list them: ``3-9``, or ``36, 48, 80``."""
    found = sorted(set(numbers))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}-{found[-1]}"
    return ", ".join(map(str, found)) if len(found) < 4 else f"{found[0]} … {found[-1]}"
