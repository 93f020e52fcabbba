"""Pictures of a match for the page: one after every play, a finished trick or deal still on the table.

A frame is the JSON object that the page gets for each (``frame_data``; the server adds the person's hand to it):

======================  ================================================================================================
``number``              how many plays there were in the match
``told``                the last play and all that it did, in words, without a stop at the end; empty if there was none
``pause``               what the play has ended, why to look at it for longer: ``"trick"`` or ``"deal"``; else ``""``
``prompt``              what is asked, or who takes the trick
``svg``                 the table
``acting``              the seat to act; ``null`` while a finished trick or deal is shown, and at the end
``deal``, ``trick``     their numbers, from 1
``previous``,           the last finished trick (before the one that is shown): ``[seat, kind]`` for each of its cards
``taker``               in the order of play, and the seat that took it
``scores``              by seat: points of the match, the deal that has just ended included
``deal_score``          by seat: points of the deal that has just ended; else ``null``
``names``               by seat: what it is called: ``"you"``, ``"Ben"``; ``"player_1"`` if no person plays
``events``              what the last play did, in order: a list of objects as below; empty if there was none. In a
                        replay the step before a play has the card that will be played
======================  ================================================================================================

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
from trick_envs.matches.events import play as play_card
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView, svg

EVENTS = {CardPlayed: "card", TrickTaken: "trick", Changed: "change", DealScored: "deal", MatchWon: "match"}


@dataclass(frozen=True)
class Layout:
    """A way to draw a table.

    Attributes:
        width, height: in pixels.
        hand: whether the observer's own hand is in the picture, rather than beside it as buttons.
    """

    width: int
    height: int
    hand: bool


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

    @property
    def deal_score(self) -> list[int] | None:
        """By seat: the points of a deal that has just ended."""
        found = [list(event.scores) for event in self.events if isinstance(event, DealScored)]
        return found[0] if found else None

    def picture(self, layout: Layout) -> str:
        """The table as an SVG string."""
        return svg(self.view, layout.width, layout.height, hand=layout.hand)


def look(match: Match, observer: int | None) -> Snapshot:
    """What an observer sees now."""
    return Snapshot(match_view(match, observer), number_of_plays(match))


def shot(done: Play, observer: int | None) -> Snapshot:
    """What an observer sees of a play: the position after it, or the trick or deal that it has ended."""
    pause = {"": "", "trick": "trick"}.get(done.ends, "deal")
    return Snapshot(done.look(observer), done.number, done.events(observer), pause)


def play(match: Match, action: int, observer: int | None) -> Snapshot:
    """Plays an action; returns what an observer sees of it."""
    return shot(play_card(match, action), observer)


# --- what the page gets ---------------------------------------------------------------------------------------------


def frame_data(shot: Snapshot, layout: Layout) -> dict[str, Any]:
    """A moment for the page, as described above."""
    view = shot.view
    return {
        "number": shot.number,
        "told": shot.told,
        "pause": shot.pause,
        "prompt": view.prompt,
        "svg": shot.picture(layout),
        "acting": view.acting,
        "deal": view.deal,
        "trick": view.trick_number,
        "previous": [list(play) for play in view.previous],
        "taker": view.previous_taker,
        "scores": [seat.score for seat in view.seats],
        "deal_score": shot.deal_score,
        "names": names(view),
        "events": [event_data(event, view) for event in shot.events],
    }


def event_data(event: Event, view: TableView) -> dict[str, Any]:
    """An event for the page."""
    data = {"event": EVENTS[type(event)], "text": tell(event, view)}
    if isinstance(event, Changed):
        return data
    found = asdict(event)
    if isinstance(event, TrickTaken):
        found["plays"] = [list(play) for play in event.plays]
    if isinstance(event, DealScored):
        found["items"] = [[item._asdict() for item in items] for items in event.items]
    return {**data, **found}


def names(view: TableView) -> list[str]:
    """What the seats are called."""
    return [view.you(seat.seat) for seat in view.seats]
