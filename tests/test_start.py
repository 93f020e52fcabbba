"""Games begin as plain Python and change over to machine code, and nobody can tell by the results."""

from __future__ import annotations

import ast
import copy
import importlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from filelock import FileLock
from helpers import every_game, every_table, make, play_randomly

from trick_envs import BatchEnv
from trick_envs.engine.build import child, process, twin
from trick_envs.engine.build import kernels as kernels_module
from trick_envs.engine.build.cache import cache_folder
from trick_envs.engine.build.digest import reached_digest, sources_digest
from trick_envs.engine.build.kernels import Kernels, Switch
from trick_envs.engine.build.rule import KERNELS
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.observing import ROOM_BEHIND
from trick_envs.engine.registry import load_game
from trick_envs.engine.search.playouts import COMPARISON
from trick_envs.engine.state import OVER
from trick_envs.engine.table import power
from trick_envs.errors import InputError
from trick_envs.interfaces.aec import RawEnv

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals, or a script as interpreter")


def test_compiled_code_assigns_to_no_slice():
    """With such an assignment Numba compiles what it says of wrong shapes: half of the network's time."""
    root, tried, found = Path(kernels_module.__file__).parents[3], 0, []
    for file in (*root.glob("training/*.py"), *root.glob("trick_envs/**/*.py")):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            marks = [ast.unparse(each) for each in getattr(function, "decorator_list", ())]
            if not any(re.match(r"(numba\.njit|kernel|rule)\b", mark) for mark in marks):
                continue
            tried += 1
            assigned = [node for node in ast.walk(function) if isinstance(getattr(node, "ctx", None), ast.Store)]
            slices = [node for node in assigned if isinstance(node, ast.Subscript) and ":" in ast.unparse(node.slice)]
            found += [(file.name, ast.unparse(node)) for node in slices]
    assert found == []
    assert tried > 250


class Cold:
    """An empty compile cache, for which another process seems to compile: code arrives when a test says so."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self._patch = root, monkeypatch
        self._lock = FileLock(root / "compiler.lock")
        self._lock.acquire()

    def kernels(self, game: Game) -> Kernels:
        """Kernels of a game that have never run, and are not compiled in this cache."""
        known = game.kernels
        assert known.folder.parent != self.root
        self._patch.setenv("TRICK_ENVS_CACHE", str(self.root))
        self._patch.delenv("TRICK_ENVS_COMPILE", raising=False)
        self._patch.delitem(game.type._kernels, game.num_players)
        self._patch.delitem(vars(game), "kernels")
        kernels = game.kernels
        assert kernels is not known
        assert kernels.folder.parent == self.root
        self._known = known
        return kernels

    def finish(self, kernels: Kernels, *names: str) -> None:
        """Machine code is there, of all kernels that have been called; it is what other tests run."""
        for name in names or kernels._switches:
            target = kernels.file(name)
            if not target.exists():
                self._known._switch(name).change_over()
                shutil.copy(self._known.file(name), target)

    def stop(self) -> None:
        """The other process is gone."""
        self._lock.release()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    compiler = Cold(tmp_path, monkeypatch)
    yield compiler
    compiler.stop()


def running_plain(kernels: Kernels) -> set[str]:
    return {name for name, each in kernels._switches.items() if each.in_plain_python}


def interpreter(folder: Path, script: str) -> str:
    """A program that takes the place of the Python interpreter."""
    file = folder / "python3-of-a-test"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def trace(env: RawEnv, steps: int) -> list[Any]:
    """The record's bytes and the observation at every step of random play."""
    rng, seen = np.random.default_rng(5), []
    for _ in range(steps):
        if env.phase == "over":
            break
        view = env.observe(env.agent_selection)
        seen.append((env.states.tobytes(), view["observation"].tobytes(), view["action_mask"].tobytes()))
        env.step(int(rng.choice(np.flatnonzero(view["action_mask"]))))
    return [*seen, env.states.tobytes(), env.state().tobytes(), dict(env._cumulative_rewards)]


@every_table
def test_plain_python_and_machine_code_give_the_same_bits(name, players, cold):
    expected_env = make(name, players, num_deals=2)
    expected_env.reset(seed=11)
    expected = trace(expected_env, 10**6)
    kernels = cold.kernels(expected_env.game)
    env = make(name, players, num_deals=2)
    env.reset(seed=11)
    assert trace(env, 10**6) == expected
    assert env.record() == expected_env.record()
    assert running_plain(kernels) >= {"start_match", "step_one", "observe_float", "write_full_state"}


