"""The variants as games of OpenSpiel: game, state, observer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

from trick_envs.engine.registry import game_type
from trick_envs.interfaces.openspiel.variant import NAMES, SIZES, Hand, Position, load_variant
from trick_envs.matches.reading import places


class SmallGame(pyspiel.Game):
    """A variant as a ``pyspiel.Game``. ``GAMES`` has a subclass for every game that has variants."""

    name: str  # the game

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        options = {**SIZES, **game_type(self.name).options, **(params or {})}
        sizes = {size: options.pop(size) for size in SIZES}
        self.variant = variant = load_variant(self.name, *sizes.values(), tuple(options.items()))
        most = float(variant.deck.size * (len(variant.deck.ranks) + 1))  # no card counts 2 more than its suit has cards
        info = pyspiel.GameInfo(
            num_distinct_actions=variant.num_actions,
            max_chance_outcomes=math.comb(variant.deck.size, variant.hand_size),
            num_players=variant.num_players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=self.most_plays,
        )
        super().__init__(_game_type(self.name), info, {**sizes, **options})

    @property
    def most_plays(self) -> int:
        """An upper bound on the decisions in a deal: every trick takes at least one card from a hand."""
        return self.variant.num_players**2 * self.variant.hand_size

    def max_chance_nodes_in_history(self) -> int:
        return self.variant.num_players

    def new_initial_state(self) -> SmallState:
        return SmallState(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (str(self),)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Observer:
        return Observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class SmallState(pyspiel.State):
    """A ``Position`` as a ``pyspiel.State``."""

    def __init__(self, game: SmallGame) -> None:
        super().__init__(game)
        variant = game.variant
        self.position = Position(variant, variant.template, (), (), (0.0,) * variant.num_players)

    def current_player(self) -> int:
        if self.position.dealing:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.position.over else self.position.seat

    def is_terminal(self) -> bool:
        return self.position.over

    def returns(self) -> list[float]:
        return list(self.position.returns)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        variant = self.position.variant
        count = math.comb(variant.deck.size - variant.hand_size * len(self.position.hands), variant.hand_size)
        return [(outcome, 1.0 / count) for outcome in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.variant.legal(self.position.record)

    def _hand(self, outcome: int) -> Hand:
        """The hand that belongs to an outcome of this chance node."""
        return next(itertools.islice(self.position.variant.hands(self.position.hands), outcome, None))

    def _apply_action(self, action: int) -> None:
        position = self.position
        self.position = position.dealt(self._hand(action)) if position.dealing else position.played(action)

    def _action_to_string(self, player: int, action: int) -> str:
        deck = self.position.variant.deck
        if player != pyspiel.PlayerId.CHANCE:
            return deck.format(action)
        return f"player_{len(self.position.hands)} gets {' '.join(deck.format_all(self._hand(action)))}"

    def __str__(self) -> str:
        deck = self.position.variant.deck
        hands = [f"{seat} {' '.join(deck.format_all(hand))}" for seat, hand in enumerate(self.position.hands)]
        plays = [f"{seat} {deck.format(action)}" for seat, action in self.position.plays]
        return " | ".join([*hands, ", ".join(plays)])

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> SmallState:
        """A random state of the same information state; all deals that lead to one have the same probability."""
        wanted = self.information_state_string(player)
        while True:
            state = self.get_game().new_initial_state()
            for hand in self.position.drawn_anew(player, sampler):
                state.apply_action(list(state.position.variant.hands(state.position.hands)).index(hand))
            for _, action in self.position.plays:
                if action not in state.legal_actions():
                    break
                state.apply_action(action)
            else:
                if state.information_state_string(player) == wanted:
                    return state


class Observer:
    """What a player sees: an observer of OpenSpiel.

    The tensor has the seat, its observation as in the environments, and, for information states, every play so far,
    which gives perfect recall. The string has the same contents as text.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation`` (view_size,), ``plays`` (decision, action).
    """

    def __init__(self, game: SmallGame, iig_obs_type: Any, params: dict[str, Any] | None = None) -> None:
        if params or not iig_obs_type.public_info or iig_obs_type.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("observers show what is public and the player's own cards, and have no parameters")
        variant = game.variant
        shapes: dict[str, tuple[int, ...]] = {"player": (variant.num_players,), "observation": (variant.view_size,)}
        if iig_obs_type.perfect_recall:
            shapes["plays"] = (game.most_plays, variant.num_actions)
        ends = list(itertools.accumulate(map(math.prod, shapes.values())))
        self.tensor = np.zeros(ends[-1], np.float32)
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def set_from(self, state: SmallState, player: int) -> None:
        position = state.position
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        self.dict["observation"][:] = position.variant.view(position.record, player)
        if "plays" in self.dict:
            for row, (_, action) in zip(self.dict["plays"], position.plays, strict=False):
                row[action] = 1.0

    def string_from(self, state: SmallState, player: int) -> str:
        position = state.position
        variant, record, deck = position.variant, position.record[0], position.variant.deck
        lies = {
            place: cards
            for place, cards in places(variant, position.record).items()
            if cards and place != "table" and (place == f"hand {player}" or not place.startswith("hand"))
        }
        trick = zip(record.trick_seat, map(deck.kind, record.trick[: record.trick_size]), strict=False)
        plays = position.plays if "plays" in self.dict else trick
        pieces = [f"{place}: {' '.join(deck.format_all(cards))}" for place, cards in lies.items()]
        pieces.append("played: " + ", ".join(f"{seat} {deck.format(action)}" for seat, action in plays))
        return " | ".join([f"player_{player}", *pieces])


def _game_type(name: str) -> Any:
    game = game_type(name)
    return pyspiel.GameType(
        short_name=f"trick_envs_{name}",
        long_name=f"{game.title}, a small variant",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=max(game.players),
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={**SIZES, **game.options},
    )


GAMES: dict[str, type[SmallGame]] = {name: type(f"Small_{name}", (SmallGame,), {"name": name}) for name in NAMES}
for _name, _game in GAMES.items():
    pyspiel.register_game(_game_type(_name), _game)


def small(
    name: str, num_players: int = 2, suits: int = 2, ranks: int = 4, hand_size: int = 3, **options: bool
) -> SmallGame:
    """A small variant of a game.

    Args:
        name: the game, such as ``"pepper"``.
        num_players: seats, 2 or more.
        suits: how many of the game's suits.
        ranks: how many of its ranks, from the lowest on.
        hand_size: cards dealt to each seat.
        options: the game's own options.

    Raises:
        ValueError: for a game that has no variants, or a size that does not fit; says what does.
        TypeError: for an option that the game does not have.
    """
    sizes = {"num_players": num_players, "suits": suits, "ranks": ranks, "hand_size": hand_size}
    load_variant(name, *sizes.values(), tuple(options.items()))  # or an error
    return GAMES[name]({**sizes, **options})
