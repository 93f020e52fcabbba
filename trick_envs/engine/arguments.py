"""What all environments check alike in their arguments: unknown names, render modes, actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from inspect import signature
from typing import Any

import numpy as np

from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_type, load_game
from trick_envs.errors import InputError, InputTypeError

# What other libraries call our arguments, as far as the names are too different for ``get_close_matches``.
_OTHER_NAMES = {
    "agents": "opponents",
    "learner": "seat",
    "n_agents": "num_players",
    "n_rounds": "num_deals",
    "num_agents": "num_players",
    "num_rounds": "num_deals",
    "player": "seat",
    "player_id": "seat",
    "position": "seat",
    "rounds": "num_deals",
}


class UnknownRenderMode(InputError, InputTypeError):
    """A render mode that the environment does not have.

    It is a ``TypeError`` as well, because that is what Stable-Baselines3 and others wait for: they ask for
    ``"rgb_array"`` first, and do without it after a ``TypeError``.
    """


def check_render_mode(render_mode: Any, known: Sequence[str]) -> None:
    """Raises ``UnknownRenderMode`` unless the mode is ``None`` or one of those known."""
    if render_mode is not None and render_mode not in known:
        *others, last = map(repr, (None, *known))
        raise UnknownRenderMode(f"render_mode: expected {', '.join(others)} or {last}, not {render_mode!r}")


def load_game_for(
    caller: Callable[..., Any], game: str, num_players: int | None, num_deals: int | None, options: Mapping[str, Any]
) -> Game:
    """``load_game`` for a caller that passes on what it does not know itself.

    Raises:
        TypeError: in Python's words, for an argument that neither the caller nor the game has. Other libraries look for
            these words, to try again without it.
        ValueError: as ``load_game``.
    """
    of_game = game_type(game).options
    for name in options:
        if name not in of_game:
            raise unknown_argument(caller.__qualname__, name, [*_names(caller), *of_game])
    return load_game(game, num_players, num_deals, **options)


def unknown_argument(caller: str, name: str, known: Sequence[str]) -> TypeError:
    """The error for an argument that nobody knows; names the one that was probably meant."""
    other = _OTHER_NAMES.get(name)
    meant = [other] if other in known else get_close_matches(name, known, 1)
    hint = f"did you mean {meant[0]!r}? " if meant else "pass it to reset(seed=…); " if name == "seed" else ""
    return TypeError(f"{caller}() got an unexpected keyword argument {name!r} ({hint}known: {', '.join(known)})")


def whole_number(action: Any) -> int:
    """An action as ``int``, from whatever frameworks name it with: ``3``, ``np.int64(3)``, ``np.array([3])``, …

    Raises:
        ValueError: if it is not one whole number.
    """
    if type(action) is int or isinstance(action, np.integer):
        return int(action)
    array = np.asarray(action)
    if array.size != 1 or array.dtype.kind not in "iu":
        raise InputError(f"action: expected one whole number, such as 3 or np.array([3]), not {action!r}")
    return int(array.item())


def _names(caller: Callable[..., Any]) -> list[str]:
    """The arguments of a function or method that have names of their own, less ``self`` and the game."""
    listed = signature(caller).parameters.values()
    return [
        each.name for each in listed if each.kind is each.POSITIONAL_OR_KEYWORD and each.name not in ("self", "game")
    ]
