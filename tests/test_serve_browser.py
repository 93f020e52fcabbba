"""``trick serve`` and ``trick replay --html`` in Chromium, headless."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import helpers
import pytest

for library in ("starlette", "uvicorn", "onnxruntime", "playwright"):
    pytest.importorskip(library)
CHROMIUM = helpers.chromium()
if CHROMIUM is None:
    if os.environ.get("CI") == "true":
        pytest.fail("CI=true, but there is no chromium: the page would not be tested", pytrace=False)
    pytest.skip("needs chromium", allow_module_level=True)

import uvicorn  # noqa: E402
from PIL import Image  # noqa: E402
from playwright.sync_api import Page, expect, sync_playwright  # noqa: E402

from trick_envs.agents import make_agent  # noqa: E402
from trick_envs.agents.pretrained import pretrained_file  # noqa: E402
from trick_envs.engine.registry import game_type, load_game  # noqa: E402
from trick_envs.matches.loop import play_match  # noqa: E402
from trick_envs.play.characters import NAMES  # noqa: E402
from trick_envs.play.web import make_app  # noqa: E402
from trick_envs.play.web.export import replay_page  # noqa: E402

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
]
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SMALL = """[...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() && [...one.childNodes].some(
(node) => node.nodeType === 3 && node.data.trim()) && parseFloat(getComputedStyle(one).fontSize) < 11.99)
.map((one) => one.outerHTML.slice(0, 90))"""  # letters that are too small
PATIENCE = 60_000  # ms; the machine may be busy
expect.set_options(timeout=PATIENCE)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server that saves games in a folder: its address."""
    server = uvicorn.Server(uvicorn.Config(make_app("donguri", folder=folder), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(5)


@pytest.fixture(scope="module")
def address(tmp_path_factory: Any) -> Iterator[str]:
    """The server's."""
    with serving(tmp_path_factory.mktemp("games")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def left() -> dict[Any, list[Page]]:
    """Pages that no test has any more, by their options: to go on with one takes a quarter of the time of a new one."""
    return {}


@pytest.fixture
def open_page(chromium: Any, address: str, left: dict[Any, list[Page]]) -> Iterator[Any]:
    """Opens pages that remember nothing; afterwards checks that none has failed, or asked anybody but this server."""
    pages, wrong = [], []

    def note(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:", "file:")):
            wrong.append(request.url)

    def fail(error: Any) -> None:
        wrong.append(str(error))

    def make(size: Any = DESK, own: bool = False, **options: Any) -> Page:
        """``own``: nobody has had this page before, and nobody has it afterwards."""
        options = {"reduced_motion": "reduce", **options}
        free = left.setdefault(tuple(sorted(options.items())), [])
        if own or not free:
            page = chromium.new_context(viewport=size, **options).new_page()
            page.set_default_timeout(PATIENCE)
        else:
            page = free.pop()
            page.set_viewport_size(size)
        page.context.on("request", note)
        page.on("pageerror", fail)
        pages.append((page, None if own else free))
        return page

    yield make
    for page, free in pages:
        page.unroute_all(behavior="ignoreErrors")
        if free is None or page.url.startswith("file:"):
            page.context.close()
            continue
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.goto(f"{address}/static/icon.svg")
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.context.clear_cookies()
        page.mouse.move(0, 0)
        page.context.remove_listener("request", note)
        page.remove_listener("pageerror", fail)
        free.append(page)
    assert wrong == []


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return played("donguri", 3)


def resize(page: Page, size: Any = None, letters: int | None = None) -> None:
    """Gives a page another size, or letters of so many pixels, and waits until it is laid out anew."""
    if size is not None:
        page.set_viewport_size(size)
    if letters is not None:
        page.evaluate("(size) => { document.documentElement.style.fontSize = `${size}px`; }", letters)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def without_pauses(page: Page, address: str) -> None:
    """What this page shows from now on is shown without pauses."""
    page.goto(f"{address}/static/icon.svg")  # a small page of this server
    page.evaluate("localStorage.setItem('speed', 'instant')")


def deal(page: Page, address: str, **asked: Any) -> str:
    """Opens a new game, shown without pauses; returns its address."""
    without_pauses(page, address)
    name = page.evaluate(
        """async (body) => {
            const reply = await fetch("/api/games", { method: "POST", headers: { "content-type": "application/json" },
                body: JSON.stringify(body) });
            return (await reply.json()).game.id;
        }""",
        asked,
    )
    page.goto(f"{address}/game/{name}")
    expect(page.locator("#hand.ready")).to_be_visible(timeout=PATIENCE)
    return f"{address}/game/{name}"


def played(name: str, players: int, num_deals: int = 1) -> dict[str, Any]:
    """A match between players of whom each is ``greedy``."""
    agents = dict.fromkeys(range(players), make_agent("greedy", load_game(name, players, num_deals)))
    return play_match(name, agents, 4, players, num_deals)


def open_record(page: Page, address: str, folder: Path, record: dict[str, Any]) -> None:
    """Drops a record into the viewer."""
    (folder / "match.json").write_text(json.dumps(record))
    page.goto(f"{address}/replay")
    page.set_input_files("#file", folder / "match.json")


def short_game(page: Page, address: str) -> None:
    """One deal of Donguri for three, against the heuristic."""
    deal(page, address, game="donguri", num_players=3, opponents="greedy", num_deals=1, seed=5)


SPACE = """state.goOn && state.frame?.pause !== "deal" &&
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }))"""  # in one turn of the page
TURN = "document.querySelector('#hand.ready') ? state.frame.number : null"  # how many plays there were; null: not yet
TAKEN = "(before) => state.busy || state.frame.number > before"  # a tap is told to the page late, a click at once
IN_SIGHT = """async () => {
// The width of a card, and how much of the last card and of each button can be seen.
const cards = [...document.querySelectorAll("#hand button")];
const buttons = [...document.querySelectorAll("#foot button")].filter((one) => one.checkVisibility());
const seen = await new Promise((tell) => {
    const watch = new IntersectionObserver(tell);
    for (const one of [cards.at(-1), ...buttons]) watch.observe(one);
});
return [cards[0].getBoundingClientRect().width, ...seen.map((one) => one.intersectionRatio)]; }"""
GO_ON_AFTER_DEAL = """() => { const button = document.querySelector("#summary[open] .primary");
if (state.about.over || !button) return false; button.click(); return true; }"""  # at once: not on what comes next


def play_to_the_end(page: Page, play: Any) -> None:
    """Plays whenever it is the person's turn, and goes on otherwise, until the result is shown."""
    limit = time.monotonic() + 3 * PATIENCE / 1000
    while not page.evaluate("state.about.over && !state.busy"):
        assert time.monotonic() < limit
        if page.evaluate(GO_ON_AFTER_DEAL):
            continue
        if (number := page.evaluate(TURN)) is not None:
            play()
            page.wait_for_function(TAKEN, arg=number)
        else:
            page.evaluate(SPACE)
            page.wait_for_timeout(15)


def test_a_stranger_on_a_phone_plays_loses_reviews_and_is_told_that_another_card_is_better(open_page, address):
    """From the address of the server to the end of a retry, by taps alone, and never wider than the screen."""
    page = open_page(PHONE, has_touch=True)
    without_pauses(page, address)

    def the_same_cards(route: Any) -> None:  # a match of one deal, lost by playing the first legal card
        body = route.request.post_data_json
        route.continue_(**({} if body is None else {"post_data": json.dumps({**body, "seed": 4, "num_deals": 1})}))

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    def play() -> None:
        fits()
        page.locator("#hand .legal").first.tap()

    page.route("**/api/games", the_same_cards)
    page.goto(address)
    fits()
    page.get_by_role("button", name="Play Zaraba").tap()
    expect(page.locator("#hand.ready")).to_be_visible()
    play_to_the_end(page, play)
    expect(page.locator("#summary h2")).to_have_text("Match over")  # not "You win"
    fits()
    page.get_by_role("button", name="Review my game").tap()
    expect(page.locator("#verdict")).to_contain_text("Your decisive blunder", timeout=3 * PATIENCE)
    expect(page.locator("#retry-all")).to_be_in_viewport(ratio=1)  # once below the table, out of sight
    fits()
    page.locator("#retry-all").tap()
    told = page.locator("#retry p").first
    expect(told).to_contain_text("Which card is better?")
    page.evaluate("scrollTo(0, 0)")
    verdicts = []
    for number in range(page.locator("#hand .legal").count()):
        page.locator("#hand .legal").nth(number).tap()
        expect(page.locator("#hand .legal").nth(number)).to_have_class(re.compile("tried"))  # it is told of this card
        expect(told).to_contain_text(re.compile("what you played|that you played"))
        fits()
        box = told.bounding_box()
        assert 0 <= box["y"] <= box["y"] + box["height"] <= PHONE["height"]  # where it is read without scrolling
        verdicts.append(told.inner_text())
    assert sum("Better by" in one and "the best card" in one for one in verdicts) == 1
    card = page.locator("#hand .legal").first
    page.keyboard.press(card.get_attribute("data-key") or "")
    expect(card).to_have_class(re.compile("tried"))
    expect(card).to_be_focused()  # the ring lay on another card
    expect(page.locator("#retry .progress")).to_contain_text("1 of ")
    asked: list[str] = []
    page.route("**/retries/*", lambda route: (asked.append(route.request.url), route.continue_()))
    step = page.evaluate("viewer.at")
    page.evaluate("""() => {
        [...document.querySelectorAll("#retry button")].find((one) => one.innerText === "Next mistake").click();
        document.querySelector("#hand .legal").click(); }""")  # a card of the mistake before, which is there still
    expect(told).to_contain_text("Mistake 2 of ")
    assert [int(url.rsplit("/", 1)[1]) for url in asked] == [step]  # once judged in the position of the next
    page.evaluate("""() => {
        [...document.querySelectorAll("#retry button")].find((one) => one.innerText === "Back to the review").click();
        document.querySelector("#hand .legal").click(); }""")  # a card of the last mistake, which is there still
    expect(page.locator("#retry-all")).to_be_in_viewport(ratio=1)
    expect(page.locator("#message")).to_be_empty()
    fits()
    page.locator(".mistakes").get_by_role("button", name="Try again").last.tap()
    expect(page.locator("#retry .progress")).to_contain_text("1 of ")  # what was found before is known


def test_the_others_have_names_marks_and_strengths_of_their_own(open_page, address):
    """In plates, log, scores and review; the record keeps the names of the environments."""
    page = open_page()
    short_game(page, address)
    expect(page.locator("#score tbody th")).to_have_text(["You", "Ben casual", "Cleo casual"])
    marks = page.evaluate("[...document.querySelectorAll('#score .avatar')].map((one) => one.getAttribute('src'))")
    assert marks == ["/avatars/you.svg", "/avatars/1.svg", "/avatars/2.svg"]
    page.wait_for_function("() => [...document.querySelectorAll('#score .avatar')].every((one) => one.naturalWidth)")
    assert {"You", "Ben", "Cleo"} <= set(page.locator(".plate .who > b:first-of-type").all_inner_texts())
    page.click("#deal-again")
    page.select_option("#seat", "1")
    page.select_option("#opponents", "each")
    who = page.locator("#each .who")
    expect(who).to_have_text(["Cleo, to your left", "Ada, to your right"])
    page.locator("#each select").first.select_option("pretrained+rollout:64")
    page.locator("#each select").last.select_option(label="beginner")
    expect(page.locator("#each small")).to_have_text(["pretrained+rollout:64", "random"])
    before = page.url
    page.click("#form button[type=submit]")
    page.wait_for_url(lambda url: url != before)
    expect(page.locator("#score tbody th")).to_have_text(["Ada beginner", "You", "Cleo best"])
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#score tbody th")).to_have_text(["Ada beginner", "You", "Cleo best"])
    other.close()
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
    log = page.locator("#log").inner_text()
    assert "player_" not in log
    assert all(name in log for name in ("Ada plays", "Cleo plays", "You play"))
    expect(page.locator("#summary tbody th").filter(has_text="Cleo")).to_have_count(1)
    record = page.evaluate("fetch(`/api/games/${state.about.id}/record`).then((reply) => reply.json())")
    assert record["players"] == ["random", "person", "pretrained+rollout:64"]
    assert "Cleo" not in json.dumps(record)
    page.get_by_role("button", name="Review my game").click()
    expect(page.locator("#view option")).to_have_text(["everybody: all open", "Ada", "You", "Cleo"])
    expect(page.locator("#graph .axis")).to_contain_text("Your expected result", timeout=3 * PATIENCE)
    page.select_option("#view", "2")
    expect(page.locator("#verdict")).to_contain_text("As Cleo: ")
    assert "player_" not in page.locator("aside").inner_text()


def test_a_deal_is_played_by_clicking_and_then_looked_at(open_page, address):
    page = open_page()
    short_game(page, address)
    expect(page.locator("#prompt")).to_contain_text("ou ")
    page.evaluate("summary.showModal = () => { globalThis.shown = (globalThis.shown ?? 0) + 1; summary.show(); }; null")
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
    expect(page.locator("#summary .result .items")).to_have_count(3)  # what the points are for
    assert page.evaluate("shown") == 1  # once this table came twice where a match has one deal
    assert page.locator("#score tbody tr").count() == 3
    game = page.url
    page.reload()  # it is all there again
    expect(page.locator("#summary")).to_be_visible()
    assert page.url == game
    page.get_by_role("button", name="Review my game").click()
    expect(page.locator("#thoughts table")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**#step=1&seat=0")
    page.keyboard.press("End")
    expect(page.locator("#to-next")).to_be_disabled()


def test_an_illegal_card_says_the_rule(open_page, address):
    page = open_page()
    short_game(page, address)
    limit = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < limit:
        if page.locator("#hand.ready .illegal").count():
            break
        if page.locator("#hand.ready").count():
            page.locator("#hand .legal").first.click()
        page.keyboard.press(" ")
        page.wait_for_timeout(100)
    number = page.locator("#hand button").count()
    page.locator("#hand.ready .illegal").first.click(force=True)
    expect(page.locator("#message")).to_contain_text("You may not play")
    assert page.locator("#hand button").count() == number


def test_the_keyboard_is_enough(open_page, address):
    page = open_page()
    short_game(page, address)
    turn = iter(range(1000))

    def play() -> None:
        if next(turn) % 2:
            page.keyboard.press("1")  # the first legal card
            return
        page.keyboard.press("Home")
        names = [button.get_attribute("aria-label") for button in page.locator("#hand button").all()]
        for _ in range(next(at for at, name in enumerate(names) if ", legal" in name)):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")

    page.keyboard.press("r")
    expect(page.locator("#rules")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#rules")).to_be_hidden()
    page.keyboard.press("h")
    expect(page.locator("#hand .hint").first).to_be_visible()
    page.keyboard.press("h")
    play_to_the_end(page, play)
    expect(page.locator("#summary button:focus")).to_have_text("Review my game")
    page.keyboard.press("Enter")
    expect(page.locator("#viewer")).to_be_visible()


def test_the_rules_show_a_picture_for_each(open_page, address):
    page = open_page(PHONE, has_touch=True)
    short_game(page, address)
    page.get_by_role("button", name="Rules").tap()
    expect(page.locator("#rules .goal")).to_contain_text("Capture as many points")
    rules = page.locator("#rules .rule").count()
    assert rules > 5
    page.wait_for_function("() => [...document.images].every((image) => !image.closest('#rules') || image.src)")
    for image in page.locator("#rules .rule img").all():
        image.scroll_into_view_if_needed()
        page.wait_for_function("(image) => image.complete && image.naturalWidth > 0", arg=image.element_handle())
        assert image.bounding_box()["width"] >= image.evaluate("(image) => image.naturalWidth") - 1  # no letters shrink
        assert image.get_attribute("alt")
    assert page.locator("#rules .rule img").count() == rules
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#rules form button").tap()
    expect(page.locator("#rules")).to_be_hidden()


def test_rules_are_japanese_in_a_japanese_browser(open_page, address):
    page = open_page(PHONE, has_touch=True, locale="ja-JP")
    page.goto(address)
    expect(page.locator(".shelf li", has_text="ザラバ22").locator("p").first).to_contain_text("株価が高い")
    expect(page.locator(".shelf li", has_text="ハーツ").locator("p").first).to_contain_text("スペードのQ")
    expect(page.locator("#strength option:checked")).to_have_text("上級")
    page.get_by_role("button", name="ザラバ22 覚える").tap()
    expect(page.locator("#lesson")).to_contain_text("はじめての「ザラバ22」")
    page.get_by_role("button", name="次へ").tap()
    expect(page.locator("#lesson h3")).to_have_text("4つのマークは4つの株")
    expect(page.locator("#lesson img")).to_have_attribute("alt", re.compile("クラブのA、クラブの2"))
    assert page.locator("#lesson .rule").get_attribute("lang") == "ja"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_game_is_japanese_in_a_japanese_browser(open_page, address):
    page = open_page(PHONE, has_touch=True, locale="ja-JP")
    short_game(page, address)
    page.get_by_role("button", name="ヒント").tap()
    expect(page.locator("#note b")).to_contain_text("おすすめ")
    known = {*NAMES, "trick", "envs", "random"}

    def english() -> set[str]:
        return set(re.findall(r"[A-Za-z]*[a-z]{3,}", page.inner_text("body"))) - known

    assert english() == set()
    page.get_by_role("button", name="その他").tap()
    expect(page.locator("#more")).to_be_visible()
    assert english() <= {"Enter", "Space"}  # keys
    page.keyboard.press("Escape")
    expect(page.locator("#more")).to_be_hidden()
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.tap())
    expect(page.locator("#summary")).to_contain_text("得点")
    assert english() == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


LINES = """(one) => {
    const [lines, texts] = [[], document.createTreeWalker(one, NodeFilter.SHOW_TEXT)];
    while (texts.nextNode()) for (let at = 0; at < texts.currentNode.length; at += 1) {
        const range = document.createRange();
        range.setStart(texts.currentNode, at);
        range.setEnd(texts.currentNode, at + 1);
        const { top } = range.getBoundingClientRect();
        if (Math.abs(top - (lines.at(-1)?.top ?? -99)) > 5) lines.push({ top, text: "" });
        lines.at(-1).text += range.toString();
    }
    return lines.map(({ text }) => text.trim());
}"""  # of an element, as they are broken


def test_japanese_lines_end_between_words_and_the_number_of_a_trick_is_whole(open_page, address):
    """Once they were "…どのカードも出せま" and "す", and "ディール1(3ディール先取まで)·…"."""
    page = open_page(PHONE, has_touch=True, locale="ja-JP")
    page.goto(address)
    title = page.locator(".shelf h3", has_text="ホイスト")
    assert title.evaluate(LINES) == ["ダブルデッキ・", "ジャーマンホイスト"]
    deal(page, address, game="double_deck_whist", opponents="greedy", seed=5)
    page.evaluate("""() => {
        const prompt = "クラブのカードがないので、どのカードも出せます";
        const previous = [0, 1, 2, 3].map((seat) => [seat, 8 + seat]);
        return state.showFrames([{ ...state.frame, prompt, previous, taker: 0, trick: 12 }], null, state.about);
    }""")
    assert page.locator(".foot .prompt").evaluate(LINES) == ["クラブのカードがないので、", "どのカードも出せます"]
    count, box = page.locator(".count"), page.locator(".count").bounding_box()
    assert count.inner_text().endswith("·トリック12")
    assert count.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    assert box["x"] + box["width"] <= page.locator(".before").bounding_box()["x"]


# A step of a guided deal, asked and pressed in one turn of the page, but for the choice of a card; tells what was read.
LEARN = """() => {
    const [rule, coach] = [document.querySelector("#lesson[open]"), document.getElementById("coach")];
    const read = (kind, told, button) => { button?.click(); return [kind, told]; };
    if (rule) return read("rule", rule.querySelector("h3").innerText, rule.querySelector(".primary"));
    if (state.about?.over && document.getElementById("summary").open && !state.goOn) return ["over"];
    const next = coach.querySelector(".primary");
    if (next) return read("coach", coach.innerText, next);
    const ready = state.lesson && state.tried === null && document.querySelector("#hand.ready");
    return read(ready ? "choose" : "", coach.innerText);
}"""


@pytest.mark.slow
def test_a_deal_of_zaraba_is_learnt_on_a_phone(open_page, address):
    """Rules come when they matter, every step says what is possible and why, and the score is itemised at the end."""
    page = open_page(PHONE, has_touch=True)
    page.goto(f"{address}/?learn=zaraba22")
    coach, summary = page.locator("#coach"), page.locator("#summary")
    expect(page.locator("#lesson")).to_contain_text("Own cards of the suits whose price is high")
    titles, told, tricks, limit = set(), [], 0, time.monotonic() + 6 * PATIENCE / 1000
    while (step := page.evaluate(LEARN)) != ["over"]:
        assert time.monotonic() < limit
        if step[0] == "rule":
            titles.add(step[1])
        elif step[0]:
            told.append(step[1])
            tricks += bool(re.search("takes? the trick(.|\n)*Go on", step[1]))
        if step[0] == "choose":
            cards = page.locator("#hand button").count()
            page.locator("#hand .legal").first.tap()
            says = {"lead": "Lead ", "follow": "Play ", "keep": "Keep "}[page.evaluate("state.lesson.phase")]
            expect(coach.locator(".primary")).to_contain_text(says)  # once "Play", whatever the card was named for
            assert page.locator("#hand button").count() == cards  # looked at, not played
        elif not step[0]:
            page.wait_for_timeout(20)
    assert titles >= {"The chart makes the prices", "Follow one of the suits", "Who takes the trick", "An example"}
    for words in ("You lead the first of two cards", "goes to the chart", "takes the trick", "Your cards pay now"):
        assert any(words in one for one in told), words
    assert [one for one in told if re.match("[a-z]", one)] == []  # once "ben takes"
    assert tricks == len(re.findall("takes? the trick", page.locator("#log").inner_text())) > 0  # once all but the last
    expect(summary).to_contain_text("(price ")
    summary.get_by_role("button", name="Play a whole match").tap()
    expect(page.locator("body.learning")).to_have_count(0)


def test_a_browser_that_may_remember_nothing_plays_and_learns(open_page, address):
    """Where cookies are refused, to ask for what was kept is an error: once nothing was drawn."""
    page = open_page(own=True)
    page.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name,
        { get() { throw new DOMException("denied", "SecurityError"); } });"""
    )
    page.goto(address)
    page.get_by_role("button", name="Play Donguri").click()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.evaluate("document.querySelector('#speed').value = 'instant'")
    for _ in range(3):
        number = page.evaluate(TURN)
        page.locator("#hand .legal").first.click()
        page.wait_for_function(TAKEN, arg=number)
        expect(page.locator("#hand.ready")).to_be_visible()
    page.goto(f"{address}/?learn=pepper")
    expect(page.locator("#lesson")).to_be_visible()


def test_a_guided_deal_goes_on_after_a_reload(open_page, address):
    """Once it began anew."""
    page = open_page()
    page.goto(f"{address}/?learn=pepper")
    while not page.evaluate("Boolean(state.lesson)"):
        if page.locator("#lesson[open]").count():
            page.locator("#lesson .primary").click()
        page.wait_for_timeout(20)
    shown = page.evaluate("[location.href, state.frame.number]")
    page.reload()
    page.wait_for_function("() => state.lesson")
    expect(page.locator("#hand.ready")).to_be_visible()
    expect(page.locator("#lesson")).to_be_hidden()
    expect(page.locator("#coach")).to_contain_text("lead")
    assert page.evaluate("[location.href, state.frame.number]") == shown


def test_hints_are_words_first_and_figures_are_remembered(open_page, address):
    page = open_page()
    short_game(page, address)
    expect(page.locator("#figures")).to_be_hidden()
    page.keyboard.press("h")
    expect(page.locator("#note b")).to_be_visible()
    note = page.locator("#note").inner_text()
    assert note == page.evaluate("""(() => { const big = (text) => text[0].toUpperCase() + text.slice(1);
        return `${big(state.hints.plain)}. ${big(state.hints.outlook)}.`; })()""")
    assert "±" not in note
    assert page.locator("#hand .bar").count() == 0
    advised = page.evaluate("state.about.cards[state.hints.search].name")
    assert (
        page.locator("#hand .hint.star").filter(has_text="★").locator("xpath=..").get_attribute("data-card") == advised
    )
    assert page.locator(f"#hand [data-card='{advised}']").get_attribute("aria-label").endswith("legal, advised")
    expect(page.locator("#values")).to_be_hidden()
    page.click("#figures")
    expect(page.locator("#hand .bar").first).to_be_visible()
    pressed = "one => getComputedStyle(one).backgroundColor"  # where the pointer rests, too: once dark letters on dark
    assert page.locator("#figures").evaluate(pressed) == page.locator("#show-hints").evaluate(pressed)
    below = """[...document.querySelectorAll("#hand [data-key] .hint")].map((one) =>
        one.parentElement.getBoundingClientRect().bottom - one.getBoundingClientRect().bottom)"""
    assert min(page.evaluate(below)) > 8  # the number of the key, which once lay on the figures
    assert page.locator("#values tbody tr").count() == page.evaluate("state.frame.legal.length")
    expect(page.locator("#note")).to_contain_text("points")
    page.reload()
    expect(page.locator("#hand.ready")).to_be_visible()
    expect(page.locator("#values")).to_be_hidden()
    page.keyboard.press("h")
    expect(page.locator("#hand .bar").first).to_be_visible()
    page.click("#figures")
    expect(page.locator("#values")).to_be_hidden()
    expect(page.locator("#hand .bar")).to_have_count(0)


def test_sounds_are_off_until_they_are_switched_on_and_then_remembered(open_page, address):
    page = open_page(own=True)  # with other sounds
    page.add_init_script(
        """window.heard = []; window.contexts = 0;
        window.AudioContext = class extends AudioContext { constructor() { super(); contexts += 1; } };
        const begin = AudioScheduledSourceNode.prototype.start;
        AudioScheduledSourceNode.prototype.start = function (when) {
            heard.push(this.constructor.name); return begin.call(this, when); };
        AudioBufferSourceNode.prototype.start = AudioScheduledSourceNode.prototype.start;"""
    )
    short_game(page, address)
    button = page.locator("#sound")
    page.keyboard.press("?")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Escape")
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    assert page.evaluate("[contexts, heard.length]") == [0, 0]
    page.keyboard.press("s")
    expect(button).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("() => state.sound.context?.state === 'running'")
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    assert set(page.evaluate("heard")) == {"AudioBufferSourceNode", "OscillatorNode"}  # a card, and your turn
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("s")
    expect(button).to_have_attribute("aria-pressed", "false")
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_a_finished_trick_goes_to_its_taker_and_the_table_says_why(open_page, address):
    page = open_page(PHONE, has_touch=True, reduced_motion="no-preference")
    short_game(page, address)
    page.evaluate(
        """() => { document.getElementById("speed").value = "normal"; window.told = []; window.swept = [];
        window.heights = [];
        new MutationObserver(() => {
            const said = document.querySelector(".prompt").innerText;
            heights.push(document.querySelector(".felt").clientHeight);
            if (state.frame.pause) told.push(said);
            const [card] = document.querySelectorAll(".swept");
            if (card && !swept.length) {
                const [motion] = card.getAnimations();
                const [x, y] = motion.effect.getKeyframes().at(-1).transform.match(/-?[0-9.]+(?=px)/g).map(Number);
                const box = card.getBoundingClientRect();
                const plate = document.querySelector(`.plate[data-seat="${state.frame.taker}"]`);
                const there = plate.getBoundingClientRect().toJSON();
                swept.push(box.x + box.width / 2 + x, box.y + box.height / 2 + y, there);
            }
        }).observe(document.getElementById("table"), { childList: true, subtree: true }); }"""
    )
    limit = time.monotonic() + PATIENCE / 1000
    while not page.evaluate("swept.length"):
        assert time.monotonic() < limit
        if page.locator("#hand.ready").count():
            page.locator("#hand .legal").first.tap()
        page.wait_for_timeout(50)
    assert any("the trick: " in told for told in page.evaluate("told"))
    assert len(set(page.evaluate("heights"))) == 1  # once the cards moved when a sentence needed a second line
    x, y, plate = page.evaluate("swept")
    assert plate["x"] < x < plate["x"] + plate["width"]
    assert plate["y"] - 5 < y < plate["y"] + plate["height"] + 5
    expect(page.locator("#table .swept")).to_have_count(0)


def test_a_number_says_what_it_means_by_a_tap(open_page, address):
    page = open_page(PHONE, has_touch=True)
    short_game(page, address)
    page.locator(".plate[title*='points in this match']").first.tap()
    told = page.locator("#message")
    expect(told).to_contain_text("points in this match")
    box = told.bounding_box()
    assert box["y"] + box["height"] <= page.locator("#hand").bounding_box()["y"]  # once it lay on half of the hand
    page.locator(".plate[title*='points in this match']").nth(1).tap(timeout=5000)  # below it
    resize(page, SCREENS["landscape"])
    box = told.bounding_box()
    assert box["x"] + box["width"] <= page.locator("#hand").bounding_box()["x"]
    page.locator(".fact[title*='acorns']").first.tap()
    expect(page.locator("#message")).to_contain_text("With more acorns the strongest card takes the trick")


def test_what_the_table_shows_is_told_once_and_in_one_place(open_page, address):
    """Once plates and facts told the same sentence twice, and "led" and "no vote" stood beside no card."""
    page = open_page()
    short_game(page, address)
    named = """[...document.querySelectorAll("#table .tip")].map((one) => [one.ariaLabel, one.title])"""
    told = dict(page.evaluate(named))
    assert told["Ben"].startswith("Ben has 0 points in this match")
    assert told["acorns 0"].startswith("Votes in this trick: acorns 0")
    expect(page.locator("#score tr[aria-current=true]")).to_contain_text("You")
    expect(page.get_by_role("complementary", name="Score")).to_be_visible()
    page.evaluate(LAID, {"led": 1, "taking": 1, "remarks": [[2, "no vote"]]})
    laid = page.evaluate("[...document.querySelectorAll('.laid')].map((one) => one.ariaLabel.split(', ').slice(1))")
    assert sorted(laid) == [["Ben", "led", "takes"], ["Cleo", "no vote"], ["you"]]
    assert page.locator(".pill:not([aria-hidden])").count() == 0


def test_open_cards_are_told_and_a_card_of_a_table_once(open_page, address):
    """Once the open hand was silent, and a hint was of "K K hearts"."""
    page = open_page()
    deal(page, address, game="double_deck_whist", opponents="greedy", seed=4)
    cards = page.evaluate("state.frame.table.seats[3].hand.map((kind) => state.about.cards[kind].words)")
    assert page.locator(".plate[data-seat='3']").get_attribute("aria-label") == ", ".join(["Dara", *cards])
    assert page.locator(".plate[data-seat='1']").get_attribute("aria-label") == "Ben"
    shown = page.evaluate(
        "state.frame.table.rows.find((row) => row.cards).cards.map((at) => state.about.cards[at].words)"
    )
    expect(page.get_by_role("button", name=f"to be won, {', '.join(shown)}")).to_have_count(1)
    page.click("#show-hints")
    page.click("#figures")
    heads = page.locator("#values-table tbody th")
    expect(heads.first).to_be_visible()
    words = page.evaluate("state.about.cards.map((card) => card.words)")
    assert page.get_by_role("rowheader", name=re.compile(rf"^({'|'.join(words)})$")).count() == heads.count() > 0


def test_what_is_asked_and_what_has_ended_is_told_once(open_page, address):
    """Once a screen reader read what is asked twice, and a trick's end in the log and as what is asked."""
    page = open_page()
    short_game(page, address)
    asked = page.evaluate("state.frame.prompt")
    status = page.get_by_role("main").get_by_role("status")
    expect(status.first).to_have_text(asked, ignore_case=True)
    expect(page.locator(".foot .prompt")).to_have_attribute("aria-hidden", "true")
    page.select_option("#speed", "slow", force=True)
    page.locator("#hand .legal").first.click()
    page.wait_for_function("() => state.goOn && state.frame.pause === 'trick'")
    expect(page.locator(".foot .prompt")).not_to_have_attribute("aria-hidden", "true")
    expect(status.first).to_be_empty()
    expect(page.get_by_role("log")).to_contain_text(" the trick: ")


def test_two_tabs_play_two_games(open_page, address):
    one, other = open_page(), open_page()
    short_game(one, address)
    short_game(other, address)
    assert one.url != other.url
    one.locator("#hand .legal").first.click()
    expect(one.locator("#hand.ready")).to_be_visible()  # who watches from here on is not brought up to date meanwhile
    cards = other.locator("#hand button").count()
    other.reload()
    expect(other.locator("#hand.ready")).to_be_visible()
    assert other.locator("#hand button").count() == cards
    one.keyboard.press("?")
    one.click("#let-watch")
    other.goto(one.get_by_label("Link to watch").input_value())
    told = other.locator("#message")
    expect(told).to_contain_text("You watch this game")
    other.click("#look-back")
    expect(other.locator("#past")).to_be_visible()
    other.click("#past-end")
    other.evaluate("message.textContent = ''")
    other.locator("#hand button").first.click(force=True)
    expect(told).to_contain_text("You watch this game")  # once nothing said so
    for key in ("h", "n", "u"):
        other.keyboard.press(key)
    assert not other.evaluate("state.hintsOn || document.getElementById('new').open")  # once: "not among the games"
    other.evaluate("""() => {
        globalThis.seen = [];
        new MutationObserver(() => seen.push(state.frame.number)).observe(table, { childList: true, subtree: true });
    }""")
    lines, first = other.locator("#log p").count(), other.evaluate("state.frame.number")
    one.keyboard.press("Escape")
    one.locator("#hand .legal").first.click()
    one.wait_for_function("(number) => state.frame.number > number && !state.busy", arg=first)
    last = one.evaluate("state.frame.number")
    other.wait_for_function("(number) => state.frame.number === number && !state.busy", arg=last)
    assert last > first + 1
    assert sorted(set(other.evaluate("seen"))) == [*range(first + 1, last + 1)]  # every card, once only the last
    assert other.locator("#log p").count() == lines + last - first


def test_a_phone_shows_table_and_hand_at_once(open_page, address):
    page = open_page(PHONE, has_touch=True)
    short_game(page, address)
    page.evaluate("scrollTo(0, 0)")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    hand = page.locator("#hand").bounding_box()
    assert hand is not None
    assert hand["y"] + hand["height"] <= 844
    rows = {round(button.bounding_box()["y"] / 20) for button in page.locator("#hand button").all()}
    assert len(rows) <= 2
    assert min(button.bounding_box()["width"] for button in page.locator("#hand button").all()) >= 24
    page.locator("#hand .legal").first.tap()
    expect(page.locator("#log p").last).not_to_be_empty()


def test_a_record_is_dropped_into_the_viewer(open_page, address, record, tmp_path):
    page = open_page()
    page.goto(f"{address}/replay")
    (tmp_path / "broken.json").write_text('{"game":\n oops')
    page.set_input_files("#file", tmp_path / "broken.json")
    expect(page.locator("#message")).to_contain_text("line 2")
    (tmp_path / "match.json").write_text(json.dumps(record))
    page.set_input_files("#file", tmp_path / "match.json")
    expect(page.locator("#thoughts table")).to_be_visible()
    page.select_option("#view", "1")
    page.wait_for_url("**#step=0&seat=1")
    page.locator("#timeline button[data-step]").nth(4).click()
    expect(page.locator("#timeline [aria-current]")).to_have_count(1)
    page.click("#analyse")
    expect(page.locator("#verdict")).to_contain_text("As player_1: ", timeout=3 * PATIENCE)
    here = page.url
    page.reload()
    expect(page.locator("#view")).to_have_value("1")
    expect(page.locator("#verdict")).to_be_visible()  # it is there still
    assert page.url == here
    page.click("#play-on")
    expect(page.locator("#hand.ready")).to_be_visible()


def test_a_replays_page_works_from_a_file(open_page, record, tmp_path):
    file = tmp_path / "match.html"
    file.write_text(replay_page(record), encoding="utf-8")
    page = open_page()
    page.goto(f"file://{file}#step=1&seat=2")
    expect(page.locator("#table .plate.own")).to_be_visible()
    expect(page.locator("#thoughts table")).to_be_visible()
    page.keyboard.press("PageDown")
    page.keyboard.press("a")
    page.wait_for_url("**&seat=all")
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#graph svg")).to_be_visible()
    assert page.get_by_role("button", name="Try again").count() == 0  # nobody is there to play with
    resize(page, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_replays_page_that_judges_nothing_says_nothing_of_mistakes(open_page, record, tmp_path):
    file = tmp_path / "match.html"
    file.write_text(replay_page(record, judge=False), encoding="utf-8")
    page = open_page()
    page.goto(f"file://{file}#step=1&seat=all&review")
    expect(page.locator("#table .plate.own")).to_be_visible()
    expect(page.locator("#review")).to_be_hidden()
    page.keyboard.press("PageDown")
    expect(page.locator("#thoughts")).to_contain_text("names")


@helpers.crossed(size=[DESK, PHONE], scheme=["dark", "light"])
def test_axe_finds_nothing(open_page, address, record, tmp_path, size, scheme):
    """Accessibility, by axe-core."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(size, bypass_csp=True, color_scheme=scheme)

    def check(where: str) -> None:
        found = axe.run(page).response["violations"]
        assert not found, (where, [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found])

    page.goto(address)
    expect(page.locator(".shelf li")).to_have_count(6)
    check("start")
    short_game(page, address)
    page.keyboard.press("n")
    check("new")
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    expect(page.locator("#hand .hint").first).to_be_visible()
    check("play")
    page.keyboard.press("r")
    expect(page.locator("#rules[open] h3").first).to_be_visible()
    check("rules")
    page.keyboard.press("Escape")
    page.locator("#hand .legal").first.click()
    expect(page.locator("#take-back")).to_be_enabled()
    page.keyboard.press("g")
    expect(page.locator("#games li")).not_to_have_count(0)
    check("games")
    page.keyboard.press("Escape")
    expect(page.locator("#hand.ready")).to_be_visible()
    page.keyboard.press("?")
    check("more")
    page.click("#stop")
    check("question")
    page.locator(".question").get_by_role("button", name="End the match").click()
    expect(page.locator("#summary")).to_be_visible()
    check("result")
    page.goto(f"{address}/replay")
    check("drop")
    (tmp_path / "match.json").write_text(json.dumps(record))
    page.set_input_files("#file", tmp_path / "match.json")
    expect(page.locator("#thoughts table")).to_be_visible()
    check("replay")
    page.click("#analyse")
    expect(page.locator("#verdict")).to_be_visible(timeout=3 * PATIENCE)
    page.locator("#infer summary").click()
    expect(page.locator("table.belief")).to_be_visible()
    page.locator("table.belief td").first.evaluate("(one) => one.style.setProperty('--share', 1)")  # a certain card
    check("review")


# --- what once went wrong ---------------------------------------------------------------------------------------------


def test_a_victory_is_told_without_the_word_null(open_page, address):
    page = open_page()
    short_game(page, address)
    page.evaluate(
        "Object.assign(state.about, { over: true, winners: [state.about.seat], seed: 5 }); state.showResult()"
    )
    expect(page.locator("#summary h2")).to_have_text("You win")
    assert "null" not in page.locator("#summary").inner_text()


def test_preparing_is_told_while_the_server_prepares_and_no_longer(open_page, address):
    page = open_page(reduced_motion="no-preference")
    page.goto(f"{address}/replay")
    held: list[Any] = []
    page.route("**/api/games", lambda route: held.append(route))
    page.goto(f"{address}/?game=donguri", wait_until="commit")
    expect(page.locator("#message")).to_contain_text("Preparing")
    held.pop().continue_()
    expect(page.locator(".plate").first).to_be_visible()
    expect(page.locator("#message")).to_be_empty()
    page.unroute("**/api/games")
    page.evaluate("void state.newGame(state.chosen())")
    page.wait_for_timeout(1500)  # the cards of the others are still being played
    assert "Preparing" not in page.locator("#message").inner_text()


def new_game(page: Page) -> None:
    """Deals what the form says, without leaving the match at hand without a question."""
    page.keyboard.press("n")
    page.click("#form button[type=submit]")


def test_a_match_is_left_only_after_a_question_and_back_returns_to_it(open_page, address):
    page = open_page()
    short_game(page, address)
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    first, cards = page.url, page.locator("#hand button").count()

    def stop() -> None:
        page.keyboard.press("?")
        page.click("#stop")

    for leave in (lambda: new_game(page), stop):
        leave()
        page.locator(".question").get_by_role("button", name="Go on playing").click()
        expect(page.locator(".question")).to_have_count(0)
        page.keyboard.press("Escape")
        assert page.url == first
        assert page.locator("#hand button").count() == cards
        assert not page.evaluate("state.about.over")
    new_game(page)
    page.locator(".question").get_by_role("button", name="New game").click()
    page.wait_for_url(lambda url: url != first)
    expect(page.locator("#hand.ready")).to_be_visible()
    page.go_back()
    expect(page.locator("#hand.ready button")).to_have_count(cards)
    assert page.url == first


class Slow:
    """The requests of a page, of which some wait until the test lets them go on."""

    def __init__(self, page: Page) -> None:
        self.page, self.wanted = page, ""
        self.waiting: list[Any] = []
        page.route("**/api/**", self.take)  # once for all: to change what is taken takes a while

    def take(self, route: Any) -> None:
        if self.wanted and self.wanted in route.request.url:
            self.waiting.append(route)
        else:
            route.continue_()

    def hold(self, wanted: str) -> None:
        self.wanted, self.waiting = wanted, []

    def one(self) -> Any:
        """The first that waits, once there is one; others no longer do."""
        limit = time.monotonic() + PATIENCE / 1000
        while not self.waiting:
            assert time.monotonic() < limit
            self.page.wait_for_timeout(50)
        self.wanted = ""
        return self.waiting[0]

    def let_go(self) -> None:
        """Lets it go on, until the page has made something of the answer."""
        with self.page.expect_response(self.waiting[0].request.url):
            self.waiting[0].continue_()
        self.page.wait_for_timeout(100)


LEFT_BEHIND = "[state.about, message.textContent, document.querySelectorAll('dialog[open]').length]"


@pytest.mark.parametrize(("key", "what"), [("1", "/plays"), ("h", "/hint"), ("u", "/back"), ("?", "/end")])
def test_back_leaves_nothing_of_a_game_on_the_start_page(open_page, address, key, what):
    """Once an answer on its way was told as "Cannot read properties of null", or brought back the game."""
    page = open_page(own=True)
    slow = Slow(page)
    without_pauses(page, address)
    page.goto(address)
    page.get_by_role("button", name="Play Donguri").click()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#take-back")).to_be_enabled()
    slow.hold(what)
    page.keyboard.press(key)
    if key == "?":
        page.locator("#stop").click()
        page.go_back()
        expect(page.locator(".question")).to_have_count(0)  # once it stayed
        page.go_forward()
        page.get_by_role("button", name="More", exact=True).click()
        page.locator("#stop").click()
        page.locator(".question .primary").click()
    slow.one()
    page.go_back()
    expect(page.locator(".shelf")).to_be_visible()
    slow.let_go()
    assert page.evaluate(LEFT_BEHIND) == [None, "", 0]
    page.go_forward()
    expect(page.locator("#hand .card").first).to_be_visible()


def test_a_lesson_is_left_by_back_and_what_was_not_read_of_it_comes_again(open_page, address):
    page = open_page()
    page.goto(address)
    page.get_by_role("button", name="Learn Pepper").click()
    expect(page.locator("#lesson")).to_be_visible()
    page.go_back()
    expect(page.locator(".shelf")).to_be_visible()
    assert page.evaluate(LEFT_BEHIND) == [None, "", 0]  # once the lesson lay over the start page
    page.go_forward()
    expect(page.locator("#lesson")).to_contain_text("1 of")
    page.get_by_role("button", name="Next").click()
    first = page.locator("#lesson h3").inner_text()
    page.get_by_role("button", name="Next").click()
    page.reload()
    page.get_by_role("button", name="Next").click()  # once a reload showed none of the others
    expect(page.locator("#lesson h3")).not_to_have_text(first)


def test_two_clicks_in_a_slow_net_do_no_more_than_one_and_a_hint_that_failed_is_asked_for_again(open_page, address):
    page = open_page(own=True)
    slow = Slow(page)
    short_game(page, address)
    page.keyboard.press("1")
    expect(page.locator("#take-back")).to_be_enabled()
    slow.hold("/back")
    page.keyboard.press("u")
    page.keyboard.press("u")
    slow.one()
    assert len(slow.waiting) == 1
    slow.let_go()
    expect(page.locator("#take-back")).to_be_disabled()
    expect(page.locator("#message")).to_have_text("")  # once "an older position of this game"
    slow.hold("/api/guides/")
    page.get_by_role("button", name="Rules").click()
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.locator("#more")).to_be_visible()
    slow.one()
    slow.let_go()
    assert page.evaluate("[...document.querySelectorAll('dialog[open]')].map((one) => one.id)") == ["more"]
    page.keyboard.press("Escape")
    expect(page.locator("#more")).to_be_hidden()
    slow.hold("/hint")
    page.keyboard.press("h")
    slow.one().abort()
    expect(page.locator("#message")).to_contain_text("The server does not answer")
    expect(page.locator("#show-hints")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("h")
    expect(page.locator("#hand .hint.star").first).to_be_visible(timeout=3 * PATIENCE)


@pytest.mark.parametrize("what", ["/hint", "/lesson"])
def test_what_was_asked_of_a_position_that_was_played_on_is_no_error(open_page, address, what):
    """Once "This page shows an older position of this game" lay over the table, and hints were switched off."""
    page = open_page(own=True)
    slow = Slow(page)
    short_game(page, address)
    slow.hold(what)
    if what == "/hint":
        page.keyboard.press("h")
    else:  # a guided deal asks with every decision
        every = json.dumps([*range(100)])
        page.evaluate("(every) => sessionStorage.setItem(`learnt ${state.about.id}`, every)", every)
        page.evaluate("history.replaceState(null, '', '#learn')")
        page.reload()
    slow.one()
    before = page.evaluate("state.frame.number")
    page.keyboard.press("1")
    page.wait_for_function(f"(before) => {{ {SPACE}; return state.frame.number > before && !state.busy; }}", arg=before)
    slow.let_go()
    assert page.evaluate("message.textContent") == ""
    if what == "/hint":
        expect(page.locator("#hand .hint.star").first).to_be_visible(timeout=3 * PATIENCE)


@pytest.mark.parametrize(("key", "what"), [("1", "/plays"), ("u", "/back")])
def test_a_hint_that_came_while_something_failed_is_there(open_page, address, key, what):
    page = open_page(own=True)
    slow = Slow(page)
    short_game(page, address)
    page.keyboard.press("1")
    expect(page.locator("#take-back")).to_be_enabled()
    expect(page.locator("#hand.ready")).to_be_visible()
    slow.hold("/hint")
    page.keyboard.press("h")
    hint = slow.one()
    slow.hold(what)
    page.keyboard.press(key)
    failing = slow.one()
    with page.expect_response(hint.request.url):
        hint.continue_()
    page.wait_for_timeout(100)
    failing.abort()
    expect(page.locator("#message")).to_contain_text("The server does not answer")
    expect(page.locator("#hand .hint.star").first).to_be_visible(timeout=3 * PATIENCE)


def test_nothing_takes_the_keyboard_with_it_when_it_goes(open_page, address):
    """Buttons that are hidden or dimmed by what they do, and dialogs: once nothing had the keyboard then."""
    page = open_page()
    deal(page, address, game="hearts", opponents="greedy", seed=5)
    for number in range(3):
        page.locator("#hand .legal").nth(number).click()
    pass_on = "document.getElementById('confirm').click(), document.activeElement.closest('#hand') !== null"
    assert page.evaluate(pass_on)
    expect(page.locator("#hand.ready .legal:focus")).to_have_count(1)
    page.keyboard.press("l")
    expect(page.locator("#past-end")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.locator("#past-back").focus()
    while page.locator("#past-back").is_enabled():
        page.keyboard.press("Enter")
    expect(page.locator("#past-end")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#hand .legal:focus")).to_have_count(1)
    page.keyboard.press("?")
    page.locator("#stop").press("Enter")
    page.locator(".question .primary").press("Enter")
    expect(page.locator("#summary")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#show-result")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Review my game").press("Enter")
    expect(page.locator("#to-back")).to_be_disabled()  # the first step is shown
    page.locator("#to-next").focus()
    page.keyboard.press("End")
    expect(page.locator("#to-play")).to_be_focused()
    page.goto(f"{address}/?games")
    page.get_by_role("button", name="Delete Hearts").press("Enter")
    page.locator(".question").get_by_role("button", name="Delete").press("Enter")
    expect(page.locator("#games")).to_contain_text("None yet")
    expect(page.locator("#games button")).to_be_focused()


def test_the_keyboard_rests_on_a_legal_card(open_page, address):
    page = open_page()
    short_game(page, address)
    looked = 0
    while not page.evaluate("state.about.over && !state.busy"):
        if page.locator("#hand.ready").count():
            on = page.evaluate("document.activeElement.closest('#hand') && document.activeElement.className")
            assert on
            assert "illegal" not in on
            looked += 1
            page.keyboard.press("Enter")
        page.evaluate(SPACE)
        page.wait_for_timeout(20)
    assert looked > 5


# Names that are cut, and cards and facts beyond their place, as once in Pepper on a phone, and "open ha" in Whist.
OUT_OF_PLATES = """[...document.querySelectorAll("#table .plate")].flatMap((plate) =>
[...plate.querySelectorAll(".chip, .held, .bit, .who > b")].filter((one) => one.checkVisibility()).filter((one) => {
    const [box, text] = [one.getBoundingClientRect(), document.createRange()];
    const around = (one.closest(".second") ?? plate).getBoundingClientRect();
    text.selectNodeContents(one);
    return one.localName === "b" && text.getBoundingClientRect().width > box.width + 0.02
        || box.bottom > around.bottom + 1 || box.right > around.right + 1;
}).map((one) => one.outerHTML))"""
SCREENS = {"phone": PHONE, "landscape": {"width": 844, "height": 390}, "laptop": {"width": 1366, "height": 650},
           "tablet": {"width": 768, "height": 1024}, "desk": {"width": 1100, "height": 800}}  # fmt: skip


@helpers.crossed(screen=SCREENS, table=[("pepper", 9), ("double_deck_whist", 4), ("zaraba22", 3)])
def test_table_and_hand_fit_the_screen_and_hints_do_not_move_the_hand(open_page, address, screen, table):
    size, (game, players) = SCREENS[screen], table
    page = open_page(size)
    deal(page, address, game=game, num_players=players, opponents="greedy", seed=5)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate(OUT_OF_PLATES) == []
    before = page.locator("#hand").bounding_box()
    last = page.locator("#hand button").last.bounding_box()
    assert last["y"] + last["height"] <= size["height"]
    page.keyboard.press("h")
    expect(page.locator("#hand .hint.star").first).to_be_visible(timeout=3 * PATIENCE)
    after = page.locator("#hand").bounding_box()
    assert page.evaluate("hand.scrollHeight <= hand.clientHeight + 1")  # once its last row was half cut
    if screen != "landscape":  # there the hand is beside the table, below the hint
        assert after["y"] == pytest.approx(before["y"], abs=1)
        whole = "document.getElementById('note').scrollHeight <= document.getElementById('note').clientHeight + 1"
        assert page.evaluate(whole)  # once the last line was cut on a phone
    assert page.evaluate(SMALL) == []
    if screen in ("phone", "landscape"):
        low = page.evaluate(
            """[...document.querySelectorAll("button:not(.tip), select, a.button")]
            .filter((one) => one.checkVisibility() && !one.closest("#note, #hand"))
            .filter((one) => one.getBoundingClientRect().height < 43.9).map((one) => one.outerHTML)"""
        )
        assert low == []
        tips = page.locator("#table .tip").all()
        assert last["width"] >= 40
        boxes = [box for tip in tips if (box := tip.bounding_box()) is not None]  # of those that are shown
        assert min(box["height"] for box in boxes) >= 26  # what only explains itself may be lower


@pytest.mark.parametrize("width", [360, 390, 768, 1366])
def test_a_plate_shows_all_peppers_and_a_score_of_two_digits(open_page, address, width):
    """Once the second pepper of a seat was cut off on a phone, and "Ben" was "B…"."""
    page = open_page({"width": width, "height": 700})
    deal(page, address, game="pepper", opponents="greedy", seed=5)
    page.evaluate("""() => {
        for (const seat of state.frame.table.seats) {
            seat.facts = ["R", "Y", "G", "B"].map((icon) => ({ value: "−11", icon }));
            state.frame.scores[seat.seat] = -40;
        }
        return state.showFrames([state.frame], null, state.about);
    }""")
    assert page.locator("#table .plate .bit").count() == 5 * 4
    assert page.evaluate(OUT_OF_PLATES) == []


def test_an_open_hand_is_whole_on_a_phone_on_its_side(open_page, address):
    """Once twelve cards, which nearly fitted beside the name, lay half below their plate."""
    page = open_page(SCREENS["landscape"])
    deal(page, address, game="double_deck_whist", opponents="greedy", seed=5)
    show = """(cards) => {
        const frame = structuredClone(state.frame);
        frame.table.seats[3].hand = frame.hand.slice(0, cards);
        return state.showFrames([frame], null, state.about);
    }"""
    for cards in range(1, 14):
        page.evaluate(show, cards)
        assert page.locator("#table .felt .plate .chip").count() == cards
        assert page.evaluate(OUT_OF_PLATES) == [], cards


@helpers.crossed(size=[(360, 640), (960, 540)], game=["double_deck_whist", "tricky_express", "pepper"])
def test_no_plate_covers_another_where_there_is_little_room(open_page, address, size, game):
    """On the smallest phones, and on a desk whose page is shown at twice its size."""
    page = open_page({"width": size[0], "height": size[1]})
    deal(page, address, game=game, opponents="greedy", seed=5)
    while page.evaluate("state.frame.trick < 2"):
        page.locator("#hand.ready .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    boxes = [one.bounding_box() for one in page.locator("#table .plate").all()]
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            apart = one["x"] >= other["x"] + other["width"] - 1 or other["x"] >= one["x"] + one["width"] - 1
            assert apart or one["y"] >= other["y"] + other["height"] - 1 or other["y"] >= one["y"] + one["height"] - 1
    assert page.evaluate(OUT_OF_PLATES) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    heights = page.evaluate("""async () => {
        const found = new Set();
        for (let frame = 0; frame < 10; frame += 1) {
            await new Promise(requestAnimationFrame);
            found.add(document.getElementById("table").clientHeight);
        }
        return [...found];
    }""")
    assert len(heights) == 1  # the table does not change its height for ever


@pytest.mark.parametrize("screen", helpers.first(3, SCREENS))
def test_what_a_guided_deal_says_is_whole(open_page, address, screen):
    """Once "Go on" was half cut on a desk, and the last line on a phone on its side."""
    page = open_page(SCREENS[screen])
    without_pauses(page, address)

    def go_on_until(there: str) -> None:
        while not page.evaluate(there):
            if page.locator("#lesson[open]").count():
                page.locator("#lesson .primary").click()
            page.wait_for_timeout(20)
        assert page.evaluate("coach.scrollHeight <= coach.clientHeight + 1"), there

    for game in ("tricky_express", "pepper"):
        page.goto(f"{address}/?learn={game}")
        go_on_until("Boolean(globalThis.state?.lesson)")
    page.locator("#hand .legal").first.click()
    page.locator("#coach .primary").click()
    go_on_until("coach.innerText.includes('takes the trick') && coach.innerText.includes('Go on')")
    own, prompt = (page.locator(f"#table .foot .{one}").bounding_box() for one in ("own", "prompt"))
    beside = own["x"] >= prompt["x"] + prompt["width"] or prompt["x"] >= own["x"] + own["width"]
    assert beside or own["y"] >= prompt["y"] + prompt["height"]  # why somebody takes it, told twice, once lay over that


@pytest.mark.parametrize(
    ("size", "language", "word"),
    [((390, 844), "ja-JP", "失点"), ((360, 740), "en-GB", "cost"), ((375, 667), "en-GB", "cost")],
)
def test_what_is_told_at_the_end_of_a_guided_deal_of_pepper_is_whole(open_page, address, size, language, word):
    """Once the last line of what five peppers cost was cut on a phone."""
    page = open_page({"width": size[0], "height": size[1]}, locale=language)
    where = deal(page, address, game="pepper", num_players=5, num_deals=1, seed=40, opponents="greedy", seat=0)
    page.evaluate("""async () => {
        let { frame } = state;
        while (Object.values(frame.places).flat().length < 5) {
            const body = { number: frame.number, card: state.about.cards[frame.legal[0]].name };
            frame = (await (await fetch(`/api/games/${state.about.id}/plays`, { method: "POST",
                headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json()).frames.at(-1);
        }
    }""")
    page.goto(f"{where}#learn")
    page.reload()
    while not page.evaluate("Boolean(state.lesson)"):
        page.evaluate("document.querySelector('#lesson[open] .primary')?.click()")
        page.wait_for_timeout(20)
    expect(page.locator("#coach")).to_contain_text(word)
    assert page.evaluate("coach.scrollHeight <= coach.clientHeight + 1")
    last = page.locator("#hand button").last.bounding_box()
    assert last["y"] + last["height"] <= size[1]


@pytest.mark.parametrize(("game", "least"), [("double_deck_whist", 54), ("tricky_express", 42), ("zaraba22", 66)])
def test_cards_of_a_trick_can_be_read_on_a_phone(open_page, address, game, least):
    """Once 22 pixels wide below a row for each seat, and "You" was cut to "Y…"; 33 in a guided deal, above a hand that
    was not whole."""
    page = open_page(SCREENS["landscape"])
    deal(page, address, game=game, opponents="greedy", seed=5)
    for _ in range(12):
        if page.locator("#table .laid").count():
            break
        page.locator("#hand .legal").first.click()
        expect(page.locator("#hand.ready")).to_be_visible()
    assert page.locator("#table .laid").first.bounding_box()["width"] >= least
    whole = (
        "[...document.querySelectorAll('#table .own .who b')].every((one) => one.scrollWidth <= one.clientWidth + 1)"
    )
    assert page.evaluate(whole)
    assert page.evaluate("table.scrollHeight <= table.clientHeight")  # its sentence is not cut
    resize(page, PHONE)
    page.evaluate("document.body.classList.add('learning'); coach.hidden = false")
    assert page.locator("#table .laid").first.bounding_box()["width"] >= 60
    expect(page.locator("#hand button").last).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(("name", "players"), [("zaraba22", 3), ("pepper", 5)])
def test_the_list_of_tricks_is_whole_beside_the_table(open_page, address, tmp_path, name, players):
    """Once its right columns were cut off, even on a screen of 1920 pixels."""
    page = open_page({"width": 1366, "height": 650})
    open_record(page, address, tmp_path, played(name, players))
    page.click("#analyse")
    expect(page.locator("#timeline .mark").first).to_be_visible(timeout=3 * PATIENCE)
    page.evaluate("""() => {
        const row = document.querySelector("#thoughts tbody tr");
        row.firstElementChild.innerHTML = "<span class='chip suit-N'>12⬢</span><small>played</small>";
        row.children[1].lastChild.data = "100 %";
        row.lastElementChild.innerHTML = "+10.2<small> ±10.1</small>";
    }""")
    for width in (1366, 1920):
        resize(page, {"width": width, "height": 900})
        for listed in page.locator("#timeline, #thoughts .scroll").all():
            assert listed.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 1
    over = page.evaluate("""() => {
        timeline.style.maxHeight = "9rem";
        const [head, one] = [timeline.querySelector("thead th"), timeline.querySelector("tbody tr:nth-child(3) .jump")];
        timeline.scrollTop += one.getBoundingClientRect().top - timeline.getBoundingClientRect().top;
        one.focus();
        return head.getBoundingClientRect().bottom - one.getBoundingClientRect().top;
    }""")
    assert over <= 0  # once the head of the list lay over what the keyboard had reached


@pytest.mark.parametrize(("name", "players"), [("double_deck_whist", 4), ("zaraba22", 3)])
def test_who_takes_a_trick_is_told_once_in_the_list_of_tricks(open_page, address, tmp_path, name, players):
    """Once at the play and again at the card that was picked; of two lead cards at each, and at the one kept."""
    page = open_page()
    open_record(page, address, tmp_path, played(name, players))
    expect(page.locator("#timeline td.takes .jump").first).to_be_visible()
    told = """[...document.querySelectorAll("#timeline tr:has(.takes)")].map((row) => [...row.querySelectorAll(".jump")]
        .map((one) => one.ariaLabel).filter((one) => one.endsWith(", takes the trick")))"""
    found = page.evaluate(told)
    assert [len(row) for row in found] == [1] * len(found) != []
    assert not [row for row in found if " picks " in row[0]]


def test_the_figures_on_a_card_are_whole(open_page, address):
    """On a laptop "+0.2 ±0.1" ended after "±0."."""
    page = open_page({"width": 1366, "height": 650})
    deal(page, address, game="pepper", opponents="greedy", seed=13, num_deals=1)
    page.keyboard.press("h")
    expect(page.locator("#hand .hint").first).to_be_visible()
    page.evaluate("state.hints.cards.forEach((one) => Object.assign(one, { advantage: -10.2, error: 10.1 })); null")
    page.click("#figures")
    expect(page.locator("#hand .hint .search small").first).to_be_visible()
    for figure in page.locator("#hand .hint, #hand .hint .search").all():
        assert figure.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 1


def test_on_a_large_screen_letters_and_cards_are_larger(open_page, address):
    """Once a table of 1500 pixels had letters of 12, and its plates and cards the size that they have on a laptop."""
    page, sizes = open_page(DESK), []
    deal(page, address, game="tricky_express", opponents="greedy", seed=3, num_deals=1)
    for screen in (DESK, {"width": 1920, "height": 1080}):
        resize(page, screen)
        boxes = [page.locator(one).first.bounding_box() for one in (".plate", ".spot", "#hand .card")]
        sizes.append([page.evaluate("parseFloat(getComputedStyle(document.querySelector('.second')).fontSize)")])
        sizes[-1] += [box["width"] for box in boxes]
        assert page.evaluate("document.documentElement.scrollWidth") <= screen["width"]
    assert all(large >= 1.19 * small for small, large in zip(*sizes, strict=True)), sizes


def test_a_name_is_whole_beside_many_points(open_page, address):
    """On a tablet Cleo, who dealt and had lost 27 points, was "C…"."""
    page = open_page({"width": 768, "height": 1024})
    deal(page, address, game="donguri", num_players=4, opponents="greedy", seed=3, num_deals=1)
    page.evaluate(
        """() => {
            const frame = structuredClone(state.frame);
            frame.scores = frame.scores.map(() => -127);
            frame.table.seats.forEach((seat) => { seat.dealer = true; });
            return state.showFrames([frame], null, state.about);
        }"""
    )
    cut = "[...document.querySelectorAll('.plate .who > b')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
    assert page.evaluate(f"{cut}.map((one) => one.textContent)") == []


def test_the_name_of_a_dealer_is_whole_in_a_replay(open_page, address, tmp_path):
    """Once "player_1" was "playe…"."""
    page = open_page({"width": 768, "height": 1024})
    open_record(page, address, tmp_path, played("zaraba22", 3))
    page.select_option("#view", "0")
    expect(page.locator("#table .felt .plate .dealer")).to_be_visible()
    assert page.evaluate(OUT_OF_PLATES) == []
    page = open_page({"width": 360, "height": 740})  # where four of five were "playe…"
    open_record(page, address, tmp_path, played("pepper", 5))
    page.select_option("#view", "0")
    names = page.locator("#table .plate .who > b:first-of-type")
    expect(names).to_have_text([*(f"player_{seat}" for seat in range(1, 5)), "You"])
    assert page.evaluate(OUT_OF_PLATES) == []


def test_what_a_finger_touches_on_a_phone_is_large_enough(open_page, address):
    """Marks of the strip above the trick, which say what they mean, were 24 to 31 pixels high."""
    page = open_page({"width": 360, "height": 640}, has_touch=True, locale="ja-JP")
    for name in ("donguri", "hearts", "zaraba22"):
        deal(page, address, game=name, opponents="greedy", seed=3, num_deals=1)
        for fact in page.locator(".side > .fact").all():
            if fact.is_visible():
                hit = """(one) => {
                    const box = one.getBoundingClientRect(), x = box.left + box.width / 2;
                    const at = (y) => one.contains(document.elementFromPoint(x, y));
                    return at(box.top - 6) && at(box.bottom + 6);
                }"""
                assert fact.evaluate(hit), name
    deal(page, address, game="hearts", opponents="greedy", seed=3, num_deals=1)
    page.locator("#deal-again").tap()
    expect(page.locator("#options .check").first).to_be_visible()
    assert min(one.bounding_box()["height"] for one in page.locator("#options .check").all()) >= 43.9
    page.goto(f"{address}/nothing")
    assert page.get_by_role("link").bounding_box()["height"] >= 43.9


@helpers.crossed(game=["zaraba22", "donguri", "tricky_express", "double_deck_whist"], language=["en-GB", "ja-JP"])
def test_hand_and_buttons_are_in_sight_on_the_smallest_phone(open_page, address, game, language):
    """Once in three rows, the last of which was cut, with the buttons below the screen; in Japanese below two rows of
    buttons; below two lines of an open hand."""
    page = open_page({"width": 360, "height": 640}, has_touch=True, locale=language)
    deal(page, address, game=game, opponents="greedy", seed=4)
    for each in page.locator("#hand button").all():
        expect(each).to_be_in_viewport(ratio=0.99)
    for each in page.locator("#foot button:visible").all():
        expect(each).to_be_in_viewport(ratio=0.99)
    for plate in page.locator("#table .plate").all():  # once half a line of it was cut
        assert plate.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 1
    assert page.locator("#hand button").first.bounding_box()["width"] >= 44
    if game == "zaraba22":  # how far a suit with cards on the chart is from a crash was not told
        assert page.locator("#table .side small:visible").count() == 4


def tap_first(page: Page) -> None:
    """Plays the first legal card, or passes the first ones, and waits until the server has taken them."""
    number, together = page.evaluate("[state.frame.number, state.frame.together]")
    for _ in range(together):
        page.locator("#hand .legal:not([aria-pressed=true])").first.tap()
    if together > 1:
        page.locator("#confirm").tap()
    page.wait_for_function(TAKEN, arg=number)


@pytest.mark.parametrize(("game", "seed"), [("double_deck_whist", 3), ("tricky_express", 6), ("hearts", 6)])
def test_the_buttons_stay_in_sight_when_the_hand_gets_smaller(open_page, address, game, seed):
    """Once fewer cards were larger ones, two rows of which moved the buttons below the screen of a low phone."""
    sizes = [{"width": width, "height": height} for width, height in ((360, 640), (375, 667), (390, 664))]
    page = open_page(sizes[0], has_touch=True)
    deal(page, address, game=game, opponents="greedy", seed=seed)
    cards = page.locator("#hand button")
    for step in range(20):
        for size in sizes if step % 3 == 0 else sizes[:1]:
            resize(page, size)
            width, last, *buttons = page.evaluate(IN_SIGHT)
            assert width >= 41
            assert last >= 0.99
            assert min(buttons) >= 0.7  # with its word
        if cards.count() == 8:
            break
        tap_first(page)
        while not page.locator("#hand.ready").count():
            page.evaluate(SPACE)
            page.wait_for_timeout(15)


@pytest.mark.parametrize(("game", "cards"), [("tricky_express", 8), ("hearts", 6)])
def test_cards_that_were_passed_take_no_room_from_the_hand_on_the_smallest_phones(open_page, address, game, cards):
    """Two of them once stood in two lines, with the hand below the screen; beside three, Japanese words were cut."""
    for size, language in (({"width": 360, "height": 640}, "en-GB"), ({"width": 320, "height": 568}, "ja-JP")):
        page = open_page(size, has_touch=True, locale=language)
        deal(page, address, game=game, opponents="greedy", seed=7)
        rows = page.evaluate("new Set([...document.querySelectorAll('#hand button')].map((one) => one.offsetTop)).size")
        assert rows == 2  # once three, of which the last could not be seen
        while page.locator("#table .side .chip").count() < cards:
            tap_first(page)
            expect(page.locator("#hand.ready")).to_be_visible()
        side = page.locator("#table .side")
        assert side.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
        if game == "tricky_express":
            assert side.bounding_box()["height"] < 50
        if size["width"] == 360:
            expect(page.locator("#hand button").last).to_be_in_viewport(ratio=0.99)
            resize(page, {"width": 740, "height": 360})  # where what is asked was below the screen
            expect(page.locator("#table .prompt")).to_be_in_viewport(ratio=1)
            assert page.evaluate(OUT_OF_PLATES) == []


def test_the_button_that_passes_cards_is_in_sight_on_the_smallest_phone(open_page, address):
    """Once in the second row, below the screen."""
    page = open_page({"width": 360, "height": 640}, has_touch=True)
    deal(page, address, game="hearts", opponents="greedy", seed=4)
    expect(page.locator("#confirm")).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("width", [320, 360])
def test_a_long_sentence_at_the_end_of_a_trick_covers_no_half_of_a_plate(open_page, address, width):
    """Once it lay over the upper half of the person's own plate."""
    page = open_page({"width": width, "height": 640}, has_touch=True)
    deal(page, address, game="zaraba22", opponents="greedy", seed=5, num_deals=1)
    own = page.locator(".plate.own")
    expect(own).to_be_visible()
    height = page.locator("#table .foot").bounding_box()["height"]
    told = {
        "event": "trick",
        "text": "Cleo takes the trick",
        "why": "the lead 3 diamonds is kept, 5 diamonds is the highest diamond, 9 clubs goes to the chart: clubs crash",
    }
    end_trick(page, [told], taking=2, led=0)
    expect(page.locator(".foot .prompt")).to_contain_text("kept")
    expect(own).to_be_hidden()
    assert page.locator("#table .foot").bounding_box()["height"] == height  # the trick stays where it is
    prompt = page.locator(".foot .prompt")
    assert prompt.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 0
    end_trick(page, [], taking=2, led=0)
    expect(own).to_be_visible()


def test_the_last_trick_of_a_full_table_is_whole_on_the_smallest_phone(open_page, address):
    """In Japanese the name of its taker was cut off."""
    page = open_page({"width": 360, "height": 640}, locale="ja-JP")
    deal(page, address, game="donguri", num_players=5, opponents="greedy", seed=3, num_deals=1)
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    expect(page.locator(".top .before")).to_be_visible()
    assert page.locator(".table > .top").evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0


LAID = """(table) => {
    const frame = structuredClone(state.frame);
    const there = frame.table.trick.map(([seat]) => seat);
    const missing = frame.table.seats.map((_, seat) => seat).filter((seat) => !there.includes(seat));
    frame.table.trick.push(...missing.map((seat) => [seat, frame.hand[0]]));
    Object.assign(frame.table, { remarks: [] }, table);
    return state.showFrames([frame], null, state.about);
}"""  # a card of every seat


def end_trick(page: Page, told: list[dict[str, str]], **table: int) -> None:
    """Shows a trick with a card of every seat, at whose end this is told; nothing: one that has not ended."""
    page.evaluate("(told) => { Object.assign(state.frame, { pause: told.length && 'trick', events: told }); }", told)
    page.evaluate(LAID, table)


OVER = """() => {
    const boxes = [...document.querySelectorAll("#table ONE")].map((one) => [one, one.getBoundingClientRect()]);
    const apart = (one, box) => Math.min(one.right, box.right) - Math.max(one.left, box.left) <= 1
        || Math.min(one.bottom, box.bottom) - Math.max(one.top, box.top) <= 1;
    return boxes.flatMap(([card, one], number) => boxes.slice(0, number)
        .filter(([other, box]) => other.nextSibling !== card && !apart(one, box)).map(() => number));
}"""  # but for the second of two lead cards
LAID_OVER, PILLS_OVER = OVER.replace("ONE", ".laid"), OVER.replace("ONE", ".pill")


@pytest.mark.parametrize("screen", helpers.first(3, SCREENS))
def test_two_lead_cards_cover_no_plate(open_page, address, screen):
    """Once they lay over the name of who had led them."""
    page = open_page(SCREENS[screen])
    for seed in range(1, 30):
        deal(page, address, game="zaraba22", opponents="greedy", seed=seed, num_deals=1)
        if page.locator("#table .spot:has(.laid + .laid)").count():
            break
    plates = [one.bounding_box() for one in page.locator("#table .plate").all()]
    cards = [one.bounding_box() for one in page.locator("#table .laid").all()]
    assert len(cards) == 2
    blank = "(one) => one.getBoundingClientRect().bottom - one.lastElementChild.getBoundingClientRect().bottom"
    assert page.locator("#table .side").evaluate(blank) < 12  # once half of the chart was empty
    for box in cards:
        for plate in plates:
            beside = box["x"] >= plate["x"] + plate["width"] - 1 or box["x"] + box["width"] <= plate["x"] + 1
            assert beside or box["y"] >= plate["y"] + plate["height"] - 1 or box["y"] + box["height"] <= plate["y"] + 1
    page.evaluate(LAID, {"led": page.evaluate("state.frame.table.led")})
    for height in (page.viewport_size["height"], 560):  # a low table has one row of cards
        resize(page, {**page.viewport_size, "height": height})
        assert page.locator("#table .laid").count() == 4
        assert page.evaluate(LAID_OVER) == []  # once the two covered a part of the card that answers them


@helpers.crossed(screen=SCREENS, game=["donguri", "double_deck_whist"])
def test_no_word_at_a_card_covers_another(open_page, address, screen, game):
    """Once "takes", below a card, and "led" or "no vote", above the one below it, lay over each other."""
    page = open_page(SCREENS[screen])
    deal(page, address, game=game, opponents="greedy", seed=5, num_deals=1)
    players = page.evaluate("state.about.num_players")
    remarks = [[seat, "no vote"] for seat in range(players)]
    for led in range(players):
        for taking in range(players):
            page.evaluate(LAID, {"led": led, "taking": taking, "remarks": remarks})
            assert page.locator("#table .pill").count() == players + 1
            assert page.evaluate(PILLS_OVER) == [], (led, taking)


def test_a_long_sentence_stays_on_its_ground(open_page, address):
    """On a phone its third line lay over the name of the person."""
    page = open_page(PHONE)
    deal(page, address, game="donguri", opponents="greedy", seed=5, num_deals=1)
    page.evaluate("""() => {
        const prompt = "Dara takes the trick, which is told at length. ".repeat(3);
        return state.showFrames([{ ...state.frame, prompt }], null, state.about);
    }""")
    prompt = page.locator(".foot .prompt")
    assert prompt.bounding_box()["height"] > 55  # three lines
    assert prompt.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")


def test_who_takes_a_trick_is_told_above_the_persons_own_plate(open_page, address):
    """In three lines, which once lay over its upper half."""
    page = open_page(PHONE, locale="ja-JP")
    deal(page, address, game="pepper", opponents="greedy", seed=5, num_deals=1)
    told = [
        {"event": "trick", "text": "あなたがトリックを取ります", "why": "青の10が青でいちばん強い"},
        {"event": "change", "text": "青のペッパー、茶のペッパーがあなたの前に置かれます"},
    ]
    end_trick(page, told, taking=0, led=1)
    prompt, own = page.locator(".foot .prompt"), page.locator(".plate.own")
    assert len(prompt.evaluate(LINES)) == 3
    assert prompt.evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")
    box = prompt.bounding_box()
    assert box["y"] + box["height"] <= own.bounding_box()["y"]


def test_who_takes_a_trick_is_told_below_it_on_a_phone_on_its_side(open_page, address):
    """Once that covered most of a card of it."""
    page = open_page(SCREENS["landscape"])
    deal(page, address, game="zaraba22", opponents="greedy", seed=5, num_deals=1)
    told = {
        "event": "trick",
        "text": "Cleo takes the trick",
        "why": "the lead 4 clubs is kept, 10 clubs is the highest",
    }
    end_trick(page, [told], taking=2, led=0)
    expect(page.locator(".foot .prompt")).to_contain_text("kept")
    top = page.locator(".foot .prompt").bounding_box()["y"]
    assert all(one.bounding_box()["y"] + one.bounding_box()["height"] <= top for one in page.locator(".laid").all())


def test_open_hands_have_room_in_a_review_on_a_laptop(open_page, address, tmp_path):
    """Once they covered the person's name, and the sentence beside it."""
    page = open_page({"width": 1366, "height": 650})
    open_record(page, address, tmp_path, played("tricky_express", 4))
    page.click("#analyse")
    expect(page.locator("#verdict")).to_be_visible(timeout=3 * PATIENCE)  # with the graph, that takes room
    plates = [one.bounding_box() for one in page.locator("#table .felt .plate").all()]
    foot = page.locator("#table .foot").bounding_box()
    assert len(plates) == 3
    assert max(plate["y"] + plate["height"] for plate in plates) <= foot["y"]
    expect(page.locator("#controls")).to_be_in_viewport(ratio=1)
    page.select_option("#view", "0")  # of others the cards passed to them are known: their plates are as high
    for step in page.evaluate("viewer.order.map((one) => one.trick.end).filter(Boolean).slice(0, 32)")[::8]:
        page.evaluate("(step) => viewer.go(step)", step)
        expect(page.locator("#table .laid")).to_have_count(4)
        page.wait_for_function("(step) => viewer.at === step", arg=step)
        plates = [one.bounding_box() for one in page.locator("#table .felt .plate").all()]
        assert (
            max(plate["y"] + plate["height"] for plate in plates) <= page.locator("#table .foot").bounding_box()["y"]
        )  # once 34 pixels over the person's plate
        assert page.locator("#table .laid").first.bounding_box()["width"] >= 34  # once 22


def test_cards_of_a_hand_are_large_on_an_upright_tablet(open_page, address):
    """Once 13 cards stood in one row of 53 pixels each, above an empty strip; "in front of you" widened the page."""
    page = open_page(SCREENS["tablet"])
    for seed in range(1, 20):
        deal(page, address, game="pepper", num_players=5, opponents="greedy", seed=seed, num_deals=1)
        if page.locator(".cards.beside .card").count() == 1:
            break
    widths = page.evaluate("[...document.querySelectorAll('#hand .card')].map((one) => one.offsetWidth)")
    assert min(widths) == max(widths) >= 80
    assert page.evaluate("getComputedStyle(document.querySelector('.beside .card img')).outlineStyle") == "dashed"
    assert page.evaluate("document.documentElement.scrollWidth") <= SCREENS["tablet"]["width"]


def test_what_can_be_done_with_a_result_is_in_sight_below_a_long_table(open_page, address):
    page = open_page(SCREENS["landscape"])
    short_game(page, address)
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
    assert page.evaluate("summary.scrollHeight <= summary.clientHeight")  # of a short one everything
    page.evaluate("""() => {  // as in Zaraba
        const { last_deal } = state.about;
        last_deal.items = last_deal.items.map(() => Array(4).fill({ words: "four diamonds (price 4)", points: 16 }));
        state.showResult();
    }""")
    for width, height in ((740, 360), (375, 667), (844, 390)):
        resize(page, {"width": width, "height": height})
        assert page.evaluate("summary.scrollHeight <= summary.clientHeight + 1"), width
    page.evaluate("""() => {
        const body = document.querySelector("#summary tbody");
        for (let number = 0; number < 24; number += 1) body.append(body.firstElementChild.cloneNode(true));
    }""")
    button = page.get_by_role("button", name="Review my game")
    box = button.bounding_box()
    assert box["y"] + box["height"] <= SCREENS["landscape"]["height"]
    below = page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y).className", [box["x"], box["y"] + box["height"] + 3]
    )
    assert "row" in below  # nothing is to be seen between the buttons and the end of the paper
    hit = """(one) => { const box = one.getBoundingClientRect();
        return one.contains(document.elementFromPoint(box.left + 9, box.top + 9)) && Math.round(box.top); }"""
    tops = {one.evaluate(hit) for one in page.locator("#summary button:not(.link)").all()}
    assert tops == {round(box["y"])}  # once "The same cards for a friend" lay below the others
    button.click()
    page.wait_for_url("**/replay/**")


def test_the_total_of_eight_deals_is_in_sight(open_page, address):
    page = open_page({"width": 1000, "height": 700})
    short_game(page, address)
    page.evaluate("state.about.deals = Array.from({length: 8}, () => [-128, 64, 64]); state.renderScore()")
    panel = page.locator("#score-panel").bounding_box()
    total = page.locator("#score td.total").first.bounding_box()
    assert total["x"] + total["width"] <= panel["x"] + panel["width"]
    page = open_page(PHONE)
    deal(page, address, game="hearts", opponents="greedy", seed=5)
    page.evaluate("state.about.deals = Array.from({length: 8}, () => [-24, -2, 0, 0]); state.frame.scores.fill(-102)")
    page.evaluate("state.renderScore()")
    assert page.evaluate("score.scrollWidth <= score.clientWidth")  # once the last deal was cut off
    for width, shown in ((390, 3), (1000, 2), (320, 2)):
        resize(page, {"width": width, "height": 844})
        page.evaluate("state.about.deals = Array.from({length: 8}, () => Array(4).fill(-128))")
        page.evaluate("state.frame.scores.fill(-1024); state.renderScore()")
        assert page.evaluate("score.scrollWidth <= score.clientWidth")
        assert page.locator("#score thead th").all_inner_texts()[2:] == [str(8 - left) for left in range(shown)][::-1]


def test_how_strong_a_player_is_stands_whole_beside_the_points_of_three_deals(open_page, address):
    """Once "casual" broke as "casua" and "l"; a long name breaks where it must."""
    page = open_page({"width": 1366, "height": 650})
    deal(page, address, game="donguri", num_players=4, opponents="greedy", seed=5)
    page.evaluate("state.about.deals = [[-14, 0, -14, -24], [-8, -7, 0, -5], [0, -11, 0, -13]]")
    page.evaluate("state.about.players[3] = 'x'.repeat(80); state.frame.scores = [-22, -18, -14, -42]")
    page.evaluate("state.renderScore()")
    parts = """(one) => { const range = document.createRange(); range.selectNodeContents(one);
        return [...range.getClientRects()].filter((box) => box.width > 1).length; }"""
    told = page.locator("#score small")
    assert [told.nth(seat).evaluate(parts) for seat in range(2)] == [1, 1]
    assert told.nth(2).evaluate(parts) > 1
    panel, name = (page.locator(one).bounding_box() for one in ("#score-panel", "#score tbody tr:last-child th"))
    assert name["width"] < panel["width"] / 2


def test_a_second_tab_follows_and_a_stale_one_says_so(open_page, address):
    one = open_page()
    short_game(one, address)
    other = one.context.new_page()
    other.goto(one.url)
    expect(other.locator("#hand.ready")).to_be_visible()
    number = one.evaluate("state.frame.number")
    one.locator("#hand .legal").first.click()
    expect(one.locator("#hand.ready")).to_be_visible()
    other.wait_for_function("(before) => state.frame.number > before", arg=number)
    other.evaluate("state.channel.close()")  # as on another machine: it asks
    number = one.evaluate("state.frame.number")
    one.locator("#hand .legal").first.click()
    expect(one.locator("#hand.ready")).to_be_visible()
    other.wait_for_function("(before) => state.frame.number > before", arg=number)
    number = one.evaluate("state.frame.number")
    one.click("#take-back")
    one.wait_for_function("(before) => state.frame.number < before && !state.busy", arg=number)
    other.wait_for_function(
        "(before) => state.frame.number < before && (clearInterval(state.following), true)", arg=number
    )
    number = one.evaluate("state.frame.number")
    one.locator("#hand .legal").first.click()
    one.wait_for_function("(before) => state.frame.number > before + 1 && !state.busy", arg=number)
    expect(other.locator("#hand.ready")).to_be_visible()
    other.locator("#hand .legal").first.click()
    expect(other.locator("#message")).to_contain_text("gone on in another tab")
    assert other.evaluate("state.frame.number") == one.evaluate("state.frame.number")


def test_after_a_restart_of_the_server_an_open_page_offers_a_new_game(open_page, address):
    page = open_page()
    short_game(page, address)
    before = page.url
    page.evaluate("state.about.id = 'unknown'")
    page.locator("#hand .legal").first.click()
    expect(page.locator(".question")).to_contain_text("does not have this game any more")
    expect(page.locator("#message")).to_be_empty()  # once the same besides, in other words
    page.locator(".question").get_by_role("button", name="New game").click()
    page.wait_for_url(lambda url: url != before)
    expect(page.locator("#hand.ready")).to_be_visible()


@pytest.mark.parametrize("screen", ["phone", "landscape", "laptop"])
def test_what_went_wrong_in_a_dialog_is_told_above_it(open_page, address, screen):
    """Once behind it: nobody saw that the server did not answer."""
    page = open_page(SCREENS[screen])
    short_game(page, address)
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.keyboard.press("?")
    page.route("**/api/**", lambda route: route.abort())
    page.locator("#let-watch").click()
    message = page.locator("#message")
    expect(message).to_contain_text("does not answer")
    shown = Image.open(io.BytesIO(message.screenshot())).convert("RGB")
    colour = message.evaluate("(one) => getComputedStyle(one).backgroundColor.match(/\\d+/g).map(Number)")
    assert list(shown.getpixel((6, shown.height // 2))) == colour  # neither covered nor dimmed
    page.unroute_all()


def test_playing_on_from_a_replay_keeps_log_and_length(open_page, address, tmp_path):
    page = open_page()
    open_record(page, address, tmp_path, played("donguri", 3, 2))
    expect(page.locator("#thoughts table")).to_be_visible()
    page.evaluate("viewer.go(11)")
    page.wait_for_url("**#step=11&*")
    page.click("#play-on")
    expect(page.locator("#hand.ready")).to_be_visible()
    assert page.locator("#log p").count() == page.evaluate("state.frame.number") > 8
    assert page.evaluate("[state.about.num_deals, document.getElementById('length').value]") == [2, "2"]


def test_forced_colours_leave_whose_turn_it_is_and_whose_station_which(open_page, address):
    """Once the line was thirteen numbers alike, and nothing said who acts, nor that hints are on."""
    page = open_page(PHONE, own=True, forced_colors="active")
    deal(page, address, game="tricky_express", opponents="greedy", seed=5, num_deals=1)
    page.evaluate("""() => {
        const rows = state.frame.table.rows.map((one) => (
            { ...one, line: one.line && [1, 2, 0, 0, ...one.line.slice(4)] }));
        return state.showFrames([{ ...state.frame, table: { ...state.frame.table, rows } }], null, state.about);
    }""")
    page.keyboard.press("h")
    expect(page.locator("#show-hints")).to_have_attribute("aria-pressed", "true")
    colours = """[...document.querySelectorAll(".station > span")].slice(0, 3).map((one) =>
        getComputedStyle(one).backgroundColor)"""
    assert len(set(page.evaluate(colours))) == 3
    boxes = [one.bounding_box() for one in page.locator(".station > span").all()]
    assert all(one["x"] + one["width"] <= other["x"] for one, other in pairwise(boxes))  # once "You" lay over "You"
    style = "(one) => getComputedStyle(one).outlineWidth"
    assert [page.locator(one).evaluate(style) for one in (".prompt.yours", ".plate.own", "#show-hints")] == ["3px"] * 3
    assert page.locator(".plate").first.evaluate(style) == "1px"


def test_a_phone_with_large_letters_needs_no_scrolling_sideways(open_page, address):
    page = open_page(PHONE, locale="ja-JP")
    short_game(page, address)
    resize(page, letters=22)
    expect(page.get_by_role("button", name="新しいゲーム", exact=True)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    resize(page, {"width": 320, "height": 640}, letters=30)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


OVER = """() => [...document.querySelectorAll(".before, .side, .stations")].flatMap((whole) => {
    const box = whole.closest(".table").getBoundingClientRect(), parts = [...whole.children];
    if (whole.getBoundingClientRect().right > box.right) return [whole.textContent];
    const boxes = parts.map((one) => one.getBoundingClientRect());
    const apart = (one, other) =>
        one.right <= other.left + 1 || other.right <= one.left + 1 || one.bottom <= other.top + 1;
    return parts.filter((one, number) => boxes[number].right > box.right
        || [...one.children].some((each) => each.getBoundingClientRect().right > boxes[number].right + 1)
        || boxes.slice(number + 1).some((other) => !apart(boxes[number], other))).map((one) => one.textContent);
})"""  # parts of a strip that are cut, or lie over others


def test_letters_twice_as_large_as_the_browser_asks_for_are_whole_on_a_phone(chromium, address):
    """Once the page asked for 15 pixels whatever the browser had been told; and cards of the last trick lay over the
    number of the trick, what is to be won over trumps, stations over stations."""
    with chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--blink-settings=defaultFontSize=32"]
    ) as large:
        page = large.new_context(viewport=PHONE, reduced_motion="reduce", has_touch=True).new_page()
        for game in ("tricky_express", "double_deck_whist", "pepper", "hearts"):
            deal(page, address, game=game, opponents="greedy", seed=6, num_deals=1)
            assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "30px"
            if game != "tricky_express":  # with a finished trick
                while not page.evaluate("state.frame.previous.length"):
                    tap_first(page)
                    page.wait_for_function(f"() => {{ {SPACE}; return {TURN} !== null; }}")
                expect(page.locator("#table .before")).to_be_visible()
            page.wait_for_function(f"() => {OUT_OF_PLATES}.length === 0")  # once "0 points" was cut, and Dara "D…"
            assert page.evaluate(f"({OVER})()") == [], game
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        short_game(page, address)
        play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
        # once points lay beyond the edge, and half of the table below the buttons
        for points in page.locator("#summary .total").all():
            expect(points).to_be_visible()
            assert points.bounding_box()["x"] + points.bounding_box()["width"] <= PHONE["width"]
        last = page.locator("#summary tbody tr").last.bounding_box()
        assert last["y"] + last["height"] <= page.locator("#summary > .row").bounding_box()["y"]


def test_cards_and_buttons_are_in_reach_where_letters_are_twice_as_large(open_page, address):
    """Once half of the cards lay beyond the left edge, where nobody can scroll, and what is asked over the buttons."""
    page = open_page(DESK)
    deal(page, address, game="tricky_express", opponents="greedy", seed=6, num_deals=1)
    resize(page, letters=30)
    assert page.evaluate("Math.min(...[...document.querySelectorAll('#hand .card')].map((one) => one.offsetLeft))") >= 0
    assert page.locator("#hand .card").first.bounding_box()["x"] >= 0
    page.wait_for_function("""() => {
        const parts = ["header nav", "#table .felt", "#table .foot", "#foot", "#hand"];
        const boxes = parts.map((one) => document.querySelector(one).getBoundingClientRect());
        return boxes.every((box, number) => number === 0 || box.top >= boxes[number - 1].bottom);
    }""")


def test_the_winning_card_can_be_read_where_it_is_selected(open_page, address, record, tmp_path):
    page = open_page()
    open_record(page, address, tmp_path, record)
    page.locator("#timeline td.takes .jump").first.click()
    chip = page.locator("#timeline td.takes .jump[aria-current] .chip").first
    ink, ground = chip.evaluate("(one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]")
    assert ink != ground
    assert ground != "rgba(0, 0, 0, 0)"
    button = page.locator("#timeline td.takes .jump[aria-current]").first
    assert button.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(47, 90, 75)"


CONTRASTS = """() => [...document.querySelectorAll("#table .plate.won .symbol")].map((one) => {
    const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = (colour, dimmed) => {
        const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        const [red, green, blue] = numbers(colour).map((part) => linear(dimmed * part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const { color, filter } = getComputedStyle(one);
    const ground = light(getComputedStyle(one.closest(".plate")).backgroundColor, 1);
    return (ground + 0.05) / (light(color, numbers(`${filter} 1`)[0]) + 0.05);
})"""


def test_suits_can_be_told_on_the_plate_of_the_winner(open_page, address):
    """Once they were as light on gold as on the dark plates of the others: a contrast of 1.1."""
    page = open_page()
    deal(page, address, game="zaraba22", opponents="greedy", seed=4, num_deals=1)
    page.evaluate("""() => {
        const frame = structuredClone(state.frame);
        frame.table.winners = [0, 1, 2];
        return state.showFrames([frame], null, state.about);
    }""")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) == 12
    assert min(contrasts) >= 3


def test_the_end_of_a_deal_says_what_the_points_are_for(open_page, address):
    page = open_page()
    deal(page, address, game="pepper", num_players=3, num_deals=2, opponents="greedy", seed=5)
    limit = time.monotonic() + 3 * PATIENCE / 1000
    while not page.locator("#summary").is_visible():
        assert time.monotonic() < limit
        if page.locator("#hand.ready").count():
            page.locator("#hand .legal").first.click()
        else:  # asked and pressed in one turn of the page: the deal may end in between
            page.evaluate(SPACE)
        page.wait_for_timeout(15)
    expect(page.locator("#summary h2")).to_have_text("Deal 1 of 2")
    ended = page.evaluate("state.frame.events.find((one) => one.event === 'deal')")
    told = page.locator("#summary .result").inner_text()
    page.reload()  # the table is there again
    expect(page.locator("#summary h2")).to_have_text("Deal 1 of 2")
    assert page.locator("#summary .result").inner_text() == told
    page.locator("#summary .primary").click()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.reload()
    expect(page.locator("#hand.ready")).to_be_visible()
    expect(page.locator("#summary")).to_be_hidden()
    page.get_by_role("button", name="The points of deal 1").click()
    assert page.locator("#summary .result").inner_text() == told
    assert any(ended["items"])
    for seat, items in enumerate(ended["items"]):
        assert sum(item["points"] for item in items) == ended["scores"][seat]
        assert all(item["words"] in told for item in items)


def test_who_has_no_points_has_no_empty_list_of_what_they_are_for(open_page, address):
    page = open_page()
    deal(page, address, game="pepper", opponents="greedy", num_deals=1, seed=11)
    play_to_the_end(page, lambda: page.evaluate("document.querySelector('#hand .legal').click()"))
    expect(page.locator("#summary .result")).to_be_visible()
    assert page.locator("#summary td:not(.number):empty").count() > 0
    assert page.locator("#summary ul:empty").count() == 0


def test_my_games_lists_what_was_begun_and_goes_on_with_it(open_page, address):
    page = open_page()
    short_game(page, address)
    first = page.url
    page.locator("#hand .legal").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    cards = page.locator("#hand button").count()
    new_game(page)
    page.locator(".question").get_by_role("button", name="New game").click()
    page.wait_for_url(lambda url: url != first)
    expect(page.locator("#hand.ready")).to_be_visible()
    page.keyboard.press("g")
    expect(page.locator("#games li")).to_have_count(1)
    expect(page.locator("#games li")).to_contain_text("Donguri to Yamaneko deal 1 of 1")
    page.get_by_role("button", name="Continue Donguri").click()
    page.wait_for_url(first)
    expect(page.locator("#hand.ready button")).to_have_count(cards)
    page.keyboard.press("g")
    page.get_by_role("button", name="Delete Donguri").click()
    page.locator(".question").get_by_role("button", name="Delete").click()
    expect(page.locator("#games")).to_contain_text("None yet")


def test_my_games_says_why_there_are_none(open_page, chromium, address, tmp_path):
    """Once that a game is kept from its first card on, also where none can be saved and where cookies are refused."""
    page = open_page()
    page.goto(f"{address}/?games")
    expect(page.locator("#games-list")).to_have_text("None yet: a game is kept here from your first card on.")
    page = open_page(own=True)
    page.add_init_script("Object.defineProperty(navigator, 'cookieEnabled', { get: () => false })")
    page.goto(f"{address}/?games")
    expect(page.locator("#games-list")).to_contain_text("this browser refuses cookies")
    (tmp_path / "file").write_text("")
    with serving(tmp_path / "file" / "games") as other:  # a folder below a file cannot be made
        page = chromium.new_context(viewport=DESK).new_page()
        page.goto(f"{other}/?game=donguri")
        expect(page.locator("#message")).to_contain_text("This game is not saved")
        expect(page.locator("#hand.ready")).to_be_visible()
        page.locator("#hand .legal").first.click()
        page.get_by_role("button", name="My games").click()
        expect(page.locator("#games-list")).to_have_text("None: games are not saved here.")
        page.context.close()


def test_a_game_of_other_rules_is_offered_for_nothing_but_deleting(open_page, chromium, address, tmp_path):
    """Once with Continue, which was refused."""
    with serving(tmp_path) as other:
        page = chromium.new_context(viewport=DESK).new_page()
        short_game(page, other)
        page.locator("#hand .legal").first.click()
        expect(page.locator("#hand.ready")).to_be_visible()
        file = next(tmp_path.glob("*/*.json"))
        file.write_text(json.dumps({**json.loads(file.read_text()), "version": 99}))
        os.utime(file, ns=(1, 1))
        page.goto(f"{other}/?games")
        expect(page.locator("#games li")).to_contain_text("cannot be opened any more")
        assert page.locator("#games li button").all_inner_texts() == ["Delete"]
        assert page.get_by_role("button", name="Continue", include_hidden=True).count() == 0
        page.context.close()


def test_a_card_is_taken_back_with_a_key(open_page, address):
    page = open_page()
    short_game(page, address)
    expect(page.locator("#take-back")).to_be_disabled()
    cards, lines = page.locator("#hand button").count(), page.locator("#log p").count()
    page.locator("#hand .legal").first.click()
    expect(page.locator("#take-back")).to_be_enabled()
    assert page.locator("#hand button").count() < cards
    page.keyboard.press("u")
    expect(page.locator("#hand.ready button")).to_have_count(cards)
    assert page.locator("#log p").count() == lines
    expect(page.locator("#take-back")).to_be_disabled()


def test_a_review_lists_mistakes_jumps_to_them_and_lets_one_try_again(open_page, address, tmp_path):
    """A seat that plays at random; its mistakes, the graph, where cards may lie, and a game from there on."""
    page = open_page({"width": 1366, "height": 650})
    game = load_game("donguri", 3, 1)
    agents = {0: make_agent("random", game, 3), 1: make_agent("greedy", game), 2: make_agent("greedy", game)}
    lost = play_match("donguri", agents, 4, 3, 1)
    lost["players"] = ["person", "greedy", "random"]
    open_record(page, address, tmp_path, lost)
    expect(page.locator("#thoughts table")).to_be_visible()
    page.locator("#analyse").press("Enter")
    expect(page.locator("#analyse")).to_be_disabled()
    expect(page.locator("#to-play")).to_be_focused()  # once nothing had the keyboard, nor in what is drawn anew
    page.locator("#timeline .jump").first.focus()
    expect(page.locator("#verdict")).to_contain_text("Your ", timeout=3 * PATIENCE)
    expect(page.locator("#timeline")).to_be_focused()
    page.locator(".mistakes .jump-to").first.focus()
    page.keyboard.press("1")
    expect(page.locator("#view")).to_be_focused()
    page.select_option("#view", "all")
    page.locator("#play-on").focus()
    page.keyboard.press("End")
    expect(page.locator("#to-play")).to_be_focused()
    expect(page.locator("#duplicate")).to_contain_text("The trained player scores")
    assert page.evaluate(SMALL) == []
    decisions = page.evaluate("viewer.review.decisions")
    assert len(decisions) == len(lost["deals"][0]["actions"])
    worst = max((one for one in decisions if one["seat"] == 0), key=lambda one: one["loss"])
    assert worst["mark"] in page.locator("#verdict").inner_text()
    assert page.locator("#timeline .mark").count() == sum(bool(one["mark"]) for one in decisions)
    page.locator(".mistakes .jump-to").first.click()
    page.wait_for_function(
        "(number) => viewer.order.findIndex((one) => one.step === viewer.at) === number",
        arg=worst["number"],
    )
    expect(page.locator("#thoughts .played")).to_contain_text("played")
    page.locator("#infer summary").click()
    expect(page.locator("table.belief tbody tr").first).to_be_visible()
    holds = page.locator("table.belief td.holds").count()
    assert holds == sum(map(sum, page.evaluate("viewer.source.belief(viewer.at, 0).then((found) => found.truth)")))
    box = page.locator("#graph svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 30)
    page.wait_for_function("() => viewer.at === viewer.about.steps - 1")
    page.get_by_role("button", name="Try again").first.click()
    expect(page.locator("#hand.ready")).to_be_visible()
    expect(page.locator("#retry")).to_contain_text("Which card is better?")
    expect(page.locator("#hand .legal:focus")).to_have_count(1)
    names = page.evaluate("viewer.about.cards.map((card) => card.name)")
    assert names[worst["best"]] not in page.locator("#retry").inner_text()
    page.locator(f"#hand [data-card='{names[worst['best']]}']").click()
    expect(page.locator("#retry")).to_contain_text(f"Better by {worst['loss']:.1f} than what you played: the best card")
    total = page.locator(".mistakes li").count()
    expect(page.locator("#retry .progress")).to_have_text(f"1 of {total} done")
    page.locator(f"#hand [data-card='{names[worst['played']]}']").click()
    expect(page.locator("#retry")).to_contain_text("That is the card that you played.")
    key = page.locator(f"#hand [data-card='{names[worst['best']]}']").get_attribute("data-key")
    page.keyboard.press(key)  # once its number was there and did nothing
    expect(page.locator("#retry")).to_contain_text("than what you played: the best card")
    if total > 1:
        page.get_by_role("button", name="Next mistake").click()
        expect(page.locator("#retry")).to_contain_text(f"Mistake 2 of {total}")
    page.get_by_role("button", name="Back to the review").click()
    expect(page.locator("#verdict")).to_be_visible()
    expect(page.locator("#retry")).to_be_hidden()
    expect(page.locator("#retry-all")).to_be_focused()
    resize(page, SCREENS["landscape"])
    page.evaluate("scrollTo(0, 0), document.querySelector('#retry-all').click()")
    expect(page.locator("#retry")).to_be_visible()
    expect(page.locator("#hand")).to_be_in_viewport(ratio=0.95)
    page.locator(f"#hand [data-card='{names[worst['best']]}']").click()
    expect(page.locator("#retry p").first).to_contain_text("the best card")
    expect(page.locator("#retry p").first).to_be_in_viewport(ratio=1)
    expect(page.locator("#hand")).to_be_in_viewport(ratio=0.95)  # once half of it was scrolled away by the answer
    assert page.locator("#retry .row").bounding_box()["height"] < 100  # once a button a line, the last one out of sight
    own, prompt = (page.locator(f"#table .foot .{one}").bounding_box() for one in ("own", "prompt"))
    assert own["x"] >= prompt["x"] + prompt["width"]  # one row below the trick, not two
    resize(page, {"width": 360, "height": 640})
    plate, card = (page.locator(one).first.bounding_box() for one in (".plate.own", "#hand .card:not(.tried)"))
    assert plate["y"] + plate["height"] <= card["y"]
    page.evaluate("scrollTo(0, 0)")
    page.locator("#hand .legal:not(.tried)").first.click()
    expect(page.locator("#retry p").first).to_contain_text("you played")
    expect(page.locator("#retry .row button").last).to_be_in_viewport(ratio=1)  # once half below the screen
    resize(page, {"width": 1366, "height": 650})
    page.get_by_role("button", name="Back to the review").click()
    page.click("#play-on")
    expect(page.locator("#hand.ready")).to_be_visible()
    assert page.evaluate("state.about.players").count("you") == 1


def test_a_friend_gets_the_same_cards_by_a_link(open_page, address):
    page, friend = open_page(), open_page()
    short_game(page, address)
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
    page.get_by_role("button", name="The same cards for a friend").click()
    link = page.get_by_label("Link to the same cards").input_value()
    without_pauses(friend, address)
    friend.goto(link)
    expect(friend.locator("#hand.ready")).to_be_visible()
    expect(friend.locator("#message")).to_contain_text("The same cards")
    assert "/game/" in friend.url
    play_to_the_end(friend, lambda: friend.locator("#hand .legal").last.click())
    expect(friend.locator("#same li")).to_have_count(2)
    expect(friend.locator("#same")).to_contain_text("Who sent the link")
    page.reload()
    expect(page.locator("#same li")).to_have_count(2)


def test_the_start_page_offers_every_game_and_remembers_what_was_begun(open_page, address):
    page = open_page(PHONE, has_touch=True)
    page.goto(address)
    expect(page.locator(".shelf li")).to_have_count(6)
    expect(page.locator(".shelf")).to_contain_text("どんぐりと山猫")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.select_option("#strength", "casual")
    page.get_by_role("button", name="Play Pepper").tap()
    expect(page.locator("#hand.ready")).to_be_visible(timeout=PATIENCE)
    assert set(page.evaluate("state.about.players.slice(1)")) == {"greedy"}
    assert page.evaluate("scrollY") == 0  # though the button was below the first screen
    game = page.url
    page.locator("#hand .legal").first.tap()
    page.wait_for_function("() => state.about.begun && !state.busy || state.goOn")
    page.goto(address)
    expect(page.locator("#strength")).to_have_value("casual")
    page.get_by_role("button", name="Continue Pepper").tap()
    page.wait_for_url(game)


DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
    const dropped = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    document.querySelector("#start").dispatchEvent(dropped);
}"""


def test_a_policy_file_is_chosen_or_dropped_on_the_start_page_and_plays(open_page, address, tmp_path):
    file = pretrained_file(game_type("donguri"), 3)
    page = open_page()
    without_pauses(page, address)
    page.goto(address)
    (tmp_path / "bad.onnx").write_bytes(b"no policy")
    page.set_input_files("#policy", tmp_path / "bad.onnx")
    expect(page.locator("#message")).to_contain_text("not a policy of trick_envs")
    (tmp_path / "large.onnx").write_bytes(bytes(1_000_001))
    page.set_input_files("#policy", tmp_path / "large.onnx")
    expect(page.locator("#message")).to_contain_text("larger than any policy")
    page.evaluate(DROP, ["mine.onnx", base64.b64encode(file.read_bytes()).decode()])
    expect(page.locator("#message")).to_contain_text("mine.onnx: Donguri to Yamaneko, 3 players")
    page.reload()
    expect(page.locator("#strength option:checked")).to_have_text("mine.onnx: Donguri to Yamaneko, 3 players")
    page.get_by_role("button", name="Choose players and length of Donguri").click()
    page.select_option("#players", "3")
    expect(page.locator("#opponents option:checked")).to_have_text("mine.onnx")
    page.select_option("#players", "4")
    expect(page.locator("#opponents option:checked")).to_have_text("strong")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Play Donguri").click()
    expect(page.locator("#hand.ready")).to_be_visible()
    spec = page.evaluate("state.about.players")[1]
    assert re.fullmatch(r"[0-9a-f]{32}\.onnx", spec)
    assert page.evaluate("state.about.players") == ["you", spec, spec]
    page.goto(address)
    page.evaluate(
        "localStorage.setItem('policies', localStorage.getItem('policies').replace(/[0-9a-f]{32}/, 'f'.repeat(32)))"
    )
    page.evaluate("localStorage.setItem('strength', 'f'.repeat(32) + '.onnx')")
    page.reload()
    page.get_by_role("button", name="Play Donguri").click()
    expect(page.locator("#message")).to_contain_text("choose its file again")
    expect(page.locator("#strength")).to_have_value("strong")  # once it was offered until a reload
    page.reload()
    expect(page.locator("#strength")).to_have_value("strong")


def test_a_double_click_deals_one_game(open_page, address):
    """Once two, and Back led to the other one."""
    page = open_page(own=True)  # somebody listens to it
    without_pauses(page, address)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method) if request.url.endswith("/api/games") else None)
    page.goto(address)
    page.get_by_role("button", name="Play Donguri").dblclick()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.go_back()
    expect(page.locator("#start")).to_be_visible()
    assert asked.count("POST") == 1


def test_a_policy_with_a_long_name_keeps_the_page_narrow(open_page, address, tmp_path):
    """Once the choice of opponents was 570 pixels wide on a phone."""
    page = open_page(PHONE, has_touch=True)
    file = tmp_path / f"{'x' * 115}.onnx"
    shutil.copy(pretrained_file(game_type("donguri"), 3), file)
    page.goto(address)
    page.set_input_files("#policy", file)
    expect(page.locator("#message")).to_contain_text("xxxx")
    for name in ("#strength", "#message"):
        box = page.locator(name).bounding_box()
        assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_start_page_fills_a_phone_on_its_side(open_page, address):
    """Once the layout of a table on such a screen squeezed it into the right third."""
    page = open_page(SCREENS["landscape"])
    page.goto(address)
    expect(page.locator(".shelf li")).to_have_count(6)
    boxes = [one.bounding_box() for one in page.locator(".welcome, .shelf li").all()]
    assert min(box["width"] for box in boxes) > 380
    assert min(box["x"] for box in boxes) < 20


def test_one_looks_back_at_the_running_deal_and_goes_on(open_page, address):
    page = open_page()
    deal(page, address, game="donguri", num_players=3, num_deals=2, opponents="greedy", seed=5)
    for _ in range(3):
        page.locator("#hand .legal").first.click()
        expect(page.locator("#hand.ready")).to_be_visible()
    told = page.locator("#log p").all_inner_texts()
    cards = page.locator("#hand button").count()
    page.keyboard.press("l")
    expect(page.locator("#past")).to_be_visible()
    assert "the trick" in page.locator("#note").inner_text()  # the end of the last one
    seen = [page.locator("#note").inner_text()]
    while page.locator("#past-back").is_enabled():
        page.keyboard.press("ArrowLeft")
        seen.append(page.locator("#note").inner_text())
    assert seen[-1] == "The deal begins."
    assert [f"{line}." for line in told[: len(seen) - 1]] == seen[-2::-1]
    assert page.locator("#hand button").count() == cards + 3
    page.keyboard.press("1")
    assert page.locator("#past").is_visible()  # nothing was played
    resize(page, SCREENS["tablet"])
    assert min(one.bounding_box()["width"] for one in page.locator("#past button").all()) >= 43.9
    assert page.locator(".brand").bounding_box()["height"] >= 43.9
    for _ in range(len(told)):
        page.locator("#past-next").click()
    expect(page.locator("#past")).to_be_hidden()
    expect(page.locator("#hand.ready button")).to_have_count(cards)
    assert page.locator("#log p").all_inner_texts() == told


def test_three_cards_are_passed_together(open_page, address):
    page = open_page(PHONE, has_touch=True)
    deal(page, address, game="hearts", opponents="greedy", seed=5)
    confirm = page.locator("#confirm")
    expect(confirm).to_have_text("Choose 3 cards")
    for number in (0, 2, 4, 5):  # the first one is put back by the fourth
        page.locator("#hand .legal").nth(number).tap()
        expect(page.locator("#hand .legal").nth(number)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#hand [aria-pressed='true']")).to_have_count(3)
    page.locator("#hand [aria-pressed='true']").last.tap()
    expect(confirm).to_be_disabled()
    assert page.evaluate("state.frame.number") == 0  # nothing is passed yet
    page.locator("#hand .legal").first.tap()
    expect(confirm).to_be_enabled()
    names = page.locator("#hand [aria-pressed='true']").evaluate_all("cards => cards.map((one) => one.dataset.card)")
    style = "(one, [pseudo, name]) => getComputedStyle(one, pseudo)[name]"
    assert page.locator("#hand [aria-pressed='true']").first.evaluate(style, ["::before", "content"]) == '"✓"'
    background = [None, "backgroundColor"]
    assert confirm.evaluate(style, background) != page.locator("#look-back").evaluate(style, background)  # what is next
    confirm.dblclick()
    expect(page.locator("#hand.ready")).to_be_visible()
    page.wait_for_function("() => state.frame.number >= 12 && !state.busy")
    expect(confirm).to_be_hidden()
    expect(page.locator("#message")).to_be_empty()  # once the second click passed the cards again, in vain
    held = page.locator("#hand button").evaluate_all("cards => cards.map((one) => one.dataset.card)")
    assert len(names) == 3
    assert not set(names) & set(held)


@pytest.mark.parametrize("screen", ["phone", "laptop", "narrow"])
def test_a_hint_is_whole_beside_the_cards_to_be_passed(open_page, address, screen):
    """Once it moved the hand on a phone, and on a desk stood in a column of 20 lines beside the long button."""
    page = open_page({**SCREENS, "narrow": {"width": 1000, "height": 700}}[screen])
    deal(page, address, game="hearts", opponents="greedy", seed=4)
    for number in (0, 2, 4):
        page.locator("#hand .legal").nth(number).click()
    before = page.locator("#hand").bounding_box()
    page.keyboard.press("h")
    expect(page.locator("#hand .hint.star").first).to_be_visible(timeout=3 * PATIENCE)
    assert page.locator("#hand").bounding_box()["y"] == pytest.approx(before["y"], abs=1)
    assert page.locator("#note").evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")


def test_no_card_is_played_behind_a_paper_nor_by_a_late_space(open_page, address):
    """Once R and then 1 played a card behind the rules, and a Space pressed a moment late the first legal one."""
    page = open_page()
    short_game(page, address)
    number = page.evaluate("state.frame.number")
    page.keyboard.press("r")
    expect(page.locator("#rules[open]")).to_be_visible()
    assert page.evaluate("document.activeElement.closest('dialog')?.id") == "rules"
    for key in ("1", "u", "n"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator("#rules")).to_be_hidden()
    page.locator("#hand .legal").first.focus()
    page.keyboard.press(" ")
    page.wait_for_timeout(300)
    assert page.evaluate("[state.frame.number, state.busy]") == [number, False]
    page.keyboard.press("Enter")
    page.wait_for_function("(before) => state.frame.number > before", arg=number)


def test_a_late_space_presses_no_button_of_a_result_that_has_just_opened(open_page, address):
    """Once it went to the review, where it was to go on after the last trick."""
    page = open_page()
    short_game(page, address)
    press = """const space = () => new KeyboardEvent("keydown", { key: " ", bubbles: true, cancelable: true });
    const heard = () => document.activeElement.dispatchEvent(space());"""
    page.evaluate("Object.assign(state.about, { over: true, winners: [0], seed: 5 })")
    assert page.evaluate(f"() => {{ {press} state.showResult(); return heard(); }}") is False
    expect(page.locator("#summary button:focus")).to_have_text("Review my game")
    page.wait_for_timeout(700)
    assert page.evaluate(f"() => {{ {press} return heard(); }}") is True


def test_the_result_can_be_closed_and_opened_again(open_page, address):
    """Once ``See the table`` took review and rematch away until a reload. Hints are for a match that goes on."""
    page = open_page()
    short_game(page, address)
    expect(page.locator("#show-hints")).to_be_visible()
    play_to_the_end(page, lambda: page.locator("#hand .legal").first.click())
    expect(page.locator("#show-hints")).to_be_hidden()
    for close in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.get_by_role("button", name="See the table").click(),
    ):
        close()
        expect(page.locator("#summary")).to_be_hidden()
        page.locator("#show-result").click()
        expect(page.get_by_role("button", name="Review my game")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Review my game")).to_be_visible()
    expect(page.locator("#show-hints")).to_be_hidden()


@pytest.mark.parametrize("size", [PHONE, SCREENS["landscape"]], ids=["upright", "on its side"])
def test_the_steps_of_a_replay_stay_in_sight_with_the_table_on_a_phone(open_page, address, tmp_path, size):
    """Once they were below an upright phone's screen, with the hands open, and below each that lies on its side."""
    page = open_page(size, has_touch=True)
    open_record(page, address, tmp_path, played("pepper", 5))
    page.select_option("#view", "all")
    page.evaluate("window.scrollTo(0, 0)")
    for step in (1, 2, 3):
        page.locator("#to-next").tap()
        page.wait_for_function("(step) => viewer.at === step", arg=step)
    assert page.evaluate("scrollY") == 0
    page.locator("#view").focus()
    chosen, steps = (page.locator(which).bounding_box() for which in ("#view", ".steps"))
    assert chosen["y"] + chosen["height"] <= steps["y"] or chosen["y"] >= steps["y"] + steps["height"]


@pytest.mark.parametrize(
    "path", ["game/nothing", "same/nothing", "watch/nothing", "?replay=x&step=0&seat=0", "?game=chess", "?learn=x"]
)
def test_a_dead_link_leads_to_the_games_and_says_why(open_page, address, path):
    page = open_page()
    page.goto(f"{address}/{path}")
    expect(page.locator(".shelf li")).to_have_count(6)
    expect(page.locator("#message")).not_to_be_empty()


def test_a_dead_replay_says_where_games_are(open_page, address):
    page = open_page()
    page.goto(f"{address}/replay/nothing")
    expect(page.locator("#message")).to_contain_text("My games")
    page.get_by_role("link", name="My games").click()
    expect(page.locator("#games[open]")).to_be_visible()


@pytest.mark.parametrize(("status", "words"), [(404, "This replay is not on the server"), (None, "does not answer")])
def test_a_replay_whose_server_is_gone_says_so_whatever_is_clicked(open_page, address, record, tmp_path, status, words):
    """Once nothing happened in the list of tricks, and after a restart it was said in other words."""
    page = open_page()
    open_record(page, address, tmp_path, record)
    expect(page.locator("#thoughts table")).to_be_visible()
    page.route("**/steps/**", lambda route: route.fulfill(status=404, json={"error": "x"}) if status else route.abort())
    page.route("**/review", lambda route: route.fulfill(status=404, json={"error": "x"}) if status else route.abort())
    for act in (
        lambda: page.locator("#timeline button[data-step]").nth(4).click(),
        lambda: page.locator("#to-next").click(),
        lambda: page.locator("#analyse").click(),
    ):
        page.evaluate("document.getElementById('message').textContent = ''")
        act()
        expect(page.locator("#message")).to_contain_text(words)


def test_a_mistake_of_a_review_shows_the_table_on_a_phone(open_page, address, tmp_path):
    """Once the table was off the screen, and the page 401 pixels wide."""
    page = open_page(PHONE, has_touch=True)
    game = load_game("zaraba22", 3, 1)
    agents = {0: make_agent("random", game, 3), 1: make_agent("greedy", game), 2: make_agent("greedy", game)}
    open_record(page, address, tmp_path, play_match("zaraba22", agents, 4, 3, 1))
    page.select_option("#view", "0")
    page.locator("#analyse").tap()
    expect(page.locator(".mistakes li").first).to_be_visible(timeout=3 * PATIENCE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("(list) => list.scrollHeight <= list.clientHeight", page.query_selector(".mistakes"))
    for least, which in ((39.9, "#timeline .jump"), (43.9, "#infer summary, .steps button")):
        sizes = [one.bounding_box() for one in page.locator(which).all()]
        assert min(min(size["width"], size["height"]) for size in sizes) >= least
    page.locator(".mistakes .jump-to").last.tap()
    expect(page.locator("#stage")).to_be_in_viewport(ratio=0.99)
    plates = [one.bounding_box() for one in page.locator("#table .plate").all()]
    assert all(plate["height"] > 20 and plate["width"] > 60 for plate in plates)
    resize(page, {"width": 360, "height": 640})
    assert page.locator("#thoughts .scroll").evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0  # once 9
    resize(page, PHONE)
    page.select_option("#view", "all")
    page.locator("#to-first").tap()
    expect(page.locator("#table .plate .chip:visible")).to_have_count(28)  # two hands, which once were not shown
    assert page.evaluate(OUT_OF_PLATES) == []
    resize(page, SCREENS["landscape"])
    page.wait_for_function("() => stage.clientHeight <= innerHeight")  # once twice as high as such a screen
    assert page.evaluate(OUT_OF_PLATES) == []
