"""Who sits where: the opponents of a learner, and the seats in the games of a duplicate deal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from os import PathLike, fspath
from typing import cast

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Agent, make_agent
from trick_envs.agents.agent import ask, takes_two
from trick_envs.engine.arguments import action_numbers, number_among, seat_number
from trick_envs.engine.copies import OwnArrays
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.history import Events
from trick_envs.engine.kernels.seats import GREEDY_PLAYER, ILLEGAL_MODES, RANDOM_PLAYER
from trick_envs.engine.rng import MAX_SEED
from trick_envs.engine.state import States
from trick_envs.errors import InputError, in_a_line, shown

PlayerFunction = Callable[[npt.NDArray[np.float32], npt.NDArray[np.int8]], npt.ArrayLike]
Opponent = str | PathLike[str] | Agent | PlayerFunction

_COMPILED = {"random": RANDOM_PLAYER, "greedy": GREEDY_PLAYER}


class Opponents(OwnArrays):
    """The players of all seats but the learner's.

    Args:
        chosen: one player for all those seats, or a list with one for each, clockwise from the learner's left
            neighbour. A player is a spec (``"random"``, ``"greedy"``, the path of a policy, …), an ``Agent``, or a
            function ``(observations (B, D) float32, action_masks (B, A) int8) -> actions (B,)``.
        game: what they play.

    Attributes:
        players: ``(players - 1,) int64``, one number per seat: ``RANDOM_PLAYER``, ``GREEDY_PLAYER``, or an index into
            ``agents``.
        agents: the agents that the kernels do not play themselves, each once.
        names: what these are called.

    Raises:
        ValueError: for what is no player, an invalid spec, or a list of the wrong length.
    """

    def __init__(self, chosen: Opponent | Sequence[Opponent], game: Game) -> None:
        seats = game.num_players - 1
        listed = list(chosen) if isinstance(chosen, (list, tuple)) else [chosen] * seats
        if len(listed) != seats:
            raise InputError(
                f"opponents: expected one player, or a list of {seats}, one for each seat clockwise from the "
                f"learner's left neighbour, not {len(listed)}"
            )
        self.game = game
        self.agents: list[Agent | PlayerFunction] = []
        self.names: list[str] = []
        self._given: list[Agent | PlayerFunction] = []
        self._specs: dict[str, int] = {}
        self._objects: list[tuple[object, int]] = []
        self.players = np.array([self._number(opponent) for opponent in listed], np.int64)
        del self._specs, self._objects

    def _number(self, opponent: object) -> int:
        if isinstance(opponent, PathLike):
            opponent = fspath(opponent)
        player: Agent | PlayerFunction
        if isinstance(opponent, str):
            if opponent in _COMPILED:
                return _COMPILED[opponent]
            if opponent in self._specs:
                return self._specs[opponent]
            name, player = opponent, make_agent(opponent, self.game)
            self._specs[opponent] = len(self.agents)
        else:
            for known, number in self._objects:
                if known is opponent:
                    return number
            player = _own_copy(_checked_player(opponent))
            name = str(getattr(player, "name", player))
            self._objects.append((opponent, len(self.agents)))
            self._given.append(player)
        self.agents.append(player)
        self.names.append(name)
        return len(self.agents) - 1

    def seed(self, seed: int) -> None:
        """Reseeds the agents that were passed as objects.

        Those made from a spec keep their seed: their choices depend on the seed of the match as well.
        """
        for number, agent in enumerate(self._given):
            if hasattr(agent, "seed"):
                agent.seed((seed + number) % (MAX_SEED + 1))

    def act(
        self,
        number: int,
        observations: npt.NDArray[np.float32],
        action_masks: npt.NDArray[np.int8],
        states: States,
        plays: Callable[[], Events] | None = None,
    ) -> npt.NDArray[np.int64]:
        """The actions of agent ``number``, ``(B,) int64``, legal or not.

        ``plays`` gives the plays of these games, where they are known.

        Raises:
            ValueError: if there is not one action per row; names the agent.
        """
        agent = self.agents[number]
        if hasattr(agent, "act"):
            return ask(cast(Agent, agent), self.game, observations, action_masks, states, plays)
        return action_numbers(agent(observations, action_masks), len(states), f"player {self.names[number]}")


def _own_copy(player: Agent | PlayerFunction) -> Agent | PlayerFunction:
    """A copy of an agent that can be reseeded: its random choices then depend on nobody else who has the same object.

    Functions, and agents without ``seed``, are taken as they are.
    """
    if not (hasattr(player, "act") and hasattr(player, "seed")):
        return player
    try:
        return deepcopy(player)
    except Exception as error:
        raise InputError(
            f"opponents: {shown(player)} cannot be copied ({in_a_line(error)}), and an environment has a copy "
            "of its own of every agent with seed(): pass a spec, or a function (observations, action_masks) -> actions"
        ) from error


def _checked_player(opponent: object) -> Agent | PlayerFunction:
    """An agent, or a function of observations and masks.

    Raises:
        ValueError: for anything else.
    """
    is_class, hint = isinstance(opponent, type), ""
    if not is_class and (hasattr(opponent, "act") or takes_two(opponent)):
        return cast(Agent | PlayerFunction, opponent)
    if is_class:
        hint = ", which is a class: pass an object of it"
    elif hasattr(opponent, "predict"):
        hint = ". For a model of Stable-Baselines3: lambda o, m: model.predict(o, action_masks=m)[0]"
    raise InputError(
        "opponents: expected a spec such as 'greedy' or the path of a policy, an agent, or a function "
        f"(observations, action_masks) -> actions, not {shown(opponent)}{hint}"
    )


def illegal_mode(illegal: str) -> int:
    """The number of a way to treat the learner's illegal actions.

    Raises:
        ValueError: if there is no such way.
    """
    return number_among(illegal, ILLEGAL_MODES, "illegal")


def checked_seat(seat: object, game: Game, where: str) -> int:
    """A seat as an integer, -1 for ``None``.

    Raises:
        ValueError: if there is no such seat.
    """
    if seat is None:
        return -1
    return seat_number(seat, game.num_players, where, "None or a seat")


def seatings(game: Game) -> list[tuple[int, ...]]:
    """The seats of one player in a duplicate deal, once each: every seat in turn, or in team games every team."""
    if checked_game(game).type.teams:
        return [(0, 2), (1, 3)]
    return [(seat,) for seat in range(game.num_players)]
