"""What only Zaraba 22 has on its table: the chart with its prices, and what the seats hold of each stock."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.zaraba22.rules import CRASH, CRASHED
from trick_envs.view.messages import said
from trick_envs.view.rows import Row
from trick_envs.view.sentences import follow, highest_of_suit, with_the_hand
from trick_envs.view.table import TableView
from trick_envs.view.words import ScoreItem, card_words, counted, listed, of_suit, sentence, suit_name

PANEL = ("right", 252)


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Prices, holdings, and which lead cards are still there."""
    state, suits = states[0], len(view.suits)
    sums, taken = state["chart_sum"].tolist(), state["taken"].tolist()
    chart: dict[str, dict[str, Any]] = {}
    prices = []
    for i, letter in enumerate(view.suits):
        cards = [kind for kind in view.places["chart"] if kind is not None and view.suit_of(kind) == letter]
        prices.append(CRASHED if sums[i] >= CRASH else len(cards))
        chart[letter] = {"cards": cards, "sum": sums[i], "price": prices[i], "left": max(CRASH - sums[i], 0)}
    held = [taken[seat.seat * suits : (seat.seat + 1) * suits] for seat in view.seats]
    worth = [sum(count * price for count, price in zip(each, prices, strict=True)) for each in held]
    leader = view.trick[0][0] if view.trick else None
    leads = [kind for seat, kind in view.trick if seat == leader]
    seats = tuple(
        replace(
            seat,
            note=said("zaraba22.note", points=_minus(worth[seat.seat])),
            facts=(
                *(Row(value=str(held[seat.seat][i]), suit=suit, small=True) for i, suit in enumerate(view.suits)),
                Row(said("zaraba22.now"), _minus(worth[seat.seat])),
            ),
        )
        for seat in view.seats
    )
    rows = tuple(_row(letter, now) for letter, now in chart.items())
    return replace(
        view,
        taking=view.taking if len(leads) == 1 and len(view.trick) > 1 else None,
        seats=seats,
        sections={"chart": chart, "held": held, "worth": worth, "leads": leads},
        rows=rows,
        prompt=_prompt(view, leads),
    )


def _row(letter: str, now: dict[str, Any]) -> Row:
    """A suit on the chart, and what its cards pay."""
    price, left, crashed = now["price"], now["left"], now["price"] == CRASHED
    pays = "crashed, price −1" if crashed else f"price {price}, crashes {left} later"
    return Row(
        value=_minus(price),
        note=said("zaraba22.crashed" if crashed else "zaraba22.left", left=left, crash=CRASH),
        suit=letter,
        cards=tuple(now["cards"]),
        bar=(now["sum"], CRASH),
        alarm=crashed,
        about=_meaning(letter, now),
        words=f"{suit_name(letter)}: sum {now['sum']}, {pays}",
    )


def why_taken(view: TableView) -> str:
    """The strongest card of the suit of the lead card that is kept takes the trick."""
    leader, lead = view.trick[0]
    kept = card_words(view.suits, view.ranks, lead)
    if view.taking == leader:
        return said("zaraba22.unbeaten", card=kept)
    return said("zaraba22.beaten", card=kept, why=highest_of_suit(view))


def effect(before: TableView, kind: int, after: TableView) -> str:
    """What a card that goes to the chart does to the price of its suit."""
    told = []
    for letter, now in after.sections["chart"].items():
        for card in now["cards"]:
            if card not in before.sections["chart"][letter]["cards"]:
                crashed = before.sections["chart"][letter]["price"] == CRASHED
                key = "zaraba22.crashed_before" if crashed else "zaraba22.crashes"
                what = said(key if now["price"] == CRASHED else "zaraba22.at_price", **now)
                card = card_words(after.suits, after.ranks, card)
                told.append(said("zaraba22.chart", card=card, suit=suit_name(letter), what=what))
    return said("words.semicolon").join(told)


def stands(view: TableView) -> str:
    """What the cards taken pay at the prices of now."""
    seat = view.acting or 0
    parts = [
        said(
            "zaraba22.part",
            cards=counted(count, "suit", of_suit(letter)),
            price=_minus(now["price"]),
            points=_minus(count * now["price"]),
        )
        for (letter, now), count in zip(view.sections["chart"].items(), view.sections["held"][seat], strict=True)
        if count
    ]
    if not parts:
        return said("zaraba22.none")
    key = "zaraba22.pay_together" if len(parts) > 1 else "zaraba22.pay"
    return said(key, parts=listed(parts), points=_minus(view.sections["worth"][seat]))


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the cards taken of each suit, times its price."""
    found = []
    for seat in view.seats:
        items = []
        for (letter, now), count in zip(view.sections["chart"].items(), view.sections["held"][seat.seat], strict=True):
            if count:
                cards = counted(count, "suit", of_suit(letter))
                words = said("zaraba22.item", cards=cards, price=_minus(now["price"]))
                items.append(ScoreItem(words, count * now["price"]))
        found.append(with_the_hand(seat, items))
    return found


def _prompt(view: TableView, leads: list[int]) -> str:
    if view.acting is None:
        return ""
    if view.phase == "lead":
        return view.said_of(view.acting, "zaraba22.second" if leads else "zaraba22.first")
    if view.phase == "keep":
        return view.said_of(view.acting, "zaraba22.stays")
    return follow(view, *dict.fromkeys(view.suit_of(kind) for kind in leads))


def _meaning(letter: str, now: dict[str, Any]) -> str:
    """What the numbers of a suit on the chart mean."""
    cards = counted(len(now["cards"]), "card")
    told = said("zaraba22.on_chart", suit=sentence(suit_name(letter)), cards=cards, sum=now["sum"])
    key = "zaraba22.crash" if now["price"] == CRASHED else "zaraba22.pays"
    pays = said(key, card=of_suit(letter), crash=CRASH, price=now["price"], left=now["left"])
    return f"{told}{said('words.space')}{pays}"


def _minus(points: object) -> str:
    return str(points).replace("-", "−")
