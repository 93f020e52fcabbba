"""Hearts against OpenSpiel's: the same cards and actions through both, legal actions at every step, and returns.

``python tests/hearts_oracle.py 100000`` plays that many deals of every option alone and as many of random combinations.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trick_envs import BatchEnv, load_game

OPTIONS = dict(load_game("hearts").options)
GAMES = 500  # in one batch
NOWHERE, TO_THE_LEFT, ACROSS, TO_THE_RIGHT = range(4)  # both count seats to the left


def settings(combinations: int, seed: int = 0) -> Iterator[dict[str, bool]]:
    """The default, every option turned round alone, and random combinations."""
    yield dict(OPTIONS)
    for name, value in OPTIONS.items():
        yield {**OPTIONS, name: not value}
    rng = random.Random(seed)
    for _ in range(combinations):
        yield {name: rng.random() < 0.5 for name in OPTIONS}


def compare(options: Mapping[str, bool], deals: int, seed: int) -> int:
    """Plays random deals with both; returns how many.

    Raises:
        AssertionError: where legal actions or returns differ; says in which deal.
    """
    import pyspiel

    theirs = pyspiel.load_game("hearts", dict(options))
    rng = random.Random(seed)
    for begin in range(0, deals, GAMES):
        count = min(GAMES, deals - begin)
        _compare(theirs, options, count, seed * 10**9 + begin, rng)
    return deals


def _compare(theirs: Any, options: Mapping[str, bool], count: int, seed: int, rng: random.Random) -> None:
    ours = BatchEnv("hearts", count, num_deals=1, **options)
    ours.reset(seed)
    firsts = ((ours.states["dealer"] + 1) % 4).tolist()  # who is OpenSpiel's player 0
    states = [_dealt(theirs, ours.states[i], first) for i, first in enumerate(firsts)]
    running = np.arange(count)
    points = np.zeros((count, 4), np.float32)
    while len(running):
        actions, seats = [], ours.seats[running].tolist()
        for i, seat, mask in zip(running.tolist(), seats, ours.action_masks[running], strict=True):
            state, legal = states[i], np.flatnonzero(mask).tolist()
            where = f"deal {seed + i} with {dict(options)}"
            assert state.current_player() == (seat - firsts[i]) % 4, where
            assert sorted(map(_ours, state.legal_actions())) == legal, where
            action = legal[rng.randrange(len(legal))]
            state.apply_action(_theirs(action))
            actions.append(action)
        rewards, ended = ours.step(np.array(actions), running)
        points[ended] = rewards[ended]
        running = running[~ended[running]]
    for i, state in enumerate(states):
        assert state.is_terminal(), f"deal {seed + i} with {dict(options)}"
        returns = [26 + points[i, (player + firsts[i]) % 4] for player in range(4)]
        assert state.returns() == returns, f"deal {seed + i} with {dict(options)}"


def _dealt(theirs: Any, record: Any, first: int) -> Any:
    """OpenSpiel's position after the deal that lies in a record."""
    state = theirs.new_initial_state()
    state.apply_action(int(record["pass_to"]))
    order = record["order"].tolist()
    for i in range(52):
        state.apply_action(_theirs(order[13 * ((i + first) % 4) + i // 4]))
    return state


def _theirs(card: int) -> int:
    return 4 * (card % 13) + card // 13


def _ours(card: int) -> int:
    return 13 * (card % 4) + card // 4


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    for number, chosen in enumerate(settings(combinations=0)):
        changed = [name for name, value in chosen.items() if value != OPTIONS[name]]
        print(compare(chosen, wanted, number), "deals,", changed or "default", "- no difference", flush=True)
    for number, chosen in enumerate(list(settings(combinations=100))[1 + len(OPTIONS) :]):
        compare(chosen, wanted // 100, 1000 + number)
    print(wanted, "deals of 100 random combinations - no difference")
