"""What only Double-Deck German Whist has on its table: trump, the stock, two cards face up, the tricks of the teams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.double_deck_whist.rules import HALF, MAJORITY
from trick_envs.view.cards import face
from trick_envs.view.pen import Area, Pen
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.style import BACK, FAINT, GOLD, INK, suit_style
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem, card_words, counted, sentence, suit_name

PANEL, PHONE_PANEL = ("right", 160), 70
TRACK = "#e3d9c4"


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Trump, the half, the tricks that count; while the winner picks, the trick still lies on the table."""
    state, n = states[0], view.num_players
    trump, won = view.suits[int(state["trump"])], state["won"].tolist()
    tricks = int(state["tricks"])
    if view.phase == "pick":
        seats, cards = state["trick_seat"].tolist()[:n], state["trick"].tolist()[:n]
        trick = tuple((seat, game.deck.kind(card)) for seat, card in zip(seats, cards, strict=True))
        view = replace(view, trick=trick, led=trick[0][0], taking=int(state["taking"]))
    half = 1 if tricks < HALF else 2
    sections = {
        "trump": trump, "half": half, "left": [max(HALF - tricks, 0), min(2 * HALF - tricks, HALF)], "won": won,
        "deals_won": state["deals_won"].tolist(), "upturned": list(view.places["upturned"]),
        "stock": len(view.places["stock"]),
    }  # fmt: skip
    lines = [
        f"trump: {suit_name(trump)}; half {half}, {sections['left'][half - 1]} tricks left in it",
        "tricks that count: " + ", ".join(f"{view.you(i)} and {view.you(i + 2)} {won[i]}" for i in range(2)),
    ]
    if any(sections["deals_won"]):
        told = (f"{view.you(i)} and {view.you(i + 2)} {won}" for i, won in enumerate(sections["deals_won"]))
        lines.append(f"deals won: {', '.join(told)}")
    open_hand = "" if view.observer is None else view.seats[(view.observer - 1) % n].name
    seats = tuple(
        replace(seat, note="open hand" if seat.name == open_hand else "partner" if _partner(view, seat) else "")
        for seat in view.seats
    )
    prompt = view.prompt
    if view.phase == "pick" and view.acting is not None:
        yours = view.acting == view.spoken_to
        prompt = f"{view.you(view.acting)} {'pick' if yours else 'to pick'} one of the two cards that lie face up"
    return replace(view, seats=seats, sections=sections, lines=tuple(lines), prompt=prompt)


def why_taken(view: TableView) -> str:
    """The highest trump takes the trick, or without one the highest card of the led suit."""
    trump = view.sections["trump"]
    return highest_of_suit(view, trump, "trump") if _has(view, trump) else highest_of_suit(view)


def _has(view: TableView, letter: str) -> bool:
    """Whether a card of this suit lies in the trick."""
    return any(view.suit_of(kind) == letter for _, kind in view.trick)


def effect(before: TableView, kind: int, after: TableView) -> str:
    """Who gets the other cards of the stock; for whom a trick of the second half counts."""
    n, (one, other) = before.num_players, (*before.sections["upturned"], None, None)[:2]
    if before.phase == "pick" and before.acting is not None:
        left = card_words(before.suits, before.ranks, other if kind == one else one)
        return f"{after.verb((before.acting + 2) % n, 'get')} {left}, the others draw a card each"
    if before.sections["half"] == 1 or after.taking is None or after.acting is not None:
        return ""
    team = after.taking % 2
    won = after.sections["won"][team]
    return f"{counted(won, 'trick')} of {MAJORITY} for {after.you(team)} and {after.you(team + 2)}"


