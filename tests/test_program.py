"""``program:PATH``: players that are programs of their own."""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_game, largest_file, legal_of, look, random_positions, start

from trick_envs import BatchEnv, make_agent
from trick_envs.agents.program import ProgramError, position
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError
from trick_envs.matches.loop import finish_match, play_match
from trick_envs.matches.match import Match

LOWEST = f"program:{Path(__file__).with_name('lowest_player.py')}"


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Makes a player from the body of a loop over messages."""

    def write(body: str, arguments: str = "") -> Any:
        path = tmp_path / "player.py"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        path.write_text(
            "import json, os, sys, time\n"
            "say = lambda **answer: print(json.dumps(answer), flush=True)\n"
            f"for line in sys.stdin:\n    message = json.loads(line)\n{lines}\n"
        )
        return make_agent(f"program:{path}{arguments}", load_game("pepper"))

    return write


def first_question(agent: Any) -> Any:
    states = start(load_game("pepper"), 3)
    return agent.act(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.int8), states)


READY = "if message['type'] == 'start':\n    say(type='ready')\n    continue\n"


@every_game
def test_the_example_plays_every_game(name):
    game = load_game(name, num_deals=1)
    agent = make_agent(LOWEST, game)
    games = BatchEnv(name, 2, num_deals=1)
    games.reset(seed=1)
    for _ in range(20):
        actions = agent.act(games.observations, games.action_masks, games.states)
        assert actions.tolist() == [int(np.flatnonzero(mask)[0]) for mask in games.action_masks]
        games.step(actions)
    agent.close()


def test_it_is_a_player_in_a_match():
    game = load_game("hearts", num_deals=1)
    lowest, greedy = make_agent(LOWEST, game), make_agent("greedy", game)
    record = play_match("hearts", {0: lowest, 1: greedy, 2: greedy, 3: lowest}, seed=1, num_deals=1)
    assert record["winners"] is not None
    lowest.close()


@every_game
def test_a_question_tells_what_the_seat_sees_and_no_more(name):
    """Equal in worlds that look alike; hand and legal cards are the seat's."""
    game, rng = load_game(name, num_deals=2), np.random.default_rng(1)
    for states in random_positions(game, 2, 13):
        seat, asked = int(states["seat"][0]), position(game, states)
        assert asked["legal"] == [game.deck.names[action] for action in legal_of(game, states)]
        assert asked["hand"] == asked["known"][seat]
        for world in game.resample(np.repeat(states, 3), seat, rng):
            twin = np.array([world], game.dtype)
            assert look(game, twin, seat) == look(game, states, seat)
            assert position(game, twin) == asked


@every_game
def test_a_question_has_the_tricks_in_order_where_it_is_known(name, tmp_path):
    """As the actions of the match have it; and not where nobody knows."""
    game, asked = load_game(name, num_deals=2), tmp_path / "asked"
    player = tmp_path / "noting.py"
    player.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['type'] == 'start':\n"
        '        print(\'{"type": "ready"}\', flush=True)\n'
        "        continue\n"
        "    said = [message.get(key) for key in ('deal', 'tricks', 'passed')]\n"
        f"    print(json.dumps(said), file=open({str(asked)!r}, 'a'))\n"
        "    print(json.dumps({'type': 'card', 'card': message['legal'][0]}), flush=True)\n"
    )
    agent, greedy = make_agent(f"program:{player}", game), make_agent("greedy", game)
    match = Match(game, 5)
    finish_match(match, {seat: agent if seat == 1 else greedy for seat in range(game.num_players)})
    again, expected = Match(game, 5), []
    for seat, action in [each for deal in match.deals for each in deal.actions]:
        number = len(again.deals)
        if seat == 1:
            expected.append([number, *order_before(again, 1)])
        again.step(action)
    assert [json.loads(line) for line in asked.read_text().splitlines()] == expected
    agent.act(np.zeros((1, game.layout.size), np.int8), np.zeros((1, game.num_actions), np.int8), start(game, 3))
    assert json.loads(asked.read_text().splitlines()[-1]) == [1, None, None]
    agent.close()


def order_before(match: Match, asked: int) -> list[Any]:
    """The tricks of the running deal, and what a seat has passed, from a match that plays it again."""
    again, tricks, passed = Match(match.game, match.seed), {}, []
    for number, deal in enumerate(match.deals, 1):
        for seat, action in deal.actions:
            card = match.game.deck.names[action]
            if number == len(match.deals):
                if again.phase in ("lead", "follow"):
                    tricks.setdefault(int(again.states["tricks"][0]), []).append([seat, card])
                elif again.phase == "pass" and seat == asked:
                    passed.append(card)
            again.step(action)
    return [tricks[trick] for trick in sorted(tricks)], passed


