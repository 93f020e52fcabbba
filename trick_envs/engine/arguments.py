"""What all interfaces check alike in their arguments: actions, seats, numbers, unknown names, modes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.kernels.playing import REWARDS
from trick_envs.errors import InputError, InputTypeError, InvalidAction, shown

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
    if render_mode is not None and (not isinstance(render_mode, str) or render_mode not in known):
        *others, last = map(repr, (None, *known))
        raise UnknownRenderMode(f"render_mode: expected {', '.join(others)} or {last}, not {shown(render_mode)}")


def unknown_argument(caller: str, name: str, known: Sequence[str]) -> TypeError:
    """The error for an argument that nobody knows; names the one that was probably meant."""
    other = _OTHER_NAMES.get(name)
    meant = [other] if other in known else get_close_matches(name, known, 1)
    hint = f"did you mean {meant[0]!r}? " if meant else "pass it to reset(seed=…); " if name == "seed" else ""
    return TypeError(f"{caller}() got an unexpected keyword argument {name!r} ({hint}known: {', '.join(known)})")


def action_number(action: Any) -> int:
    """One action as ``int``, from whatever frameworks name it with: ``3``, ``np.int64(3)``, ``np.array([3])``, …

    Raises:
        InvalidAction: if it is not one whole number. ``True`` is none.
    """
    if type(action) is int or (isinstance(action, np.integer) and not isinstance(action, np.timedelta64)):
        return int(action)
    array = whole_numbers(action)
    if array is None or array.size != 1:
        raise InvalidAction(f"action: expected one whole number, such as 3 or np.array([3]), not {shown(action)}")
    return int(array.item())


def action_numbers(actions: npt.ArrayLike, count: int, whose: str = "actions") -> npt.NDArray[np.int64]:
    """One action for each of so many games, ``(count,) int64``: an array of its own, as machine code takes it.

    Args:
        actions: ``(count,)`` whole numbers.
        count: how many.
        whose: how an error begins.

    Raises:
        InvalidAction: if they are not.
    """
    array = whole_numbers(actions)
    if array is None or array.shape != (count,):
        raise InvalidAction(f"{whose}: expected {count} whole numbers, shape ({count},), not {_described(actions)}")
    if array.dtype == np.uint64 and (most := int(array.max(initial=0))) >> 63:  # it would become another number
        raise InvalidAction(f"{whose}: {most} is no card")
    return np.array(array, np.int64)


def whole_numbers(given: Any) -> npt.NDArray[np.integer] | None:
    """As an array, if it holds nothing else: no truth values in a list, no bytes of a text, nothing that is masked.

    ``None`` if it does.
    """
    if type(given) is np.ndarray:  # what a loop hands over, step by step
        return given if given.dtype.kind in "iu" else None
    if isinstance(given, (list, tuple)) and any(isinstance(one, bool) or _of_truth(one) for one in given):
        return None
    if isinstance(given, (bytes, bytearray, memoryview)) or np.ma.is_masked(given):
        return None
    array = _array(given)
    return array if array is not None and array.dtype.kind in "iu" else None


def _of_truth(one: Any) -> bool:
    """Whether it is a truth value of a library, an array or a tensor."""
    kind = getattr(one, "dtype", None)
    return kind.kind == "b" if isinstance(kind, np.dtype) else "bool" in str(kind)


def _array(given: Any) -> npt.NDArray[Any] | None:
    try:
        return np.asarray(given)
    except Exception:  # rows of different lengths, a tensor without numbers, a masked number: whatever a library raises
        return None


def _described(given: Any) -> str:
    array = _array(given)
    return shown(given) if array is None else f"shape {array.shape} of {array.dtype}"


MOST_GAMES = 2**31 - 1  # of one batch: NumPy has no array for many more, and says so in its own words


def whole_number(number: Any, low: int, high: float, name: str, what: str = "a whole number") -> int:
    """A whole number in a range, such as a seat or the number of a game, as ``int``: ``True`` and -1 are none.

    Raises:
        ValueError: names the argument, and what was expected.
    """
    if not is_whole(number, low, high):
        span = f"{low} or more" if high == math.inf else f"{low:,} to {high:,}"
        raise InputError(f"{name}: expected {what} of {span}, not {shown(number)}")
    return int(number)


def seat_number(seat: Any, players: int, name: str = "seat", what: str = "a seat") -> int:
    """A seat, checked."""
    return whole_number(seat, 0, players - 1, name, what)


def seat_or_agent(seat: Any, players: int) -> int:
    """A seat, or the one of an agent such as ``"player_0"``, checked."""
    named = {f"player_{number}": number for number in range(players)}
    number = named.get(seat) if isinstance(seat, str) else seat
    if not is_whole(number, 0, players - 1):
        raise InputError(f"seat: expected a seat of 0 to {players - 1} or an agent, not {shown(seat)}")
    return int(number or 0)


def seat_numbers(seats: npt.ArrayLike, players: int, count: int) -> npt.NDArray[np.int64]:
    """A seat for each of so many games, ``(count,) int64``, from one for all or one for each.

    Raises:
        ValueError: if there is no such seat.
    """
    array = whole_numbers(seats)
    if array is None or array.shape not in ((), (count,)) or not ((array >= 0) & (array < players)).all():
        raise InputError(f"seats: expected seats of 0 to {players - 1}, one or {count}, not {shown(seats)}")
    return np.broadcast_to(array, (count,)).astype(np.int64)


def reward_mode(reward: str) -> int:
    """The number of a reward mode.

    Raises:
        ValueError: if there is no such mode.
    """
    return number_among(reward, REWARDS, "reward")


def number_among(word: str, words: Sequence[str], name: str) -> int:
    """The number of a word among those that an argument may be.

    Raises:
        ValueError: if it is none of them; names the argument and all words.
    """
    if not isinstance(word, str) or word not in words:
        raise InputError(f"{name}: expected one of {', '.join(map(repr, words))}, not {shown(word)}")
    return words.index(word)


def is_whole(number: Any, low: float, high: float) -> bool:
    """Whether something is an integer of ``low … high``. ``True`` is none, and neither is a span of time."""
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, (bool, np.timedelta64))
    return whole and bool(low <= number <= high)
