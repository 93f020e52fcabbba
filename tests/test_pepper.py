"""Pepper: the rule page with exact cards and scores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers import block, given, legal, lies, play, play_randomly

from trick_envs import pepper_v0
from trick_envs.engine.registry import load_game

# Three players, four colours, 1 to 9, twelve cards each.
HANDS = [
    "1R 2R 3R 4R 5R 6R 7R 8R 9R 2Y 3Y 4Y",
    "1Y 5Y 6Y 7Y 8Y 9Y 1G 2G 3G 4G 2B 3B",
    "1B 4B 5B 6B 7B 8B 9B 5G 6G 7G 8G 9G",
]


def table(hands=HANDS, dealer=0, **options):
    return given("pepper", hands, dealer, **options)


@pytest.mark.parametrize(
    ("players", "colours", "highest"),
    [(3, 4, 9), (4, 4, 12), (5, 5, 12), (6, 6, 12), (7, 6, 14), (8, 6, 16), (9, 6, 18)],
)
def test_the_decks_of_the_published_game(players, colours, highest):
    game = load_game("pepper", players)
    assert (len(game.deck.suits), len(game.deck.ranks), game.deck.ranks[-1]) == (colours, highest, str(highest))
    assert game.num_actions == 12 * players
    assert game.hand_size == 12
    assert "RYGBNP".startswith(game.deck.suits)


def test_five_players_and_five_deals_by_default():
    assert load_game("pepper").num_players == 5
    assert int(load_game("pepper").template["num_deals"][0]) == 5


def test_peppers_are_laid_open_at_once_and_are_not_part_of_the_hand():
    env = table()
    assert [lies(env, f"front {seat}") for seat in range(3)] == [["1R"], ["1Y", "1G"], ["1B"]]
    assert [len(lies(env, f"hand {seat}")) for seat in range(3)] == [11, 10, 11]
    assert block(env, 1, "front") == [0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    assert block(env, 1, "hand_size") == [10, 11, 11]


@pytest.mark.parametrize("dealer", [0, 1, 2])
def test_the_dealer_leads_from_the_hand(dealer):
    env = table(dealer=dealer)
    assert (env.agent_selection, env.phase) == (f"player_{dealer}", "lead")
    assert legal(env) == {card for card in HANDS[dealer].split() if card[:-1] != "1"}


def test_a_pepper_may_not_be_led():
    with pytest.raises(ValueError, match=r"player_0 may not lead 1R: the lead comes from the hand"):
        play(table(), "1R")


def test_a_pepper_may_be_led_with_lead_peppers():
    env = table(lead_peppers=True)
    assert legal(env) == set(HANDS[0].split())
    play(env, "1R 2B 4B")  # the pepper is the lowest red, but the only one
    assert env.agent_selection == "player_0"
    assert lies(env, "front 0") == ["1R"]
    assert lies(env, "pile 0") == ["2B", "4B"]
    assert env.record()["options"] == {"lead_peppers": True}
    assert "options" not in table().record()


def test_who_has_the_colour_in_hand_or_in_front_follows_from_either():
    env = table(dealer=0)
    play(env, "2Y")
    assert legal(env) == {"1Y", "5Y", "6Y", "7Y", "8Y", "9Y"}


def test_who_has_neither_plays_any_card_of_the_hand_or_any_pepper_in_front():
    env = table(dealer=0)
    play(env, "2R")
    assert legal(env) == set(HANDS[1].split())
    play(env, "1G")
    assert legal(env) == set(HANDS[2].split())


def test_a_front_pepper_of_the_led_colour_must_be_played_if_there_is_no_other():
    env = table(["2R 3R 4R 5R 6R 7R 8R 9R 1Y 2Y 3Y 4Y", "1R 5Y 6Y 7Y 8Y 9Y 2G 3G 4G 1G 2B 3B", HANDS[2]])
    play(env, "9R")
    assert legal(env) == {"1R"}
    with pytest.raises(ValueError, match=r"player_1 may not play 2G: whoever has the led colour.*\(led: 9R\)"):
        play(env, "2G")
    play(env, "1R 1B")  # and a pepper of another colour may be thrown
    assert lies(env, "front 0") == ["1R", "1Y", "1B"]
    assert lies(env, "front 1") == ["1G"]
    assert lies(env, "front 2") == []


def test_the_highest_number_of_the_led_colour_takes_and_leads():
    env = table(dealer=0)
    play(env, "4Y 5Y 9B")
    assert env.agent_selection == "player_1"
    assert lies(env, "pile 1") == ["4Y", "5Y", "9B"]
    assert block(env, 0, "taken") == [0] * 4 + [0, 2, 0, 1] + [0] * 4


def test_the_example_of_the_rule_page():
    """Brown 4 is led; brown 7 takes; the brown pepper, played from the front, goes to its taker's front."""
    a = "4N 2R 3R 4R 5R 6R 7R 8R 9R 10R 11R 12R"
    b = "7N 2Y 3Y 4Y 5Y 6Y 7Y 8Y 9Y 10Y 11Y 12Y"
    c = "1R 2G 3G 4G 5G 6G 7G 8G 9G 10G 11G 12G"
    d = "1N 2N 3N 5N 6N 8N 9N 10N 11N 12N 1Y 1G"
    e = "1B 2B 3B 4B 5B 6B 7B 8B 9B 10B 11B 12B"
    env = table([a, b, c, d, e])
    play(env, "4N 7N")
    assert legal(env) == set(c.split())
    play(env, "12G")
    assert legal(env) == {"1N", "2N", "3N", "5N", "6N", "8N", "9N", "10N", "11N", "12N"}
    play(env, "1N 12B")
    assert env.agent_selection == "player_1"
    assert lies(env, "front 1") == ["1N"]
    assert lies(env, "pile 1") == ["12G", "12B", "4N", "7N"]


