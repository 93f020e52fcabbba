"""The view of a table: nothing that the observer may not see, everything that it sees; and its drawings."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import (
    TABLES,
    every_game,
    every_table,
    given,
    greedy_action,
    legal_of,
    make,
    play,
    random_positions,
    twin_setup,
)

from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_type, load_game
from trick_envs.matches.match import Match
from trick_envs.matches.transcript import narrate
from trick_envs.matches.viewing import match_view
from trick_envs.view import TableView, ansi, card_svg, icon_svg, rgb_array, svg, table_view
from trick_envs.view.layout import drawing_of


def view_of(env: Any, observer: int | None = None) -> TableView:
    return match_view(env._match, observer)


def named(view: TableView, kinds: Any) -> list[str]:
    return [view.card(kind) if kind is not None else "?" for kind in kinds]


def greedy_match(name: str, players: int, seed: int = 3, **options: Any) -> Match:
    """A match that can be played on with ``step_greedily``."""
    return Match(load_game(name, players, **options), seed)


def step_greedily(match: Match) -> None:
    match.step(greedy_action(match.game, match.states))


# --- who sees what ------------------------------------------------------------------------------------------------


@every_table
def test_worlds_that_a_seat_cannot_tell_apart_look_equal_to_it(name, players):
    """Through a whole match, hidden cards redealt: not one bit of the view changes; the open table does."""
    game, rng, apart = twin_setup(name, players), np.random.default_rng(5), 0
    for states in random_positions(game, seed=4, every=5):
        for observer in rng.choice(players, 2, replace=False).tolist():
            view = json.dumps(table_view(game, states, observer).as_dict())
            for world in game.resample(np.repeat(states, 2), observer, rng).reshape(2, 1):
                assert json.dumps(table_view(game, world, observer).as_dict()) == view
                apart += table_view(game, world) != table_view(game, states)
    assert apart > 20


@every_table
def test_what_a_seat_knows_is_shown(name, players):
    """Its own cards, open places, and the cards that it has seen in other hands; the others are backs, at the end."""
    game = twin_setup(name, players)
    kinds = {kind for kind, place in game.type.places.items() if place.per_seat} - {"hand", "pile"}
    for states in random_positions(game, seed=6, every=7):
        for observer in range(players):
            view, seen = table_view(game, states, observer), set(members(states["seen"][0][observer]))
            for seat in view.seats:
                held = members(states["hand"][0][seat.seat])
                known = sorted(game.deck.kind(card) for card in held if card in seen or seat.seat == observer)
                assert list(seat.hand) == known + [None] * (len(held) - len(known))
                assert set(seat.places) == kinds
            mine = view.legal != ()
            assert mine == (observer == states["seat"][0] and view.acting is not None)
        everything = table_view(game, states)
        assert None not in [kind for seat in everything.seats for kind in seat.hand]
        assert sum(len(seat.hand) for seat in everything.seats) == sum(len(members(row)) for row in states["hand"][0])


@every_table
def test_a_view_is_plain_data(name, players):
    for states in random_positions(twin_setup(name, players), seed=8, every=40):
        view = table_view(twin_setup(name, players), states, 0).as_dict()
        assert json.loads(json.dumps(view)) == json.loads(json.dumps(view, default=lambda odd: pytest.fail(repr(odd))))


def test_there_is_no_view_of_a_seat_that_is_not_there():
    game = load_game("pepper")
    for observer in (5, -1, True, "1"):
        with pytest.raises(ValueError, match="observer: expected a seat of 0 to 4, or None for an open table, not"):
            table_view(game, game.template, observer)


@every_table
def test_the_last_trick_is_the_one_that_the_record_tells(name, players):
    match, found = greedy_match(name, players, num_deals=2), []
    while not match.over:
        finished, number = int(match.states["tricks"][0]), len(match.deals)
        step_greedily(match)
        if len(match.deals) > number or match.over or int(match.states["tricks"][0]) > finished:
            found.append(match_view(match, 0))
    told = [line for line in narrate(match.record()).splitlines() if line.startswith("  trick")]
    assert len(told) > 10
    for view, line in zip(found, told, strict=True):
        plays = [f"{view.seats[seat].name} {view.card(kind)}" for seat, kind in view.previous]
        assert f"  {', '.join(plays)}; " in re.sub(r", player_\d to (keep|pick) \w+", "", line)
        assert re.search(rf"; taken by player_{view.previous_taker}(: .+)?$", line)


# --- what is asked ------------------------------------------------------------------------------------------------

THREE = [
    "2R 3R 4R 5R 6R 2Y 3Y 4Y 5Y 6Y 1G 2G", "7R 8R 9R 7Y 8Y 9Y 3G 4G 5G 1B 2B 3B", "1R 1Y 6G 7G 8G 9G 4B 5B 6B 7B 8B 9B",
]  # fmt: skip


def test_the_prompt_says_what_is_asked():
    env = given("pepper", THREE, dealer=0)
    assert view_of(env, 0).prompt == "you lead"
    assert view_of(env, 1).prompt == "player_0 to lead"
    play(env, "2R")
    assert view_of(env, 1).prompt == "you follow red"
    assert view_of(env).prompt == "player_1 to follow red"
    play(env, "7R 1R 7Y 1Y")
    assert view_of(env, 0).prompt == "you follow yellow"
    play(env, "2Y 8Y 6G")
    assert view_of(env, 2).prompt == "player_0 to follow yellow"
    assert view_of(env, 0).prompt == "you follow yellow"


def test_the_prompt_says_to_those_who_see_it_that_a_seat_is_void():
    env = given("pepper", THREE, dealer=2)
    play(env, "4B")
    for observer, prompt in (
        (0, "you have no blue: any card"),
        (1, "player_0 to follow blue"),
        (None, "player_0 has no"),
    ):
        assert view_of(env, observer).prompt.startswith(prompt)


@every_game
def test_every_prompt_is_a_sentence_about_who_acts(name):
    match = greedy_match(name, game_type(name).default_players, num_deals=1)
    while not match.over:
        acting = int(match.states["seat"][0])
        assert match_view(match, acting).prompt.startswith("you ")
        assert match_view(match, (acting + 1) % match.game.num_players).prompt.startswith(f"player_{acting} to ")
        step_greedily(match)
    winners = match.winners()
    prompt = match_view(match).prompt
    assert prompt.startswith("the match is over: ")
    assert [int(seat) for seat in re.findall(r"player_(\d)", prompt)] == winners


# --- what only one game has ---------------------------------------------------------------------------------------


def test_pepper_shows_what_each_pepper_costs_now():
    env = given("pepper", THREE, dealer=0)
    assert view_of(env, 1).sections["costs"] == [{"1G": 2}, {"1B": 2}, {"1R": 2, "1Y": 2}]
    play(env, "2R 7R 1R")
    view = view_of(env, 2)
    assert named(view, view.seats[1].places["front"]) == ["1R", "1B"]
    assert view.sections["costs"] == [{"1G": 2}, {"1R": 4, "1B": 2}, {"1Y": 2}]
    assert view.lines[1] == "player_1 pays for 1R 4, 1B 2"


def test_donguri_shows_the_vote_and_who_takes_if_it_ended_now():
    ranks = ("3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A")
    env = given("donguri", [" ".join(rank + suit for rank in ranks) for suit in "CDHS"], dealer=3)
    play(env, "5C")
    assert (view_of(env, 1).sections["acorns"], view_of(env, 1).taking) == (1, 0)
    play(env, "AD")  # played second by four: no vote
    view = view_of(env, 1)
    assert (view.sections["acorns"], view.sections["wildcats"], view.sections["uncounted"]) == (1, 0, 1)
    assert (view.taking, view.sections["wins"], view.remarks) == (1, "strongest", ((1, "no vote"),))
    assert "player_0 5C (led), player_1 AD (no vote, takes)" in ansi(view)
    play(env, "KH")
    assert (view_of(env, 1).taking, view_of(env, 1).sections["wins"]) == (None, "")
    assert "nobody takes if it ended now" in view_of(env, 1).lines[0]


def test_zaraba_shows_prices_and_how_far_a_crash_is():
    """The example of the rule page: after 5S + 3H and 6S, 3H lies on the chart."""
    hands = [
        "5S 3H 2C 3C 4C 5C 6C 7C 8C 9C 10C JC AC 2D", "6S 2H 3D 4D 5D 6D 7D 8D 9D 10D JD AD 4H 5H",
        "JS 6H 7H 8H 9H JH AS 2S 3S 4S 7S 8S 9S 10S",
    ]  # fmt: skip
    env = given("zaraba22", hands, dealer=0, stock="10H AH")
    view = view_of(env, 2)
    assert view.sections["chart"]["H"] == {
        "cards": [env.game.deck.parse("AH"), env.game.deck.parse("10H")], "sum": 21, "price": 2, "left": 1,
    }  # fmt: skip
    play(env, "5S 3H")
    view = view_of(env, 1)
    assert named(view, view.sections["leads"]) == ["3H", "5S"]
    assert (view.taking, view.prompt) == (None, "you follow hearts or spades")
    play(env, "6S")
    view = view_of(env, 2)
    assert (view.sections["chart"]["H"]["price"], view.taking, view.led) == (-1, 1, 0)
    assert "hearts: sum 24, crashed, price −1" in view.lines
    play(env, "JS")
    view = view_of(env, 0)
    assert (view.sections["held"], view.sections["worth"]) == ([[0] * 4, [0] * 4, [0, 0, 0, 3]], [0, 0, 0])
    assert (named(view, [kind for _, kind in view.previous]), view.previous_taker) == (["5S", "3H", "6S", "JS"], 2)


def test_whist_shows_the_right_neighbours_hand_and_the_trick_while_the_winner_picks():
    match = greedy_match("double_deck_whist", 4)
    while match.phase != "pick":
        step_greedily(match)
    for observer in range(4):
        view = match_view(match, observer)
        assert None not in view.seats[(observer - 1) % 4].hand
        assert set(view.seats[(observer + 2) % 4].hand) == {None}
        assert len(view.trick) == 4
        assert view.taking == view.acting
        assert list(view.places["upturned"]) == view.sections["upturned"]
        assert view.sections["stock"] == 50
    assert match_view(match, view.acting).legal == tuple(dict.fromkeys(view.sections["upturned"]))


def test_express_shows_each_seat_what_it_gave_and_got_and_nobody_else():
    match = greedy_match("tricky_express", 4)
    for _ in range(8):
        step_greedily(match)
    gave = {(seat, (seat - 1 + 2 * (k % 2)) % 4): kind for k, (seat, kind) in enumerate(match.deals[0].actions)}
    for observer in range(4):
        view = match_view(match, observer)
        told = {(each["got"], each["seat"]): each["kind"] for each in view.sections["exchanged"]}
        for other in ((observer + 1) % 4, (observer - 1) % 4):
            assert told[0, other] == gave[observer, other]
            assert told[1, other] == gave[other, observer]
            assert gave[observer, other] in view.seats[other].hand
    assert match_view(match).sections["exchanged"] == []


def test_express_marks_the_longest_stretch_between_two_stops():
    match = greedy_match("tricky_express", 4, num_deals=1)
    while not match.over:
        step_greedily(match)
    view = match_view(match)
    line, top = view.sections["line"], view.sections["top"]
    assert line[top["from"]] == line[top["to"]] == top["seat"]
    assert top["length"] == max(each["first"] for each in view.sections["passes"]) == top["to"] - top["from"] - 1


def test_a_match_to_a_number_of_points_says_so_instead_of_its_longest_length():
    """Once a match of Hearts said "deal 1 of 50"."""
    for name, length in (
        ("hearts", ", to 100 points"),
        ("double_deck_whist", ", to 3 won deals"),
        ("zaraba22", " of 3"),
    ):
        view = match_view(Match(load_game(name), 1), 0)
        assert view.length == length
        assert f"deal 1{length}, trick 1" in ansi(view)
    assert match_view(Match(load_game("hearts", num_deals=2), 1)).length == " of 2"


def test_places_are_words_in_the_text_of_a_table():
    """Once "to_right: 1 hidden"."""
    match = Match(load_game("tricky_express", num_deals=1), 3)
    match.step(legal_of(match.game, match.states)[0])
    text = ansi(match_view(match, (int(match.states["seat"][0]) + 1) % 4))
    assert "to right: 1 hidden" in text
    assert "to_right" not in text


def test_hearts_asks_for_the_cards_that_are_passed_together():
    """Once "a card (1 of 3)" stood where three are chosen at once."""
    match = Match(load_game("hearts"), 1)
    told = []
    for _ in range(3):
        told.append(match_view(match, int(match.states["seat"][0])).prompt)
        match.step(legal_of(match.game, match.states)[0])
    assert [" ".join(one.split()[1:4]) for one in told] == ["pass three cards", "pass card 2", "pass card 3"]


# --- drawings -----------------------------------------------------------------------------------------------------


def test_the_text_of_a_table():
    env = given("pepper", THREE, dealer=0)
    play(env, "2R 7R 1R 7Y 1Y")
    assert ansi(view_of(env, 0)).splitlines() == [
        "Pepper, deal 1 of 1, trick 2",
        "> player_0 D [+0]  3R 4R 5R 6R 2Y 3Y 4Y 5Y 6Y 2G  front: 1G  2 to pay now",
        "  player_1   [+0]  9 hidden  front: 1R 1B  (2 taken)  6 to pay now",
        "  player_2   [+0]  10 hidden",
        "  trick: player_1 7Y (led, takes), player_2 1Y",
        "  last trick: player_0 2R, player_1 7R, player_2 1R; taken by player_1",
        "  you pay for 1G 2",
        "  player_1 pays for 1R 4, 1B 2",
        "  you follow yellow",
    ]
    coloured = ansi(view_of(env, 0), color=True)
    assert "\x1b[1m\x1b[38;2;" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == ansi(view_of(env, 0))


@every_table
def test_a_table_can_be_drawn_at_any_time_and_nothing_jumps(name, players):
    """What lies below and where the seats' plates are is the same in all positions of a match."""
    match, count = greedy_match(name, players, num_deals=1), 0
    grounds: dict[Any, Any] = {}
    while True:
        if match.over or count % 9 == 0:
            for size in ((800, 600), (800, 1000)):
                for observer in (None, count % players):
                    view = match_view(match, observer)
                    drawing, scale = drawing_of(view, *size)
                    assert scale == 1
                    assert grounds.setdefault((size, observer), drawing.ground) == drawing.ground
                    for item in drawing.items:
                        assert -6 < item.x < size[0]
                        assert -6 < item.y < size[1]
            root = ElementTree.fromstring(svg(view))
            assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
                "svg", "title", "desc", "g", "rect", "path", "polygon",
            }  # fmt: skip
            assert not any("href" in key or key == "id" for element in root.iter() for key in element.attrib)
        if match.over:
            return
        step_greedily(match)
        count += 1


