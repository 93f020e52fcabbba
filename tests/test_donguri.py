"""Donguri: the rule page with exact cards and scores."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import block, given, legal, play, play_randomly

from trick_envs import donguri_v0
from trick_envs.engine.registry import load_game

DECKS = {n: load_game("donguri", n).deck for n in (3, 4, 5)}


def table(players, cards, dealer=None):
    """A deal in which these cards are the first trick, one from each seat from the leader on.

    Nobody else has the suit of the first card, as far as that can be, so that anything may be played.
    """
    leader = 0 if dealer is None else (dealer + 1) % players
    deck = DECKS[players]
    wanted = cards.split()
    led = wanted[0][-1]
    size = load_game("donguri", players).hand_size
    rest = [name for name in deck.names if name not in wanted]
    rest.sort(key=lambda name: name[-1] != led)  # the led suit first: to the leader, who plays before all others
    hands = [[card] for card in wanted]
    for hand in hands:
        while len(hand) < size:
            hand.append(rest.pop(0))
    seated = [" ".join(hands[(seat - leader) % players]) for seat in range(players)]
    return given("donguri", seated, (leader - 1) % players)


def taker_of(players, cards, dealer=None):
    """The position in the trick of the seat that takes it."""
    env = table(players, cards, dealer)
    leader = int(env.agent_selection[-1])
    play(env, cards)
    assert env.phase == "lead"
    return (int(env.agent_selection[-1]) - leader) % players


@pytest.mark.parametrize(
    ("players", "size", "points", "deals", "hand"), [(3, 36, 54, 9, 12), (4, 48, 64, 8, 12), (5, 80, 100, 5, 16)]
)
def test_deck_points_and_match(players, size, points, deals, hand):
    game = load_game("donguri", players)
    assert (game.num_actions, game.hand_size, int(game.template["num_deals"][0])) == (size, hand, deals)
    env = donguri_v0.raw_env(num_players=players, num_deals=1)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(0))
    captured = env.states["captured"][0][:players].tolist()
    assert sum(captured) == points
    assert env.record()["score"] == [own - max(captured) for own in captured]
    assert max(env.record()["score"]) == 0


@pytest.mark.parametrize(
    ("players", "cards", "expected"),
    [
        (3, "3C 4D 9H", 1 + 1 + 1),
        (3, "6C 5D JH", 3 + 2 + 3),
        (3, "QC 8D AH", 2 + 1 + 1),
        (4, "6C 5D JH QS", 2 * 4),
        (4, "3C KD 10H AS", 4),
        (5, "4C 5D 12H 13S 16X", 9),
        (5, "6C 11D 1H 14S 16X", 5),
    ],
)
def test_points_of_cards(players, cards, expected):
    env = table(players, cards)
    play(env, cards)
    assert sorted(env.states["captured"][0][:players].tolist()) == [0] * (players - 1) + [expected]
    taker = int(env.agent_selection[-1])
    assert block(env, taker, "captured") == [expected] + [0] * (players - 1)


@pytest.mark.parametrize(
    ("cards", "position"),
    [
        ("3C 8D 9H", 2),  # two acorns: the strongest of the whole trick, a wildcat
        ("8C 9D AH", 0),  # two wildcats: the weakest, an acorn
        ("3C 4D 5H", 2),
        ("9C JD AH", 0),
        ("8C 3D KH", 2),
        ("3C 8D 8H", 1),  # of equal ranks the one played first
        ("9C AD 9H", 0),
        ("KC 9D 9H", 1),
    ],
)
def test_three_players(cards, position):
    assert taker_of(3, cards) == position


@pytest.mark.parametrize(
    ("cards", "position"),
    [
        ("3C 4D 9H AS", 0),  # 4D is not counted: one acorn, two wildcats: the weakest
        ("3C 9D 4H AS", 3),  # 9D is not counted: two acorns: the strongest
        ("8C 3D 9H AS", 1),  # the second card takes part in the contest: it is the weakest
        ("3C AD 4H 9S", 1),  # and the strongest
        ("8C 3D KH 3S", 2),  # two acorns: the king
        ("KC 3D AH 3S", 1),  # two wildcats: the weakest, and the first of two threes
    ],
)
def test_four_players_do_not_count_the_second_card(cards, position):
    assert taker_of(4, cards) == position


@pytest.mark.parametrize(
    ("cards", "position"),
    [
        ("8C 1D 9H 10S 8X", 3),  # three acorns: the 10
        ("9C 16D 9H 8S 8X", 3),  # three wildcats: the weakest, and the first of two eights
        ("1C 16D 16H 2S 3X", 1),
        ("8C 8D 8H 1S 1X", 0),
    ],
)
def test_five_players(cards, position):
    assert taker_of(5, cards) == position


@pytest.mark.parametrize("dealer", range(4))
def test_the_left_neighbour_of_the_dealer_leads(dealer):
    env = table(4, "3C 4D 9H AS", dealer)
    assert env.agent_selection == f"player_{(dealer + 1) % 4}"
    assert taker_of(4, "3C 4D 9H AS", dealer) == 0


def test_the_led_suit_must_be_followed_and_is_no_stronger():
    hands = [["3C", "AD"], ["9C", "KD"], ["10C", "4D"]]
    rest = [name for name in DECKS[3].names if not any(name in hand for hand in hands)]
    for hand in hands:
        hand += [rest.pop(0) for _ in range(10)]
    env = given("donguri", [" ".join(hand) for hand in hands], 2)
    assert legal(env) == set(hands[0])
    play(env, "AD")
    assert legal(env) == {card for card in hands[1] if card[-1] == "D"}
    with pytest.raises(
        ValueError, match=r"player_1 may not play 9C: whoever has the led suit must play it \(led: AD\)"
    ):
        play(env, "9C")


def test_the_running_vote_is_seen():
    env = table(4, "3C 4D 9H AS")
    assert block(env, 2, "vote") == [0, 0]
    for card, vote in (("3C", [1, 0]), ("4D", [1, 0]), ("9H", [1, 1])):
        play(env, card)
        assert block(env, 2, "vote") == vote
    assert block(env, 0, "strongest") == [0, 0, 1, 0]
    assert block(env, 2, "strongest") == [1, 0, 0, 0]
    assert block(env, 0, "weakest") == [1, 0, 0, 0]
    play(env, "AS")
    assert block(env, 2, "vote") == [0, 0]
    assert block(env, 0, "weakest") == [0, 0, 0, 0]


def test_the_deal_passes_to_the_left():
    env = donguri_v0.raw_env(num_players=3)
    env.reset(seed=2, options={"dealer": 1})
    play_randomly(env, np.random.default_rng(1))
    deals = env.record()["deals"]
    assert [deal["dealer"] for deal in deals] == [1, 2, 0] * 3
    assert all(deal["actions"][0][0] == (deal["dealer"] + 1) % 3 for deal in deals)
