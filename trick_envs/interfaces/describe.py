"""The games, described from their own declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from trick_envs.discovery import gymnasium_id
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.state import PHASES, fields
from trick_envs.interfaces.aec import RawEnv


def describe_game(name: str) -> str:
    """A game in full, at its default number of players, as Markdown: the docstring of its PettingZoo module."""
    kind, game = game_type(name), load_game(name)
    numbers = f" with {game.num_players} players" if len(kind.players) > 1 else ""
    return "\n".join(
        [
            f"# {kind.title}",
            "",
            describe_facts(game),
            "",
            inspect.getdoc(kind.modules[0]) or "",
            "",
            "## Arguments",
            "",
            "Of the PettingZoo environments, all by name:",
            "",
            describe_arguments(name),
            "",
            *(["## Numbers of players", "", describe_sizes(name), ""] if len(kind.players) > 1 else []),
            "## Observation",
            "",
            f"The numbers of `observation`{numbers}, relative to the observer, who comes first; the others follow "
            "clockwise. `action_mask` marks the legal actions; it is all zeros for a seat that is not to act.",
            "",
            game.layout.table(),
            "",
            "## Actions",
            "",
            f"Every decision names one card; the phase says what naming it means. The numbers of the cards{numbers}:",
            "",
            describe_actions(game),
            "",
            "## Rewards",
            "",
            "Rewards are paid when a deal ends, and are 0 otherwise: the points of the rules, or what `reward` makes "
            "of them. All seats terminate together, when the match is over.",
        ]
    )


def describe_facts(game: Game) -> str:
    """What a game is called, how many play it, and the sizes of its spaces, as a table."""
    kind, module = game.type, game.type.versioned_name
    low, high = min(block.low for block in game.layout), max(block.high for block in game.layout)
    agents = (" … " if game.num_players > 2 else ", ").join(f"`player_{seat}`" for seat in (0, game.num_players - 1))
    facts = {
        "Import": f"`from {kind.package} import {module}`",
        "Environment": f"`{module}.env()`, or `raw_env()` without the checks of PettingZoo's standard wrappers",
        "Gymnasium": f'`gymnasium.make("{gymnasium_id(game.name)}")`',
        "Players": number_range(kind.players)
        + (f", {kind.default_players} by default" if len(kind.players) > 1 else ", in two teams" * kind.teams),
        "Agents": f"{agents}, clockwise",
        "Action space": f"`Discrete({game.num_actions})`: which card is named",
        "Observation": f"a dict: `observation`, `({game.layout.size},)` float32, and `action_mask`, "
        f"`({game.num_actions},)` int8",
        "Observation values": f"{low} … {high}",
        "State": f"`({game.state_layout.size},)` float32",
        "Phases": ", ".join(PHASES[phase] for phase in kind.phases),
        "Deals in a match": number_range([kind.deals(kind.default_players)]),
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {fact} | {meaning} |" for fact, meaning in facts.items())])


def describe_actions(game: Game) -> str:
    """The numbering of the actions, as a table with a row per suit."""
    deck = game.deck
    ranks = len(deck.ranks)
    rows = [
        f"| {first} … {first + ranks - 1} | {' '.join(deck.names[first : first + ranks])} |"
        for first in range(0, deck.kinds, ranks)
    ]
    return "\n".join(["| actions | cards |", "| --- | --- |", *rows])


def describe_sizes(name: str) -> str:
    """What depends on the number of players, as a table."""
    games = [load_game(name, players) for players in game_type(name).players]
    rows = [
        f"| {game.num_players} | {game.deck.size} | {game.hand_size} | {game.type.deals(game.num_players)} "
        f"| {game.num_actions} | {game.layout.size} |"
        for game in games
    ]
    head = ["| players | cards | in a hand | deals | actions | observation |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


def describe_arguments(name: str) -> str:
    """The keyword arguments of a game's environments."""
    kind = game_type(name)
    listed = {**explained(load_game), **explained(RawEnv)}
    listed["num_players"] = f"seats, {number_range(kind.players)}; {kind.default_players} by default."
    if len(kind.players) == 1:
        del listed["num_players"]
    for own in ("name", "game", "options"):
        listed.pop(own, None)  # python -OO has no docstrings
    for option, each in fields(kind.state).items():
        if each.default is not None:
            listed[option] = f"`True` or `False` (default `{each.default}`): {each.meaning}."
    return "\n".join(f"- `{key}`: {meaning}" for key, meaning in listed.items())


def explained(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring of a function or class says about its arguments, as Markdown."""
    _, _, text = (inspect.getdoc(function) or "").partition("Args:\n")
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.startswith("    "):
            break
        name, colon, meaning = line.strip().partition(": ")
        if line.startswith("     ") or not colon:
            found[[*found][-1]] += f" {line.strip()}"
        else:
            found[name] = meaning
    return {name: meaning.replace("``", "`") for name, meaning in found.items()}


def number_range(numbers: Sequence[int]) -> str:
    """Numbers as a person would list them: ``3-9``, or ``36, 48, 80``."""
    found = sorted(set(numbers))
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"{found[0]}-{found[-1]}"
    return ", ".join(map(str, found)) if len(found) < 4 else f"{found[0]} … {found[-1]}"
