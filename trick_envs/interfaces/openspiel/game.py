"""The games of OpenSpiel: one deal, at full size or small; game, state, observer, and their registration."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyspiel

from trick_envs.engine.arguments import seat_number
from trick_envs.engine.game import Game
from trick_envs.engine.positions import places, trick_in, visible_cards
from trick_envs.engine.registry import all_games, game_type, load_game
from trick_envs.errors import InputError
from trick_envs.interfaces.openspiel.position import CHANCE, TERMINAL, Position, moves
from trick_envs.interfaces.openspiel.variant import NAMES, SIZES, Variant, all_open, load_variant

_NOBODY = {CHANCE: pyspiel.PlayerId.CHANCE, TERMINAL: pyspiel.PlayerId.TERMINAL}


class DealGame(pyspiel.Game):
    """A deal as a ``pyspiel.Game``. ``full`` and ``small`` make one.

    Attributes:
        name: the game.
        is_small: whether it is a small variant.
        game: what is played.
        start: the position before the first card is dealt.
    """

    name: str
    is_small: bool

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**_parameters(self.name, self.is_small), **(params or {})}
        options = {each: given[each] for each in game_type(self.name).options}
        if self.is_small:
            self.game: Game = load_variant(
                self.name, **{each: given[each] for each in SIZES}, options=tuple(options.items())
            )
        else:
            self.game = load_game(self.name, given["num_players"], 1, **options)
        self.start, deck = Position.start(self.game), self.game.deck
        most = float(deck.size * (len(deck.ranks) + 1))  # no card counts 2 more than its suit has cards
        info = pyspiel.GameInfo(
            num_distinct_actions=self.game.num_actions,
            max_chance_outcomes=deck.kinds,
            num_players=self.game.num_players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=self.most_plays,
        )
        super().__init__(_game_type(self.name, self.is_small), info, given)

    @property
    def most_plays(self) -> int:
        """An upper bound on the decisions in a deal: every trick takes at least one card from a hand."""
        return self.game.num_players**2 * self.game.hand_size

    def max_chance_nodes_in_history(self) -> int:
        return self.game.deck.size

    def new_initial_state(self) -> DealState:
        return DealState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Any:
        return DealObserver(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (str(self),)


class DealState(pyspiel.State):
    """A ``Position`` as a ``pyspiel.State``."""

    def __init__(self, game: DealGame) -> None:
        super().__init__(game)
        self.position = game.start

    def current_player(self) -> int:
        player = self.position.player
        return player if player >= 0 else _NOBODY[player]

    def is_terminal(self) -> bool:
        return bool(self.position.player == TERMINAL)

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return self.position.next_cards()

    def _apply_action(self, action: int) -> None:
        position = self.position
        self.position = position.with_card(action) if position.player == CHANCE else position.played(action)

    def returns(self) -> list[float]:
        return list(self.position.returns)

    def _action_to_string(self, player: int, action: int) -> str:
        game, card = self.position.game, self.position.game.deck.format(action)
        if player != pyspiel.PlayerId.CHANCE:
            return card
        seat = len(self.position.dealt) // game.hand_size
        return f"player_{seat} gets {card}" if seat < game.num_players else f"stock: {card}"

    def __str__(self) -> str:
        position, deck = self.position, self.position.game.deck
        if position.dealing:
            return " ".join(map(deck.format, position.dealt))
        lies = [
            f"{place}: {' '.join(deck.format_all(some))}"
            for place, some in places(position.game, position.record).items()
        ]
        return " | ".join([*lies, _plays(position, None)])

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> DealState:
        """A random state of the same information state; all deals that lead to one have the same probability.

        At full size it is a sampled world (``Game.resample``): it can be played on and sampled again, and its
        ``history()`` stays the one of this state. While cards are dealt, nobody has seen one: as many are dealt anew.
        """
        if self.position.dealing:
            state = self.get_game().new_initial_state()
            for _ in self.position.dealt:
                cards, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(cards[int(np.searchsorted(np.cumsum(chances[:-1]), sampler(), side="right"))])
            return state
        if not isinstance(self.position.game, Variant):
            state = self.clone()
            state.position = self.position.resampled(player, np.random.default_rng(int(sampler() * 2**53)))
            return state
        wanted = self.information_state_string(player)
        while True:  # ``Game.resample`` knows nothing of cards that lie nowhere, and a variant is small
            state = self.get_game().new_initial_state()
            for card in itertools.chain.from_iterable(self.position.hands_anew(player, sampler)):
                state.apply_action(card)
            for _, action, _ in self.position.plays:
                if action not in state.legal_actions():
                    break
                state.apply_action(action)
            else:
                if state.information_state_string(player) == wanted:
                    return state


class DealObserver:
    """What a player sees: an observer of OpenSpiel.

    The tensor has the seat, its observation as in the environments, and, for information states, every play that it
    has seen. The string has the same contents as text. Its last piece is a digest of the observation; for information
    states of all observations so far, which gives perfect recall, where plays and open cards do not say all.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation`` (D,), and, for information states only, ``plays``
            (decision, suit and rank).
    """

    def __init__(self, game: DealGame, iig_obs_type: Any, params: dict[str, Any] | None = None) -> None:
        if params or not iig_obs_type.public_info or iig_obs_type.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise InputError("observers show what is public and the player's own cards, and have no parameters")
        shapes: dict[str, tuple[int, ...]] = {
            "player": (game.num_players(),),
            "observation": (moves(game.game).size,),
        }
        if iig_obs_type.perfect_recall:
            shapes["plays"] = (game.most_plays, len(game.game.deck.suits) + len(game.game.deck.ranks))
        ends = list(itertools.accumulate(map(math.prod, shapes.values())))
        self.tensor = np.zeros(ends[-1], np.float32)
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def set_from(self, state: DealState, player: int) -> None:
        position, deck = state.position, state.position.game.deck
        player = seat_number(player, position.game.num_players, "player", "a player")
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        self.dict["observation"][:] = position.view(player)
        if "plays" in self.dict:
            plays, ranks, width = self.dict["plays"].reshape(-1), len(deck.ranks), len(deck.suits) + len(deck.ranks)
            known = [(row, action) for row, (_, action, by) in enumerate(position.plays) if by >> player & 1]
            plays[[row * width + action // ranks for row, action in known]] = 1.0
            plays[[row * width + len(deck.suits) + action % ranks for row, action in known]] = 1.0

    def string_from(self, state: DealState, player: int) -> str:
        position, deck = state.position, state.position.game.deck
        player = seat_number(player, position.game.num_players, "player", "a player")
        pieces = [f"{place}: {' '.join(deck.format_all(some))}" for place, some in _visible(position, player) if some]
        if "plays" in self.dict:
            pieces.append(_plays(position, player))
            if not all_open(position.game.type):
                pieces.append(position.digest(player))
        else:
            trick = ", ".join(f"{seat} {deck.format(kind)}" for seat, kind in trick_in(position.game, position.record))
            pieces += [f"trick: {trick}", hashlib.sha256(position.view(player).tobytes()).hexdigest()[:16]]
        return " | ".join([f"player_{player}", *pieces])


def _visible(position: Position, player: int) -> Iterable[tuple[str, list[int]]]:
    """The places with the cards in them that a player knows to be there; the table is told card by card."""
    visible = visible_cards(position.game, position.record, player)
    for place, some in places(position.game, position.record).items():
        if place != "table":
            yield place, [card for card in some if visible[place.partition(" ")[0]] >> card & 1]


def _plays(position: Position, player: int | None) -> str:
    """The plays in order, with what a player does not know as ``?``; all of them for ``None``."""
    told = [
        f"{seat} {position.game.deck.format(action) if player is None or known >> player & 1 else '?'}"
        for seat, action, known in position.plays
    ]
    return "played: " + ", ".join(told)


# --- registration -------------------------------------------------------------------------------------------------


def _parameters(name: str, is_small: bool) -> dict[str, Any]:
    """The parameters of a game of OpenSpiel, with their defaults."""
    game = game_type(name)
    return {**(SIZES if is_small else {"num_players": game.default_players}), **game.options}


def _game_type(name: str, is_small: bool) -> Any:
    """The ``pyspiel.GameType`` of a game's deals."""
    game = game_type(name)
    return pyspiel.GameType(
        short_name=f"trick_envs_{name}" if is_small else f"trick_envs_full_{name}",
        long_name=f"{game.title}, {'a small variant' if is_small else 'one deal'}",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=max(game.players),
        min_num_players=2 if is_small else min(game.players),
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_parameters(name, is_small),
    )


