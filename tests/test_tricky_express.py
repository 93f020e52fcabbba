"""Tricky Express: the rule page's examples and the corners of its rules, with exact cards and scores."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import CLUBS, DIAMONDS, HEARTS, RANKS, SPADES, SUITS, block, given, known, legal, lies, play, play_randomly

from trick_envs import tricky_express_v0
from trick_envs.games.tricky_express.rules import development_bonus, long_passes, score_line

FORCED = "AC KC AD KD AH KH AS KS"  # the first exchange of these hands, if player 0 begins
FREE = "2C 3C 2D 3D 2H 3H 2S 3S"
RIGHT, LEFT = 0, 1


def table(hands=SUITS, dealer=3):
    return given("tricky_express", hands, dealer)


def view(env, seat):
    return env.observe(f"player_{seat}")["observation"].tobytes()


def exchanged(env, seat):
    """What a seat knows of its own exchanges: by exchange, given then got, right then left neighbour."""
    slots = np.reshape(block(env, seat, "exchanged"), (2, 2, 2, 17))
    deck = env.game.deck

    def card(slot):
        return deck.ranks[slot[4:].argmax()] + deck.suits[slot[:4].argmax()] if slot.any() else ""

    return [[[card(slot) for slot in pair] for pair in exchange] for exchange in slots]


# --- the line -----------------------------------------------------------------------------------------------------

EXAMPLE = "CABACBDAACBBB"


def line_of(text):
    return np.array(["ABCD".index(letter) for letter in text], np.int8)


@pytest.mark.parametrize(
    ("seat", "passes"), [(0, (3, 8, 1, 4)), (1, (4, 11, 2, 6)), (2, (4, 10, 3, 5)), (3, (0, 0, 0, 0))]
)
def test_long_passes_of_the_original_s_example(seat, passes):
    assert long_passes(line_of(EXAMPLE), 13, seat) == passes


def test_a_later_pass_of_the_same_length_is_the_first_long_pass():
    assert long_passes(line_of("ABABACCCCCCCC"), 13, 0) == (1, 5, 1, 3)
    assert long_passes(line_of("ABBABBABACCCC"), 13, 0) == (2, 7, 2, 4)


@pytest.mark.parametrize(
    ("line", "score"),
    [
        (EXAMPLE, [3, 6, 5, 0]),
        ("ABBBBBBBBBBBA", [13, 1, 0, 0]),  # the longest possible; B's passes of length 0 win the second bonus
        ("AAAAAAAAAAAAA", [3, 0, 0, 0]),  # no pass is not a pass of length 0
        ("ABCDDDDDDDDDD", [0, 0, 0, 3]),  # one station makes no pass
        ("ABCDABCDABCDA", [6, 3, 3, 3]),  # all as long: those completed last count
        ("ABCDABCDABCDB", [3, 3, 3, 6]),
        ("AABBCCDDDDDDD", [0, 0, 0, 3]),
        ("ABABCDCDABCDA", [6, 7, 3, 3]),  # B's 5 is completed after A's, A has the longest second pass
    ],
)
def test_the_score_of_a_line(line, score):
    written = np.zeros(4, np.int64)
    score_line(line_of(line), written)
    assert written.tolist() == score


@pytest.mark.parametrize(
    ("passes", "bonus"),
    [
        ((0, 2, 4, 7), 8),
        ((3, 4, 4, 6), 7),
        ((2, 2, 2, 2), 0),
        ((3, 2, 5, 6), 0),
        ((0, 0, 0, 1), 6),
        ((0, 0, 0, 0), 0),
        ((1, 2, 3, 2), 0),
        ((1, 1, 4, 4), 6),
    ],
)
def test_the_development_bonus(passes, bonus):
    assert development_bonus(*passes) == bonus


# --- the exchanges ------------------------------------------------------------------------------------------------


def test_the_highest_card_goes_to_the_right_and_the_next_to_the_left():
    env = table()
    assert (env.agent_selection, env.phase, legal(env)) == ("player_0", "pass", {"AC"})
    assert block(env, 2, "passing") == [1, 0, 0, 0]
    play(env, "AC")
    assert (env.agent_selection, env.phase, legal(env)) == ("player_0", "pass", {"KC"})
    assert block(env, 2, "passing") == [0, 1, 0, 0]
    play(env, "KC")
    assert (env.agent_selection, legal(env)) == ("player_1", {"AD"})
    play(env, "AD KD AH KH AS KS")
    assert lies(env, "hand 0") == [*CLUBS.split()[:-2], "AD", "KS"]
    assert lies(env, "hand 1") == ["KC", *DIAMONDS.split()[:-2], "AH"]
    assert lies(env, "hand 2") == ["KD", *HEARTS.split()[:-2], "AS"]
    assert lies(env, "hand 3") == ["AC", "KH", *SPADES.split()[:-2]]
    assert (env.agent_selection, env.phase) == ("player_0", "pass")
    assert block(env, 2, "passing") == [0, 0, 1, 0]


def test_the_exchange_begins_left_of_the_dealer_and_so_does_play():
    env = table(dealer=1)
    play(env, "AH KH AS KS AC KC AD KD")
    assert env.agent_selection == "player_2"
    play(env, "2H 3H 2S 3S 2C 3C 2D 3D")
    assert (env.agent_selection, env.phase) == ("player_2", "lead")
    assert block(env, 0, "passing") == [0, 0, 0, 0]


def test_among_equal_ranks_the_player_chooses():
    env = table([CLUBS.replace("KC", "AD"), DIAMONDS.replace("AD", "KC"), HEARTS, SPADES])
    assert legal(env) == {"AC", "AD"}
    play(env, "AD")
    assert legal(env) == {"AC"}
    play(env, "AC")
    assert legal(env) == {"KC", "KD"}
    play(env, "KC")
    assert legal(env) == {"KD"}


def test_after_the_only_ace_any_of_the_kings_goes_left():
    env = table([CLUBS.replace("2C", "KH"), DIAMONDS, HEARTS.replace("KH", "2C"), SPADES])
    play(env, "AC")
    assert legal(env) == {"KC", "KH"}


def test_the_forced_card_and_no_other():
    env = table()
    with pytest.raises(ValueError, match=r"player_0 may not pass KC: .*highest rank.*; legal now: AC"):
        play(env, "KC")
    with pytest.raises(ValueError, match="player_0 does not have AD"):
        play(env, "AD")
    play(env, "AC")
    with pytest.raises(ValueError, match="player_0 does not have AC"):
        play(env, "AC")


def test_in_the_second_exchange_any_card_is_given_also_one_just_taken_up():
    env = table()
    play(env, FORCED)
    assert legal(env) == set(lies(env, "hand 0"))
    play(env, "KS AD 2D 3D 2H 3H 2S 3S")
    assert {"2D", "3S"} < set(lies(env, "hand 0"))
    assert "KS" in lies(env, "hand 3")
    assert "AD" in lies(env, "hand 1")
    assert [len(lies(env, f"hand {seat}")) for seat in range(4)] == [13] * 4


def test_no_card_changes_hands_before_all_have_named_both():
    env = table()
    play(env, "AC KC AD KD AH KH AS")
    assert lies(env, "to_right 0") == ["AC"]
    assert lies(env, "to_left 0") == ["KC"]
    assert lies(env, "hand 3") == SPADES.split()[:-1]
    assert block(env, 3, "hand_size") == [12, 11, 11, 11]
    play(env, "KS")
    assert block(env, 3, "hand_size") == [13, 13, 13, 13]


def test_a_seat_remembers_what_it_gave_and_got():
    env = table()
    play(env, "AC")
    assert exchanged(env, 0) == [[["AC", ""], ["", ""]], [["", ""], ["", ""]]]
    assert exchanged(env, 3) == [[["", ""], ["", ""]], [["", ""], ["", ""]]]
    play(env, "KC AD KD AH KH AS KS")
    assert exchanged(env, 0)[0] == [["AC", "KC"], ["KS", "AD"]]
    play(env, FREE)
    assert exchanged(env, 0) == [[["AC", "KC"], ["KS", "AD"]], [["2C", "3C"], ["3S", "2D"]]]
    assert exchanged(env, 2) == [[["AH", "KH"], ["KD", "AS"]], [["2H", "3H"], ["3D", "2S"]]]


def test_nobody_else_can_tell_which_card_was_named():
    hands = [CLUBS.replace("KC", "AD"), DIAMONDS.replace("AD", "KC"), HEARTS, SPADES]
    one, other = table(hands), table(hands)
    play(one, "AC")
    play(other, "AD")
    assert [view(one, seat) == view(other, seat) for seat in range(4)] == [False, True, True, True]


def test_the_giver_knows_where_its_card_is_until_that_hand_gives_again():
    env = table()
    play(env, FORCED)
    assert (known(env, 0, 3), known(env, 0, 1), known(env, 0, 2)) == (["AC"], ["KC"], [])
    assert (known(env, 2, 1), known(env, 2, 3)) == (["AH"], ["KH"])
    play(env, "2C 3C")
    assert (known(env, 1, 0), known(env, 3, 0)) == ([], [])  # player 0 may have given away what it got
    assert (known(env, 0, 3), known(env, 0, 1)) == (["AC"], ["KC"])
    play(env, "2D")
    assert (known(env, 0, 3), known(env, 0, 1)) == (["AC"], [])
    play(env, "3D 2H 3H 2S 3S")
    assert (known(env, 0, 3), known(env, 0, 1)) == (["2C"], ["3C"])  # those of the second exchange it keeps knowing


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_whether_a_card_of_the_first_exchange_is_passed_on_only_its_takers_can_tell(seat):
    """Player 3 got AC from player 0, and gives it, or not, to player 2."""
    views = []
    for right, left in (("AC", "2S"), ("3S", "2S")):
        env = table()
        play(env, f"{FORCED} 2C 3C 2D 3D 2H 3H {right}")
        before = view(env, seat)
        play(env, left)
        views.append((before, view(env, seat)))
    assert views[0][0] == views[1][0]
    assert (views[0][1] == views[1][1]) == (seat != 2)


def test_a_known_card_is_known_no_more_once_it_is_played():
    env = table()
    play(env, f"{FORCED} {FREE}")
    assert known(env, 0, 1) == ["3C"]
    play(env, "4C 3C")
    assert known(env, 0, 1) == []


# --- tricks and the match -----------------------------------------------------------------------------------------


def test_followers_follow_suit_and_the_highest_card_of_the_led_suit_stops():
    env = table()
    play(env, f"{FORCED} {FREE} 4C")
    assert legal(env) == {"KC", "3C"}  # player 1 got them from player 0
    with pytest.raises(ValueError, match=r"player_1 may not play 4D: .*led suit.*4C"):
        play(env, "4D")
    play(env, "KC AS")  # player 2 has no club
    assert legal(env) == {"AC", "2C"}
    play(env, "2C")
    assert (env.agent_selection, env.phase) == ("player_1", "lead")
    assert np.reshape(block(env, 1, "line"), (4, 13))[:, 0].tolist() == [1, 0, 0, 0]
    assert np.reshape(block(env, 3, "line"), (4, 13))[:, 0].tolist() == [0, 0, 1, 0]
    assert np.reshape(block(env, 1, "passes"), (4, 3)).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def lines_of(record):
    """The line of every finished deal, from the cards played."""
    lines = []
    for deal in record["deals"]:
        plays, line = deal["actions"][16:], ""
        for at in range(0, 52, 4):
            led = plays[at][1][-1]
            followed = [(RANKS.index(card[:-1]), seat) for seat, card in plays[at : at + 4] if card[-1] == led]
            line += "ABCD"[max(followed)[1]]
        lines.append(line)
    return lines


def base(line, letter):
    """The first long pass: the longest stretch of other letters between two of these."""
    return max(map(len, line.split(letter)[1:-1]), default=0)


@pytest.mark.parametrize(("num_deals", "pays_development"), [(None, True), (4, True), (3, False), (5, False)])
def test_only_a_match_of_four_deals_pays_the_development_bonus(num_deals, pays_development):
    paid = 0
    for seed in range(12):
        env, rng = tricky_express_v0.raw_env(num_deals=num_deals), np.random.default_rng(seed)
        env.reset(seed=seed)
        play_randomly(env, rng)
        record = env.record()
        lines = lines_of(record)
        assert len(lines) == (num_deals or 4)
        for number, line in enumerate(lines):
            expected = np.zeros(4, np.int64)
            score_line(line_of(line), expected)
            if pays_development and number == 3:
                for seat, letter in enumerate("ABCD"):
                    bonus = development_bonus(*(base(one, letter) for one in lines))
                    expected[seat] += bonus
                    paid += bonus > 0
            assert record["deals"][number]["score"] == expected.tolist()
    assert (paid > 0) == pays_development


def test_first_long_passes_of_earlier_deals_are_seen():
    env, rng = tricky_express_v0.raw_env(), np.random.default_rng(5)
    env.reset(seed=5)
    while len(env.record()["deals"]) < 3:
        play_randomly(env, rng, 1)
    first, second = lines_of({"deals": env.record()["deals"][:2]})
    passes = [[base(first, letter), base(second, letter), 0, 0] for letter in "ABCD"]
    assert sum(map(sum, passes)) > 0
    for seat in range(4):
        assert np.reshape(block(env, seat, "first_passes"), (4, 4)).tolist() == passes[seat:] + passes[:seat]


def test_the_whole_state_shows_what_everybody_gave():
    env = table()
    where = env.game.state_layout.slices()["exchanges"]
    play(env, "AC KC AD")
    assert env.state()[where].reshape(4, -1).sum(1).tolist() == [4, 2, 0, 0]  # a suit and a rank a card
