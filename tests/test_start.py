"""Games begin as plain Python and change over to machine code, and nobody can tell by the results."""

from __future__ import annotations

import copy
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from helpers import every_game, every_table, make, play_randomly

from trick_envs import BatchEnv
from trick_envs.engine import background, changeover, plain
from trick_envs.engine.changeover import Switch
from trick_envs.engine.game import Game
from trick_envs.engine.kernels import binding
from trick_envs.engine.kernels.observing import ROOM_BEHIND
from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.search.playouts import COMPARISON
from trick_envs.engine.state import OVER
from trick_envs.engine.table import power
from trick_envs.interfaces.aec import RawEnv

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


class Compiler:
    """Stands for the processes that compile: orders are done when a test says so."""

    def __init__(self) -> None:
        self.orders: list[background.Order] = []
        self.names: list[str] = []

    def ask(self, name: tuple[str, ...], arguments: Any, urgent: bool = False) -> background.Order:
        self.orders.append(background.Order())
        self.names.append(name[-1])
        return self.orders[-1]

    def finish(self) -> None:
        for order in self.orders:
            order.finish(background.DONE)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """An empty compile cache, as far as anybody can tell, and a compiler that waits for a word."""
    stands = Compiler()
    monkeypatch.delenv("TRICK_ENVS_COMPILE", raising=False)
    monkeypatch.setattr(background, "ask", stands.ask)
    monkeypatch.setattr(changeover, "is_cached", lambda function, folder: False)
    return stands


def fresh(game: Game, monkeypatch: pytest.MonkeyPatch) -> binding.Kernels:
    """Kernels of a game that have never run."""
    one, known = game.type, game.kernels
    kernels = binding.bind_kernels(
        one.modules, known._name, one.title, one.folder, one.phases, one.hands_seen, lambda: True
    )
    vars(kernels).update(_inner=known._inner, _outer=known._outer)  # which need not be loaded again
    monkeypatch.setitem(one._kernels, game.num_players, kernels)
    return kernels


def running_plain(kernels: binding.Kernels) -> set[str]:
    return {name for name, each in vars(kernels).items() if isinstance(each, Switch) and each.in_plain_python}


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
def test_plain_python_and_machine_code_give_the_same_bits(name, players, compiler, monkeypatch):
    expected_env = make(name, players, num_deals=2)
    expected_env.reset(seed=11)
    expected = trace(expected_env, 10**6)
    kernels = fresh(expected_env.game, monkeypatch)
    env = make(name, players, num_deals=2)
    env.reset(seed=11)
    assert trace(env, 10**6) == expected
    assert env.record() == expected_env.record()
    assert running_plain(kernels) >= {"start_match", "step_one", "observe_float", "write_full_state"}


