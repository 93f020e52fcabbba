"""Confidence intervals: right against SciPy, and with the error rates that they promise."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trick_envs.engine.registry import load_game
from trick_envs.evaluation.duplicate import Result, evaluate, make_result
from trick_envs.evaluation.intervals import (
    half_width_95,
    half_width_at_any_time_95,
    standard_errors_95,
    standard_errors_at_any_time_95,
    student_t,
)
from trick_envs.files import write_json

DEALS, EVERY, RUNS = 1000, 20, 2000
Draws = Callable[[np.random.Generator], npt.NDArray[np.float64]]
SAMPLES: dict[str, tuple[float, Draws]] = {  # mean, and margins of equal players
    "normal": (0.0, lambda rng: rng.normal(0.0, 5.0, (RUNS, DEALS))),
    "skewed": (1.0, lambda rng: rng.exponential(1.0, (RUNS, DEALS))),
    "of few values": (0.0, lambda rng: rng.choice([-1.0, 0.0, 5.0], (RUNS, DEALS), p=[0.5, 0.4, 0.1])),
}


@settings(deadline=None)  # the first call imports SciPy
@given(st.floats(0.55, 0.9999), st.one_of(st.integers(1, 150), st.integers(1, 10**6)))
def test_quantiles_are_those_of_scipy(probability: float, free: int) -> None:
    scipy = pytest.importorskip("scipy.stats")
    expected = float(scipy.t.ppf(probability, free))
    assert student_t(probability, free) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("free", "expected"), [(1, 12.7062), (2, 4.3027), (9, 2.2622), (39, 2.0227), (99, 1.9842), (199, 1.9720)]
)
def test_quantiles_are_those_of_printed_tables(free: int, expected: float) -> None:
    assert student_t(0.975, free) == pytest.approx(expected, abs=5e-5)


def test_an_interval_over_few_deals_is_wider_than_with_the_normal_distribution() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    assert half_width_95(values) == pytest.approx(3.182446 * np.std(values, ddof=1) / 2)
    assert half_width_95([3.0]) == half_width_at_any_time_95([3.0]) == math.inf
    assert half_width_at_any_time_95(values) == math.inf


def ever_wrong(name: str, errors: Callable[[int], float]) -> float:
    """How often the interval does not contain the mean at some look of many."""
    mean, draw = SAMPLES[name]
    values = draw(np.random.default_rng(5))
    counts = np.arange(EVERY, DEALS + 1, EVERY)
    means = values.cumsum(axis=1)[:, counts - 1] / counts
    variances = ((values**2).cumsum(axis=1)[:, counts - 1] / counts - means**2) * counts / (counts - 1)
    widths = np.array([errors(count) for count in counts.tolist()]) * np.sqrt(variances / counts)
    return float((np.abs(means - mean) > widths).any(axis=1).mean())


@pytest.mark.parametrize("name", SAMPLES)
def test_who_looks_after_every_chunk_is_wrong_in_less_than_5_per_cent(name: str) -> None:
    assert ever_wrong(name, standard_errors_at_any_time_95) < 0.05
    assert ever_wrong(name, standard_errors_95) > 0.25  # what the wider interval is there for


def test_a_difference_is_found_and_has_the_right_sign() -> None:
    values = np.random.default_rng(6).normal(0.5, 5.0, (200, 10_000))
    verdicts = []
    for run in values:
        found = "undecided"
        for count in range(EVERY, len(run) + 1, EVERY):
            both_ways = np.repeat(run[:count, None], 2, axis=1)
            result = make_result("one", "other", both_ways, half_width_at_any_time_95)
            if (found := result.verdict()) != "undecided":
                break
        verdicts.append((found, count))
    assert [found for found, _ in verdicts].count("better") >= 190
    assert 500 < np.median([count for _, count in verdicts]) < 2500  # fixed: 784 deals for a power of 80 %


def test_a_single_deal_has_no_interval_also_in_json(tmp_path: Path) -> None:
    from trick_envs import make_agent

    game = load_game("donguri", 3, 1)
    result = evaluate(game, make_agent("greedy", game), make_agent("random", game), 1)
    assert result.half_width == math.inf
    assert result.verdict(100.0) == "undecided"
    write_json(tmp_path / "result.json", result.as_dict())
    content = json.loads((tmp_path / "result.json").read_text(), parse_constant=pytest.fail)
    assert content["half_width"] is content["half_width_as_one"] is None
    assert Result.from_dict(content) == result
