"""OpenEnv: its own server, clients and validator, with our games in words."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

import gymnasium
import numpy as np
import pytest

pytest.importorskip("openenv")
import requests
import uvicorn
import yaml
from openenv.cli._validation import validate_multi_mode_deployment, validate_running_environment
from openenv.core.generic_client import GenericEnvClient
from test_interrupts import Stop, lines_in, lowest
from websockets.sync.client import connect

from trick_envs.cli.openenv import SPLITS
from trick_envs.errors import InputError
from trick_envs.evaluation.seeds import Purpose, match_seeds
from trick_envs.interfaces.openenv import CardAction, CardEnvironment, make_openenv_app

SESSIONS = 64


@pytest.fixture(scope="module")
def address():
    """A running server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = make_openenv_app("donguri", SPLITS, SESSIONS, 600.0, num_players=3, num_deals=1, opponents="greedy")
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()


def answer(observation, number=0):
    legal = observation["legal"]
    return {"answer": f"low cards first: <play>{legal[number % len(legal)]}</play>"}


async def match(address, **reset):
    """A match with their client: what was seen, and what was paid."""
    async with GenericEnvClient(base_url=address) as client:
        result, seen, paid = await client.reset(**reset), [], []
        while not result.done:
            seen.append(result.observation["text"])
            result = await client.step(answer(result.observation, len(seen)))
            paid.append(result.reward)
        return seen, paid, await client.state()


def test_their_client_plays_what_the_environment_of_text_plays(address):
    seen, paid, state = asyncio.run(match(address, seed=7))
    env = gymnasium.make("trick_envs/Donguri-text-v0", num_players=3, num_deals=1, opponents="greedy").unwrapped
    text, over, expected, rewards = env.reset(seed=7)[0], False, [], []
    while not over:
        expected.append(text)
        legal = [env.game.deck.names[kind] for kind in np.flatnonzero(env.action_masks())]
        text, reward, over, _, _ = env.step(answer({"legal": legal}, len(expected))["answer"])
        rewards.append(reward)
    assert (seen, paid) == (expected, rewards)
    assert (state["points"], state["step_count"], state["seat"], state["seed"]) == (sum(paid), len(paid), env.seat, 7)


def test_a_task_is_a_deal_of_its_split_and_its_seed_is_not_told(address):
    one, again, other = (
        asyncio.run(match(address, split=split, task=task))
        for split, task in (("validation", 3), ("validation", 3), ("test", 3))
    )
    assert one[:2] == again[:2]
    assert one[0] != other[0]
    env = gymnasium.make("trick_envs/Donguri-text-v0", num_players=3, num_deals=1, opponents="greedy")
    assert env.reset(seed=int(match_seeds(Purpose.VALIDATION, 0, 3, 1)[0]))[0] == one[0][0]
    assert (one[2]["split"], one[2]["task"], one[2]["seed"]) == ("validation", 3, None)


def test_a_seed_that_chance_chose_is_not_told(address):
    """From a seed every hidden card follows."""
    assert asyncio.run(match(address))[2]["seed"] is None


def test_as_many_sessions_as_allowed_play_at_once_and_do_not_mix(address):
    async def all_of_them():
        return await asyncio.gather(*(match(address, seed=number % 8) for number in range(SESSIONS)))

    found = asyncio.run(all_of_them())
    for number, (seen, paid, _) in enumerate(found):
        assert (seen, paid) == found[number % 8][:2]
    assert len({tuple(seen) for seen, _, _ in found}) == 8


def test_sessions_that_are_left_make_room_and_are_no_errors_of_the_server(address, monkeypatch):
    url, logged = address.replace("http", "ws") + "/ws", []
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "handle", logged.append)
    for _ in range(2):
        with ExitStack() as stack:
            left = [stack.enter_context(connect(url)) for _ in range(SESSIONS)]
            for session in left:
                session.send(json.dumps({"type": "reset", "data": {"seed": 1}}))
                assert json.loads(session.recv())["type"] == "observation"
            with connect(url) as late:
                assert json.loads(late.recv())["data"]["code"] == "CAPACITY_REACHED"
            for session in left:
                session.send(json.dumps({"type": "reset", "data": {"seed": 1}}))
                session.socket.shutdown(socket.SHUT_RDWR)  # nobody says good-bye, or waits for the answer
        until = time.monotonic() + 20
        while True:
            with connect(url) as session:
                session.send(json.dumps({"type": "state"}))
                if json.loads(session.recv())["type"] == "state":
                    break
            assert time.monotonic() < until
            time.sleep(0.1)
    assert asyncio.run(match(address, seed=2))[1]
    assert not logged