@every_game
def test_a_match_is_the_same_wherever_it_changes_over(name, compiler, monkeypatch):
    """The plays before the change in plain Python, those after it compiled: after every number of plays."""
    game = load_game(name, num_deals=1)
    names = ("start_match", "observe_float", "step_one")
    compiled = {name: game.kernels.compiled(binding._KERNELS[name]) for name in names}
    kernels = fresh(game, monkeypatch)

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
def test_an_environment_changes_over_between_two_steps(steps, compiler, monkeypatch):
    reference, env = make("pepper", num_deals=2), make("pepper", num_deals=2)
    kernels = fresh(reference.game, monkeypatch)
    env.reset(seed=3)
    rng = np.random.default_rng(5)
    before = [env.states.tobytes()]
    for _ in range(steps):
        env.step(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
        before.append(env.states.tobytes())
    twin = pickle.loads(pickle.dumps(env))
    other = copy.deepcopy(env)
    expected_plain = {"start_match", "observe_float", "step_one"} if steps else {"start_match"}
    assert running_plain(kernels) >= expected_plain
    compiler.finish()
    for each in (env, twin, other):
        state, rest = copy.deepcopy(rng), 0
        while each.phase != "over":
            each.step(int(state.choice(np.flatnonzero(each.observe(each.agent_selection)["action_mask"]))))
            rest += 1
            compiler.finish()
        assert rest > 20
        assert each.record() == env.record()
    assert not running_plain(kernels) & {"observe_float", "step_one"}
    assert not isinstance(kernels.step_one, Switch)  # no detour for those who ask again
    env.reset(seed=3)
    assert env.states.tobytes() == before[0]
    assert not isinstance(env._observe, Switch)
    reference.reset(seed=3)
    assert reference.states.tobytes() == before[0]


def test_every_kernel_is_ordered_once(compiler, monkeypatch):
    kernels = fresh(load_game("pepper"), monkeypatch)
    for _ in range(3):
        env = make("pepper")
        env.reset(seed=1)
        play_randomly(env, np.random.default_rng(0), 20)
    assert len(compiler.names) == len(set(compiler.names))
    assert set(compiler.names) <= running_plain(kernels) | {"decision_bits_batch"}


def test_large_work_waits_for_the_compiler(compiler, monkeypatch):
    kernels = fresh(load_game("pepper"), monkeypatch)
    games = BatchEnv("pepper", 65)
    started = threading.Thread(target=lambda: games.reset(0))
    started.start()
    started.join(0.3)
    assert started.is_alive()
    side_by_side = {"step_rows", "observe_batch", "reset_batch", "first_illegal", "first_unnamed"}
    assert set(compiler.names) == side_by_side
    assert not games.states["seed"].any()
    compiler.finish()
    started.join(60)
    assert not started.is_alive()
    assert games.states["kinds"].all()
    assert not running_plain(kernels) & {"reset_batch", "observe_batch"}


def test_waiting_is_shown_on_a_terminal_and_the_line_goes_away(compiler, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with changeover._Notice("Pepper") as notice:
        notice.go_on()
    shown = capsys.readouterr().err
    assert "compiling Pepper for this machine, once" in shown
    assert shown.endswith("\r")
    assert not shown.rpartition("\r")[0].rpartition("\r")[2].strip()


def test_what_no_other_process_can_find_is_compiled_here(compiler, monkeypatch):
    one = game_type("pepper")
    kernels = binding.bind_kernels(
        one.modules, "pepper", one.title, one.folder, one.phases, one.hands_seen, lambda: False
    )
    states = np.zeros(1, load_game("pepper").dtype)
    kernels.start_match(states, 0, load_game("pepper").template, np.uint64(1))
    assert states["kinds"][0]
    assert not compiler.orders
    assert not isinstance(kernels.start_match, Switch)


def test_a_compiler_that_is_lost_leaves_it_to_the_caller(compiler, monkeypatch):
    kernels = fresh(load_game("pepper"), monkeypatch)
    env = make("pepper")
    env.reset(seed=1)
    for order in compiler.orders:
        order.finish(background.LOST)
    env.reset(seed=1)
    assert not isinstance(kernels.start_match, Switch)


def test_the_power_of_heuristics_has_the_same_bits_in_both():
    rng = np.random.default_rng(0)
    for base, exponent in zip(rng.random(500), rng.integers(0, 40, 500), strict=True):
        assert power.py_func(float(base), int(exponent)) == power.compiled(float(base), int(exponent))


@every_table
def test_batches_are_the_same_in_plain_python(name, players, compiler, monkeypatch):
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
    kernels = fresh(load_game(name, players, 1), monkeypatch)
    assert play() == expected
    assert running_plain(kernels) >= {
        "step_rows",
        "observe_batch",
        "greedy_actions",
        "random_actions",
        "resample_batch",
    }


@every_game
def test_seats_among_others_are_the_same_in_plain_python(name, compiler, monkeypatch):
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

    for opponents in ("greedy", "random"):
        expected = play(opponents)
        with monkeypatch.context() as patch:
            kernels = fresh(load_game(name), patch)
            assert play(opponents) == expected
            assert running_plain(kernels) >= {"play_rows", "observe_rows", "seat_learners"}


def test_numbers_that_do_not_fit_lose_their_upper_bits_as_in_compiled_code():
    dtype = game_type("pepper").dtype
    states = np.zeros(1, dtype)
    wrapped = plain.PlainStates(states)
    state = wrapped[0]
    state.seat, state.score[1], state.hand[2, 1], state.rng = 300, 2**31, -1, np.uint64(2**64 - 1)
    state.void[3] = -129
    wrapped.write_back()
    assert (states["seat"][0], states["score"][0, 1], states["hand"][0, 2, 1]) == (44, -(2**31), -1)
    assert (states["rng"][0], states["void"][0, 3]) == (2**64 - 1, 127)


def test_a_kernel_that_raises_changes_no_record():
    states = np.zeros(2, game_type("pepper").dtype)

    def broken(states: Any) -> None:
        states[1].seat = 3
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        plain.call(broken, (states,))
    assert not states.view(np.uint8).any()


def test_a_record_is_read_and_written_back_as_it_was():
    for name in ("pepper", "tricky_express", "double_deck_whist"):
        states = np.zeros(3, game_type(name).dtype)
        states.view(np.uint8)[:] = np.random.default_rng(1).integers(0, 256, states.nbytes, np.uint8)
        before = states.tobytes()
        wrapped = plain.PlainStates(states)
        for i in range(3):
            assert plain.codec(states.dtype).encode(wrapped[i]) == states[i].tobytes()
        wrapped[0] = wrapped[2]
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
    assert set(folders) == {"engine", "pepper", "donguri"}
    for name in ("pepper", "donguri"):
        kernels = [path.name for path in folders[name].glob("playing.*.nbi")]
        table = f"{name}-{load_game(name).num_players}"
        assert any(each.startswith(f"playing.{table}.legal_cards-") for each in kernels)
        assert all(each.startswith(f"playing.{table}.") for each in kernels)
    assert not list(folders["engine"].glob("playing.*"))


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
from trick_envs.engine.changeover import Switch
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
from trick_envs.engine.changeover import Switch
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


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_what_was_begun_is_finished_after_ctrl_c(tmp_path):
    import signal

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
    while not list(tmp_path.glob("pepper-*/playing.pepper-5.legal_cards-*.nbi")):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path):
    tmp_path.chmod(0o500)
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "cache"), "TRICK_ENVS_COMPILE": ""}
    assert json.loads(output(start(ONE_KERNEL.format(stops=True), **environment))) == [True, False, 1]


