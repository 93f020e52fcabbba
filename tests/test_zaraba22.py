"""Zaraba 22: the rule page's examples and the corners of its rules, with exact cards and scores."""

from __future__ import annotations

import pytest
from helpers import block, given, legal, lies, play

from trick_envs import zaraba22_v0
from trick_envs.engine.build.twin import codec
from trick_envs.games.zaraba22 import rules as zaraba22

# Player 0 has every rank of clubs and some diamonds, player 1 diamonds and hearts, player 2 hearts and spades.
HANDS = [
    "5S 3H AC 2C 3C 4C 5C 6C 7C 8C 9C 10C JC AD",
    "6S AH 2D 3D 4D 5D 6D 7D 8D 9D 10D JD 2H 4H",
    "JS 5H 6H 7H 8H 9H 10H JH AS 2S 3S 4S 7S 8S",
]
CHART = "9S 10S"
CLUBS = "AC 2C 3C 4C 5C 6C 7C 8C 9C 10C JC"
CLUBS_DEAL = [
    f"{CLUBS} JH JD JS",
    "2H 4H 5H 6H 7H 8H 9H 10H 2D 4D 5D 6D 7D 8D",
    "3H 3D 9D 10D AS 2S 3S 4S 5S 6S 7S 8S 9S 10S",
]


def table(hands=HANDS, chart=CHART, dealer=0):
    return given("zaraba22", hands, dealer, chart)


def test_the_original_s_example_of_a_trick():
    env = table()
    assert lies(env, "chart") == ["9S", "10S"]
    assert (env.agent_selection, env.phase) == ("player_0", "lead")
    play(env, "5S")
    assert (env.agent_selection, env.phase) == ("player_0", "lead")
    play(env, "3H")
    assert (env.agent_selection, env.phase) == ("player_1", "follow")
    assert legal(env) == {"6S", "AH", "2H", "4H"}  # a card of either lead suit
    play(env, "6S")
    assert lies(env, "chart") == ["3H", "9S", "10S"]  # the other lead card, and that is no step
    assert (env.agent_selection, env.phase) == ("player_2", "follow")
    assert legal(env) == {"JS", "AS", "2S", "3S", "4S", "7S", "8S"}  # only spades now
    play(env, "JS")
    assert (env.agent_selection, env.phase) == ("player_2", "lead")
    assert lies(env, "pile 2") == ["5S", "6S", "JS"]


def test_who_has_neither_lead_suit_plays_anything_and_moves_nothing():
    env = table()
    play(env, "2C 3C")
    assert legal(env) == set(HANDS[1].split())
    play(env, "JD")
    assert lies(env, "chart") == ["9S", "10S"]
    assert block(env, 1, "void") == [1, 0, 0, 0] + [0] * 8
    play(env, "AS")
    assert (env.agent_selection, env.phase) == ("player_0", "keep")  # the leader chooses after the third player
    assert legal(env) == {"2C", "3C"}
    play(env, "2C")
    assert lies(env, "chart") == ["3C", "9S", "10S"]
    assert env.agent_selection == "player_0"  # 2C takes: nobody else has played clubs, not even the jack of diamonds
    assert lies(env, "pile 0") == ["2C", "JD", "AS"]


def test_the_follower_who_matches_two_leads_of_one_suit_chooses():
    env = table(dealer=2)
    play(env, "5H 10H")
    play(env, "3H")  # player_0 has the 3 of hearts
    assert (env.agent_selection, env.phase) == ("player_0", "keep")
    assert legal(env) == {"5H", "10H"}
    with pytest.raises(
        ValueError, match=r"player_0 may not keep 3H: one of the two lead cards stays; legal now: 5H 10H"
    ):
        play(env, "3H")
    play(env, "5H")
    assert lies(env, "chart") == ["10H", "9S", "10S"]
    assert (env.agent_selection, env.phase) == ("player_1", "follow")
    play(env, "AH")
    assert env.agent_selection == "player_2"  # 5H is the strongest heart left: the ace is the weakest


