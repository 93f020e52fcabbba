"""Language models as players, against a small server of their protocol on loopback."""

from __future__ import annotations

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from trick_envs.agents.llm import FILE, FOLDER, LLMAgent, LLMError, answers_in, parse_llm, recalled, usage_in
from trick_envs.agents.spec import make_agent
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError
from trick_envs.evaluation.arena import make_plan, play_arena
from trick_envs.matches.loop import choose_actions
from trick_envs.view.reader import position_text, rules_text

pytest.importorskip("openai")
SECRET = "sk-test-0123456789"


class Server(ThreadingHTTPServer):
    """Answers with the last legal card, unless ``does`` says otherwise for a request."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.does = lambda number, request: None
        self.lock, self.at_once, self.most_at_once = threading.Lock(), 0, 0

    @property
    def spec(self) -> str:
        return f"llm:tiny@http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients hang up


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            number = len(server.requests)
            server.requests.append(request)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            found = server.does(number, request)
        finally:
            with server.lock:
                server.at_once -= 1  # before the answer: who has it may send the next request at once
        if callable(found):
            found(self)
        else:
            self.answer(found if isinstance(found, str) else last_legal(request))

    def answer(self, text: str | None) -> None:
        usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send(200, json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}))

    def send(self, status: int, body: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body.encode())


def last_legal(request: dict[str, Any]) -> str:
    told = next(message["content"] for message in request["messages"] if "Legal: " in message["content"])
    return f"<play>{told.rpartition('Legal: ')[2].splitlines()[0].split()[-1]}</play>"


def fails(status: int, body: str = "{}", **headers: str) -> Any:
    return lambda handler: handler.send(status, body, **headers)


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.delenv(FOLDER, raising=False)
    running = Server()
    thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def games(count: int = 3, name: str = "zaraba22", seed: int = 0) -> BatchEnv:
    found = BatchEnv(name, count, num_deals=1, observation="history")
    found.reset(seed)
    return found


def act(agent: LLMAgent, table: BatchEnv) -> np.ndarray:
    who = np.zeros((table.num_envs, table.game.num_players), np.int64)
    return choose_actions(table, (agent,), who, np.arange(table.num_envs))


def last_cards(table: BatchEnv) -> list[int]:
    return [int(np.flatnonzero(mask)[-1]) for mask in table.action_masks]


def agent_of(server: Server, arguments: str = "pause=0.01", name: str = "zaraba22") -> LLMAgent:
    return LLMAgent(f"{server.spec}?{arguments}", load_game(name, num_deals=1))


def test_a_model_reads_rules_and_position_and_plays_what_it_answers(server):
    table, agent = games(), agent_of(server, "temperature=0.5&max_tokens=77&seed=3")
    assert act(agent, table).tolist() == last_cards(table)
    assert len(server.requests) == 3
    for request in server.requests:
        assert (request["model"], request["temperature"], request["max_tokens"]) == ("tiny", 0.5, 77)
        system, user = request["messages"]
        assert system == {"role": "system", "content": rules_text(agent.game)}
        assert user["role"] == "user"
    told = {position_text(table.game, table.states[i : i + 1], None, table.plays()[i]) for i in range(3)}
    assert {request["messages"][1]["content"] for request in server.requests} == told
    assert len({request["seed"] for request in server.requests}) == 3
    assert agent.usage.as_dict() | {"seconds": 0} == {
        "decisions": 3, "answers": 3, "bad_answers": 0, "substituted": 0, "prompt_tokens": 300,
        "completion_tokens": 15, "seconds": 0, "share_of_bad_answers": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["double_deck_whist", "hearts", "tricky_express", "pepper"])
def test_a_model_is_told_all_that_its_seat_has_seen(name):
    """Plays say the same as histories, also of cards that were drawn; of passes the text has what came of them."""
    table = games(1, name)
    rng = np.random.default_rng(0)
    for _ in range(40):
        seat, (own,) = int(table.seats[0]), table.plays()
        told = position_text(table.game, table.states, seat, recalled(table.game, table.states, own))
        full = position_text(table.game, table.states, seat, table.history(0, seat))
        if name in ("hearts", "tricky_express"):  # "then got": who passed which card is in other lines
            told, full = (
                " ".join(line for line in text.splitlines() if "then got" not in line) for text in (told, full)
            )
        assert told == full
        table.step(np.array([rng.choice(np.flatnonzero(table.action_masks[0]))]))


def test_equal_questions_are_asked_once_and_forced_plays_not_at_all(server):
    table, agent = BatchEnv("zaraba22", 4, num_deals=1, observation="history"), agent_of(server)
    table.reset([5, 5, 5, 6])
    act(agent, table)
    assert len(server.requests) == 2
    masks = np.zeros_like(table.action_masks)
    masks[:, 7] = 1
    assert agent.act(table.observations, masks, table.states).tolist() == [7] * 4
    assert len(server.requests) == 2


def test_as_many_requests_at_a_time_as_allowed(server):
    server.does = lambda number, request: time.sleep(0.05)
    act(agent_of(server, "concurrency=3"), games(12))
    assert server.most_at_once == 3


def test_a_bad_answer_is_asked_again_with_what_was_wrong(server):
    server.does = lambda number, request: "I play <play>4 purple</play>" if number == 0 else None
    table, agent = games(1), agent_of(server)
    assert act(agent, table).tolist() == last_cards(table)
    first, second = (request["messages"] for request in server.requests)
    assert second[:2] == first
    assert second[2] == {"role": "assistant", "content": "I play <play>4 purple</play>"}
    assert "No card was understood in '4 purple'. Legal: " in second[3]["content"]
    assert (agent.usage.bad_answers, agent.usage.decisions, agent.usage.substituted) == (1, 1, 0)


@pytest.mark.parametrize("text", ["nothing to say", "", None, "\ud83d", "x" * 900_000, "<think>" * 9999])
def test_who_never_names_a_card_gets_the_same_random_one(server, text):
    server.does = lambda number, request: lambda handler: handler.answer(text)
    table, chosen = games(2), []
    for _ in range(2):
        agent = agent_of(server, "retries=1")
        chosen.append(act(agent, table).tolist())
        assert (agent.usage.bad_answers, agent.usage.substituted) == (4, 2)
    assert chosen[0] == chosen[1]
    assert all(table.action_masks[i, card] for i, card in enumerate(chosen[0]))


def hang_up(handler: Handler) -> None:
    handler.connection.close()


def half(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.connection.close()


def drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def flood(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(300):
        handler.wfile.write(b"x" * 65536)


@pytest.mark.parametrize("tokens", ["1e999", "-1e999", "NaN", "-5", "1" + "0" * 4200, '"many"', "[1]"])
def test_what_is_no_count_of_tokens_is_no_chat_completion(server, tokens):
    body = f'{{"choices": [{{"message": {{"content": "hm"}}}}], "usage": {{"prompt_tokens": {tokens}}}}}'
    server.does = lambda number, request: fails(200, body)
    with pytest.raises(LLMError, match=r"a response that is no chat completion: '.*prompt_tokens"):
        act(agent_of(server, "attempts=1"), games(1))


@pytest.mark.parametrize(
    "failure",
    [
        fails(429, "{}", Retry_After="0.02"), fails(500), fails(503, "busy"), fails(200, "<html>"), fails(200, "[]"),
        fails(200, '{"choices": []}'), fails(200, '{"choices": [{"message": null}]}'), hang_up, half, drip, flood,
        lambda handler: time.sleep(1.2),
    ],
)  # fmt: skip
def test_what_fails_in_passing_is_sent_again(server, failure):
    server.does = lambda number, request: failure if number < 2 else None
    table = games(1)
    assert act(agent_of(server, "pause=0.01&timeout=0.5"), table).tolist() == last_cards(table)
    assert len(server.requests) == 3


def test_a_dead_server_is_an_error_that_says_what_happened(server):
    server.does = lambda number, request: fails(500, '{"error": {"message": "out of memory"}}')
    with pytest.raises(LLMError, match=r"no answer after 3 attempts, the last: status 500: .*out of memory"):
        act(agent_of(server, "pause=0.01&attempts=3"), games(1))
    assert len(server.requests) == 3
    nowhere = LLMAgent("llm:tiny@http://127.0.0.1:9/v1?attempts=2&pause=0.01", load_game("zaraba22", num_deals=1))
    with pytest.raises(LLMError, match="no answer after 2 attempts, the last: Connection error"):
        act(nowhere, games(1))


def test_what_a_server_refuses_is_not_sent_again_and_ends_the_other_requests(server):
    server.does = lambda number, request: fails(404, '{"error": {"message": "no such model"}}')
    with pytest.raises(LLMError, match=r"status 404: .*no such model"):
        act(agent_of(server, "concurrency=1"), games(20))
    assert len(server.requests) == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_ctrl_c_waits_for_no_answer_and_the_player_plays_on(server):
    table, agent, goes_on = games(2), agent_of(server, "concurrency=1&timeout=300"), threading.Event()

    def interrupts(number: int, request: dict[str, Any]) -> None:
        if number == 0:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            goes_on.wait(20)

    server.does = interrupts
    with pytest.raises(KeyboardInterrupt):
        act(agent, table)
    assert server.at_once == len(server.requests) == 1
    goes_on.set()
    assert act(agent, table).tolist() == last_cards(table)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_command_ends_with_ctrl_c_whatever_the_server_does(server, tmp_path):
    asked, goes_on = threading.Event(), threading.Event()
    server.does = lambda number, request: (asked.set(), goes_on.wait(300))[0]
    arguments = ["evaluate", f"{server.spec}?timeout=300", "random", "--game", "zaraba22", "--deals", "2"]
    command = [sys.executable, "-m", "trick_envs.cli", *arguments, "--folder", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert asked.wait(120)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        goes_on.set()
    assert process.returncode == 130
    assert "stopped; finished deals are saved" in told


def test_the_key_comes_from_the_named_variable_and_is_nowhere_else(server, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key")
    act(agent_of(server), games(1))
    assert "another" not in str(server.headers)  # only the variable that is named
    monkeypatch.setenv("MY_KEY", SECRET)
    agent = agent_of(server, "key=MY_KEY&pause=0.01")
    assert SECRET not in repr(vars(agent)) + agent.name
    assert SECRET.encode() not in pickle.dumps(agent)
    server.does = lambda number, request: f"your key is {SECRET}" if number == 1 else None
    with answers_in(tmp_path):
        act(agent, games(1))
    assert server.headers[1]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in (tmp_path / FILE).read_text()
    assert "your key is ***" in (tmp_path / FILE).read_text()
    for status in (401, 500):
        server.does = lambda number, request, status=status: fails(
            status, f'{{"error": {{"message": "bad {SECRET}"}}}}'
        )
        with pytest.raises(LLMError) as error:
            act(agent_of(server, "key=MY_KEY&attempts=1"), games(1, seed=status))
        assert SECRET not in str(error.value)
        assert f"status {status}" in str(error.value)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="environment variable MY_KEY is not set"):
        agent_of(server, "key=MY_KEY")


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_message_has_no_part_of_the_key_wherever_it_is_cut_off(server, monkeypatch, status):
    """Nor where the variable is gone meanwhile."""
    monkeypatch.setenv("MY_KEY", SECRET)
    agent, table = agent_of(server, "key=MY_KEY&attempts=1"), games(1)
    for padding in (220, 230, 240, 250, 260, 270, 280, 370, 380, 0):
        if padding == 0:
            monkeypatch.delenv("MY_KEY")
        body = json.dumps({"error": {"message": "." * padding + f"Bearer {SECRET}"}})
        server.does = lambda number, request, body=body: fails(status, body)
        with pytest.raises(LLMError, match=r"Bearer \*\*\*|\.\.\.") as error:
            act(agent, table)
        assert "sk" not in str(error.value)


@pytest.mark.parametrize("shown", ["sk/a+b=c%", r"sk\/a+b=c%", "sk%2Fa%2Bb%3Dc%25", "sk/a%2Bb%3Dc%25"])
def test_a_key_is_also_found_in_other_letters(server, monkeypatch, shown):
    monkeypatch.setenv("MY_KEY", "sk/a+b=c%")
    server.does = lambda number, request: f"your key is {shown}!" if number == 0 else None
    agent = agent_of(server, "key=MY_KEY")
    act(agent, games(1))
    assert server.requests[1]["messages"][2]["content"] == "your key is ***!"


@pytest.mark.parametrize("sign", ["\n", "\r\n", "\t", "\x1b", "\x7f", "é", "\u200b", "\udcff"])
def test_a_key_that_can_be_no_header_is_refused_and_not_shown(server, monkeypatch, sign):
    monkeypatch.setenv("MY_KEY", f"\n{SECRET} \n")  # a file ends so
    agent = agent_of(server, "key=MY_KEY")
    monkeypatch.setenv("MY_KEY", SECRET + sign + SECRET)
    for ask in (lambda: agent_of(server, "key=MY_KEY"), lambda: act(agent, games(1))):
        with pytest.raises(InputError, match="environment variable MY_KEY has a line break, a control") as error:
            ask()
        assert SECRET not in str(error.value)
    assert not server.requests


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("llm:tiny", "expected 'llm:MODEL@http"),
        ("llm:@http://127.0.0.1", "expected 'llm:MODEL@http"),
        ("llm:tiny@http://[::1", "expected 'llm:MODEL@http"),
        ("llm:tiny@http://127.0.0.1:99999/v1", "expected 'llm:MODEL@http"),
        ("llm:tiny@http://:8000/v1", "expected 'llm:MODEL@http"),
        (f"llm:tiny@http://{'a' * 300}/v1", "expected 'llm:MODEL@http"),
        ("llm:tiny@http://one..two/v1", "expected 'llm:MODEL@http"),
        (f"llm:tiny@http://me:{SECRET}@127.0.0.1/v1", "no password"),
        (f"llm:tiny@http://127.0.0.1?key={SECRET}", "NAME of an environment variable"),
        (f"llm:tiny@http://127.0.0.1?{SECRET}", "unknown argument"),
        ("llm:tiny@http://127.0.0.1?max_tokens=0", "max_tokens: expected a whole number of 1"),
        ("llm:tiny@http://127.0.0.1?temperature=nan", "temperature: expected a number of 0 to 10"),
        ("llm:tiny@http://127.0.0.1?concurrency=1.5", "concurrency: expected a whole number"),
    ],
)
def test_malformed_specs_are_told_without_what_may_be_a_key(spec, told):
    with pytest.raises(InputError, match=told) as error:
        make_agent(spec, load_game("zaraba22"))
    assert SECRET not in str(error.value)


def test_models_may_have_signs_in_their_names():
    model, url, settings = parse_llm("llm:org/Model-1@v2@https://host:8000/v1?retries=0&timeout=9.5")
    assert (model, url, settings.retries, settings.timeout) == ("org/Model-1@v2", "https://host:8000/v1", 0, 9.5)


def plan_of(server: Server, deals: int = 3) -> Any:
    return make_plan(load_game("zaraba22", num_deals=1), [f"{server.spec}?pause=0.01&attempts=2", "greedy"], deals)


def test_a_server_that_dies_loses_no_deal_and_nothing_is_paid_twice(server, tmp_path):
    whole = play_arena(plan_of(server), tmp_path / "whole")
    asked = len(server.requests)
    assert asked > 50
    server.requests.clear()
    server.does = lambda number, request: fails(500) if asked // 2 < number < asked // 2 + 100 else None
    with pytest.raises(LLMError):
        play_arena(plan_of(server), tmp_path / "cut")
    paid = len((tmp_path / "cut" / FILE).read_text().splitlines())
    assert asked // 2 <= paid < asked
    with (tmp_path / "cut" / FILE).open("a") as file:
        file.write('{"key": "cut o')  # as a crash would
    kept = (tmp_path / "cut" / FILE).read_bytes()
    (tmp_path / "cut" / FILE).write_bytes(b"\xef\xbb\xbf" + kept)  # as an editor on Windows would
    server.does = lambda number, request: None
    server.requests.clear()
    resumed = play_arena(plan_of(server), tmp_path / "cut")
    assert len(server.requests) == asked - paid
    assert list(resumed.results.values()) == list(whole.results.values())
    (usage,) = usage_in(tmp_path / "cut").values()
    assert (usage.answers, usage.prompt_tokens) == (asked, 100 * asked)
    server.requests.clear()
    play_arena(plan_of(server), tmp_path / "cut")
    assert not server.requests


def test_the_command_says_tokens_seconds_and_bad_answers(server, tmp_path):
    from trick_envs.cli import app

    server.does = lambda number, request: "hm" if number == 5 else None
    file, spec = tmp_path / "result.json", f"{server.spec}?pause=0.01"
    arguments = ["evaluate", spec, "random", "--game", "zaraba22", "--deals", "2"]
    ran = CliRunner().invoke(app, [*arguments, "--folder", str(tmp_path / "arena"), "--json", str(file)])
    assert ran.exit_code == 0, ran.output
    asked = len(server.requests)
    told = json.loads(file.read_text())["language_models"][spec]
    assert told["answers"] == asked
    assert told["bad_answers"] == 1
    assert told["decisions"] == asked - 1
    assert told["share_of_bad_answers"] == pytest.approx(1 / asked, abs=1e-4)
    assert told["completion_tokens"] == 5 * asked
    assert f"{asked - 1:,} decisions" in " ".join(ran.output.split())


def test_a_model_plays_in_environments_and_its_copies_play_on(server):
    env = gymnasium.make("trick_envs/Zaraba22-v0", opponents=server.spec, seat=0, num_deals=1)
    env.reset(seed=2)
    env.step(int(np.flatnonzero(env.unwrapped.action_masks())[0]))
    assert server.requests
    agent, table = agent_of(server), games(1)
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert act(other, table).tolist() == last_cards(table)


def test_nothing_of_this_is_needed_to_import_the_package():
    code = "import sys, trick_envs, trick_envs.agents.llm, trick_envs.interfaces.text; print('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_benchmark_measures_margins_losses_and_bad_answers(server, tmp_path):
    from trick_envs.cli import app

    server.does = lambda number, request: "hm" if number == 3 else None
    spec, file = f"{server.spec}?pause=0.01", tmp_path / "rows.json"
    arguments = ["language-benchmark", spec, "random", "--game", "donguri", "--deals", "2", "--judged-deals", "1"]
    arguments += ["--num-players", "3", "--folder", str(tmp_path / "benchmark"), "--json", str(file)]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    asked, (model, other) = len(server.requests), json.loads(file.read_text())["rows"]
    assert (model["usage"]["answers"], model["usage"]["bad_answers"]) == (asked, 1)  # judging asks nothing again
    assert set(model["margins"]) == {"random", "greedy", "pretrained"}
    assert set(other["margins"]) == {"greedy", "pretrained"}
    assert other["usage"] is None
    for row in (model, other):
        kinds = {name: loss["decisions"] for name, loss in row["losses"].items()}
        assert kinds.pop("all") == sum(kinds.values()) > 20
        assert row["losses"]["all"]["mean"] > 0.1  # both play badly
    assert "| donguri-3 |" in (tmp_path / "benchmark" / "table.md").read_text()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0, again.output
    assert len(server.requests) == asked
    assert json.loads(file.read_text())["rows"] == [model, other]


@pytest.mark.parametrize("spec", ["random", "greedy", "search:10", "pretrained:sample"])
def test_the_benchmark_judges_the_deals_of_its_table(spec, tmp_path, monkeypatch):
    """Whoever comes first in a pair gets other random choices, and the arena ranks players by their files first."""
    from trick_envs.evaluation import language
    from trick_envs.evaluation.arena import make_plan, play_arena
    from trick_envs.evaluation.duplicate import margins_of, play_points
    from trick_envs.evaluation.seeds import Purpose

    plan, judged = make_plan(load_game("donguri", 3, 1), [spec, "pretrained"], 2, None, 0, Purpose.VALIDATION, True), []

    def noted(game, pair, *given):
        points = play_points(game, pair, *given)
        judged.append(([player.name for player in pair], margins_of(game, points)))
        return points

    standings = play_arena(plan, tmp_path / "arena", 1, lambda *_: None, None)
    monkeypatch.setattr(language, "play_points", noted)
    assert language.judge_decisions(plan, spec, 2, tmp_path, "pretrained+rollout:2")["all"].decisions > 10
    ((order, margins),) = judged
    margin = margins.mean() if order[0] == spec else -margins.mean()
    assert standings.results[spec, "pretrained"].margin == pytest.approx(margin)


@pytest.mark.parametrize("twice", [["greedy", "greedy"], ["greedy", "--game", "pepper", "--game", "pepper"]], ids=str)
def test_who_and_what_is_named_twice_in_the_benchmark_is_told(twice, tmp_path):
    from trick_envs.cli import app

    found = CliRunner().invoke(app, ["language-benchmark", *twice, "--folder", str(tmp_path)]).exception
    assert isinstance(found, InputError)
    assert str(found).startswith("named twice: ")
