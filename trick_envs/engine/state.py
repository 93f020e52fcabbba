"""A position: one record of a NumPy structured type, whose fields are declared once, here and by each game.

``State`` declares what all games share; a game adds its own fields in a subclass (``PepperState``). A declaration says
the type, the shape and the meaning of a field; the record's dtype, the type hints of the rules and the documentation
all come from it. At run time a state is a record (or a row of an array of records), never an instance of the class.

A batch is an array of records. Copying a record copies the game, its bytes save it; equal positions have equal bytes,
because the dtype has no unnamed padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from trick_envs.engine.build.rule import ArrayOf
from trick_envs.engine.intrinsics import FILLER, SLACK

# The phases: what naming a card means now. ``OVER`` says that the deal, or the match, has ended.
PHASES = ("lead", "follow", "pass", "keep", "pick", "over")
LEAD, FOLLOW, PASS, KEEP, PICK, OVER = range(len(PHASES))

MAX_PLAYERS = 16  # kernels return the seat to act in the low four bits of a number, and keep arrays of this length

# The arguments of rules and kernels. Where Python calls a kernel, they are arrays of exactly these types.
Numbers: TypeAlias = Annotated[npt.NDArray[np.int64], ArrayOf(np.int64, 1)]
NumberRows: TypeAlias = Annotated[npt.NDArray[np.int64], ArrayOf(np.int64, 2)]
Reals: TypeAlias = Annotated[npt.NDArray[np.float64], ArrayOf(np.float64, 1)]
Floats: TypeAlias = Annotated[npt.NDArray[np.float32], ArrayOf(np.float32, 1)]
FloatRows: TypeAlias = Annotated[npt.NDArray[np.float32], ArrayOf(np.float32, 2)]
Bytes: TypeAlias = Annotated[npt.NDArray[np.int8], ArrayOf(np.int8, 1)]  # an observation or a mask
ByteRows: TypeAlias = Annotated[npt.NDArray[np.int8], ArrayOf(np.int8, 2)]
Flags: TypeAlias = Annotated[npt.NDArray[np.bool_], ArrayOf(np.bool_, 1)]
Streams: TypeAlias = Annotated[npt.NDArray[np.uint64], ArrayOf(np.uint64, 1)]  # one random number generator per game
States: TypeAlias = Annotated[npt.NDArray[Any], ArrayOf(None, 1)]  # an array of positions, shape ``(B,)``
FixedStates: TypeAlias = Annotated[npt.NDArray[Any], ArrayOf(None, 1, readonly=True)]  # that are only read
Rewards: TypeAlias = npt.NDArray[np.floating]
Records: TypeAlias = npt.NDArray[Any]  # of a type that ``record_of`` has made
Place: TypeAlias = npt.NDArray[np.int64]  # a card set in the record: two words

# Axes of a field, resolved for the largest number of players of the game. A tuple of axes is their product: arrays
# with a row per seat are kept flat, so that the rows of a smaller game lie side by side.
PLAYERS, SUITS, CARDS, TRICK = "players", "suits", "cards", "trick"
Axis: TypeAlias = int | str | tuple[int | str, ...]
Lasts: TypeAlias = Literal["setup", "match", "deal"]


@dataclass(frozen=True)
class Field:
    """The declaration of one field of the record.

    Attributes:
        dtype: type of the numbers.
        meaning: description.
        shape: axes; ``()`` for a single number.
        lasts: ``"setup"`` (constant), ``"match"``, or ``"deal"`` (zero when a deal begins).
        cards: whether it is a place where cards lie, or one such place per seat.
        open: for a place: whether everybody sees the cards that lie there, or saw them go there.
        derived: whether it is left out of the observation because other parts imply it.
        default: for an option: the default value.
    """

    dtype: Any
    meaning: str
    shape: tuple[Axis, ...] = ()
    lasts: Lasts = "deal"
    cards: bool = False
    open: bool = True
    derived: bool = False
    default: bool | None = None

    @property
    def per_seat(self) -> bool:
        """For a place: whether there is one per seat."""
        return len(self.shape) == 2


def number(dtype: Any, meaning: str, lasts: Lasts = "deal", derived: bool = False) -> Any:
    """Declares a single number."""
    return Field(dtype, meaning, (), lasts, derived=derived)


def numbers(dtype: Any, shape: Sequence[Axis], meaning: str, lasts: Lasts = "deal", derived: bool = False) -> Any:
    """Declares an array of numbers; axes are integers, ``PLAYERS``, ``SUITS``, ``CARDS`` or tuples (products)."""
    return Field(dtype, meaning, tuple(shape), lasts, derived=derived)


def place(meaning: str, open: bool = True) -> Any:
    """Declares one place on the table where cards lie."""
    return Field(np.int64, meaning, (2,), cards=True, open=open)


def place_per_seat(meaning: str, open: bool = True) -> Any:
    """Declares a place in front of every seat where cards lie."""
    return Field(np.int64, meaning, (PLAYERS, 2), cards=True, open=open)


def option(default: bool, meaning: str) -> Any:
    """Declares a keyword argument of the environment, ``True`` or ``False``, that changes a rule."""
    return Field(np.int8, meaning, (), "setup", default=default)


class State:
    """The fields that every game has. Seats are numbered from 0 clockwise; cards as in ``engine/cards.py``."""

    num_players: int = number(np.int8, "seats at the table", "setup")
    num_deals: int = number(np.int32, "deals of the match (a maximum if the original can end earlier)", "setup")
    original: int = number(np.int8, "1: the match ends as the original says; 0: after exactly num_deals", "setup")
    teams: int = number(np.int8, "1: seats 0 and 2 play against seats 1 and 3", "setup")
    hand_size: int = number(np.int16, "cards dealt to each seat", "setup")
    num_suits: int = number(np.int8, "suits of the deck", "setup")
    num_ranks: int = number(np.int8, "ranks of the deck", "setup")
    inverse: int = number(np.int32, "1 / num_ranks in units of 2**-16, rounded up: division is slow", "setup")
    copies: int = number(np.int8, "cards of each kind: 1 or 2", "setup")
    kinds: int = number(np.int16, "kinds of card: the number of actions", "setup")
    num_cards: int = number(np.int16, "cards of the deck", "setup")

    seed: np.uint64 = number(np.uint64, "seed of the match", "match")
    rng: np.uint64 = number(np.uint64, "state of the generator that shuffles", "match")
    deal_score: Numbers = numbers(np.int32, (PLAYERS,), "by seat: points of the last finished deal", "match")
    score: Numbers = numbers(np.int32, (PLAYERS,), "by seat: points of the match so far", "match")
    deal_number: int = number(np.int32, "finished deals", "match")
    dealer: int = number(np.int8, "the seat that deals", "match")
    phase: int = number(np.int8, "what naming a card means now: LEAD, FOLLOW, …, OVER", "match")
    seat: int = number(np.int8, "the seat to act", "match")
    order: Numbers = numbers(np.int8, (CARDS,), "the cards as dealt: hand after hand, then the stock", "match")

    hand: Place = place_per_seat("the cards that a seat holds", open=False)
    table: Place = place("the cards of the running trick")
    pile: Place = place_per_seat("the cards that a seat has taken")
    gone: Place = numbers(np.int64, (PLAYERS, 2), "by seat: the cards that it played in finished tricks")
    seen: Place = numbers(np.int64, (PLAYERS, 2), "by seat: the cards in hidden places that it knows to be there")
    void: Numbers = numbers(np.int8, ((PLAYERS, SUITS),), "by seat and suit: 1 if it publicly has none")
    tricks: int = number(np.int16, "finished tricks")
    strength: int = number(np.int16, "strength of the card that takes the trick so far")
    trick_size: int = number(np.int8, "cards in the trick")
    trick: Numbers = numbers(np.int8, (TRICK,), "cards of the trick, in the order in which they were played")
    trick_seat: Numbers = numbers(np.int8, (TRICK,), "who played each of them")
    taking: int = number(np.int8, "the seat that takes the trick so far")


@dataclass(frozen=True)
class Sizes:
    """The largest table of a game: how long the axes of its fields are."""

    players: int
    suits: int
    cards: int

    @property
    def trick(self) -> int:
        """The most cards in a trick: one per seat, and a second lead card."""
        return self.players + 1

    def axis(self, axis: Axis) -> int:
        """The length of one axis."""
        if isinstance(axis, tuple):
            return int(np.prod([self.axis(factor) for factor in axis]))
        return axis if isinstance(axis, int) else int(getattr(self, axis))


def fields(state: type[State]) -> dict[str, Field]:
    """The field declarations of a state class, those of ``State`` first."""
    found: dict[str, Field] = {}
    for base in reversed(state.__mro__):
        found.update({name: value for name, value in vars(base).items() if isinstance(value, Field)})
    return found


def record_dtype(state: type[State], sizes: Sizes, constants: Mapping[str, int] | None = None) -> np.dtype[Any]:
    """The structured type of a game's records.

    Args:
        state: declares the fields.
        sizes: of the axes.
        constants: fields that have one value in all records of this type. The name of the last field says them, and so
            the type: compiled code for it reads the number there, not from the record (``build/intrinsics.py``).

    What lasts for a match comes first, then what a new deal sets to zero. In both parts wide numbers come before narrow
    ones, and the few bytes at the end of a part have a name: there is no padding, every byte belongs to a field.
    Reading ``SLACK`` bytes too many from any array stays inside the record.
    """
    rows: list[tuple[Any, ...]] = []
    last = "__".join([FILLER, *(f"{name}__{value}" for name, value in (constants or {}).items())])
    for lasts_for_a_deal in (False, True):
        part = {name: each for name, each in fields(state).items() if (each.lasts == "deal") == lasts_for_a_deal}
        kinds = {name: np.dtype(each.dtype) for name, each in part.items()}
        end = 0
        for name in sorted(part, key=lambda name: -kinds[name].itemsize):
            shape = tuple(sizes.axis(axis) for axis in part[name].shape)
            rows.append((name, kinds[name], shape))
            end += kinds[name].itemsize * int(np.prod(shape))
        filler = -end % 8 + (SLACK if lasts_for_a_deal else 0)
        if filler:
            rows.append((last if lasts_for_a_deal else "match_filler", np.dtype(np.int8), (filler,)))
    return np.dtype((np.record, np.dtype([row if row[2] else row[:2] for row in rows], align=True)))


def record_of(**fields: type[np.generic]) -> np.dtype[Any]:
    """The structured type of records that are no positions: what a search notes down, for example."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))


def copy_states(states: States) -> States:
    """A copy of an array of records, byte by byte: NumPy copies field by field, which takes six times as long."""
    return states.view(np.uint8).copy().view(states.dtype)