@every_game
def test_pixels_have_the_size_that_is_asked_for(name):
    pytest.importorskip("PIL")
    view = match_view(greedy_match(name, max(game_type(name).players)), 0)
    for width, height in ((800, 600), (300, 400), (500, 300)):
        drawn = rgb_array(view, width, height)
        assert (drawn.shape, drawn.dtype) == ((height, width, 3), np.uint8)
        assert drawn.std() > 20
    drawn[:] = 0  # it is a copy
    assert rgb_array(view, 500, 300).any()


@every_game
def test_a_picture_is_as_small_as_it_is_asked_for(name):
    """At 48 x 48 pixels Pillow refused boxes without a width."""
    pytest.importorskip("PIL")
    view = match_view(greedy_match(name, max(game_type(name).players)), 0)
    for width, height in ((48, 48), (8, 8), (8, 600), (600, 20)):
        assert rgb_array(view, width, height).shape == (height, width, 3)


def test_names_of_players_are_escaped():
    view = view_of(given("pepper", THREE, dealer=0), 0)
    text = svg(replace(view, title="<script>", prompt="a & b"))
    assert "<title>&lt;script&gt;</title><desc>a &amp; b</desc>" in text


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_every_card_can_be_drawn(name, players):
    deck = game_type(name).deck(players)
    drawn = {card_svg(deck, kind, name) for kind in range(deck.kinds)} | {card_svg(deck, None, name)}
    assert len(drawn) == deck.kinds + 1
    ElementTree.fromstring(card_svg(deck, 0))


