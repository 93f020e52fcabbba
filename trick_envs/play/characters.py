"""What the seats are called on the page: names for people, and "you". Records keep ``player_0`` and so on."""

from __future__ import annotations

from collections.abc import Sequence

from trick_envs.view.table import YOU, seat_name

PERSON = "person"  # in the record's players
NAMES = ("Ada", "Ben", "Cleo", "Dara", "Emil", "Fay", "Gus", "Hana", "Ivo")  # by seat


def character(seat: int) -> str:
    """The name of a seat: always the same, so that two tabs and a game that goes on agree."""
    return NAMES[seat] if seat < len(NAMES) else seat_name(seat)


def names_of(players: Sequence[str]) -> tuple[str, ...]:
    """The names of all seats.

    Args:
        players: the spec of every seat's player; ``PERSON`` for the person's.
    """
    return tuple(YOU if spec == PERSON else character(seat) for seat, spec in enumerate(players))


def names_in(players: object, num_players: int) -> tuple[str, ...]:
    """The names of the seats of a match that a person has played, as its record says; empty for any other."""
    if not isinstance(players, list) or len(players) != num_players or players.count(PERSON) != 1:
        return ()
    return names_of(players)
