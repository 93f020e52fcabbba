"""Exact exploitability of policies in the small variants."""

from __future__ import annotations

import pyspiel

from trick_envs.interfaces.openspiel.game import DealGame, DealState


def greedy_policy(game: DealGame) -> pyspiel.TabularPolicy:
    """The game's heuristic in every information state, as a ``pyspiel.TabularPolicy``."""
    chosen: dict[str, list[tuple[int, float]]] = {}

    def visit(state: DealState) -> None:
        if not (state.is_chance_node() or state.is_terminal()):
            greedy = state.position.greedy()
            chosen[state.information_state_string()] = [
                (action, float(action == greedy)) for action in state.legal_actions()
            ]
        for action in state.legal_actions():
            visit(state.child(action))

    visit(game.new_initial_state())
    return pyspiel.TabularPolicy(chosen)


def exploitabilities(game: DealGame, iterations: int = 100) -> dict[str, float]:
    """The exploitability of ``random``, ``greedy`` and CFR+ after some iterations; 0 is an equilibrium.

    The number is the gain of a best response to the others, in points per deal, as a mean over the seats: NashConv over
    the number of seats. For two seats that is OpenSpiel's exploitability; for more, CFR+ is not guaranteed to converge
    to 0.
    """
    tree = pyspiel.convert_to_cached_tree(game)  # as fast as a game in C++, from the second visit on
    solver = pyspiel.CFRPlusSolver(tree)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    policies = {
        "random": pyspiel.UniformRandomPolicy(tree),
        "greedy": greedy_policy(game),
        f"cfr+:{iterations}": solver.average_policy(),
    }
    return {name: pyspiel.nash_conv(tree, policy) / game.num_players() for name, policy in policies.items()}