def test_the_third_player_can_be_the_one_who_matches_and_chooses():
    env = table(dealer=1)
    play(env, "10D JD")
    play(env, "JS")  # no diamonds
    play(env, "AD")
    assert (env.agent_selection, env.phase) == ("player_0", "keep")
    play(env, "10D")
    assert (env.agent_selection, env.phase) == ("player_1", "lead")
    assert block(env, 2, "void") == [0, 1, 0, 0] + [0] * 8


def test_a_match_moves_the_other_lead_and_only_the_one_left_must_be_followed():
    env = table()
    play(env, "4C AD 2D")
    assert lies(env, "chart") == ["4C", "9S", "10S"]
    play(env, "JH")  # void in the lead suit that is left; of clubs nobody knows
    assert block(env, 2, "void")[:4] == [0, 1, 0, 0]
    assert env.agent_selection == "player_1"


def test_the_third_player_may_be_the_first_to_match():
    env = table(CLUBS_DEAL, "AH AD")
    play(env, "JC JS 2H")
    assert lies(env, "chart") == ["AD", "AH"]
    assert legal(env) == {f"{rank}S" for rank in "A23456789"} | {"10S"}
    play(env, "AS")
    assert lies(env, "chart") == ["JC", "AD", "AH"]
    assert lies(env, "pile 0") == ["2H", "AS", "JS"]
    assert block(env, 2, "void")[:4] == [0] * 4


def test_failing_to_match_two_leads_shows_two_voids():
    env = table(["AC 2C 3C 4C 5C 6C 7C 8C 9C 10C JC AD 2D 3D", "4D 5D 6D 7D 8D 9D 10D JD AH 2H 3H 4H 5H 6H",
                 "7H 8H 9H 10H JH AS 2S 3S 4S 5S 6S 7S 8S 9S"], "10S JS")  # fmt: skip
    play(env, "2C 3D 4D")  # player 1 matches the diamond: whether it has clubs is not known
    assert block(env, 1, "void") == [0] * 12
    play(env, "AS")
    assert block(env, 2, "void") == [0, 1, 0, 0] + [0] * 8
    play(env, "5D 6D 2S AD 5D")
    assert block(env, 0, "void") == [0] * 8 + [0, 1, 0, 0]
    env = table(["AC 2C 3C 4C 5C 6C 7C 8C 9C 10C JC AD 2D 3D", "4D 5D 6D 7D 8D 9D 10D JD AH 2H 3H 4H 5H 6H",
                 "7H 8H 9H 10H JH AS 2S 3S 4S 5S 6S 7S 8S 9S"], "10S JS", dealer=1)  # fmt: skip
    play(env, "4D AH JH")
    assert block(env, 0, "void") == [0] * 12
    play(env, "2C")
    assert block(env, 0, "void") == [0, 0, 1, 0] + [0] * 8
    env = table(CLUBS_DEAL, "AH AD")
    play(env, "JC JS 2H")
    assert block(env, 1, "void") == [1, 0, 0, 1] + [0] * 8


def test_the_order_of_two_leads_means_nothing():
    one, other = table(), table()
    play(one, "5S 3H")
    play(other, "3H 5S")
    assert one.states.tobytes() == other.states.tobytes()
    for seat in range(3):
        assert block(one, seat, "leads") == block(other, seat, "leads")
        assert (one.observe(f"player_{seat}")["observation"] == other.observe(f"player_{seat}")["observation"]).all()


def test_the_led_cards_and_who_takes_them_are_seen():
    env = table()
    names = env.game.deck.names
    play(env, "5S 3H")
    assert [names[i] for i, there in enumerate(block(env, 1, "leads")) if there] == ["3H", "5S"]
    assert block(env, 1, "taking") == [0, 0, 0]
    play(env, "6S")
    assert [names[i] for i, there in enumerate(block(env, 1, "leads")) if there] == ["5S"]
    assert block(env, 1, "taking") == [1, 0, 0]
    assert block(env, 0, "taking") == [0, 1, 0]
    assert block(env, 0, "chart_sum") == [0, 0, 3, 19]
    assert block(env, 0, "price") == [0, 0, 1, 2]
    play(env, "JS")
    assert block(env, 0, "taken") == [0] * 4 + [0] * 4 + [0, 0, 0, 3]
    assert block(env, 0, "taking") == [0, 0, 0]


