"""Hearts beside OpenSpiel's, which is written in C++: the same game, the same loops, in the same run on one thread."""

from __future__ import annotations

import random
from collections.abc import Callable

from trick_envs.errors import MissingExtraError

ROLLOUTS = 200  # of one deal
Rate = Callable[[Callable[[], int]], float]


def peers(
    rate: Rate, playouts: Callable[[str, int], float], batch: Callable[[str, int], float],
    raw_env: Callable[[str, int], float], deals: Callable[[str, int], float],
) -> dict[str, float]:  # fmt: skip
    """Plays per second by what is done, and by whom.

    Args:
        rate: measures work that returns how many plays it has made.
        playouts, batch, raw_env, deals: the sections ``playouts``, ``batch``, ``raw_env`` and ``openspiel``.

    Raises:
        MissingExtraError: without OpenSpiel.
    """
    try:
        import pyspiel
        from open_spiel.python.observation import make_observation
    except ModuleNotFoundError:
        raise MissingExtraError("the section peers needs OpenSpiel: pip install 'trick_envs[openspiel]'") from None
    theirs = pyspiel.load_game("hearts")
    draw = random.Random(0).random

    def dealt() -> pyspiel.State:
        state = theirs.new_initial_state()
        while state.is_chance_node():
            outcomes = state.legal_actions()
            state.apply_action(outcomes[int(draw() * len(outcomes))])
        return state

    def random_playouts() -> int:
        state = dealt()
        for seed in range(ROLLOUTS):
            pyspiel.evaluate_bots(state.clone(), bots, seed)
        return ROLLOUTS * plays_of_a_deal

    def whole_deal(look: bool) -> Callable[[], int]:
        def work() -> int:
            state, plays = dealt(), 0
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(state.legal_actions()[0])
                    continue
                if look:
                    view.set_from(state, state.current_player())
                legal = state.legal_actions()
                state.apply_action(legal[int(draw() * len(legal))])
                plays += 1
            return plays

        return work

    view = make_observation(theirs, pyspiel.IIGObservationType(perfect_recall=True))  # an array that is written anew
    plays_of_a_deal = whole_deal(False)()
    bots = [pyspiel.make_uniform_random_bot(seat, seat) for seat in range(4)]  # the loop over them is in C++, too
    return {
        "random play-outs: trick_envs": playouts("hearts", 4),
        "random play-outs: OpenSpiel": rate(random_playouts),
        "an observation for every play: BatchEnv(512)": batch("hearts", 4),
        "an observation for every play: raw_env()": raw_env("hearts", 4),
        "an observation for every play: OpenSpiel from Python": rate(whole_deal(True)),
        "whole deals from a Python loop: trick_envs in OpenSpiel": deals("hearts", 4),
        "whole deals from a Python loop: OpenSpiel": rate(whole_deal(False)),
    }
