"""What only Pepper has on its table: the peppers in front of a seat, and what each costs now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.view.messages import said
from trick_envs.view.pen import Pen, smooth
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit, with_the_hand
from trick_envs.view.style import suit_style
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem, counted, listed, of_suit, suit_name

POD = smooth(
    (0.42, -0.5), (0.72, -0.2), (0.6, 0.3), (0.15, 0.72), (-0.45, 0.95), (-0.95, 0.85), (-0.5, 0.55), (-0.15, 0.15),
    (-0.02, -0.3), (0.15, -0.52),
)  # fmt: skip
CAP = ((-0.02, -0.32), (0.15, -0.68), (0.55, -0.66), (0.82, -0.2), (0.5, -0.36), (0.3, -0.28))
STEM = ((0.3, -0.62), (0.5, -1.0), (0.72, -0.95), (0.52, -0.6))
LEAF = "#4f7a2e"


def refine(view: TableView, game: Game, states: States) -> TableView:
    """What each pepper costs now: 2, and 1 for every other card of its colour that the seat has taken."""
    state, suits = states[0], len(view.suits)
    taken = state["taken"].tolist()
    costs, rows = [], []
    seats = []
    for seat in view.seats:
        own = {}
        for kind in seat.places["front"]:
            assert kind is not None  # peppers lie open
            colour = kind // len(view.ranks)
            own[view.card(kind)] = 2 + taken[seat.seat * suits + colour]
        costs.append(own)
        facts = [
            Row(value=f"−{cost}", icon=card[-1], about=said("pepper.about", suit=suit_name(card[-1]), cost=cost))
            for card, cost in own.items()
        ]
        facts.append(Row(said("pepper.taken"), str(len(seat.taken)), small=True))
        note = said("pepper.to_pay", cost=sum(own.values())) if own else ""
        seats.append(replace(seat, note=note, facts=tuple(facts)))
        if own:
            told = ", ".join(f"{card} {cost}" for card, cost in own.items())
            rows.append(Row(words=view.said_of(seat.seat, "pepper.pays", costs=told)))
    return replace(view, seats=tuple(seats), sections={"costs": costs}, rows=tuple(rows))


why_taken = highest_of_suit  # the highest number of the led colour takes the trick


def effect(before: TableView, kind: int, after: TableView) -> str:
    """Which peppers lie in front of a seat now that it has taken them."""
    if after.taking is None or after.acting is not None:  # the trick goes on
        return ""
    got = [
        said("pepper.pepper", suit=suit_name(letter)) for letter in _peppers(after, [kind for _, kind in after.trick])
    ]
    key = "pepper.lies" if len(got) == 1 else "pepper.lie"
    return said(key, peppers=listed(got), name=after.you(after.taking)) if got else ""


def stands(view: TableView) -> str:
    """What the peppers in front of the seat to act cost now."""
    costs = view.sections["costs"][view.acting or 0]
    if not costs:
        return said("pepper.none")
    parts = [said("pepper.cost", suit=suit_name(card[-1]), cost=cost) for card, cost in costs.items()]
    return said("pepper.front", costs=listed(parts))


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: 2 points for each pepper in front, and 1 for every other card of its colour."""
    found = []
    for seat in view.seats:
        items = []
        for letter in _peppers(view, seat.places["front"]):
            others = sum(view.suit_of(kind) == letter for kind in seat.taken)
            items.append(ScoreItem(said("pepper.item", suit=suit_name(letter)), -2))
            if others:
                items.append(ScoreItem(counted(others, "suit", of_suit(letter)), -others))
        found.append(with_the_hand(seat, items))
    return found


def _peppers(view: TableView, kinds: Iterable[int | None]) -> list[str]:
    """The colours of the peppers among some cards."""
    return [view.suit_of(kind) for kind in kinds if kind is not None and kind % len(view.ranks) == 0]


def emblem(pen: Pen, kind: int, ranks: int, x: float, y: float, size: float, colour: str) -> bool:
    """The 1 of a colour is a pepper."""
    if kind % ranks:
        return False
    draw_pepper(pen, x, y, 1.15 * size, colour)
    return True


def draw_pepper(pen: Pen, x: float, y: float, size: float, colour: str) -> None:
    pen.shape(x, y, POD, colour, size)
    pen.shape(x, y, STEM, LEAF, size)
    pen.shape(x, y, CAP, LEAF, size)


def about_seat(view: TableView, seat: SeatView) -> str:
    """What the numbers of a plate mean."""
    costs = view.sections["costs"][seat.seat]
    told = [said("pepper.each", suit=suit_name(card[-1]), cost=cost) for card, cost in costs.items()]
    return said("pepper.costs", costs=said("words.comma").join(told)) if told else ""


def icon(pen: Pen, name: str, x: float, y: float, size: float) -> None:
    """The pepper of a colour, named by its letter."""
    draw_pepper(pen, x, y, size, suit_style(name, name).fill)
