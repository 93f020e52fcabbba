"""Benchmarks: every figure is the median of several runs on one thread, but for the section ``batch_threads``."""

from __future__ import annotations

import importlib
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from trick_envs.agents import make_agent
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.registry import all_games, game_type, load_game
from trick_envs.errors import InputError
from trick_envs.evaluation.bench_peers import peers
from trick_envs.evaluation.bench_start import start_times

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SECTIONS = {
    "playouts": "random cards, no observations, plays/s",
    "batch": "BatchEnv of 512 games with observations, masks and rewards, plays/s",
    "batch_4096": "BatchEnv of 4096 games likewise, plays/s",
    "batch_threads": "BatchEnv of 4096 games with num_threads=2 likewise, plays/s",
    "env": "env() with the first legal action, steps/s",
    "raw_env": "raw_env() likewise, steps/s",
    "openspiel": "OpenSpiel's games from a Python loop: whole deals, dealt by chance nodes; decisions/s",
    "pimc": "pimc:100, decisions/s (1 / median time)",
    "ismcts": "ismcts:1000, decisions/s likewise",
    "start": "new processes from nothing to the first card (median of 3), seconds; only if asked for",
    "peers": "Hearts beside OpenSpiel's in C++, plays/s; only if asked for",
}
ON_DEMAND = ("start", "peers")

RUNS = 5
SECONDS = 0.5  # per run
MIN_DECISIONS = 200  # of a search


def run_bench(only: Sequence[str], games: Sequence[str], console: Console) -> dict[str, dict[str, float]]:
    """Runs the benchmarks.

    Args:
        only: sections to measure; all, if empty.
        games: games (``"pepper"``: every number of players, ``"pepper-5"``: one) to measure; if empty, every game with
            its default number of players.
        console: where progress is shown.

    Returns:
        figures by section, and by game and number of players.

    Raises:
        ValueError: for an unknown section or game.
    """
    for section in only:
        if section not in SECTIONS:
            raise InputError(f"--only: there is no section {section!r}; expected {', '.join(SECTIONS)}")
    tables = _tables(games)
    figures: dict[str, dict[str, float]] = {}
    for section in SECTIONS:
        if (only and section not in only) or (section == "openspiel" and not only and find_spec("pyspiel") is None):
            continue
        if section in ON_DEMAND and section not in only:
            continue
        os.environ["TRICK_ENVS_COMPILE"] = "first"  # all but ``start`` measure compiled code from the first call on
        with console.status(f"measuring {section}"):
            if section == "start":
                figures[section] = start_times(tables)
            elif section == "peers":
                figures[section] = peers(_median_rate, *(_MEASURES[each] for each in _BESIDE))
            elif section in _WHOLE:
                figures[section] = _WHOLE[section]()
            else:
                figures[section] = {f"{game}-{n}": _MEASURES[section](game, n) for game, n in tables}
    return figures


def _tables(games: Sequence[str]) -> list[tuple[str, int]]:
    found = []
    for asked in games or [f"{kind.name}-{kind.default_players}" for kind in all_games()]:
        game, dash, players = asked.rpartition("-")
        if dash and players.isdigit():
            found.append((game, load_game(game, int(players)).num_players))
        else:
            found += [(asked, n) for n in game_type(asked).players]
    return found


def _median_rate(work: Callable[[], int]) -> float:
    """Units per second: ``work`` returns how many units it has done."""
    work()
    rates = []
    for _ in range(RUNS):
        done, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < SECONDS:
            done += work()
        rates.append(done / passed)
    return statistics.median(rates)


def _playouts(game: str, num_players: int) -> float:
    table = load_game(game, num_players)
    states = np.zeros(256, table.dtype)
    seeds = np.arange(256, dtype=np.uint64)
    table.kernels.reset_batch(states, table.template, seeds)

    def work() -> int:
        table.kernels.random_playouts(states, table.template, seeds, 200)
        return 200 * len(states)

    return _median_rate(work)


