"""Roll-outs of a policy: what they may use, and that they find what the policy overlooks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_game, legal_of, own_tables, twin_setup, write_policy
from test_twin_worlds import hidden_swaps, positions

from trick_envs.agents import make_agent
from trick_envs.agents.agent import Agent
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.engine.state import copy_states


def rollouts(folder: Path, game: Game, worlds: int, likes: Any = None, seed: int = 0) -> Agent:
    return make_agent(f"{write_policy(folder / 'policy.onnx', game, likes)}+rollout:{worlds}", game, seed)


def act(agent: Agent, games: BatchEnv, rows: Any = slice(None)) -> Any:
    return agent.act(games.observations[rows], games.action_masks[rows], games.states[rows])


def observed(game: Game, states: Any) -> tuple[Any, Any, Any]:
    """What ``act`` takes, for one position."""
    observation, mask = np.zeros((1, game.layout.size), np.int8), np.zeros((1, game.num_actions), np.int8)
    game.kernels.observe_batch(states, observation, mask, np.zeros(1, np.int64))
    return observation, mask, states


@own_tables
def test_matches_are_played_to_the_end_and_positions_stay_as_they_are(name: str, players: int, tmp_path: Path) -> None:
    games = BatchEnv(name, 3, players, 2)
    games.reset(1)
    agent = rollouts(tmp_path, games.game, 3, np.zeros(games.game.num_actions))  # likes all actions: four candidates
    ended = np.zeros(3, bool)
    while not ended.all():
        before = copy_states(games.states)
        actions = act(agent, games)
        assert games.states.tobytes() == before.tobytes()
        ended |= games.step(actions)[1]  # raises if one is illegal


@every_game
def test_hidden_cards_do_not_change_what_roll_outs_play(name: str, tmp_path: Path) -> None:
    game, rng = twin_setup(name, load_game(name).num_players), np.random.default_rng(4)
    agent, tried = rollouts(tmp_path, game, 4, np.zeros(game.num_actions)), 0
    for states in positions(game)[::2]:
        if len(legal_of(game, states)) < 2:
            continue
        chosen = agent.act(*observed(game, states))
        for twin in hidden_swaps(game, states, int(states["seat"][0]), rng, 2):
            twin["rng"] += np.uint64(1)  # another future, too
            assert agent.act(*observed(game, twin))[0] == chosen[0]
            tried += 1
    assert tried > 10


@every_game
def test_a_choice_is_the_same_whatever_is_decided_beside_it(name: str, tmp_path: Path) -> None:
    games = BatchEnv(name, 200)
    games.reset(0)
    chance = make_agent("random", games.game)
    for _ in range(7):
        games.step(chance.act(games.observations, games.action_masks))
    agent = rollouts(tmp_path, games.game, 9, np.zeros(games.game.num_actions))
    together = act(agent, games)
    order = np.random.default_rng(0).permutation(200)
    np.testing.assert_array_equal(act(agent, games, order), together[order])
    np.testing.assert_array_equal([act(agent, games, [row])[0] for row in range(20)], together[:20])
    agent.seed(1)
    assert (act(agent, games) != together).any()


def test_actions_that_the_policy_all_but_rules_out_are_not_tried(tmp_path: Path) -> None:
    games = BatchEnv("pepper", 50)
    games.reset(0)
    policy = make_agent(str(write_policy(tmp_path / "policy.onnx", games.game, np.arange(60) * 10)), games.game)
    agent = rollouts(tmp_path, games.game, 8, np.arange(60) * 10)
    np.testing.assert_array_equal(act(agent, games), act(policy, games))


def test_a_comparison_tells_what_was_tried(tmp_path: Path) -> None:
    games = BatchEnv("pepper", 50)
    games.reset(0)
    agent = rollouts(tmp_path, games.game, 8, np.zeros(60))
    assert isinstance(agent, RolloutAgent)
    found = agent.compare(games.observations, games.action_masks, games.states)
    rows = np.arange(50)
    np.testing.assert_array_equal(found.actions, act(agent, games))
    np.testing.assert_array_equal(found.baselines, games.action_masks.argmax(axis=1))
    assert (found.counts[rows, found.baselines] > 0).all()
    assert (found.advantages[rows, found.baselines] == 0).all()
    assert (found.advantages[rows, found.actions] >= 0).all()
    assert set(np.unique(found.counts)) == {0, 2, 4, 8}
    assert ((found.counts > 0).sum(axis=1) == 4).all()
    assert (found.counts[games.action_masks == 0] == 0).all()


def test_they_need_the_game_and_a_policy(tmp_path: Path) -> None:
    game = load_game("pepper")
    with pytest.raises(ValueError, match="computes on the game itself"):
        rollouts(tmp_path, game, 2).act(*observed(game, np.zeros(1, game.dtype))[:2])
    with pytest.raises(ValueError, match=r"'rollout:10' needs a policy that plays on: expected 'PATH.onnx"):
        make_agent("rollout:10", game)
    with pytest.raises(ValueError, match=r"'rollout:0' is no search: expected .*'rollout:N', N from 1"):
        make_agent(f"{tmp_path}/policy.onnx+rollout:0", game)


def test_roll_outs_beat_the_policy_that_plays_them(tmp_path: Path) -> None:
    """One seat with roll-outs of a policy that is close to random, among such policies alone."""
    games = BatchEnv("pepper", 250, num_deals=1)
    games.reset(3)
    likes = np.random.default_rng(0).normal(size=60) / 10
    plain = make_agent(str(write_policy(tmp_path / "policy.onnx", games.game, likes)), games.game)
    agent, points, running = rollouts(tmp_path, games.game, 16, likes), np.zeros((250, 5)), np.arange(250)
    while len(running):
        actions = act(plain, games, running)
        own = games.seats[running] == running % 5
        actions[own] = act(agent, games, running[own])
        rewards, terminated = games.step(actions, running)
        points[terminated] = rewards[terminated]
        running = running[~terminated[running]]
    rows = np.arange(250)
    margins = points[rows, rows % 5] - (points.sum(axis=1) - points[rows, rows % 5]) / 4
    assert margins.mean() > 3 * margins.std() / 250**0.5


@pytest.mark.parametrize(
    ("likes", "deviates"), [(np.random.default_rng(0).normal(size=60) / 10, True), (10 * np.arange(60), False)]
)
def test_what_a_search_wins_is_measured_decision_by_decision(likes: Any, deviates: bool, tmp_path: Path) -> None:
    """Behind a policy that is close to random, roll-outs win; behind one that is sure of everything, they never try."""
    script = Path(__file__).parents[1] / "docs" / "measure_search.py"
    policy = write_policy(tmp_path / "policy.onnx", load_game("pepper"), likes)
    command = [sys.executable, script, "pepper", f"{policy}+rollout:16", "--deals", "60", "--share", "0.2"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    won = re.search(r"all changes: (\S+) ± (\S+) points a deal", printed)
    assert (won is not None) == deviates, printed
    assert won is None or float(won[1]) > float(won[2]) > 0.0