@pytest.mark.parametrize(
    ("chart", "price"),
    [
        ("10S", 1),  # the four of the original's example
        ("3H JH 2H", 3),
        ("10D 8D 2D AD", -1),
        ("3C 4C 7C AC", -1),
        ("", 0),
        ("10S JS", 2),
        ("10S AS", 2),  # 21
        ("JS AS", 2),
        ("10S JS 2S", -1),  # 22
        ("2S 3S 4S 5S 6S", 5),
    ],
)
def test_prices(chart, price):
    template = zaraba22_v0.raw_env().game.template
    state = codec(template.dtype).decode(template.tobytes())  # as rules in plain Python have it
    cards = [zaraba22.DECK.parse(card) for card in chart.split()]
    for card in cards:
        state.chart[0] |= 1 << card
        zaraba22.raise_sum(state, card)
    its = cards[0] // 11 if cards else 0
    assert zaraba22.price(state, its) == price


# Player 0 alone has clubs: it leads two, nobody matches, it keeps the higher one and takes.
FIVE_TRICKS = "JC 10C 9H 10S JC  9C 8C 8H 9S 9C  7C 6C 7H 8S 7C  5C 4C 6H 7S 5C  3C 2C 5H 6S 3C"


def test_a_deal_ends_when_a_hand_is_empty():
    env = table(CLUBS_DEAL, "AH AD")
    play(env, FIVE_TRICKS)
    play(env, "AC JH 2H 3H")
    assert (env.agent_selection, env.phase) == ("player_0", "lead")  # two cards can still be led
    play(env, "JD JS 2D 3D")
    assert env.phase == "over"
    # Clubs 10 8 6 4 2 A crashed; hearts A, diamonds A and spades J: price 1 each.
    # Player 0 took 5 clubs and 16 others; the others took nothing and hold 7 cards each.
    assert lies(env, "chart") == ["AC", "2C", "4C", "6C", "8C", "10C", "AD", "AH", "JS"]
    assert env.record()["score"] == [-5 + 16, 7, 7]


def test_a_deal_ends_when_the_taker_has_one_card_left():
    env = table([f"{CLUBS} 10H JD JS", "2H 4H 5H 6H 7H 8H 9H JH 2D 4D 5D 6D 7D 8D",
                 "3H 3D 9D 10D AS 2S 3S 4S 5S 6S 7S 8S 9S 10S"], "AH AD")  # fmt: skip
    play(env, FIVE_TRICKS)
    play(env, "AC 10H JH 3H")
    assert (env.agent_selection, env.phase) == ("player_1", "lead")
    play(env, "2D 4D 3D 2D JD")  # player 2 keeps the 2; player 0 takes with its last card but one
    assert env.phase == "over"
    # Clubs -1; hearts A: 1; diamonds A + 4 = 15: 2; no spade on the chart: 0.
    # Player 0: 5 clubs, 5 hearts, 3 diamonds, 5 spades, and the JS left. Player 1: 3 + 2 hearts, 4 diamonds left.
    # Player 2: 9D 10D and spades left.
    assert env.record()["score"] == [-5 + 5 + 6, 3 + 2 + 8, 4]


def test_the_start_passes_left_for_three_deals():
    env = zaraba22_v0.raw_env()
    env.reset(seed=5, options={"dealer": 2})
    while env.phase != "over":
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    deals = env.record()["deals"]
    assert [deal["dealer"] for deal in deals] == [2, 0, 1]
    assert [deal["actions"][0][0] for deal in deals] == [2, 0, 1]
    assert [len(deal["stock"]) for deal in deals] == [2, 2, 2]
