"""The rules for people: every game has them, and what their pictures say is true."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import every_game

from trick_envs.engine.cards import put
from trick_envs.engine.positions import observe
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import FOLLOW, PHASES
from trick_envs.errors import InputError
from trick_envs.view import guide as guides
from trick_envs.view.guide import FILE, WIDTH, guide_markdown, guide_of, rule_svg, rule_words
from trick_envs.view.messages import languages
from trick_envs.view.pen import Text, measure
from trick_envs.view.words import signed

BUILT_IN = [name for name in game_names() if game_type(name).package == "trick_envs"]
every_guide = pytest.mark.parametrize("name", BUILT_IN)


@every_guide
def test_every_rule_has_a_picture_in_words_too_and_every_phase_its_rule(name):
    guide = guide_of(name)
    assert guide is not None
    for rule in guide.pages:
        assert rule_words(guide, rule)
        drawn = ElementTree.fromstring(rule_svg(guide, rule))
        assert float(drawn.get("width")) <= WIDTH
    told = {when for rule in guide.pages for when in rule.when}
    assert told >= {"start", "trick", "score", *(PHASES[phase] for phase in game_type(name).phases)}


@every_guide
def test_no_letters_in_the_pictures_of_rules_are_small(name):
    guide = guide_of(name)
    for rule in guide.pages:
        for item in guides._draw(guide, rule).items:
            if isinstance(item, Text):
                assert item.size >= 12


@every_guide
def test_the_parts_of_the_example_add_up(name):
    *parts, total = guide_of(name).points
    assert sum(parts) == total


@every_guide
def test_the_pictures_of_following_are_legal_and_illegal_as_they_say(name):
    """A follower holds the cards that may be played, and those that may not; peppers lie in front."""
    guide = guide_of(name)
    game = load_game(name, guide.learn["players"])
    shown = {group.label: [kind for kind, _ in group.cards] for group in picture_of_following(guide)}
    led, may, others = shown["led"], shown["you may play"], shown["but not"]
    front = {kind for kind in may if "front" in game.type.places and kind % len(game.deck.ranks) == 0}
    states = game.template.copy()
    game.kernels.deal_order(states, np.array(game.deck.cards, np.int8), 0)
    state = states[0]
    state["phase"], state["seat"], state["tricks"], state["trick_size"] = FOLLOW, 1, 1, len(led)
    state["trick"][: len(led)], state["trick_seat"][: len(led)] = led, 0
    state["hand"][1] = 0
    for kind in {*may, *others}:
        put(state["front" if kind in front else "hand"][1], kind)
    for kind in front:
        state["peppers"][len(game.deck.suits) + kind // len(game.deck.ranks)] = 1
    mask = observe(game, states, 1)[1]
    assert set(np.flatnonzero(mask)) == set(may)


def picture_of_following(guide):
    return next(rule.picture for rule in guide.rules if "you may play" in {group.label for group in rule.picture})


def test_zarabas_pictures_have_the_prices_that_they_tell():
    from trick_envs.games.zaraba22.rules import CRASH, CRASHED, VALUES

    prices = 0
    for rule in guide_of("zaraba22").rules:
        for cards, told in pairwise(rule.picture):
            if told.text.startswith("price"):
                total = sum(int(VALUES[kind % 11]) for kind, _ in cards.cards)
                price = CRASHED if total >= CRASH else len(cards.cards)
                assert told.text == f"price {signed(price)}".replace("+", "")
                prices += 1
    assert prices == 2


def test_donguris_pictures_of_the_vote_are_true():
    """The second card has no vote; with more acorns the strongest takes, with more wildcats the weakest."""
    vote = next(rule for rule in guide_of("donguri").rules if rule.title == "The vote")
    for group in vote.picture:
        ranks = [kind % 12 for kind, _ in group.cards]
        acorns = sum(rank < 6 for rank in ranks[:1] + ranks[2:])
        takes = ranks.index(max(ranks) if acorns > 1 else min(ranks))
        assert [mark for _, mark in group.cards].index("!") == takes
        assert ("strongest" in group.label) == (acorns > 1)


def test_a_wrong_guide_says_what_is_wrong_and_where(tmp_path, monkeypatch):
    text = guides.guide_file(game_type("pepper")).read_text(encoding="utf-8")
    file = tmp_path / FILE
    monkeypatch.setattr(guides, "guide_file", lambda kind: file)
    for wrong, message in (
        (text.replace("total = -5", "total = -6"), "adds up to -5, not to -6"),
        (text.replace("4N", "4X"), "4X"),
        (text.replace('when = ["lead"]', 'when = ["led"]'), "not led"),
        (text.replace("goal", "gaol"), "goal"),
    ):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises(InputError, match=message) as error:
            guide_of.__wrapped__("pepper")
        assert str(file) in str(error.value)


@every_game
def test_a_game_without_a_guide_is_told_by_its_docstring(name, monkeypatch, tmp_path):
    guide_data = pytest.importorskip("trick_envs.play.web.pages").guide_data
    monkeypatch.setattr(guides, "guide_file", lambda kind: tmp_path / FILE)
    guide_of.cache_clear()
    try:
        data = guide_data(name)
        assert data["goal"] == ""
        assert not data["learn"]
        assert data["pages"][0]["text"].split()[0] in guide_markdown(name)
    finally:
        guide_of.cache_clear()


JAPANESE = ["donguri", "double_deck_whist", "hearts", "pepper", "tricky_express", "zaraba22"]


def shape_of(found: Any) -> Any:
    """What has to be the same in a translation: keys, cards, lines, numbers, moments; of texts that they are there."""
    if isinstance(found, dict):
        same = ("cards", "line", "when")
        return {key: value if key in same else shape_of(value) for key, value in found.items() if key != "original"}
    if isinstance(found, list):
        return [shape_of(one) for one in found]
    return bool(found.strip()) if isinstance(found, str) else found


def numbers_in(text: str) -> set[str]:
    return set(re.findall(r"[0-9]+", text))


def bare_numbers(rule: dict[str, Any]) -> list[str]:
    return [one["text"] for one in rule["picture"] if re.fullmatch(r"[+−0-9…]+", one.get("text", ""))]


@pytest.mark.parametrize("name", JAPANESE)
def test_a_translated_guide_has_the_same_cards_and_numbers(name):
    file = guides.guide_file(game_type(name))
    english, japanese = (
        tomllib.loads(one.read_text(encoding="utf-8")) for one in (file, file.with_name("guide.ja.toml"))
    )
    assert shape_of(japanese) == shape_of(english)
    for rule, other in zip(english["rules"], japanese["rules"], strict=True):
        assert numbers_in(rule["text"]) <= numbers_in(other["text"]), rule["title"]
        assert bare_numbers(rule) == bare_numbers(other)
    assert numbers_in(english["example"]["text"]) <= numbers_in(japanese["example"]["text"])


@pytest.mark.parametrize("name", JAPANESE)
def test_a_translated_guide_is_drawn_with_the_letters_of_the_system(name):
    guide = guide_of(name, "ja")
    assert guide.language == "ja"
    for rule in guide.pages:
        assert re.search("[ぁ-ん]", rule.text)
        assert not re.search("[a-z]", rule_words(guide, rule)), rule_words(guide, rule)
        svg = rule_svg(guide, rule)
        shown = "".join(one.text or "" for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))
        assert all(one.label in shown for one in rule.picture if re.search("[ぁ-んァ-ン一-龥]", one.label))
        for item in guides._draw(guide, rule).items:
            if isinstance(item, Text):
                assert item.x + measure(item.text, item.size, item.bold) <= WIDTH


def test_what_has_no_translation_is_english():
    assert guide_of("hearts", "fr") is guide_of("hearts")
    assert languages() == ("en", "ja")


@every_guide
def test_the_guide_as_text_shows_every_picture_in_words(name):
    guide, text = guide_of(name), guide_markdown(name)
    assert all(rule_words(guide, rule) in text for rule in guide.pages)
    assert guide_markdown(name, lambda guide, number: f"[{number}]").count("[") == len(guide.pages)
