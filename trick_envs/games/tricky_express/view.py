"""What only Tricky Express has on its table: the line with stops and gaps, long passes, cards given and got."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.tricky_express.rules import DEALS, EXCHANGED, GIVEN, GOT, STATIONS
from trick_envs.view.messages import said
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem

PANEL = ("top", 78)


def refine(view: TableView, game: Game, states: States) -> TableView:
    """The line, the long passes so far, and what the observer gave and got."""
    state, n = states[0], view.num_players
    stations = int(state["tricks"])
    line = state["line"].tolist()[:stations]
    longest, second, since = (state[name].tolist()[:n] for name in ("longest", "second", "since"))
    passes = [
        {"first": one, "second": other, "running": max(stations_since - 1, 0)}
        for one, other, stations_since in zip(longest, second, since, strict=True)
    ]
    forced = int(state["named"]) < 2 * n
    exchanged: list[dict[str, int]] = []
    if view.observer is not None:
        notes = state["exchanged"].tolist()[view.observer * EXCHANGED : (view.observer + 1) * EXCHANGED]
        for i, note in enumerate(notes):
            if note:
                exchange, what, neighbour = i // 4, i // 2 % 2, i % 2
                other = (view.observer + (1 if neighbour else -1)) % n
                kind = _kind(note, len(view.suits), len(view.ranks))
                exchanged.append({"exchange": exchange, "got": what, "seat": other, "kind": kind})
    seats = tuple(
        replace(
            seat,
            note=said("tricky_express.note", **own),
            facts=(
                Row(said("tricky_express.passes"), f"{own['first']} + {own['second']}"),
                *([Row(said("tricky_express.running"), str(own["running"]), small=True)] if seat.seat in line else []),
            ),
        )
        for seat, own in zip(view.seats, passes, strict=True)
    )
    first_passes = state["first_passes"].tolist()
    sections = {
        "first_passes": [first_passes[seat * DEALS : (seat + 1) * DEALS] for seat in range(n)],
        "line": line, "passes": passes, "top": _top(line), "forced": forced, "exchanged": exchanged,
    }  # fmt: skip
    view = replace(view, seats=seats, sections=sections, prompt=_prompt(view, forced))
    return replace(view, rows=_rows(view))


def _rows(view: TableView) -> tuple[Row, ...]:
    """The line of thirteen stations, and the cards exchanged with both neighbours."""
    line, top = view.sections["line"], view.sections["top"]
    rows = [
        Row(
            line=(*line, *[None] * (STATIONS - len(line))),
            span=() if top is None else (top["from"], top["to"], top["seat"]),
            about=said("tricky_express.about"),
            words=f"line: {' '.join(map(str, line)) or 'no station yet'}",
        )
    ]
    for side, by in (("tricky_express.left", 1), ("tricky_express.right", -1)):
        seat = ((view.observer or 0) + by) % view.num_players
        for got, about in ((GIVEN, "tricky_express.gave"), (GOT, "tricky_express.got")):
            both = [each for each in view.sections["exchanged"] if each["seat"] == seat and each["got"] == got]
            cards = tuple(each["kind"] for each in both)
            if cards:
                told = f"{view.you(seat)} {'gave' if got else 'got'} {' '.join(map(view.card, cards))}"
                whose = said("tricky_express.from" if got else "tricky_express.to", name=view.you(seat))
                rows.append(Row(whose, cards=cards, about=said(about, side=said(side)), words=told))
    earlier = [passes[: view.deal - 1] for passes in view.sections["first_passes"]]
    if any(map(any, earlier)):
        all_told = (f"{view.you(seat)} {' '.join(map(str, found))}" for seat, found in enumerate(earlier))
        rows.append(Row(words=f"longest passes of the deals before: {', '.join(all_told)}"))
    return tuple(rows)


why_taken = highest_of_suit  # the highest card of the led suit takes the trick


def effect(before: TableView, kind: int, after: TableView) -> str:
    """The station that the taker of a trick adds, and the pass that it ends."""
    if after.taking is None or after.acting is not None:  # the trick goes on
        return ""
    line = after.sections["line"]
    passes = dict(_passes(line, after.taking))
    key = "tricky_express.station_ends" if len(line) in passes else "tricky_express.station"
    return said(key, number=len(line), length=passes.get(len(line)))


def stands(view: TableView) -> str:
    """The passes of the seat to act, and the stretch since its last stop."""
    seat = view.acting or 0
    now = view.sections["passes"][seat]
    if seat not in view.sections["line"]:
        return said("tricky_express.no_stop")
    return said("tricky_express.stands", **now)


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the first long pass, and bonuses for the longest of all and for first passes that never fall."""
    line, ranked = view.sections["line"], {}
    for seat in view.seats:
        passes = sorted(((length, station) for station, length in _passes(line, seat.seat)), reverse=True)
        ranked[seat.seat] = (*passes, (-1, 0), (-1, 0))[:2]  # of equally long ones the later one comes first
    top, runner_up = (max(ranked, key=lambda seat: ranked[seat][i]) for i in range(2))
    found = []
    for seat in view.seats:
        (longest, _), (second, _) = ranked[seat.seat]
        items = [
            ScoreItem(said("tricky_express.no_pass" if longest < 0 else "tricky_express.first_pass"), max(longest, 0))
        ]
        if seat.seat == top and longest >= 0:
            items.append(ScoreItem(said("tricky_express.longest"), 2))
        if seat.seat == runner_up and second >= 0:
            items.append(ScoreItem(said("tricky_express.second_pass"), 1))
        bonus = (seat.last_score or 0) - sum(item.points for item in items)
        if bonus:
            firsts = said("words.comma").join(map(str, view.sections["first_passes"][seat.seat]))
            items.append(ScoreItem(said("tricky_express.never_fall", passes=firsts), bonus))
        found.append(items)
    return found


def _passes(line: list[int], seat: int) -> list[tuple[int, int]]:
    """The passes of a seat: the station that ends each, from 1, and the number of stations in between."""
    stops = [station for station, stopped in enumerate(line, 1) if stopped == seat]
    return [(later, later - before - 1) for before, later in pairwise(stops)]


def _kind(note: int, suits: int, ranks: int) -> int:
    """The card that a note of one bit for the suit and one for the rank names."""
    suit = (note & -note).bit_length() - 1
    return suit * ranks + note.bit_length() - 1 - suits


def _top(line: list[int]) -> dict[str, int] | None:
    """The longest stretch between two stops of a seat; of equally long ones that completed last."""
    found: dict[str, int] | None = None
    before: dict[int, int] = {}
    for station, seat in enumerate(line):
        length = station - before.get(seat, station) - 1
        if length >= (found["length"] if found else 0):
            found = {"seat": seat, "length": length, "from": before[seat], "to": station}
        before[seat] = station
    return found


def _prompt(view: TableView, forced: bool) -> str:
    if view.phase != "pass" or view.acting is None:
        return ""
    to_right = not view.seats[view.acting].places["to_right"]
    other = (view.acting + (-1 if to_right else 1)) % view.num_players
    what = said("tricky_express.highest" if forced else "tricky_express.any")
    side = said("tricky_express.right" if to_right else "tricky_express.left")
    return view.said_of(view.acting, "tricky_express.gives", what=what, other=view.you(other), side=side)


def about_seat(view: TableView, seat: SeatView) -> str:
    """What the numbers of a plate mean."""
    return said("tricky_express.seat", **view.sections["passes"][seat.seat])
