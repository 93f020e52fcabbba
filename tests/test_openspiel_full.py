"""The games at full size in OpenSpiel: dealing, play, who knows what, and OpenSpiel's algorithms on them."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import every_game, every_table, make

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python.algorithms import ismcts, mcts

from trick_envs.engine.positions import places
from trick_envs.engine.registry import game_names
from trick_envs.engine.state import PASS
from trick_envs.errors import IllegalAction, InputError
from trick_envs.interfaces.openspiel import full
from trick_envs.interfaces.openspiel.position import next_cards


def deal(state: Any, rng: np.random.Generator) -> Any:
    """Deals all cards."""
    while state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(outcomes, p=chances)))
    return state


def play(state: Any, rng: np.random.Generator, steps: int = 10**9) -> Any:
    """Deals all cards, and plays random legal ones."""
    deal(state, rng)
    for _ in range(steps):
        if state.is_terminal():
            break
        state.apply_action(int(rng.choice(state.legal_actions())))
    return state


def start(name: str, players: int | None = None, seed: int = 0) -> tuple[Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return deal(full(name, players).new_initial_state(), rng), rng


def test_positions_are_played_in_several_threads_as_in_one() -> None:
    """They had one place for what the end of a deal pays: some ended with the points of another thread's deal."""
    game = full("pepper", 4)

    def returns(seed: int) -> Any:
        return play(game.new_initial_state(), np.random.default_rng(seed)).returns()

    expected, interval = [returns(seed) for seed in range(40)], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(returns, [*range(40)] * 12)) == expected * 12
    finally:
        sys.setswitchinterval(interval)


# --- the deal -----------------------------------------------------------------------------------------------------


@every_table
def test_openspiels_own_checks_pass(name: str, players: int) -> None:
    """A hand was one chance node of up to 342,700,125,300 outcomes."""
    game = full(name, players)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
    assert game.max_chance_outcomes() <= 108


@every_game
def test_hands_are_dealt_in_ascending_order_and_all_deals_are_as_likely(name: str) -> None:
    """Hands as sets, two copies of a kind as two cards; the stock has an order."""
    game, rng = full(name), np.random.default_rng(1)
    deck, size, held = game.game.deck, game.game.hand_size, game.game.hand_size * game.num_players()
    state = game.new_initial_state()
    hand, before = list[int](), Counter[int]()
    left = Counter(dict.fromkeys(range(deck.kinds), deck.copies))
    expected, found = Fraction(1), 0.0
    for number in range(deck.size):
        assert state.is_chance_node()
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        assert list(outcomes) == sorted(set(outcomes))
        assert sum(chances) == pytest.approx(1)
        assert all(left[kind] for kind in outcomes)
        if number % size == 0 or number >= held:
            hand, before = [], left.copy()
        assert all(kind >= (hand or [0])[-1] for kind in outcomes)
        card = int(rng.choice(outcomes, p=np.array(chances) / sum(chances)))
        whose = f"player_{number // size} gets " if number < held else "stock: "
        assert state.action_to_string(card) == whose + deck.format(card)
        found += math.log(chances[outcomes.index(card)])
        hand.append(card)
        if number >= held:
            expected *= Fraction(left[card], deck.size - number)
        elif len(hand) == size:  # as many times as there are copies to choose from
            ways = math.prod(math.comb(before[kind], count) for kind, count in Counter(hand).items())
            expected *= Fraction(ways, math.comb(before.total(), size))
        left[card] -= 1
        state.apply_action(card)
    assert set(left.values()) == {0}
    assert not state.is_chance_node()
    assert found == pytest.approx(math.log(expected.numerator) - math.log(expected.denominator))


