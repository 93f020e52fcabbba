"""Slobberhannes: the rules with exact cards and scores, and the player that plays its lowest card."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from helpers import block, given, greedy_action, legal, lies, play, play_randomly
from relabelling import Relabelling, relabel_record
from slobberhannes_game import slobberhannes_v0

import trick_envs
from trick_envs import BatchEnv, load_game, make_agent
from trick_envs.matches.loop import play_match

CONFIG = Path(__file__).parent.parent / "configs" / "slobberhannes.yaml"
SUITS = [" ".join(rank + suit for rank in ("7", "8", "9", "10", "J", "Q", "K", "A")) for suit in "CDHS"]
CLUBS, DIAMONDS, HEARTS, SPADES = SUITS


def table(hands=SUITS, dealer=0):
    return given("slobberhannes", hands, dealer)


@pytest.mark.parametrize(("players", "lowest"), [(3, "9C"), (4, "7C")])
def test_eight_cards_each_are_dealt_without_the_lowest_ranks(players, lowest):
    game = load_game("slobberhannes", players)
    assert (game.deck.names[0], game.hand_size, game.deck.size) == (lowest, 8, 8 * players)


def test_the_dealers_left_neighbour_leads_any_card():
    env = table(dealer=3)
    assert (env.agent_selection, env.phase) == ("player_0", "lead")
    assert len(legal(env)) == 8


def test_whoever_has_the_led_suit_must_play_it():
    env = table([CLUBS.replace("AC", "7D"), DIAMONDS.replace("7D", "AC"), *SUITS[2:]], dealer=3)
    play(env, "8C")
    assert legal(env) == {"AC"}
    with pytest.raises(ValueError, match=r"player_1 may not play 8D: whoever has the led suit must play it"):
        play(env, "8D")


def test_the_highest_card_of_the_led_suit_takes_and_leads_and_the_first_trick_costs():
    env = table([CLUBS.replace("AC", "7D"), DIAMONDS.replace("7D", "AC"), *SUITS[2:]], dealer=3)
    play(env, "KC AC AH QS")
    assert env.agent_selection == "player_1"
    assert lies(env, "pile 1") == ["KC", "AC", "AH", "QS"]
    assert block(env, 0, "cost") == [0, 1, 0, 0]


def test_the_queen_of_clubs_costs_and_no_other_queen():
    env = table([CLUBS.replace("AC", "7D"), DIAMONDS.replace("7D", "AC"), *SUITS[2:]], dealer=3)
    play(env, "KC AC QH QS")
    assert block(env, 1, "cost") == [1, 0, 0, 0]
    play(env, "8D 7H 7S 7D 9D 8H 8S QC")
    assert block(env, 1, "cost") == [2, 0, 0, 0]


def test_all_three_in_one_hand_cost_another_point():
    env = table(dealer=3)
    play_randomly(env, np.random.default_rng(0))  # the hand of one suit that leads takes every trick
    assert env.record()["score"] == [-4, 0, 0, 0]
    assert env.record()["winners"] == [1, 2, 3]


@pytest.mark.parametrize("players", [3, 4])
def test_a_deal_costs_three_points_or_four(players):
    env = slobberhannes_v0.raw_env(num_players=players)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(1))
    scores = [deal["score"] for deal in env.record()["deals"]]
    assert [-sum(score) for score in scores] == [4 if -4 in score else 3 for score in scores]
    assert [deal["dealer"] for deal in env.record()["deals"]] == [
        (env.record()["deals"][0]["dealer"] + i) % players for i in range(players)
    ]


def test_all_suits_but_clubs_are_alike():
    game = load_game("slobberhannes", num_deals=1)
    record = play_match("slobberhannes", dict.fromkeys(range(4), make_agent("lowest", game)), seed=1, num_deals=1)
    for suits in ([0, 2, 1, 3], [0, 2, 3, 1]):
        assert relabel_record(record, Relabelling(game, suits))["score"] == record["score"]
    with pytest.raises(ValueError, match="deal 1: the record says the score is"):
        relabel_record(record, Relabelling(game, [1, 0, 2, 3]))


def test_the_heuristic_throws_the_queen_and_leads_low():
    env = table([CLUBS.replace("QC", "7D"), DIAMONDS.replace("7D", "QC"), *SUITS[2:]], dealer=1)
    assert env.game.deck.names[greedy_action(env.game, env.states)] == "7H"
    play(env, "7H 7S 7C")
    assert env.game.deck.names[greedy_action(env.game, env.states)] == "QC"


# --- as any built-in game -----------------------------------------------------------------------------------------


def test_the_plug_in_lives_outside_the_package():
    """Installed, and found by its entry point: neither in the folder of ``trick_envs`` nor in the one of the tests."""
    package = Path(slobberhannes_v0.__file__).parent
    assert package.name == "slobberhannes_game"
    assert not package.is_relative_to(Path(trick_envs.__file__).parent.parent)


def test_it_is_registered_with_pettingzoo_and_gymnasium():
    game = load_game("slobberhannes")
    assert gymnasium.make("trick_envs/Slobberhannes-v0").unwrapped.game is game
    envs = gymnasium.make_vec("trick_envs/Slobberhannes-v0", 3, vectorization_mode="vector_entry_point")
    assert envs.game.name == "slobberhannes"
    if hasattr(pettingzoo, "make"):  # since PettingZoo 1.27
        assert pettingzoo.make("aec", "trick_envs/slobberhannes-v0").unwrapped.game is game
    assert "all three in one hand cost another" in slobberhannes_v0.__doc__


def test_it_is_a_batch_and_a_config():
    batch = BatchEnv("slobberhannes", 16)
    batch.reset(seed=1)
    batch.step(batch.action_masks.argmax(axis=1))
    config = pytest.importorskip("training.config").load_config(CONFIG)
    assert (config.make_game().name, config.make_game().num_players) == ("slobberhannes", 4)


# --- the player ---------------------------------------------------------------------------------------------------


def test_lowest_plays_its_lowest_card_in_the_order_of_the_deck():
    env = table(dealer=1)
    lowest = make_agent("lowest", env.game)
    for _ in range(32):
        seen = env.observe(env.agent_selection)
        env.step(int(lowest.act(seen["observation"][None], seen["action_mask"][None])[0]))
    actions = env.record()["deals"][0]["actions"]
    assert [card for seat, card in actions if seat == 0] == CLUBS.split()
    assert [card for seat, card in actions if seat == 3] == SPADES.split()


def test_lowest_plays_built_in_games():
    env = gymnasium.make("trick_envs/Pepper-v0", opponents="lowest", seat=0)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    lowest = make_agent("lowest", load_game("pepper"))
    assert env.unwrapped.record() == play_match("pepper", dict.fromkeys(range(5), lowest), seed=1)