def test_notebooks_show_a_picture():
    env = make("pepper", raw=False)
    assert env._repr_html_() is None
    env.reset(seed=1)
    assert env._repr_html_().startswith('<img src="data:image/svg+xml;base64,')
    assert view_of(env, 2)._repr_html_() != env._repr_html_()


def test_a_game_without_a_module_of_its_own_is_drawn(monkeypatch):
    """A plug-in may have none; here Donguri under another name."""
    kind = replace(game_type("donguri"), name="plain", view=None)
    game = Game(kind, 3, None, {})
    view = table_view(game, next(random_positions(game, 1, 1)), 0)
    assert view.sections == {}
    assert "player_2" in ansi(view)
    for module in ("cards", "layout", "geometry"):
        monkeypatch.setattr(f"trick_envs.view.{module}.game_type", lambda name: kind)
    for width, height in ((803, 600), (391, 520)):
        ElementTree.fromstring(svg(view, width, height))


@every_table
def test_what_only_a_game_has_is_in_rows_and_every_mark_in_them_can_be_drawn(name, players):
    """The page and the pictures lay out the same rows; each says what it means, or is words alone."""
    match, icons = greedy_match(name, players, num_deals=1), set()
    while not match.over:
        view = match_view(match, 0)
        for row in [*view.rows, *(fact for seat in view.seats for fact in seat.facts)]:
            icons |= {row.icon} - {""}
            assert row.drawn or row.words or row.note
            assert not row.bar or (0 <= row.bar[0] <= 99 and row.bar[1] > 0)
            assert set(row.cards) <= set(range(match.game.num_actions))
        assert view.lines == tuple(row.words for row in view.rows if row.words)
        step_greedily(match)
    for icon in icons:
        assert "<polygon" in icon_svg(name, icon)