@every_game
def test_a_match_is_the_same_wherever_it_changes_over(name, cold):
    """The plays before the change in plain Python, those after it compiled: after every number of plays."""
    game = load_game(name, num_deals=1)
    names = ("start_match", "observe_float", "step_one")
    compiled = {name: game.kernels._switch(name).change_over() for name in names}
    kernels = cold.kernels(game)

    def play(functions: Any, states: Any, steps: int) -> list[bytes]:
        found = []
        while int(states["phase"][0]) != OVER and len(found) < 3 * steps:
            seen, mask = np.zeros(game.layout.size, np.float32), np.zeros(game.num_actions, np.int8)
            functions["observe_float"](states, int(states["seat"][0]), scratch, seen, mask)
            action = int(rng.choice(np.flatnonzero(mask)))
            functions["step_one"](states, action, 0, np.zeros(game.num_players))
            found += [seen.tobytes(), mask.tobytes(), states.tobytes()]
        return found

    scratch = np.empty(game.layout.size + ROOM_BEHIND, np.int8)
    states = np.zeros(1, game.dtype)
    compiled["start_match"](states, 0, game.template, np.uint64(3))
    rng, first = np.random.default_rng(5), states.copy()
    expected = play(compiled, states, 1000)
    rng, other = np.random.default_rng(5), np.zeros(1, game.dtype)
    kernels.start_match(other, 0, game.template, np.uint64(3))
    assert other.tobytes() == first.tobytes()
    functions = {name: getattr(kernels, name) for name in ("observe_float", "step_one")}
    played: list[bytes] = []
    for _ in range(len(expected) // 3):
        after, kept = other.copy(), rng.bit_generator.state
        assert played + play(compiled, after, 1000) == expected, len(played) // 3
        rng.bit_generator.state = kept
        played += play(functions, other, 1)
    assert played == expected
    assert running_plain(kernels) >= {"start_match", "observe_float", "step_one"}


@pytest.mark.parametrize("steps", [0, 1, 2, 59, 60])
def test_an_environment_changes_over_between_two_steps(steps, cold, monkeypatch):
    monkeypatch.setattr(kernels_module, "PATIENCE", 0.0)  # seconds in plain Python, which a fast machine never reaches
    reference, env = make("pepper", num_deals=2), make("pepper", num_deals=2)
    kernels = cold.kernels(reference.game)
    env.reset(seed=3)
    rng = np.random.default_rng(5)
    before = [env.states.tobytes()]
    for _ in range(steps):
        env.step(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
        before.append(env.states.tobytes())
    pickled = pickle.loads(pickle.dumps(env))
    other = copy.deepcopy(env)
    expected_plain = {"start_match", "observe_float", "step_one"} if steps else {"start_match"}
    assert running_plain(kernels) >= expected_plain
    cold.finish(kernels, "start_match", "step_one", "observe_float")
    for each in (env, pickled, other):
        state, rest = copy.deepcopy(rng), 0
        while each.phase != "over":
            each.step(int(state.choice(np.flatnonzero(each.observe(each.agent_selection)["action_mask"]))))
            rest += 1
        assert rest > 20
        assert each.record() == env.record()
    assert not running_plain(kernels) & {"observe_float", "step_one"}
    assert not isinstance(kernels.step_one, Switch)  # no detour for those who ask again
    env.reset(seed=3)
    assert env.states.tobytes() == before[0]
    assert not isinstance(env._observe, Switch)
    reference.reset(seed=3)
    assert reference.states.tobytes() == before[0]


@POSIX
def test_every_kernel_is_ordered_once(cold, monkeypatch, tmp_path):
    kernels = cold.kernels(load_game("pepper"))
    cold.stop()
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, f"exec cat >> {tmp_path}/orders"))
    for _ in range(3):
        env = make("pepper")
        env.reset(seed=1)
        play_randomly(env, np.random.default_rng(0), 60)
    assert len(process.compiling()) == 1
    until, asked = time.monotonic() + 30, {"start_match", "step_one", "observe_float"}
    while not len(orders := read_orders(tmp_path)) >= 3:
        assert time.monotonic() < until
        time.sleep(0.01)
    end_children()
    assert {name for _, name in orders} == asked == running_plain(kernels)
    assert len(orders) == 3


def read_orders(folder: Path) -> list[Any]:
    """What a program has been asked to compile that only writes it down."""
    file = folder / "orders"
    lines = file.read_text().splitlines() if file.exists() else []
    return [order for order in map(json.loads, lines) if isinstance(order, list)]


def end_children() -> None:
    for each in process._children:
        os.kill(each.pid, signal.SIGKILL)
        each._process.wait()


def test_large_work_waits_for_the_compiler(cold):
    """Somebody else compiles one of its kernels; it takes that code, once it is there."""
    kernels = cold.kernels(load_game("pepper"))
    names = ("step_rows", "observe_batch", "reset_batch", "first_illegal", "first_unnamed")
    cold.finish(kernels, *names)
    file = kernels.file("step_rows")
    code = file.read_bytes()
    file.unlink()
    games = BatchEnv("pepper", 65)
    with FileLock(file.with_suffix(".lock")):
        started = threading.Thread(target=lambda: games.reset(0))
        started.start()
        started.join(0.5)
        assert started.is_alive()
        assert not games._states["seed"].any()
        file.write_bytes(code)
        written = file.stat().st_mtime_ns
    started.join(60)
    assert not started.is_alive()
    assert file.stat().st_mtime_ns == written  # not compiled again
    assert games.states["kinds"].all()
    assert not running_plain(kernels) & set(names[:3])


