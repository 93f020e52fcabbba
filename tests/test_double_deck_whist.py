"""Double-Deck German Whist: the corners of its rules, with exact cards and scores."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import CLUBS, DIAMONDS, HEARTS, RANKS, SPADES, SUITS, block, deal, given, known, legal, lies, play

from trick_envs import double_deck_whist_v0

# Each four cards of the stock: a club and a heart face up, then a diamond and a spade.
STOCK = " ".join(f"{rank}C {rank}H {rank}D {rank}S" for rank in RANKS)


def table(hands=SUITS, stock=STOCK, dealer=3):
    return given("double_deck_whist", hands, dealer, stock)


def void(env, seat):
    """The suits that a seat is publicly void in, as its partner sees it."""
    row = np.reshape(block(env, (seat + 2) % 4, "void"), (4, 4))[2]
    return {suit for suit, flag in zip("CDHS", row, strict=True) if flag}


def changed(text, one, other):
    """The same cards with two changed for each other (the first of each)."""
    cards = text.split()
    i, j = cards.index(one), cards.index(other)
    cards[i], cards[j] = cards[j], cards[i]
    return " ".join(cards)


def give(hands, **swaps):
    """Hands after exchanges such as ``give(hands, AC=(0, "2D", 1))``: seat 0 gives AC to seat 1 for 2D."""
    hands = [hand.split() for hand in hands]
    for card, (giver, other, taker) in swaps.items():
        hands[giver][hands[giver].index(card)] = other
        hands[taker][hands[taker].index(other)] = card
    return [" ".join(hand) for hand in hands]


def finish_deal(env):
    """Everybody plays the first legal card; winners pick a trump if there is one."""
    deals = len(env.record()["deals"])
    while env.phase != "over" and len(env.record()["deals"]) == deals:
        trumps = [card for card in legal(env) if card[-1] == "CDHS"[int(env.states["trump"][0])]]
        play(env, min(trumps) if env.phase == "pick" and trumps else min(legal(env)))


# --- trump and tricks ---------------------------------------------------------------------------------------------


def test_the_top_of_the_stock_shows_trumps_and_lies_face_up_with_the_next_card():
    env = table()
    assert block(env, 0, "trump") == [1, 0, 0, 0]
    assert lies(env, "upturned") == ["2C", "2H"]
    assert len(lies(env, "stock")) == 50
    assert (env.agent_selection, env.phase) == ("player_0", "lead")  # the dealer's left neighbour


def test_the_dealers_left_neighbour_leads():
    assert table(dealer=1).agent_selection == "player_2"


def test_followers_must_follow_suit():
    env = table(give(SUITS, AC=(0, "2D", 1)))
    play(env, "3C")
    assert legal(env) == {"AC"}
    with pytest.raises(ValueError, match=r"player_1 may not play 5D: .*led suit.*3C"):
        play(env, "5D")
    play(env, "AC")
    assert len(legal(env)) == 13  # hearts only: any


def test_the_highest_trump_takes_the_trick():
    env = table(give(SUITS, **{"2C": (0, "2S", 3), "AC": (0, "2D", 1)}))
    play(env, "2D 3D 3H 2C")
    assert (env.agent_selection, env.phase) == ("player_3", "pick")  # the 2 of trumps


def test_without_a_trump_the_highest_card_of_the_led_suit_takes_the_trick():
    env = table(dealer=0)
    play(env, "2D AH AS")
    assert env.agent_selection == "player_0"
    env = table(stock=changed(STOCK, "2C", "2H"), dealer=0)  # hearts are trumps
    play(env, "2D 2H AS AC")
    assert env.agent_selection == "player_2"
    env = table(stock=changed(STOCK, "2C", "2H"), dealer=2)
    play(env, "2S AC AD 3H")
    assert env.agent_selection == "player_2"
    env = table(stock=changed(STOCK, "2C", "2H"), dealer=1)
    play(env, "2H AS AC AD")
    assert env.agent_selection == "player_2"


@pytest.mark.parametrize(("dealer", "cards", "taker"), [(3, "AC AC 2H 2S", 0), (0, "AC 2H 2S AC", 1)])
def test_of_two_identical_cards_the_one_played_first_takes_the_trick(dealer, cards, taker):
    env = table([CLUBS, DIAMONDS.replace("AD", "AC"), HEARTS, SPADES], STOCK.replace("AC", "AD"), dealer)
    play(env, cards)
    assert (env.agent_selection, env.phase) == (f"player_{taker}", "pick")


# --- drawing ------------------------------------------------------------------------------------------------------


def test_the_winner_picks_the_partner_takes_the_other_and_the_opponents_draw_from_the_left():
    env = table()
    play(env, "AC 3D 3H 3S")
    assert (env.agent_selection, env.phase) == ("player_0", "pick")
    assert legal(env) == {"2C", "2H"}
    assert block(env, 1, "hand_size") == [12, 12, 12, 12]
    play(env, "2H")
    assert lies(env, "hand 0") == [*CLUBS.split()[:-1], "2H"]
    assert lies(env, "hand 2") == ["2C", "2H", *HEARTS.split()[2:]]
    assert lies(env, "hand 1") == ["2D", "2D", *DIAMONDS.split()[2:]]  # the first face-down card
    assert lies(env, "hand 3") == ["2S", "2S", *SPADES.split()[2:]]
    assert lies(env, "upturned") == ["3C", "3H"]
    assert lies(env, "pile 0") == ["AC", "3D", "3H", "3S"]
    assert (env.agent_selection, env.phase) == ("player_0", "lead")
    assert block(env, 0, "tricks") == [1]


def test_the_first_face_down_card_goes_to_the_left_of_whoever_wins():
    env = table(dealer=0)
    play(env, "2D AH AS 5C 2C")  # player 0 trumps
    assert "2D" in lies(env, "hand 1")
    env = table(stock=changed(STOCK, "2C", "2S"), dealer=1)  # spades are trumps
    play(env, "AH 2S 2C 2D 2S")
    assert lies(env, "hand 1").count("2H") == 1  # the partner
    assert lies(env, "hand 0").count("2D") == 1  # the left neighbour
    assert lies(env, "hand 2").count("2C") == 1


def test_pick_is_a_step_even_when_both_cards_are_the_same():
    env = table([CLUBS.replace("2C", "2H"), DIAMONDS, HEARTS, SPADES], STOCK.replace("2H", "2C"))
    assert block(env, 0, "upturned")[:2] == [2, 0]
    play(env, "AC 3D 3H 3S")
    assert (env.phase, legal(env)) == ("pick", {"2C"})
    play(env, "2C")
    assert "2C" in lies(env, "hand 0")
    assert "2C" in lies(env, "hand 2")


def test_only_a_card_that_lies_face_up_is_picked():
    env = table()
    play(env, "AC 3D 3H 3S")
    with pytest.raises(ValueError, match=r"player_0 may not pick 3C: .*face up; legal now: 2C 2H"):
        play(env, "3C")


def test_thirteen_tricks_draw_and_thirteen_count():
    env = table()
    counted = 0
    while env.phase != "over":
        picking = env.phase == "pick"
        if block(env, 0, "tricks")[0] >= 13:
            assert not picking
            assert block(env, 0, "second_half") == [1]
            assert lies(env, "stock") == lies(env, "upturned") == []
        else:
            assert block(env, 0, "won") == [0, 0]
        counted += picking
        play(env, min(card for card in legal(env) if card[-1] == "C") if picking else min(legal(env)))
    assert counted == 13
    assert len(env.record()["deals"][0]["actions"]) == 26 * 4 + 13
    assert env.record()["score"] == [13, 0, 13, 0]  # player 0 had nothing but trumps


# --- what each sees -----------------------------------------------------------------------------------------------


def test_the_left_neighbour_sees_the_hand_and_nobody_else_does():
    env = table()
    for seat in range(4):
        assert known(env, (seat + 1) % 4, seat) == lies(env, f"hand {seat}")
        assert known(env, (seat + 2) % 4, seat) == known(env, (seat + 3) % 4, seat) == []


def test_a_face_down_draw_is_seen_by_the_left_neighbour_alone():
    env = table()
    play(env, "AC 3D 3H 3S 2C")
    assert "2D" in known(env, 2, 1)
    assert known(env, 2, 1) == lies(env, "hand 1")
    assert known(env, 0, 1) == known(env, 3, 1) == []
    assert known(env, 0, 3) == lies(env, "hand 3")
    assert known(env, 1, 3) == known(env, 2, 3) == []


def test_which_cards_lie_face_down_only_their_takers_and_those_to_their_left_can_tell():
    one, other = table(), table(stock=changed(STOCK, "2D", "9S"))
    for env in (one, other):
        play(env, "AC 3D 3H 3S 2C")
    same = [
        one.observe(agent)["observation"].tobytes() == other.observe(agent)["observation"].tobytes()
        for agent in one.possible_agents
    ]
    assert same == [True, False, False, True]


def test_a_card_taken_face_up_stays_known_while_it_is_held():
    env = table()
    play(env, "AC 3D 3H 3S 2C")
    assert known(env, 1, 2) == known(env, 0, 2) == ["2H"]
    assert known(env, 2, 0) == known(env, 3, 0) == ["2C"]
    play(env, "KC 4D 4H 4S 3C")
    assert known(env, 0, 2) == ["2H", "3H"]
    play(env, "QC 5D 3H")
    assert known(env, 0, 2) == ["2H"]


def test_of_two_copies_the_known_one_is_played():
    """Player 2 has its own 2H and takes the other face up: whoever knew of one cannot know of one more after a 2H."""
    env = table()
    play(env, "AC 3D 3H 3S 2C")
    assert (known(env, 3, 2).count("2H"), known(env, 0, 2).count("2H")) == (2, 1)
    assert block(env, 2, "hand")[26] == 2
    play(env, "KC 4D 2H")
    assert (known(env, 3, 2).count("2H"), known(env, 0, 2).count("2H")) == (1, 0)
    assert block(env, 2, "hand")[26] == 1


def test_a_void_ends_with_a_card_that_may_be_of_the_suit():
    env = table()
    play(env, "AC 3D 3H 3S")
    assert [void(env, seat) for seat in range(4)] == [set(), {"C"}, {"C"}, {"C"}]
    play(env, "2C")
    assert [void(env, seat) for seat in range(4)] == [set(), set(), {"C"}, set()]  # a heart face up; face down; so
    play(env, "KC 4D 4H 4S 3H")
    assert void(env, 2) == set()  # it took the club face up


def test_the_whole_state_shows_the_stock():
    env = table()
    where = env.game.state_layout.slices()["stock"]
    names = env.game.deck.names
    stock = [names[int(number) - 1] if number else "" for number in env.state()[where]]
    assert stock == ["", "", *STOCK.split()[2:]]
    play(env, "AC 3D 3H 3S 2C")
    stock = [names[int(number) - 1] if number else "" for number in env.state()[where]]
    assert stock == ["", "", "", "", "", "", *STOCK.split()[6:]]


# --- the match ----------------------------------------------------------------------------------------------------

TEAM_0 = deal(SUITS, 3, STOCK)
TEAM_1 = deal([SPADES, CLUBS, DIAMONDS, HEARTS], 3, STOCK)  # player 1 gets all trumps


def match(deals, num_deals=None, reward="score"):
    env = double_deck_whist_v0.raw_env(num_deals=num_deals, reward=reward)
    deals = [{**one, "dealer": (3 + number) % 4} for number, one in enumerate(deals)]
    env.reset(seed=0, options={"deals": deals})
    rewards = []
    while env.phase != "over":
        finish_deal(env)
        rewards.append([env.rewards[agent] for agent in env.possible_agents])
    return env.record(), rewards


def test_the_first_team_with_three_won_deals_wins_the_match():
    record, rewards = match([TEAM_0] * 5)
    assert rewards == [[13, 0, 13, 0]] * 3
    assert (record["score"], record["winners"]) == ([39, 0, 39, 0], [0, 2])
    assert [one["dealer"] for one in record["deals"]] == [3, 0, 1]


def test_a_match_has_five_deals_at_most():
    record, _ = match([TEAM_0, TEAM_1, TEAM_0, TEAM_1, TEAM_1])
    assert (len(record["deals"]), record["winners"]) == (5, [1, 3])


def test_a_given_number_of_deals_is_played_out_and_equal_teams_share():
    record, _ = match([TEAM_0] * 4, num_deals=4)
    assert (len(record["deals"]), record["winners"]) == (4, [0, 2])
    record, _ = match([TEAM_0, TEAM_1], num_deals=2)
    assert record["winners"] == [0, 1, 2, 3]


def test_won_deals_decide_whatever_the_tricks():
    env = table()
    env.states["deals_won"][0], env.states["score"][0] = (2, 1), (14, 25, 14, 25)
    assert env.game.kernels.winners_bits(env.states) == 0b0101


def test_rewards_of_teams():
    assert match([TEAM_1], 1, "zero_sum")[1] == [[-13, 13, -13, 13]]
    assert match([TEAM_1], 1, "win")[1] == [[-0.5, 0.5, -0.5, 0.5]]
    assert match([TEAM_0, TEAM_1], 2, "win")[1] == [[0] * 4, [0] * 4]


def test_won_deals_are_seen():
    env = double_deck_whist_v0.raw_env()
    env.reset(seed=0, options={"deals": [TEAM_1]})
    finish_deal(env)
    assert block(env, 0, "deals_won") == [0, 0, 0, 1]
    assert block(env, 3, "deals_won") == [0, 1, 0, 0]
