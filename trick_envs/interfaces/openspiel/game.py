"""The variants as games of OpenSpiel: game, state, observer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pyspiel

from trick_envs.engine.inspect import places
from trick_envs.engine.registry import game_type
from trick_envs.interfaces.openspiel.deal import DealGame, DealObserver, DealState, deal_type
from trick_envs.interfaces.openspiel.variant import NAMES, SIZES, Hand, Position, load_variant


class SmallGame(DealGame):
    """A variant as a ``pyspiel.Game``. ``GAMES`` has a subclass for every game that has variants."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        options = {**SIZES, **game_type(self.name).options, **(params or {})}
        sizes = {size: options.pop(size) for size in SIZES}
        self.variant = variant = load_variant(self.name, *sizes.values(), tuple(options.items()))
        hands = math.comb(variant.deck.size, variant.hand_size)
        super().__init__(variant, _game_type(self.name), hands, {**sizes, **options})

    def max_chance_nodes_in_history(self) -> int:
        return self.variant.num_players

    def new_initial_state(self) -> SmallState:
        return SmallState(self)


class SmallState(DealState):
    """A ``Position`` as a ``pyspiel.State``."""

    def __init__(self, game: SmallGame) -> None:
        super().__init__(game)
        variant = game.variant
        self.position = Position.start(variant)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        variant = self.position.variant
        count = math.comb(variant.deck.size - variant.hand_size * len(self.position.hands), variant.hand_size)
        return [(outcome, 1.0 / count) for outcome in range(count)]

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


class Observer(DealObserver):
    """What a player sees: an observer of OpenSpiel.

    The tensor has the seat, its observation as in the environments, and, for information states, every play so far,
    which gives perfect recall. The string has the same contents as text.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation`` (view_size,), ``plays`` (decision, action).
    """

    @staticmethod
    def sizes(game: SmallGame) -> tuple[int, int]:
        return game.variant.view_size, game.variant.num_actions

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


SmallGame.observer = Observer


def _game_type(name: str) -> Any:
    return deal_type(name, f"trick_envs_{name}", "a small variant", 2, {**SIZES, **game_type(name).options})


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
