"""What only Donguri has on its table: the vote of acorns against wildcats, and who takes the trick if it ended now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.donguri.rules import ACORNS, POINTS, WILDCATS
from trick_envs.view.pen import Area, Pen, measure, smooth
from trick_envs.view.style import FAINT, INK, WINE
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem, counted

NUT = smooth((-0.55, -0.2), (-0.5, 0.35), (-0.2, 0.8), (0.0, 1.0), (0.2, 0.8), (0.5, 0.35), (0.55, -0.2))
CUP = smooth((-0.75, -0.1), (-0.66, -0.5), (-0.3, -0.74), (0.3, -0.74), (0.66, -0.5), (0.75, -0.1), (0.0, -0.02))
STALK = ((-0.09, -0.65), (0.02, -1.02), (0.2, -1.0), (0.12, -0.65))
HEAD = (
    (-0.92, -0.95), (-0.38, -0.66), (0.0, -0.72), (0.38, -0.66), (0.92, -0.95), (0.98, -0.1), (0.85, 0.38),
    (0.5, 0.75), (0.0, 0.9), (-0.5, 0.75), (-0.85, 0.38), (-0.98, -0.1),
)  # fmt: skip
EYE = smooth((-0.2, 0.0), (0.0, -0.22), (0.2, 0.0), (0.0, 0.22))
NOSE = ((-0.14, 0.3), (0.14, 0.3), (0.0, 0.48))
NUT_BROWN, CUP_BROWN, FUR, EYES = "#b9772e", "#6f4518", "#6b6a72", "#f4d35e"

PANEL, PHONE_PANEL = ("right", 150), 46


def refine(view: TableView, game: Game, states: States) -> TableView:
    """The vote, and what the seats have captured."""
    state = states[0]
    acorns, wildcats = state["vote"].tolist() if view.trick else (0, 0)
    captured = state["captured"].tolist()[: view.num_players]
    wins, taking = "", None
    if acorns > wildcats:
        wins, taking = "strongest", int(state["strongest"])
    elif wildcats > acorns:
        wins, taking = "weakest", int(state["weakest"])
    uncounted = view.trick[1][0] if view.num_players == 4 and len(view.trick) > 1 else None
    sections = {
        "acorns": acorns, "wildcats": wildcats, "wins": wins, "captured": captured, "uncounted": uncounted,
    }  # fmt: skip
    ended = f"the {wins} card takes" if wins else "nobody takes" if view.trick else ""
    lines = [f"acorns {acorns}, wildcats {wildcats}: {ended} if it ended now"] if view.trick else []
    if uncounted is not None:
        whose = "your vote" if uncounted == view.spoken_to else f"the vote of {view.seats[uncounted].name}"
        lines.append(f"{whose} does not count")
    most = max(captured)
    seats = tuple(
        replace(seat, note=f"{points} captured, {points - most:+d} now".replace("-", "−").replace("+0", "0"))
        for seat, points in zip(view.seats, captured, strict=True)
    )
    remarks = () if uncounted is None else ((uncounted, "no vote"),)
    return replace(view, taking=taking, seats=seats, sections=sections, lines=tuple(lines), remarks=remarks)


def why_taken(view: TableView) -> str:
    """The majority decides: with more acorns the strongest card takes the trick, with more wildcats the weakest."""
    now = view.sections
    acorns, wildcats = now["acorns"], now["wildcats"]
    side, votes = ("acorns", (acorns, wildcats)) if acorns > wildcats else ("wildcats", (wildcats, acorns))
    told = f"{side} {votes[0]} to {votes[1]}: the {now['wins']} takes it"
    rank = next(kind for seat, kind in view.trick if seat == view.taking) % len(view.ranks)
    equal = sum(kind % len(view.ranks) == rank for _, kind in view.trick) > 1
    return f"{told}, the first of equal ranks" if equal else told


def effect(before: TableView, kind: int, after: TableView) -> str:
    """The points in a trick."""
    if after.taking is None or after.acting is not None:  # the trick goes on
        return ""
    points = after.sections["captured"][after.taking] - before.sections["captured"][after.taking]
    return f"{counted(points, 'point')} captured"


def stands(view: TableView) -> str:
    """The points captured, and how far behind the best."""
    captured = view.sections["captured"]
    own, most = captured[view.acting or 0], max(captured)
    behind = "nobody has more" if own == most else f"the best has {most}: you are {most - own} behind"
    return f"You have captured {counted(own, 'point')}, {behind}."


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the points captured, minus the most that anybody has."""
    captured = view.sections["captured"]
    most = max(captured)
    return [
        [ScoreItem(f"{counted(points, 'point')} captured", points), ScoreItem("minus the most captured", -most)]
        for points in captured
    ]


