"""The games at full size as games of OpenSpiel, dealt card by card: too large for a tree, made for sampling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from trick_envs.engine.cards import WORD, members
from trick_envs.engine.game import Game
from trick_envs.engine.inspect import places
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import States
from trick_envs.interfaces.openspiel.deal import (
    CHANCE,
    DealGame,
    DealObserver,
    DealPosition,
    DealState,
    Mask,
    Moves,
    deal_type,
    moves,
)

Play = tuple[int, int, int]  # the seat, its action, and who knows the action: a set of seats, as bits


class FullPosition(DealPosition):
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        dealt: the kinds of the cards dealt so far: hand after hand, then the stock.
        left: how many cards of each kind are not dealt yet.
        before: the position before the last play, if known.
        last: the last play: the seat and its action; ``None`` without one.
    """

    __slots__ = ("_digests", "_moves", "_plays", "before", "dealt", "last", "left")

    def __init__(
        self,
        moves: Moves,
        record: States,
        player: int,
        mask: Mask,
        returns: tuple[float, ...],
        dealt: tuple[int, ...],
        left: Sequence[int],
        before: FullPosition | None = None,
        last: tuple[int, int] | None = None,
    ) -> None:
        self.game, self.record, self.player, self.mask, self.returns = moves.game, record, player, mask, returns
        self._moves, self.dealt, self.left, self.before, self.last = moves, dealt, left, before, last
        self._plays: tuple[Play, ...] | None = None if last is not None else ()
        self._digests: dict[int, str] = {}

    @classmethod
    def start(cls, game: Game) -> FullPosition:
        """Before the first card is dealt."""
        own, deck = moves(game, game.layout.size), game.deck
        return cls(own, game.template, CHANCE, own.no_action, own.nothing, (), [deck.copies] * deck.kinds)

    def with_card(self, kind: int) -> FullPosition:
        """The position after the next card was dealt. Seat 0 deals."""
        own, dealt, left = self._moves, (*self.dealt, kind), [*self.left]
        left[kind] -= 1
        if len(dealt) < self.game.deck.size:
            return FullPosition(own, self.record, CHANCE, self.mask, self.returns, dealt, left)
        order, first = [], set[int]()
        for each in dealt:
            order.append(each + WORD * (each in first))
            first.add(each)
        return FullPosition(own, *own.dealt(order), self.returns, dealt, left)

    def played(self, action: int) -> FullPosition:
        """The position after a legal action."""
        after = self._moves.played(self.record, action)
        return FullPosition(self._moves, *after, self.dealt, self.left, self, (self.player, action))

    @property
    def plays(self) -> tuple[Play, ...]:
        """Every decision so far, with who knows of it: found out when somebody asks."""
        unknown, position = list[FullPosition](), self
        while position._plays is None:
            assert position.before is not None
            unknown.append(position)
            position = position.before
        found = position._plays
        for position in reversed(unknown):
            assert position.last is not None
            found = position._plays = (*found, (*position.last, position._who_knows(*position.last)))
        return found

    def _who_knows(self, actor: int, action: int) -> int:
        """The seats that know the card that has just been named: all if it lies open now, else those that see it."""
        game, words, it = self.game, self.record.view(np.int64), np.int64(1 << action % WORD)
        of_the_card = slice(0, 2) if game.deck.copies == 2 else slice(action // WORD, action // WORD + 1)
        if (words[_words(game, "open")[:, of_the_card]] & it).any():
            return (1 << game.num_players) - 1
        knows = (words[_words(game, "hand")[:, of_the_card]] | words[_words(game, "seen")[:, of_the_card]]) & it
        return 1 << actor | sum(1 << int(seat) for seat in np.flatnonzero(knows.any(axis=1)))

    def view(self, seat: int) -> npt.NDArray[np.int8]:
        """What a seat observes, as in the environments."""
        return self._moves.view(self.record, seat)

    def digest(self, seat: int) -> str:
        """A digest of all that a seat has observed, play by play."""
        if seat not in self._digests:
            before = "" if self.before is None else self.before.digest(seat)
            self._digests[seat] = hashlib.sha256(before.encode() + self.view(seat).tobytes()).hexdigest()[:16]
        return self._digests[seat]

    def resampled(self, seat: int, rng: np.random.Generator) -> FullPosition:
        """The position in another world, drawn by ``Game.resample``, that looks the same to a seat.

        Nobody remembers there what the seat did not see others pass: it was another card.
        """
        record = self.game.resample(self.record, seat, rng)
        _, mask = self._moves.look(record)
        other = FullPosition(self._moves, record, self.player, mask, self.returns, self.dealt, self.left)
        other._plays = tuple((actor, action, known if known >> seat & 1 else 0) for actor, action, known in self.plays)
        other._digests[seat] = self.digest(seat)
        return other


@cache
def _words(game: Game, place: str) -> npt.NDArray[np.int64]:
    """Where the card sets of a place lie in a record, ``(sets, 2)``, in words; ``"open"``: those of all open places."""
    names = [name for name, each in game.type.places.items() if each.open] if place == "open" else [place]
    assert game.dtype.fields is not None
    fields = [game.dtype.fields[name] for name in names]
    return np.concatenate([at // 8 + np.arange(kind.itemsize // 8).reshape(-1, 2) for kind, at, *_ in fields])


class FullGame(DealGame):
    """A deal of a game as a ``pyspiel.Game``. ``FULL_GAMES`` has a subclass for every game."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        kind = game_type(self.name)
        options = {"num_players": kind.default_players, **kind.options, **(params or {})}
        self.game = game = load_game(
            self.name, options["num_players"], 1, **{each: options[each] for each in kind.options}
        )
        self.start = FullPosition.start(game)
        super().__init__(game, _game_type(self.name), game.deck.kinds, options)

    def max_chance_nodes_in_history(self) -> int:
        return self.game.deck.size

    def new_initial_state(self) -> FullState:
        return FullState(self)


class FullState(DealState):
    """A ``FullPosition`` as a ``pyspiel.State``."""

    def __init__(self, game: FullGame) -> None:
        super().__init__(game)
        self.position = game.start

    def chance_outcomes(self) -> list[tuple[int, float]]:
        position = self.position
        total = position.game.deck.size - len(position.dealt)
        return [(kind, count / total) for kind, count in enumerate(position.left) if count]

    def _apply_action(self, action: int) -> None:
        position = self.position
        self.position = position.with_card(action) if position.player == CHANCE else position.played(action)

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
            plays, ranks, width = self.dict["plays"].reshape(-1), len(deck.ranks), len(deck.suits) + len(deck.ranks)
            known = [(row, action) for row, (_, action, by) in enumerate(position.plays) if by >> player & 1]
            plays[[row * width + action // ranks for row, action in known]] = 1.0
            plays[[row * width + len(deck.suits) + action % ranks for row, action in known]] = 1.0

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
