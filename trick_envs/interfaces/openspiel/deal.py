"""What the games of OpenSpiel have in common here, at full size and small: they are one deal, dealt by chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyspiel

from trick_envs.engine.direct import direct
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.playing import DEAL_ENDED, ZERO_SUM
from trick_envs.engine.registry import game_type
from trick_envs.engine.state import States, copy_states
from trick_envs.errors import InputError

Mask: TypeAlias = npt.NDArray[np.int8]

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
_NOBODY = {CHANCE: pyspiel.PlayerId.CHANCE, TERMINAL: pyspiel.PlayerId.TERMINAL}


class DealPosition:
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        game: what is played.
        record: ``(1,)``, the template as long as cards are dealt.
        player: the seat to act, ``CHANCE`` or ``TERMINAL``.
        mask: ``(A,) int8``, the legal actions of the seat to act.
        returns: by seat; 0 until the deal is over.
    """

    __slots__ = ("game", "mask", "player", "record", "returns")

    def __init__(self, game: Game, record: States, player: int, mask: Mask, returns: tuple[float, ...]) -> None:
        self.game, self.record, self.player, self.mask, self.returns = game, record, player, mask, returns

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def dealing(self) -> bool:
        """Whether cards are dealt."""
        return self.player == CHANCE

    def legal(self) -> list[int]:
        """The legal actions, ascending."""
        return self.mask.nonzero()[0].tolist()


class Moves:
    """Positions of one game after one another, by its compiled code.

    Args:
        game: what is played.
        size: how many numbers a seat observes.
    """

    def __init__(self, game: Game, size: int) -> None:
        self.game, self.size = game, size
        self.nothing = (0.0,) * game.num_players  # returns until the deal is over
        self.no_action = np.zeros(game.num_actions, np.int8)
        self._shape, self._byte = (game.num_actions,), np.dtype(np.int8)
        self._rewards = np.zeros(game.num_players)
        record, mask = copy_states(game.template), np.zeros(game.num_actions, np.int8)
        self._scratch = mask
        self._branch = direct(game.kernels.branch, record, 0, ZERO_SUM, record, self._rewards, mask)
        self._observe = direct(game.kernels.observe, record, 0, 0, np.zeros(size, np.int8), mask)

    def view(self, record: States, seat: int) -> npt.NDArray[np.int8]:
        """What a seat observes, as in the environments: as many numbers as ``size``."""
        out = np.empty(self.size, self._byte)
        self._observe(record, 0, seat, out, self._scratch)
        return out

    def dealt(self, order: Sequence[int]) -> tuple[States, int, Mask]:
        """The record when these cards have been dealt by seat 0, the seat to act, and its legal actions."""
        record = copy_states(self.game.template)
        self.game.kernels.deal_order(record, np.array(order), 0)
        return record, *self.look(record)

    def look(self, record: States) -> tuple[int, Mask]:
        """The seat to act, and its legal actions."""
        mask = np.empty(self._shape, self._byte)
        return int(self.game.kernels.look(record, mask)), mask

    def played(self, record: States, action: int) -> tuple[States, int, Mask, tuple[float, ...]]:
        """The record after a legal action, who is to act, the legal actions, and the returns."""
        after, mask = np.empty(1, record.dtype), np.empty(self._shape, self._byte)
        result = self._branch(record, action, ZERO_SUM, after, self._rewards, mask)
        if result < DEAL_ENDED:
            return after, int(result), mask, self.nothing
        return after, TERMINAL, mask, tuple(self._rewards.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return moves, (self.game, self.size)


@cache
def moves(game: Game, size: int) -> Moves:
    """The ``Moves`` of a game; they are the same for equal games."""
    return Moves(game, size)


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
        player = self.position.player
        return player if player >= 0 else _NOBODY[player]

    def is_terminal(self) -> bool:
        return bool(self.position.player == TERMINAL)

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal()

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
            raise InputError("observers show what is public and the player's own cards, and have no parameters")
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