@pytest.mark.parametrize("copies", [1, 2])
def test_every_hand_is_dealt_once_with_its_exact_probability(copies: int) -> None:
    """Against all hands, counted one by one, also where some cards are gone already."""
    rng = np.random.default_rng(copies)
    for size in (1, 2, 3, 4):
        left = [int(number) for number in rng.integers(0, copies + 1, size=6)] + [copies]
        cards = [kind for kind, count in enumerate(left) for _ in range(count)]
        counted = Counter(itertools.combinations(cards, size))  # ascending, as kinds
        chances: dict[tuple[int, ...], float] = {}

        def deal(hand: tuple[int, ...], rest: list[int], chance: float) -> None:
            if len(hand) == size:  # noqa: B023
                assert hand not in chances  # noqa: B023
                chances[hand] = chance  # noqa: B023
                return
            last = hand[-1] if hand else -1
            for kind, its in next_cards(rest, last, hand.count(last), size - len(hand)):  # noqa: B023
                after = [count - (each == kind) for each, count in enumerate(rest)]
                deal((*hand, kind), after, chance * its)

        if len(cards) >= size:
            deal((), left, 1.0)
            assert chances == pytest.approx({hand: n / counted.total() for hand, n in counted.items()})


@every_table
def test_a_deal_is_that_of_the_environments(name: str, players: int) -> None:
    state, rng = start(name, players)
    deck, size, n = state.position.game.deck, state.position.game.hand_size, players
    cards = [deck.format(kind) for kind in state.position.dealt]
    hands = [cards[seat * size : (seat + 1) * size] for seat in range(n)]
    env = make(name, players, num_deals=1, reward="zero_sum")
    env.reset(seed=0, options={"deals": [{"dealer": 0, "hands": hands, "stock": cards[n * size :]}]})
    while not state.is_terminal():
        seat, seen = state.current_player(), env.observe(env.agent_selection)
        assert env.agent_selection == f"player_{seat}"
        assert state.legal_actions() == np.flatnonzero(seen["action_mask"]).tolist()
        tensor = np.asarray(state.observation_tensor(), np.float32)
        np.testing.assert_array_equal(tensor[:n], np.eye(n)[seat])
        np.testing.assert_array_equal(tensor[n:], seen["observation"])
        assert not any(state.returns())
        action = int(rng.choice(state.legal_actions()))
        env.step(action)
        state.apply_action(action)
    assert env.phase == "over"
    assert state.returns() == pytest.approx([env.rewards[agent] for agent in env.possible_agents])
    assert sum(state.returns()) == pytest.approx(0)


# --- who knows what -----------------------------------------------------------------------------------------------


@every_game
def test_while_cards_are_dealt_a_sampled_world_is_another_deal(name: str) -> None:
    state, rng = full(name).new_initial_state(), np.random.default_rng(0)
    for dealt in range(7):
        others = [state.resample_from_infostate(0, rng.random) for _ in range(20)]
        for other in others:
            assert other.information_state_string(0) == state.information_state_string(0)
            assert (other.is_chance_node(), len(other.history())) == (True, dealt)
        assert (len({str(other) for other in others}) > 1) == (dealt > 0)
        state.apply_action(int(rng.choice([card for card, _ in state.chance_outcomes()])))


@every_game
def test_sampled_worlds_look_the_same_to_the_seat_and_can_be_played_to_their_end(name: str) -> None:
    state, rng = start(name)
    looks = ("information_state_string", "information_state_tensor", "observation_string", "observation_tensor")
    for step in range(40):
        if state.is_terminal():
            break
        player = state.current_player()
        others = [state.resample_from_infostate(player, rng.random) for _ in range(3)]
        for other in others:
            for look in looks:
                assert getattr(other, look)(player) == getattr(state, look)(player)
            assert other.current_player() == player
            assert other.legal_actions() == state.legal_actions()
        if step < 5:
            assert len({str(each) for each in (state, *others)}) > 1  # others may hold other cards
            again = others[0].resample_from_infostate(player, rng.random)
            assert again.information_state_string(player) == state.information_state_string(player)
            assert sum(play(again, rng).returns()) == pytest.approx(0)
        action = int(rng.choice(state.legal_actions()))
        other = others[0].clone()
        other.apply_action(action)
        state.apply_action(action)
        if not state.is_terminal():
            assert other.observation_string(player).partition(" | ")[0] == f"player_{player}"


