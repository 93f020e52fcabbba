"""The declaration of a game (``GameType``), and a game with its settings: players, length, options (``Game``).

The declaration is in the ``__init__.py`` of the game's folder (``trick_envs/games/pepper``), and names the modules
that define the hooks of ``engine/hooks.py``. Users get a ``Game`` from ``load_game``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from trick_envs.engine.arguments import seat_numbers
from trick_envs.engine.build.kernels import Kernels
from trick_envs.engine.cards import Deck
from trick_envs.engine.declaration import check_declaration
from trick_envs.engine.hooks import hooks_of
from trick_envs.engine.intrinsics import OF_TABLE
from trick_envs.engine.observation import Block, Layout
from trick_envs.engine.search.worlds import ROWS, WIDTH
from trick_envs.engine.state import PHASES, Field, Sizes, State, States, fields, record_dtype
from trick_envs.errors import InputError, checked, shown

GAMES_BY_NAME: dict[str, GameType] = {}  # those that the registry has found: another process finds them, too


@dataclass(frozen=True, eq=False)
class GameType:
    """The declaration of a game. (OpenSpiel uses the same word.)

    Attributes:
        name: identifier for ``load_game``: the name of the game's folder.
        title: the full name, for display.
        players: the supported numbers of players.
        default_players: the default number of players.
        deck: the cards for a number of players.
        hand_size: cards dealt to each seat, for a number of players.
        deals: how many deals the original plays or recommends (at most), for a number of players.
        until: how the original's match ends, if not after a number of deals: ``100 points``.
        phases: the phases that occur (the observation encodes the current one as one-hot).
        modules: the modules that define the game's hooks (``engine/hooks.py``); the rules come first.
        state: the class that declares the fields of a position.
        blocks: the game's own part of the observation, for a number of players; ``features`` writes it.
        hidden_blocks: what ``state()`` shows besides all hands and the observation; ``hidden_state`` writes it.
        legality_rules: for a phase, the rule that an illegal card in the seat's hand breaks, as the end of a sentence.
        hand_places: the places from which a seat may play cards; used in messages about illegal cards.
        teams: whether seats 0 and 2 play against seats 1 and 3.
        hands_seen: whether a seat may come to know cards in the hands of others (observations then show which).
        suit_symmetric: whether the rules treat all suits alike, apart from what the position says of
            each, such as trump.
        view: the module that shows what only this game has (``trick_envs/view``), if it has such a thing.
        version: version of the environment, a number written in the declaration; records and policies of other versions
            are rejected.

    Raises:
        ValueError: if the declaration does not fit what compiled code relies on (``engine/declaration.py``).
    """

    name: str
    title: str
    players: Sequence[int]
    default_players: int
    deck: Callable[[int], Deck]
    hand_size: Callable[[int], int]
    deals: Callable[[int], int]
    phases: Sequence[int]
    modules: Sequence[ModuleType]
    state: type[State] = State
    until: str = ""
    blocks: Callable[[int], Sequence[Block]] = lambda num_players: ()
    hidden_blocks: Callable[[int], Sequence[Block]] = lambda num_players: ()
    legality_rules: Mapping[int, str] = field(default_factory=dict)
    hand_places: Sequence[str] = ("hand",)
    teams: bool = False
    hands_seen: bool = False
    suit_symmetric: bool = True
    view: ModuleType | None = None
    version: int = 0

    def __post_init__(self) -> None:
        check_declaration(
            self, lambda num_players: (observation_layout(self, num_players), state_layout(self, num_players))
        )

    @cached_property
    def places(self) -> dict[str, Field]:
        """The places where cards lie, by the names of their fields."""
        return {name: each for name, each in fields(self.state).items() if each.cards}

    def legality_rule(self, phase: int) -> str:
        """The rule that an illegal card in the seat's hand breaks in a phase."""
        return self.legality_rules.get(phase, "the rules do not allow it")

    @property
    def options(self) -> dict[str, bool]:
        """The keyword arguments that change a rule, with their defaults."""
        declared = fields(self.state).items()
        return {name: each.default for name, each in declared if each.default is not None}

    @property
    def package(self) -> str:
        """The package that the game is part of: ``trick_envs``, or a plug-in's."""
        return self.modules[0].__name__.partition(".")[0]

    @property
    def versioned_name(self) -> str:
        """The name of the module of its AEC environments: ``pepper_v0``."""
        return f"{self.name}_v{self.version}"

    @property
    def folder(self) -> Path:
        """The folder with the game's source files."""
        file = self.modules[0].__file__
        assert file is not None
        return Path(file).parent

    def dtype_at(self, num_players: int, deck: Deck, hand_size: int) -> np.dtype[Any]:
        """The structured type of the records of one table."""
        sizes = Sizes(num_players, len(deck.suits), deck.size)
        return record_dtype(self.state, sizes, _of_table(self, num_players, deck, hand_size))

    @cached_property
    def _kernels(self) -> dict[int, Kernels]:
        return {}

    def kernels_at(self, num_players: int) -> Kernels:
        """The kernels (``engine/kernels``, ``engine/search``) of one table: plain Python at first, then compiled."""
        if num_players not in self._kernels:
            name, deck = f"{self.name}-{num_players}", self.deck(num_players)
            self._kernels[num_players] = Kernels(
                name,
                self.title if len(self.players) == 1 else f"{self.title}, {num_players} players",
                self.folder,
                self.dtype_at(num_players, deck, self.hand_size(num_players)),
                hooks_of(name, self.modules)
                | {
                    "PHASES_OF_GAME": tuple(self.phases),
                    "HANDS_SEEN": self.hands_seen,
                    "TWO_PACKS": deck.copies == 2,
                },
                lambda: GAMES_BY_NAME.get(self.name) is self,
            )
        return self._kernels[num_players]

    def __repr__(self) -> str:
        return f"<GameType {self.name}>"


