"""``trick serve``: what the server answers, to whom, and what it never tells."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import every_game, legal_of, look, random_positions

pytest.importorskip("starlette")
pytest.importorskip("onnxruntime")

from starlette.testclient import TestClient

from trick_envs.agents import make_agent
from trick_envs.agents.pretrained import pretrained_file
from trick_envs.engine.deal import Deal
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import PHASES
from trick_envs.errors import InputError
from trick_envs.matches.events import number_of_plays, play
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay
from trick_envs.matches.viewing import match_view
from trick_envs.play.hints import advisor_of
from trick_envs.play.players import Player, is_allowed
from trick_envs.play.review import duplicate
from trick_envs.play.saved import SavedGames
from trick_envs.play.session import Session, seated
from trick_envs.play.web import policies
from trick_envs.play.web.app import make_app
from trick_envs.play.web.export import replay_page
from trick_envs.play.web.frames import Snapshot, frame_data
from trick_envs.play.web.http import LOOPBACK
from trick_envs.play.web.replays import Replay
from trick_envs.play.web.server import allowed_hosts, unwritable
from trick_envs.play.web.sessions import Store, WebSession
from trick_envs.play.web.validation import MAX_BODY, MAX_GAMES, ApiError
from trick_envs.view import table_view

ADDRESS = "http://127.0.0.1:8000"


class Browser:
    """What a page of the server may send."""

    def __init__(self, folder: Path | None = None) -> None:
        app = make_app(folder=folder)
        self.pages = app.state
        self.client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=False)

    def get(self, path: str) -> Any:
        return self.client.get(f"/api{path}")

    def post(self, path: str, body: Any, **headers: str) -> Any:
        text = body if isinstance(body, (bytes, str)) else json.dumps(body)
        sent = {"origin": ADDRESS, "content-type": "application/json", **headers}
        return self.client.post(f"/api{path}", content=text, headers=sent)

    def deal(self, **asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new game: what the page knows of it, and its last frame."""
        reply = self.post("/games", {"opponents": "greedy", **asked})
        assert reply.status_code == 200, reply.text
        return reply.json()["game"], reply.json()["frames"][-1]

    def play(self, about: Any, frame: Any, kind: int) -> Any:
        body = {"number": frame["number"], "card": about["cards"][kind]["name"]}
        return self.post(f"/games/{about['id']}/plays", body)


@pytest.fixture(scope="module")
def browser():
    found = Browser()
    with found.client:  # one thread for all requests
        yield found


@pytest.fixture(scope="module")
def other_browser():
    found = Browser()
    with found.client:
        yield found


@pytest.fixture(scope="module")
def record():
    game = load_game("donguri", 3, 1)
    return play_match("donguri", dict.fromkeys(range(3), make_agent("greedy", game)), 4, 3, 1)


# --- play ---------------------------------------------------------------------------------------------------------


