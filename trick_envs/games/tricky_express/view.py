"""What only Tricky Express has on its table: the line with stops and gaps, long passes, cards given and got."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.tricky_express.rules import DEALS, EXCHANGED, GIVEN, GOT, STATIONS
from trick_envs.view.pen import Area, Pen
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.style import CREAM, FAINT, INK, SEATS, suit_style
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem

PANEL, PHONE_PANEL = ("top", 78), 64
RAIL = "#b8ab92"


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
    lines = [f"line: {' '.join(map(str, line)) or 'no station yet'}"]
    lines += [
        f"{view.you(each['seat'])} {'gave' if each['got'] else 'got'} {view.card(each['kind'])}" for each in exchanged
    ]
    earlier = [state["first_passes"].tolist()[seat * DEALS :][: view.deal - 1] for seat in range(n)]
    if any(map(any, earlier)):
        told = (f"{view.you(seat)} {' '.join(map(str, found))}" for seat, found in enumerate(earlier))
        lines.append(f"longest passes of the deals before: {', '.join(told)}")
    seats = tuple(
        replace(seat, note=f"long passes {own['first']} + {own['second']}, running {own['running']}")
        for seat, own in zip(view.seats, passes, strict=True)
    )
    first_passes = state["first_passes"].tolist()
    sections = {
        "first_passes": [first_passes[seat * DEALS : (seat + 1) * DEALS] for seat in range(n)],
        "line": line, "passes": passes, "top": _top(line), "forced": forced, "exchanged": exchanged,
    }  # fmt: skip
    return replace(view, seats=seats, sections=sections, lines=tuple(lines), prompt=_prompt(view, forced))


def why_taken(view: TableView) -> str:
    """The highest card of the led suit takes the trick."""
    return highest_of_suit(view)


def effect(before: TableView, kind: int, after: TableView) -> str:
    """The station that the taker of a trick adds, and the pass that it ends."""
    if after.taking is None or after.acting is not None:  # the trick goes on
        return ""
    line = after.sections["line"]
    passes = dict(_passes(line, after.taking))
    ended = f", which ends a pass of {passes[len(line)]}" if len(line) in passes else ""
    return f"station {len(line)}{ended}"


def stands(view: TableView) -> str:
    """The passes of the seat to act, and the stretch since its last stop."""
    seat = view.acting or 0
    now = view.sections["passes"][seat]
    if seat not in view.sections["line"]:
        return "You have not stopped yet: a pass needs two stops of yours."
    return f"Your longest pass is {now['first']}. A stop now would end a pass of {now['running']}."


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
        items = [ScoreItem("no pass", 0) if longest < 0 else ScoreItem("first long pass", longest)]
        if seat.seat == top and longest >= 0:
            items.append(ScoreItem("the longest of all", 2))
        if seat.seat == runner_up and second >= 0:
            items.append(ScoreItem("the longest second pass", 1))
        bonus = (seat.last_score or 0) - sum(item.points for item in items)
        if bonus:
            firsts = ", ".join(map(str, view.sections["first_passes"][seat.seat]))
            items.append(ScoreItem(f"first passes that never fall ({firsts})", bonus))
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
    yours, seat = view.acting == view.spoken_to, view.seats[view.acting]
    to_right = not seat.places["to_right"]
    other = (view.acting + (-1 if to_right else 1)) % view.num_players
    what = "a card of the highest rank" if forced else "any card"
    side = "right" if to_right else "left"
    return f"{view.you(view.acting)} {'give' if yours else 'to give'} {what} to {view.you(other)}, on the {side}"


def draw(view: TableView, pen: Pen, area: Area) -> None:
    """The line of thirteen stations, each in the colour of the seat that stopped there."""
    pen.tip(
        *area,
        "The line: each number is the seat that took a trick and so stopped at this station. The bar is the "
        "longest stretch between two stops of the same seat.",
    )
    line, step = view.sections["line"], (area.width - 16) / STATIONS
    told = [] if view.observer is None else _exchanges(view)
    y = area.y + (area.height * 0.38 if told else area.height / 2)
    for i, (words, gave, got) in enumerate(told):
        _exchange(view, pen, area.x + 14 + i * area.width / 2, area.y + 0.8 * area.height, area.width, words, gave, got)
    left = area.x + 8 + step / 2
    pen.box(left, y - 2, step * (STATIONS - 1), 4, RAIL, 2)
    radius, top = min(step * 0.4, 17), view.sections["top"]
    if top is not None:  # the longest pass of all, in the colour of its seat
        start, end = (left + station * step for station in (top["from"], top["to"]))
        pen.box(start, y - 5, end - start, 10, SEATS[top["seat"]], 5, opacity=0.55)
    for i in range(STATIONS):
        x = left + i * step
        if i >= len(line):
            pen.disc(x, y, radius * 0.62, CREAM, stroke=RAIL, line=2)
            pen.label(x, y, str(i + 1), 0.5 * radius, FAINT, anchor=0.5)
            continue
        seat = line[i]
        pen.disc(x, y, radius, SEATS[seat], stroke=INK, line=1.5 if i == len(line) - 1 else 0.01)
        pen.label(x, y, str(seat), 0.9 * radius, INK, bold=True, anchor=0.5)


def about_seat(view: TableView, seat: SeatView) -> str:
    """What the numbers of a plate mean."""
    now = view.sections["passes"][seat.seat]
    return (
        f"The longest stretch between two stops is {now['first']}, the second {now['second']}; "
        f"since the last stop others have stopped {now['running']} times."
    )


def draw_seat(view: TableView, seat: SeatView, pen: Pen, area: Area, dark: bool, ink: str) -> None:
    """The colour of a seat, its long passes, and the stretch since its last stop."""
    now, y = view.sections["passes"][seat.seat], area.y + area.height / 2
    pen.disc(area.x + 6, y, 6, SEATS[seat.seat])
    pen.label(area.x + 6, y, str(seat.seat), 8, INK, bold=True, anchor=0.5)
    x = area.x + 17
    x += pen.label(x, y, f"{now['first']} + {now['second']}", 11.5, ink, bold=True) + 7
    if seat.seat in view.sections["line"] and area.width > 120:
        pen.label(x, y, f"running {now['running']}", 11, ink, width=area.x + area.width - x)


def _exchanges(view: TableView) -> list[tuple[str, list[int], list[int]]]:
    """By neighbour: who it is, the cards that the observer gave and those that it got."""
    found = []
    assert view.observer is not None
    for side, by in (("left", 1), ("right", -1)):
        seat = (view.observer + by) % view.num_players
        with_it = [each for each in view.sections["exchanged"] if each["seat"] == seat]
        gave, got = ([each["kind"] for each in with_it if each["got"] == what] for what in (GIVEN, GOT))
        if gave:
            found.append((f"{side}, {view.you(seat)}:", gave, got))
    return found


def _exchange(
    view: TableView, pen: Pen, x: float, y: float, width: float, words: str, gave: list[int], got: list[int]
) -> None:
    """The cards exchanged with one neighbour, in a line."""
    size = 12 if width > 500 else 10
    if width > 500:
        x += pen.label(x, y, words, size, FAINT) + 8
    else:
        x += pen.label(x, y, words.split(",")[0], size, FAINT) + 4
    for label, kinds in (("gave", gave), ("got", got)):
        if kinds:
            x += pen.label(x, y, label, size, FAINT) + 0.35 * size
        for kind in kinds:
            suit = suit_style(view.suit_of(kind), view.suits)
            name = view.ranks[kind % len(view.ranks)] + suit.symbol
            x += pen.label(x, y, name, size, suit.colour, bold=True) + 0.4 * size
        x += 0.4 * size
