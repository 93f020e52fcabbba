"""The table as text."""

from __future__ import annotations

from typing import Any

from trick_envs.engine.game import Setup
from trick_envs.interfaces.reading import phase_name, places

_PLAIN = ("hand", "table", "pile")


def describe(setup: Setup, states: Any) -> str:
    """``states[0]`` as a person would see it with all cards open: every hand, the trick, what lies elsewhere."""
    state, deck = states[0], setup.deck
    n, phase = setup.num_players, phase_name(states)
    total = int(state.num_deals)
    number = min(int(state.deal_number) + 1, total)
    lines = [f"{setup.rules.game.title}, deal {number} of {total}, dealer player_{state.dealer}"]
    lies = places(setup, states)
    for seat in range(n):
        mark = ">" if phase != "over" and seat == state.seat else " "
        hand = " ".join(deck.format_all(lies[f"hand {seat}"]))
        elsewhere = [
            f"  {place.name}: {' '.join(deck.format_all(lies[f'{place.name} {seat}']))}"
            for place in setup.rules.places
            if place.per_seat and place.name not in _PLAIN and lies[f"{place.name} {seat}"]
        ]
        taken = len(lies[f"pile {seat}"])
        lines.append(
            f"{mark} player_{seat} [{int(state.score[seat]):+d}]  {hand}{''.join(elsewhere)}"
            + (f"  ({taken} taken)" if taken else "")
        )
    lines += [
        f"  {place.name}: {' '.join(deck.format_all(lies[place.name]))}"
        for place in setup.rules.places
        if not place.per_seat and place.name not in _PLAIN and lies[place.name]
    ]
    trick = [f"player_{state.trick_seat[i]} {deck.format(int(state.trick[i]))}" for i in range(int(state.trick_size))]
    lines.append(f"  trick {int(state.tricks) + 1}: {', '.join(trick) or 'to be led'}" if phase != "over" else "  over")
    if phase != "over":
        lines.append(f"  player_{state.seat} to {phase}")
    return "\n".join(lines)
