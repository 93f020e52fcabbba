"""``trick play``: a person's keys and lines, hints, and the record; nobody sees hidden cards."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import crossed, every_game, legal_of
from test_twin_worlds import hidden_from

from trick_envs.engine.cards import members
from trick_envs.engine.deal import Deal
from trick_envs.engine.positions import observe, why_illegal
from trick_envs.engine.registry import game_names, load_game
from trick_envs.errors import InputError
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay

pytest.importorskip("textual")
testing = pytest.importorskip("typer.testing")

from trick_envs.agents.policy import PolicyAgent  # noqa: E402
from trick_envs.cli import app as command  # noqa: E402
from trick_envs.matches.viewing import match_view  # noqa: E402
from trick_envs.play.advice import expectation, headline, outlook, summary  # noqa: E402
from trick_envs.play.characters import PERSON  # noqa: E402
from trick_envs.play.hints import Advisor, CardHint, Hint, Judgement  # noqa: E402
from trick_envs.play.session import Session  # noqa: E402
from trick_envs.play.terminal import play_match  # noqa: E402
from trick_envs.play.terminal.app import PlayApp  # noqa: E402
from trick_envs.play.terminal.card_input import choices, named  # noqa: E402
from trick_envs.play.terminal.drawing import Drawing  # noqa: E402
from trick_envs.play.terminal.plain import play_plain  # noqa: E402

SIZE, WIDE = (80, 24), (120, 40)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "match.json"


def start(name: str, file: Any, opponents: str = "random", deals: int = 1, **arguments: Any) -> Session:
    return Session.start(load_game(name, arguments.get("players"), deals), 0, opponents, 5, file)


async def until(pilot: Any, done: Any) -> None:
    """Waits for the application; the first hint for a game compiles its searches."""
    give_up = time.monotonic() + 300
    while not done():
        assert time.monotonic() < give_up, "the application does not get there"
        await pilot.pause(0.01)


def use(session: Session, keys: Any, pause: float = 0.0, size: tuple[int, int] = SIZE) -> PlayApp:
    """Runs the application without a terminal, while ``keys(app, pilot)`` presses keys."""
    app = PlayApp(session, Drawing(), pause)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await keys(app, pilot)

    asyncio.run(run())
    return app


def shown(app: PlayApp, place: str) -> str:
    """The text of a part of the screen."""
    return str(app.screen_stack[0].query_one(f"#{place}").render())


# --- the application ----------------------------------------------------------------------------------------------


@every_game
def test_a_whole_deal_is_played_with_the_keyboard(name, file):
    session = start(name, file)

    async def keys(app: PlayApp, pilot: Any) -> None:
        while True:
            await until(pilot, lambda: app.asked or app.waits)
            if session.match.over:
                break
            await pilot.press("enter" if app.asked else "space")
        assert "the match is over" in shown(app, "message")
        await pilot.press("space")

    use(session, keys)
    saved = json.loads(file.read_text())
    assert saved.pop("players") == [PERSON, *["random"] * (session.game.num_players - 1)]
    assert replay(saved).record() == saved == session.match.record()
    assert saved["winners"] is not None


def test_a_card_is_named_by_its_number_its_name_or_the_arrows_and_an_illegal_one_says_the_rule(file):
    session = start("pepper", file)

    async def keys(app: PlayApp, pilot: Any) -> None:
        def legal() -> list[str]:
            return [app.view.card(each.kind) for each in app.choices if each.legal]

        while True:  # to a decision with several legal cards and an illegal one
            await until(pilot, lambda: app.asked)
            if 1 < len(legal()) < len(app.choices):
                break
            await pilot.press("enter")
        number, names = session.number, legal()
        wrong = next(each.kind for each in app.choices if not each.legal)
        await pilot.press(*app.view.card(wrong).lower(), "enter")
        rule = why_illegal(session.game, session.match.states, wrong)
        assert shown(app, "message") == rule.replace("player_0 may not", "you may not")
        assert "player_0" not in shown(app, "message")
        await pilot.press("9", "9", "enter")
        assert "there is no card number 99" in shown(app, "message")
        assert session.number == number
        await pilot.press(*names[0])
        assert names[0] in shown(app, "prompt")
        await pilot.press("escape", "right")
        kind = app.choices[app.selected].kind
        assert app.view.card(kind) == names[1]
        place = app.selected + 1
        await pilot.press("left", *str(place), "enter")
        await until(pilot, lambda: session.number > number)
        assert session.match.deals[0].actions[number] == (0, kind)

    use(session, keys)


def test_a_finished_trick_stays_until_a_key(file):
    session = start("donguri", file)

    async def keys(app: PlayApp, pilot: Any) -> None:
        while not session.match.states["tricks"][0]:
            await until(pilot, lambda: app.asked or app.waits)
            await pilot.press("enter" if app.asked else "space")
        await until(pilot, lambda: app.waits)
        await pilot.press("f1")  # the rules, while the match goes on behind them
        assert app.view.trick == session.view().previous
        assert len(app.view.trick) == session.game.num_players
        assert "takes" in shown(app, "table")
        await pilot.pause(0.05)
        assert app.view.acting is None
        app.action_go_on()
        await until(pilot, lambda: app.view.acting is not None)
        await pilot.press("escape", "f2", "escape")
        assert len(app.screen_stack) == 1

    use(session, keys, pause=1000.0)


def test_hints_show_what_policy_and_search_think_and_the_screen_stays_alive(file, monkeypatch):
    session = start("pepper", file, opponents="greedy")
    let_it_think, advise = threading.Event(), Advisor.advise

    def slowly(self: Advisor, states: Any) -> Hint:
        assert let_it_think.wait(60)
        return advise(self, states)

    monkeypatch.setattr(Advisor, "advise", slowly)

    async def keys(app: PlayApp, pilot: Any) -> None:
        while not app.asked or len(app.view.legal) < 2:
            await until(pilot, lambda: app.asked)
            await pilot.press("enter")
        await pilot.press("?")
        await until(pilot, lambda: "thinking" in shown(app, "message"))
        let_it_think.set()
        await until(pilot, lambda: app.advice is not None)
        advice = app.advice
        assert [card.kind for card in advice.hint.cards] == legal_of(session.game, session.match.states)
        assert sum(card.probability for card in advice.hint.cards) == pytest.approx(1.0, abs=1e-3)
        assert summary(app.view, advice.hint).split() == shown(app, "message").split()
        assert all(source in shown(app, "hand") for source in ("trained", "points"))
        await pilot.press("?")
        assert "trained" not in shown(app, "hand")

    use(session, keys)


def test_a_card_is_taken_back_and_the_same_cards_lie_there_again(file):
    session = start("pepper", file, opponents="greedy")

    async def keys(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        await pilot.press("ctrl+z")  # there is nothing to be taken back
        before = session.view()
        await pilot.press("enter")
        await until(pilot, lambda: app.asked and session.begun)
        assert session.begun
        await pilot.press("ctrl+z")
        await until(pilot, lambda: app.asked and not session.begun)
        assert session.view() == before == app.view

    use(session, keys)
    saved = json.loads(file.read_text())
    assert saved["taken_back"] == 1
    assert Session.resume(file).taken_back == 1
    assert replay(saved).record()["deals"][0]["hands"] == session.match.record()["deals"][0]["hands"]


def test_the_list_of_tricks_is_that_of_the_match_after_a_card_was_taken_back_and_when_it_goes_on_later(file):
    session, listed = start("pepper", file, opponents="greedy"), []

    async def keys(app: PlayApp, pilot: Any) -> None:
        for tricks in (1, 2):
            await until(pilot, lambda: app.asked)
            await pilot.press("enter")
            await until(pilot, lambda tricks=tricks: app.asked and app.view.trick_number == tricks + 1)
            listed.append("\n".join(line.plain for line in app.log_lines))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: app.asked and app.view.trick_number == 2)
        listed.append("\n".join(line.plain for line in app.log_lines))

    async def look(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        listed.append("\n".join(line.plain for line in app.log_lines))

    use(session, keys)
    use(Session.resume(file), look)
    one, two, taken_back, later = listed
    assert one.startswith(" 1 ")
    assert two.startswith(one)
    assert two != one
    assert taken_back == later == one


def test_taking_back_reaches_into_the_deal_before_and_later_deals_stay_as_they_were(file):
    session = start("donguri", file, opponents="greedy", deals=3)
    while len(session.match.deals) < 2 or not session.asks:
        session.play(session.view().legal[0] if session.asks else session.choose())
    order = session.match.deals[1].order
    assert session.take_back()
    assert len(session.match.deals) == 1
    assert session.asks
    while len(session.match.deals) < 2:
        session.play(session.view().legal[0] if session.asks else session.choose())
    assert session.match.deals[1].order == order


def test_the_end_of_a_trick_says_why_and_the_end_of_a_deal_what_the_points_consist_of(file):
    session = start("zaraba22", file, deals=1)
    messages = []

    async def keys(app: PlayApp, pilot: Any) -> None:
        while not session.match.over or app.waits:
            await until(pilot, lambda: app.asked or app.waits or session.match.over)
            if app.waits:
                messages.append(shown(app, "message"))
            await pilot.press("enter" if app.asked else "space")
            await pilot.pause()

    use(session, keys, pause=1000.0)
    tricks = [text for text in messages if "the trick" in text]
    assert tricks
    assert all(": the lead " in text for text in tricks)
    score, items = messages[-1].splitlines()[:2]
    assert re.match(r"Deal 1: you [+−]?\d+, player_1 ", score)
    assert re.match(r"You: (\w+ \w+ \(price −?\d+\) [+−]?\d+, )*", items)


def test_a_match_that_was_left_goes_on_as_it_was(file):
    session = start("zaraba22", file)

    async def keys(app: PlayApp, pilot: Any) -> None:
        for _ in range(3):
            await until(pilot, lambda: app.asked or app.waits)
            await pilot.press("enter" if app.asked else "space")
        await pilot.press("ctrl+q")

    app = use(session, keys)
    assert app.return_value is None
    assert not session.match.over
    again = Session.resume(file)
    assert again.match.deals[0].actions == session.match.deals[0].actions[: again.number]
    assert again.number > 0
    assert (again.seat, again.players) == (session.seat, session.players)


@pytest.mark.parametrize("player", ["os:getcwd", "program:/bin/true", "llm:m@http://127.0.0.1:9"])
def test_a_saved_match_runs_no_code_of_a_stranger(file, player):
    start("donguri", file).save()
    record = json.loads(file.read_text())
    record["players"][1] = player
    file.write_text(json.dumps(record))
    with pytest.raises(ValueError, match="which a record from a stranger must not do: give --trust"):
        Session.resume(file)
    result = testing.CliRunner().invoke(command, ["play", "--resume", "--trust", "--record", str(file)])
    assert "--trust" not in str(result.exception)  # it was asked to play


@pytest.mark.parametrize("count", [-1, True, 2.0, 10**30, float("nan"), "1", [1], None])
@pytest.mark.parametrize("key", ["start_number", "taken_back"])
def test_counts_of_a_saved_match_that_are_none_are_told(file, key, count):
    start("donguri", file).save()
    file.write_text(json.dumps({**json.loads(file.read_text()), key: count}))
    with pytest.raises(ValueError, match=f"^{re.escape(str(file))}: 'taken_back' and 'start_number' count plays"):
        Session.resume(file)
    with pytest.raises(ValueError, match=r"^'taken_back' and 'start_number' count plays"):  # no path: see Session.load
        Session.load(file)


def test_a_player_that_fails_ends_the_application_with_its_error(file):
    session = start("donguri", file)
    session.choose = lambda: 1 // 0  # type: ignore[method-assign]

    async def keys(app: PlayApp, pilot: Any) -> None:
        while app.is_running and app.return_value is None:
            await pilot.press("enter")
            await pilot.pause(0.01)

    assert isinstance(use(session, keys).return_value, ZeroDivisionError)


@pytest.mark.parametrize("asks", ["player", "advisor"])
def test_who_leaves_does_not_wait_for_a_player_that_thinks(file, asks):
    """A language model may take minutes."""
    session, left, waited, asked = start("donguri", file), threading.Event(), [], threading.Event()

    def think(*_: Any) -> Any:
        asked.set()
        waited.append(left.wait(30))
        return 0

    if asks == "player":
        session.choose = think  # type: ignore[method-assign]
    else:
        session.question = lambda: type("Thinks", (), {"hint": property(think)})()  # type: ignore[method-assign]

    async def keys(app: PlayApp, pilot: Any) -> None:
        while not asked.is_set():
            if app.asked:
                await pilot.press("enter" if asks == "player" else "question_mark")
            await pilot.pause(0.01)
        await pilot.press("ctrl+q")

    use(session, keys)
    assert asked.is_set()
    assert not waited
    left.set()


@pytest.mark.parametrize("program", [False, True])
def test_a_player_that_names_no_legal_card_is_told_without_its_hand(file, program):
    """The match can go on afterwards."""
    path = file.with_name("player.py")
    path.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)['type']\n"
        "    answer = {'type': 'ready'} if asked == 'start' else {'type': 'card', 'card': 'ZZ'}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    session = start("pepper", file, f"program:{path}" if program else "random")
    if not program:
        wrong = SimpleNamespace(act=lambda observations, masks, states: np.array([int(np.argmin(masks[0]))]))
        session.agents = dict.fromkeys(session.agents, SimpleNamespace(act=lambda busy: wrong))  # type: ignore[misc]
    told: list[str] = []
    with pytest.raises(InputError) as error:
        play_plain(session, iter([""] * 9), told.append)
    seat = session.acts
    assert str(error.value) == f"player_{seat} ({session.players[seat]}) named no legal card"
    assert seat != session.seat


# --- the drawn table ------------------------------------------------------------------------------------------------


def screen(app: PlayApp) -> str:
    """All that is on the screen, line by line."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def test_the_message_is_in_sight_with_hints_and_at_the_end_of_a_deal(file):
    session = start("pepper", file, opponents="greedy", deals=2)

    async def keys(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        await pilot.pause()
        await pilot.press("?")
        await until(pilot, lambda: app.advice is not None)
        await pilot.pause()
        lowest = app.query_one("#message").region
        assert lowest.height >= 2
        assert lowest.bottom <= app.query_one("Footer").region.y
        assert "trained" in shown(app, "hand")
        await pilot.press("?")
        while len(session.match.deals) < 2 or not app.waits:
            await until(pilot, lambda: app.asked or app.waits)
            if app.asked:
                await pilot.press("enter")
            elif len(session.match.deals) < 2:
                await pilot.press("space")
            await pilot.pause()
        left = app.query_one("#log").region.x
        told = " ".join(shown(app, "message").split())
        assert "space goes on" in told
        await until(pilot, lambda: told in " ".join(" ".join(line[:left] for line in screen(app).splitlines()).split()))

    use(session, keys, pause=0.0, size=WIDE)


def test_why_a_trick_was_taken_is_whole_in_a_small_terminal(file):
    """Once only its last two words were to be seen, below two empty lines."""
    session = start("zaraba22", file, opponents="greedy")

    async def keys(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        await pilot.press("enter")
        await until(pilot, lambda: app.asked or app.waits)
        while not app.asked:
            await pilot.press("space")
            await pilot.pause()
        told = [line.plain for line in app.log_lines if "is kept" in line.plain][-1]
        assert len(told) > 60  # several lines
        await until(pilot, lambda: " ".join(told.split()) in " ".join(screen(app).split()))

    use(session, keys, pause=0.0, size=(60, 20))


def test_seats_and_keys_are_in_sight_with_a_hint_in_a_small_terminal(file):
    """Once the hint hid the seats, and the footer ended at "Take back"."""
    session = start("pepper", file, opponents="greedy")

    async def keys(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        await pilot.press("enter")
        await until(pilot, lambda: app.asked)
        await pilot.press("?")
        await until(pilot, lambda: app.advice is not None and "trained player" in screen(app))
        lines = screen(app).splitlines()
        names = ["you", *session.match.names[1:]]
        assert [name for name in names if not any(name in line[:20] for line in lines)] == []
        assert "← → ⏎ Play" in lines[-1]
        assert lines[-1].rstrip().endswith("f2 Tricks")

    use(session, keys, size=(60, 20))


@crossed(name=game_names(), size=[WIDE, SIZE])
def test_the_terminal_speaks_of_you(name, size, file):
    """The person's seat is nowhere called by its name: not on the screen, not in the tricks so far, not in the end."""
    session = start(name, file)
    own, seen = session.view().seats[0].name, []

    async def keys(app: PlayApp, pilot: Any) -> None:
        while not session.match.over or app.waits:
            await until(pilot, lambda: app.asked or app.waits or session.match.over)
            seen.append(screen(app))
            await pilot.press("enter" if app.asked else "space")
            await pilot.pause()
        seen.append("\n".join(line.plain for line in app.log_lines))

    use(session, keys, size=size)
    assert len(seen) > 5
    assert any("you" in text for text in seen)
    assert not [text for text in seen if own in text]
    assert not [text for text in seen if "Player_" in text]  # a name stays as it is


@every_game
def test_a_card_of_a_row_is_written_as_on_the_table(name):
    """With symbols, rows below the table said "1Y" of a card that lay there as "1▲"."""
    match, rng = Match(load_game(name), 3), np.random.default_rng(1)
    for _ in range(24):
        match.step(int(rng.choice(legal_of(match.game, match.states))))
    view = match_view(match, 0)
    cards = {view.card(kind): Drawing(True).card(view, kind).plain for kind in range(match.game.deck.kinds)}
    symbols, letters = (Drawing(how).table(view, 200).plain for how in (True, False))
    assert not [card for card in re.findall(r"\w+", symbols) if card in cards]
    assert symbols.split() == [cards.get(word.strip(","), word) for word in letters.split()]


# --- plain text ---------------------------------------------------------------------------------------------------


def run(*arguments: str, lines: str = "", code: int = 0) -> str:
    result = testing.CliRunner().invoke(command, ["play", *map(str, arguments)], input=lines)
    assert result.exit_code == code, result.output
    return result.output


@every_game
def test_lines_play_a_deal_and_the_record_can_be_replayed(name, file):
    output = run(name, "--num-deals", "1", "--seed", "3", "--opponents", "greedy", "--record", file, lines="\n" * 60)
    assert "the match is over" in output
    assert "player_0" not in output
    assert replay(json.loads(file.read_text())).over
    told = testing.CliRunner().invoke(command, ["replay", str(file)])
    assert told.exit_code == 0, told.output


def test_hints_mistakes_and_the_end_of_the_input(file):
    arguments = ["pepper", "--num-deals", "1", "--seed", "3", "--seat", "2", "--opponents", "greedy", "--record", file]
    output = run(*arguments, lines="?\nnonsense\n99R\n")
    assert re.search(r"\d+ \w+, as the trained player would (>99|\d+) % of|: looking ahead, it ends ", output)
    assert re.search(r"Expect to end this deal (level|[\d.]+ points (ahead|behind)) ", output)
    assert "'nonsense' is no card" in output
    assert "you have played no card, so nothing is saved" in output
    assert not file.exists()
    run(*arguments, lines="\n")
    assert "to go on: trick play --resume" in run("--resume", "--record", file, lines="\n\n")
    record = json.loads(file.read_text())
    assert sum(seat == 2 for seat, _ in record["deals"][0]["actions"]) == 3
    assert record["players"] == ["greedy", "greedy", PERSON, "greedy", "greedy"]
    assert "the match is over" in run("--resume", "--record", file, lines="\n" * 60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a game"),
        (["poker"], "there is no game 'poker'"),
        (["pepper", "--seat", "5"], "--seat: expected None or a seat of 0 to 4"),
        (["pepper", "--opponents", "nobody"], "'nobody' is no player"),
        (["pepper", "--opponents", "greedy,random"], "expected 1 spec, or 4 separated by commas"),
        (["--resume"], "--resume needs the --record"),
    ],
)
def test_a_wrong_argument_is_told(arguments, message):
    result = testing.CliRunner().invoke(command, ["play", *arguments])
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)


def test_a_record_is_not_overwritten_and_another_file_is_no_match(file):
    file.write_text("{}")
    for arguments, message in ((["pepper"], "exists: continue"), (["--resume"], "not saved by trick play")):
        result = testing.CliRunner().invoke(command, ["play", *arguments, "--record", str(file)])
        assert message in str(result.exception)
    assert file.read_text() == "{}"


def test_lines_say_who_takes_a_trick_and_take_back(file):
    lines = "undo\n\nundo\n\n\n"
    output = run("pepper", "--num-deals", "1", "--seed", "3", "--opponents", "greedy", "--record", file, lines=lines)
    assert "you have played no card yet" in output
    assert re.search(r"takes? the trick: \d+ \w+ is the (highest|only) \w+ card\.", output)
    assert json.loads(file.read_text())["taken_back"] == 1


# --- hints --------------------------------------------------------------------------------------------------------


def hint_of(*cards: tuple[int, float | None, float | None, float | None], value: float | None = None) -> Hint:
    """The first card is the baseline; another one with a clear advantage is the search's."""
    listed = [CardHint(*card, 10) for card in cards]
    better = [card for card in listed if (card.advantage or 0.0) > (card.error or 0.0)]
    best = (better or listed)[0].kind
    return Hint(listed, cards[0][0], best, best != cards[0][0], value, ["pretrained", "pretrained+rollout:128"])


@pytest.mark.parametrize(
    ("hint", "words", "expects"),
    [
        (
            hint_of((33, 0.99, 0.0, 0.0), (20, 0.01, -0.4, 0.3), value=-1.24),
            "10 green, as the trained player would 99 % of the time; looking ahead finds nothing better",
            "expect to end this deal 1.2 points behind the average of the others",
        ),
        (
            hint_of((33, 0.999, 0.0, 0.0), (20, 0.001, None, None)),
            "10 green, as the trained player would >99 % of the time; looking ahead finds nothing better", "",
        ),
        (
            hint_of((33, 0.55, 0.0, 0.0), (20, 0.45, 1.25, 0.51)),
            "9 yellow: looking ahead, it ends 1.2 ± 0.5 points better than 10 green, which the trained player plays "
            "55 % of the time", "",
        ),
        (
            hint_of((33, None, 0.0, 0.0), (20, None, 0.2, 0.5)),
            "10 green, the simple player's card; looking ahead finds nothing better", "",
        ),
        (
            hint_of((33, None, 0.0, 0.0), (20, None, 1.25, 0.51)),
            "9 yellow: looking ahead, it ends 1.2 ± 0.5 points better than 10 green, the simple player's card", "",
        ),
        (hint_of((33, 1.0, 0.0, 0.0), value=2.0), "10 green is the only legal card",
         "expect to end this deal 2.0 points ahead of the average of the others"),
    ],
)  # fmt: skip
def test_a_hint_is_told_in_plain_words_first(hint, words, expects):
    deck = load_game("pepper").deck
    assert headline(hint, deck.suits, deck.ranks) == words
    assert expectation(hint, teams=False) == expects
    assert expectation(hint, teams=True) == expects.replace("the average of the others", "the other team")


def test_a_hint_can_be_said_without_points():
    deck = load_game("pepper").deck
    clear = hint_of((33, 0.55, 0.0, 0.0), (20, 0.45, 1.25, 0.51), value=-1.24)
    assert (
        headline(clear, deck.suits, deck.ranks, figures=False)
        == "9 yellow: looking ahead, it ends better than 10 green, which the trained player plays 55 % of the time"
    )
    assert outlook(clear, teams=False) == "expect to end this deal one point behind the average of the others"
    agreed = hint_of((33, 0.99, 0.0, 0.0), (20, 0.01, -0.4, 0.3), value=2.6)
    assert headline(agreed, deck.suits, deck.ranks, figures=False) == headline(agreed, deck.suits, deck.ranks)
    assert outlook(agreed, teams=True) == "expect to end this deal three points ahead of the other team"
    even = hint_of((33, None, 0.0, 0.0), (20, None, 1.25, 0.51), value=0.3)
    assert (
        headline(even, deck.suits, deck.ranks, figures=False)
        == "9 yellow: looking ahead, it ends better than 10 green, the simple player's card"
    )
    assert outlook(even, teams=False) == "this deal looks even between you and the average of the others"
    assert outlook(hint_of((33, None, 0.0, 0.0)), teams=False) == ""


@pytest.mark.parametrize(("gain", "better"), [(0.04, False), (0.06, True)])
def test_a_card_that_is_better_by_what_is_written_0_is_not_advised(monkeypatch, gain, better):
    """Once "K hearts: looking ahead, it ends 0.0 ± 0.0 points better"."""
    two, counts = np.ones((1, 2), np.int8), np.full((1, 2), 128, np.int32)
    figures = np.array([[0.0, gain]], np.float32), np.array([[0.0, 0.01]])
    found = Judgement(np.array([0]), two, None, None, *figures, counts)
    monkeypatch.setattr(Advisor, "judge", lambda self, states: found)
    assert Advisor(load_game("pepper")).advise(Match(load_game("pepper"), 3).states).disagree == better


def test_a_card_below_the_hand_is_no_surer_than_in_the_sentence_above():
    """The row said 100% and 0% of what the sentence calls >99 %."""
    match = Match(load_game("pepper"), 3)
    view = match_view(match, int(match.states["seat"][0]))
    found = choices(view)
    sure, never = [each.kind for each in found if each.legal][:2]
    hint = hint_of((sure, 0.9996, 0.0, 0.0), (never, 0.0004, None, None))
    drawn = Drawing().hand(view, found, 0, hint, 120).plain
    assert re.search(r"trained .*>99%.*<1%", drawn)


def test_places_are_words_in_the_terminal():
    """Once "to_right 1"."""
    match = Match(load_game("tricky_express", num_deals=1), 3)
    match.step(legal_of(match.game, match.states)[0])
    view = match_view(match, (int(match.states["seat"][0]) + 1) % 4)
    told = " ".join(line.plain for seat in view.seats for line in Drawing()._own_places(view, seat))
    assert told == "to right 1 hidden"


def test_a_hint_judges_its_decision_once(monkeypatch):
    game = load_game("pepper")
    advisor, states = Advisor(game), Match(game, 3).states
    advisor.advise(states)  # calibrates its values
    own, evaluate = [], PolicyAgent.evaluate

    def counted(self: PolicyAgent, observations: Any, masks: Any) -> Any:
        row = observe(game, states, int(states["seat"][0]))[0]
        own.extend(1 for each in observations if np.array_equal(each, row))
        return evaluate(self, observations, masks)

    monkeypatch.setattr(PolicyAgent, "evaluate", counted)
    advisor.advise(states)
    assert len(own) == 1


# --- nothing hidden is shown --------------------------------------------------------------------------------------


def twins(name: str, plays: int, rng: Any) -> tuple[Match, Match]:
    """Two matches after the same plays, at a decision of seat 0, that differ in many cards which it has not seen."""
    game = load_game(name, None, 1)
    match = Match(game, int(rng.integers(1000)))
    while len(match.deals[0].actions) < plays or match.states["seat"][0] != 0:
        match.step(int(rng.choice(legal_of(game, match.states))))
    hidden = [card for found in hidden_from(game, match.states, 0).values() for card in found]
    order, twin = np.array(match.deals[0].order), match
    for _ in range(100):
        one, other = rng.choice(hidden, 2, replace=False)
        swapped = np.where(order == one, other, np.where(order == other, one, order))
        candidate = Match(game, match.seed, [Deal(match.deals[0].dealer, tuple(swapped.tolist()))])
        try:
            for _, action in match.deals[0].actions:
                candidate.step(action)
        except ValueError:  # in that world somebody would have broken a rule
            continue
        order, twin = swapped, candidate
    differ = match.states["hand"][0] != twin.states["hand"][0]
    assert differ[1:3].any(axis=1).all()  # in Whist seat 3's hand is open
    return match, twin


def screens(match: Match, file: Any) -> list[str]:
    """All that a person sees: the screen with hints, and the plain text up to the answer to an illegal card."""
    session = Session(match, [PERSON, *["greedy"] * (match.game.num_players - 1)], file)
    pictures: list[str] = []

    async def keys(app: PlayApp, pilot: Any) -> None:
        await until(pilot, lambda: app.asked)
        await pilot.press("?")
        await until(pilot, lambda: app.advice is not None and "Expect to end" in shown(app, "message"))
        await pilot.pause()
        pictures.append(app.export_screenshot())

    use(session, keys)
    wrong = next((kind for kind in range(match.game.num_actions) if kind not in session.view().legal), 0)
    play_plain(session, iter(["?", "!", session.view().card(wrong)]), pictures.append)
    return pictures


@every_game
def test_the_texts_in_twin_worlds_are_equal(name, file):
    rng = np.random.default_rng(6)
    for plays in (3, 17):
        match, twin = twins(name, plays, rng)
        assert screens(match, file) == screens(twin, file)


def test_a_person_chooses_among_cards_that_do_not_lie_in_the_hand():
    """Two lead cards in Zaraba, two face-up cards in Whist, peppers in front."""
    rng = np.random.default_rng(3)
    found = set()
    for name in ("zaraba22", "double_deck_whist", "pepper"):
        match = Match(load_game(name, None, 1), 4)
        while not match.over:
            view = match_view(match, int(match.states["seat"][0]))
            offered = choices(view)
            assert {each.kind for each in offered if each.legal} == set(view.legal)
            hand = members(match.states["hand"][0][view.observer])
            assert sum(each.held for each in offered) == len(hand)
            found |= {match.phase for each in offered if not each.held}
            for number, each in enumerate(offered):
                assert named(view, str(number + 1)) == each.kind
            match.step(int(rng.choice(legal_of(match.game, match.states))))
    assert found >= {"keep", "pick", "follow"}


def test_a_closed_input_is_one_that_has_ended(tmp_path, monkeypatch, capsys):
    """``trick play pepper <&-``, as services start programs: ``sys.stdin`` is ``None`` then."""
    monkeypatch.setattr(sys, "stdin", None)
    play_match("pepper", 3, 0, "greedy", 1, 1, tmp_path / "record.json", False, 0.0, False)
    assert "you have played no card, so nothing is saved" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_game_that_has_gone_on_elsewhere_is_not_overwritten_and_the_terminal_says_so(file, monkeypatch, capsys):
    """Once whoever saved last overwrote the cards of the other, and "saved" was told even if nothing was."""
    run("pepper", "--num-deals", "1", "--seed", "3", "--opponents", "greedy", "--record", file, lines="\n")

    written = []

    def lines():
        run("--resume", "--record", file, lines="\n\n\n")  # in another terminal
        written.append(file.read_text())
        yield "\n"

    class Input:
        isatty, __iter__, _lines = (lambda self: False), (lambda self: self._lines), lines()

    monkeypatch.setattr(sys, "stdin", Input())
    play_match(None, None, 0, None, None, None, file, False, 0.0)
    assert file.read_text() == written[0]
    assert capsys.readouterr().out.endswith(f"not saved in {file}: this game has gone on elsewhere\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="folders have other rights there")
def test_a_game_in_a_folder_that_nobody_may_enter_goes_on_and_says_why_it_is_not_saved(file):
    """It is no deleted game, and no end of the match."""
    session = start("donguri", file)
    session.save()
    child = os.fork()
    if child == 0:
        try:
            file.parent.chmod(0)
            if os.geteuid() == 0:  # who may enter every folder
                os.setuid(65534)
            session.save()
            os._exit(session.deleted or session.unsaved != os.strerror(errno.EACCES))
        finally:
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    file.parent.chmod(0o700)
    assert os.waitstatus_to_exitcode(status) == 0