def test_a_pepper_can_be_played_again():
    env = table(dealer=2)
    play(env, "4B 2R 2B")  # player_2 takes, then leads again
    play(env, "5G 1R 1G")
    assert lies(env, "front 2") == ["1R", "1G", "1B"]
    play(env, "6G 3R 4G")
    assert "1R" not in legal(env)  # but not led
    play(env, "5B 4R 3B")
    assert lies(env, "front 2") == ["1R", "1G", "1B"]
    env = table(dealer=1)
    play(env, "9Y 1B 2Y")
    assert lies(env, "front 1") == ["1Y", "1G", "1B"]
    play(env, "2B 4B 1R")  # player_2 has taken and leads
    assert env.agent_selection == "player_2"
    play(env, "5B 3R 1B")  # the blue pepper comes from the front of player_1, and back to player_2
    assert lies(env, "front 2") == ["1R", "1B"]


def test_the_deal_ends_after_the_trick_that_empties_a_hand_and_the_rest_of_the_hands_counts():
    """Player 0 leads reds, which nobody else has, until player 1's ten cards in hand are gone."""
    env = table(["1R 2R 3R 4R 5R 6R 7R 8R 9R 2Y 3Y 4Y", HANDS[1], HANDS[2]])
    play(env, "9R 9Y 9B  8R 8Y 8B  7R 7Y 7B  6R 6Y 6B  5R 5Y 5B  4R 4G 4B  3R 3G 9G  2R 2G 8G")
    assert env.agent_selection == "player_0"
    assert lies(env, "hand 0") == ["2Y", "3Y", "4Y"]
    play(env, "2Y")
    assert legal(env) == {"1Y"}
    play(env, "1Y 7G  3Y 2B 6G")
    assert env.phase == "lead"
    assert lies(env, "hand 1") == ["3B"]  # one card left: the deal goes on
    play(env, "4Y 3B")
    assert env.phase == "follow"  # player_1 has no card in hand, but the trick is not over
    play(env, "5G")
    assert env.phase == "over"
    assert [lies(env, f"front {seat}") for seat in range(3)] == [["1R", "1Y"], ["1G"], ["1B"]]
    # Player 0: red pepper and 8 reds, -2 - 8; yellow pepper and all 8 other yellows, -2 - 8. Player 1 has taken
    # nothing: -2. Player 2: the blue pepper alone.
    assert env.record()["score"] == [-20, -2, -2]
    assert env.record()["winners"] == [1, 2]


def test_cards_left_in_the_hand_count_with_a_pepper():
    env = table(["1R 2R 3R 4R 5R 6R 7R 8R 9R 1Y 1G 1B", "2Y 3Y 4Y 5Y 6Y 7Y 8Y 9Y 2G 3G 4G 5G",
                 "2B 3B 4B 5B 6B 7B 8B 9B 6G 7G 8G 9G"], dealer=0)  # fmt: skip
    # Player 0 holds 8 reds and four peppers in front. It leads seven reds, each time given a blue and a yellow.
    play(env, "9R 9Y 9B 8R 8Y 8B 7R 7Y 7B 6R 6Y 6B 5R 5Y 5B 4R 4Y 4B 3R 3Y 3B")
    play(env, "2R 2Y 2B")
    assert env.phase == "over"
    # All peppers, all reds, yellows and blues: 3 * (2 + 8), and the green pepper alone: 2.
    assert env.record()["score"] == [-32, 0, 0]
    env = table(["1R 2R 3R 4R 5R 6R 7R 8R 9R 1Y 1G 1B", "2Y 3Y 4Y 5Y 6Y 7Y 8Y 9Y 2G 3G 4G 5G",
                 "2B 3B 4B 5B 6B 7B 8B 9B 6G 7G 8G 9G"], dealer=1)  # fmt: skip
    # Player 1 leads yellows; player 0 throws the yellow pepper on the first, then everything else follows.
    play(env, "9Y 2B 1Y  8Y 3B 1G  7Y 4B 1B  6Y 5B 1R")
    assert lies(env, "front 1") == ["1R", "1Y", "1G", "1B"]
    play(env, "5Y 6B 9R 4Y 7B 8R 3Y 8B 7R 2Y 9B 6R")
    assert lies(env, "hand 1") == ["2G", "3G", "4G", "5G"]
    play(env, "5G 9G 5R")  # player_2 takes and leads
    play(env, "8G 4R 4G  7G 3R 3G  6G 2R 2G")
    assert env.phase == "over"
    # Player 1: reds 4 + 2, yellows 8 + 2, greens 0 + 2, blues 8 + 2.
    assert env.record()["score"] == [0, -28, 0]


def test_the_taker_of_the_last_trick_deals_next():
    env, rng = pepper_v0.raw_env(num_players=4), np.random.default_rng(3)
    env.reset(seed=1)
    play_randomly(env, rng)
    deals = env.record()["deals"]
    assert len(deals) == 5
    for deal, following in pairwise(deals):
        trick = deal["actions"][-4:]
        in_led_colour = [(int(card[:-1]), seat) for seat, card in trick if card[-1] == trick[0][1][-1]]
        assert following["dealer"] == max(in_led_colour)[1] == following["actions"][0][0]