def _batch(num_envs: int, num_threads: int = 1) -> Callable[[str, int], float]:
    """Only ``step`` is timed; random actions are drawn from the masks in between."""

    def measure(game: str, num_players: int) -> float:
        games = BatchEnv(game, num_envs, num_players, num_threads=num_threads)
        games.reset(0)
        streams, actions = np.arange(num_envs, dtype=np.uint64), np.zeros(num_envs, np.int64)
        rates = []
        for _ in range(RUNS + 1):
            done, spent = 0, 0.0
            while spent < SECONDS:
                games.game.kernels.random_actions(games.action_masks, streams, actions)
                start = time.perf_counter()
                games.step(actions)
                spent += time.perf_counter() - start
                done += len(actions)
            rates.append(done / spent)
        return statistics.median(rates[1:])

    return measure


def _aec(maker: str) -> Callable[[str, int], float]:
    def measure(game: str, num_players: int) -> float:
        kind = game_type(game)
        choice = {"num_players": num_players} if len(kind.players) > 1 else {}
        env = getattr(importlib.import_module(f"{kind.package}.{kind.versioned_name}"), maker)(**choice)
        env.reset(seed=0)

        def work() -> int:
            for _ in range(1000):
                observation, _, termination, _, _ = env.last()
                if termination:
                    env.reset()
                else:
                    env.step(int(observation["action_mask"].argmax()))
            return 1000

        return _median_rate(work)

    return measure


def _openspiel(game: str, num_players: int) -> float:
    """``legal_actions`` and ``apply_action``, as OpenSpiel's algorithms in Python call them."""
    from trick_envs.interfaces.openspiel import full

    table, rng = full(game, num_players), random.Random(0)

    def work() -> int:
        state, decisions = table.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                cards, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(cards, chances)[0])
            else:
                legal = state.legal_actions()
                state.apply_action(legal[int(rng.random() * len(legal))])
                decisions += 1
        return decisions

    return _median_rate(work)


def _search(spec: str) -> Callable[[str, int], float]:
    """Decisions with more than one legal action, in deals that greedy players play."""

    def measure(game: str, num_players: int) -> float:
        games = BatchEnv(game, 1, num_players, 1)
        player, greedy = make_agent(spec, games.game), make_agent("greedy", games.game)
        games.reset(0)
        player.act(games.observations, games.action_masks, games.states)  # compiles
        times: list[float] = []
        while sum(times) < RUNS * SECONDS or len(times) < MIN_DECISIONS:
            if games.action_masks.sum() > 1:
                start = time.perf_counter()
                player.act(games.observations, games.action_masks, games.states)
                times.append(time.perf_counter() - start)
            games.step(greedy.act(games.observations, games.action_masks, games.states))
        return 1.0 / statistics.median(times)

    return measure


_MEASURES: dict[str, Callable[[str, int], float]] = {
    "playouts": _playouts,
    "batch": _batch(512),
    "batch_4096": _batch(4096),
    "batch_threads": _batch(4096, 2),
    "env": _aec("env"),
    "raw_env": _aec("raw_env"),
    "openspiel": _openspiel,
    "pimc": _search("pimc:100"),
    "ismcts": _search("ismcts:1000"),
}

_BESIDE = ("playouts", "batch", "raw_env", "openspiel")  # what ``peers`` measures of ours


_WHOLE: dict[str, Callable[[], dict[str, float]]] = {}


def add_section(name: str, meaning: str, measure: Callable[[], dict[str, float]]) -> None:
    """Adds a section that does not go through the games: ``measure`` returns its figures by name."""
    SECTIONS[name] = meaning
    _WHOLE[name] = measure


def bench_table(figures: dict[str, dict[str, float]]) -> Table:
    """The figures as a table for the terminal."""
    from rich.table import Table

    table = Table(title=f"one thread unless said otherwise, median of {RUNS} runs")
    for column in ("measured", "of", "per second"):
        table.add_column(column, justify="right" if column == "per second" else "left")
    for section, measured in figures.items():
        for key, rate in measured.items():
            table.add_row(
                SECTIONS[section] if key == next(iter(measured)) else "",
                key,
                f"{rate:.2f} s" if section == "start" else f"{rate:,.0f}",
            )
    return table