def _register(name: str, is_small: bool) -> type[DealGame]:
    found = type(f"{'Small' if is_small else 'Full'}_{name}", (DealGame,), {"name": name, "is_small": is_small})
    pyspiel.register_game(_game_type(name, is_small), found)
    return found


_FULL = {kind.name: _register(kind.name, False) for kind in all_games()}
_SMALL = {name: _register(name, True) for name in NAMES}


def full(name: str, num_players: int | None = None, **options: bool) -> DealGame:
    """A game at full size: one deal, dealt card by card.

    Args:
        name: the game, such as ``"pepper"``.
        num_players: seats, where the rules allow a choice; the default is the game's own.
        options: the game's own options.

    Raises:
        ValueError: for an unknown game, or a number of players that it is not for.
        TypeError: for an option that the game does not have.
    """
    game = load_game(name, num_players, 1, **options)  # or an error
    return _FULL[name]({"num_players": game.num_players, **game.options})


def small(
    name: str, num_players: int = 2, suits: int = 2, ranks: int = 4, hand_size: int = 3, **options: bool
) -> DealGame:
    """A small variant of a game: the game with another deck.

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
    load_variant(name, num_players, suits, ranks, hand_size, tuple(options.items()))  # or an error
    return _SMALL[name]({**sizes, **options})
