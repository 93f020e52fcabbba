"""What only Zaraba 22 has on its table: the chart with its prices, and what the seats hold of each stock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.zaraba22.rules import CRASH, CRASHED
from trick_envs.view.pen import Area, Pen
from trick_envs.view.sentences import follow, highest_of_suit, with_the_hand
from trick_envs.view.style import EDGE, FAINT, GOLD, INK, PAPER, WINE, suit_style
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem, card_words, counted, listed, of_suit, sentence, suit_name

PANEL, PHONE_PANEL = ("right", 252), 62
TRACK = "#e3d9c4"


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Prices, holdings, and which lead cards are still there."""
    state, suits = states[0], len(view.suits)
    sums, taken = state["chart_sum"].tolist(), state["taken"].tolist()
    chart: dict[str, dict[str, object]] = {}
    prices = []
    for i, letter in enumerate(view.suits):
        cards = [kind for kind in view.places["chart"] if kind is not None and view.suit_of(kind) == letter]
        prices.append(CRASHED if sums[i] >= CRASH else len(cards))
        chart[letter] = {"cards": cards, "sum": sums[i], "price": prices[i], "left": max(CRASH - sums[i], 0)}
    held = [taken[seat.seat * suits : (seat.seat + 1) * suits] for seat in view.seats]
    worth = [sum(count * price for count, price in zip(each, prices, strict=True)) for each in held]
    leader = view.trick[0][0] if view.trick else None
    leads = [kind for seat, kind in view.trick if seat == leader]
    lines = [
        f"{suit_name(letter)}: sum {now['sum']}, "
        + ("crashed, price −1" if now["price"] == CRASHED else f"price {now['price']}, crashes {now['left']} later")
        for letter, now in chart.items()
    ]
    seats = tuple(replace(seat, note=f"worth {worth[seat.seat]} now".replace("-", "−")) for seat in view.seats)
    return replace(
        view,
        taking=view.taking if len(leads) == 1 and len(view.trick) > 1 else None,
        seats=seats,
        sections={"chart": chart, "held": held, "worth": worth, "leads": leads},
        lines=tuple(lines),
        prompt=_prompt(view, leads),
    )


def why_taken(view: TableView) -> str:
    """The strongest card of the suit of the lead card that is kept takes the trick."""
    leader, lead = view.trick[0]
    kept = card_words(view.suits, view.ranks, lead)
    if view.taking == leader:
        return f"the lead {kept} is kept, and nobody beats it"
    return f"the lead {kept} is kept, {highest_of_suit(view)}"


def effect(before: TableView, kind: int, after: TableView) -> str:
    """What a card that goes to the chart does to the price of its suit."""
    told = []
    for letter, now in after.sections["chart"].items():
        for card in now["cards"]:
            if card not in before.sections["chart"][letter]["cards"]:
                crashed = before.sections["chart"][letter]["price"] == CRASHED
                what = "have crashed before" if crashed else f"crash at {now['sum']}, the price is −1"
                what = what if now["price"] == CRASHED else f"now at price {now['price']}"
                told.append(
                    f"{card_words(after.suits, after.ranks, card)} goes to the chart: {suit_name(letter)} {what}"
                )
    return "; ".join(told)


