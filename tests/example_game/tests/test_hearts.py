"""Hearts: the rules with exact cards and scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers import CLUBS, DIAMONDS, SUITS, block, given, greedy_action, legal, lies, play, play_randomly

from trick_envs import BatchEnv, hearts_v0, setup

CONFIG = Path(__file__).parent.parent / "configs" / "hearts.yaml"


def table(hands=SUITS, dealer=0):
    return given("hearts", hands, dealer)


@pytest.mark.parametrize(("players", "lowest", "hand"), [(3, "3C", 16), (4, "2C", 13), (5, "5C", 8), (6, "3C", 8)])
def test_all_cards_are_dealt_without_the_lowest_ranks(players, lowest, hand):
    game = setup("hearts", players)
    assert (game.deck.names[0], game.hand_size, game.deck.size) == (lowest, hand, players * hand)


def test_the_dealers_left_neighbour_leads_any_card():
    env = table(dealer=3)
    assert (env.agent_selection, env.phase) == ("player_0", "lead")
    assert len(legal(env)) == 13


def test_whoever_has_the_led_suit_must_play_it():
    env = table([CLUBS.replace("AC", "2D"), DIAMONDS.replace("2D", "AC"), *SUITS[2:]], dealer=3)
    play(env, "3C")
    assert legal(env) == {"AC"}
    with pytest.raises(ValueError, match=r"player_1 may not play 3D: whoever has the led suit must play it"):
        play(env, "3D")


def test_the_highest_card_of_the_led_suit_takes_and_leads():
    env = table([CLUBS.replace("AC", "2D"), DIAMONDS.replace("2D", "AC"), *SUITS[2:]], dealer=3)
    play(env, "KC AC AH QS")
    assert env.agent_selection == "player_1"
    assert lies(env, "pile 1") == ["KC", "AC", "AH", "QS"]
    assert block(env, 0, "cost") == [0, 14, 0, 0]


def test_one_suit_each_the_leader_takes_all():
    env = table(dealer=1)
    play_randomly(env, np.random.default_rng(0))
    assert env.record()["score"] == [0, 0, -26, 0]
    assert env.record()["winners"] == [0, 1, 3]


@pytest.mark.parametrize(("players", "costs"), [(3, 25), (4, 26), (5, 23), (6, 25)])
def test_a_deal_costs_its_hearts_and_the_queen(players, costs):
    env = hearts_v0.raw_env(num_players=players)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(1))
    assert [-sum(deal["score"]) for deal in env.record()["deals"]] == [costs] * players
    assert [deal["dealer"] for deal in env.record()["deals"]] == [
        (env.record()["deals"][0]["dealer"] + i) % players for i in range(players)
    ]


def test_the_rule_of_thumb_throws_the_queen_and_leads_low():
    env = table(dealer=3)
    assert env.setup.deck.names[greedy_action(env.setup, env.states)] == "2C"
    play(env, "2C 2D 2H")
    assert env.setup.deck.names[greedy_action(env.setup, env.states)] == "QS"


def test_it_is_a_batch_and_a_config_as_any_game():
    batch = BatchEnv("hearts", 16)
    batch.reset(seed=1)
    batch.step(batch.action_masks.argmax(axis=1))
    config = pytest.importorskip("training.config").load_config(CONFIG)
    assert (config.setup().rules.name, config.setup().num_players) == ("hearts", 4)
