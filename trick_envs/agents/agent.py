"""What a player is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import action_numbers
from trick_envs.engine.game import Game, checked_states
from trick_envs.engine.history import Events
from trick_envs.engine.positions import why_illegal
from trick_envs.engine.state import OVER, States
from trick_envs.errors import RAISED_BY, IllegalAction, InputError, InputTypeError, shown

Actions: TypeAlias = npt.NDArray[np.int64]
Observations: TypeAlias = npt.NDArray[np.float32 | np.int8]  # the same numbers: environments have floats, batches bytes
Masks: TypeAlias = npt.NDArray[np.float32 | np.int8]


class Agent(Protocol):
    """A player of one game, in many games at once.

    Attributes:
        name: the spec it was made from.

    A player that wants to know the order of play is a ``HistoryAgent``.
    """

    name: str

    def act(self, observations: Observations, action_masks: Masks, states: States | None = None) -> Actions:
        """Chooses a card for every row.

        Args:
            observations: ``(B, D)``, what the seat to act sees.
            action_masks: ``(B, A)``, its legal actions; a row of zeros gets any action.
            states: ``(B,)`` records, for players that compute on the game itself (they read only what the seat to act
                has seen). ``BatchEnv.states``, or ``env.unwrapped.states`` of an AEC environment. Random choices of
                a player that gets them do not depend on batching.

        Returns:
            ``(B,) int64`` legal actions.
        """
        ...

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        ...


class HistoryAgent(Protocol):
    """A player that wants to know the order of play: a recurrent network, or one that searches by inference.

    It is told where the order is known: in evaluations and matches, and in environments with ``observation="history"``.

    Attributes:
        name: the spec it was made from.
        observation: ``"history"``.
    """

    name: str
    observation: str

    def act(
        self, observations: Observations, action_masks: Masks, states: States | None = None, plays: Events | None = None
    ) -> Actions:
        """Chooses a card for every row, like an ``Agent``.

        Args:
            observations: ``(B, D)``, the blocks of ``observation="history"``; without ``plays`` those of the position.
            action_masks: ``(B, A)``, its legal actions; a row of zeros gets any action.
            states: ``(B,)`` records.
            plays: ``(B, T, 4) int16``, as ``BatchEnv.plays()``: deal, seat, phase and card of every play of the match;
                ``None`` where nobody knows.
        """
        ...

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        ...


def takes_history(agent: object) -> bool:
    """Whether a player wants observations that show the order of play."""
    return getattr(agent, "observation", "position") == "history"


def observation_for(*agents: object) -> str:
    """What games have to show, ``"position"`` or ``"history"``, for all of these players."""
    return "history" if any(map(takes_history, agents)) else "position"


def ask(
    agent: Agent | HistoryAgent,
    game: Game,
    observations: Observations,
    action_masks: Masks,
    states: States,
    plays: Callable[[], Events] | None = None,
) -> Actions:
    """A player's actions; only one that wants it sees the order of play.

    Args:
        agent: the player.
        game: the game.
        observations: ``(B, D)``, with history or without.
        action_masks: ``(B, A)``.
        states: ``(B,)`` records.
        plays: what gives the plays of these games; ``None`` if nobody knows them.

    Raises:
        ValueError: if it does not name one whole number for each row; names the player.
        Exception: whatever a player that is not of this package raises, with a note that names it.
    """
    with named_if_it_raises(agent):
        if plays is not None and takes_history(agent):
            named = cast(HistoryAgent, agent).act(observations, action_masks, states, plays())
        else:
            named = agent.act(observations[:, : game.layout.size], action_masks, states)
    return action_numbers(named, len(states), f"player {getattr(agent, 'name', agent)}")


@contextmanager
def named_if_it_raises(agent: object) -> Iterator[None]:
    """What a player that is not of this package raises has a note that names it."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if type(agent).__module__.partition(".")[0] != "trick_envs":
            error.add_note(f"{RAISED_BY}player {getattr(agent, 'name', agent)}")
        raise


def rows_of(given: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """What a player is asked about, a row for each position.

    Raises:
        ValueError: if it is the row of one position, or something else.
    """
    found = np.asarray(given)
    if found.ndim != 2:
        raise InputError(f"{name}: expected a row for each position, not shape {found.shape}; for one: {name}[None]")
    return found


def takes_two(function: object) -> bool:
    """Whether it can be called with two arguments, as far as one can tell."""
    try:
        signature(cast(Callable[..., object], function)).bind(None, None)
    except TypeError:
        return False
    except ValueError:  # some builtins do not tell their arguments
        pass
    return True


def checked_agent(agent: object, where: str, only_acts: bool = False) -> Agent:
    """What somebody calls a player, if it has what every ``Agent`` has, or with ``only_acts`` an ``act``.

    Raises:
        TypeError: if it lacks anything; says so after ``where``.
    """
    fits = not isinstance(agent, type) and callable(getattr(agent, "act", None))
    if not only_acts:
        fits = fits and callable(getattr(agent, "seed", None)) and isinstance(getattr(agent, "name", None), str)
    if not fits:
        more = "" if only_acts else ", seed(seed) and a name"
        made = ", of which make_agent(…, game) makes one" if isinstance(agent, str) else ""
        raise InputTypeError(
            f"{where}: expected an agent with act(observations, action_masks, states){more}, not {shown(agent)}{made}"
        )
    return cast(Agent, agent)


def legal_actions(game: Game, states: States, actions: Actions, whose: str) -> Actions:
    """An action for each game that goes on, ``(B,) int64``: compiled code takes no other.

    Raises:
        ValueError: if one is not legal; begins with ``whose``.
    """
    checked = action_numbers(actions, len(states), whose)
    going = np.flatnonzero(states["phase"] != OVER)
    if (first := game.kernels.first_illegal(states, going, checked[going])) >= 0:
        row = going[first]
        raise IllegalAction(f"{whose}: {why_illegal(game, states[row : row + 1], int(checked[row]))}")
    return checked


def required(states: States | None, game: Game, name: str) -> States:
    """The records, for a player that cannot do without.

    Raises:
        ValueError: if there are none, or they are of another game; names the player.
    """
    if states is None:
        raise InputError(f"{name} computes on the game itself: call act(observations, action_masks, env.states)")
    return checked_states(game, states, name)
