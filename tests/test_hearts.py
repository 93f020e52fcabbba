"""Hearts: the rules with exact cards and scores; OpenSpiel's Hearts as oracle; hidden worlds after the pass."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from helpers import (
    CLUBS,
    DIAMONDS,
    HEARTS,
    SPADES,
    SUITS,
    block,
    deal,
    given,
    greedy_action,
    known,
    legal,
    legal_of,
    lies,
    make,
    play,
    play_randomly,
)  # fmt: skip

from trick_envs import load_game, make_agent
from trick_envs.matches.events import DealScored
from trick_envs.matches.events import play as play_event
from trick_envs.matches.fixed_deals import read_deals
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match

MIXED = [
    "2C 3C 4C 5C 2D 3D 4D 5D 2S 3S 4S QS AH",
    "6C 7C 8C 9C 6D 7D 8D 9D 2H 3H 4H 5S 6S",
    "10C JC QC KC 10D JD QD KD 5H 6H 7H 7S 8S",
    "AC AD AS KS JS 10S 9S 8H 9H 10H JH QH KH",
]
LEFT, RIGHT, ACROSS, NONE = range(4)  # the dealer, who stands for the direction in matches of given length


def table(hands: list[str] = MIXED, dealer: int = NONE, **options: bool) -> Any:
    return given("hearts", hands, dealer, **options)


# --- the pass -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dealer", "to"), [(LEFT, 1), (RIGHT, 3), (ACROSS, 2)])
def test_three_cards_are_passed_and_change_hands_together(dealer: int, to: int) -> None:
    env = table(dealer=dealer)
    first = (dealer + 1) % 4
    for turn in range(4):
        seat = (first + turn) % 4
        for card in MIXED[seat].split()[-3:]:
            assert (env.agent_selection, env.phase) == (f"player_{seat}", "pass")
            assert lies(env, f"hand {seat}") != []
            play(env, card)
    for seat in range(4):
        got, gave = MIXED[(seat - to) % 4].split()[-3:], MIXED[seat].split()[-3:]
        assert set(lies(env, f"hand {seat}")) == {*MIXED[seat].split()[:-3], *got}
        assert sorted(known(env, seat, (seat + to) % 4)) == sorted({*gave, "2C"} if (seat + to) % 4 == 0 else gave)


def test_nobody_passes_in_the_fourth_direction_or_without_the_option() -> None:
    assert table(dealer=NONE).phase == "lead"
    assert table(dealer=LEFT, pass_cards=False).phase == "lead"


def test_a_match_to_100_passes_left_right_across_and_not_at_all() -> None:
    env = make("hearts")
    env.reset(seed=3)
    found = []
    while len(found) < 5:
        if len(env.record()["deals"]) > len(found):
            found.append(int(env.states["pass_to"][0]))
        play_randomly(env, np.random.default_rng(len(found)), 1)
    assert found == [1, 3, 2, 0, 1]


def test_the_last_trick_is_shown_in_every_deal_of_a_match() -> None:
    """To show it, a deal is played again from its cards, and the pass depends on the number of the deal."""
    match = Match(load_game("hearts"), seed=3)
    for _ in range(4 * (52 + 12) - 12 - 3):
        state = match.states.copy()
        match.step(greedy_action(match.game, match.states))
        if state["trick_size"][0] == 3 and not match.over:
            plays, taker = match.last_trick
            shown = [match.game.deck.kind(int(card)) for card in state["trick"][0][:3]]
            assert [kind for _, kind in plays][:3] == shown
            assert len(plays) == 4
            assert taker in range(4)


def test_the_others_do_not_see_what_is_named_before_it_is_handed_over() -> None:
    env = table(dealer=LEFT)
    before = env.observe("player_2")["observation"].tobytes()
    play(env, "6C")  # a card of seat 1, next to play
    after = env.observe("player_2")["observation"]
    other = table(dealer=LEFT)
    play(other, "7C")
    assert after.tobytes() == other.observe("player_2")["observation"].tobytes() != before
    assert block(env, 1, "passed") != block(other, 1, "passed")


# --- the play -----------------------------------------------------------------------------------------------------


def test_the_holder_of_the_two_of_clubs_leads_it() -> None:
    env = table()
    assert (env.agent_selection, legal(env)) == ("player_0", {"2C"})
    assert known(env, 3, 0) == ["2C"]
    assert legal(table(can_lead_any_club=True)) == {"2C", "3C", "4C", "5C"}


def test_no_points_in_the_first_trick_unless_the_hand_has_nothing_else() -> None:
    hands = [CLUBS, DIAMONDS.replace("AD", "QS"), HEARTS, SPADES.replace("QS", "AD")]
    env = table(hands)
    play(env, "2C")
    assert legal(env) == set(DIAMONDS.replace("AD", "").split())
    with pytest.raises(ValueError, match=r"player_1 may not play QS: .*no points go into the first trick"):
        play(env, "QS")
    play(env, "2D")
    assert legal(env) == set(HEARTS.split())  # nothing else
    free = table(hands, no_pts_on_first_trick=False)
    play(free, "2C")
    assert "QS" in legal(free)


def test_who_plays_points_to_the_first_trick_has_shown_to_hold_nothing_else() -> None:
    env = table([CLUBS, DIAMONDS, HEARTS, SPADES])
    play(env, "2C 2D 2H")
    assert block(env, 0, "only_points") == [0, 0, 1, 0]
    state = env.states[0]
    assert state.void[4 * 2 : 4 * 3].tolist() == [1, 1, 0, 0]


def test_hearts_are_not_led_before_they_are_broken() -> None:
    env = table()
    play(env, "2C 6C 10C AC")
    assert (env.agent_selection, legal(env)) == ("player_3", {"AD", "AS", "KS", "JS", "10S", "9S"})
    with pytest.raises(ValueError, match="hearts only when they are broken or nothing else is left"):
        play(env, "8H")
    assert "8H" in legal_after(table(must_break_hearts=False), "2C 6C 10C AC")


def legal_after(env: Any, cards: str) -> set[str]:
    play(env, cards)
    return legal(env)


def test_a_heart_breaks_hearts_and_so_does_the_queen_of_spades() -> None:
    to_the_queen = "2C 6C 10C AC AS QS 5S 7S"
    assert "8H" in legal_after(table(), to_the_queen)
    assert "8H" not in legal_after(table(qs_breaks_hearts=False), to_the_queen)
    env = table([CLUBS.replace("3C", "3H"), DIAMONDS, HEARTS.replace("3H", "3C"), SPADES])
    play(env, "2C 2D 3C 2S")
    assert block(env, 0, "broken") == [0]
    play(env, "4H")
    assert (env.agent_selection, block(env, 0, "broken")) == ("player_3", [1])


def test_with_the_queen_of_spades_and_hearts_alone_the_option_lets_hearts_be_led() -> None:
    hands = [
        "2C 3C 4C 5C 6C 7C 8C 9C 10C JC QC KC 2D",
        "3D 4D 5D 6D 7D 8D 9D 10D JD QD KD AD 2S",
        "AC QS 2H 3H 4H 5H 6H 7H 8H 9H 10H JH QH",
        "3S 4S 5S 6S 7S 8S 9S 10S JS KS AS KH AH",
    ]
    assert legal_after(table(hands), "2C 3D AC 3S") == {"QS"}
    assert legal_after(table(hands, can_lead_hearts_instead_of_qs=True), "2C 3D AC 3S") == set(hands[2].split()[1:])


def test_the_highest_card_of_the_led_suit_takes_and_leads() -> None:
    env = table()
    play(env, "2C 6C 10C AC AS QS 5S 7S")
    assert env.agent_selection == "player_3"
    assert block(env, 3, "queen") == [1, 0, 0, 0]
    assert block(env, 0, "taken") == [0, 0, 0, 2]


# --- the score ----------------------------------------------------------------------------------------------------


def test_one_suit_each_and_the_holder_of_the_clubs_shoots_the_moon() -> None:
    env = table(SUITS)
    play_randomly(env, np.random.default_rng(0))
    assert env.record()["score"] == [0, -26, -26, -26]
    assert env.record()["winners"] == [0]


@pytest.mark.parametrize("bonus", [False, True])
def test_the_jack_of_diamonds_takes_10_points_off(bonus: bool) -> None:
    env = table(SUITS, jd_bonus=bonus)
    play_randomly(env, np.random.default_rng(0))
    assert env.record()["score"] == [10 * bonus, -26, -26, -26]


def test_without_a_moon_a_deal_costs_26_points() -> None:
    env = make("hearts", num_deals=20)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(1))
    totals = [sum(deal["score"]) for deal in env.record()["deals"]]
    assert set(totals) <= {-26, -78}
    assert totals.count(-26) > 10


def test_no_trick_is_worth_5_points_but_not_under_a_moon() -> None:
    moon = table(SUITS, avoid_all_tricks_bonus=True)
    play_randomly(moon, np.random.default_rng(0))
    assert moon.record()["score"] == [0, -26, -26, -26]
    found = 0
    for seed in range(30):
        env = make("hearts", num_deals=1, avoid_all_tricks_bonus=True)
        env.reset(seed=seed)
        play_randomly(env, np.random.default_rng(seed))
        state = env.states[0]
        costs = [int(state.hearts[seat]) + 13 * int(state.queen[seat]) for seat in range(4)]
        expected = [-cost + 5 * (state.taken[seat] == 0) for seat, cost in enumerate(costs)]
        assert env.record()["score"] == expected
        found += sum(state.taken[seat] == 0 for seat in range(4))
    assert found > 0


def test_a_match_ends_when_a_seat_has_100_points() -> None:
    game = load_game("hearts")
    for seed in range(5):
        record = play_match("hearts", dict.fromkeys(range(4), make_agent("greedy", game)), seed=seed)
        totals = np.cumsum([deal["score"] for deal in record["deals"]], axis=0)
        assert totals[-1].min() <= -100 < totals[-2].min()
        assert record["score"] == totals[-1].tolist()
        assert record["winners"] == np.flatnonzero(totals[-1] == totals[-1].max()).tolist()


# --- OpenSpiel ----------------------------------------------------------------------------------------------------


def test_openspiel_allows_the_same_actions_and_pays_the_same() -> None:
    """``TRICK_ENVS_HEARTS_DEALS`` sets how many deals of every option; 100,000 of each were played without a
    difference (``python tests/hearts_oracle.py 100000``).
    """
    pytest.importorskip("pyspiel")
    from hearts_oracle import compare, settings

    deals = int(os.environ.get("TRICK_ENVS_HEARTS_DEALS", "60"))
    played = sum(compare(options, deals, seed) for seed, options in enumerate(settings(combinations=10)))
    assert played == deals * 19


# --- hidden worlds ------------------------------------------------------------------------------------------------


def test_a_sampled_world_has_its_own_story_of_the_pass() -> None:
    """Who is not part of a pass cannot know what was passed: in sampled worlds any three of the receiver's cards."""
    env = table(dealer=LEFT)
    for turn in range(4):
        play(env, " ".join(MIXED[(1 + turn) % 4].split()[-3:]))
    game, states = env.game, env.states
    worlds = game.resample(np.repeat(states, 3000), 0, np.random.default_rng(0))
    for seat, knows in ((0, True), (3, True), (1, False), (2, False)):
        gifts = set(worlds["gave"][:, seat].tolist())
        assert (gifts == {int(states["gave"][0, seat])}) == knows, seat
    hands, gave = worlds["hand"][:, 2, 0], worlds["gave"][:, 1]  # seat 1 passes to seat 2
    assert ((hands & gave) == gave).all()
    assert {bin(each).count("1") for each in gave.tolist()} == {3}
    seen = worlds["seen"][:, 1, 0] & hands
    assert (seen == gave).all()
    own = [((hands >> card) & (gave >> card) & 1).sum() / max(((hands >> card) & 1).sum(), 1) for card in range(52)]
    rates = [rate for card, rate in enumerate(own) if ((hands >> card) & 1).sum() > 300]
    assert max(abs(rate - 3 / 13) for rate in rates) < 0.08