MALFORMED = [
    "no json", "[1]", '"x"', "{}", '{"type": "dance"}', '{"type": "step"}', '{"type": "step", "data": {}}',
    '{"type": "step", "data": {"answer": 3}}', '{"type": "step", "data": {"answer": "x", "more": 1}}',
    '{"type": "step", "data": {"answer": "<play>3C</play>"}}',
    *(
        json.dumps({"type": "reset", "data": data})
        for data in (
            {"seed": -1}, {"seed": "x"}, {"seed": 1.5}, {"seed": 2**80}, {"seed": True}, {"split": "validation"},
            {"split": "validation", "task": -1}, {"split": "test", "task": 2**24}, {"split": "test", "seed": 1},
            {"task": 1}, {"split": "secret"}, {"split": [1]}, {"episode_id": 4}, {"deal": 1},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("message", MALFORMED)
def test_a_malformed_message_is_answered_and_hurts_nobody(address, message):
    url = address.replace("http", "ws") + "/ws"
    with connect(url) as session:
        session.send(message)
        told = json.loads(session.recv())
        assert told["type"] == "error"
        assert told["data"]["message"]
        if message[:2] == '{"':
            session.send(json.dumps({"type": "reset", "data": {"seed": 1}}))
            assert json.loads(session.recv())["data"]["observation"]["legal"]


def test_a_bad_answer_is_told_and_counted(address):
    async def play():
        async with GenericEnvClient(base_url=address) as client:
            first = await client.reset(seed=1)
            return first.observation, (await client.step({"answer": "I pass"})).observation

    first, told = asyncio.run(play())
    assert told["problem"]
    assert told["problem"] in told["text"]
    assert (told["bad_answers"], told["decisions"], told["legal"]) == (1, 0, first["legal"])
    assert first["rules"]
    assert not told["rules"]


def test_http_answers_and_refuses_in_sentences(address):
    reset = requests.post(f"{address}/reset", json={"seed": 3}, timeout=20).json()
    assert "Legal:" in reset["observation"]["text"]
    step = requests.post(f"{address}/step", json={"action": {"answer": "<play>3C</play>"}}, timeout=20)
    assert step.status_code == 422
    assert "call reset() first" in step.json()["detail"]
    for body in ({"split": "secret"}, {"seed": "x"}, {"split": "test", "task": -1}):
        assert requests.post(f"{address}/reset", json=body, timeout=20).status_code == 422
    metadata = requests.get(f"{address}/metadata", timeout=20).json()
    assert metadata["name"] == "trick_envs-donguri"
    assert "wildcat" in metadata["readme_content"].lower()


def test_their_validator_finds_nothing(address):
    report = validate_running_environment(address)
    assert report["passed"], report["summary"]
    assert report["mode"] == "simulation"


def test_settings_that_no_environment_has_are_refused_before_anything_is_served():
    for settings, told in (
        ({"game": "peper"}, "there is no game 'peper': choose one of"),
        ({"game": "pepper", "opponents": "greedily"}, "greedily"),
        ({"game": "pepper", "splint": 1}, "unexpected keyword argument 'splint'"),
    ):
        with pytest.raises((InputError, TypeError), match=told):
            make_openenv_app(**settings)
    env = CardEnvironment("donguri", num_players=3, opponents="random")
    env.reset(seed=1)
    with pytest.raises(InputError, match="answer"):
        env.step(CardAction(answer="x" * 100_001))


def test_an_answer_that_is_interrupted_anywhere_is_in_the_state_or_asks_for_a_reset():
    env = CardEnvironment("donguri", num_players=3, num_deals=1, opponents=lowest)

    def call():
        env.step(CardAction(answer=card))

    card = env.reset(seed=1).legal[0]
    for at in range(0, lines_in(call), 67):
        card = env.reset(seed=1).legal[0]
        Stop(at).during(call)
        try:
            seen = env.step(CardAction(answer="nonsense"))
        except gymnasium.error.ResetNeeded:
            continue
        assert env.state.step_count == 1 + seen.decisions


def test_the_folder_of_the_example_is_in_their_layout():
    home = Path(__file__).parents[1] / "examples" / "openenv"
    _, issues = validate_multi_mode_deployment(home)
    assert issues == ["Missing uv.lock - run 'uv lock' to generate it"]  # it is made where it is deployed
    about = yaml.safe_load((home / "openenv.yaml").read_text())
    assert (about["spec_version"], about["app"], about["port"]) == (1, "server.app:app", 8000)
    needed = tomllib.loads((home / "pyproject.toml").read_text())["project"]["dependencies"]
    assert any(one.startswith("trick_envs[openenv]") for one in needed)
    assert "EXPOSE 8000" in (home / "server" / "Dockerfile").read_text()
    made = "import server.app; print(sorted(route.path for route in server.app.app.routes if hasattr(route, 'path')))"
    printed = subprocess.run([sys.executable, "-c", made], cwd=home, capture_output=True, text=True, check=True).stdout
    assert "/ws" in printed
    assert "/reset" in printed
