"""Small variants in OpenSpiel: the trees, who knows what in them, and exact exploitability."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import brute_force
import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python import policy
from open_spiel.python.algorithms import best_response, expected_game_score, exploitability, ismcts, mcts
from open_spiel.python.observation import make_observation

from trick_envs.engine.registry import game_type, load_game
from trick_envs.errors import InputError, InputTypeError
from trick_envs.interfaces.openspiel import NAMES, Variant, exploitabilities, full, greedy_policy, small

# (name, num_players, suits, ranks, hand_size)
TINY = [
    ("pepper", 2, 1, 6, 2),
    ("pepper", 3, 1, 6, 2),
    ("pepper", 2, 2, 4, 3),
    ("donguri", 2, 2, 3, 2),
    ("donguri", 3, 2, 3, 2),
    ("zaraba22", 3, 2, 3, 2),
]
every_variant = pytest.mark.parametrize("sizes", TINY, ids=["-".join(map(str, sizes)) for sizes in TINY])


History = tuple[tuple[str, int], ...]  # what a seat knew at each of its decisions, and what it named


@cache
def tree(sizes: tuple[Any, ...]) -> list[tuple[Any, str, tuple[History, ...]]]:
    """Every state of a variant but the dealing, with the information state of whoever acts, and histories by seat."""
    found = []

    def visit(state: Any, histories: tuple[History, ...]) -> None:
        player, text = state.current_player(), ""
        if player >= 0:
            text = state.information_state_string()
        if not state.is_chance_node():
            found.append((state, text, histories))
        for action in state.legal_actions():
            after = list(histories)
            if player >= 0:
                after[player] = (*after[player], (text, action))
            visit(state.child(action), tuple(after))

    visit(small(*sizes).new_initial_state(), ((),) * sizes[1])
    return found


@cache
def information_sets(sizes: tuple[Any, ...]) -> dict[str, list[Any]]:
    """The decisions of a variant by information state."""
    found = defaultdict(list)
    for state, text, _ in tree(sizes):
        if text:
            found[text].append(state)
    return found


def dealt(game: Any, *hands: str) -> Any:
    """The state in which these hands were dealt."""
    state, parse = game.new_initial_state(), game.game.deck.parse
    for hand in hands:
        for card in sorted(parse(card) for card in hand.split()):
            state.apply_action(card)
    return state


def play(state: Any, *cards: str) -> Any:
    for card in cards:
        state.apply_action(state.position.game.deck.parse(card))
    return state


def names(state: Any) -> list[str]:
    return [state.action_to_string(action) for action in state.legal_actions()]


# --- the tree -----------------------------------------------------------------------------------------------------


@every_variant
def test_openspiels_own_checks_pass(sizes: tuple[Any, ...]) -> None:
    pyspiel.random_sim_test(small(*sizes), num_sims=10, serialize=True, verbose=False)


@every_variant
def test_every_deal_is_there_once_and_as_likely(sizes: tuple[Any, ...]) -> None:
    _, players, suits, ranks, hand_size = sizes
    deals: Counter[str] = Counter()

    def deal(state: Any, chance: float) -> None:
        if not state.is_chance_node():
            deals[str(state)] += 1
            assert chance == pytest.approx(1 / number)
            return
        for outcome, its in state.chance_outcomes():
            deal(state.child(outcome), chance * its)

    rest = suits * ranks - players * hand_size
    number = math.factorial(suits * ranks) // (math.factorial(hand_size) ** players * math.factorial(rest))
    deal(small(*sizes).new_initial_state(), 1.0)
    assert len(deals) == number
    assert set(deals.values()) == {1}


def test_the_default_deals_560_times() -> None:
    """8 cards: 56 hands for seat 0, and then 10 for seat 1, card by card in ascending order."""
    game = small("pepper")
    assert game.max_chance_outcomes() == 8
    deals = []

    def deal(state: Any) -> None:
        if not state.is_chance_node():
            deals.append(state)
            return
        for outcome, _ in state.chance_outcomes():
            deal(state.child(outcome))

    state = game.new_initial_state()
    assert state.chance_outcomes() == [(card, ways / 56) for card, ways in enumerate((21, 15, 10, 6, 3, 1))]
    assert state.action_to_string(0) == "player_0 gets 1R"
    deal(state)
    assert len(deals) == 560
    assert len({tuple(each.position.hands[0]) for each in deals}) == 56
    assert all(hand == tuple(sorted(hand)) for each in deals for hand in each.position.hands)
    assert str(dealt(game, "2R 4R 1Y", "1R 2Y 4Y")) == (
        "hand 0: 2R 4R | hand 1: 2Y 4Y | table:  | pile 0:  | pile 1:  | front 0: 1Y | front 1: 1R | played: "
    )


@every_variant
def test_a_seat_remembers_all_that_it_saw_and_did(sizes: tuple[Any, ...]) -> None:
    own, legal, count = defaultdict(set), defaultdict(set), 0
    for state, text, histories in tree(sizes):
        if text:
            own[text].add(histories[state.current_player()])
            legal[text].add(tuple(state.legal_actions()))
            count += 1
    assert {len(found) for found in own.values()} == {len(found) for found in legal.values()} == {1}
    assert len(own) < count  # and it does not know everything


@every_variant
def test_legal_actions_ascend_and_returns_add_up_to_nothing(sizes: tuple[Any, ...]) -> None:
    game = small(*sizes)
    assert game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
    paid = set()
    for state, _, _ in tree(sizes):
        actions = state.legal_actions()
        assert actions == sorted(set(actions))
        if state.is_terminal():
            assert sum(state.returns()) == pytest.approx(0)
            assert game.min_utility() < min(state.returns())
            assert max(state.returns()) < game.max_utility()
            paid.add(tuple(state.returns()))
        else:
            assert actions
            assert not any(state.returns())
    assert len(paid) > 2


# --- the rules ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes", [("pepper", 2, 3, 5, 5), ("pepper", 4, 2, 8, 4), ("donguri", 3, 2, 8, 5), ("zaraba22", 3, 3, 5, 4)]
)
def test_play_and_points_are_those_of_the_rule_page(sizes: tuple[Any, ...]) -> None:
    game, rng = small(*sizes), np.random.default_rng(1)
    deck, n = game.game.deck, sizes[1]
    for _ in range(30):
        state = game.new_initial_state()
        while state.is_chance_node():
            cards, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(cards, p=chances)))
        hands = state.position.hands
        stock = set(deck.cards).difference(*hands)
        deal = {"hands": [list(map(deck.format, hand)) for hand in hands], "stock": deck.format_all(stock), "dealer": 0}
        slow = brute_force.GAMES[sizes[0]](deal)
        slow.ranks = slow.ranks[: sizes[3]]
        while not state.is_terminal():
            assert not slow.over
            assert state.current_player() == slow.seat
            assert sorted(names(state)) == sorted(slow.choices())
            action = int(rng.choice(state.legal_actions()))
            slow.play(state.action_to_string(action))
            state.apply_action(action)
        assert slow.over
        scores = slow.scores()
        assert state.returns() == pytest.approx([score - sum(scores) / n for score in scores])


def test_peppers_cost_in_a_game_told_card_by_card() -> None:
    state = dealt(small("pepper"), "2R 4R 1Y", "1R 2Y 4Y")
    assert names(state) == ["2R", "4R"]  # the lead comes from the hand
    play(state, "2R")
    assert names(state) == ["1R"]  # the pepper in front must follow
    play(state, "1R")  # seat 0 takes it
    assert names(state) == ["4R"]
    play(state, "4R")
    assert names(state) == ["2Y", "4Y"]
    play(state, "2Y")
    assert state.is_terminal()
    assert state.returns() == [-3.5, 3.5]  # 1R, with 2R and 4R, and 1Y, with 2Y: 4 + 3 against nothing


def test_at_full_size_a_variant_is_the_game() -> None:
    for name in NAMES:
        whole = load_game(name, 3, 1)
        variant = Variant(game_type(name), 3, whole.options, whole.deck, whole.hand_size)
        assert variant.dtype == whole.dtype
        assert variant.template.tobytes() == whole.template.tobytes()
        assert variant.view_size == whole.layout.size


def test_options_change_the_rules() -> None:
    assert names(dealt(small("pepper", lead_peppers=True), "2R 4R 1Y", "1R 2Y 4Y")) == ["2R", "4R", "1Y"]
    with pytest.raises(TypeError, match="donguri has no option 'lead_peppers'"):
        small("donguri", lead_peppers=True)


# --- who knows what -----------------------------------------------------------------------------------------------


def test_an_information_state_says_what_the_seat_knows() -> None:
    state = play(dealt(small("pepper"), "2R 4R 1Y", "1R 2Y 4Y"), "2R", "1R", "4R")
    assert state.information_state_string(1) == (
        "player_1 | hand 1: 2Y 4Y | pile 0: 2R | front 0: 1R 1Y | played: 0 2R, 1 1R, 0 4R"
    )
    places, _, digest = state.observation_string(1).rpartition(" | ")
    assert places == "player_1 | hand 1: 2Y 4Y | pile 0: 2R | front 0: 1R 1Y | trick: 0 4R"
    assert len(digest) == 16


def test_the_leader_thinks_every_hand_possible_that_shows_the_same_peppers() -> None:
    sets = information_sets(("pepper", 2, 2, 4, 3))
    sizes = Counter(len(found) for text, found in sets.items() if text.endswith("played: "))
    # The other seat's hand is three of the five cards left, by the peppers in front of both:
    # both at seat 0 (6 hands): 10; one there (15 each), the other out of play: 4, or at seat 1: 6;
    # none there (20): none at seat 1: 1, one of two: 3 each, both: 3
    assert sizes == Counter({10: 6, 4: 30, 6: 30, 1: 20, 3: 60})


@every_variant
def test_drawn_states_look_the_same_and_are_as_many_as_there_are(sizes: tuple[Any, ...]) -> None:
    rng, sets = np.random.default_rng(3), information_sets(sizes)
    for text in rng.choice(sorted(text for text, found in sets.items() if len(found) > 1), 12, replace=False):
        found = sets[text]
        state, player = found[0], found[0].current_player()
        tensor = state.information_state_tensor(player)
        drawn: Counter[str] = Counter()
        for _ in range(25 * len(found)):
            other = state.resample_from_infostate(player, rng.random)
            assert other.information_state_string(player) == text
            assert other.information_state_tensor(player) == tensor
            assert other.observation_string(player) == state.observation_string(player)
            drawn[str(other)] += 1
        assert set(drawn) == {str(each) for each in found}


@every_variant
def test_tensors_tell_information_states_apart(sizes: tuple[Any, ...]) -> None:
    tensors = {
        np.asarray(found[0].information_state_tensor(), np.float32).tobytes()
        for found in information_sets(sizes).values()
    }
    assert len(tensors) == len(information_sets(sizes))


def test_observers_have_named_parts() -> None:
    game = small("pepper")
    state = play(dealt(game, "2R 4R 1Y", "1R 2Y 4Y"), "2R")
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    observer.set_from(state, 1)
    assert observer.dict["player"].tolist() == [0, 1]
    assert observer.dict["observation"][:8].tolist() == [0, 0, 0, 0, 0, 1, 0, 1]  # own hand
    assert np.argwhere(observer.dict["plays"]).tolist() == [[0, 0], [0, 3]]  # 2 of the two suits and four ranks
    assert set(make_observation(game).dict) == {"player", "observation"}
    with pytest.raises(ValueError, match="public and the player's own cards"):
        make_observation(game, pyspiel.IIGObservationType(True, False, pyspiel.PrivateInfoType.ALL_PLAYERS))


@every_variant
def test_the_rule_of_thumb_knows_no_more_than_its_seat(sizes: tuple[Any, ...]) -> None:
    for found in information_sets(sizes).values():
        assert len({state.position.greedy() for state in found}) == 1
        assert found[0].position.greedy() in found[0].legal_actions()


def test_openspiels_search_plays_it() -> None:
    game = small("pepper", 2, 2, 5, 4)
    rng = np.random.RandomState(1)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, 20, random_state=rng)
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            cards, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(cards, p=chances)))
        else:
            state.apply_action(bot.step(state))
    assert len(state.position.plays) >= 4


# --- exact numbers ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_cfr_comes_near_an_equilibrium() -> None:
    found = exploitabilities(small("pepper", 2, 2, 4, 3), 50)
    assert found["random"] == pytest.approx(0.6778, abs=1e-4)
    assert found["greedy"] == pytest.approx(0.1817, abs=1e-4)
    assert 0 <= found["cfr+:50"] < 0.002


def test_exploitability_is_openspiels() -> None:
    game = small("pepper", 2, 1, 6, 2)
    found = exploitabilities(game, 1)
    assert list(found) == ["random", "greedy", "cfr+:1"]
    assert found["random"] == pytest.approx(exploitability.exploitability(game, policy.UniformRandomPolicy(game)))
    greedy = policy.pyspiel_policy_to_python_policy(game, greedy_policy(game))
    assert found["greedy"] == pytest.approx(exploitability.exploitability(game, greedy))


def test_with_more_seats_it_is_the_mean_gain_of_a_best_response() -> None:
    game = small("donguri", 3, 2, 3, 2)
    found = exploitabilities(game, 30)
    greedy = policy.pyspiel_policy_to_python_policy(game, greedy_policy(game))
    assert found["greedy"] == pytest.approx(exploitability.nash_conv(game, greedy) / 3)
    assert found["cfr+:30"] < 0.01 < found["greedy"] < found["random"]


def test_a_margin_over_the_others_is_more_than_exploitability_by_the_share_of_the_seat_itself() -> None:
    """As ``docs/training.md`` says of the bound that ``trick best-response`` finds."""
    game = small("donguri", 3, 2, 3, 2)
    target, margins = policy.pyspiel_policy_to_python_policy(game, greedy_policy(game)), []
    for seat in range(3):
        best = [target] * 3
        best[seat] = best_response.BestResponsePolicy(game, seat, target)
        returns = expected_game_score.policy_value(game.new_initial_state(), best)
        margins.append(returns[seat] - np.mean(np.delete(returns, seat)))
    assert np.mean(margins) * 2 / 3 == pytest.approx(exploitabilities(game, 1)["greedy"])


def test_nothing_is_to_be_gained_where_there_is_no_choice() -> None:
    assert exploitabilities(small("donguri", 2, 1, 4, 1), 1) == pytest.approx({"random": 0, "greedy": 0, "cfr+:1": 0})


def test_what_cannot_be_searched_completely_is_refused() -> None:
    """They ran until the memory was full."""
    full_size, large = full("pepper"), small("donguri", 3, 3, 4, 4)
    for solve in (exploitabilities, greedy_policy):
        with pytest.raises(InputError, match=r"^game: .* is at full size, too large .*: expected one of small\(\)$"):
            solve(full_size)
        with pytest.raises(
            InputError, match=r"has up to 479,001,600 lines of play, expected 10,000,000 at most: make it smal"
        ):
            solve(large)
        for other in ("pepper", load_game("pepper"), pyspiel.load_game("kuhn_poker")):
            with pytest.raises(InputTypeError, match=r"game: expected what small\(\) returns"):
                solve(other)
    for iterations in (0, 2.5, None):
        with pytest.raises(InputError, match="iterations: expected a whole number of 1 or more, not"):
            exploitabilities(small("donguri", 2, 1, 4, 1), iterations)


@pytest.mark.parametrize("size", [[3], {}, 2.0, True, None], ids=repr)
@pytest.mark.parametrize("which", ["num_players", "suits", "ranks", "hand_size"])
def test_a_size_is_a_whole_number(which: str, size: Any) -> None:
    small("pepper")  # 2.0 was taken once 2 had been
    with pytest.raises(InputError, match=f"{which}: expected a whole number of"):
        small("pepper", **{which: size})


# --- names and errors ---------------------------------------------------------------------------------------------


def test_openspiel_finds_the_games_by_name() -> None:
    assert NAMES == ("donguri", "pepper", "zaraba22")
    game = pyspiel.load_game("trick_envs_pepper(num_players=3,suits=1,ranks=7,hand_size=2,lead_peppers=True)")
    assert game.num_players() == 3
    assert game.game.options == {"lead_peppers": True}
    assert pyspiel.load_game("trick_envs_donguri").game is small("donguri").game
    again = pickle.loads(pickle.dumps(game))
    assert str(again) == str(game)
    assert again.game is game.game


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("pepper", {"num_players": 1}, "num_players: expected a whole number of 2 to 9, not 1"),
        ("zaraba22", {"num_players": 4}, "num_players: expected a whole number of 2 to 3, not 4"),
        ("pepper", {"suits": 5}, "suits: expected a whole number of 1 to 4, not 5"),
        ("pepper", {"ranks": 2.0}, "ranks: expected a whole number of 1 to 9, not 2.0"),
        ("pepper", {"hand_size": 5}, "hand_size: expected a whole number of 1 to 4, not 5"),
        ("pepper", {"hand_size": 2}, "hand_size: 2 cards may be 1R 1Y, with which nobody can lead"),
        ("donguri", {"suits": 3, "ranks": 12, "hand_size": 12}, "36 cards make 1,251,677,700 hands, expected 10,000"),
        ("double_deck_whist", {}, "has no small variants, its rules need the whole deck: choose donguri or pepper or"),
        ("tricky_express", {}, "has no small variants"),
        ("bridge", {}, "there is no game 'bridge'"),
    ],
)
def test_a_variant_that_does_not_exist_says_what_does(name: str, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(name, **sizes)


def test_openspiel_is_loaded_when_asked_for_alone() -> None:
    code = (
        "import sys, trick_envs, trick_envs.engine.batch; assert 'pyspiel' not in sys.modules\n"
        "sys.modules['pyspiel'] = None\n"
        "try: import trick_envs.interfaces.openspiel\n"
        "except ImportError as error: assert \"pip install 'trick_envs[openspiel]'\" in str(error), error\n"
        "else: raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
