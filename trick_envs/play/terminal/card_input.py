"""The cards among which the person chooses, and how they are named."""

from __future__ import annotations

from dataclasses import dataclass

from trick_envs.errors import InputError
from trick_envs.view import TableView

ELSEWHERE = ("keep", "pick")  # phases in which the cards to choose from do not lie in the hand


@dataclass(frozen=True)
class Choice:
    """A card that can be named.

    Attributes:
        kind: the action that names it.
        legal: whether it may be.
        held: whether it is in the hand; else it lies on the table.
    """

    kind: int
    legal: bool
    held: bool


def choices(view: TableView) -> list[Choice]:
    """The cards of the observer's hand, then legal ones that lie elsewhere."""
    assert view.observer is not None
    hand = [kind for kind in view.seats[view.observer].hand if kind is not None]
    elsewhere = view.phase in ELSEWHERE
    found = [Choice(kind, kind in view.legal and not elsewhere, True) for kind in hand]
    return found + [Choice(kind, True, False) for kind in view.legal if elsewhere or kind not in hand]


def named(view: TableView, text: str) -> int:
    """The card that a person names, by its number among the choices or as it is written.

    Raises:
        ValueError: if there is no such card.
    """
    found = choices(view)
    if text.isdecimal():
        if not 1 <= int(text) <= len(found):
            raise InputError(f"there is no card number {text}: 1 to {len(found)}, or a name such as {_name(view)}")
        return found[int(text) - 1].kind
    for kind in range(len(view.suits) * len(view.ranks)):
        if view.card(kind).upper() == text.strip().upper():
            return kind
    raise InputError(
        f"{text!r} is no card: a number of 1 to {len(found)}, or a rank and then a suit, such as {_name(view)}"
    )


def _name(view: TableView) -> str:
    return view.card(choices(view)[0].kind)
