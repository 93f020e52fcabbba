"""Exact exploitability of policies in the small variants."""

from __future__ import annotations

import math

import pyspiel

from trick_envs.engine.arguments import whole_number
from trick_envs.errors import InputError, checked
from trick_envs.interfaces.openspiel.game import DealGame, DealState

MOST_LINES = 10_000_000  # of play in a tree that is searched completely: about 4 kB of memory each


def greedy_policy(game: DealGame) -> pyspiel.TabularPolicy:
    """The game's heuristic in every information state, as a ``pyspiel.TabularPolicy``.

    Raises:
        ValueError: if the game is too large to visit them all.
        TypeError: if it is not one that ``small`` returns.
    """
    _check_size(game)
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

    Raises:
        ValueError: if the game is too large to search its whole tree, or for a number of iterations below 1.
        TypeError: if it is not one that ``small`` returns.
    """
    _check_size(game)
    iterations = whole_number(iterations, 1, math.inf, "iterations")
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


def _check_size(game: DealGame) -> None:
    """Checks that the whole tree of a game can be searched: of all deals, with the hands played in every order."""
    checked(game, DealGame, "game", "what small() returns, such as small('pepper')")
    if not game.is_small:
        raise InputError(f"game: {game} is at full size, too large to be searched completely: expected one of small()")
    players, size, cards = game.game.num_players, game.game.hand_size, game.game.deck.size
    deals = math.prod(math.comb(cards - seat * size, size) for seat in range(players))
    if (lines := deals * math.factorial(size) ** players) > MOST_LINES:
        raise InputError(
            f"game: {game} has up to {lines:,} lines of play, expected {MOST_LINES:,} at most: make it smaller"
        )
