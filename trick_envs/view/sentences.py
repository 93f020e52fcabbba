"""What is said of a table as one observer sees it: what is asked, why a trick is taken, what points consist of."""

from __future__ import annotations

from trick_envs.view.messages import said
from trick_envs.view.table import Ended, SeatView, TableView
from trick_envs.view.words import ScoreItem, card_words, listed, of_suit, suit_name


def prompt(view: TableView) -> str:
    """What is asked, in the words that all games share."""
    if view.acting is None:
        return ending(view)
    if view.phase != "follow":
        return view.said_of(view.acting, f"asked.{view.phase}")
    return follow(view, view.suit_of(view.trick[0][1]) if view.trick else "")


def said_of_end(view: TableView, ended: Ended) -> str:
    """What the last play has ended."""
    return view.said_of(ended.trick.taker, "told.takes") if ended.trick else said("told.over")


def follow(view: TableView, *suits: str) -> str:
    """The sentence that says which suits the seat to act has to follow, and whether it can, as far as is seen."""
    assert view.acting is not None
    lacks = view.legal and not any(view.suit_of(kind) in suits for kind in view.legal)
    asked = said("words.or").join(map(suit_name, suits))
    return view.said_of(view.acting, "asked.lack" if lacks else "asked.follow", suits=asked)


def ending(view: TableView) -> str:
    """Who has won."""
    names = [view.you(seat) for seat in view.winners]
    one = len(names) == 1 and view.winners[0] != view.spoken_to
    return said("told.has_won" if one else "told.have_won", names=listed(names))


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
    key = "told.highest" if len(played) > 1 else "told.only"
    told = said(key, card=card_words(view.suits, view.ranks, best), what=name or of_suit(letter))
    return told + (said("told.first") if played.count(best) > 1 else "")


def with_the_hand(seat: SeatView, items: list[ScoreItem]) -> list[ScoreItem]:
    """The items of a seat's points in the last deal, completed by what the cards left in its hand make.

    Others see these cards only after the deal: all that they are told is what follows from the seat's points.
    """
    rest = (seat.last_score or 0) - sum(item.points for item in items)
    return [*items, ScoreItem(said("told.in_hand"), rest)] if rest else items
