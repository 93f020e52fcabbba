"""What the page shows of a match: a frame after every play, a finished trick or deal still on the table.

A frame is the JSON object that the page gets for each (``frame_data``):

======================  ================================================================================================
``number``              how many plays there were in the match
``told``                the last play and all that it did, in words, without a stop at the end; empty if there was none
``pause``               what the play has ended, why to look at it for longer: ``"trick"`` or ``"deal"``; else ``""``
``prompt``              what is asked, or who takes the trick
``table``               the table, as below
``hand``, ``places``    the cards at the bottom of the table: those in the hand, and by name those that lie elsewhere
``legal``, ``yours``    the cards that may be named, if it is the turn of the seat at the bottom, and whether it is
``together``            how many of them it names one after the other: they may be chosen at once
``acting``              the seat to act; ``null`` while a finished trick or deal is shown, and at the end
``deal``, ``trick``     their numbers, from 1
``previous``,           the last finished trick (before the one that is shown): ``[seat, kind]`` for each of its cards
``taker``               in the order of play, and the seat that took it
``scores``              by seat: points of the match, the deal that has just ended included
``names``               by seat: what it is called: ``"you"``, ``"Ben"``; ``"player_1"`` if no person plays
``events``              what the last play did, in order: a list of objects as below; empty if there was none. In a
                        replay the step before a play has the card that will be played
======================  ================================================================================================

The table is what the page draws: ``bottom``, the seat there; ``led``, ``taking``, seats or ``null``; ``trick``,
``[seat, kind]`` for each card; ``winners``; ``remarks``, ``[seat, words]``; ``rows`` (``trick_envs.view.rows``, what is
empty left out); and ``seats``: ``hand`` (``null``: a card that is not seen), ``dealer``, ``facts`` (rows)
and ``about``, what the numbers mean. It follows from one ``TableView``: the same in worlds that look alike.

Every event has ``event``, its kind, and ``text``, a sentence without a stop. The kinds, and what else they have:

============  ==========================================================================================================
``"card"``    ``seat``; ``phase`` (``lead``, ``follow``, ``pass``, ``keep``, ``pick``); ``kind``, ``null`` if hidden
``"trick"``   ``number``; ``plays``, as ``previous``; ``taker``; ``why``: by which rule, a sentence, or ``""``
``"change"``  nothing else: what the play changed that only this game has: a price, a pepper, a station
``"deal"``    ``number``; ``scores``, by seat; ``items``, by seat: a list of objects such as
              ``{"words": "four red cards", "points": -4}``, whose points add up to the seat's score; ``[]`` if the game
              does not say
``"match"``   ``winners``, a list of seats; ``scores``, by seat
============  ==========================================================================================================

An observer is told of a play what its seat may know of it, and of another seat's hand at the end of a deal no more than
what follows from the score.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trick_envs.engine.registry import game_type
from trick_envs.matches.events import (
    CardPlayed,
    Changed,
    DealScored,
    Event,
    MatchWon,
    Play,
    TrickTaken,
    number_of_plays,
    tell,
    tell_all,
)
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import SeatView, TableView
from trick_envs.view.cards import game_module
from trick_envs.view.messages import said
from trick_envs.view.rows import Row
from trick_envs.view.words import counted, signed

EVENTS = {CardPlayed: "card", TrickTaken: "trick", Changed: "change", DealScored: "deal", MatchWon: "match"}


@dataclass(frozen=True)
class Snapshot:
    """What an observer sees of a match at one moment.

    Attributes:
        view: the table.
        number: how many plays there were in the match.
        events: what the last play has done.
        pause: why to look at it for longer: ``"trick"`` or ``"deal"`` has just ended; else empty.
    """

    view: TableView
    number: int
    events: tuple[Event, ...] = ()
    pause: str = ""

    @property
    def told(self) -> str:
        """What the last play has done, in words."""
        return tell_all(self.events, self.view)


def look(match: Match, observer: int | None) -> Snapshot:
    """What an observer sees now."""
    return Snapshot(match_view(match, observer), number_of_plays(match))


def shot(done: Play, observer: int | None) -> Snapshot:
    """What an observer sees of a play: the position after it, or the trick or deal that it has ended."""
    pause = {"": "", "trick": "trick"}.get(done.ends, "deal")
    return Snapshot(done.look(observer), done.number, done.events(observer), pause)


# --- what the page gets ---------------------------------------------------------------------------------------------


def frame_data(shot: Snapshot, seat: int | None = None, playing: bool = True) -> dict[str, Any]:
    """A moment for the page, as described above.

    Args:
        shot: the moment.
        seat: at the bottom of the table; ``None``: the observer, or the person, or seat 0.
        playing: whether somebody may play there now.
    """
    view = shot.view
    bottom = seat if seat is not None else view.observer if view.observer is not None else view.spoken_to or 0
    own, yours = view.seats[bottom], view.acting == bottom and playing
    hand_places = game_type(view.game).hand_places
    held = {"hand": own.hand, **{name: own.places.get(name, ()) for name in hand_places[1:]}}
    lying = {kind for kinds in held.values() for kind in kinds}
    beside = [kind for kind in view.legal if kind not in lying] if yours else []
    return {
        "number": shot.number,
        "told": shot.told,
        "pause": shot.pause,
        "prompt": view.prompt,
        "table": table_data(view, bottom),
        "hand": [kind for kind in held.pop("hand") if kind is not None],
        "places": {
            **{name: list(kinds) for name, kinds in held.items() if kinds},
            **({view.phase: beside} if beside else {}),
        },
        "yours": yours,
        "legal": list(view.legal) if yours else [],
        "together": view.together if yours else 1,
        "acting": view.acting,
        "deal": view.deal,
        "trick": view.trick_number,
        "previous": [list(play) for play in view.previous],
        "taker": view.previous_taker,
        "scores": [seat.score for seat in view.seats],
        "names": [view.you(seat.seat) for seat in view.seats],
        "events": [event_data(event, view) for event in shot.events],
    }


def table_data(view: TableView, bottom: int) -> dict[str, Any]:
    """A table as the page draws it, with a seat at the bottom."""
    over = view.acting is None and not view.trick  # the last trick lies there still
    return {
        "bottom": bottom,
        "led": view.previous[0][0] if over and view.previous else view.led,
        "taking": view.previous_taker if over else view.taking,
        "trick": [list(play) for play in view.lying],
        "winners": list(view.winners),
        "remarks": [list(remark) for remark in view.remarks],
        "rows": [_row(row) for row in view.rows if row.drawn],
        "seats": [
            {
                "hand": list(seat.hand),
                "dealer": seat.dealer,
                "facts": [_row(fact) for fact in seat.facts]
                or [{"note": seat.note or said("plate.count", count=len(seat.taken))}],
                "about": about_seat(view, seat),
            }
            for seat in view.seats
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    """A row without what is empty, and without its words for terminals."""
    return {key: value for key, value in asdict(row).items() if value and key != "words"}


def about_seat(view: TableView, seat: SeatView) -> str:
    """What the numbers on the plate of a seat mean, in sentences."""
    told = [view.said_of(seat.seat, "plate.points", points=signed(seat.score))]
    if seat.last_score is not None:
        told.append(said("plate.last", points=signed(seat.last_score)))
    told.append(said("plate.hand", cards=counted(len(seat.hand), "card")))
    if seat.taken:
        told.append(said("plate.taken", cards=counted(len(seat.taken), "card")))
    if seat.note:
        told.append(seat.note)
    about = getattr(game_module(view.game), "about_seat", lambda view, seat: "")
    dealer, stop = said("plate.dealer") if seat.dealer else "", said("words.end").strip()
    return f"{said('words.semicolon').join(told)}{stop}{dealer}{said('words.space')}{about(view, seat)}".rstrip()


def event_data(event: Event, view: TableView) -> dict[str, Any]:
    """An event for the page."""
    data: dict[str, Any] = {"event": EVENTS[type(event)], "text": tell(event, view)}
    if isinstance(event, Changed):
        return data
    if isinstance(event, DealScored):
        data["items"] = [[item._asdict() for item in items] for items in event.items]
    return {**asdict(event), **data}
