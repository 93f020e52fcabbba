"""A deal, as it is given or as it was played, and a trick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from trick_envs.engine.state import FOLLOW, KEEP, LEAD, OVER, States

Plays: TypeAlias = tuple[tuple[int, int], ...]  # who played, and which kind of card

BY_THE_RULES = -1  # a dealer that nobody has chosen


@dataclass
class Deal:
    """A deal: as it is given, before it is played, or as far as it was played.

    Attributes:
        dealer: the seat that deals; ``BY_THE_RULES`` in a given deal: the one whose turn it is.
        order: the cards in dealing order: hand after hand, then the stock. Empty in a given deal: random cards.
        actions: seat and action of every decision.
        score: points by seat; ``None`` while it is being played.
        rewards: the reward of every seat for this deal; empty while it is being played.
        notes: further entries of it in the record.
        positions: the position before each decision, as the bytes of a record. A match has those of its last deals.
    """

    dealer: int = BY_THE_RULES
    order: tuple[int, ...] = ()
    actions: list[tuple[int, int]] = field(default_factory=list)
    score: list[int] | None = None
    rewards: list[float] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)
    positions: list[bytes] = field(default_factory=list, repr=False, compare=False)


class Trick(NamedTuple):
    """A finished trick.

    Attributes:
        plays: its cards as they were played: seat and kind.
        taker: the seat that has taken it.
    """

    plays: Plays
    taker: int


def ends_trick(before: States, after: States) -> bool:
    """Whether the play between two positions of a deal has ended a trick.

    A choice that follows the last card of a trick, such as a pick from the stock, does not.
    """
    if before["phase"][0] not in (LEAD, FOLLOW, KEEP):
        return False
    swept = after["tricks"][0] > before["tricks"][0] or after["trick_size"][0] == 0 < before["trick_size"][0]
    return bool(swept or after["phase"][0] == OVER)