def stands(view: TableView) -> str:
    """What the cards taken pay at the prices of now."""
    seat = view.acting or 0
    parts = [
        f"{counted(count, of_suit(letter))} × price {now['price']} = {count * now['price']}".replace("-", "−")
        for (letter, now), count in zip(view.sections["chart"].items(), view.sections["held"][seat], strict=True)
        if count
    ]
    if not parts:
        return "You have taken no cards yet: they pay the prices that the chart has at the end."
    total = str(view.sections["worth"][seat]).replace("-", "−")
    return f"Your cards pay now: {listed(parts)}" + (f", together {total}." if len(parts) > 1 else ".")


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the cards taken of each suit, times its price."""
    found = []
    for seat in view.seats:
        items = []
        for (letter, now), count in zip(view.sections["chart"].items(), view.sections["held"][seat.seat], strict=True):
            if count:
                price = str(now["price"]).replace("-", "−")
                items.append(ScoreItem(f"{counted(count, of_suit(letter))} (price {price})", count * now["price"]))
        found.append(with_the_hand(seat, items))
    return found


def _prompt(view: TableView, leads: list[int]) -> str:
    if view.acting is None:
        return ""
    who, yours = view.you(view.acting), view.acting == view.spoken_to
    if view.phase == "lead":
        which = "second" if leads else "first"
        return f"{who} {'lead' if yours else 'to lead'} the {which} of two cards"
    if view.phase == "keep":
        return f"{who} {'choose' if yours else 'to choose'} which lead card stays"
    return follow(view, *dict.fromkeys(view.suit_of(kind) for kind in leads))


def draw(view: TableView, pen: Pen, area: Area) -> None:
    """A row for each suit: its cards on the chart, their sum on the way to 22, and the price."""
    chart = view.sections["chart"]
    phone = area.height < area.width / 2
    for i, (letter, now) in enumerate(chart.items()):
        suit, crashed = suit_style(letter, view.suits), now["price"] == CRASHED
        price = str(now["price"]).replace("-", "−")
        ink = WINE if crashed else INK
        if phone:
            width = area.width / len(chart)
            x, y = area.x + i * width + 8, area.y + 17
            pen.tip(x - 8, area.y, width, area.height, _meaning(letter, now))
            pen.label(x, y, suit.symbol, 20, suit.colour, bold=True)
            pen.label(x + 26, y, price, 20, ink, bold=True)
            pen.label(x + width - 14, y, f"{now['sum']}", 12, FAINT, anchor=1)
            _bar(pen, x, area.y + 34, width - 15, 8, now["sum"], suit.colour)
            told = "crashed" if crashed else f"{now['left']} to {CRASH}"
            pen.label(x, area.y + 52, told, 10.5, ink if crashed else FAINT)
            continue
        height = (area.height - 26) / len(chart)
        x, y, width = area.x + 14, area.y + 26 + i * height, area.width - 28
        pen.tip(x, y, width, height, _meaning(letter, now))
        if i:
            pen.box(x, y - 2, width, 1, TRACK)
        pen.label(x, y + 22, suit.symbol, 30, suit.colour, bold=True)
        _cards(view, pen, now["cards"], x + 36, y + 4, width - 36 - 42, suit.colour)
        pen.label(x + width, y + 22, price, 28, ink, bold=True, anchor=1)
        _bar(pen, x, y + height - 32, width, 9, now["sum"], suit.colour)
        told = "crashed" if crashed else f"{now['left']} to {CRASH}"
        pen.label(x, y + height - 13, f"sum {now['sum']}", 10.5, FAINT)
        pen.label(x + width, y + height - 13, told, 10.5, ink if crashed else FAINT, bold=crashed, anchor=1)
    if not phone:
        pen.label(area.x + 14, area.y + 14, "chart", 11, FAINT)
        pen.label(area.x + area.width - 14, area.y + 14, "price", 11, FAINT, anchor=1)


def _meaning(letter: str, now: dict[str, Any]) -> str:
    """What the numbers of a suit on the chart mean."""
    count, name = counted(len(now["cards"]), "card"), suit_name(letter)
    told = f"{sentence(name)}: {count} on the chart, of the values {now['sum']} together."
    if now["price"] == CRASHED:
        return f"{told} {CRASH} or more is a crash: every {of_suit(letter)} pays −1."
    return f"{told} Every {of_suit(letter)} pays {now['price']}; {now['left']} more, and the price crashes to −1."


def _bar(pen: Pen, x: float, y: float, width: float, height: float, total: int, colour: str) -> None:
    """The sum on its way to the crash."""
    pen.box(x, y, width, height, TRACK, height / 2)
    if total:
        filled = width * min(total / CRASH, 1)
        pen.box(x, y, max(filled, height), height, WINE if total >= CRASH else colour, height / 2)


def _cards(view: TableView, pen: Pen, cards: list[int], x: float, y: float, width: float, colour: str) -> None:
    """The ranks of the cards on the chart, as small tiles."""
    step = min(28.0, (width - 26) / max(len(cards) - 1, 1))
    for i, kind in enumerate(cards):
        pen.box(x + i * step, y, 26, 36, PAPER, 3, stroke=EDGE, line=1)
        rank = view.ranks[kind % len(view.ranks)]
        pen.label(x + i * step + 13, y + 18, rank, 15, colour, bold=True, anchor=0.5)


def draw_seat(view: TableView, seat: SeatView, pen: Pen, area: Area, dark: bool, ink: str) -> None:
    """Cards taken of each suit, and what they are worth at the prices of now."""
    y = area.y + area.height / 2
    worth = f"= {view.sections['worth'][seat.seat]}".replace("-", "−")
    if area.width < 120:
        pen.label(area.x, y, f"worth {view.sections['worth'][seat.seat]}".replace("-", "−"), 11, ink)
        return
    used = pen.label(area.x + area.width, y, worth, 11.5, GOLD if dark else ink, bold=True, anchor=1)
    step = min(34.0, (area.width - used - 4) / len(view.suits))
    for i, (letter, count) in enumerate(zip(view.suits, view.sections["held"][seat.seat], strict=True)):
        suit = suit_style(letter, view.suits)
        pen.label(area.x + i * step, y, suit.symbol, 12, suit.light if dark else suit.colour, bold=True)
        pen.label(area.x + i * step + 12, y, str(count), 11, ink)