@every_game
def test_a_seat_remembers_all_that_it_saw_and_did(name: str) -> None:
    """Plays the same deals in different ways: equal information states have equal pasts."""
    game, rng = full(name), np.random.default_rng(4)
    pasts: dict[str, set[Any]] = defaultdict(set)
    for _ in range(3):
        first = deal(game.new_initial_state(), rng)
        for _ in range(5):
            state, own = first.clone(), [()] * game.num_players()
            while not state.is_terminal():
                seat = state.current_player()
                text = state.information_state_string()
                pasts[text].add(own[seat])
                action = int(rng.choice(state.legal_actions()[:2]))
                own[seat] = (*own[seat], (text, action))
                state.apply_action(action)
    assert {len(past) for past in pasts.values()} == {1}


def test_a_card_passed_is_told_to_who_passes_it_and_lies_in_the_hand_of_who_gets_it() -> None:
    state, rng = start("tricky_express")
    deck, named = state.position.game.deck, []
    for _ in range(16):
        seat, action = state.current_player(), int(rng.choice(state.legal_actions()))
        state.apply_action(action)
        named.append((seat, deck.format(action)))
        for player in range(4):
            played = state.information_state_string(player).split("played: ")[1].split(" | ")[0].split(", ")
            for (by, card), told in zip(named, played, strict=True):
                assert told == (f"{by} {card}" if by == player else f"{by} ?")
    for player in range(4):
        held = deck.format_all(places(state.position.game, state.position.record)[f"hand {player}"])
        seen = state.information_state_string(player).split("played: ")[0]
        assert all(card in seen for card in held)


def test_who_gets_cards_does_not_see_in_which_order_they_were_named() -> None:
    """A seat names its three cards in one order and in the other one: only itself can tell."""

    def told(turned: int) -> list[str]:
        state, _ = start("hearts")
        passed = [sorted(hand)[:3][:: -1 if seat == turned else 1] for seat, hand in enumerate(state.position.hands)]
        while state.position.record["phase"][0] == PASS:
            state.apply_action(passed[state.current_player()].pop(0))
        return [state.information_state_string(seat) for seat in range(4)]

    in_order = told(turned=-1)
    for turned in range(4):
        other = told(turned)
        assert [seat for seat in range(4) if other[seat] != in_order[seat]] == [turned]


def test_a_sampled_world_forgets_what_others_passed() -> None:
    state, rng = start("tricky_express")
    for _ in range(4):
        state.apply_action(int(rng.choice(state.legal_actions())))
    player = state.current_player()
    other = state.resample_from_infostate(player, rng.random)
    for seat in set(range(4)) - {player}:
        assert "played: " + ", ".join(f"{by} ?" for by, _, _ in state.position.plays) in (
            other.information_state_string(seat)
        )


def test_in_whist_a_seat_sees_the_hand_to_its_right_and_no_other() -> None:
    state, _ = start("double_deck_whist")
    text = state.information_state_string(1)
    assert "hand 1:" in text
    assert "hand 0:" in text
    assert "hand 2:" not in text
    assert "hand 3:" not in text
    assert "stock:" not in text
    assert "upturned:" in text


@every_game
def test_strings_of_the_same_position_after_different_orders_differ_only_where_perfect_recall_is_wanted(
    name: str,
) -> None:
    """Information states know the order of plays; observations are those of the environments."""
    state, rng = start(name)
    play(state, rng, 20)
    if state.is_terminal():
        return
    player = state.current_player()
    assert state.information_state_string(player) != state.observation_string(player)
    assert "played: " in state.information_state_string(player)
    assert "played: " not in state.observation_string(player)
    tensor = state.observation_tensor(player)
    assert state.information_state_tensor(player)[: len(tensor)] == tensor


# --- names, pickles, algorithms -----------------------------------------------------------------------------------


