"""What is possible in a decision, why, and what each card would do: for somebody who learns the game.

Everything is said from what the seat to act knows: the table as it sees it, and the rules.
"""

from __future__ import annotations

import re
from typing import Any

from trick_envs.engine.state import PHASES
from trick_envs.matches.events import Changed, TrickTaken, imagine, tell_all
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView
from trick_envs.view.messages import declared, said
from trick_envs.view.words import card_words, counted, listed, sentence, suit_name

IMAGINED = ("lead", "follow", "keep")  # phases in which a play turns up nothing that its seat does not know
LISTED = 4  # cards that are named one by one


def lesson_data(match: Match) -> dict[str, Any]:
    """The lesson of the decision that is to be made. JSON-serialisable.

    ``phase``; ``possible``: which cards may be named, and why no others; ``stands``: how the seat to act stands, in
    the words of the score, empty if the game does not say; ``cards``: ``kind`` and ``words``, what naming it would do.
    """
    seat = int(match.states["seat"][0])
    view = match_view(match, seat)
    stands = getattr(match.game.type.view, "stands", lambda view: "")
    return {
        "phase": view.phase,
        "possible": possible(match, view),
        "stands": stands(view),
        "cards": [{"kind": kind, "words": outcome(match, view, kind)} for kind in view.legal],
    }


def possible(match: Match, view: TableView) -> str:
    """Which cards the seat to act may name, and why no others."""
    kind = match.game.type
    own = view.seats[view.acting or 0]
    held = [one for name in kind.hand_places for one in (own.hand if name == "hand" else own.places[name])]
    if not set(view.legal) <= set(held):  # a choice between cards that lie on the table
        return said("possible.choose", cards=_either(view, view.legal))
    others = [one for one in held if one not in view.legal]
    rule = re.sub(r" \(.*?\)", "", kind.legality_rules.get(PHASES.index(view.phase), ""))
    rule = declared(view.game, view.phase, rule)
    if not others:
        if view.phase != "follow" or not rule:
            return said("possible.any")
        return said("possible.all", rule=rule, lack=_nothing_else(view, held))
    because = said("words.because", why=rule) if rule else ""
    if len(view.legal) > LISTED:
        return said("possible.many", cards=sentence(counted(len(view.legal), "card")), because=because)
    key = "possible.one" if len(view.legal) == 1 else "possible.few"
    return said(key, cards=_either(view, view.legal), because=because)


def _nothing_else(view: TableView, held: list[int | None]) -> str:
    """Why any card may follow: the seat has nothing of what is led, or nothing else."""
    suits = {view.suit_of(kind) for kind in held if kind is not None}
    leader = view.trick[0][0]
    led = dict.fromkeys(view.suit_of(kind) for seat, kind in view.trick if seat == leader)
    missing = [suit_name(letter) for letter in led if letter not in suits]
    if len(missing) < len(led):
        return said("possible.nothing")
    return said("possible.no", suits=said("possible.and_no").join(missing))


def _either(view: TableView, kinds: tuple[int, ...]) -> str:
    return listed([card_words(view.suits, view.ranks, kind) for kind in kinds], "words.or")


def outcome(match: Match, view: TableView, kind: int) -> str:
    """What naming a card would do, as far as its seat can tell; empty if it cannot tell anything."""
    if view.phase not in IMAGINED:
        return ""
    done = imagine(match, kind)
    after = done.look(view.acting)
    events = [event for event in done.events(view.acting) if isinstance(event, TrickTaken | Changed)]
    told = [tell_all(events, after)] if events else []
    if not any(isinstance(event, TrickTaken) for event in events):
        if after.acting == view.acting:
            told.append(said("possible.then", prompt=after.prompt))
        elif view.phase == "lead":
            told.append(said("possible.follow", suits=_led(after)))
        elif after.taking is None:
            told.append(said("possible.open"))
        else:
            told.append(after.said_of(after.taking, "possible.takes"))
    return said("words.end").join(sentence(each) for each in told if each)


def _led(view: TableView) -> str:
    return listed(list(dict.fromkeys(suit_name(view.suit_of(kind)) for _, kind in view.trick)), "words.or")
