"""The table as text."""

from __future__ import annotations

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.matches.reading import phase_name, places

_PLAIN = ("hand", "table", "pile")


def describe(game: Game, states: States) -> str:
    """``states[0]`` as a person would see it with all cards open: every hand, the trick, what lies elsewhere."""
    state, deck = states[0], game.deck
    n, phase = game.num_players, phase_name(states)
    total = int(state.num_deals)
    number = min(int(state.deal_number) + 1, total)
    lines = [f"{game.title}, deal {number} of {total}, dealer player_{state.dealer}"]
    lies = places(game, states)
    for seat in range(n):
        mark = ">" if phase != "over" and seat == state.seat else " "
        hand = " ".join(deck.format_all(lies[f"hand {seat}"]))
        elsewhere = [
            f"  {name}: {' '.join(deck.format_all(lies[f'{name} {seat}']))}"
            for name, place in game.type.places.items()
            if place.per_seat and name not in _PLAIN and lies[f"{name} {seat}"]
        ]
        taken = len(lies[f"pile {seat}"])
        lines.append(
            f"{mark} player_{seat} [{int(state.score[seat]):+d}]  {hand}{''.join(elsewhere)}"
            + (f"  ({taken} taken)" if taken else "")
        )
    lines += [
        f"  {name}: {' '.join(deck.format_all(lies[name]))}"
        for name, place in game.type.places.items()
        if not place.per_seat and name not in _PLAIN and lies[name]
    ]
    trick = [f"player_{state.trick_seat[i]} {deck.format(int(state.trick[i]))}" for i in range(int(state.trick_size))]
    lines.append(f"  trick {int(state.tricks) + 1}: {', '.join(trick) or 'to be led'}" if phase != "over" else "  over")
    if phase != "over":
        lines.append(f"  player_{state.seat} to {phase}")
    return "\n".join(lines)