def test_a_hand_of_points_alone_stays_one_in_sampled_worlds() -> None:
    env = table([CLUBS, DIAMONDS, HEARTS.replace("2H", "QS"), SPADES.replace("QS", "2H")])
    play(env, "2C 2D QS")
    worlds = env.game.resample(np.repeat(env.states, 500), 0, np.random.default_rng(0))
    hearts = sum(1 << card for card in range(26, 39))
    assert (worlds["hand"][:, 2, 0] & ~hearts == 0).all()


# --- in words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bonus", [False, True])
def test_the_parts_of_a_score_in_words(bonus: bool) -> None:
    game = load_game("hearts", num_deals=1, jd_bonus=bonus)
    match = Match(game, 0, read_deals(game, [deal(SUITS, NONE)]))
    rng = np.random.default_rng(0)
    while not match.over:
        done = play_event(match, int(rng.choice(legal_of(match.game, match.states))))
    (scored,) = [event for event in done.events(None) if isinstance(event, DealScored)]
    shooter = [("13 hearts", -13), ("the queen of spades", -13)]
    shooter += [("the jack of diamonds", 10)] * bonus + [("the moon", 26)]
    assert [[(item.words, item.points) for item in items] for items in scored.items] == [
        shooter, *[[("somebody shot the moon", -26)]] * 3
    ]  # fmt: skip
