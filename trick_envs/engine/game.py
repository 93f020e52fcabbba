"""What a rules file says of its game, and a game set up for a match.

A rules file (see ``trick_envs/games/pepper.py``) defines ``GAME = Game(…)`` and these functions, compiled with
``@rule``:

    begin(state)            the cards are dealt: what happens before the first decision
    legal(state)            the cards that the seat to act may name
    play(state, card)       the seat to act names a card; sets the phase to ``OVER`` when the deal has ended
    score_deal(state)       writes ``state.deal_score``
    features(state, observer, out, at)   writes the game's own part of the observation, returns where it ends
    worth(state, card)      how much a rule-of-thumb player likes to name a legal card, from what its seat has seen

and, where the game is not the usual kind, any of those in ``trick_envs/engine/usual.py``.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np

from trick_envs.engine import observation
from trick_envs.engine.cards import WORD, Deck
from trick_envs.engine.observation import Block
from trick_envs.engine.table import COMMON_PLACES, Place, record_type

MAX_DEALS = 10_000
MAX_SEED = 2**64 - 1


@dataclass(frozen=True)
class Game:
    """A game, as its rules file declares it.

    Attributes:
        title: the name on the box.
        players: the numbers of players it is for.
        default_players: the number if nobody asks for another.
        deck: the cards for a number of players.
        hand_size: cards dealt to each seat, for a number of players.
        deals: how many deals the original plays or recommends (at most), for a number of players.
        phases: the phases that occur (observations mark the current one).
        teams: seats 0 and 2 play against seats 1 and 3.
        hands_seen: a seat may come to know cards in the hands of others (observations then show which).
        places: places where cards lie, beside hands, table and piles.
        match_fields: fields of the record that last for a match, as for ``numpy.dtype``.
        deal_fields: fields of the record that are zero when a deal begins.
        derived: the names of those fields that nobody needs to see, as other blocks tell what they hold.
        options: the keyword arguments of the environment beside the common ones, with their defaults
            (each one's field of the record comes by itself).
        demands: for a phase, the rule that a card may break which the seat has, in a sentence.
        blocks: the game's own part of the observation, for a number of players; ``features`` writes it.
        secret_blocks: what ``state()`` shows beside hands and observation; ``secrets`` writes it.
    """

    title: str
    players: Sequence[int]
    default_players: int
    deck: Callable[[int], Deck]
    hand_size: Callable[[int], int]
    deals: Callable[[int], int]
    phases: Sequence[int]
    teams: bool = False
    hands_seen: bool = False
    places: Sequence[Place] = ()
    match_fields: Sequence[tuple[Any, ...]] = ()
    deal_fields: Sequence[tuple[Any, ...]] = ()
    derived: Sequence[str] = ()
    options: Mapping[str, bool] = field(default_factory=dict)
    demands: Mapping[int, str] = field(default_factory=dict)
    blocks: Callable[[int], Sequence[Block]] = lambda num_players: ()
    secret_blocks: Callable[[int], Sequence[Block]] = lambda num_players: ()


class Rules:
    """A rules file, loaded: the game, its record type and its compiled kernels.

    Attributes:
        name: the file's name, such as ``"pepper"``.
        game: what the file declares.
        version: of the environment; observations and records of different versions do not mix.
        places: all places of the record.
        dtype: the record.
    """

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        self.module = module
        self.game: Game = module.GAME
        self.version = 0
        self.places = (*COMMON_PLACES, *self.game.places)
        decks = [self.game.deck(players) for players in self.game.players]
        self.dtype = record_type(
            max(self.game.players),
            max(len(deck.suits) for deck in decks),
            max(deck.kinds for deck in decks),
            max(deck.size for deck in decks),
            self.places,
            [*((option, np.int8) for option in self.game.options), *self.game.match_fields],
            self.game.deal_fields,
        )

    @cached_property
    def kernels(self) -> Any:
        """The compiled kernels of the game (see ``trick_envs/engine/kernels.py``)."""
        from trick_envs.engine import search  # noqa: F401 - its kernels are bound with the others
        from trick_envs.engine.kernels import bind_kernels

        return bind_kernels(self._modules(), self.name, self.game)

    def _modules(self) -> list[ModuleType]:
        """The rules file, and what search must know of the game besides, if there is such a file."""
        worlds = f"trick_envs.worlds.{self.name}"
        return [self.module, *([importlib.import_module(worlds)] if importlib.util.find_spec(worlds) else [])]

    def __reduce__(self) -> tuple[Any, ...]:
        return load_rules, (self.name,)

    def __repr__(self) -> str:
        return f"<rules of {self.name}>"


@cache
def game_names() -> tuple[str, ...]:
    """The games of the house: the files in ``trick_envs/games``."""
    from trick_envs import games

    return tuple(sorted(module.name for module in pkgutil.iter_modules(games.__path__)))


@cache
def load_rules(name: str) -> Rules:
    """The rules of a game by name.

    Raises:
        ValueError: if there is no such game; names those there are.
    """
    if name not in game_names():
        raise ValueError(f"there is no game {name!r}: choose one of {', '.join(game_names())}")
    return Rules(name, importlib.import_module(f"trick_envs.games.{name}"))


class Setup:
    """A game, set up for a match: players, length, options. Equal setups are the same object.

    Attributes:
        rules: the game.
        num_players: seats at the table.
        num_deals: exact length of the match, or ``None`` for the original's.
        options: the game's options, all of them.
        deck: the cards.
        template: one record (shape ``(1,)``) from which every match starts.
        num_actions: the number of kinds of cards.
        layout: the observation, block by block.
        state_layout: the same for ``state()``.
    """

    def __init__(self, rules: Rules, num_players: int, num_deals: int | None, options: dict[str, Any]) -> None:
        game = rules.game
        self.rules, self.num_players, self.num_deals, self.options = rules, num_players, num_deals, options
        self.deck = game.deck(num_players)
        self.hand_size = game.hand_size(num_players)
        self.num_actions = self.deck.kinds
        self.layout = observation.layout(game, self.deck, num_players)
        self.state_layout = observation.state_layout(game, self.deck, num_players)
        self.template = self._template()

    def _template(self) -> Any:
        deck, game = self.deck, self.rules.game
        template = np.zeros(1, self.rules.dtype)
        start = template[0]
        start.num_players = self.num_players
        start.num_deals = game.deals(self.num_players) if self.num_deals is None else self.num_deals
        start.original = self.num_deals is None
        start.teams = game.teams
        start.hand_size = self.hand_size
        start.num_suits, start.num_ranks, start.copies = len(deck.suits), len(deck.ranks), deck.copies
        start.inverse = -(-(2**16) // len(deck.ranks))
        start.kinds, start.num_cards = deck.kinds, deck.size
        for card in deck.cards:
            start.of_suit[deck.kind(card) // len(deck.ranks), card // WORD] |= 1 << (card % WORD)
        for option, value in self.options.items():
            start[option] = value
        template.flags.writeable = False
        return template

    @property
    def kernels(self) -> Any:
        """The game's compiled kernels."""
        return self.rules.kernels

    def resample(self, states: Any, seats: Any, rng: np.random.Generator) -> Any:
        """Hidden worlds: the games with all that a seat has not seen drawn anew, from what it holds possible.

        The draw is uniform over the worlds with the same hand sizes in which the seat would have seen the same, as far
        as they respect publicly known voids (and what the rules force: ``plausible`` in ``trick_envs/worlds``); it is
        exact but for positions in which hardly any draw does (``resample`` in ``trick_envs/engine/search.py``). The
        observation of the seat stays the same to the bit, and the random numbers of later deals are others.

        Args:
            states: ``(B,)`` records, such as ``BatchEnv.states`` or ``env.unwrapped.states`` of an AEC environment.
                They stay as they are. For many worlds of one game, repeat its record (``np.repeat``).
            seats: who has seen what it has seen: one seat for all, or ``(B,)``, such as ``BatchEnv.seats``.
            rng: where the draws come from.

        Returns:
            ``(B,)`` fresh records.

        Raises:
            ValueError: if the records are of another game, or there is no such seat.
        """
        from trick_envs.engine.search import ROWS, WIDTH

        worlds, observers = np.array(states), np.asarray(seats)
        if worlds.dtype != self.rules.dtype or worlds.ndim != 1 or (worlds["num_players"] != self.num_players).any():
            raise ValueError(f"states: expected records of {self!r}, shape (B,), not shape {worlds.shape}")
        whole = observers.dtype.kind in "iu" and ((observers >= 0) & (observers < self.num_players)).all()
        if not whole or observers.shape not in ((), worlds.shape):
            raise ValueError(
                f"seats: expected seats of 0 to {self.num_players - 1}, one or {len(worlds)}, not {seats!r}"
            )
        streams = rng.integers(2**64, size=len(worlds), dtype=np.uint64)
        observers = np.broadcast_to(observers, worlds.shape).astype(np.int64)
        self.kernels.resample_all(worlds, observers, streams, np.zeros((ROWS, WIDTH), np.int64))
        return worlds

    def __reduce__(self) -> tuple[Any, ...]:
        return _setup, (self.rules.name, self.num_players, self.num_deals, tuple(self.options.items()))

    def __repr__(self) -> str:
        return f"<{self.rules.name} for {self.num_players}>"


def setup(name: str, num_players: int | None = None, num_deals: int | None = None, **options: Any) -> Setup:
    """Sets up a game.

    Args:
        name: the game, such as ``"pepper"``.
        num_players: seats, where the rules allow a choice; the default is the game's own.
        num_deals: exact number of deals in a match; ``None`` plays what the original plays or recommends.
        options: the game's own options.

    Raises:
        ValueError: for an unknown game, a number of players that the game is not for, a bad ``num_deals``.
        TypeError: for an option that the game does not have.
    """
    game = load_rules(name).game
    players = game.default_players if num_players is None else num_players
    if players not in game.players or isinstance(players, bool):
        allowed = " or ".join(map(str, game.players))
        raise ValueError(f"num_players: {name} is for {allowed} players, not {num_players!r}")
    if num_deals is not None and (
        isinstance(num_deals, bool) or not isinstance(num_deals, (int, np.integer)) or not 1 <= num_deals <= MAX_DEALS
    ):
        raise ValueError(f"num_deals: expected None or a whole number of 1 to {MAX_DEALS:,}, not {num_deals!r}")
    for option, value in options.items():
        if option not in game.options:
            known = ", ".join(game.options) or "none"
            raise TypeError(f"{name} has no option {option!r} (its options: {known})")
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{option}: expected True or False, not {value!r}")
    chosen = {option: bool(options.get(option, default)) for option, default in game.options.items()}
    return _setup(name, int(players), None if num_deals is None else int(num_deals), tuple(chosen.items()))


@cache
def _setup(name: str, num_players: int, num_deals: int | None, options: tuple[tuple[str, bool], ...]) -> Setup:
    return Setup(load_rules(name), num_players, num_deals, dict(options))