@every_game
def test_openspiel_finds_the_games_by_name_and_pickles_them(name: str) -> None:
    game = pyspiel.load_game(f"trick_envs_full_{name}")
    assert game.game is full(name).game
    state = play(game.new_initial_state(), np.random.default_rng(2), 9)
    again, same = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))
    assert str(same) == str(state)
    assert str(again) == str(pickle.loads(pickle.dumps(game))) == str(game)


def test_players_and_options_are_parameters() -> None:
    game = pyspiel.load_game("trick_envs_full_pepper(num_players=3,lead_peppers=True)")
    assert game.num_players() == 3
    assert game.game.options == {"lead_peppers": True}
    with pytest.raises(ValueError, match="num_players: pepper is for"):
        full("pepper", 2)
    with pytest.raises(TypeError, match="donguri"):
        full("donguri", lead_peppers=True)
    with pytest.raises(ValueError, match="there is no game 'bridge'"):
        full("bridge")


@every_game
def test_openspiels_search_plays_it(name: str) -> None:
    game, rng = full(name), np.random.RandomState(1)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, 4, random_state=rng)
    state = play(game.new_initial_state(), np.random.default_rng(1), 6)
    for _ in range(3):
        action = bot.step(state)
        assert action in state.legal_actions()
        state.apply_action(action)


@every_game
def test_counterfactual_regret_is_sampled_on_it(name: str) -> None:
    game = full(name)
    solver = pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1)
    solver.run_iteration()
    state = deal(game.new_initial_state(), np.random.default_rng(0))
    policy = solver.average_policy().action_probabilities(state)
    assert sum(policy.values()) == pytest.approx(1)


def test_fictitious_self_play_learns_on_it() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("tree")
    from open_spiel.python import rl_environment
    from open_spiel.python.pytorch import nfsp

    env = rl_environment.Environment(full("zaraba22"), seed=1)
    size, actions = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
    agents = [
        nfsp.NFSP(
            seat, state_representation_size=size, num_actions=actions, hidden_layers_sizes=[8],
            reservoir_buffer_capacity=64, anticipatory_param=0.1, batch_size=8, min_buffer_size_to_learn=8,
        )
        for seat in range(3)
    ]  # fmt: skip
    now = env.reset()
    while not now.last():
        now = env.step([agents[now.observations["current_player"]].step(now).action])
    for agent in agents:
        agent.step(now)
    assert sum(now.rewards) == pytest.approx(0)


def test_every_game_has_one() -> None:
    assert {each.short_name for each in pyspiel.registered_games()} >= {
        f"trick_envs_full_{each}" for each in game_names()
    }


@pytest.mark.parametrize(
    "name", ["trick_envs_full_donguri", "trick_envs_full_hearts", "trick_envs_full_zaraba22", "trick_envs_pepper"]
)
def test_an_action_that_is_not_legal_is_an_error_and_plays_nothing(name: str) -> None:
    """It was taken, and the deal was somewhere else then, or over."""
    state = pyspiel.load_game(name).new_initial_state()
    rng = np.random.default_rng(1)
    while not state.is_terminal():
        legal, before = state.legal_actions(), str(state)
        for action in rng.permutation(sorted({-2, *range(64), 10**6} - {*legal}))[:5]:
            with pytest.raises(IllegalAction):
                state.apply_action(action)
        assert (state.legal_actions(), str(state)) == (legal, before)
        state.apply_action(int(rng.choice(legal)))
    with pytest.raises(IllegalAction):
        state.apply_action(0)


@pytest.mark.parametrize("name", ["trick_envs_full_hearts", "trick_envs_pepper"])
def test_no_number_of_a_player_leads_to_another_ones_hand(name: str) -> None:
    """-1 was told the hand of the last player."""
    game = pyspiel.load_game(name)
    state, own = game.new_initial_state(), pyspiel.PrivateInfoType.SINGLE_PLAYER
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    for recall in (True, False):
        observer = game.make_py_observer(pyspiel.IIGObservationType(True, recall, own))
        for player in (-1, game.num_players(), 99, True, 1.0, None):
            for look in (observer.set_from, observer.string_from):
                with pytest.raises(InputError, match="player: expected a player of 0 to"):
                    look(state, player)