def test_waiting_is_shown_on_a_terminal_and_the_line_goes_away(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with load_game("pepper").kernels.notice():
        time.sleep(0.7)
    shown = capsys.readouterr().err
    assert re.search(r"compiling Pepper, 5 players for this machine, once: \d+ s", shown)
    assert shown.endswith("\r")
    assert not shown.rpartition("\r")[0].rpartition("\r")[2].strip()


def test_what_no_other_process_can_find_is_compiled_here(cold):
    one = load_game("pepper")
    like = cold.kernels(one)
    kernels = Kernels("pepper-5", "Pepper", one.type.folder, one.dtype, like._bound, lambda: False)
    cold.finish(like, "start_match")
    states = np.zeros(1, one.dtype)
    kernels.start_match(states, 0, one.template, np.uint64(1))
    assert states["kinds"][0]
    assert kernels._switch("start_match")._order is None
    assert not isinstance(kernels.start_match, Switch)


@POSIX
@pytest.mark.parametrize("reason", ["it ends at once", "there is none", "frozen", "Python within another program"])
def test_a_compiler_that_is_lost_leaves_it_to_the_caller(reason, cold, monkeypatch, tmp_path):
    kernels, game = cold.kernels(load_game("pepper")), load_game("pepper")
    cold.stop()
    name = interpreter(tmp_path, f"echo started >> {tmp_path}/log; exit 1")
    if reason == "Python within another program":
        name = shutil.copy(name, tmp_path / "uwsgi")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python-gone") if reason == "there is none" else str(name))
    if reason == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    until, state = time.monotonic() + 100, game.template.copy()
    while isinstance(kernels.legal_cards, Switch):
        kernels.legal_cards(state)
        assert time.monotonic() < until
    assert (tmp_path / "log").exists() == (reason == "it ends at once")
    assert kernels.file("legal_cards").exists()


@pytest.mark.parametrize("when", ["NEVER", "bogus", "1", "first,never"])
def test_a_wish_that_there_is_not_is_refused_and_named(when, cold, monkeypatch):
    kernels = cold.kernels(load_game("pepper"))
    monkeypatch.setenv("TRICK_ENVS_COMPILE", when)
    said = f"^the variable TRICK_ENVS_COMPILE: expected 'first' or 'never', not '{when}'$"
    for call in (lambda: BatchEnv("pepper", 2).reset(3), lambda: make("pepper").reset(3)):
        with pytest.raises(InputError, match=said):
            call()
    assert all(each._order is None for each in kernels._switches.values())


@pytest.mark.parametrize("when", ["never", "first"])
def test_nothing_is_compiled_if_nobody_wants_it_and_everything_first_if_they_do(when, cold, monkeypatch):
    kernels = cold.kernels(load_game("pepper"))
    monkeypatch.setenv("TRICK_ENVS_COMPILE", when)
    if when == "first":
        cold.finish(kernels, "reset_batch", "observe_batch", "step_rows", "first_illegal", "first_unnamed")
    games = BatchEnv("pepper", 65, num_threads=2)
    games.reset(3)
    for _ in range(3):
        games.step(games.action_masks.argmax(axis=1))
    assert len(running_plain(kernels)) == (0 if when == "first" else 5)
    assert all(each._order is None for each in kernels._switches.values())


def test_the_power_of_heuristics_has_the_same_bits_in_both():
    rng, compiled = np.random.default_rng(0), numba.njit(power)
    for base, exponent in zip(rng.random(500), rng.integers(0, 40, 500), strict=True):
        assert power(float(base), int(exponent)) == compiled(float(base), int(exponent))


@every_table
def test_batches_are_the_same_in_plain_python(name, players, cold):
    def play() -> list[Any]:
        games, found = BatchEnv(name, 6, players, 1, reward="zero_sum"), []
        games.reset(seed=9)
        kernels, streams = games.game.kernels, np.arange(6, dtype=np.uint64)
        actions, greedy = np.zeros(6, np.int64), np.zeros(6, np.int64)
        for _ in range(60):
            kernels.random_actions(games.action_masks, streams, actions)
            kernels.greedy_actions(games.states, greedy)
            actions[::2] = greedy[::2]
            found.append((actions.tobytes(), greedy.tobytes()))
            rewards, terminated = games.step(actions)
            found.append((games.states.tobytes(), games.observations.tobytes(), games.action_masks.tobytes()))
            found.append((rewards.tobytes(), terminated.tobytes(), games.seats.tobytes()))
        worlds = games.game.resample(games.states, games.seats, np.random.default_rng(2))
        return [*found, worlds.tobytes()]

    expected = play()
    kernels = cold.kernels(load_game(name, players, 1))
    assert play() == expected
    assert running_plain(kernels) >= {
        "step_rows",
        "observe_batch",
        "greedy_actions",
        "random_actions",
        "resample_batch",
    }


@every_game
def test_seats_among_others_are_the_same_in_plain_python(name, cold):
    gymnasium = pytest.importorskip("gymnasium")
    identifier = f"trick_envs/{importlib.import_module('trick_envs').gymnasium_id(name).partition('/')[2]}"

    def play(opponents: str) -> list[Any]:
        found: list[Any] = []
        envs = gymnasium.make_vec(identifier, 4, vectorization_mode="vector_entry_point", opponents=opponents)
        one = gymnasium.make(identifier, opponents=opponents)
        _, info = envs.reset(seed=4)
        for _ in range(25):
            mask = info["action_mask"]
            observation, reward, *rest = envs.step(mask.argmax(axis=1))
            info = rest[-1]
            found.append((observation.tobytes(), reward.tobytes(), info["action_mask"].tobytes()))
        observation, info = one.reset(seed=4)
        for _ in range(10):
            observation, reward, over, _, info = one.step(int(info["action_mask"].argmax()))
            found.append((observation.tobytes(), reward))
            if over:
                break
        return found

    expected = [play(opponents) for opponents in ("greedy", "random")]
    kernels = cold.kernels(load_game(name))
    assert [play(opponents) for opponents in ("greedy", "random")] == expected
    assert running_plain(kernels) >= {"play_rows", "observe_rows", "seat_learners"}


def test_numbers_that_do_not_fit_lose_their_upper_bits_as_in_compiled_code():
    dtype = load_game("pepper").dtype
    states = np.zeros(1, dtype)
    wrapped = twin.PlainStates(states)
    state = wrapped[0]
    state.seat, state.score[1], state.hand[2, 1], state.rng = 300, 2**31, -1, np.uint64(2**64 - 1)
    state.void[3] = -129
    wrapped.write_back()
    assert (states["seat"][0], states["score"][0, 1], states["hand"][0, 2, 1]) == (44, -(2**31), -1)
    assert (states["rng"][0], states["void"][0, 3]) == (2**64 - 1, 127)


def test_a_kernel_that_raises_changes_no_record():
    states = np.zeros(2, load_game("pepper").dtype)

    def broken(states: Any) -> None:
        states[1].seat = 3
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        twin.call(broken, (states,))
    assert not states.view(np.uint8).any()


def test_a_record_is_read_and_written_back_as_it_was():
    for name in ("pepper", "tricky_express", "double_deck_whist"):
        states = np.zeros(3, load_game(name).dtype)
        states.view(np.uint8)[:] = np.random.default_rng(1).integers(0, 256, states.nbytes, np.uint8)
        before = states.tobytes()
        wrapped = twin.PlainStates(states)
        for i in range(3):
            assert twin.codec(states.dtype).encode(wrapped[i]) == states[i].tobytes()
        wrapped[0].copy_from(wrapped[2])
        wrapped.write_back()
        assert states[0].tobytes() == before[-states.itemsize :]
        assert states.tobytes()[states.itemsize :] == before[states.itemsize :]


# --- the processes that compile -----------------------------------------------------------------------------------

COUNT = """
import json, sys, time, pathlib
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        pass
    def on_end(self, event):
        compiled.append([event.data["dispatcher"].py_func.__qualname__, str(event.data["args"])])
event.register("numba:compile", Listener())
from trick_envs import load_game
import numpy as np
game = load_game({game!r})
pathlib.Path(sys.argv[1]).touch()
while len(list(pathlib.Path(sys.argv[1]).parent.glob("here-*"))) < {processes}:
    time.sleep(0.01)
game.kernels.legal_cards(game.template)
print(json.dumps(compiled))
"""


def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip


def output(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out


def test_two_processes_at_once_compile_every_function_once(tmp_path):
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": "first"}
    code = COUNT.format(game="pepper", processes=2)
    both = [start(code, str(tmp_path / f"here-{i}"), **environment) for i in range(2)]
    compiled = [f"{function} of {types}" for each in both for function, types in json.loads(output(each))]
    assert len(compiled) == len(set(compiled)) > 5
    assert any(each.startswith("pepper-5.legal_cards of ") for each in compiled)
    alone = COUNT.format(game="pepper", processes=1)
    assert json.loads(output(start(alone, str(tmp_path / "here-2"), **environment))) == []


def test_two_games_compiled_at_once_in_two_threads_keep_to_their_own_folders(tmp_path):
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
from trick_envs import load_game
games = [load_game(name) for name in ("pepper", "donguri")]
begin = threading.Barrier(2)
def work(game):
    begin.wait()
    game.kernels.legal_cards(game.template)
print(list(ThreadPoolExecutor(2).map(work, games)))
"""
    output(start(code, TRICK_ENVS_CACHE=str(tmp_path), TRICK_ENVS_COMPILE="first"))
    folders = {path.name.rpartition("-")[0]: path for path in tmp_path.iterdir() if path.is_dir()}
    assert set(folders) == {"pepper", "donguri"}
    for name in ("pepper", "donguri"):
        kernels = [path.name for path in folders[name].glob("*.code")]
        assert kernels == [f"{name}-{load_game(name).num_players}.legal_cards.code"]


def test_a_process_that_is_killed_while_it_compiles_leaves_it_to_the_next(tmp_path):
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": "first"}
    code = COUNT.format(game="pepper", processes=1)
    killed = start(code, str(tmp_path / "here-0"), **environment)
    while not list((tmp_path / "cache").glob("pepper-*/*.lock")):  # it holds at least this one
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    begin = time.monotonic()
    assert len(json.loads(output(start(code, str(tmp_path / "here-1"), **environment)))) > 5
    assert time.monotonic() - begin < 50  # nobody waits for the dead


MATCH = """
import json, time
from trick_envs import pepper_v0
from trick_envs.engine.build.kernels import Switch
env = pepper_v0.raw_env(num_deals=1)
env.reset(seed=7)
kernels, states = env.game.kernels, []
begin = time.monotonic()
while True:
    while env.phase != "over":
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    states.append("plain" if isinstance(kernels.step_one, Switch) else "compiled")
    if states[-1] == "compiled" or "{once}" or time.monotonic() - begin > 200:
        break
    time.sleep(0.3)  # it is the other process that has work to do
    env.reset(seed=7)
print(json.dumps([states[0], states[-1], env.record()]))
"""


ONE_KERNEL = """
import json, time
from trick_envs import load_game
from trick_envs.engine.build.kernels import Switch
game = load_game("pepper")
kernels, begin = game.kernels, time.monotonic()
results, states = set(), []
while time.monotonic() - begin < 200:
    results.add(kernels.legal_cards(game.template))
    states.append(isinstance(kernels.legal_cards, Switch))
    if not states[-1] and {stops}:
        break
    time.sleep(0.01)
print(json.dumps([states[0], states[-1], len(results)]))
"""


def test_a_real_process_compiles_what_is_played_meanwhile(tmp_path):
    expected = make("pepper", num_deals=1)
    expected.reset(seed=7)
    while expected.phase != "over":
        expected.step(int(expected.observe(expected.agent_selection)["action_mask"].argmax()))
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": ""}
    first, last, record = json.loads(output(start(MATCH.replace("{once}", ""), **environment)))
    assert (first, last) == ("plain", "compiled")
    assert record == expected.record()
    first, last, record = json.loads(output(start(MATCH.replace("{once}", "once"), **environment)))
    assert first == "plain"  # a short match needs no machine code, though it is there
    assert record == expected.record()


@POSIX
def test_what_was_begun_is_finished_after_ctrl_c(tmp_path):
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": ""}
    code = ONE_KERNEL.format(stops=False)
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **environment}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    while not list(tmp_path.glob("*/*.lock")):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    process.wait(30)
    assert process.returncode != 0
    until = time.monotonic() + 200
    while not list(tmp_path.glob("pepper-*/pepper-5.legal_cards.code")):
        assert time.monotonic() < until
        time.sleep(0.1)


@POSIX
@pytest.mark.parametrize(("presses", "kept"), [(1, True), (2, False)])
def test_ctrl_c_waits_until_a_function_is_compiled_but_the_second_does_not(presses, kept, tmp_path):
    code = f"""
import pathlib, signal
from numba.core import event
from trick_envs import load_game
class Presses(event.Listener):
    left = {presses}
    def on_start(self, event):
        while self.left:
            self.left -= 1
            signal.raise_signal(signal.SIGINT)
    def on_end(self, event):
        pass
event.register("numba:compile", Presses())
game = load_game("pepper")
try:
    game.kernels.legal_cards(game.template)
except KeyboardInterrupt:
    kept = any(pathlib.Path({str(tmp_path)!r}).glob("*/*.code"))
    print("stopped", kept, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(game.kernels.legal_cards(game.template)[0])
"""
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": "first"}
    expected = load_game("pepper")
    legal, _ = expected.kernels.legal_cards(expected.template)
    assert output(start(code, **environment)).split() == ["stopped", str(kept), "True", str(legal)]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path):
    tmp_path.chmod(0o500)
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": ""}
    assert json.loads(output(start(ONE_KERNEL.format(stops=True), **environment))) == [True, False, 1]


@pytest.mark.parametrize("name", ["file", "x" * 300], ids=["file", "long"])
def test_a_cache_that_cannot_be_made_is_no_obstacle(name, tmp_path):
    """Nor one of which not even that can be asked, as below a home of another user."""
    (tmp_path / "file").touch()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / name), "TRICK_ENVS_COMPILE": "", "TMPDIR": str(temporary)}
    assert json.loads(output(start(ONE_KERNEL.format(stops=True), **environment))) == [True, False, 1]
    until = time.monotonic() + 30
    while list(temporary.glob("trick_envs-*")):  # the code of this process ends with it
        assert time.monotonic() < until
        time.sleep(0.1)


@POSIX
def test_who_compiles_for_a_temporary_folder_ends_before_the_folder_does(tmp_path):
    """Else it would make the folder again, which nobody would remove."""
    code = """
from trick_envs import load_game
from trick_envs.engine.build import process
game = load_game("pepper")
game.kernels.legal_cards(game.template)
print(*process.compiling())
"""
    (tmp_path / "file").touch()
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "file"), "TRICK_ENVS_COMPILE": "", "TMPDIR": str(tmp_path)}
    compiles = int(output(start(code, **environment)))
    with pytest.raises(ProcessLookupError):
        os.kill(compiles, 0)
    assert not list(tmp_path.glob("trick_envs-*"))


@POSIX
def test_a_full_disk_is_no_obstacle(tmp_path):
    code = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # no file can be larger
from trick_envs import load_game
game = load_game("pepper")
print(len(game.kernels.legal_cards(game.template)))
"""
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": "first"}
    assert output(start(code, **environment)).strip() == "2"
    assert not list(tmp_path.glob("pepper-*/*.code"))


def test_a_damaged_file_of_machine_code_is_compiled_again(tmp_path):
    code = (
        "from trick_envs import load_game; game = load_game('pepper'); print(game.kernels.legal_cards(game.template))"
    )
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": "first"}
    expected = output(start(code, **environment))
    (file,) = tmp_path.glob("pepper-*/*.code")
    whole = file.read_bytes()
    begin = whole.index(b"BC\xc0\xde") + 4  # of LLVM's bitcode
    damaged = whole[:begin] + bytes(64) + whole[begin + 64 :]
    file.write_bytes(damaged)
    assert output(start(code, **environment)) == expected
    assert file.read_bytes() != damaged
    if hasattr(os, "mkfifo"):
        file.unlink()
        os.mkfifo(file)  # nobody writes into it
        assert output(start(code, **environment)) == expected


def test_records_that_are_no_positions_are_read_and_written_in_tables_of_two_dimensions():
    known = np.zeros((2, 3), COMPARISON)
    known[1, 2] = 0.5, 0.25, 7, 9
    wrapped = twin.PlainStates(known)
    assert (wrapped[1][2].advantage, wrapped[1][2].count, wrapped[0][2].count) == (0.5, 7, 0)
    wrapped[1][0].squares, wrapped[-1][2].node = 1.5, -4
    wrapped.write_back()
    assert known["squares"].tolist() == [[0.0, 0.0, 0.0], [1.5, 0.0, 0.25]]
    assert known["node"].tolist() == [[0, 0, 0], [0, 0, -4]]


# --- what was wrong once --------------------------------------------------------------------------------------------


def environment_of(cold: Cold, **more: str) -> dict[str, str]:
    return {"TRICK_ENVS_CACHE": str(cold.root), "TRICK_ENVS_COMPILE": "", **more}


@POSIX
def test_with_a_warm_cache_no_process_is_started(cold, tmp_path):
    kernels = cold.kernels(load_game("pepper"))
    batch = ("step_rows", "observe_batch", "reset_batch", "first_illegal", "first_unnamed")
    cold.finish(kernels, "start_match", "step_one", "observe_float", "winners_bits", *batch)
    cold.stop()
    code = f"""
import sys
sys.executable = {interpreter(tmp_path, f"echo started >> {tmp_path}/log")!r}
from trick_envs import BatchEnv, pepper_v0
from trick_envs.engine.build import process
env = pepper_v0.raw_env()
while env.game.kernels._switch("step_one").in_plain_python:
    env.reset(seed=7)
    while env.phase != "over":
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
env.reset(seed=7)
env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
games = BatchEnv("pepper", 4096)
games.reset(seed=7)
games.step(games.action_masks.argmax(axis=1))
print(process._children, [games.game.kernels._switch(name).in_plain_python for name in ("step_one", "step_rows")])
"""
    assert output(start(code, **environment_of(cold))).strip() == "[] [False, False]"
    assert not (tmp_path / "log").exists()


@POSIX
def test_what_the_interpreter_of_the_compiler_prints_is_no_answer(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('welcome to our cluster', flush=True)\n")
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": "", "PYTHONPATH": str(tmp_path)}
    printed = output(start(ONE_KERNEL.format(stops=True), **environment)).splitlines()
    assert printed[0] == "welcome to our cluster"
    assert json.loads(printed[1]) == [True, False, 1]


def test_of_those_who_compile_though_nobody_waits_there_is_one_on_a_machine(cold, monkeypatch):
    kernels, state = cold.kernels(load_game("pepper")), load_game("pepper").template.copy()
    while kernels.seconds < 0.05:
        kernels.legal_cards(state)
    assert kernels._switch("legal_cards")._order is not None
    assert not process._children  # another one is at work
    settings = {"polite": True, "root": str(cold.root), "path": sys.path}
    again = subprocess.run([sys.executable, child.__file__], input=json.dumps(settings) + "\n", text=True, timeout=60)
    assert again.returncode == child.BUSY
    cold.finish(kernels)
    while kernels._switch("legal_cards").in_plain_python:
        kernels.legal_cards(state)
    assert not process._children


@POSIX
def test_the_compiler_ends_with_a_process_that_is_killed(tmp_path):
    code = ONE_KERNEL.format(stops=False).replace("while time", "kernels.legal_cards(game.template)\nprint(*process.compiling(), flush=True)\nwhile time")  # noqa: E501  # fmt: skip
    code = "from trick_envs.engine.build import process\n" + code
    killed = start(code, TRICK_ENVS_CACHE=str(tmp_path), TRICK_ENVS_COMPILE="")
    assert killed.stdout is not None
    compiler = int(killed.stdout.readline())
    killed.kill()
    killed.communicate()
    until = time.monotonic() + 30
    while runs(compiler):
        assert time.monotonic() < until
        time.sleep(0.05)


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return (
        not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    )  # nobody has asked for its end


@POSIX
def test_a_forked_process_waits_for_nobody_whom_only_its_parent_hears_of(cold, monkeypatch, tmp_path):
    kernels, state = cold.kernels(load_game("pepper")), load_game("pepper").template.copy()
    cold.stop()
    monkeypatch.setattr(sys, "executable", interpreter(tmp_path, f"exec cat >> {tmp_path}/orders"))
    while not process._children:
        kernels.legal_cards(state)
    (ours,) = process.compiling()
    reading, writing = os.pipe()
    if (forked := os.fork()) == 0:
        found = b"nothing"
        try:
            while not process.compiling():  # few games: its own compiler, while it plays in plain Python
                kernels.legal_cards(state)
            found = b"its own" if process.compiling() != [ours] else b"its parent's"
            os.kill(process.compiling()[0], signal.SIGKILL)
            kernels.prepare("legal_cards")  # many games
            found += b" and compiled" * (not kernels._switch("legal_cards").in_plain_python)
        finally:
            os.write(writing, found)
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"its own and compiled"
    os.waitpid(forked, 0)
    assert process.compiling() == [ours]
    end_children()


def test_the_parent_of_a_forked_process_is_not_in_the_middle_of_compiling(cold):
    """Numba's own locks would stay locked in the other process for ever."""
    kernels = cold.kernels(load_game("pepper"))
    cold._known._switch("look").change_over()
    begun, go_on = threading.Event(), threading.Event()
    with FileLock(kernels.file("look").with_suffix(".lock")):
        waiting = threading.Thread(target=lambda: (begun.set(), kernels._switch("look").change_over()))
        waiting.start()
        begun.wait()
        time.sleep(0.2)
        forking = threading.Thread(target=lambda: (os.waitpid(fork_and_end(), 0), go_on.set()))
        forking.start()
        assert not go_on.wait(0.5)
        cold.finish(kernels, "look")
    assert go_on.wait(60)
    waiting.join(60)


def fork_and_end() -> int:
    if (forked := os.fork()) == 0:
        os._exit(0)
    return forked


def test_code_for_another_processor_or_of_other_settings_has_another_folder():
    code = "from trick_envs import load_game; print(load_game('pepper').kernels.folder)"
    settings = {"CPU_NAME": "generic", "CPU_FEATURES": "+sse2", "OPT": "0", "BOUNDSCHECK": "1"}
    folders = {output(start(code, **{f"NUMBA_{name}": value})) for name, value in settings.items()}
    assert len(folders | {output(start(code))}) == len(settings) + 1


@pytest.mark.parametrize("when", ["first", ""])
def test_where_numba_shall_not_compile_everything_is_plain_python(when):
    code = (
        "from trick_envs import BatchEnv\ngames = BatchEnv('pepper', 100)\ngames.reset(seed=1)\n"
        "games.step(games.action_masks.argmax(1))\nprint(games.game.kernels)"
    )
    assert "pepper-5" in output(start(code, NUMBA_DISABLE_JIT="1", TRICK_ENVS_COMPILE=when))


def test_whatever_is_compiled_into_code_is_part_of_the_name_of_its_folder(tmp_path, monkeypatch):
    """Files of functions wherever they are, and the values of their constants, whatever they come from."""
    monkeypatch.syspath_prepend(tmp_path)
    other = "TABLE = None\n\n\ndef helper(i):\n    return TABLE[i]\n"
    (tmp_path / "elsewhere_of_a_test.py").write_text(other)
    (tmp_path / "kernel_of_a_test.py").write_text(
        "import elsewhere_of_a_test\nfrom elsewhere_of_a_test import helper\nFACTOR = 3\n\n\n"
        "def count(states, i):\n    return FACTOR * helper(i) + elsewhere_of_a_test.helper(i) + len(states)\n"
    )
    module, sources = importlib.import_module("kernel_of_a_test"), load_game("pepper").type.folder
    helper, found = importlib.import_module("elsewhere_of_a_test"), []
    monkeypatch.setenv("TRICK_ENVS_CACHE", str(tmp_path / "cache"))

    def name() -> str:
        sources_digest.cache_clear()
        found.append(cache_folder(sources, [module.count]).name)
        assert found[-1] == cache_folder(sources, [module.count]).name
        return found[-1]

    name()
    helper.TABLE = np.arange(4)
    name()
    helper.TABLE = np.arange(4) * 2
    name()
    module.FACTOR = 4
    name()
    for file in ("kernel_of_a_test.py", "elsewhere_of_a_test.py"):
        with (tmp_path / file).open("a") as opened:
            opened.write("# edited\n")
        name()
    assert len(set(found)) == 6
    assert reached_digest([module.count], tmp_path) != reached_digest([module.count], Path("nowhere"))
    sources_digest.cache_clear()


def test_a_rule_may_have_a_large_table(cold, monkeypatch, tmp_path):
    (tmp_path / "large_of_a_test.py").write_text("""
from __future__ import annotations
import numpy as np
from trick_envs.engine.build import kernel, rule
from trick_envs.engine.state import FixedStates
TABLE = np.arange(200_000) * 3  # 1.6 MB


@rule
def looked_up(i: int) -> int:
    return TABLE[i]


@kernel(called=True)
def large(states: FixedStates, i: int) -> int:
    return looked_up(i) + states[0].kinds
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(KERNELS, "large", None)  # until the test ends
    importlib.import_module("large_of_a_test")
    game = load_game("pepper")
    kernels = cold.kernels(game)
    monkeypatch.setenv("TRICK_ENVS_COMPILE", "first")
    assert kernels.large(game.template, 199_999) == 599_997 + 60
    file = kernels.file("large")
    before = file.stat().st_mtime_ns
    again = Kernels("pepper-5", "Pepper", game.type.folder, game.dtype, kernels._bound, lambda: True)
    assert again.large(game.template, 5) == 15 + 60
    assert file.stat().st_mtime_ns == before
    assert again.large.stats.cache_misses == {}


def test_what_kernels_call_is_compiled_once_whatever_integers_it_is_called_with(cold, monkeypatch, tmp_path):
    (tmp_path / "called_of_a_test.py").write_text("""
from __future__ import annotations
from trick_envs.engine.build import kernel, rule
from trick_envs.engine.state import FixedStates


@rule
def sum_of(pair: tuple[int, int], more: int) -> int:
    return pair[0] + pair[1] + more


@kernel(called=True)
def calls(states: FixedStates, i: int) -> int:
    total, found = (0, 0), 0
    for k in range(i):
        found += sum_of(total, 0) + sum_of((k, found), states[0].hand_size) + sum_of((0, k), states[0].hand[0, 0])
        total = k, found
    return found
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(KERNELS, "calls", None)  # until the test ends
    module, game = importlib.import_module("called_of_a_test"), load_game("pepper")
    called = cold.kernels(game).calls
    monkeypatch.setenv("TRICK_ENVS_COMPILE", "never")
    found = called(game.template, 5)
    monkeypatch.setenv("TRICK_ENVS_COMPILE", "first")
    assert called(game.template, 5) == found > 0
    assert len(module.sum_of.compiled.overloads) == 1


@pytest.mark.parametrize("name", ["_reduce", "_rebuild"])
def test_a_numba_without_the_private_names_of_the_cache_compiles_and_warns(name, cold, monkeypatch):
    game = load_game("pepper")
    kernels = cold.kernels(game)
    file = kernels.file("winners_bits")
    if name == "_rebuild":
        cold.finish(kernels, "winners_bits")
    monkeypatch.delattr(numba.core.compiler.CompileResult, name)
    monkeypatch.setenv("TRICK_ENVS_COMPILE", "first")
    with pytest.warns(RuntimeWarning, match=rf"numba .* keeps no compiled code .*{name}.*: install a version that"):
        assert kernels.winners_bits(game.template) == 0b11111
    assert file.exists() == (name == "_rebuild")


@POSIX
@pytest.mark.parametrize("cache", ["~/somewhere", "somewhere", None])
def test_the_cache_of_somebody_without_a_home_or_with_a_short_name_for_it(cache, tmp_path):
    code = """
import pwd, os
def unknown(*given):
    raise KeyError("uid not found")
if "HOME" not in os.environ:
    pwd.getpwuid = pwd.getpwnam = unknown
from trick_envs import pepper_v0
env = pepper_v0.raw_env()
env.reset(seed=7)
os.chdir("/")
print(env.game.kernels.folder)
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "TRICK_ENVS"))}
    environment |= {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)} | ({"TRICK_ENVS_CACHE": cache} if cache else {})
    paths = [str(Path(__file__).parent.parent)]
    for home in (True, False):
        if not home:
            del environment["HOME"]
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        folder = Path(done.stdout.strip())
        assert folder.parent.parent == tmp_path or folder.parent.parent == tmp_path / ".cache"
        if cache and (home or "~" not in cache):
            assert folder.parent == tmp_path / "somewhere"
        elif not home:
            assert folder.parent.name.startswith("trick_envs-")
            assert not folder.exists()
    assert not (tmp_path / "~").exists()


def test_calls_have_the_types_that_their_kernels_declare():
    """Else they would be compiled once more, for every process."""
    gymnasium = pytest.importorskip("gymnasium")
    game = load_game("double_deck_whist")
    env = make(game.name)
    env.reset(seed=3)
    play_randomly(env, np.random.default_rng(0), 40)
    env.state()
    env.record()
    with pytest.raises(ValueError, match="legal now"):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmin()))
    for threads in (2, 1):
        games = BatchEnv(game.name, 4, num_threads=threads)
        games.reset(seed=1)
        for _ in range(3):
            games.step(games.action_masks.argmax(axis=1))
    games.reset()
    game.resample(games.states, games.seats, np.random.default_rng(0))
    envs = gymnasium.make_vec(
        "trick_envs/DoubleDeckWhist-v0", 4, vectorization_mode="vector_entry_point", opponents="greedy"
    )
    _, info = envs.reset(seed=4)
    envs.step(info["action_mask"].argmax(axis=1))
    used = {name: each for name, each in game.kernels._switches.items() if not each.in_plain_python}
    assert len(used) >= 15
    for name, each in used.items():
        entries = {found.entry_point for found in each.machine_code.overloads.values()}
        assert entries == {game.kernels.entries[name]}, name


def test_games_begin_without_docstrings() -> None:
    """``python -OO`` has none: arguments are described from them, and importing ``pepper_v0`` was a KeyError."""
    code = "from trick_envs import pepper_v0; env = pepper_v0.env(); env.reset(seed=1); print(env.agent_selection)"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("player_")
