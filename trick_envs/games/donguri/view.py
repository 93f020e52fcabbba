"""What only Donguri has on its table: the vote of acorns against wildcats, and who takes the trick if it ended now."""

from __future__ import annotations

from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.donguri.rules import ACORNS, POINTS, WILDCATS
from trick_envs.view.messages import said
from trick_envs.view.pen import Pen, smooth
from trick_envs.view.rows import Row
from trick_envs.view.style import INK, WINE
from trick_envs.view.table import TableView
from trick_envs.view.words import ScoreItem, counted, signed

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

PANEL = ("right", 150)


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
    most = max(captured)
    seats = tuple(
        replace(
            seat,
            note=said("donguri.note", points=points, behind=signed(points - most)),
            facts=(
                Row(said("donguri.captured"), str(points)),
                *([Row(said("donguri.now"), signed(points - most), small=True)] if most else []),
            ),
        )
        for seat, points in zip(view.seats, captured, strict=True)
    )
    remarks = () if uncounted is None else ((uncounted, said("donguri.no_vote")),)
    view = replace(view, taking=taking, seats=seats, sections=sections, remarks=remarks)
    return replace(view, rows=_rows(view))


def _rows(view: TableView) -> tuple[Row, ...]:
    """The two sides with their votes, who takes the trick by them, and what is printed small."""
    now = view.sections
    wins, uncounted = now["wins"], now["uncounted"]
    meaning = said("donguri.about", acorns=now["acorns"], wildcats=now["wildcats"])
    ended = f"the {wins} card takes" if wins else "nobody takes"
    words = f"acorns {now['acorns']}, wildcats {now['wildcats']}: {ended} if it ended now" if view.trick else ""
    told = said(f"donguri.{wins or ('tied' if view.trick else 'no_votes')}")
    half, ranks = len(view.ranks) // 2, view.ranks
    rows = [
        Row(said("donguri.acorns"), str(now["acorns"]), icon="acorn", strong=wins == "strongest", about=meaning,
            words=words),
        Row(said("donguri.wildcats"), str(now["wildcats"]), icon="wildcat", strong=wins == "weakest", about=meaning),
        Row(told, strong=bool(wins), about=meaning),
        Row(f"{ranks[0]}–{ranks[half - 1]}", note=said("donguri.acorns"), small=True),
        Row(f"{ranks[half]}–{ranks[-1]}", note=said("donguri.wildcats"), small=True),
    ]  # fmt: skip
    for points in (3, 2):
        worth = [rank for i, rank in enumerate(ranks) if POINTS[view.num_players, i] == points]
        if worth:
            rows.append(Row(" ".join(worth), note=said("donguri.points", points=points), small=True))
    if view.num_players == 4:
        whose = ""
        if uncounted is not None:
            whose = "your vote" if uncounted == view.spoken_to else f"the vote of {view.seats[uncounted].name}"
        words = whose and f"{whose} does not count"
        rows.append(Row(said("donguri.second"), note=said("donguri.no_vote"), small=True, words=words))
    return tuple(rows)


def why_taken(view: TableView) -> str:
    """The majority decides: with more acorns the strongest card takes the trick, with more wildcats the weakest."""
    now = view.sections
    acorns, wildcats = now["acorns"], now["wildcats"]
    key = "donguri.most_acorns" if acorns > wildcats else "donguri.most_wildcats"
    told = said(key, most=max(acorns, wildcats), least=min(acorns, wildcats))
    rank = next(kind for seat, kind in view.trick if seat == view.taking) % len(view.ranks)
    equal = sum(kind % len(view.ranks) == rank for _, kind in view.trick) > 1
    return said("donguri.equal", told=told) if equal else told


def effect(before: TableView, kind: int, after: TableView) -> str:
    """The points in a trick."""
    if after.taking is None or after.acting is not None:  # the trick goes on
        return ""
    points = after.sections["captured"][after.taking] - before.sections["captured"][after.taking]
    return said("donguri.got", points=counted(points, "point"))


def stands(view: TableView) -> str:
    """The points captured, and how far behind the best."""
    captured = view.sections["captured"]
    own, most = captured[view.acting or 0], max(captured)
    behind = said("donguri.nobody") if own == most else said("donguri.behind", most=most, behind=most - own)
    return said("donguri.stands", points=counted(own, "point"), behind=behind)


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the points captured, minus the most that anybody has."""
    captured = view.sections["captured"]
    most = max(captured)
    return [
        [
            ScoreItem(said("donguri.got", points=counted(points, "point")), points),
            ScoreItem(said("donguri.minus"), -most),
        ]
        for points in captured
    ]


def icon(pen: Pen, name: str, x: float, y: float, size: float) -> None:
    """The mark of a side in a row."""
    draw_side(pen, ACORNS if name == "acorn" else WILDCATS, x, y, size)


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
