"""What one observer sees of a table, as plain data (``TableView``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from trick_envs.engine.arguments import is_whole
from trick_envs.engine.cards import WORD, Deck
from trick_envs.engine.game import Game
from trick_envs.engine.state import KEEP, LEAD, OVER, PASS, PHASES, PICK, States
from trick_envs.errors import InputError
from trick_envs.view.words import ScoreItem, card_words, listed, of_suit, suit_name

Kinds = tuple[int | None, ...]  # cards by kind; None: a card that the observer does not see
Plays = tuple[tuple[int, int], ...]  # who played, and which kind of card

YOU = "you"  # the name of a seat at which a person sits: then nobody else is spoken to

_ASKED = {LEAD: "lead", PASS: "pass a card", KEEP: "choose the lead card that stays", PICK: "pick a card"}


class Ended(NamedTuple):
    """What the last play has ended: a trick, which is still to be shown on the table, or a deal without one.

    Attributes:
        number: the number of the trick, from 1.
        plays: its cards; empty if there is none.
        taker: the seat that has taken it.
    """

    number: int
    plays: Plays = ()
    taker: int | None = None


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
        sections: what only this game has, as data, by name.
        lines: the same in words, a line each.
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
    sections: dict[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    remarks: tuple[tuple[int, str], ...] = ()

    _repr_html_: ClassVar[Callable[[TableView], str]]  # for notebooks: the picture; drawings set it, as they know views

    def as_dict(self) -> dict[str, Any]:
        """The view as a dict of plain values."""
        return asdict(self)

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
        return YOU if seat == self.spoken_to else self.seats[seat].name

    def verb(self, seat: int, word: str) -> str:
        """A seat and what it does: ``you take``, ``player_2 takes``."""
        who = self.you(seat)
        return f"{who} {word}" if who == YOU else f"{who} {word}{_third_person(word)}"


def seat_name(seat: int) -> str:
    """What a seat is called if it has no name of its own: ``player_2``, as in the environments."""
    return f"player_{seat}"


def table_view(
    game: Game,
    states: States,
    observer: int | None = None,
    previous: tuple[Plays, int] | tuple[()] = (),
    ended: Ended | None = None,
    names: Sequence[str] = (),
) -> TableView:
    """What an observer sees of the position in ``states[0]``.

    Args:
        game: the game.
        states: records, such as ``env.unwrapped.states``.
        observer: a seat, or ``None``: everything is open.
        previous: the plays of the last finished trick and who took it, which the record does not hold;
            ``trick_envs.matches.viewing.match_view`` fills it in.
        ended: what the last play has ended, which is still to be shown: nobody acts in such a view, nor has won yet.
        names: what the seats are called; empty: ``player_0`` and so on.

    Raises:
        ValueError: if there is no such seat.
    """
    n = game.num_players
    if observer is not None and not is_whole(observer, 0, n - 1):
        raise InputError(f"observer: expected a seat of 0 to {n - 1}, or None for an open table, not {observer!r}")
    state, deck = states[0], game.deck
    phase, acting = int(state["phase"]), int(state["seat"])
    seen = _words(state["seen"][observer].tolist()) if observer is not None else -1
    own: list[dict[str, Kinds]] = [{} for _ in range(n)]
    common: dict[str, Kinds] = {}
    for name, place in game.type.places.items():
        visible = -1 if place.open else seen
        if place.per_seat:
            for seat, row in enumerate(state[name].tolist()[:n]):
                own[seat][name] = _kinds(_words(row), visible, deck)
        else:
            common[name] = _kinds(_words(state[name].tolist()), visible, deck)
    hands, piles = [each.pop("hand") for each in own], [each.pop("pile") for each in own]
    common.pop("table")
    over = phase == OVER
    played, size = state["deal_number"], int(state["trick_size"])
    scores, last, dealer = state["score"].tolist(), state["deal_score"].tolist(), int(state["dealer"])
    trick = tuple(
        (seat, deck.kind(card))
        for seat, card in zip(state["trick_seat"].tolist()[:size], state["trick"].tolist()[:size], strict=True)
    )
    tricks = int(state["tricks"]) + (not over)
    if ended is not None:
        tricks, trick, acting = ended.number, ended.plays, -1
    legal: tuple[int, ...] = ()
    if not over and acting >= 0 and observer in (None, acting):
        legal = tuple(dict.fromkeys(_kinds(_words(game.kernels.legal_cards(states)), -1, deck)))  # type: ignore[arg-type]
    winners: tuple[int, ...] = ()
    if over and ended is None:
        bits = int(game.kernels.winners_bits(states))
        winners = tuple(seat for seat in range(n) if (bits >> seat) & 1)
    total = int(state["num_deals"])
    view = TableView(
        game=game.name,
        title=game.title,
        suits=deck.suits,
        ranks=deck.ranks,
        hand_size=game.hand_size,
        num_players=n,
        observer=None if observer is None else int(observer),
        deal=int(played) + (not over),
        num_deals=total,
        phase=PHASES[phase],
        acting=None if over or acting < 0 else acting,
        trick_number=tricks,
        trick=trick,
        led=trick[0][0] if trick else None,
        taking=(int(state["taking"]) if ended is None else ended.taker) if trick else None,
        previous=previous[0] if previous else (),
        previous_taker=previous[1] if previous else None,
        seats=tuple(
            SeatView(
                seat,
                names[seat] if names else seat_name(seat),
                hands[seat],
                own[seat],
                piles[seat],  # type: ignore[arg-type]  # everybody has seen them
                scores[seat],
                last[seat] if played else None,
                seat == dealer,
            )
            for seat in range(n)
        ),
        places=common,
        legal=legal,
        winners=winners,
        prompt="",
    )
    module = game.type.view
    refine = getattr(module, "refine", None)
    if refine is not None:
        view = refine(view, game, states)
    if ended is not None:
        told = "the deal is over" if ended.taker is None else f"{view.verb(ended.taker, 'take')} the trick"
        return replace(view, prompt=told)
    return view if view.prompt else replace(view, prompt=_prompt(view))


def _third_person(word: str) -> str:
    return "es" if word.endswith("s") else "s"


def _words(pair: Sequence[int]) -> int:
    """A card set as one word."""
    return int(pair[0]) | (int(pair[1]) << WORD)


def _kinds(held: int, visible: int, deck: Deck) -> Kinds:
    """The cards of a set by kind, sorted; those not visible as ``None``, last."""
    shown, found = held & visible, []
    while shown:
        low = shown & -shown
        found.append(low.bit_length() - 1)
        shown ^= low
    if deck.copies == 2:
        found = sorted(map(deck.kind, found))
    return (*found, *[None] * (held & ~visible).bit_count())


def _prompt(view: TableView) -> str:
    """What is asked, in the words that all games share."""
    if view.acting is None:
        return ending(view)
    who, yours = view.you(view.acting), view.acting == view.spoken_to
    if view.phase != "follow":
        asked = _ASKED[PHASES.index(view.phase)]
        return f"{who} {asked}" if yours else f"{who} to {asked}"
    return follow(view, view.suit_of(view.trick[0][1]) if view.trick else "")


def follow(view: TableView, *suits: str) -> str:
    """The sentence that says which suits the seat to act has to follow, and whether it can, as far as is seen."""
    assert view.acting is not None
    who, yours, asked = view.you(view.acting), view.acting == view.spoken_to, " or ".join(map(suit_name, suits))
    if view.legal and not any(view.suit_of(kind) in suits for kind in view.legal):
        return f"{who} {'have' if yours else 'has'} no {asked}: any card"
    return f"{who} follow {asked}" if yours else f"{who} to follow {asked}"


def ending(view: TableView) -> str:
    """Who has won."""
    names = [view.you(seat) for seat in view.winners]
    has = "has" if len(names) == 1 and names[0] != "you" else "have"
    return f"the match is over: {listed(names)} {has} won"


def highest_of_suit(view: TableView, letter: str | None = None, name: str = "") -> str:
    """Why the taker's card takes the trick: it is the highest, or the only one, of a suit.

    Args:
        view: a table with a finished trick.
        letter: the suit; ``None``: the led one.
        name: what a card of that suit is called, if not by its suit.
    """
    letter = view.suit_of(view.trick[0][1]) if letter is None else letter
    played = [kind for _, kind in view.trick if view.suit_of(kind) == letter]
    best = max(played)
    told = f"{card_words(view.suits, view.ranks, best)} is the {'highest' if len(played) > 1 else 'only'} "
    first = ", played first" if played.count(best) > 1 else ""
    return f"{told}{name or of_suit(letter)}{first}"


def with_the_hand(seat: SeatView, items: list[ScoreItem]) -> list[ScoreItem]:
    """The items of a seat's points in the last deal, completed by what the cards left in its hand make.

    Others see these cards only after the deal: all that they are told is what follows from the seat's points.
    """
    rest = (seat.last_score or 0) - sum(item.points for item in items)
    return [*items, ScoreItem("left in the hand", rest)] if rest else items
