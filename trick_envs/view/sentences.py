"""What is said of a table as one observer sees it: what is asked, why a trick is taken, what points consist of."""

from __future__ import annotations

from trick_envs.view.table import Ended, SeatView, TableView
from trick_envs.view.words import ScoreItem, card_words, listed, of_suit, suit_name

_ASKED = {"lead": "lead", "pass": "pass a card", "keep": "choose the lead card that stays", "pick": "pick a card"}


def prompt(view: TableView) -> str:
    """What is asked, in the words that all games share."""
    if view.acting is None:
        return ending(view)
    who, yours = view.you(view.acting), view.acting == view.spoken_to
    if view.phase != "follow":
        asked = _ASKED[view.phase]
        return f"{who} {asked}" if yours else f"{who} to {asked}"
    return follow(view, view.suit_of(view.trick[0][1]) if view.trick else "")


def said_of_end(view: TableView, ended: Ended) -> str:
    """What the last play has ended."""
    return f"{view.verb(ended.trick.taker, 'take')} the trick" if ended.trick else "the deal is over"


def follow(view: TableView, *suits: str) -> str:
    """The sentence that says which suits the seat to act has to follow, and whether it can, as far as is seen."""
    assert view.acting is not None
    who, yours, asked = view.you(view.acting), view.acting == view.spoken_to, " or ".join(map(suit_name, suits))
    if view.legal and not any(view.suit_of(kind) in suits for kind in view.legal):
        return f"{who} {'have' if yours else 'has'} no {asked}: any card"
    return f"{who} follow {asked}" if yours else f"{who} to follow {asked}"


def ending(view: TableView) -> str:
    """Who has won."""
    names = [view.you(seat) for seat in view.winners]
    has = "has" if len(names) == 1 and names[0] != "you" else "have"
    return f"the match is over: {listed(names)} {has} won"


def highest_of_suit(view: TableView, letter: str | None = None, name: str = "") -> str:
    """Why the taker's card takes the trick: it is the highest, or the only one, of a suit.

    Args:
        view: a table with a finished trick.
        letter: the suit; ``None``: the led one.
        name: what a card of that suit is called, if not by its suit.
    """
    letter = view.suit_of(view.trick[0][1]) if letter is None else letter
    played = [kind for _, kind in view.trick if view.suit_of(kind) == letter]
    best = max(played)
    told = f"{card_words(view.suits, view.ranks, best)} is the {'highest' if len(played) > 1 else 'only'} "
    first = ", played first" if played.count(best) > 1 else ""
    return f"{told}{name or of_suit(letter)}{first}"


def with_the_hand(seat: SeatView, items: list[ScoreItem]) -> list[ScoreItem]:
    """The items of a seat's points in the last deal, completed by what the cards left in its hand make.

    Others see these cards only after the deal: all that they are told is what follows from the seat's points.
    """
    rest = (seat.last_score or 0) - sum(item.points for item in items)
    return [*items, ScoreItem("left in the hand", rest)] if rest else items