def stands(view: TableView) -> str:
    """What tricks are good for now."""
    now, team = view.sections, (view.acting or 0) % 2
    trump = f"Trump: {suit_name(now['trump'])}."
    if now["half"] == 1:
        return f"{trump} Tricks win better cards now; only the last {HALF} will count."
    own, others = now["won"][team], now["won"][1 - team]
    return f"{trump} You two have {own} of the {MAJORITY} tricks that win the deal, they {others}."


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the tricks of its team in the second half."""
    found = []
    for seat in view.seats:
        won = view.sections["won"][seat.seat % 2]
        wins = ", which win the deal" if won >= MAJORITY else ""
        found.append([ScoreItem(f"{counted(won, 'trick')} of the second half{wins}", won)])
    return found


def _partner(view: TableView, seat: SeatView) -> bool:
    return view.observer is not None and (seat.seat - view.observer) % 4 == 2


def draw(view: TableView, pen: Pen, area: Area) -> None:
    """Trump, the stock with the two cards face up, and the tricks of the second half."""
    now = view.sections
    trump = suit_style(now["trump"], view.suits)
    whose = view.spoken_to if view.observer is None else view.observer
    ours = (whose or 0) % 2
    names = ("0 and 2", "1 and 3") if whose is None else ("you two", "they")
    if view.spoken_to not in (None, whose):  # another seat than the person's looks on
        names = names if (view.spoken_to or 0) % 2 == ours else names[::-1]
    rows = [(names[i], now["won"][team], now["deals_won"][team]) for i, team in enumerate((ours, 1 - ours))]
    half = now["half"]
    pen.tip(*area, _meaning(now))
    told = f"{now['left'][half - 1]} left"
    if area.height < area.width:
        y = area.y + area.height / 2
        pen.label(area.x + 10, area.y + 14, "trump", 10, FAINT)
        pen.label(area.x + 28, y + 9, trump.symbol, 32, trump.colour, bold=True, anchor=0.5)
        _face_up(view, pen, area.x + 62, area.y + 9, 37)
        pen.label(area.x + 148, area.y + 16, "stock", 10, FAINT)
        pen.label(area.x + 148, area.y + 33, str(now["stock"]), 15, INK, bold=True)
        pen.label(area.x + 148, area.y + 54, f"half {half}: {told}", 10, FAINT)
        for i, (name, won, _) in enumerate(rows):
            _tricks(pen, area.x + 232, area.y + 17 + 26 * i, area.width - 242, name, won)
        return
    x, middle, width = area.x + 14, area.x + area.width / 2, area.width - 28
    pen.label(x, area.y + 20, "trump", 12, FAINT)
    pen.label(middle + 4, area.y + 48, trump.symbol, 54, trump.colour, bold=True, anchor=0.5)
    if half == 1:
        pen.box(x, area.y + 84, width, 1, TRACK)
        pen.label(x, area.y + 100, "to be won", 12, FAINT)
        pen.label(x + width, area.y + 100, f"stock {now['stock']}", 12, FAINT, anchor=1)
        _face_up(view, pen, middle - 55, area.y + 114, 52)
        y = area.y + 206
    else:
        y = area.y + 84
    pen.box(x, y, width, 1, TRACK)
    for number, label in ((1, "first half"), (2, "second half")):
        ink = INK if number == half else FAINT
        pen.label(x, y + 4 + 18 * number, label, 12, ink, bold=number == half)
        left = f"{now['left'][number - 1]} left" if now["left"][number - 1] else "done"
        pen.label(x + width, y + 4 + 18 * number, left, 12, ink, anchor=1)
    y += 62
    pen.box(x, y, width, 1, TRACK)
    pen.label(x, y + 16, f"tricks, {MAJORITY} win the deal", 10.5, FAINT, width=width)
    for i, (name, won, deals) in enumerate(rows):
        _tricks(
            pen, x, y + 38 + 36 * i, width, f"{name}, {deals} deals" if deals != 1 else f"{name}, 1 deal", won, True
        )


def _meaning(now: dict[str, Any]) -> str:
    """What the numbers beside the table mean."""
    told = f"Trump is {suit_name(now['trump'])}; {now['stock']} cards are left in the stock."
    left = f"{counted(now['left'][now['half'] - 1], 'trick')} left in the {('first', 'second')[now['half'] - 1]} half."
    return f"{told} {sentence(left)} Of the last {HALF} tricks {MAJORITY} win the deal; three deals win the match."


def _face_up(view: TableView, pen: Pen, x: float, y: float, width: float) -> None:
    picks = view.phase == "pick"
    for i, kind in enumerate(view.sections["upturned"]):
        at = round(x + i * (width + 6))
        pen.card(at, round(y), width, face(view.game, view.suits, view.ranks, kind, width))
        if picks:
            pen.box(at - 1, round(y) - 1, width + 2, 1.4 * width + 2, None, 5, stroke=GOLD, line=2.5)


def _tricks(pen: Pen, x: float, y: float, width: float, name: str, won: int, below: bool = False) -> None:
    """The tricks of a team in the second half, on the way to the majority."""
    pen.label(x, y, name, 11, INK, bold=True, width=width - 24)
    pen.label(x + width, y, str(won), 14, INK, bold=True, anchor=1)
    step = width / HALF if below else (width - 76) / HALF
    for i in range(HALF):
        at = x + i * step if below else x + 54 + i * step
        at_y = y + 11 if below else y - 3
        pen.box(at, at_y, step - 1.5, 6, (GOLD if i < MAJORITY else BACK) if i < won else TRACK, 1.5)


def draw_seat(view: TableView, seat: SeatView, pen: Pen, area: Area, dark: bool, ink: str) -> None:
    """Whose partner it is, and whose hand lies open."""
    partner = (seat.seat + 2) % view.num_players
    told = seat.note or ("" if seat.seat == view.observer else f"with {view.seats[partner].name}")
    pen.label(area.x, area.y + area.height / 2, told, 11, ink, width=area.width)
