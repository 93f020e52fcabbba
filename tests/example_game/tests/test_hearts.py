"""Hearts: the rules with exact cards and scores, and the player that plays its lowest card."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pettingzoo
import pytest
from hearts_game import hearts_v0
from helpers import CLUBS, DIAMONDS, SPADES, SUITS, block, given, greedy_action, legal, lies, play, play_randomly
from relabelling import relabel_record

import trick_envs
from trick_envs import BatchEnv, load_game, make_agent
from trick_envs.engine.symmetry import Relabelling
from trick_envs.matches.loop import play_match

CONFIG = Path(__file__).parent.parent / "configs" / "hearts.yaml"


def table(hands=SUITS, dealer=0):
    return given("hearts", hands, dealer)


@pytest.mark.parametrize(("players", "lowest", "hand"), [(3, "3C", 16), (4, "2C", 13), (5, "5C", 8), (6, "3C", 8)])
def test_all_cards_are_dealt_without_the_lowest_ranks(players, lowest, hand):
    game = load_game("hearts", players)
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


def test_clubs_and_diamonds_are_alike_and_no_other_suits():
    game = load_game("hearts", num_deals=1)
    record = play_match("hearts", dict.fromkeys(range(4), make_agent("lowest", game)), seed=1, num_deals=1)
    assert relabel_record(record, Relabelling(game, [1, 0, 2, 3]))["score"] == record["score"]
    for suits in ([2, 1, 0, 3], [3, 1, 2, 0], [0, 1, 3, 2]):
        with pytest.raises(ValueError, match="deal 1: the record says the score is"):
            relabel_record(record, Relabelling(game, suits))


def test_the_rule_of_thumb_throws_the_queen_and_leads_low():
    env = table(dealer=3)
    assert env.game.deck.names[greedy_action(env.game, env.states)] == "2C"
    play(env, "2C 2D 2H")
    assert env.game.deck.names[greedy_action(env.game, env.states)] == "QS"


# --- as any built-in game -----------------------------------------------------------------------------------------


def test_the_plug_in_lives_outside_the_package():
    """Installed, and found by its entry point: neither in the folder of ``trick_envs`` nor in the one of the tests."""
    package = Path(hearts_v0.__file__).parent
    assert package.name == "hearts_game"
    assert not package.is_relative_to(Path(trick_envs.__file__).parent.parent)


def test_it_is_registered_with_pettingzoo_and_gymnasium():
    assert gymnasium.make("trick_envs/Hearts-v0").unwrapped.game is load_game("hearts")
    assert gymnasium.make_vec("trick_envs/Hearts-v0", 3, vectorization_mode="vector_entry_point").game.name == "hearts"
    if hasattr(pettingzoo, "make"):  # since PettingZoo 1.27
        assert pettingzoo.make("aec", "trick_envs/hearts-v0").unwrapped.game is load_game("hearts")
    assert "Every heart taken costs 1" in hearts_v0.__doc__


def test_it_is_a_batch_and_a_config():
    batch = BatchEnv("hearts", 16)
    batch.reset(seed=1)
    batch.step(batch.action_masks.argmax(axis=1))
    config = pytest.importorskip("training.config").load_config(CONFIG)
    assert (config.make_game().name, config.make_game().num_players) == ("hearts", 4)


# --- the player ---------------------------------------------------------------------------------------------------


def test_lowest_plays_its_lowest_card_in_the_order_of_the_deck():
    env = table(dealer=1)
    lowest = make_agent("lowest", env.game)
    while env.phase != "over":
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
