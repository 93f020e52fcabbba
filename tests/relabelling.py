"""Match records with the suits relabelled (``engine/symmetry.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trick_envs.engine.symmetry import Relabelling
from trick_envs.matches.replay import replay


def relabel_record(record: Mapping[str, Any], relabelling: Relabelling) -> dict[str, Any]:
    """The record of the same match with relabelled cards.

    Its deals are relabelled ones, not those that its seed gives: they count as given, as in every record. Seats and
    scores stay. Both records are replayed, which checks them.

    Args:
        record: as ``record()`` returns it, also of a running match.
        relabelling: of the record's game and number of players; length and options do not matter.

    Raises:
        ValueError: if it is not a record, its match breaks a rule, or the relabelling is of other cards; or if the
            game does not treat all suits alike, and the relabelled match breaks a rule or has other scores.
    """
    match = replay(record)
    ours, theirs = relabelling.game, match.game
    if (ours.name, ours.num_players) != (theirs.name, theirs.num_players):
        raise ValueError(f"a relabelling of {ours!r} does not fit a record of {theirs!r}")
    known = match.record()
    deals = [
        {
            **deal,
            "hands": [sorted(map(relabelling.card, hand), key=ours.deck.parse) for hand in deal["hands"]],
            "stock": [relabelling.card(card) for card in deal["stock"]],
            "actions": [[seat, relabelling.card(card)] for seat, card in deal["actions"]],
        }
        for deal in known["deals"]
    ]
    return replay({**known, "deals": deals}).record()
