"""What one observer sees of a match: the table, and the last trick."""

from __future__ import annotations

from trick_envs.errors import checked
from trick_envs.matches.match import Match
from trick_envs.view import TableView, table_view


def match_view(match: Match, observer: int | None = None) -> TableView:
    """What an observer sees of a match now, the last finished trick included (at first that of the deal before).

    Args:
        match: the match.
        observer: a seat, or ``None``: everything is open.

    Raises:
        ValueError: if there is no such seat.
        TypeError: if ``match`` is no match, but an environment for example.
    """
    checked(match, Match, "match", "a Match")
    return table_view(match.game, match.states, observer, match.last_trick, names=match.names)
