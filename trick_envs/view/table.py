"""What one observer sees of a table, as plain data: ``TableView``. ``look.py`` makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple

from trick_envs.engine.deal import Plays, Trick
from trick_envs.errors import checked
from trick_envs.view.messages import said, said_to
from trick_envs.view.rows import Row

Kinds = tuple[int | None, ...]  # cards by kind; None: a card that the observer does not see

YOU = "you"  # the name of a seat at which a person sits: then nobody else is spoken to


class Ended(NamedTuple):
    """What the last play has ended: a trick, which is still to be shown on the table, or a deal without one.

    Attributes:
        number: the number of the trick, from 1.
        trick: its cards as they lie there, and who has taken it.
    """

    number: int
    trick: Trick | None = None


@dataclass(frozen=True)
class SeatView:
    """What the observer sees of one seat.

    Attributes:
        seat: its number.
        name: how it is called.
        hand: its cards by kind, sorted; ``None`` for each that the observer does not see, last.
        places: its own places besides the hand and the pile, such as Pepper's ``front``, in the same form.
        taken: the cards that it has taken, by kind, sorted.
        score: points of the match so far.
        last_score: points of the last finished deal; ``None`` in the first.
        dealer: whether it deals.
        note: what the game says of it, in a few words.
        facts: the same to be drawn on its plate.
    """

    seat: int
    name: str
    hand: Kinds
    places: dict[str, Kinds]
    taken: tuple[int, ...]
    score: int
    last_score: int | None
    dealer: bool
    note: str = ""
    facts: tuple[Row, ...] = ()

    @property
    def named(self) -> bool:
        """Whether it has a name of its own."""
        return self.name != seat_name(self.seat)


@dataclass(frozen=True)
class TableView:
    """What one observer sees of a table. All drawings are functions of it.

    Cards are named by their kind: the action that names them. Everything is plain data: ``as_dict()`` can be written
    as JSON. A view is the same in all positions that the observer cannot tell apart.

    Attributes:
        game: the name of the game.
        title: its full name.
        suits, ranks: the deck: one letter per suit, and the ranks as written, weakest first.
        hand_size: cards dealt to each seat.
        num_players: seats at the table.
        observer: the seat that looks on; ``None``: everything is open.
        deal, num_deals: the number of the deal, from 1, and how many the match has (at most).
        length: the latter in words, behind the number of a deal: `` of 8``, ``, to 100 points``.
        phase: ``lead``, ``follow``, ``pass``, ``keep``, ``pick``, or ``over``.
        acting: the seat to act; ``None`` when the match is over.
        trick_number: the number of the trick, from 1.
        trick: the cards of the running trick, in the order in which they were played: seat and kind.
        led: the seat that led; ``None`` if nobody has yet.
        taking: the seat that takes the trick so far; ``None`` if nobody does.
        previous: the last finished trick, in the form of ``trick``; empty if there is none, or it is not known.
        previous_taker: the seat that took it.
        seats: what is seen of each seat.
        places: the common places by name, such as a chart or a stock, in the form of a hand.
        legal: the kinds that the seat to act may name; empty unless it is the observer's turn or all is open.
        winners: the seats that have won the match; empty while it goes on.
        prompt: what is asked, in one sentence.
        together: how many cards the seat to act names one after the other now, before anybody else does.
        sections: what only this game has, as data, by name.
        rows: the same to be laid out beside the table.
        remarks: what the game says of cards in the trick: seat and a word or two.
    """

    game: str
    title: str
    suits: str
    ranks: tuple[str, ...]
    hand_size: int
    num_players: int
    observer: int | None
    deal: int
    num_deals: int
    length: str
    phase: str
    acting: int | None
    trick_number: int
    trick: Plays
    led: int | None
    taking: int | None
    previous: Plays
    previous_taker: int | None
    seats: tuple[SeatView, ...]
    places: dict[str, Kinds]
    legal: tuple[int, ...]
    winners: tuple[int, ...]
    prompt: str
    together: int = 1
    sections: dict[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    remarks: tuple[tuple[int, str], ...] = ()

    _repr_html_: ClassVar[Callable[[TableView], str]]  # for notebooks: the picture; drawings set it, as they know views

    def as_dict(self) -> dict[str, Any]:
        """The view as a dict of plain values."""
        return asdict(self)

    @property
    def lying(self) -> Plays:
        """The trick on the table; when the match is over the last one, but for a card that lies elsewhere now."""
        if self.acting is not None or self.trick:
            return self.trick
        elsewhere = {kind for kinds in self.places.values() for kind in kinds}
        return tuple(play for play in self.previous if play[1] not in elsewhere) or self.previous

    @property
    def lines(self) -> tuple[str, ...]:
        """What only this game has, in words, a line each."""
        return tuple(row.words for row in self.rows if row.words)

    def card(self, kind: int) -> str:
        """A card as written, such as ``10S``."""
        return self.ranks[kind % len(self.ranks)] + self.suits[kind // len(self.ranks)]

    def suit_of(self, kind: int) -> str:
        """The letter of a card's suit."""
        return self.suits[kind // len(self.ranks)]

    @property
    def spoken_to(self) -> int | None:
        """The seat that texts call "you": the person's if the seats have names, or else the observer's."""
        person = [seat.seat for seat in self.seats if seat.name == YOU]
        return person[0] if person else self.observer

    def you(self, seat: int) -> str:
        """How to call a seat in a sentence."""
        return said("words.you") if seat == self.spoken_to else self.seats[seat].name

    def said_of(self, seat: int, message: str, /, **blanks: object) -> str:
        """A message about a seat, which may be the one that is spoken to."""
        return said_to(seat == self.spoken_to, message, name=self.seats[seat].name, **blanks)


def seat_name(seat: int) -> str:
    """What a seat is called if it has no name of its own: ``player_2``, as in the environments."""
    return f"player_{seat}"


def checked_view(view: object) -> TableView:
    """What somebody gives as a view, if it is one: neither a match nor an environment is.

    Raises:
        TypeError: if it is not.
    """
    return checked(view, TableView, "view", "what table_view() or match_view() returns")
