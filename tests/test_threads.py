"""``BatchEnv(num_threads=…)``: the same bits for every number of threads; and the threads themselves."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest
from helpers import every_game

from trick_envs import BatchEnv
from trick_envs.errors import IllegalAction
from trick_envs.parallel.threads import usable_cores

MIN_GAMES = 64  # instead of the 1,024 that pay, so that the tests are quick
ARRAYS = ("observations", "action_masks", "seats", "rewards", "terminated")


@pytest.fixture(autouse=True)
def _few_games_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trick_envs.engine.batch.MIN_GAMES", MIN_GAMES)


def seen(games: BatchEnv) -> list[bytes]:
    """What a batch shows without its states, of which it then knows that nobody has changed them."""
    return [getattr(games, name).tobytes() for name in ARRAYS]


def content(games: BatchEnv) -> list[bytes]:
    return [getattr(games, name).tobytes() for name in ARRAYS] + [games.states.tobytes()]


def first_legal(games: BatchEnv) -> Any:
    return games.action_masks.argmax(axis=1)


@every_game
def test_every_number_of_threads_gives_the_same_bits(name: str) -> None:
    num_envs = 3 * MIN_GAMES + 7  # not the same for all threads
    batches = [BatchEnv(name, num_envs, num_deals=1, num_threads=threads) for threads in (1, 2, 3, 8)]
    for games in batches:
        games.reset(seed=5)
    ended = 0
    for turn in range(170):
        actions = first_legal(batches[0])
        some = None if turn % 3 else np.arange(turn % 2, num_envs, 2)
        for games in batches:
            games.step(actions if some is None else actions[some], some)
        ended += int(batches[0].terminated.sum())
        expected = content(batches[0])
        assert all(content(games) == expected for games in batches[1:])
    assert ended > 0
    for games in batches:
        games.reset()
    assert all(content(games) == content(batches[0]) for games in batches[1:])


def test_threads_name_the_first_illegal_action_and_no_game_has_moved() -> None:
    """Of a step after another one, when what is legal is known from that."""
    games = BatchEnv("pepper", 4 * MIN_GAMES, num_threads=4)
    games.reset(seed=1)
    games.step(first_legal(games))
    before, actions = seen(games), first_legal(games)
    for wrong in (3 * MIN_GAMES + 1, 2 * MIN_GAMES + 9, 5):
        actions[wrong] = games.action_masks[wrong].argmin()
        with pytest.raises(IllegalAction, match=f"^game {wrong}: "):
            games.step(actions)
        assert seen(games) == before
    games.step(first_legal(games))
    assert seen(games) != before


def test_threads_follow_arrays_that_are_replaced() -> None:
    games, alone = BatchEnv("pepper", 2 * MIN_GAMES, num_threads=2), BatchEnv("pepper", 2 * MIN_GAMES)
    untouched, paid = BatchEnv("pepper", 2 * MIN_GAMES), 0.0
    for each in (games, alone, untouched):
        each.reset(seed=1)
        each.step(first_legal(each))
    for each in (games, alone):
        each.rewards = np.full_like(each.rewards, 7)
        each.observations, each.seats = np.zeros_like(each.observations), np.zeros_like(each.seats)
        each.action_masks, each.terminated = each.action_masks.copy(), np.ones_like(each.terminated)
    for _ in range(150):
        for each in (games, alone, untouched):
            each.step(first_legal(each))
        paid += abs(untouched.rewards).sum()
        assert seen(games) == seen(alone) == seen(untouched)
    assert paid > 0


def test_an_array_of_another_shape_is_refused() -> None:
    games = BatchEnv("pepper", 3)
    games.reset(seed=1)
    before = seen(games)
    with pytest.raises(ValueError, match="shape"):
        games.rewards = np.zeros((4, 5), np.float32)
    assert seen(games) == before


def test_threads_end_with_the_batch() -> None:
    others, games = set(threading.enumerate()), BatchEnv("pepper", 4 * MIN_GAMES, num_threads=4)
    games.reset(seed=1)
    games.step(first_legal(games))
    serving = [each for each in threading.enumerate() if "trick_envs kernels" in each.name and each not in others]
    assert len(serving) == 3
    del games
    gc.collect()
    for thread in serving:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in serving)


def test_usable_cores_are_at_least_one() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_the_first_illegal_action_is_named_and_no_game_has_moved() -> None:
    games = BatchEnv("pepper", 4 * MIN_GAMES, num_threads=4)
    games.reset(seed=1)
    before, actions = content(games), first_legal(games)
    for wrong in (3 * MIN_GAMES + 1, 2 * MIN_GAMES + 9):
        actions[wrong] = games.action_masks[wrong].argmin()
        with pytest.raises(IllegalAction, match=f"^game {wrong}: "):
            games.step(actions)
        assert content(games) == before


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_a_bad_number_of_threads_is_an_error(number: Any) -> None:
    with pytest.raises(ValueError, match="num_threads: expected a whole number of 1 or more"):
        BatchEnv("pepper", 4, num_threads=number)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda games: pickle.loads(pickle.dumps(games))])
def test_a_copy_has_threads_of_its_own_and_goes_on_identically(how: Any) -> None:
    games = BatchEnv("pepper", 2 * MIN_GAMES, num_threads=2)
    games.reset(seed=3)
    games.step(first_legal(games))
    twin = how(games)
    assert games._pool is not None
    assert twin._pool is None
    for _ in range(5):
        games.step(first_legal(games))
        twin.step(first_legal(twin))
    assert content(games) == content(twin)


def test_threads_work_at_the_same_time_and_results_keep_their_order() -> None:
    together = threading.Barrier(3, timeout=60)  # nobody passes alone
    games = BatchEnv("pepper", 3 * MIN_GAMES, num_threads=3)

    def work(part: slice) -> int:
        together.wait()
        return int(part.start)

    for _ in range(3):
        assert games._share(3 * MIN_GAMES, work) == [0, MIN_GAMES, 2 * MIN_GAMES]


@pytest.mark.parametrize("failing", [0, MIN_GAMES])
def test_an_error_in_a_thread_reaches_the_caller_after_all_have_ended(failing: int) -> None:
    games, ended = BatchEnv("pepper", 2 * MIN_GAMES, num_threads=2), []

    def work(part: slice) -> None:
        if part.start == failing:
            raise ZeroDivisionError
        time.sleep(0.05)
        ended.append(1)

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            games._share(2 * MIN_GAMES, work)
    assert ended == [1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    games = BatchEnv("pepper", 2 * MIN_GAMES, num_threads=2)
    games.reset(seed=1)
    games.step(first_legal(games))
    forked = os.fork()
    if forked == 0:
        games.step(first_legal(games))
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 7


@every_game
def test_an_action_is_judged_by_the_position_after_a_change_to_the_states(name: str) -> None:
    """A step notes what is legal next, for a batch whose positions nobody else can change."""
    games = BatchEnv(name, 3, num_deals=1)
    games.reset(seed=4)
    for _ in range(9):
        games.step(first_legal(games))
    states = games.states
    games.step(first_legal(games))
    before, actions = states.copy(), first_legal(games)
    for _ in range(4):
        games.step(first_legal(games))
    states[:] = before  # and no call of ``observe``
    expected = BatchEnv(name, 3, num_deals=1)
    expected.reset(seed=4)
    expected.states[:] = before
    expected.observe()
    assert (first_legal(expected) == actions).all()
    games.step(actions)
    expected.step(actions)
    assert content(games) == content(expected)


@every_game
def test_an_illegal_action_is_refused_after_a_step_of_all_games_and_after_one_of_some(name: str) -> None:
    games = BatchEnv(name, 20, num_deals=1)
    games.reset(seed=4)
    for turn in range(30):
        some = np.arange(20) if turn % 3 else np.flatnonzero(np.arange(20) % 4 != turn % 4)
        for wrong in (games.action_masks[5].argmin(), -1, games.game.num_actions, 2**40):
            if wrong != games.action_masks[5].argmin() or not games.action_masks[5].all():
                actions = first_legal(games)
                actions[5] = wrong
                before = games.observations.tobytes(), games.action_masks.tobytes(), games.seats.tobytes()
                with pytest.raises(IllegalAction, match="game 5"):
                    games.step(actions)
                assert before == (games.observations.tobytes(), games.action_masks.tobytes(), games.seats.tobytes())
        games.step(first_legal(games)[some], some if turn % 3 == 0 else None)
