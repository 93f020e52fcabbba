"""What the games of OpenSpiel have in common here, at full size and small: they are one deal, dealt by chance."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyspiel

from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_type
from trick_envs.engine.state import OVER


class DealPosition:
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        record: ``(1,)``, the template as long as cards are dealt.
        returns: by seat; 0 until the deal is over.
    """

    record: Any
    returns: tuple[float, ...]

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    @property
    def dealing(self) -> bool:
        raise NotImplementedError

    @property
    def over(self) -> bool:
        return bool(self.record["phase"][0] == OVER)

    @property
    def seat(self) -> int:
        return int(self.record["seat"][0])


class DealGame(pyspiel.Game):
    """A deal as a ``pyspiel.Game``.

    Args:
        rules: what is played.
        kind: from ``deal_type``.
        outcomes: the largest number of outcomes of a chance node.
        parameters: all of them.
    """

    name: str  # the game
    observer: type[DealObserver]

    def __init__(self, rules: Game, kind: Any, outcomes: int, parameters: dict[str, Any]) -> None:
        self._rules = rules
        most = float(rules.deck.size * (len(rules.deck.ranks) + 1))  # no card counts 2 more than its suit has cards
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_actions,
            max_chance_outcomes=outcomes,
            num_players=rules.num_players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=self.most_plays,
        )
        super().__init__(kind, info, parameters)

    @property
    def most_plays(self) -> int:
        """An upper bound on the decisions in a deal: every trick takes at least one card from a hand."""
        return self._rules.num_players**2 * self._rules.hand_size

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (str(self),)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Any:
        return self.observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class DealState(pyspiel.State):
    """A ``DealPosition`` as a ``pyspiel.State``."""

    position: Any

    def current_player(self) -> int:
        if self.position.dealing:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.position.over else self.position.seat

    def is_terminal(self) -> bool:
        return not self.position.dealing and self.position.over

    def returns(self) -> list[float]:
        return list(self.position.returns)


class DealObserver:
    """What a player sees: an observer of OpenSpiel.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation``, as in the environments, and, for information states
            only, ``plays`` (decision, numbers of a play).
    """

    def __init__(self, game: Any, iig_obs_type: Any, params: dict[str, Any] | None = None) -> None:
        if params or not iig_obs_type.public_info or iig_obs_type.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("observers show what is public and the player's own cards, and have no parameters")
        observation, play = self.sizes(game)
        shapes: dict[str, tuple[int, ...]] = {"player": (game.num_players(),), "observation": (observation,)}
        if iig_obs_type.perfect_recall:
            shapes["plays"] = (game.most_plays, play)
        ends = list(itertools.accumulate(map(math.prod, shapes.values())))
        self.tensor = np.zeros(ends[-1], np.float32)
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    @staticmethod
    def sizes(game: Any) -> tuple[int, int]:
        """How many numbers an observation has, and how many a play."""
        raise NotImplementedError


def deal_type(name: str, short: str, long: str, min_players: int, parameters: dict[str, Any]) -> Any:
    """The ``pyspiel.GameType`` of a game's deals.

    Args:
        name: the game.
        short: what it is called in OpenSpiel.
        long: what is said behind its title.
        min_players: the smallest number of players.
        parameters: all of them, with their defaults.
    """
    game = game_type(name)
    return pyspiel.GameType(
        short_name=short,
        long_name=f"{game.title}, {long}",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=max(game.players),
        min_num_players=min_players,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters,
    )