def test_the_bare_page_deals_pepper_against_the_trained_policy(browser):
    page = browser.client.get("/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    found = browser.post("/games", {}).json()
    assert found["game"]["name"] == "pepper"
    assert found["game"]["players"] == ["you", *["pretrained"] * 4]
    last = found["frames"][-1]
    assert last["yours"]
    assert set(last["legal"]) <= {*last["hand"], *last["places"].get("front", [])}
    assert [len(seat["hand"]) > 0 for seat in last["table"]["seats"]] == [True] * 5
    assert "svg" not in last


@every_game
def test_a_match_is_played_by_posts_alone(browser, name):
    """Each reply leads to the person's next decision; the record at the end is the match that was shown."""
    about, frame = browser.deal(game=name, num_deals=1)
    told = list(about["log"])
    while not about["over"]:
        assert frame["yours"]
        offered = {*frame["hand"], *(kind for kinds in frame["places"].values() for kind in kinds)}
        assert set(frame["legal"]) <= offered
        reply = browser.play(about, frame, frame["legal"][-1]).json()
        told += [shown["told"] for shown in reply["frames"] if shown["told"]]
        about, frame = {**about, **reply["game"]}, reply["frames"][-1]
        pauses = [shown["pause"] for shown in reply["frames"]]
        assert "deal" not in pauses[:-2]
    record = browser.get(f"/games/{about['id']}/record").json()
    assert replay(record).record() == record
    assert len(told) == len(record["deals"][0]["actions"])
    assert about["deals"] == [record["deals"][0]["score"]]
    assert about["seed"] == record["seed"]
    assert browser.play(about, frame, 0).status_code == 409


def test_the_finished_trick_is_shown_before_the_table_is_cleared(browser):
    about, frame = browser.deal(game="donguri", num_players=3, num_deals=2)
    for _ in range(3):
        reply = browser.play(about, frame, frame["legal"][0]).json()
        ends = [at for at, shown in enumerate(reply["frames"]) if shown["pause"]]
        assert ends
        shown = reply["frames"][ends[0]]
        assert shown["acting"] is None
        assert "the trick" in shown["prompt"]
        after = reply["frames"][ends[0] + 1]
        assert len(after["previous"]) == 3
        frame = reply["frames"][-1]


@every_game
def test_every_trick_is_shown_with_who_takes_it_also_when_a_choice_ends_it(name):
    rng, match = np.random.default_rng(2), Match(load_game(name, num_deals=1), 4)
    by_choice: list[bool] = []
    while not match.over:
        before = match_view(match, 0)
        view = play(match, int(rng.choice(legal_of(match.game, match.states)))).look(0)
        if "the trick" in view.prompt:
            by_choice.append(before.phase == "keep")
            assert len(view.trick) == match.game.num_players  # in Zaraba the other lead card lies on the chart now
            assert set(before.trick) >= set(view.trick[:-1])
            assert view.taking is not None
    assert sorted(match_view(match, 0).lying) == sorted(view.trick)  # so the last one still lies when the match is over
    assert len(by_choice) == match.states["tricks"][0]
    assert any(by_choice) == (name == "zaraba22")


def test_an_illegal_card_is_refused_with_the_rule_and_changes_nothing(browser):
    about, frame = browser.deal(seed=3)
    while len(frame["legal"]) >= len(frame["hand"]):
        frame = browser.play(about, frame, frame["legal"][0]).json()["frames"][-1]
    wrong = next(kind for kind in frame["hand"] if kind not in frame["legal"])
    reply = browser.play(about, frame, wrong)
    assert reply.status_code == 422
    assert "whoever has the led colour" in reply.json()["error"]
    told, names = reply.json()["error"], {card["name"] for card in about["cards"]}
    assert not names & set(re.findall(r"\w+", told)), told  # "3B" says nothing to whoever reads "青の3"
    assert told.startswith(f"you may not play {about['cards'][wrong]['words']}: ")
    assert told.endswith(f"now: {', '.join(about['cards'][kind]['words'] for kind in frame['legal'])}")
    assert browser.get(f"/games/{about['id']}").json()["frames"][-1]["number"] == frame["number"]
    assert browser.post(f"/games/{about['id']}/plays", {"number": frame["number"], "card": "99X"}).status_code == 422


def test_a_play_for_an_older_position_is_refused(browser):
    about, frame = browser.deal()
    assert browser.play(about, frame, frame["legal"][0]).status_code == 200
    again = browser.play(about, frame, frame["legal"][0])  # a second tab, or a second click
    assert again.status_code == 409
    assert browser.get(f"/games/{about['id']}/hint?number={frame['number']}").status_code == 409


def test_games_do_not_disturb_each_other_and_a_reload_goes_on(browser):
    tabs = [browser.deal(game="donguri", seat=seat, seed=seat) for seat in (0, 1, 2)]
    alone = [browser.deal(game="donguri", seat=seat, seed=seat) for seat in (0, 1, 2)]
    for _ in range(4):
        for at, (about, frame) in enumerate(tabs):
            assert browser.play(about, frame, frame["legal"][-1]).status_code == 200
            tabs[at] = about, browser.get(f"/games/{about['id']}").json()["frames"][-1]
    for (_, frame), (about, start) in zip(tabs, alone, strict=True):
        for _ in range(4):
            start = browser.play(about, start, start["legal"][-1]).json()["frames"][-1]
        assert {**frame, "told": "", "events": []} == {**start, "told": "", "events": []}


def test_hints_are_the_policys_and_the_searchs(browser):
    about, frame = browser.deal(seed=1)
    hint = browser.get(f"/games/{about['id']}/hint?number={frame['number']}").json()
    assert hint["sources"] == ["pretrained", "pretrained+rollout:128"]
    assert sorted(card["kind"] for card in hint["cards"]) == sorted(frame["legal"])
    assert sum(card["probability"] for card in hint["cards"]) == pytest.approx(1, abs=0.01)
    best = max(hint["cards"], key=lambda card: card["probability"])
    assert best["kind"] == hint["baseline"]
    assert hint["disagree"] == (hint["search"] != hint["baseline"])


@every_game
def test_the_guided_deal_says_in_every_step_what_is_possible_and_what_each_card_does(name, browser):
    """What is told of a card happens; and the deal shows every phase of the game to the person."""
    guide = browser.get(f"/guides/{name}").json()
    about, frame = browser.deal(**guide["learn"]) if guide["learn"] else browser.deal(game=name, num_deals=1)
    phases = set()
    while frame["yours"]:
        lesson = browser.get(f"/games/{about['id']}/lesson?number={frame['number']}").json()
        assert lesson["possible"].endswith(".")
        assert [card["kind"] for card in lesson["cards"]] == frame["legal"]
        phases.add(lesson["phase"])
        card = lesson["cards"][len(lesson["cards"]) // 2]
        reply = browser.play(about, frame, card["kind"]).json()
        told, frame = reply["frames"][0], reply["frames"][-1]
        for event in told["events"]:
            if event["event"] in ("trick", "change") and lesson["phase"] != "pick":
                assert event["text"] in card["words"]
    assert reply["game"]["over"]
    if guide["learn"]:
        declared = {PHASES[phase] for phase in load_game(name).type.phases}
        assert {when for page in guide["pages"] for when in page["when"]} >= declared
        assert phases >= {"lead", "follow"}


def test_a_lesson_is_for_the_decision_that_the_page_shows(browser):
    about, frame = browser.deal(game="zaraba22", num_deals=1)
    path = f"/games/{about['id']}/lesson?number="
    assert browser.get(f"{path}{frame['number'] + 1}").status_code == 409
    assert browser.get(f"{path}x").status_code == 400
    assert browser.get("/guides/chess").status_code == 404


def test_an_ended_match_opens_all_hands(browser):
    about, frame = browser.deal(game="donguri")
    assert browser.get(f"/games/{about['id']}/record").status_code == 409
    reply = browser.post(f"/games/{about['id']}/end", {}).json()
    assert reply["game"]["over"]
    assert "seed" in reply["game"]
    record = browser.get(f"/games/{about['id']}/record").json()
    assert replay(record).record() == record
    assert browser.play(about, frame, frame["legal"][0]).status_code == 409


def test_opponents_are_chosen_by_seat(browser):
    about, _ = browser.deal(game="donguri", num_players=4, seat=1, opponents=["greedy", "random", "pimc:5"])
    assert about["players"] == ["pimc:5", "you", "greedy", "random"]


def test_a_search_shrinks_while_many_games_want_to_move():
    player = Player("ismcts:1000", load_game("donguri"), 0)
    assert [player.act(busy).name for busy in (1, 2, 5, 50)] == [
        "ismcts:1000", "ismcts:250", "ismcts:62", "ismcts:62",
    ]  # fmt: skip


# --- several clients, players that fail, players that think long ------------------------------------------------------


class Opponent:
    """A player of a session: greedy, unless told to wait or to fail.

    Args:
        game: what it plays.
        before: is called before each of its choices.
    """

    def __init__(self, game: Any, before: Callable[[], object]) -> None:
        self._agent, self._before = make_agent("greedy", game), before

    def act(self, busy: int) -> Any:
        self._before()
        return self._agent


def web_session(match: Match, seat: int, *others: str) -> WebSession:
    return WebSession(Session(match, seated(seat, others), named=True))


def slow_game(browser: Browser, before: Callable[[], object], num_deals: int = 1) -> WebSession:
    """A game of Donguri for three on the server, in which seats 1 and 2 call ``before`` before they play."""
    game = load_game("donguri", 3, num_deals)
    played = web_session(Match(game, 5), 0, "greedy", "greedy")
    list(played.play_on(browser.pages.games.threads))
    played.session.agents = {seat: Opponent(game, before) for seat in (1, 2)}  # type: ignore[misc]
    played.session.players = ["person", "ismcts:1000", "ismcts:1000"]
    browser.pages.games.kept.put(played)
    return played


def first_legal(played: WebSession) -> dict[str, Any]:
    """A play of the person's."""
    game, match = played.session.game, played.session.match
    return {"number": number_of_plays(match), "card": game.deck.names[legal_of(game, match.states)[0]]}


def test_an_opponent_that_raises_leaves_its_seat_to_another_and_the_game_goes_on(browser, caplog):
    def fail() -> None:
        raise RuntimeError("out of worlds")

    played = slow_game(browser, fail)
    reply = browser.post(f"/games/{played.id}/plays", first_legal(played))
    assert reply.status_code == 200
    assert reply.json()["frames"][-1]["yours"]
    assert reply.json()["game"]["notice"].endswith("(ismcts:1000) failed (RuntimeError): greedy plays on for it")
    assert "out of worlds" in caplog.text
    about = browser.get(f"/games/{played.id}").json()
    assert about["game"]["players"] == ["you", "greedy", "greedy"]
    assert about["game"]["notice"]
    assert browser.post(f"/games/{played.id}/plays", first_legal(played)).json()["game"]["notice"] == ""


def test_an_opponent_that_plays_an_illegal_card_leaves_its_seat_to_another(browser):
    played = slow_game(browser, lambda: None)
    wrong = SimpleNamespace(act=lambda observations, masks, states: np.array([int(np.argmin(masks[0]))]))
    played.session.agents[1].act = lambda busy: wrong  # type: ignore[method-assign]
    reply = browser.post(f"/games/{played.id}/plays", first_legal(played)).json()
    assert "Ben (ismcts:1000) failed" in reply["game"]["notice"]
    assert reply["frames"][-1]["yours"]


def test_a_game_left_in_the_middle_of_others_plays_goes_on_when_it_is_looked_at(browser):
    """As after a failure of the server itself."""
    played = web_session(Match(load_game("donguri", 3, 1), 5), 0, "greedy", "greedy")
    played.session.match.step(legal_of(played.session.game, played.session.match.states)[0])
    assert int(played.session.match.states["seat"][0]) != 0
    browser.pages.games.kept.put(played)
    assert browser.get(f"/games/{played.id}").json()["frames"][-1]["yours"]


def test_a_failure_of_the_server_is_told_as_json(browser, monkeypatch):
    played = slow_game(browser, lambda: None)
    monkeypatch.setattr(played, "play_on", lambda load: 1 / 0)
    reply = browser.get(f"/games/{played.id}")
    assert reply.status_code == 500
    assert "ZeroDivisionError" in reply.json()["error"]


def test_slow_hints_keep_neither_files_nor_other_games_waiting(browser, monkeypatch):
    """60 of them: more than there are threads."""
    go_on, started = threading.Event(), threading.Event()

    def advise(states: Any) -> Any:
        started.set()
        assert go_on.wait(60)
        return SimpleNamespace(as_dict=dict)

    monkeypatch.setattr("trick_envs.play.session.advisor_of", lambda game: SimpleNamespace(advise=advise))
    monkeypatch.setattr("trick_envs.play.web.games.hint_data", lambda hint, game: {})
    played = slow_game(browser, lambda: None)
    number = number_of_plays(played.session.match)
    with ThreadPoolExecutor(64) as pool:
        hints = [pool.submit(browser.get, f"/games/{played.id}/hint?number={number}") for _ in range(60)]
        try:
            assert started.wait(30)
            time.sleep(0.3)  # the others are on their way
            assert browser.client.get("/static/play.js").status_code == 200
            assert browser.get(f"/games/{played.id}").status_code == 200
            assert browser.post(f"/games/{played.id}/plays", first_legal(played)).status_code == 200
            assert not any(hint.done() for hint in hints)
        finally:
            go_on.set()
        assert {hint.result().status_code for hint in hints} <= {200, 409}  # 409: asked after the play


def test_requests_that_wait_for_a_slow_player_take_no_threads_and_are_no_load(browser):
    """A reload of a game in which somebody thinks waits; it is no reason to shrink anybody's search."""
    go_on, thinks = threading.Event(), threading.Event()

    def think() -> None:
        thinks.set()
        assert go_on.wait(60)

    played = slow_game(browser, think)
    with ThreadPoolExecutor(64) as pool:
        first = pool.submit(browser.post, f"/games/{played.id}/plays", first_legal(played))
        try:
            assert thinks.wait(30)
            waiting = [pool.submit(browser.get, f"/games/{played.id}") for _ in range(30)]
            again = [pool.submit(browser.post, f"/games/{played.id}/plays", first_legal(played)) for _ in range(30)]
            time.sleep(0.3)
            assert browser.pages.games.threads.borrowed_tokens == 1
            about, frame = browser.deal(game="donguri", num_players=3)  # another game goes on meanwhile
            assert browser.play(about, frame, frame["legal"][0]).status_code == 200
        finally:
            go_on.set()
        assert first.result().status_code == 200
        assert {reply.result().status_code for reply in waiting} == {200}
        assert {reply.result().status_code for reply in again} == {409}
    assert browser.pages.games.threads.borrowed_tokens == 0


def test_two_clients_at_once_play_two_games_to_the_end(browser):
    def match(seed: int) -> list[Any]:
        about, frame = browser.deal(game="donguri", num_players=3, num_deals=1, seed=seed)
        while not about["over"]:
            reply = browser.play(about, frame, frame["legal"][0]).json()
            about, frame = {**about, **reply["game"]}, reply["frames"][-1]
        return [about["deals"], about["winners"]]

    alone = [match(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(match, range(4))) == alone


def test_of_two_clients_that_play_the_same_decision_one_is_refused(browser):
    for seed in range(6):
        about, frame = browser.deal(game="donguri", num_players=3, seed=seed)
        together = threading.Barrier(2)

        def play_it(about: Any = about, frame: Any = frame, together: Any = together) -> int:
            together.wait(30)
            return int(browser.play(about, frame, frame["legal"][0]).status_code)

        with ThreadPoolExecutor(2) as pool:
            assert sorted(each.result() for each in [pool.submit(play_it) for _ in range(2)]) == [200, 409]


def test_a_server_on_all_addresses_answers_to_every_one_of_them(monkeypatch):
    """On Debian the machine's own name is 127.0.1.1; on others it is nothing at all."""

    def unknown(*_: object) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    names = allowed_hosts("0.0.0.0")
    client = TestClient(make_app(hosts=names, any_address=True), base_url=ADDRESS)
    for host in ("192.168.7.9:8000", "10.0.0.3", "[fe80::1]:8000", socket.gethostname(), "localhost:8000"):
        assert client.get("/", headers={"host": host}).status_code == 200, host
    for host in ("evil.example", "192.168.7.9.evil.example", "1.2.3.4.5", "[evil]:80", "", "192.168.7.9:80:80"):
        assert client.get("/", headers={"host": host}).status_code == 400, host
    loopback = TestClient(make_app(), base_url=ADDRESS)
    assert loopback.get("/", headers={"host": "192.168.7.9:8000"}).status_code == 400


def test_a_policy_of_ones_own_is_an_opponent_in_its_game_alone(tmp_path):
    """The server is told of the file; a page can name no other."""
    file = tmp_path / "policy.onnx"
    file.write_bytes(pretrained_file(game_type("pepper"), 4).read_bytes())
    client = TestClient(make_app(policies=[file]), base_url=ADDRESS)
    assert client.get("/api/choices").json()["policies"] == [{"spec": str(file), "game": "pepper", "players": 4}]

    def asked(**body: Any) -> Any:
        return client.post("/api/games", json={"opponents": str(file), **body}, headers={"origin": ADDRESS})

    found = asked(game="pepper", num_players=4, seed=1)
    assert found.json()["game"]["players"] == ["you", *[str(file)] * 3]
    for body in ({"game": "pepper", "num_players": 5}, {"game": "donguri"}, {"opponents": f"{file}x"}):
        assert asked(**body).status_code == 400
    file.write_bytes(b"")
    with pytest.raises(ValueError, match=r"policy\.onnx: not a policy of trick_envs"):
        make_app(policies=[file])


def bring(browser: Browser, content: bytes) -> Any:
    return browser.post("/policies", content, **{"content-type": "application/octet-stream"})


def test_a_policy_that_a_browser_sends_is_an_opponent_also_after_a_restart(tmp_path):
    content = pretrained_file(game_type("donguri"), 3).read_bytes()
    first = Browser(tmp_path)
    told = bring(first, content).json()
    spec = told["spec"]
    assert told == {"spec": spec, "game": "donguri", "players": 3}
    assert spec == f"{hashlib.sha256(content).hexdigest()[:32]}.onnx"
    assert (tmp_path / "policies" / spec).read_bytes() == content
    assert bring(first, content).json() == told
    about, frame = first.deal(game="donguri", num_players=3, num_deals=1, opponents=["greedy", spec], seed=1)
    assert about["players"] == ["you", "greedy", spec]
    assert first.play(about, frame, frame["legal"][0]).json()["game"]["notice"] == ""
    for body in ({"game": "donguri", "num_players": 4}, {"game": "pepper"}):
        reply = first.post("/games", {"opponents": spec, **body})
        assert reply.status_code == 400
        assert "this policy plays donguri with 3 players" in reply.json()["error"]
    again = Browser(tmp_path)
    assert again.get(f"/games/{about['id']}").json()["game"]["players"] == about["players"]
    (tmp_path / "policies" / spec).unlink()
    assert again.post("/games", {"game": "donguri", "num_players": 3, "opponents": spec}).status_code == 410
    assert bring(again, content).json() == told  # once it was not written again
    assert again.post("/games", {"game": "donguri", "num_players": 3, "opponents": spec}).status_code == 200
    assert bring(again, b"").json()["error"].startswith("this file cannot play here: not a policy")  # "the file:" once


def test_what_is_wrong_with_a_file_is_said_in_the_language_of_the_page(tmp_path):
    browser = Browser(tmp_path)
    kind, japanese = "application/octet-stream", {"accept-language": "ja"}
    told = browser.post("/policies", b"no policy", **{"content-type": kind}, **japanese).json()["error"]
    assert "使えません。trick_envsのポリシーではないか" in told  # once the reason was in English alone
    assert "JSONとして読めません：2行目" in browser.post("/replays", b"{\n", **japanese).json()["error"]


def test_a_file_that_is_no_policy_is_refused_before_it_is_kept(tmp_path):
    browser, content = Browser(tmp_path), pretrained_file(game_type("donguri"), 3).read_bytes()
    for body, why in (
        (b"", "not a policy of trick_envs"), (b"MZ" + bytes(999), "not a policy of trick_envs"),
        (content[:-9], "damaged"), (content.replace(b"donguri", b"doppelk"), "doppelk"),
        (content.replace(b"Gemm", b"Loop"), "not a policy of trick_envs"),
    ):  # fmt: skip
        reply = bring(browser, body)
        assert reply.status_code == 422, reply.text
        assert why in reply.json()["error"]
        assert str(tmp_path) not in reply.text
    assert bring(browser, bytes(MAX_BODY + 1)).status_code == 413
    assert browser.post("/policies", content).status_code == 415
    foreign = {"origin": "http://evil.example", "content-type": "application/octet-stream"}
    assert browser.post("/policies", content, **foreign).status_code == 403
    for spec in (f"../policies/{'0' * 32}.onnx", f"{'0' * 31}.onnx", f"{'0' * 32}.onnx:sample"):
        assert browser.post("/games", {"opponents": spec}).status_code == 400, spec
    assert list(tmp_path.rglob("*")) == []
    assert bring(Browser(), content).status_code == 409


def test_one_browser_and_one_address_bring_a_few_policies_and_the_oldest_make_room(tmp_path, monkeypatch):
    for name, most in (("", 8), ("_OF_A_BROWSER", 2), ("_OF_AN_ADDRESS", 3)):
        monkeypatch.setattr(policies, f"MAX_POLICIES{name}", most)
    monkeypatch.setattr(policies, "made_for", lambda path, content=None: ("donguri", 3))
    monkeypatch.setattr(policies, "PolicyAgent", lambda path, game, content: None)
    one = Browser(tmp_path)
    brought = [bring(one, b"%d" % number).json()["spec"] for number in range(3)]
    kept = {file.name for file in (tmp_path / "policies").iterdir()}
    assert kept == set(brought[1:])
    for number in range(3, 7):  # other browsers at this address
        one.client.cookies.clear()
        brought.append(bring(one, b"%d" % number).json()["spec"])
    kept = {file.name for file in (tmp_path / "policies").iterdir()}
    assert kept == set(brought[4:])


def test_rules_are_told_in_the_language_that_a_browser_asks_for(browser):
    def goal(language: str) -> str:
        return browser.client.get("/api/guides/pepper", headers={"accept-language": language}).json()["goal"]

    japanese, english = goal("ja,en-US;q=0.9"), goal("en")
    assert "ペッパー" in japanese
    assert goal("JA-jp") == goal("ja;q=0.8") == japanese
    assert goal("") == goal("de-DE,ja;q=0.5") == goal("../ja") == goal("j" * 999) == english
    headers = {"accept-language": "ja"}
    told = browser.client.get("/api/choices", headers=headers).json()["games"]
    assert {one["name"]: one["language"] for one in told} == dict.fromkeys(game_names(), "ja")
    picture = browser.client.get("/guides/pepper/0.svg", headers=headers)
    assert "手札" in browser.client.get("/guides/pepper/1.svg", headers=headers).text
    assert "accept-language" in picture.headers["vary"].lower()


# --- games on disk ----------------------------------------------------------------------------------------------------


def test_games_come_back_after_a_restart_and_stand_in_a_list_of_their_browser(tmp_path):
    first = Browser(tmp_path)
    about, frame = first.deal(game="donguri", num_players=3, num_deals=1, seed=5)
    untouched, _ = first.deal(game="donguri")
    for _ in range(3):
        reply = first.play(about, frame, frame["legal"][0]).json()
        frame = reply["frames"][-1]
    again = Browser(tmp_path)  # the server after a restart, and the same browser
    again.client.cookies = first.client.cookies
    back = again.get(f"/games/{about['id']}").json()
    assert {**back["frames"][-1], "told": "", "events": []} == {**frame, "told": "", "events": []}
    assert back["game"]["log"] == first.get(f"/games/{about['id']}").json()["game"]["log"]
    assert back["game"]["players"] == about["players"]
    assert again.get(f"/games/{untouched['id']}").status_code == 200  # it can be begun, but is not listed
    (listed,) = again.get("/games").json()["games"]
    about = back["game"]
    assert (listed["id"], listed["title"]) == (about["id"], about["title"])
    assert (listed["over"], listed["winners"]) == (False, None)
    while not about["over"]:
        reply = again.play(back["game"], frame, frame["legal"][0]).json()
        about, frame = reply["game"], reply["frames"][-1]
    (listed,) = again.get("/games").json()["games"]
    assert (listed["over"], listed["winners"], listed["score"]) == (True, about["winners"], frame["scores"])
    third = Browser(tmp_path)
    record = third.get(f"/games/{back['game']['id']}/record").json()
    assert replay(record).record() == record
    assert record["players"] == ["person", "greedy", "greedy"]


def test_a_game_of_other_rules_is_listed_as_old_and_refused_without_a_failure(tmp_path):
    """Once it was offered to be continued, and a link to its cards was answered with 500."""
    found = Browser(tmp_path)
    about, _ = play_to_the_end(found, *found.deal(game="donguri", num_players=3, num_deals=1))
    path = found.post(f"/games/{about['id']}/share", {}).json()["path"]
    assert [one["old"] for one in found.get("/games").json()["games"]] == [False]
    file = next(tmp_path.glob(f"*/{about['id']}.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 99}))
    os.utime(file, ns=(1, 1))
    again = Browser(tmp_path)
    again.client.cookies = found.client.cookies
    assert [one["old"] for one in again.get("/games").json()["games"]] == [True]
    for reply in (
        again.get(f"/games/{about['id']}"),
        again.get(f"/games/{about['id']}/record"),
        again.post("/games", {"same": path.removeprefix("/same/")}),
    ):
        assert reply.status_code == 409
        assert "this is a record of version 99" in reply.json()["error"]


def test_what_another_server_has_saved_in_the_same_folder_is_listed_and_opened(tmp_path):
    """Once it was listed with Continue, and then there was no such game."""
    one, other = Browser(tmp_path), Browser(tmp_path)
    one.get("/games")
    other.client.cookies = one.client.cookies
    other.deal(game="donguri", num_players=3)  # it knows now which games there are
    about, frame = one.deal(game="donguri", num_players=3)
    assert one.play(about, frame, frame["legal"][0]).status_code == 200
    (listed,) = other.get("/games").json()["games"]
    assert other.get(f"/games/{listed['id']}").json()["game"]["id"] == about["id"]


def test_a_game_that_was_deleted_on_one_server_is_not_written_again_by_another(tmp_path, monkeypatch):
    one, other = Browser(tmp_path), Browser(tmp_path)
    about, frame = one.deal(game="donguri", num_players=3, num_deals=1, seed=5)
    address = f"/games/{about['id']}"
    frame = one.play(about, frame, frame["legal"][0]).json()["frames"][-1]
    assert other.get(address).status_code == 200
    choose = Session.choose

    def slowly(session, busy):  # meanwhile it is deleted
        one.post(f"{address}/delete", {})
        return choose(session, busy)

    monkeypatch.setattr(Session, "choose", slowly)
    assert "was deleted" in other.play(about, frame, frame["legal"][0]).json()["game"]["notice"]
    for asked in (address, f"{address}/stamp", f"{address}/deal"):
        assert other.get(asked).status_code == 404
    assert not list(tmp_path.glob("*/*.json"))


def test_a_game_that_is_open_on_two_servers_loses_no_card(tmp_path, monkeypatch):
    """Once each wrote its own copy over the other's."""
    one, other = Browser(tmp_path), Browser(tmp_path)
    about, frame = one.deal(game="donguri", num_players=3, num_deals=1, seed=5)
    address = f"/games/{about['id']}"
    stamp = other.get(address).json()["game"]["stamp"]
    (file,) = tmp_path.glob(f"*/{about['id']}.json")

    def cards():
        return [action for deal in json.loads(file.read_text())["deals"] for _, action in deal["actions"]]

    assert one.play(about, frame, frame["legal"][0]).status_code == 200
    longer = cards()
    assert other.get(f"{address}/stamp").json()["stamp"] != stamp  # a page that shows it asks what is new
    assert other.play(about, frame, frame["legal"][-1]).status_code == 409  # it was played already
    assert cards() == longer
    reply = other.get(address).json()
    assert reply["game"]["stamp"] == one.get(f"{address}/stamp").json()["stamp"]
    older = reply["frames"][-1]
    frame = other.play(about, older, older["legal"][0]).json()["frames"][-1]
    assert cards()[: len(longer)] == longer < cards()
    assert one.post(f"{address}/back", {"number": older["number"]}).status_code == 409
    assert one.post(f"{address}/back", {"number": frame["number"]}).status_code == 200
    assert cards() == longer
    older = other.get(address).json()["frames"][-1]
    choose = Session.choose

    def meanwhile(session, busy):
        monkeypatch.setattr(Session, "choose", choose)
        assert one.play(about, older, older["legal"][0]).status_code == 200
        return choose(session, busy)

    monkeypatch.setattr(Session, "choose", meanwhile)
    assert other.play(about, older, older["legal"][-1]).status_code == 409  # both had begun at the same card
    monkeypatch.setattr(Session, "choose", choose)
    assert other.get(address).json()["game"]["log"] == one.get(address).json()["game"]["log"]


def test_that_there_is_no_room_for_a_browser_is_told_that_browser_alone(tmp_path, monkeypatch):
    """Once nobody was told; and that a game could not be saved, everybody was told until the next card of anybody."""
    one, other = Browser(tmp_path), Browser(tmp_path)
    other.client = TestClient(one.client.app, base_url=ADDRESS)  # of one server
    one.deal(game="donguri", num_players=3)
    monkeypatch.setattr("trick_envs.play.saved.MOST_IN_ALL", 1)
    about, frame = other.deal(game="donguri", num_players=3)
    assert "is not saved (there are too many games here)" in about["notice"]
    assert other.get("/games").json()["kept"] is False
    assert one.get("/games").json()["kept"] is True
    reply = other.play(about, frame, frame["legal"][0]).json()
    assert reply["game"]["notice"] == ""  # it was told
    assert one.get("/games").json()["kept"] is True
    assert other.get("/games").json()["kept"] is False


def test_a_game_of_another_browser_is_neither_listed_nor_deleted(tmp_path):
    one, other = Browser(tmp_path), Browser(tmp_path)
    about, frame = one.deal(game="donguri", num_players=3)
    assert one.play(about, frame, frame["legal"][0]).status_code == 200
    assert other.get("/games").json() == {"games": [], "kept": True}
    assert other.post(f"/games/{about['id']}/delete", {}).status_code == 404
    assert other.post("/games/..%2f..%2fx/delete", {}).status_code == 404
    assert len(one.get("/games").json()["games"]) == 1
    secret = one.client.cookies["trick_envs_browser"]
    assert len(secret) == 22
    assert not any(secret in str(path) or secret in path.read_text() for path in tmp_path.glob("*/*"))
    assert one.post(f"/games/{about['id']}/delete", {}).status_code == 200
    assert one.get("/games").json() == {"games": [], "kept": True}
    assert one.get(f"/games/{about['id']}").status_code == 404
    assert not list(tmp_path.glob("*/*"))


def test_a_cookie_is_set_once_and_not_for_pictures(tmp_path):
    found = Browser(tmp_path)
    assert "set-cookie" not in found.client.get("/static/play.js").headers
    cookie = found.client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "set-cookie" not in found.client.get("/").headers
    found.client.cookies = {"trick_envs_browser": "../../../../etc"}
    assert "set-cookie" in found.client.get("/").headers


def test_a_damaged_file_is_left_out_of_the_list_and_said_when_it_is_opened(tmp_path, caplog):
    found = Browser(tmp_path)
    names = []
    for _ in range(2):
        about, frame = found.deal(game="donguri", num_players=3)
        found.play(about, frame, frame["legal"][0])
        names.append(about["id"])
    next(tmp_path.glob(f"*/{names[0]}.json")).write_text('{"game": "donguri"')
    again = Browser(tmp_path)
    again.client.cookies = found.client.cookies
    assert [one["id"] for one in again.get("/games").json()["games"]] == [names[1]]
    assert f"{names[0]}.json is no saved game" in caplog.text
    reply = again.get(f"/games/{names[0]}")
    assert reply.status_code == 409
    assert "not saved by trick play" in reply.json()["error"]
    assert str(tmp_path) not in reply.text  # which is told a stranger, too


@pytest.mark.parametrize(
    "wrong",
    [{"score": [float("nan")] * 3}, {"score": "abc"}, {"num_players": 3.0}, {"winners": {}}, {"taken_back": []},
     {"winners": [7]}, {"num_deals": float("inf")}],
    ids=str,
)  # fmt: skip
def test_a_saved_game_with_edited_numbers_is_left_out_of_the_list(tmp_path, wrong):
    """JSON of a page has no NaN: one such file, and the whole list was an error."""
    found = Browser(tmp_path)
    about, frame = found.deal(game="donguri", num_players=3)
    found.play(about, frame, frame["legal"][0])
    file = next(tmp_path.glob(f"*/{about['id']}.json"))
    assert len(found.get("/games").json()["games"]) == 1
    file.write_text(json.dumps({**json.loads(file.read_text()), **wrong}))
    os.utime(file, ns=(1, 1))
    assert found.get("/games").json() == {"games": [], "kept": True}


def test_what_is_no_file_is_no_saved_game(tmp_path):
    found = Browser(tmp_path)
    about, frame = found.deal(game="donguri", num_players=3)
    found.play(about, frame, frame["legal"][0])
    own = next(tmp_path.glob(f"*/{about['id']}.json")).parent
    (own / "folder000000.json").mkdir()
    (own / "circle000000.json").symlink_to("circle000000.json")
    if hasattr(os, "mkfifo"):
        os.mkfifo(own / "waits0000000.json")  # nobody writes into it
    assert [one["id"] for one in found.get("/games").json()["games"]] == [about["id"]]


@pytest.mark.parametrize(
    "text", ["[]", "{}", "null", '{"first": 3, "games": []}', '{"first": "a", "games": [[]]}', "{"]
)
def test_a_damaged_link_to_the_same_cards_leads_nowhere(tmp_path, text):
    games = SavedGames(tmp_path)
    name = games.share("a" * 12)
    assert games.shared(name) == ["a" * 12]
    next(tmp_path.glob("same/*")).write_text(text)
    assert games.shared(name) == []
    assert games.results(name, "") == []


def test_the_game_left_longest_ago_makes_room(tmp_path, monkeypatch):
    monkeypatch.setattr("trick_envs.play.saved.MOST", 3)
    found, names = Browser(tmp_path), []
    for number in range(5):
        about, frame = found.deal(game="donguri", num_players=3)
        found.play(about, frame, frame["legal"][0])
        names.append(about["id"])
        os.utime(next(tmp_path.glob(f"*/{about['id']}.json")), (number, number))
    assert [one["id"] for one in found.get("/games").json()["games"]] == names[:1:-1]


def play_to_the_end(browser: Browser, about: Any, frame: Any, choice: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The game and its last frame."""
    while not about["over"]:
        reply = browser.play(about, frame, frame["legal"][choice]).json()
        about, frame = {**about, **reply["game"]}, reply["frames"][-1]
    return about, frame


def test_a_friend_plays_the_same_cards_and_both_scores_stand_beside_each_other(tmp_path):
    one, friend = Browser(tmp_path), Browser(tmp_path)
    about, frame = one.deal(game="donguri", num_players=3, num_deals=2, seat=1, opponents=["random", "greedy"])
    assert one.post(f"/games/{about['id']}/share", {}).status_code == 409  # it is not over
    mine, my_end = play_to_the_end(one, about, frame)
    path = one.post(f"/games/{about['id']}/share", {}).json()["path"]
    assert one.post(f"/games/{about['id']}/share", {}).json()["path"] == path
    assert friend.client.get(path).status_code == 200
    first = friend.post("/games", {"same": path.removeprefix("/same/")}).json()
    theirs, start = first["game"], first["frames"][-1]
    assert theirs["id"] != about["id"]
    assert (theirs["seat"], theirs["players"], theirs["num_deals"]) == (1, about["players"], 2)
    assert {**start, "told": "", "events": []} == {**frame, "told": "", "events": []}
    assert "others" not in theirs
    assert about["id"] not in json.dumps(first)
    theirs, end = play_to_the_end(friend, theirs, start, -1)
    assert theirs["others"] == [{"first": True, "score": my_end["scores"]}]
    records = [found.get(f"/games/{game['id']}/record").json() for found, game in ((one, mine), (friend, theirs))]
    assert [deal["hands"] for deal in records[0]["deals"]] == [deal["hands"] for deal in records[1]["deals"]]
    again = Browser(tmp_path)  # after a restart
    assert again.get(f"/games/{mine['id']}").json()["game"]["others"] == [{"first": False, "score": end["scores"]}]
    again.client.cookies = one.client.cookies
    assert again.post(f"/games/{mine['id']}/delete", {}).status_code == 200
    gone = friend.post("/games", {"same": path.removeprefix("/same/")})
    assert gone.status_code == 404
    assert "deleted" in gone.json()["error"]
    for name in ("x", "../same/x", "x" * 12):
        assert friend.post("/games", {"same": name}).status_code == 404


def test_a_link_to_the_same_cards_tells_nothing_of_them(tmp_path):
    """Two worlds that look alike to the seat: through a link they begin with equal bytes, but for the game's id."""
    game, rng = load_game("donguri", 3, 1), random.Random(1)
    replies, changed = [], 0
    match = Match(game, 5)
    seat, order = match.seat, [int(card) for card in match.deals[0].order]
    hidden = [at for at in range(game.deck.size) if at // game.hand_size != seat]
    while not changed:
        left, right = rng.sample(hidden, 2)
        changed = left // game.hand_size != right // game.hand_size
    swapped = list(order)
    swapped[left], swapped[right] = order[right], order[left]
    for number, cards in enumerate((order, swapped)):
        found = Browser(tmp_path / str(number))
        played = WebSession(
            Session(Match(game, 5, [Deal(match.deals[0].dealer, tuple(cards))]), seated(seat, ["greedy"] * 2))
        )
        assert found.pages.games.saved is not None
        played.session.file = found.pages.games.saved.file_for("somebody", played.id)
        while not played.session.over:
            played.session.play(played.session.choose() if not played.session.asks else played.session.view().legal[0])
        found.pages.games.kept.put(played)
        path = found.post(f"/games/{played.id}/share", {}).json()["path"]
        reply = found.post("/games", {"same": path.removeprefix("/same/")})
        name = reply.json()["game"]["id"]
        replies.append(reply.text.replace(name, "ID"))
        replies.append(found.get(f"/games/{name}/hint?number=0").text)
    assert '"yours":true' in replies[0]
    assert replies[:2] == replies[2:]


def test_a_card_is_taken_back_and_the_others_answer_the_same_card_alike(browser):
    about, frame = browser.deal(game="donguri", num_players=3, num_deals=1, seed=5, opponents="random")
    assert browser.post(f"/games/{about['id']}/back", {"number": frame["number"]}).status_code == 409
    first = browser.play(about, frame, frame["legal"][0]).json()
    after = first["frames"][-1]
    assert browser.post(f"/games/{about['id']}/back", {"number": frame["number"]}).status_code == 409  # a stale tab
    assert browser.get(f"/games/{about['id']}/stamp").json()["stamp"] == first["game"]["stamp"]
    reply = browser.post(f"/games/{about['id']}/back", {"number": after["number"]}).json()
    assert {**reply["frames"][-1], "told": "", "events": []} == {**frame, "told": "", "events": []}
    assert reply["game"]["log"] == about["log"]
    assert reply["game"]["taken_back"] == 1
    stamp = browser.get(f"/games/{about['id']}/stamp").json()["stamp"]
    assert stamp == reply["game"]["stamp"] != first["game"]["stamp"]
    again = browser.play(about, frame, frame["legal"][0]).json()
    assert again["frames"] == first["frames"]
    browser.post(f"/games/{about['id']}/end", {})
    assert browser.get(f"/games/{about['id']}/record").json()["taken_back"] == 1
    number = again["frames"][-1]["number"]
    assert browser.post(f"/games/{about['id']}/back", {"number": number}).status_code == 409  # all hands are open


def test_advice_is_for_the_position_and_not_for_the_number_of_plays():
    """After a card is taken back, another card leads to another position with the same number of plays."""
    game = load_game("donguri", 3, 1)
    played = Session(Match(game, 5), seated(0, ["greedy", "greedy"]))

    def to_the_person() -> None:
        while not played.asks:
            played.play(played.choose())

    to_the_person()
    advised: dict[int, Any] = {}
    for kind in legal_of(game, played.match.states):
        played.play(kind)
        to_the_person()
        legal, number = legal_of(game, played.match.states), played.number
        assert [card.kind for card in played.question().hint.cards] == legal
        if advised.setdefault(number, legal) != legal:
            break
        played.take_back()
    else:
        raise AssertionError("no two positions with the same number of plays")


# --- what once went wrong --------------------------------------------------------------------------------------------


def test_where_nothing_can_be_saved_the_game_goes_on_and_the_page_says_so_once(tmp_path):
    """Once every card was answered with 500, though it had been played."""
    (tmp_path / "file").write_text("")
    found = Browser(tmp_path / "file" / "games")  # a folder below a file cannot be made, whoever one is
    assert unwritable(tmp_path / "file" / "games")
    assert unwritable(tmp_path / "new") == ""
    about, frame = found.deal(game="donguri", num_players=3, num_deals=1)
    assert "is not saved" in about["notice"]
    assert str(tmp_path) not in about["notice"]  # which is told a stranger, too
    notices = []
    while not about["over"]:
        reply = found.play(about, frame, frame["legal"][0])
        assert reply.status_code == 200
        about, frame = {**about, **reply.json()["game"]}, reply.json()["frames"][-1]
        notices.append(about["notice"])
    assert set(notices) == {""}
    assert found.post(f"/games/{about['id']}/share", {}).status_code == 409
    assert found.post(f"/games/{about['id']}/delete", {}).status_code == 404
    assert found.get("/games").json() == {"games": [], "kept": False}


def test_a_folder_that_may_not_be_entered_holds_nothing_and_the_page_says_why(tmp_path):
    """Once the server did not start: ``[Errno 13] Permission denied``."""
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        if os.access(closed, os.X_OK):
            pytest.skip("whoever runs this may enter every folder")
        for folder in (closed, closed / "share" / "games"):
            found = Browser(folder)
            about, frame = found.deal(game="donguri", num_players=3, num_deals=1)
            assert "is not saved" in about["notice"]
            assert "Permission denied" in about["notice"]
            assert found.play(about, frame, frame["legal"][0]).status_code == 200
            assert found.get("/games").json() == {"games": [], "kept": False}
            assert found.post(f"/games/{about['id']}/delete", {}).status_code == 404
            assert found.post("/games", {"same": "abcdefghijkl"}).status_code == 404
    finally:
        closed.chmod(0o700)


def test_what_was_saved_is_what_the_page_has_shown(tmp_path):
    """Once only the person's own card was saved: after a restart the page showed an older position."""
    found = Browser(tmp_path / "games")
    about, frame = found.deal(game="donguri", num_players=3)
    for number in range(2):
        frame = found.play(about, frame, frame["legal"][0]).json()["frames"][-1]
        again = Browser(
            shutil.copytree(tmp_path / "games", tmp_path / f"{number}")
        )  # the first server's stay as they are
        assert again.play(about, frame, frame["legal"][0]).status_code == 200


def test_a_play_that_fails_in_the_middle_has_not_happened(monkeypatch):
    played = Session(Match(load_game("donguri", 3, 1), 5), seated(0, ["greedy", "greedy"]))
    while not played.asks:
        played.play(played.choose())
    before, log = played.match.record(), list(played.log)

    def fail(*_: object) -> str:
        raise MemoryError

    with monkeypatch.context() as failing:
        failing.setattr("trick_envs.play.session.told_of", fail)
        with pytest.raises(MemoryError):
            played.play(played.view().legal[0])
    assert (played.match.record(), played.log) == (before, log)
    with pytest.raises(ValueError, match="does not have"):
        played.play(next(kind for kind in range(played.game.num_actions) if kind not in played.view().seats[0].hand))
    played.play(played.view().legal[0])
    assert len(played.log) == len(log) + 1


def test_answers_are_compressed(browser):
    reply = browser.post("/games", {"game": "pepper", "opponents": "greedy"})
    assert reply.headers["content-encoding"] == "gzip"
    assert int(reply.headers["content-length"]) < 0.35 * len(reply.content)
    assert "content-encoding" not in browser.post("/games", {"game": 3}).headers  # too short


def test_a_dead_link_leads_to_a_page_and_the_api_answers_with_json(browser):
    for path in ("/nonsense", "/game/", "/cards/pepper/5/x/y"):
        reply = browser.client.get(path, headers={"accept": "text/html,*/*"})
        assert (reply.status_code, reply.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert all(f'href="{link}"' in reply.text for link in ("/", "/static/icon.svg"))
        assert browser.client.get(path).json()["error"]
    for path in ("/game/nothing", "/replay/nothing", "/watch/nothing"):  # the page says it
        assert browser.client.get(path, headers={"accept": "text/html"}).status_code == 200
        assert browser.get(path.replace("game", "games").replace("replay", "replays")).status_code == 404


def test_a_refused_host_is_told_how_to_be_allowed():
    client = TestClient(make_app(hosts=[*LOOPBACK, "table.example"]), base_url=ADDRESS)
    assert client.get("/", headers={"host": "table.example"}).status_code == 200
    assert client.get("/", headers={"host": "TABLE.example:443"}).status_code == 200
    refused = client.get("/", headers={"host": "other.example:80"})
    assert refused.status_code == 400
    assert "trick serve --allowed-host other.example" in refused.text
    assert "<" not in client.get("/", headers={"host": "<script>"}).text


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C reaches a process of its own only with a console there")
@pytest.mark.parametrize("reads", [False, True])
def test_a_server_ends_with_ctrl_c_whoever_is_still_sending_or_reading(tmp_path: Path, reads: bool) -> None:
    command = [sys.executable, "-um", "trick_envs.cli", "serve", "--port", "0", "--no-browser", "--folder", tmp_path]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    try:
        assert server.stdout is not None
        port = int(re.findall(r":(\d+)/", server.stdout.readline().decode())[0])
        host = f"Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(60)
            client.connect(("127.0.0.1", port))
            client.sendall(f"GET /api/nothing HTTP/1.1\r\n{host}\r\n".encode())
            assert client.recv(1) == b"H"  # it runs
            if reads:  # but not all that it has asked for, and more than fits on the way
                client.sendall(f"GET /static/style.css HTTP/1.1\r\n{host}\r\n".encode() * 300)
            else:  # and has not sent all that it has promised
                kind = "Content-Type: application/json\r\nContent-Length: 100\r\n"
                client.sendall(f"POST /api/games HTTP/1.1\r\n{host}{kind}\r\n{{".encode())
            time.sleep(2)  # then the server waits
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
            assert not errors, errors.decode()
        assert server.returncode == 130
    finally:
        server.kill()


def test_a_link_to_watch_shows_what_the_person_sees_and_plays_nothing(tmp_path):
    found, friend = Browser(tmp_path), Browser(tmp_path)
    about, frame = found.deal(game="donguri", num_players=3, num_deals=1)
    path = found.post(f"/games/{about['id']}/watch", {}).json()["path"]
    frame = found.play(about, frame, frame["legal"][0]).json()["frames"][-1]
    reply = friend.get(path)  # of a server after a restart, too
    watched = reply.json()
    assert {**watched["frames"][-1], "told": "", "events": []} == {**frame, "told": "", "events": []}
    assert watched["game"]["watching"]
    assert about["id"] not in reply.text
    assert friend.get(f"{path}/stamp").status_code == 200
    name = path.removeprefix("/watch/")
    assert friend.post(f"/games/{name}/plays", {"number": frame["number"], "card": "3C"}).status_code == 404
    assert friend.get(f"/games/{name}").status_code == 404
    assert friend.post(f"{path}/plays", {}).status_code in (404, 405)


def test_one_list_says_which_players_a_page_or_a_record_may_name(record):
    """Once a review broke at ``ismcts:0``, and a match against ``best`` was not compared with the policy."""
    for spec in ("pretrained+rollout:64", "ismcts:5000", "greedy"):
        assert is_allowed(spec)
    for spec in ("ismcts:0", "ismcts:5001", "a.onnx", "os:system", "", None, 3, ["greedy"]):
        assert not is_allowed(spec)
    for spec, compared in (("greedy", True), ("ismcts:0", False)):
        match = replay({**record, "players": ["person", spec, "random"]})
        assert (duplicate(match, "greedy") is not None) == compared


def test_a_review_that_nobody_can_ask_for_any_more_stops(browser, record, monkeypatch):
    steps: list[int] = []

    def slowly(match: Any, seat: int, seconds: Any, on_progress: Any) -> dict[str, Any]:
        for number in range(1000):
            steps.append(number)
            on_progress(number, 1000)
            time.sleep(0.01)
        return {}

    monkeypatch.setattr("trick_envs.play.web.replays.review_data", slowly)
    name = browser.post("/replays", record).json()["id"]
    browser.post(f"/replays/{name}/review", {})
    until(lambda: len(steps) > 3)
    job = browser.pages.replays.kept.get(name).job
    browser.pages.replays.kept.drop(name)
    until(lambda: job.state == "failed")
    assert len(steps) < 1000


def test_a_retry_says_how_much_better_the_other_card_is_and_how_far_from_the_best(browser):
    """The figures are those of the review, in the same worlds."""
    game = load_game("donguri", 3, 1)
    agents = {0: make_agent("random", game, 3), 1: make_agent("greedy", game), 2: make_agent("greedy", game)}
    lost = play_match("donguri", agents, 4, 3, 1)
    found = Replay(lost)
    found.job.run(0)
    assert found.job.result is not None
    worst = max(found.job.result["decisions"], key=lambda one: one["loss"] or 0.0)
    step = next(at for at, one in enumerate(found.steps) if one.number == worst["number"] and not one.ended)
    best = found.retry(step, worst["best"])
    assert best["best"]
    assert (best["gain"], best["short"]) == (pytest.approx(worst["loss"], abs=0.02), 0.0)
    same = found.retry(step, worst["played"])
    assert same["same"]
    assert same["short"] == worst["loss"]
    name = browser.post("/replays", lost).json()["id"]
    card = game.deck.names[worst["best"]]
    reply = browser.post(f"/replays/{name}/retries/{step}", {"card": card})
    assert reply.json()["gain"] == best["gain"]
    illegal = next(kind for kind in range(game.num_actions) if kind not in [one["kind"] for one in worst["cards"]])
    for body in ({}, {"card": "99X"}, {"card": game.deck.names[illegal]}):
        assert 400 <= browser.post(f"/replays/{name}/retries/{step}", body).status_code < 500
    last = len(found.steps) - 1
    assert browser.post(f"/replays/{name}/retries/{last}", {"card": card}).status_code == 422


# --- what a seat may not know ---------------------------------------------------------------------------------------


class Scripted:
    """A player of a session that plays the lowest legal card but two, if it can."""

    def __init__(self, game: Any, changed: set[int]) -> None:
        self.game, self.changed = game, changed

    def act(self, busy: int) -> Any:
        return SimpleNamespace(act=lambda observations, masks, states: np.array([self.choose(states)]))

    def choose(self, states: Any) -> int:
        legal = legal_of(self.game, states)
        return next((kind for kind in legal if kind not in self.changed), legal[0])


def twin_matches(game: Any, rng: random.Random) -> Any:
    """Two matches, some plays in, that look alike to the seat to act, and differ in two cards that it does not see."""
    match, deck = Match(game, rng.randrange(10**6)), game.deck
    for _ in range(rng.randrange(1, 24)):
        match.step(rng.choice(legal_of(game, match.states)))
    actions, order = [action for _, action in match.deals[0].actions], [int(card) for card in match.deals[0].order]
    seat = int(match.states["seat"][0])
    own = range(seat * game.hand_size, (seat + 1) * game.hand_size)
    hidden = [at for at in range(deck.size) if deck.kind(order[at]) not in actions and at not in own]
    for _ in range(20):
        one, other = rng.sample(hidden, 2)
        kinds = {deck.kind(order[one]), deck.kind(order[other])}
        swapped = list(order)
        swapped[one], swapped[other] = order[other], order[one]
        twin = Match(game, match.seed, [Deal(match.deals[0].dealer, tuple(swapped))])
        try:
            for action in actions:
                twin.step(action)
        except ValueError:
            continue
        alike = look(game, match.states, seat) == look(game, twin.states, seat)
        if alike and len(kinds) == 2 and match.states["hand"].tobytes() != twin.states["hand"].tobytes():
            return match, twin, seat, kinds
    return None


@every_game
def test_every_response_is_the_same_in_twin_worlds(name, browser, other_browser):
    """Views, reloads, hints, refusals and the plays that follow: equal bytes, whatever the others hold."""
    game, rng, compared, played = load_game(name, num_deals=2), random.Random(1), 0, 0
    both = [browser, other_browser]
    while compared < 6 or played < 3:
        found = twin_matches(game, rng)
        if found is None:
            continue
        *worlds, seat, changed = found
        for world, one in zip(worlds, both, strict=True):
            played_by = web_session(world, seat, *["greedy"] * (game.num_players - 1))
            played_by.id = "twin"
            played_by.session.agents = dict.fromkeys(range(game.num_players), Scripted(game, changed))  # type: ignore
            one.pages.games.kept.put(played_by)
        number = len(worlds[0].deals[0].actions)
        legal, card = legal_of(game, worlds[0].states), game.deck.names
        if compared < 3:
            same(both, "get", f"/games/twin/hint?number={number}")
        same(both, "get", "/games/twin")
        same(both, "get", "/games/twin/stamp")
        same(both, "get", "/games/twin/deal")
        same(both, "get", f"/games/twin/lesson?number={number}")
        same(both, "get", "/games/twin/record")
        for kind in rng.sample(range(game.num_actions), 4):
            if kind not in legal:
                same(both, "post", "/games/twin/plays", {"number": number, "card": card[kind]})
        same(both, "post", "/games/twin/plays", {"number": number + 1, "card": card[legal[0]]})
        body = {"number": number, "card": card[rng.choice(legal)]}
        one, other = (each.post("/games/twin/plays", body).content for each in both)
        same_plays = worlds[0].deals[0].actions == worlds[1].deals[0].actions and len(worlds[0].deals) == 1
        if same_plays and look(game, worlds[0].states, seat) == look(game, worlds[1].states, seat):
            assert one == other
            same(both, "get", "/games/twin")
            back = {"number": number_of_plays(worlds[0])}
            if browser.pages.games.kept.get("twin").session.asks:
                same(both, "post", "/games/twin/back", back)
            played += 1
        compared += 1


def same(browsers: list[Browser], method: str, *asked: Any) -> None:
    one, other = (getattr(each, method)(*asked) for each in browsers)
    assert one.status_code == other.status_code
    assert one.content == other.content


def test_the_seed_is_told_only_when_the_match_is_over(browser):
    """It fixes every hand of the match."""
    about, frame = browser.deal(game="donguri", seed=987654321, num_deals=1)
    while not about["over"]:
        for text in (
            browser.get(f"/games/{about['id']}").text,
            browser.get(f"/games/{about['id']}/hint?number={frame['number']}").text,
            browser.get(f"/games/{about['id']}/record").text,
        ):
            assert "987654321" not in text
        reply = browser.play(about, frame, frame["legal"][0])
        about, frame = {**about, **reply.json()["game"]}, reply.json()["frames"][-1]
        assert ("987654321" in reply.text) == about["over"]


def test_a_passed_card_is_told_to_nobody_else(browser):
    about, frame = browser.deal(game="tricky_express")
    told = [line for line in about["log"] if not line.startswith("You")]
    while frame["number"] < 16:  # two exchanges, each with both neighbours
        reply = browser.play(about, frame, frame["legal"][0]).json()
        told += [shown["told"] for shown in reply["frames"] if shown["told"] and not shown["told"].startswith("You")]
        frame = reply["frames"][-1]
    passed = [line for line in told if "passes" in line]
    assert passed
    assert all(line.endswith("passes a card") for line in passed)


def test_a_game_that_goes_on_has_no_review_and_no_belief(browser):
    """They belong to a record, and the record is there when the match is over."""
    about, _ = browser.deal(game="donguri")
    for path in (f"/replays/{about['id']}/review", f"/replays/{about['id']}/beliefs/0?seat=1"):
        assert browser.get(path).status_code == 404
    assert browser.post(f"/replays/{about['id']}/review", {}).status_code == 404
    for path in ("review", "beliefs/0", "duplicate"):
        assert browser.get(f"/games/{about['id']}/{path}").status_code == 404


# --- requests that are refused --------------------------------------------------------------------------------------


def test_other_hosts_and_other_sites_are_refused(browser):
    assert browser.client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert browser.client.get("/", headers={"host": "localhost:9"}).status_code == 200
    assert browser.client.get("/", headers={"host": "[::1]:9"}).status_code == 200
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ADDRESS + "1"}):
        assert browser.post("/games", {}, **headers).status_code == 403
    assert browser.client.post("/api/games", json={}).status_code == 403  # no Origin
    assert browser.post("/games", {}, **{"content-type": "text/plain"}).status_code == 415
    assert allowed_hosts("127.0.0.1") == [*LOOPBACK, "127.0.0.1"]
    assert "*" not in allowed_hosts("0.0.0.0")
    assert allowed_hosts("127.0.0.1", ["cards.example.org", "[fe80::1]"])[-2:] == ["cards.example.org", "[fe80::1]"]
    for wrong in ("http://x/", "x:8000", "", "*", "a b"):  # they were taken, and nobody could ask by them
        with pytest.raises(InputError, match="--allowed-host: expected a name such as"):
            allowed_hosts("0.0.0.0", [wrong])


def test_nothing_outside_the_pages_folder_is_served(browser):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/etc/passwd",
    ):
        assert browser.client.get(path).status_code == 404
    assert browser.client.get("/static/play.js").status_code == 200


@pytest.mark.parametrize(
    "asked",
    [
        {"opponents": "/etc/passwd"}, {"opponents": "p.onnx"}, {"opponents": "os:system"}, {"opponents": "cheat:9"},
        {"opponents": "ismcts:5001"}, {"opponents": "pimc:101"}, {"opponents": "ismcts:0"}, {"opponents": ["greedy"]},
        {"opponents": "pretrained+rollout:9999"}, {"opponents": 5}, {"opponents": [[], {}, None, 1]},
        {"game": "chess"}, {"game": 3}, {"num_players": 99}, {"num_players": True}, {"num_deals": 51}, {"num_deals": 0},
        {"seat": 5}, {"seat": -1}, {"seed": -1}, {"seed": 2**64}, {"seed": "a"}, {"options": {"x": 1}}, {"options": []},
        {"options": {"lead_peppers": "yes"}}, {"size": "300x400"}, {"unknown": 1},
        {"replay": "none"}, [], 1, None, "text",
    ],
    ids=repr,
)  # fmt: skip
def test_what_may_not_be_chosen_is_refused(browser, asked):
    reply = browser.post("/games", asked)
    assert 400 <= reply.status_code < 500
    assert reply.json()["error"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "line 1"), (b"{", "line 1"), (b'{"a":\n\n1,}', "line 3"), (b"\n\n\xff", "line 3"), (b"NaN", "NaN"),
        (b'{"number": NaN}', "NaN"), (b"[" * 100_000, "recursion"), (b"1" * 5000, "digits"), (b"{}" * 2, "line 1"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_with_the_line(browser, body, where):
    for path in ("/games", "/replays"):
        reply = browser.post(path, body)
        assert reply.status_code == 400
        assert where in reply.json()["error"]


@pytest.mark.parametrize("path", ["/replays", "/policies", "/games/x/plays"])
def test_a_body_that_is_too_long_is_refused_like_everything_else(browser, path):
    kind = "application/octet-stream" if path == "/policies" else "application/json"
    reply = browser.post(path, b" " * (MAX_BODY + 1), **{"content-type": kind})
    assert reply.status_code == 413
    assert str(MAX_BODY) in reply.json()["error"]
    assert "content-security-policy" in reply.headers


def test_lone_surrogates_come_back_escaped(browser):
    about, frame = browser.deal()
    reply = browser.post(f"/games/{about['id']}/plays", b'{"number": %d, "card": "\\ud800<b>"}' % frame["number"])
    assert reply.status_code == 422
    assert b"\\ud800" in reply.content
    assert browser.post("/games", b'{"\\udfff": 1}').status_code == 400


def junk(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    plain = [None, True, 0, -1, 2**70, 1.5, 1e308, "", "\ud800", "4Y", "<script>", "x" * 300, "pepper", "../..", "\0"]
    if depth > 2 or rng.random() < 0.6:
        return rng.choice(plain)
    if rng.random() < 0.5:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): junk(rng, depth + 1) for _ in range(rng.randrange(4))}


KEYS = ["game", "num_players", "opponents", "seat", "number", "card", "deals", "version", "hands", "actions", "size",
        "options", "seed", "stock", "dealer", "replay", "step", "num_deals", "score", "\ud800"]  # fmt: skip


def test_a_thousand_malformed_requests_get_4xx_and_the_game_goes_on(browser, record):
    rng, (about, frame) = random.Random(2), browser.deal(game="donguri")
    game = f"/games/{about['id']}"
    for number in range(1000):
        kind = number % 5
        if kind == 0:
            body = json.loads(json.dumps(record))
            spot = rng.choice([body, body["deals"][0], body["deals"][0]["hands"][0], body["deals"][0]["actions"]])
            spot[rng.choice(list(spot)) if isinstance(spot, dict) else rng.randrange(len(spot))] = junk(rng)
            reply = browser.post("/replays", body)
            if reply.status_code == 200:  # what was changed is ignored, or another valid value
                continue
        elif kind == 1:
            text = json.dumps(record).encode()
            cut = rng.randrange(1, len(text) - 1)
            reply = browser.post("/replays", text[:cut] + bytes([rng.randrange(256)]) * 2 + text[cut:])
            if reply.status_code == 200:
                continue
        elif kind == 2:
            reply = browser.post(
                f"{game}/plays", {"number": frame["number"], "card": junk(rng, 3), rng.choice(KEYS): junk(rng)}
            )
            assert reply.status_code != 200
        elif kind == 3:
            path = rng.choice(
                [game, "/games/x", "/replays/x", "/games", "/replays", "/x", "/games//plays", "/games/%00"]
            )
            tail = rng.choice(["", "/plays", "/hint?number=x", "/steps/1", "/record", "/%ff", "?size=1x1", "/hints/é"])
            method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
            reply = browser.client.request(method, f"/api{path}{tail}")
            if method == "GET" and tail in ("", "?size=1x1") and path == game:
                continue
            if method == "GET" and path == "/games" and tail in ("", "?size=1x1"):
                assert reply.json() == {"games": [], "kept": False}
                continue
        else:
            reply = browser.post("/games", {rng.choice(KEYS): junk(rng), "unknown": junk(rng)})
        assert 400 <= reply.status_code < 500, (number, reply.status_code, reply.text[:300])
    assert browser.play(about, frame, frame["legal"][0]).status_code == 200


class Thing:
    """What a store keeps."""

    def __init__(self, name: str, weight: int = 1, owners: tuple[str, ...] = ()) -> None:
        self.id, self.used, self.weight, self.owners = name, 0.0, weight, owners


def names_in(store: Store[Any], names: str) -> str:
    """Those of some things, each of one letter, that are kept still."""
    return "".join(name for name in names if name in store._kept)


def test_a_full_server_makes_room_for_the_newest_only_if_another_game_is_idle():
    store: Store[Any] = Store("games", 2, max_age=1000, min_age=100)
    first, second = Thing("a"), Thing("b")
    store.put(first)
    store.put(second)
    with pytest.raises(ApiError) as refusal:
        store.put(Thing("c"))
    assert refusal.value.status == 429
    first.used -= 200
    store.put(Thing("c"))
    with pytest.raises(ApiError):
        store.get("a")
    assert store.get("b") is second
    second.used -= 2000
    store.put(Thing("d"))
    with pytest.raises(ApiError):
        store.get("b")
    assert MAX_GAMES == 200


def test_a_game_without_a_card_makes_room_before_one_that_is_played_and_one_in_use_never_does():
    dropped: list[str] = []
    store: Store[Any] = Store("games", 3, 1000, 100, on_drop=lambda one: dropped.append(one.id))
    things = [Thing("a"), Thing("b", weight=0), Thing("c", weight=-1)]
    for one in things:
        store.put(one)
    for one in things:
        one.used -= 70  # the played ones are safe still
    store.put(Thing("d"))
    assert (names_in(store, "abcd"), dropped) == ("acd", ["b"])
    things[0].used -= 70
    things[2].used -= 70
    store.put(Thing("e"))
    assert names_in(store, "abcde") == "cde"


def test_one_browser_or_address_makes_room_for_its_own_games_and_not_for_others():
    store: Store[Any] = Store("games", 100, 1000, 100, of_one={"browser": 2, "address": 3})
    for name in "abc":
        store.put(Thing(name, owners=("browser 1", "address 9")))
    assert names_in(store, "abc") == "bc"
    store.put(Thing("d", owners=("browser 2", "address 9")))
    store.put(Thing("e", owners=("browser 3", "address 9")))  # the address has as many as it may
    assert names_in(store, "abcde") == "cde"
    store.put(Thing("f", owners=("browser 4", "address 8")))
    assert names_in(store, "abcdef") == "cdef"


def test_one_client_that_deals_many_games_leaves_room_for_others(tmp_path):
    """Once 200 games of one client refused everybody else for a quarter of an hour; its own come back from the disk."""
    greedy_client = Browser(tmp_path)
    dealt = [greedy_client.deal(game="donguri", num_players=3)[0]["id"] for _ in range(25)]
    assert len(greedy_client.pages.games.kept) == 20
    assert greedy_client.get(f"/games/{dealt[0]}").status_code == 200


# --- replays --------------------------------------------------------------------------------------------------------


def test_a_record_is_shown_step_by_step_as_each_seat_saw_it(browser, record):
    name = browser.post("/replays", "\ufeff".encode() + json.dumps(record).encode()).json()["id"]  # as Notepad saves it
    about = browser.get(f"/replays/{name}").json()
    plays = [play for deal in about["deals"] for trick in deal["tricks"] for play in trick["plays"]]
    assert [[seat, card] for _, seat, card, _ in plays] == record["deals"][0]["actions"]
    ends = [trick["end"] for trick in about["deals"][0]["tricks"]]
    assert sorted([*(step for step, *_ in plays), *ends, about["steps"] - 1]) == list(range(about["steps"]))
    shown = {seat: browser.get(f"/replays/{name}/steps/4?seat={seat}").json() for seat in ("all", "0", "1", "2")}
    assert len({json.dumps(one["table"]) for one in shown.values()}) == 4
    assert browser.get(f"/replays/{name}/steps/{about['steps']}").status_code == 400
    assert browser.get(f"/replays/{name}/steps/1?seat=3").status_code == 400
    hint = browser.get(f"/replays/{name}/hints/0").json()
    assert hint["sources"]
    assert browser.get(f"/replays/{name}/hints/{ends[0]}").json() is None


def test_a_seat_of_a_replay_sees_what_it_saw_in_the_game(browser):
    """The viewer and the game draw the same picture of the same position."""
    about, frame = browser.deal(game="donguri", num_deals=1, seat=2)
    seen = []
    while not about["over"]:
        seen.append((frame["number"], browser.get(f"/games/{about['id']}").json()["frames"][0]))
        reply = browser.play(about, frame, frame["legal"][0]).json()
        about, frame = {**about, **reply["game"]}, reply["frames"][-1]
    found = Replay(browser.get(f"/games/{about['id']}/record").json())
    steps = {step.number: at for at, step in enumerate(found.steps) if not step.ended}
    for number, frame in seen:
        shown = frame_data(found.shot(steps[number], 2))
        for key in ("table", "hand", "places", "legal", "prompt", "previous"):
            assert shown[key] == frame[key] or key == "table"
        assert {**shown["table"], "seats": 0} == {**frame["table"], "seats": 0}


def test_a_review_is_made_in_the_background_and_kept(browser, record, monkeypatch):
    go_on = threading.Event()
    made = []

    def slowly(match: Any, seat: int, seconds: Any, on_progress: Any) -> dict[str, Any]:
        made.append(seat)
        on_progress(3, 12)
        assert go_on.wait(60)
        return {"seat": seat}

    monkeypatch.setattr("trick_envs.play.web.replays.review_data", slowly)
    name = browser.post("/replays", record).json()["id"]
    assert browser.get(f"/replays/{name}/review").json()["state"] == "none"
    assert browser.post(f"/replays/{name}/review", {"seat": 3}).status_code == 400
    browser.post(f"/replays/{name}/review", {"seat": 2})
    other = browser.post("/replays", record).json()["id"]
    browser.post(f"/replays/{other}/review", {})
    until(lambda: browser.get(f"/replays/{name}/review").json()["state"] == "running")
    state = browser.get(f"/replays/{name}/review").json()
    assert (state["done"], state["total"], state["review"]) == (3, 12, None)
    assert browser.get(f"/replays/{other}/review").json()["state"] == "waiting"  # one after the other
    browser.post(f"/replays/{name}/review", {"seat": 1})  # it is being made already
    go_on.set()
    until(lambda: browser.get(f"/replays/{other}/review").json()["state"] == "done")
    assert browser.get(f"/replays/{name}/review").json()["review"] == {"seat": 2}
    assert made == [2, 0]


def test_a_review_that_fails_is_told_and_can_be_made_again(browser, record, monkeypatch, caplog):
    monkeypatch.setattr("trick_envs.play.web.replays.review_data", lambda *_: 1 // 0)
    name = browser.post("/replays", record).json()["id"]
    browser.post(f"/replays/{name}/review", {})
    until(lambda: browser.get(f"/replays/{name}/review").json()["state"] == "failed")
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.setattr("trick_envs.play.web.replays.review_data", lambda *_: {})
    browser.post(f"/replays/{name}/review", {})
    until(lambda: browser.get(f"/replays/{name}/review").json()["state"] == "done")


def until(done: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_a_game_from_a_replay_has_the_same_opponents_if_a_browser_may_ask_for_them(browser, record):
    told = {**record, "players": ["random", "person", "os:system"]}
    name = browser.post("/replays", told).json()["id"]
    reply = browser.post("/games", {"replay": name, "step": 4, "seat": 1}).json()
    assert reply["game"]["players"] == ["random", "you", "pretrained"]


def test_a_malformed_record_is_refused_with_the_play(browser, record):
    wrong = json.loads(json.dumps(record))
    wrong["deals"][0]["actions"][3][0] = 7
    reply = browser.post("/replays", wrong)
    assert reply.status_code == 422
    assert "deal 1, play 4" in reply.json()["error"]
    wrong["num_deals"] = 10_000
    assert "more than 50 deals" in browser.post("/replays", wrong).json()["error"]
    wrong["num_deals"], wrong["deals"][0]["actions"] = 1, [[0, "1R"]] * 2001
    assert "more than 2000 plays" in browser.post("/replays", wrong).json()["error"]


def test_a_game_goes_on_from_a_step_of_a_replay(browser, record):
    name = browser.post("/replays", record).json()["id"]
    about, frame = browser.deal(replay=name, step=9, seat=0)
    assert not about["begun"]  # those plays are not the person's: nothing to take back
    assert browser.post(f"/games/{about['id']}/back", {"number": frame["number"]}).status_code == 409
    assert about["num_players"] == 3
    assert frame["number"] >= Replay(record).steps[9].number
    assert browser.play(about, frame, frame["legal"][0]).status_code == 200


def test_the_pages_copy_of_a_replay_holds_every_frame_and_picture_and_asks_for_nothing(record):
    page = replay_page(record)
    packed = re.search(r'id="data">([^<]*)<', page)
    assert packed is not None
    data = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    found = Replay(record)
    for seat, observer in (("all", None), ("0", 0), ("2", 2)):
        for step in (0, 5, len(found.steps) - 1):
            sent = json.loads(json.dumps(frame_data(found.shot(step, observer))))
            assert data["frames"][seat][step] == sent
    card = f"/cards/donguri/3/{found.game.deck.kinds - 1}.svg"
    assert "<svg" in base64.b64decode(data["pictures"][card].partition("base64,")[2]).decode()
    assert set(data["pictures"]) > {"/avatars/you.svg", "/icons/donguri/acorn.svg"}
    assert len(data["review"]["decisions"]) == len(record["deals"][0]["actions"])
    without_data = page.replace(packed[1], "")
    assert 'src="' not in without_data
    assert 'href="' not in without_data
    assert "url(" not in without_data


def test_hints_do_not_depend_on_the_seed_of_the_match():
    game = load_game("donguri", num_deals=1)
    match = Match(game, 5)
    other = match.states.copy()
    other["seed"] ^= np.uint64(0x5555)
    assert advisor_of(game).advise(match.states) == advisor_of(game).advise(other)


def test_the_pages_logic_is_tested_without_a_browser():
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    found = subprocess.run(
        [node, "--test", str(Path(__file__).parent / "web" / "logic.test.mjs")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, found.stdout[-3000:]


@every_game
def test_a_table_on_the_page_says_what_its_numbers_mean_and_hides_what_the_seat_may_not_know(name):
    """What the page draws of a position is the same in all worlds that look alike; every plate explains itself."""
    game, rng = load_game(name), np.random.default_rng(5)
    for states in random_positions(game, seed=4, every=25):
        observer = int(rng.integers(game.num_players))
        shown = frame_data(Snapshot(table_view(game, states, observer), 0), observer)
        assert len(shown["table"]["seats"]) == game.num_players
        assert all("points in this match" in seat["about"] and seat["facts"] for seat in shown["table"]["seats"])
        world = game.resample(states, observer, rng).reshape(1)
        assert json.dumps(frame_data(Snapshot(table_view(game, world, observer), 0), observer)) == json.dumps(shown)


def test_a_folder_for_games_is_a_path(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^folder: expected a path, not 3"):
        make_app(folder=3)  # type: ignore[arg-type]
    with TestClient(make_app(folder=str(tmp_path)), base_url=ADDRESS) as client:  # type: ignore[arg-type]
        assert client.get("/api/choices").status_code == 200
