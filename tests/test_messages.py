"""One table of messages for each language: every one is used, and a Japanese browser reads no English."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("onnxruntime")

from trick_envs.engine.positions import observe
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import PHASES
from trick_envs.matches.events import play
from trick_envs.matches.match import Match
from trick_envs.play.advice import hint_data, retry_told
from trick_envs.play.characters import NAMES
from trick_envs.play.hints import CardHint, Hint
from trick_envs.play.lessons import lesson_data
from trick_envs.play.session import Session, seated
from trick_envs.play.web import http
from trick_envs.play.web.frames import frame_data, shot
from trick_envs.play.web.pages import STATIC, choices
from trick_envs.view import messages as messages_of
from trick_envs.view.messages import languages, messages, speaking
from trick_envs.view.words import counted

BUILT_IN = [name for name in game_names() if game_type(name).package == "trick_envs"]
TOLD = {
    "told",
    "prompt",
    "text",
    "why",
    "words",
    "about",
    "label",
    "value",
    "note",
    "possible",
    "stands",
    "meaning",
    "until",
}


def test_every_message_that_is_asked_for_is_there_and_every_one_is_asked_for():
    tables = [
        {
            (section, key): sorted(re.findall(r"[{]\w+[}]", text))
            for section, told in messages(language).items()
            for key, text in told.items()
            if section != "declared"
        }
        for language in languages()
    ]
    assert all(one == tables[0] for one in tables)
    package, sections = Path(messages_of.__file__).parents[2], "|".join(messages("en"))
    text = {
        kind: "\n".join(file.read_text(encoding="utf-8") for file in package.rglob(f"*.{kind}"))
        for kind in ("py", "js", "html")
    }
    code = text["py"] + text["js"]
    asked = set(re.findall(rf'"({sections})[.]((?!toml|html|js)\w+)"', code))
    asked |= set(re.findall(rf"{{({sections})[.](\w+)}}", text["html"] + http.NOT_FOUND))
    by_made_names = rf"[\"`]({sections})[.][$]?[{{]|messages[.]({sections})\[|\)\[\"({sections})\"\]"
    made = {section for found in re.findall(by_made_names, code) for section in found}
    assert asked <= set(tables[0]), asked - set(tables[0])
    left = {(section, key) for section, key in tables[0] if section not in made and (section, key) not in asked}
    assert not {(section, key) for section, key in left if (section, key.removeprefix("you_")) not in asked}
    in_scripts = re.findall(rf"[\"`]({sections})[.][$\w]|messages[.]({sections})\[", text["js"])
    assert {section for found in in_scripts for section in found if section} == set(http.SECTIONS)


def test_what_games_declare_is_translated():
    wanted = set()
    for name in BUILT_IN:
        kind = game_type(name)
        wanted |= {f"{name}.{PHASES[phase]}" for phase in kind.legality_rules}
        wanted |= {f"{name}.{option}" for option in kind.options}
        wanted |= {f"{name}.until"} if kind.until else set()
    assert set(messages("ja")["declared"]) == wanted
    assert "declared" not in messages("en")


def told_in(data: Any, key: str = "") -> Iterator[str]:
    """The sentences and words in what the page gets."""
    if isinstance(data, str):
        if key in TOLD:
            yield data
    elif isinstance(data, dict):
        for name, value in data.items():
            yield from told_in(value, name)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from told_in(value, key)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_japanese_browser_reads_no_english(name):
    game, rng = load_game(name, num_deals=2, **dict.fromkeys(game_type(name).options, True)), random.Random(1)
    players = seated(1, ["greedy"] * (game.num_players - 1))
    session = Session(Match(game, 3), players, named=True)
    read, english = set[str](), re.compile(r"[A-Za-z]*[a-z]{3,}")
    while not session.match.over:
        legal = observe(game, session.match.states, session.acts)[1]
        with speaking("ja"):
            if session.acts == session.seat:
                lesson = set(told_in(lesson_data(session.match)))
                assert not any("ました" in text for text in lesson), lesson  # what a card would do has not happened
                read |= lesson
                read.add(session.why_illegal(rng.choice(np.flatnonzero(legal == 0).tolist())))
            done = play(session.match, rng.choice(np.flatnonzero(legal).tolist()))
            for observer in (session.seat, None):
                read |= set(told_in(frame_data(shot(done, observer), session.seat)))
        assert "あなた" not in shot(done, session.seat).told  # what was made in one language is not told in another
    left = {text for text in read if set(english.findall(text)) - set(NAMES)}
    assert not left, left
    assert any("あなた" in text for text in read)


def test_hints_and_choices_are_japanese():
    game, english = load_game("pepper"), re.compile("[a-z]{3,}")
    cards = [CardHint(0, 0.75, 0.0, 0.0, 9), CardHint(1, 0.25, 1.5, 0.5, 9)]
    with speaking("ja"):
        for best, value in ((0, 2.0), (1, -2.0), (1, 0.0), (0, None)):
            told = hint_data(Hint(cards, 0, best, best != 0, value, []), game)
            read = {told[key] for key in ("headline", "plain", "outlook", "expectation")} | set(told_in(told))
            assert not any(map(english.search, read)), read
        about = choices("pepper", "ja")["games"]
        assert not any(map(english.search, told_in(about)))


def test_a_retry_says_by_how_much_a_card_is_better_and_how_far_from_the_best():
    def told(**tried: Any) -> str:
        return retry_told({"same": False, "error": 0.5, "short": 0.0, "best": False, **tried})

    assert told(gain=3.1, short=0.4) == "Better by 3.1 than what you played, 0.4 short of the best."
    assert told(gain=3.5, best=True) == "Better by 3.5 than what you played: the best card."
    assert re.fullmatch(r"Worse by 2\.0 .*, 5\.0 short of the best\.", told(gain=-2, short=5))
    assert told(gain=0.2).startswith("As good as")
    assert told(same=True) == "That is the card that you played."


@pytest.mark.parametrize("page", ["play.html", "replay.html"])
def test_a_page_is_filled_in_every_language_and_harmless(page, monkeypatch):
    text = (STATIC / page).read_text(encoding="utf-8")
    for language in languages():
        with speaking(language):
            filled = http.in_words(text)
            assert f'<html lang="{language}">' in filled
            assert not re.search(r"[{][a-z]+[.]\w+[}]", filled)
    evil = {section: dict.fromkeys(told, '</script><b>"') for section, told in messages("en").items()}
    monkeypatch.setattr(http, "messages", lambda language: evil)
    filled = http.in_words(text)
    assert "<b>" not in filled
    assert filled.count("</script>") == text.count("</script>") + 1


def test_numbers_are_words_up_to_twelve_and_less_than_nothing_has_its_sign():
    assert [counted(number, "point") for number in (0, 1, 12, 13)] == [
        "no points", "one point", "twelve points", "13 points"
    ]  # fmt: skip
    assert counted(-10, "point") == "−10 points"  # Hearts with a bonus for the jack