def test_arguments_reach_the_program_and_the_timeout_does_not(program):
    body = READY + "say(type='card', card=message['legal'][0] if sys.argv[1:] == ['a', 'b=2'] else 'none')"
    agent = program(body, "?a&timeout=50&b=2")
    assert first_question(agent).shape == (1,)
    agent.close()


def test_a_program_may_have_as_long_as_python_can_wait(program):
    agent = program(READY + "say(type='card', card=message['legal'][0])", f"?timeout={threading.TIMEOUT_MAX}")
    assert first_question(agent).shape == (1,)
    agent.close()


def test_a_program_is_kept_from_question_to_question_and_ended_with_its_player(program, tmp_path):
    agent = program(f"open({str(tmp_path / 'pid')!r}, 'a').write(f'{{os.getpid()}} ')\n" + READY
                    + "say(type='card', card=message['legal'][0])")  # fmt: skip
    for _ in range(3):
        first_question(agent)
    pids = set((tmp_path / "pid").read_text().split())
    assert len(pids) == 1
    copied = pickle.loads(pickle.dumps(agent))
    first_question(copied)
    pids = set((tmp_path / "pid").read_text().split())
    assert len(pids) == 2
    del agent, copied
    gc.collect()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (READY + "say(type='card', card='99Z')", r"named '99Z', which is not legal: expected one of \d"),
        (READY + "say(type='card')", "named None, which is not legal"),
        (READY + "print('my move: 5', flush=True)", "answered 'my move: 5': expected a line"),
        ("say(type='card', card='1R')", 'expected a line {"type": "ready", …}'),
        (READY + "say(type='card', card='x' * 9000)", "named 'x{199}…, which is not legal"),
        (READY + "sys.exit('no licence')", "has ended with exit status 1: no licence"),
        (READY + "sys.exit('\\x1b[31mred' + 'x' * 900)", r"has ended with exit status 1: \[31mredx{200,300}…$"),
        ("os._exit(3)", "has ended with exit status 3"),
        (
            "sys.stdout.buffer.write(b'M\\xfcller\\n')\nsys.stdout.flush()",
            r"answered b'M\\xfcller', which is not UTF-8",
        ),
        (
            "sys.stdout.buffer.write(b'\\xff')\nsys.stdout.flush()\nos._exit(0)",
            r"answered b'\\xff', which is not UTF-8",
        ),
        ("os.close(1)\ntime.sleep(60)", "has closed its output"),
        ("print('x' * (3 << 20), flush=True)\ntime.sleep(60)", "answered 'xxx"),
        ("print('[' * 100_000, flush=True)", r"answered '\[\[\["),
    ],
)
def test_what_a_program_does_wrong_is_said(program, body, message):
    with pytest.raises(ProgramError, match=message):
        first_question(program(body))


def test_what_a_program_says_on_standard_error_fills_no_disk_and_its_last_line_is_told(program):
    """Here a program may write no file of more than 64 kB; once its standard error was one."""
    talks = "for _ in range(200): sys.stderr.write('x' * 999 + chr(10))\nsys.stderr.flush()\n"
    once = "if 'asked' in globals():\n    sys.stderr.write('no more')\n    break\nasked = True\n"
    agent = program(READY + talks + once + "say(type='card', card=message['legal'][0])")
    with largest_file(1 << 16):
        first_question(agent)
    with pytest.raises(ProgramError, match="has ended with exit status 0: no more"):
        first_question(agent)


def test_a_line_that_nobody_asked_for_is_said(program):
    agent = program(READY + "say(type='card', card=message['legal'][0]); say(type='hello')")
    first_question(agent)
    until = time.monotonic() + 60
    while agent._running._lines.empty() and time.monotonic() < until:
        time.sleep(0.01)  # the line is on its way
    with pytest.raises(ProgramError, match=r"wrote '\{\"type\": \"hello\"\}' without being asked"):
        first_question(agent)


def test_a_program_that_does_not_answer_is_ended(program, tmp_path):
    agent = program(
        READY + f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)", "?timeout=2"
    )
    began = time.monotonic()
    with pytest.raises(ProgramError, match="did not answer within 2 seconds"):
        first_question(agent)
    assert time.monotonic() - began < 40
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_program_that_has_ended_is_told_so_though_its_child_holds_its_output(program):
    starts = "import subprocess\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    agent = program(READY + starts + "sys.exit('no licence')", "?timeout=5")
    with pytest.raises(ProgramError, match=r"within 5 seconds \(.*\): it has ended with exit status 1: no licence"):
        first_question(agent)


LEGAL = "say(type='card', card=message['legal'][0])"


