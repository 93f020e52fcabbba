"""The players' random choices: as likely as they should be, and in every batch the same."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from helpers import crossed, every_game, through_a_store

import trick_envs
from trick_envs import BatchEnv, make_agent
from trick_envs.agents.chance import Chance, pick

GAMES = 512


def begun(name: str, steps: int = 7) -> BatchEnv:
    """Games after some random cards."""
    games = BatchEnv(name, GAMES)
    games.reset(0)
    chance = make_agent("random", games.game)
    for _ in range(steps):
        games.step(chance.act(games.observations, games.action_masks))
    return games


def act(agent: Any, games: BatchEnv, rows: Any = slice(None)) -> Any:
    return agent.act(games.observations[rows], games.action_masks[rows], games.states[rows])


@every_game
def test_a_decision_is_the_same_whatever_is_decided_beside_it(name: str) -> None:
    games = begun(name)
    agent = make_agent("random", games.game, seed=3)
    together = act(agent, games)
    assert games.action_masks[np.arange(GAMES), together].all()
    order = np.random.default_rng(0).permutation(GAMES)
    np.testing.assert_array_equal(act(agent, games, order), together[order])
    alone = [act(agent, games, [row])[0] for row in range(20)]
    np.testing.assert_array_equal(alone, together[:20])
    agent.seed(4)
    assert (act(agent, games) != together).any()


@every_game
def test_random_choices_hang_on_nothing_hidden(name: str) -> None:
    games = begun(name)
    agent = make_agent("random", games.game)
    before = act(agent, games)
    hands = games.states["hand"].copy()
    games.states[:] = games.game.resample(games.states, games.seats, np.random.default_rng(0))
    assert (games.states["hand"] != hands).any()
    np.testing.assert_array_equal(act(agent, games), before)


@every_game
def test_random_takes_every_legal_action_equally_often(name: str) -> None:
    """Chi-square over the rank of the action among the legal ones."""
    games = begun(name, 0)
    agent, legal = make_agent("random", games.game), games.action_masks.sum(axis=1)
    count = 2 + np.bincount(legal)[2:].argmax()  # the commonest number of actions to choose from
    found = np.zeros(count)
    for seed in range(20):
        agent.seed(seed)
        rank = np.take_along_axis(games.action_masks.cumsum(axis=1), act(agent, games)[:, None], axis=1)[:, 0] - 1
        np.add.at(found, rank[legal == count], 1)
    assert found.sum() > 500
    expected = found.sum() / count
    chi_square = ((found - expected) ** 2 / expected).sum()
    assert abs(chi_square - (count - 1)) < 5 * np.sqrt(2 * (count - 1))


def test_decisions_of_a_match_are_drawn_apart() -> None:
    """No seat and no trick repeats another's number."""
    games = BatchEnv("tricky_express", 1, num_deals=2)
    games.reset(5)
    chance, numbers = Chance(0), []
    for _ in range(60):
        numbers.append(float(chance.draw(1, games.states)[0]))
        games.step(games.action_masks.argmax(axis=1))
    assert len(set(numbers)) == len(numbers)
    assert 0.35 < np.mean(numbers) < 0.65


def test_a_policy_is_sampled_as_its_logits_say(policy_file: Any) -> None:
    games = begun("pepper", 0)
    sampler = make_agent(f"{policy_file}:sample", games.game)
    logits, _ = sampler.evaluate(games.observations, games.action_masks)  # type: ignore[attr-defined]
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    taken = np.zeros(likely.shape)
    for seed in range(40):
        sampler.seed(seed)
        taken[np.arange(GAMES), act(sampler, games)] += 1
    difference = (taken - 40 * likely).sum(axis=0)
    deviation = np.sqrt((40 * likely * (1 - likely)).sum(axis=0))
    assert (np.abs(difference) < 5 * deviation + 1e-9).all()
    assert taken[games.action_masks == 0].sum() == 0


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "one"])
def test_a_bad_seed_of_a_player_is_told(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed: expected a whole number of 0 to"):
        make_agent("random", trick_envs.load_game("pepper"), seed)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1 - 2.0**-32])
def test_nothing_without_weight_is_picked(draw: float) -> None:
    weights = np.array([[0, 0.3, 0, 1e-12], [1, 0, 0, 0], [0, 0, 0, 5], [0, 0, 0, 0]])
    picked = pick(weights, np.full(4, draw))
    assert picked[0] in (1, 3)
    assert picked[1:].tolist() == [0, 3, 0]


SPECS = [
    "random",
    "greedy",
    "pimc:20",
    "ismcts:200",
    "pretrained:sample",
    "pretrained+ismcts:60",
    "pretrained+rollout:8",
]


@crossed(name=["zaraba22", "hearts"], spec=SPECS)
def test_a_player_that_threads_share_plays_as_alone(name: str, spec: str) -> None:
    games = begun(name)
    agent, found = make_agent(spec, games.game), []
    rows = range(24)
    alone = [act(agent, games, [row])[0] for row in rows]

    def ask(first: int) -> None:
        found.extend(act(agent, games, [row])[0] == alone[row] for row in [*rows[first:], *rows[:first]])

    threads = [threading.Thread(target=ask, args=(first,), daemon=True) for first in (0, 5, 11, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4 * len(rows)
    assert all(found)


@pytest.mark.parametrize("spec", SPECS)
def test_a_copy_whose_arrays_are_read_only_plays(spec: str) -> None:
    games = begun("pepper")
    agent = make_agent(spec, games.game)
    np.testing.assert_array_equal(act(through_a_store(agent), games, range(20)), act(agent, games, range(20)))


@pytest.mark.parametrize("spec", SPECS)
def test_what_a_caller_has_set_for_arithmetic_changes_nothing(spec: str) -> None:
    games = begun("donguri")
    agent = make_agent(spec, games.game)
    with np.errstate(all="raise"):
        found = act(agent, games)
    np.testing.assert_array_equal(found, act(agent, games))