def _of_table(game: GameType, num_players: int, deck: Deck, hand_size: int) -> dict[str, int]:
    """The fields of a position that follow from the number of players and the deck (``intrinsics.OF_TABLE``)."""
    suits, ranks = len(deck.suits), len(deck.ranks)
    inverse = -(-(2**16) // ranks)
    numbers = (num_players, int(game.teams), hand_size, suits, ranks, inverse, deck.copies, deck.kinds, deck.size)
    return dict(zip(OF_TABLE, numbers, strict=True))


class Game:
    """A game with its settings: number of players, length of a match, options. Equal games are the same object.

    Make one with ``load_game("pepper", num_players=5)``.

    Attributes:
        type: the declaration.
        name: identifier for ``load_game``.
        title: the full name, for display.
        num_players: seats at the table.
        num_deals: exact number of deals in a match, or ``None`` for what the original plays or recommends.
        deck: the cards.
        hand_size: cards dealt to each seat.
        num_actions: the number of kinds of cards.
        layout: the blocks of the observation.
        state_layout: the blocks of the vector that ``state()`` returns.
        dtype: the structured type of a position.
        template: one record (shape ``(1,)``) from which every match starts.
    """

    def __init__(
        self, game_type: GameType, num_players: int, num_deals: int | None, options: Mapping[str, bool]
    ) -> None:
        deck, hand_size = game_type.deck(num_players), game_type.hand_size(num_players)
        self._declare(game_type, num_players, num_deals, options, deck, hand_size)
        self.layout = observation_layout(game_type, num_players)
        self.state_layout = state_layout(game_type, num_players)

    def _declare(
        self,
        game_type: GameType,
        num_players: int,
        num_deals: int | None,
        options: Mapping[str, bool],
        deck: Deck,
        hand_size: int,
    ) -> None:
        self.type, self.name, self.title = game_type, game_type.name, game_type.title
        self.num_players, self.num_deals, self._options = num_players, num_deals, dict(options)
        self.deck, self.num_actions, self.hand_size = deck, deck.kinds, hand_size
        self.dtype = game_type.dtype_at(num_players, deck, hand_size)
        self.template = self._template()

    @property
    def options(self) -> dict[str, Any]:
        """The game's options, all of them; a new dict, as everybody has the same game."""
        return dict(self._options)

    def _template(self) -> States:
        template = np.zeros(1, self.dtype)
        start = template[0]
        start.num_deals = self.type.deals(self.num_players) if self.num_deals is None else self.num_deals
        start.original = self.num_deals is None
        for name, value in (_of_table(self.type, self.num_players, self.deck, self.hand_size) | self.options).items():
            start[name] = value
        template.flags.writeable = False
        return template

    @cached_property
    def kernels(self) -> Kernels:
        """The kernels of the game: plain Python at first, then compiled."""
        return self.type.kernels_at(self.num_players)

    def resample(self, states: States, seats: Any, rng: np.random.Generator) -> States:
        """Samples hidden worlds: copies of the games in which the cards that a seat has not seen are redealt.

        Samples are uniform over the worlds with the same hand sizes in which the seat would have seen the same, and
        which respect publicly known voids and whatever else the rules force (the game's ``is_consistent``). Rejection
        sampling makes this exact, except in positions where almost all proposals are rejected (``resample`` in
        ``trick_envs/engine/search/worlds.py``). The seat's observation does not change in any bit; later deals get
        different random numbers. A sampled world is as good as a dealt game: it can be resampled for any seat, copied,
        and played to its end.

        Args:
            states: ``(B,)`` records, such as ``BatchEnv.states`` or ``env.unwrapped.states`` of an AEC environment.
                They are not modified. For many worlds of one game, repeat its record (``np.repeat``).
            seats: the observing seat: one for all records, or ``(B,)`` integers, such as ``BatchEnv.seats``.
            rng: source of random numbers.

        Returns:
            ``(B,)`` new records.

        Raises:
            ValueError: if the records are of another game, or there is no such seat.
        """
        drawn = np.array(checked_states(self, states))
        observers = seat_numbers(seats, self.num_players, len(drawn))
        checked(rng, np.random.Generator, "rng", "a NumPy Generator, such as np.random.default_rng(0)")
        streams = rng.integers(2**64, size=len(drawn), dtype=np.uint64)
        self.kernels.resample_batch(drawn, observers, streams, np.zeros((ROWS, WIDTH), np.int64))
        return drawn

    def __repr__(self) -> str:
        return f"<{self.name} for {self.num_players}>"


def checked_game(game: object) -> Game:
    """What somebody gives as a game, if it is one: neither its name nor an environment of it is.

    Raises:
        TypeError: if it is not.
    """
    return checked(game, Game, "game", "what load_game() returns, such as load_game('pepper')")


def checked_states(game: Game, states: Any, whose: str = "states", least: int = 0) -> States:
    """What somebody gives as positions of a game, if they are: one after the other, as machine code takes them.

    Args:
        game: the game.
        states: ``(B,)`` records.
        whose: how an error begins.
        least: how many there have to be.

    Raises:
        ValueError: if they are of another game, or no records.
    """
    fits = isinstance(states, np.ndarray) and states.dtype == game.dtype and states.ndim == 1 and len(states) >= least
    if not fits or (states["num_players"] != game.num_players).any():
        told = shown(states)
        if fits:
            told = "records that are all zeros"
        elif isinstance(states, np.ndarray):
            other = "records of another game" if states.dtype.names else str(states.dtype)
            told = f"shape {states.shape}" + (f" of {other}" if states.dtype != game.dtype else "")
        elif isinstance(states, np.void):
            told = "a single record: states[i : i + 1] stays an array"
        wanted = f"records of {game!r}, shape (B,), such as env.unwrapped.states"
        raise InputError(f"{whose}: expected {wanted}, not {told}")
    return np.require(np.asarray(states), requirements=["C", "A"])


# --- the observation of a game ------------------------------------------------------------------------------------

KNOWN = "how many the observer knows to be in that hand"
NUMBER = "as hundreds and the rest, both with the sign of the number (-137 is -1, -37)"


def observation_layout(game: GameType, num_players: int) -> Layout:
    """The observation of a game at a number of players."""
    n, deck = num_players, game.deck(num_players)
    kinds, suits, ranks = deck.kinds, len(deck.suits), len(deck.ranks)
    phases = ", ".join(PHASES[phase] for phase in game.phases)
    known = Block("known", (n - 1) * kinds, f"by other seat and card: {KNOWN}", deck.copies, unit="card")
    in_trick = f"the card it has in the trick, as one of {suits} suits and one of {ranks} ranks"
    return Layout(
        (
            Block("hand", kinds, "own hand: how many of each card", deck.copies, unit="card"),
            *([known] if game.hands_seen else []),
            Block(
                "gone",
                n * kinds,
                "by seat and card: cards of finished tricks that the seat played",
                deck.copies,
                unit="card",
            ),
            Block("table", n * (suits + ranks), f"by seat: {in_trick}", unit="suit and rank"),
            Block("void", n * suits, "by seat and suit: 1 if play has shown that it holds none", unit="suit"),
            Block("hand_size", n, "by seat: cards in hand", game.hand_size(n)),
            Block("phase", len(game.phases), f"the phase, one of {phases}"),
            Block("acts", n, "by seat: 1 if it acts (none when the match is over)"),
            Block("dealer", n, "by seat: 1 if it deals"),
            Block("deals_played", 2, f"finished deals of the match, {NUMBER}", 127),
            Block("deals_left", 2, f"deals to be played after this one (at most), {NUMBER}", 127),
            Block("score", 2 * n, f"by seat: match score before this deal, {NUMBER}", 127, -128),
            *game.blocks(n),
        )
    )


def state_layout(game: GameType, num_players: int) -> Layout:
    """The vector of ``state()``: all hands, whatever else is hidden, then the observation of seat 0."""
    n, deck = num_players, game.deck(num_players)
    kinds = deck.kinds
    hands = [Block("hands", n * kinds, "by seat and card: all hands", deck.copies, unit="card")]
    if game.hands_seen:
        meaning = f"by observer, other seat and card: {KNOWN}"
        hands.append(Block("knowledge", n * (n - 1) * kinds, meaning, deck.copies, unit="card"))
    return Layout((*hands, *game.hidden_blocks(num_players), *observation_layout(game, num_players)))