def gone(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process ends within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # nobody waits for it here
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


def asked_with(agent: Any, games: BatchEnv, row: int) -> bool:
    """Whether the answer to a question is that to this question: the lowest legal card."""
    one = slice(row, row + 1)
    found = agent.act(games.observations[one], games.action_masks[one], games.states[one])[0]
    return bool(found == games.action_masks[row].argmax())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_starts_a_program_of_its_own(program):
    """Also where a thread waits for an answer as it happens."""
    games = BatchEnv("pepper", 10)
    games.reset(seed=1)
    agent, slow = program(READY + LEGAL), program(READY + "time.sleep(1)\n" + LEGAL)
    assert asked_with(agent, games, 0)
    waiting = threading.Thread(target=asked_with, args=(slow, games, 0))
    waiting.start()
    time.sleep(0.3)
    child = os.fork()
    if child == 0:
        os._exit(0 if all(asked_with(each, games, row) for row in (1, 2) for each in (agent, slow)) else 1)
    assert all(asked_with(agent, games, row) for row in range(2, 10))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    waiting.join()
    assert asked_with(slow, games, 3)


def test_a_program_that_threads_share_is_asked_by_one_at_a_time(program):
    games, found = BatchEnv("pepper", 20), []
    games.reset(seed=1)
    agent = program(READY + LEGAL)
    threads = [
        threading.Thread(target=lambda: found.extend(asked_with(agent, games, row) for row in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(found)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs alarms")
def test_an_answer_to_a_question_that_was_interrupted_is_not_taken_for_the_next(program):
    games = BatchEnv("pepper", 10)
    games.reset(seed=1)
    agent = program(READY + "time.sleep(message['seat'] % 2)\n" + LEGAL)
    slow = int(np.flatnonzero(games.seats % 2)[0])
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        rows = np.repeat(slow, 3)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            agent.act(games.observations[rows], games.action_masks[rows], games.states[rows])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert all(asked_with(agent, games, row) for row in range(10))


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
@pytest.mark.parametrize("end", ["", " &"])
def test_a_program_behind_a_script_ends_with_it(tmp_path, end):
    """Whether the script waits for it or not."""
    bot, script, pid = tmp_path / "bot.py", tmp_path / "player.sh", tmp_path / "pid"
    body = "\n".join(f"    {line}" for line in ("message = json.loads(line)\n" + READY + LEGAL).splitlines())
    bot.write_text(
        "import json, os, sys, time\n"
        "say = lambda **answer: print(json.dumps(answer), flush=True)\n"
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        f"for line in sys.stdin:\n{body}\n"
        "time.sleep(300)\n"
    )
    stdin = " <&3" if end else ""
    script.write_text(f"#!/bin/sh\nexec 3<&0\n{sys.executable} {bot}{stdin}{end}\necho good bye >&2\n")
    script.chmod(0o755)
    agent = make_agent(f"program:{script}", load_game("pepper"))
    first_question(agent)
    agent.close()
    assert gone(int(pid.read_text()))


HANGS = READY + "open(sys.argv[1], 'a').write(f'{os.getpid()} ')\ntime.sleep(300)"


@pytest.mark.skipif(os.name != "posix", reason="without signals a program ends with its input")
def test_a_program_that_hangs_ends_with_a_process_that_is_killed(program, tmp_path):
    pids = tmp_path / "pids"  # (for workers: tests/test_executor.py)
    agent = program(HANGS, f"?{pids}&timeout=300")
    code = (
        "import numpy as np\nfrom trick_envs import BatchEnv, make_agent\ngames = BatchEnv('pepper', 1)\n"
        f"games.reset(seed=1)\nmake_agent({agent.name!r}, games.game).act(games.observations, games.action_masks, "
        "games.states)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    until = time.monotonic() + 120
    while not (pids.is_file() and pids.read_text()):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    assert gone(int(pids.read_text()))


def test_what_is_no_program_is_said(tmp_path):
    game = load_game("pepper")
    with pytest.raises(InputError, match="there is no file 'nowhere'"):
        make_agent("program:nowhere", game)
    with pytest.raises(InputError, match="a number of seconds above 0, not 'soon'"):
        make_agent(f"{LOWEST}?timeout=soon", game)
    for seconds in ("0", "nan", "inf", "1e10", "1e300"):
        with pytest.raises(InputError, match=rf"above 0, not '{seconds}'; at most [\d,]+ are possible"):
            make_agent(f"{LOWEST}?timeout={seconds}", game)
    (tmp_path / "text").write_text("no program")
    with pytest.raises(ProgramError, match="does not start"):
        first_question(make_agent(f"program:{tmp_path / 'text'}", game))
    with pytest.raises(ProgramError, match=r"\\x00b' does not start: embedded null byte"):
        first_question(make_agent(f"{LOWEST}?a\0b", game))
