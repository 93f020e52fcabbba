"""The games at full size as games of OpenSpiel, dealt card by card: too large for a tree, made for sampling."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from trick_envs.engine.cards import WORD, members
from trick_envs.engine.game import Game
from trick_envs.engine.inspect import places
from trick_envs.engine.kernels.playing import ZERO_SUM
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import copy_states
from trick_envs.interfaces.openspiel.deal import DealGame, DealObserver, DealPosition, DealState, deal_type

Play = tuple[int, int, int]  # the seat, its action, and who knows the action: a set of seats, as bits


@dataclass(frozen=True)
class FullPosition(DealPosition):
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        game: the game, for one deal.
        record: ``(1,)``, the template as long as cards are dealt.
        dealt: the kinds of the cards dealt so far: hand after hand, then the stock.
        plays: every decision so far.
        returns: by seat; 0 until the deal is over.
        before: the position before the last play, if known.
        digests: ``digest`` by seat, where it has been computed.
    """

    game: Game
    record: Any
    returns: tuple[float, ...]
    dealt: tuple[int, ...] = ()
    plays: tuple[Play, ...] = ()
    before: FullPosition | None = None
    digests: dict[int, str] = field(default_factory=dict)

    @property
    def dealing(self) -> bool:
        return len(self.dealt) < self.game.deck.size

    def undealt(self) -> dict[int, int]:
        """How many cards of each kind are not dealt yet; kinds ascend."""
        gone, deck = Counter(self.dealt), self.game.deck
        return {kind: deck.copies - gone[kind] for kind in range(deck.kinds) if gone[kind] < deck.copies}

    def with_card(self, kind: int) -> FullPosition:
        """The position after the next card was dealt. Seat 0 deals."""
        dealt, record = (*self.dealt, kind), self.record
        if len(dealt) == self.game.deck.size:
            order = [each + WORD * (each in dealt[:i]) for i, each in enumerate(dealt)]
            record = copy_states(self.game.template)
            self.game.kernels.deal_order(record, np.array(order), 0)
        return dataclasses.replace(self, record=record, dealt=dealt, digests={})

    def played(self, action: int) -> FullPosition:
        """The position after a legal action."""
        record, returns = copy_states(self.record), np.zeros(self.game.num_players)
        self.game.kernels.step_one(record, action, ZERO_SUM, returns)
        plays = (*self.plays, (self.seat, action, self._who_knows(action, record)))
        return dataclasses.replace(
            self, record=record, returns=tuple(returns.tolist()), plays=plays, before=self, digests={}
        )

    def _who_knows(self, action: int, after: Any) -> int:
        """The seats that know a card that has just been named: all if it lies open now, else those that see it."""
        n, copies, it = self.game.num_players, self.game.deck.copies, np.zeros(2, np.int64)
        for card in (action, action + WORD)[:copies]:
            it[card // WORD] |= 1 << card % WORD
        lies = {name: (after[name][0] & it).any(axis=-1) for name in (*self.game.type.places, "seen")}
        if any(lies[name].any() for name, place in self.game.type.places.items() if place.open):
            return (1 << n) - 1
        return sum(1 << seat for seat in range(n) if seat == self.seat or lies["hand"][seat] or lies["seen"][seat])

    def view(self, seat: int) -> npt.NDArray[np.int8]:
        """What a seat observes, as in the environments."""
        out, mask = np.zeros(self.game.layout.size, np.int8), np.zeros(self.game.num_actions, np.int8)
        self.game.kernels.observe(self.record, 0, seat, out, mask)
        return out

    def digest(self, seat: int) -> str:
        """A digest of all that a seat has observed, play by play."""
        if seat not in self.digests:
            before = "" if self.before is None else self.before.digest(seat)
            self.digests[seat] = hashlib.sha256(before.encode() + self.view(seat).tobytes()).hexdigest()[:16]
        return self.digests[seat]

    def legal(self) -> list[int]:
        """The legal actions, ascending."""
        return sorted({self.game.deck.kind(card) for card in members(self.game.kernels.legal_cards(self.record))})

    def resampled(self, seat: int, rng: np.random.Generator) -> FullPosition:
        """The position in another world, drawn by ``Game.resample``, that looks the same to a seat.

        Nobody remembers there what the seat did not see others pass: it was another card.
        """
        record = self.game.resample(self.record, seat, rng)
        plays = tuple((actor, action, known if known >> seat & 1 else 0) for actor, action, known in self.plays)
        return dataclasses.replace(self, record=record, plays=plays, before=None, digests={seat: self.digest(seat)})


class FullGame(DealGame):
    """A deal of a game as a ``pyspiel.Game``. ``FULL_GAMES`` has a subclass for every game."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        kind = game_type(self.name)
        options = {"num_players": kind.default_players, **kind.options, **(params or {})}
        self.game = game = load_game(
            self.name, options["num_players"], 1, **{each: options[each] for each in kind.options}
        )
        super().__init__(game, _game_type(self.name), game.deck.kinds, options)

    def max_chance_nodes_in_history(self) -> int:
        return self.game.deck.size

    def new_initial_state(self) -> FullState:
        return FullState(self)


class FullState(DealState):
    """A ``FullPosition`` as a ``pyspiel.State``."""

    def __init__(self, game: FullGame) -> None:
        super().__init__(game)
        self.position = FullPosition(game.game, game.game.template, (0.0,) * game.game.num_players)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        undealt = self.position.undealt()
        return [(kind, count / sum(undealt.values())) for kind, count in undealt.items()]

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.legal()

    def _apply_action(self, action: int) -> None:
        position = self.position
        self.position = position.with_card(action) if position.dealing else position.played(action)

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

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> FullState:
        """A random state of the same information state: a sampled world (``Game.resample``).

        It can be played on and sampled again. Its ``history()`` stays the one of this state.
        """
        state = self.clone()
        state.position = self.position.resampled(player, np.random.default_rng(int(sampler() * 2**53)))
        return state


class FullObserver(DealObserver):
    """What a player sees: an observer of OpenSpiel.

    The tensor has the seat, its observation as in the environments, and, for information states, every play that it
    has seen. The string has the same contents as text; its last piece is a digest of the observation, for information
    states of all observations so far, which gives perfect recall.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation`` (D,), ``plays`` (decision, suit and rank).
    """

    @staticmethod
    def sizes(game: FullGame) -> tuple[int, int]:
        deck = game.game.deck
        return game.game.layout.size, len(deck.suits) + len(deck.ranks)

    def set_from(self, state: FullState, player: int) -> None:
        position, deck = state.position, state.position.game.deck
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        self.dict["observation"][:] = position.view(player)
        if "plays" in self.dict:
            for row, (_, action, known) in zip(self.dict["plays"], position.plays, strict=False):
                if known >> player & 1:
                    suit, rank = divmod(action, len(deck.ranks))
                    row[suit] = row[len(deck.suits) + rank] = 1.0

    def string_from(self, state: FullState, player: int) -> str:
        position, deck = state.position, state.position.game.deck
        pieces = [f"{place}: {' '.join(deck.format_all(some))}" for place, some in _visible(position, player) if some]
        if "plays" in self.dict:
            pieces += [_plays(position, player), position.digest(player)]
        else:
            pieces.append(hashlib.sha256(position.view(player).tobytes()).hexdigest()[:16])
        return " | ".join([f"player_{player}", *pieces])


def _visible(position: FullPosition, player: int) -> Iterable[tuple[str, list[int]]]:
    """The places with the cards in them that a player knows to be there."""
    game, kinds = position.game, position.game.type.places
    seen = {*members(tuple(position.record["seen"][0][player].tolist()))}
    for place, some in places(game, position.record).items():
        open_to_it = kinds[place.partition(" ")[0]].open or place == f"hand {player}"
        yield place, some if open_to_it else [card for card in some if card in seen]


def _plays(position: FullPosition, player: int | None) -> str:
    """The plays in order, with what a player does not know as ``?``; all of them for ``None``."""
    told = [
        f"{seat} {position.game.deck.format(action) if player is None or known >> player & 1 else '?'}"
        for seat, action, known in position.plays
    ]
    return "played: " + ", ".join(told)


FullGame.observer = FullObserver


def _game_type(name: str) -> Any:
    game = game_type(name)
    parameters = {"num_players": game.default_players, **game.options}
    return deal_type(name, f"trick_envs_full_{name}", "one deal", min(game.players), parameters)


FULL_GAMES: dict[str, type[FullGame]] = {
    name: type(f"Full_{name}", (FullGame,), {"name": name}) for name in game_names()
}
for _name, _game in FULL_GAMES.items():
    pyspiel.register_game(_game_type(_name), _game)


def full(name: str, num_players: int | None = None, **options: bool) -> FullGame:
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
    return FULL_GAMES[name]({"num_players": game.num_players, **game.options})
