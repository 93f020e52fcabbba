"""Whatever stops a step or a reset half-way: it has not happened, or has happened whole, or ``reset`` is asked for."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import make

from trick_envs import BatchEnv
from trick_envs.errors import ResetNeeded

warnings.filterwarnings("ignore", message=".*an illegal action")
PEPPER, SEED = "trick_envs/Pepper-v0", 5


EVERY = int(os.environ.get("TRICK_ENVS_INTERRUPT_EVERY", "199"))  # points; 1: all of them, which takes minutes


def lowest(observations: Any, action_masks: Any) -> Any:
    return np.asarray(action_masks).argmax(axis=1)


class Game:
    """An interface with a learner at seat 0 in its first game, or with all seats, after some steps."""

    def __init__(self, kind: str, opponents: Any = lowest) -> None:
        self.kind = kind
        options = {"num_players": 5, "num_deals": 2}
        seated = {"opponents": opponents, "seat": 0, **options}
        if kind in ("env", "raw_env"):
            self.env = make("pepper", 5, raw=kind == "raw_env", num_deals=2)
        elif kind == "batch":
            self.env = BatchEnv("pepper", 2, **options)
        elif kind == "single":
            self.env = gymnasium.make(PEPPER, **seated).unwrapped
        else:
            same = {"autoreset_mode": "SAME_STEP"}
            self.env = gymnasium.make_vec(PEPPER, 2, "vector_entry_point", **seated, **same)
            if kind == "sb3":
                self.env = pytest.importorskip("trick_envs.interfaces.sb3").SeatVecEnv(self.env)

    def reset(self) -> None:
        if self.kind == "sb3":
            self.env.seed(SEED)
            self.env.reset()
        else:
            self.env.reset(seed=SEED)

    def begin(self, steps: int) -> None:
        self.reset()
        for _ in range(steps):
            self.step()

    def actions(self) -> Any:
        if self.kind in ("env", "raw_env"):
            return int(self.env.observe(self.env.agent_selection)["action_mask"].argmax())
        masks = self.masks()
        return int(masks.argmax()) if self.kind == "single" else masks.argmax(axis=1)

    def masks(self) -> Any:
        if self.kind == "batch":
            return self.env.action_masks
        return np.array(self.env.env_method("action_masks")) if self.kind == "sb3" else self.env.action_masks()

    def step(self) -> Any:
        return self.env.step(self.actions())

    def states(self) -> Any:
        return (self.env.games if self.kind == "sb3" else self.env).states

    def goes_on(self) -> None:
        """The next step is legal, for the right seat, and costs nothing; or it is said that ``reset`` is needed."""
        before = self.states().copy()
        try:
            told = self.step()
        except ResetNeeded:
            self.begin(2)
            told = self.step()
            before = None
        if self.kind in ("env", "raw_env"):
            record = self.env.record()
            if before is not None:
                last = [each for deal in record["deals"] for each in deal["actions"]][-1]
                assert last[0] == before["seat"][0]
            assert self.env.agent_selection == f"player_{self.states()['seat'][0]}"
            assert not any(self.env.truncations.values())
            again = make("pepper", 5, raw=True, num_deals=2)
            again.reset(seed=SEED)
            for deal in record["deals"]:
                for _, card in deal["actions"]:
                    again.step(again.game.deck.parse(card))
            assert again.states.tobytes() == self.states().tobytes()
            assert again.record() == record
            assert again.rewards == self.env.rewards
            assert again._cumulative_rewards == self.env._cumulative_rewards
            return
        rewards = np.asarray(told[0] if self.kind == "batch" else told[1])
        assert (rewards > -60).all(), "an illegal end"
        if self.kind in ("single", "vector", "sb3"):
            assert (self.states()["seat"] == 0).all() or self.kind != "single" or told[2]


class Stop:
    """Raises ``KeyboardInterrupt`` at a line of the package."""

    def __init__(self, at: int) -> None:
        self.left, self.raised = at, False

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if "trick_envs" not in frame.f_code.co_filename or "/tests/" in frame.f_code.co_filename:
            return None
        if event in ("line", "return") and not self.raised:
            self.left -= 1
            if self.left < 0:
                self.raised = True
                raise KeyboardInterrupt
        return self

    def during(self, call: Callable[[], Any]) -> bool:
        """Whether the call was stopped."""
        sys.settrace(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return self.raised


def lines_in(call: Callable[[], Any]) -> int:
    stop = Stop(10**9)
    stop.during(call)
    return 10**9 - stop.left


KINDS = ["env", "raw_env", "single", "vector", "sb3", "batch"]


def try_all(kind: str, opponents: Any, what: str, stride: int, steps: int) -> None:
    game = Game(kind, opponents)
    game.begin(steps)
    count = lines_in(game.reset if what == "reset" else game.step)
    assert count > 10
    for at in range(0, count, stride):
        game.begin(steps)
        Stop(at).during(game.reset if what == "reset" else game.step)
        game.goes_on()


@pytest.mark.parametrize("what", ["step", "reset"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_interrupted_anywhere_leaves_nothing_half_done(kind: str, what: str) -> None:
    try_all(kind, lowest, what, 41, 3)


@pytest.mark.parametrize("steps", [2, 9, 11])
@pytest.mark.parametrize(
    "opponents", [lowest, "greedy", ["greedy", lowest, "random", "greedy"]], ids=["function", "spec", "list"]
)
@pytest.mark.parametrize("what", ["step", "reset"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_at_every_line(kind: str, what: str, opponents: Any, steps: int) -> None:
    try_all(kind, opponents, what, EVERY, steps)


@pytest.mark.parametrize("error", [TimeoutError("no answer"), MemoryError(), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("kind", ["single", "vector", "sb3"])
def test_an_opponent_that_raises_once_costs_a_reset_and_nothing_else(kind: str, error: BaseException) -> None:
    asked, fails = [0], [23]

    def opponent(observations: Any, action_masks: Any) -> Any:
        asked[0] += 1
        if asked[0] == fails[0]:
            raise error
        return lowest(observations, action_masks)

    game, untroubled = Game(kind, opponent), Game(kind, lowest)
    with pytest.raises(type(error)):
        game.begin(20)
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"has stopped half-way: call reset\(\)"):
            game.step()
    asked[0], fails[0] = 0, 2
    with pytest.raises(type(error)):
        game.begin(3)
    with pytest.raises(ResetNeeded):
        game.step()
    game.begin(4)
    untroubled.begin(4)
    assert game.states().tobytes() == untroubled.states().tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_reset_without_a_seed_takes_nothing_from_the_match_that_goes_on(kind: str) -> None:
    """The next seed was drawn from the stream of the running match, whose saved state then had other deals."""
    game = Game(kind, lowest)

    def reset() -> None:
        game.env.reset()

    game.begin(3)
    for at in range(0, lines_in(reset), 5):
        game.begin(3)
        before = game.states().copy()
        Stop(at).during(reset)
        after = game.states().copy()
        try:
            game.step()
        except ResetNeeded:
            continue
        assert after.tobytes() == before.tobytes() or (after["seed"] != before["seed"]).all()
        if kind in ("env", "raw_env"):
            again = make("pepper", 5, raw=kind == "raw_env", num_deals=2)
            again.set_state(game.env.get_state())
            assert again.states.tobytes() == game.states().tobytes()


@pytest.mark.parametrize(
    ("raw", "saved_steps", "illegal", "dead_steps", "steps"),
    [(True, 5, False, 0, 9), (True, 10**4, False, 1, 9), (False, 5, True, 1, 9), (False, 7, False, 0, 10**4)],
)
def test_an_interrupted_set_state_leaves_one_of_the_two_matches_whole(
    raw: bool, saved_steps: int, illegal: bool, dead_steps: int, steps: int
) -> None:
    """It left a mixture of both: the next step was played in the match before, and recorded in neither."""

    def begun(seed: int, steps: int) -> Any:
        env = make("pepper", 3, raw=raw, num_deals=2)
        env.reset(seed=seed)
        for _ in range(steps):
            if all(env.terminations.values()):
                break
            env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
        return env

    def look(env: Any) -> Any:
        seen = [env.observe(agent) for agent in env.possible_agents]
        return (
            env.states.tobytes(), env.record(), env.agent_selection, env.agents[:], {**env.rewards},
            {**env.terminations}, {**env.truncations}, {**env._cumulative_rewards}, env._finished,
            [(each["observation"].tobytes(), each["action_mask"].tobytes()) for each in seen],
        )  # fmt: skip

    def go_on(env: Any) -> Any:
        if env._finished:
            env.step(None)
        else:
            env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
        return look(env)

    other = begun(1, saved_steps)
    if illegal:
        other.step(int(other.observe(other.agent_selection)["action_mask"].argmin()))
    for _ in range(dead_steps):
        other.step(None)
    saved = other.get_state()
    looks = [look(begun(2, steps)), look(other)]
    afterwards = [go_on(begun(2, steps)), go_on(other)]
    count, seen = lines_in(partial(begun(2, steps).set_state, saved)), set()
    for at in range(0, count, max(1, count // 60)):
        env = begun(2, steps)
        Stop(at).during(partial(env.set_state, saved))
        which = [look(env) == one for one in looks].index(True)
        assert (go_on(env) == afterwards[which]) is True, at  # not thousands of letters
        seen.add(which)
    assert seen == {0, 1}


def test_a_history_that_was_interrupted_anywhere_is_told_right_the_next_time() -> None:
    game = Game("raw_env")

    def ask() -> Any:
        return game.env.history(1)

    def begin() -> None:
        game.begin(6)
        ask()
        for _ in range(3):
            game.step()

    begin()
    expected, count = ask(), 0
    begin()
    for at in range(0, lines_in(ask), 3):
        begin()
        count += Stop(at).during(ask)
        assert np.array_equal(ask(), expected)
    assert count > 20


def test_vector_games_that_were_interrupted_are_reset_together() -> None:
    game = Game("vector", lowest)
    game.begin(2)
    assert Stop(60).during(game.step)
    with pytest.raises(ResetNeeded, match=r"this reset\(\) has to start every game"):
        game.env.reset(options={"reset_mask": np.array([True, False])})
    game.begin(1)


def test_a_signal_between_two_steps_is_no_trouble() -> None:
    game = Game("single", lowest)
    game.begin(1)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    game.step()
