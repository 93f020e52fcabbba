"""Any sequence of calls: Hypothesis resets, plays, saves, copies and asks in any order, on all interfaces at once.

One AEC environment, one ``Match`` and one game of a ``BatchEnv`` are told the same. After every call they hold the same
position, to the bit, and every seat sees the same in all of them.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from helpers import every_game, legal_of, make
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from trick_envs import BatchEnv, load_game
from trick_envs.engine.positions import observe
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay

ELSEWHERE, OURS = 0, 1  # games of the batch


class Interfaces(RuleBasedStateMachine):
    """The calls; ``name`` is set for each game."""

    name = ""

    @initialize(seed=st.integers(0, 2**64 - 1), reward=st.sampled_from(("score", "zero_sum", "win")))
    def begin(self, seed: int, reward: str) -> None:
        self.env = make(self.name, num_deals=2, reward=reward)
        self.game = load_game(self.name, num_deals=2)
        self.batch = BatchEnv(self.name, 2, num_deals=2, reward=reward)
        self.reward = reward
        self.paid = np.zeros(self.game.num_players)
        self.reset(seed)

    @rule(seed=st.integers(0, 2**64 - 1))
    def reset(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self.match = Match(self.game, seed, reward=self.reward)
        self.batch.reset([7, seed])
        self.paid[:] = 0

    @precondition(lambda self: not self.match.over)
    @rule(which=st.integers(0, 10**6))
    def play(self, which: int) -> None:
        actions = legal_of(self.game, self.match.states)
        self._play(actions[which % len(actions)])

    @precondition(lambda self: not self.match.over)
    @rule(which=st.integers(0, 10**6), times=st.integers(5, 60))
    def play_on(self, which: int, times: int) -> None:
        for turn in range(times):
            if not self.match.over:
                self.play(which + turn)

    def _play(self, action: int) -> None:
        seats = range(self.game.num_players)
        self.match.step(action)
        self.env.step(action)
        rewards, terminated = self.batch.step([action], [OURS])
        told = np.array([self.env.rewards[f"player_{seat}"] for seat in seats])
        assert (rewards[OURS] == told.astype(np.float32)).all()
        assert not rewards[ELSEWHERE].any()
        assert bool(terminated[OURS]) == self.match.over == all(self.env.terminations.values())
        self.paid += told

    @precondition(lambda self: not self.match.over)
    @rule(action=st.integers(-3, 200))
    def play_what_is_illegal(self, action: int) -> None:
        if action in legal_of(self.game, self.match.states):
            return
        before = self.env.states.tobytes(), self.env.record()
        for attempt in (self.env.step, self.match.step, lambda action: self.batch.step([action], [OURS])):
            with pytest.raises(ValueError, match=r"may not|does not have|is no card"):
                attempt(action)
        assert before == (self.env.states.tobytes(), self.env.record())

    @rule()
    def save_and_restore(self) -> None:
        saved, other = self.env.get_state(), make(self.name, num_deals=2, reward=self.reward)
        other.set_state(saved)
        assert other.get_state() == saved
        self.env = other

    @rule(how=st.sampled_from((copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)))))
    def copy_everything(self, how: Any) -> None:
        self.env, self.batch = how(self.env), how(self.batch)

    @rule()
    def write_the_record_and_replay_it(self) -> None:
        record = json.loads(json.dumps(self.env.record()))
        assert record == json.loads(json.dumps(self.match.record()))
        assert replay(record).record() == record

    @rule(seat=st.integers(0, 8))
    def look(self, seat: int) -> None:
        seat %= self.game.num_players
        agent, expected = f"player_{seat}", observe(self.game, self.match.states, seat)
        for _ in range(2):  # looking changes nothing
            seen = self.env.observe(agent)
            assert (seen["observation"] == expected[0]).all()
            assert (seen["action_mask"] == expected[1]).all()

    @invariant()
    def all_hold_the_same_position(self) -> None:
        assert self.env.states.tobytes() == self.match.states.tobytes()
        if not self.match.over:  # a batch has begun the next match by then
            assert self.batch.states[OURS : OURS + 1].tobytes() == self.match.states.tobytes()
            seat = int(self.match.states["seat"][0])
            seen, mask = observe(self.game, self.match.states, seat)
            assert (self.batch.seats[OURS], self.env.agent_selection) == (seat, f"player_{seat}")
            assert (self.batch.observations[OURS] == seen).all()
            assert (self.batch.action_masks[OURS] == mask).all()
        elif self.reward == "score":
            assert self.paid.tolist() == self.match.record()["score"]
        elif self.reward == "zero_sum":
            assert abs(self.paid.sum()) < 1e-6 * max(1.0, np.abs(self.paid).max())


@every_game
def test_all_interfaces_agree_after_any_sequence_of_calls(name: str, whole: bool) -> None:
    machine = type(f"InterfacesOf{name.title()}", (Interfaces,), {"name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=50 if whole else 20, stateful_step_count=40, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