def draw(view: TableView, pen: Pen, area: Area) -> None:
    """The two sides with their votes, and what they mean."""
    now = view.sections
    pen.tip(*area, _meaning(now))
    wins = {"strongest": "strongest takes", "weakest": "weakest takes", "": "tied" if view.trick else ""}[now["wins"]]
    if area.height < area.width:
        for i, count in ((ACORNS, now["acorns"]), (WILDCATS, now["wildcats"])):
            x, y = area.x + 26 + i * 100, area.y + area.height / 2
            draw_side(pen, i, x, y, 15)
            pen.label(x + 24, y, str(count), 24, INK if leads(now, i) else FAINT, bold=True)
        pen.label(area.x + area.width - 14, area.y + area.height / 2, wins, 14, INK, bold=True, anchor=1)
        return
    middle, top = area.x + area.width / 2, area.y + 0.1 * area.height
    pen.label(middle, top, "who decides", 12, FAINT, anchor=0.5)
    for i, count in ((ACORNS, now["acorns"]), (WILDCATS, now["wildcats"])):
        x, ink = middle + (36 if i else -36), INK if leads(now, i) else FAINT
        draw_side(pen, i, x, top + 42, 23)
        pen.label(x, top + 92, str(count), 34, ink, bold=True, anchor=0.5)
        pen.label(x, top + 122, ("acorns", "wildcats")[i], 11, ink, anchor=0.5)
    pen.label(middle, top + 152, wins, 14, INK, bold=True, anchor=0.5, width=area.width - 12)
    half, y = len(view.ranks) // 2, area.y + area.height - 18
    legend = [
        (f"{view.ranks[half]}–{view.ranks[-1]}", "wildcats", 0),
        (f"{view.ranks[0]}–{view.ranks[half - 1]}", "acorns", 0),
    ]
    for points in (2, 3):
        ranks = [rank for i, rank in enumerate(view.ranks) if POINTS[view.num_players, i] == points]
        if ranks:
            legend.insert(0, (" ".join(ranks), f"{points} points", points))
    if view.num_players == 4:
        legend.insert(0, ("2nd card", "no vote", 0))
    size = max(11.0, pen.least)
    for left, right, points in legend:
        room = area.width - 24 - (8 if points else 0)
        if measure(left, size, True) + 6 + measure(right, size, False) > room:
            right = right.replace("points", "pts")
        begins = min(72.0, room - measure(right, size, False))
        used = max(begins, pen.label(area.x + 12, y, left, 11, INK, bold=True) + 6)
        pen.label(area.x + 12 + used, y, right, 11, FAINT, width=room - used)
        for i in range(points):
            pen.disc(area.x + area.width - 12, y + 4 * (i - (points - 1) / 2), 1.6, WINE)
        y -= 19


def _meaning(now: dict[str, Any]) -> str:
    """What the votes mean."""
    told = f"Votes in this trick: acorns {now['acorns']}, wildcats {now['wildcats']}."
    return f"{told} With more acorns the strongest card takes the trick, with more wildcats the weakest."


def leads(now: dict[str, int | str], side: int) -> bool:
    """Whether a side has the majority."""
    return now["wins"] == ("strongest", "weakest")[side]


def draw_side(pen: Pen, side: int, x: float, y: float, size: float) -> None:
    """An acorn or a wildcat."""
    if side == ACORNS:
        pen.shape(x, y, STALK, CUP_BROWN, size)
        pen.shape(x, y, NUT, NUT_BROWN, size)
        pen.shape(x, y, CUP, CUP_BROWN, size)
        return
    pen.shape(x, y, HEAD, FUR, size)
    for eye in (-0.42, 0.42):
        pen.shape(x + eye * size, y, EYE, EYES, size)
        pen.shape(x + eye * size, y, EYE, INK, 0.45 * size)
    pen.shape(x, y, NOSE, "#d98f8f", size)


def badge(pen: Pen, kind: int, suits: int, ranks: int, x: float, y: float, size: float) -> None:
    """Which side a card argues for, and its points if they are more than 1."""
    draw_side(pen, ACORNS if 2 * (kind % ranks) < ranks else WILDCATS, x, y, size)
    points = int(POINTS[{3: 3, 4: 4, 5: 5}[suits], kind % ranks])
    for i in range(points if points > 1 else 0):
        pen.disc(x, y + (2.0 + 0.85 * i) * size, 0.3 * size, WINE)


def draw_seat(view: TableView, seat: SeatView, pen: Pen, area: Area, dark: bool, ink: str) -> None:
    """Points captured, and the score if the deal ended now."""
    captured = view.sections["captured"]
    points = captured[seat.seat]
    y = area.y + area.height / 2
    used = pen.label(area.x, y, str(points), 12, ink, bold=True) + 4
    ahead = f"{points - max(captured)}".replace("-", "−")
    size = max(11.0, pen.least)
    full = used + measure(f"captured  now {ahead}", size, False) <= area.width
    pen.label(area.x + used, y, "captured" if full else "pts", 11, ink)
    told = f"now {ahead}" if full else ahead
    if any(captured):
        pen.label(area.x + area.width, y, told, 11, ink, anchor=1)