def test_a_cache_that_cannot_be_made_is_no_obstacle(tmp_path):
    (tmp_path / "file").touch()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {"TRICK_ENVS_CACHE": str(tmp_path / "file"), "TRICK_ENVS_COMPILE": "", "TMPDIR": str(temporary)}
    assert json.loads(output(start(ONE_KERNEL.format(stops=True), **environment))) == [True, False, 1]
    until = time.monotonic() + 30
    while list(temporary.glob("trick_envs-*")):  # the code of this process ends with it
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_full_disk_is_no_obstacle(tmp_path):
    code = """
import os
import numba.core.caching as caching
def full(self, *arguments):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = full
from trick_envs import load_game
game = load_game("pepper")
print(len(game.kernels.legal_cards(game.template)))
"""
    environment = {"TRICK_ENVS_CACHE": str(tmp_path), "TRICK_ENVS_COMPILE": "first"}
    assert output(start(code, **environment)).strip() == "2"


def test_a_forked_process_has_compilers_of_its_own():
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    before = background._pool
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"own" if background._pool is not before else b"shared")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 10) == b"own"


def test_records_that_are_no_positions_are_read_and_written_in_tables_of_two_dimensions():
    known = np.zeros((2, 3), COMPARISON)
    known[1, 2] = 0.5, 0.25, 7, 9
    wrapped = plain.PlainStates(known)
    assert (wrapped[1][2].advantage, wrapped[1][2].count, wrapped[0][2].count) == (0.5, 7, 0)
    wrapped[1][0].squares, wrapped[-1][2].node = 1.5, -4
    wrapped.write_back()
    assert known["squares"].tolist() == [[0.0, 0.0, 0.0], [1.5, 0.0, 0.25]]
    assert known["node"].tolist() == [[0, 0, 0], [0, 0, -4]]


def test_python_only_gets_functions_with_a_wrapper():
    """What only compiled code calls is compiled without one, in half the time: a call from Python would crash."""
    kernels = load_game("pepper").kernels
    for name, function in binding._KERNELS.items():
        assert not kernels.compiled(function).targetoptions["no_cpython_wrapper"]
        assert kernels._inner[name].targetoptions["no_cpython_wrapper"]
    assert power.compiled(2.0, 3) == 8.0
    assert not power.compiled.targetoptions["no_cpython_wrapper"]
    assert power._inner.targetoptions["no_cpython_wrapper"]
