"""The single-seat Gymnasium environments, every registered game alike."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
import threading
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import trick_envs
from trick_envs import IllegalAction, pepper_v0
from trick_envs.agents import GreedyAgent, make_agent
from trick_envs.interfaces.illegal_penalty import worst_total
from trick_envs.interfaces.rendering import Rendering

CONTRACT = {
    "trick_envs/Pepper-v0": "pepper",
    "trick_envs/Donguri-v0": "donguri",
    "trick_envs/Zaraba22-v0": "zaraba22",
    "trick_envs/DoubleDeckWhist-v0": "double_deck_whist",
    "trick_envs/TrickyExpress-v0": "tricky_express",
    "trick_envs/Hearts-v0": "hearts",
}
REGISTERED = {
    name: spec.kwargs["game"]
    for name, spec in gymnasium.registry.items()
    if name.startswith("trick_envs/") and spec.vector_entry_point  # text environments have none
}
every_game = pytest.mark.parametrize("name", REGISTERED)


def make(name="trick_envs/Pepper-v0", **options):
    return gymnasium.make(name, **{"num_deals": 2, **options})


def one_legal(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def play_match(env, seed=None, options=None, choices=0):
    """Plays random legal cards to the end; returns observations, masks and rewards of the learner, and the record."""
    rng = np.random.default_rng(choices)
    observation, info = env.reset(seed=seed, options=options)
    seen, masks, rewards, over = [observation], [info["action_mask"]], [], False
    while not over:
        observation, reward, over, truncated, info = env.step(one_legal(info["action_mask"], rng))
        assert truncated is False
        seen.append(observation)
        masks.append(info["action_mask"])
        rewards.append(reward)
    return seen, masks, rewards, env.unwrapped.record()


def lowest(observations, action_masks):
    return np.asarray(action_masks).argmax(axis=1)


def highest(observations, action_masks):
    return action_masks.shape[1] - 1 - np.asarray(action_masks)[:, ::-1].argmax(axis=1)


class Lowest:
    name = "lowest"

    def act(self, observations, action_masks, states=None):
        assert len(states) == len(observations)
        return lowest(observations, action_masks)


# --- making them --------------------------------------------------------------------------------------------------


def test_every_v0_module_is_registered_in_camel_case():
    assert REGISTERED == CONTRACT


def test_registering_once_more_is_quiet_and_keeps_what_is_there():
    before = dict(gymnasium.registry)
    with warnings.catch_warnings(action="error"):
        trick_envs._register()
    assert gymnasium.registry == before


def test_importing_the_package_compiles_nothing():
    code = (
        "import sys, trick_envs, gymnasium; assert 'trick_envs/Pepper-v0' in gymnasium.registry; "
        "bad = {'numba', 'torch', 'stable_baselines3', 'matplotlib', 'pygame', 'ray'} & set(sys.modules); "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@every_game
def test_gymnasium_check_env_has_nothing_to_say(name, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*an illegal action ended the match")  # it steps unmasked actions
        warnings.filterwarnings("ignore", ".*render_mode='human' prints text")  # said once, where there is no display
        check_env(make(name).unwrapped)
        check_env(make(name, mask_key="action_mask", observation_key="observations").unwrapped)


@every_game
def test_stable_baselines_check_env_has_nothing_to_say(name):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*an illegal action ended the match")  # it steps unmasked actions
        warnings.filterwarnings("ignore", ".*render_mode='human' prints text")  # said once, where there is no display
        checker.check_env(make(name).unwrapped)
        checker.check_env(make(name, mask_key="action_mask", observation_key="observations").unwrapped)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seat": 5}, "seat: expected None or a seat of 0 to 4, not 5"),
        ({"seat": True}, "seat: expected None or a seat of 0 to 4"),
        ({"opponents": "clever"}, "'clever' is no player"),
        ({"opponents": ["greedy", "random"]}, "a list of 4, one for each seat .*, not 2"),
        ({"opponents": 7}, "opponents: expected a spec such as 'greedy' .*, an agent, or a function .*, not 7"),
        ({"opponents": None}, "opponents: expected .* not None"),
        ({"opponents": GreedyAgent}, "which is a class: pass an object of it"),
        (
            {"opponents": lambda observations: observations},
            r"a function \(observations, action_masks\) -> actions, not",
        ),
        ({"opponents": ["greedy", "random", "greedy", {}]}, "opponents: expected .* not {}"),
        ({"mask_key": 7}, "mask_key, observation_key: expected strings, not 7"),
        ({"mask_key": "obs", "observation_key": "obs"}, "expected two different keys, not 'obs' for both"),
        ({"observation_key": "obs"}, "observation_key: 'obs' needs a mask_key"),
        ({"end_mask": "one"}, "end_mask: expected one of 'zeros', 'ones', not 'one'"),
        ({"illegal": "punish"}, "illegal: expected one of 'terminate', 'raise', 'substitute', not 'punish'"),
        ({"reward": "fame"}, "reward: expected one of"),
        ({"num_players": 2}, "num_players: pepper is for"),
        ({"render_mode": "braille"}, "render_mode: expected None, 'human', 'ansi' or 'rgb_array', not 'braille'"),
        ({"render_view": "mine"}, "render_view: expected 'all' or a seat of 0 to 4, not 'mine'"),
        ({"render_view": 5}, "render_view: expected 'all' or a seat of 0 to 4, not 5"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_bad_arguments_are_explained(wrong, message):
    with pytest.raises(ValueError, match=message):
        make(**wrong)


INTERFACES = {
    "gymnasium": lambda **options: gymnasium.make("trick_envs/Pepper-v0", **options),
    "vector": lambda **options: gymnasium.make_vec("trick_envs/Pepper-v0", 2, "vector_entry_point", **options),
    "batch": lambda **options: trick_envs.BatchEnv("pepper", 2, **options),
    "aec": pepper_v0.env,
    "raw aec": pepper_v0.raw_env,
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_an_unknown_argument_is_refused_in_pythons_words(interface):
    """TorchRL's GymEnv looks for them: it tries every environment with ``frameskip`` first."""
    with pytest.raises(TypeError, match=r"\) got an unexpected keyword argument 'frameskip' \(known: "):
        INTERFACES[interface](frameskip=1)


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("theirs", ["players", "n_players", "num_agents", "num_player"])
def test_the_argument_of_another_library_points_to_ours(interface, theirs):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{theirs}' .did you mean 'num_players'"):
        INTERFACES[interface](**{theirs: 3})


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("opponent", "opponents"), ("agents", "opponents"), ("player", "seat"), ("rounds", "num_deals")],
)
def test_other_names_of_arguments_point_to_ours(theirs, ours):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{theirs}' .did you mean '{ours}'"):
        make(**{theirs: 3})


def test_a_seed_belongs_to_reset():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'seed' .pass it to reset\(seed=…\)"):
        make(seed=3)


@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_a_render_mode_that_is_not_there_is_a_type_error_for_those_who_try():
    """Stable-Baselines3 asks for ``rgb_array`` first, and does without it after a ``TypeError``."""
    for interface in ("gymnasium", "vector", "aec"):
        with pytest.raises(TypeError, match=r"render_mode: expected None.*, not 'braille'"):
            INTERFACES[interface](render_mode="braille")


def test_a_model_of_stable_baselines_as_opponent_is_told_how():
    class Model:
        def predict(self, observation, action_masks=None):
            return np.asarray(action_masks).argmax(axis=1), None

    with pytest.raises(ValueError, match=r"lambda o, m: model.predict\(o, action_masks=m\)\[0\]"):
        make(opponents=Model())
    model = Model()
    by_model = play_match(make(opponents=lambda o, m: model.predict(o, action_masks=m)[0]), seed=6)[3]
    assert by_model == play_match(make(opponents=lowest), seed=6)[3]


# --- the match as the learner sees it -----------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("reward", ["score", "zero_sum", "win"])
def test_what_the_learner_sees_and_is_paid_is_what_the_aec_environment_says(name, reward):
    env = make(name, reward=reward)
    seen, masks, rewards, record = play_match(env, seed=11)
    seat = env.unwrapped.seat
    aec = importlib.import_module(f"trick_envs.{REGISTERED[name]}_v0").raw_env(num_deals=2, reward=reward)
    aec.reset(seed=11)
    learner, deck = f"player_{seat}", aec.game.deck
    step, paid, told = 0, 0.0, []
    for deal in record["deals"]:
        for actor, card in deal["actions"]:
            assert aec.agent_selection == f"player_{actor}"
            if actor == seat:
                expected = aec.observe(learner)
                np.testing.assert_array_equal(seen[step], expected["observation"])
                np.testing.assert_array_equal(masks[step], expected["action_mask"])
                if step:
                    told.append(paid)
                step, paid = step + 1, 0.0
            aec.step(deck.parse(card))
            paid += aec.rewards[learner]
    assert aec.record() == record
    assert [*told, paid] == rewards
    np.testing.assert_array_equal(seen[-1], aec.observe(learner)["observation"])
    assert not masks[-1].any()
    if reward == "score":
        assert sum(rewards) == record["score"][seat]


@every_game
def test_the_deals_are_those_of_the_seed_whoever_sits_where(name):
    aec = importlib.import_module(f"trick_envs.{REGISTERED[name]}_v0").env(num_deals=2)
    aec.reset(seed=5)
    first = aec.record()["deals"][0]
    for options in ({}, {"seat": 0}, {"seat": 2}, {"opponents": "random"}, {"opponents": lowest}):
        env = make(name, **options)
        env.reset(seed=5)
        deal = env.unwrapped.record()["deals"][0]
        assert [deal[key] for key in ("dealer", "hands", "stock")] == [
            first[key] for key in ("dealer", "hands", "stock")
        ]


def test_the_reward_counts_a_deal_that_ends_while_opponents_play():
    env = make(num_deals=8, seat=0)
    _, _, rewards, record = play_match(env, seed=3)
    last_by_other = [deal["actions"][-1][0] != 0 for deal in record["deals"]]
    assert any(last_by_other[:-1])
    assert [reward for reward in rewards if reward] == [
        deal["score"][0] for deal in record["deals"] if deal["score"][0]
    ]


def test_arrays_are_fresh():
    env = make()
    first, info = env.reset(seed=1)
    kept, kept_mask = first.copy(), info["action_mask"].copy()
    second, _, _, _, info_2 = env.step(int(info["action_mask"].argmax()))
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(info["action_mask"], kept_mask)
    info_2["action_mask"][:] = 0
    env.unwrapped.action_masks()[:] = 0
    assert env.unwrapped.action_masks().any()
    assert first.dtype == np.float32
    assert kept_mask.dtype == np.int8


# --- seats --------------------------------------------------------------------------------------------------------


def test_a_fixed_seat_stays():
    env = make(seat=3)
    for _ in range(5):
        env.reset()
        assert env.unwrapped.seat == 3


def test_a_random_seat_changes_from_match_to_match_and_follows_from_the_seed():
    seats = []
    for _ in range(2):
        env = make()
        env.reset(seed=8)
        seats.append([env.unwrapped.seat])
        for _ in range(39):
            env.reset()
            seats[-1].append(env.unwrapped.seat)
    assert seats[0] == seats[1]
    assert set(seats[0]) == set(range(5))


def test_the_same_match_from_the_drawn_seat_and_from_that_seat_fixed():
    drawn = make(opponents="random")
    match = play_match(drawn, seed=21)[3]
    assert play_match(make(opponents="random", seat=drawn.unwrapped.seat), seed=21)[3] == match


def test_reset_options_seat_dealer_and_deals():
    source = make()
    deals = play_match(source, seed=2)[3]["deals"]
    env = make(seat=1)
    env.reset(seed=9, options={"seat": 4, "dealer": 3})
    assert env.unwrapped.seat == 4
    assert env.unwrapped.record()["deals"][0]["dealer"] == 3
    env.reset()
    assert env.unwrapped.seat == 1
    record = play_match(env, seed=9, options={"deals": deals})[3]
    for played, given in zip(record["deals"], deals, strict=True):
        assert (played["dealer"], played["hands"]) == (given["dealer"], given["hands"])
    with pytest.raises(ValueError, match=r"options\['seat'\]: expected None or a seat of 0 to 4, not 9"):
        env.reset(options={"seat": 9})


# --- opponents ----------------------------------------------------------------------------------------------------


@every_game
def test_a_listed_opponent_sits_as_many_seats_clockwise_from_the_learner(name):
    calls = []

    def logged(place):
        def act(observations, action_masks):
            assert observations.dtype == np.float32
            assert observations.shape[0] == action_masks.shape[0] == 1
            calls.append(place)
            return lowest(observations, action_masks)

        return act

    players = make(name).unwrapped.game.num_players
    env = make(name, opponents=[logged(place) for place in range(1, players)])
    record = play_match(env, seed=4)[3]
    seat = env.unwrapped.seat
    played = [(actor - seat) % players for deal in record["deals"] for actor, _ in deal["actions"] if actor != seat]
    assert calls == played


@every_game
def test_a_spec_an_agent_and_a_function_play_the_same(name):
    by_spec = play_match(make(name, opponents="greedy"), seed=6)[3]
    agent = GreedyAgent(make(name).unwrapped.game)
    assert play_match(make(name, opponents=agent), seed=6)[3] == by_spec
    by_function = play_match(make(name, opponents=lowest), seed=6)[3]
    assert play_match(make(name, opponents=Lowest()), seed=6)[3] == by_function
    assert play_match(make(name, opponents=highest), seed=6)[3] != by_function


@every_game
def test_random_opponents_replay_from_the_seed_and_differ_between_seeds(name):
    records = [play_match(make(name, opponents="random", seat=0), seed=seed)[3] for seed in (1, 1)]
    assert records[0] == records[1]
    env = make(name, opponents="random", seat=0)
    deals = records[0]["deals"]
    env.reset(seed=2, options={"deals": deals})
    other = play_match(env, seed=2, options={"deals": deals})[3]
    assert other["deals"][0]["actions"] != deals[0]["actions"]


def test_an_agent_with_random_choices_replays_from_the_seed():
    env = make(opponents=make_agent("random", make().unwrapped.game, seed=99))
    first = play_match(env, seed=7)[3]
    play_match(env)
    assert play_match(env, seed=7)[3] == first


def test_a_policy_file_plays_its_best_action(policy_file):
    by_file = play_match(make(opponents=policy_file), seed=6)[3]  # a path
    assert play_match(make(opponents=str(policy_file)), seed=6)[3] == by_file
    assert play_match(make(opponents=highest), seed=6)[3] == by_file


def test_an_opponents_illegal_action_is_blamed_on_it():
    def stubborn(observations, action_masks):
        return np.asarray(action_masks).argmin(axis=1)

    env = make(opponents=stubborn, seat=0)
    with pytest.raises(IllegalAction, match=r"opponent .*stubborn.*: player_\d does not have"):
        env.reset(seed=1, options={"dealer": 1})


def test_an_environment_says_what_it_is_and_where_its_match_is():
    env = make(seat=3).unwrapped
    assert repr(env) == "<SeatEnv of pepper for 5 players: not reset>"
    env.reset(seed=7)
    assert repr(env) == "<SeatEnv of pepper for 5 players: learner at seat 3, seed 7, deal 1, player_3 to " + (
        f"{env.phase}>"
    )
    games = gymnasium.make_vec("trick_envs/Pepper-v0", 4, "vector_entry_point", autoreset_mode="SAME_STEP")
    assert repr(games) == "<VectorSeatEnv of 4 x pepper for 5 players: SAME_STEP, not reset>"
    games.reset(seed=1)
    assert repr(games) == "<VectorSeatEnv of 4 x pepper for 5 players: SAME_STEP>"


# --- illegal actions ----------------------------------------------------------------------------------------------


@every_game
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_an_illegal_action_ends_the_match(name):
    env = make(name)
    observation, info = env.reset(seed=1)
    again, reward, terminated, truncated, after = env.step(int(info["action_mask"].argmin()))
    assert (reward, terminated, truncated) == (worst_total(env.unwrapped.game, "score"), True, False)
    np.testing.assert_array_equal(again, observation)
    assert not after["action_mask"].any()
    assert not env.unwrapped.action_masks().any()
    assert env.unwrapped.record()["winners"] is None
    with pytest.raises(ResetNeeded):
        env.step(int(info["action_mask"].argmax()))
    env.reset()
    assert env.unwrapped.action_masks().any()


LOWEST_DEALS = {
    "pepper": -6 * (2 + 11),  # all colours with their peppers
    "donguri": -(48 + 4 * 4),  # all points on one seat, none on the other: 48 cards, four ranks of them worth 2
    "zaraba22": -10 * 3,  # three cards of crashed suits in every trick
    "double_deck_whist": 0,
    "tricky_express": 0,
    "hearts": -26,
}


@every_game
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_an_illegal_end_is_no_better_than_the_worst_match_that_the_rules_allow(name):
    """It was -1, better than most honest matches of Pepper."""
    env = make(name)
    _, info = env.reset(seed=1)
    total = env.step(int(info["action_mask"].argmin()))[1]
    assert total <= 2 * LOWEST_DEALS[REGISTERED[name]]
    game = trick_envs.load_game(REGISTERED[name])
    assert worst_total(game, "score") <= int(game.template["num_deals"][0]) * LOWEST_DEALS[REGISTERED[name]]


@every_game
@pytest.mark.parametrize("reward", ["score", "zero_sum", "win"])
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_an_illegal_end_is_no_better_however_much_was_paid_before(name, reward):
    env = make(name, reward=reward, num_deals=3, opponents="greedy")
    honest = [sum(play_match(env, seed=seed, choices=seed)[2]) for seed in range(20)]
    rng, rewards = np.random.default_rng(2), []
    _, info = env.reset(seed=5)
    while len(env.unwrapped.record()["deals"]) < 3:
        _, reward_of_step, _, _, info = env.step(one_legal(info["action_mask"], rng))
        rewards.append(reward_of_step)
    paid = sum(rewards)
    assert any(rewards) == (reward != "win")
    last = env.step(int(info["action_mask"].argmin()))[1]
    assert paid + last == pytest.approx(worst_total(env.unwrapped.game, reward))
    assert paid + last <= min(honest)
    if reward == "win":
        assert last == -1


def test_an_illegal_end_warns_once_of_the_mask():
    env = make()
    for expected in (1, 0):
        _, info = env.reset(seed=1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            env.step(int(info["action_mask"].argmin()))
        assert len([each for each in seen if 'info["action_mask"]' in str(each.message)]) == expected


@pytest.mark.parametrize("action", [lambda a: np.array([a]), np.int32, np.array, lambda a: np.array([[a]], np.uint8)])
def test_an_action_may_be_an_array_of_one(action):
    env, twin = make().unwrapped, make().unwrapped
    _, info = env.reset(seed=1)
    twin.reset(seed=1)
    card = int(info["action_mask"].argmax())
    with warnings.catch_warnings(action="error"):
        seen = env.step(action(card))
    np.testing.assert_array_equal(seen[0], twin.step(card)[0])
    assert env.record() == twin.record()


@pytest.mark.parametrize("action", [None, 1.5, np.array([1.0]), np.array([1, 2]), np.array([], int), "10R", True])
def test_an_action_that_is_no_whole_number_is_an_error_and_changes_nothing(action):
    env = make().unwrapped
    env.reset(seed=1)
    before = env.record()
    with pytest.raises(ValueError, match=r"action: expected one whole number, such as 3 or np.array\(\[3\]\), not"):
        env.step(action)
    assert env.record() == before
    assert env.action_masks().any()


def test_an_illegal_action_raises_and_changes_nothing():
    env = make(illegal="raise", seat=0)
    _, info = env.reset(seed=1)
    before = env.unwrapped.record()
    with pytest.raises(IllegalAction, match=r"player_0 (does not have|may not play)"):
        env.step(int(info["action_mask"].argmin()))
    assert env.unwrapped.record() == before
    env.step(int(info["action_mask"].argmax()))


@pytest.mark.parametrize("illegal", ["terminate", "raise", "substitute"])
def test_an_error_of_the_drawing_is_no_illegal_action(illegal, monkeypatch):
    env = make(illegal=illegal, seat=0, render_mode="human").unwrapped
    env.reset(seed=1, options={"dealer": 3})
    action, before = int(env.action_masks().argmax()), len(env.record()["deals"][0]["actions"])
    undisturbed = make(illegal=illegal, seat=0).unwrapped
    undisturbed.reset(seed=1, options={"dealer": 3})
    undisturbed.step(action)

    def fails(self, view):
        raise ValueError("this cannot be drawn")

    monkeypatch.setattr(Rendering, "show", fails)
    with pytest.raises(ValueError, match="this cannot be drawn") as caught:
        env.step(action)
    assert not isinstance(caught.value, IllegalAction)
    assert env.record()["deals"][0]["actions"][before] == [0, env.game.deck.names[action]]
    assert env.record() == undisturbed.record()  # the learner's card, the opponents' answers, and nothing else


@every_game
def test_instead_of_an_illegal_action_a_random_legal_one_is_played(name):
    played = set()
    for seed in range(8):
        env = make(name, illegal="substitute", seat=0)
        _, info = env.reset(seed=seed)
        legal, deck = np.flatnonzero(info["action_mask"]), env.unwrapped.game.deck
        _, reward, terminated, _, _ = env.step(int(info["action_mask"].argmin()))
        assert not terminated
        assert reward == 0
        card = next(card for actor, card in env.unwrapped.record()["deals"][0]["actions"] if actor == 0)
        assert deck.parse(card) in legal
        played.add(int(np.searchsorted(legal, deck.parse(card))))
    assert len(played) > 1


def test_a_step_before_reset_is_an_error():
    with pytest.raises(ResetNeeded):
        make().unwrapped.step(0)


# --- who has the same opponent ------------------------------------------------------------------------------------


class Dice:
    """Plays a random card, from a generator of its own."""

    def __init__(self, name="dice"):
        self.name, self.rng = name, np.random.default_rng(0)

    def seed(self, seed):
        self.rng = np.random.default_rng(seed)

    def act(self, observations, action_masks, states=None):
        return np.array([self.rng.choice(np.flatnonzero(mask)) for mask in action_masks])


def plays_of(envs, seeds):
    """Steps through environments side by side; the records."""
    infos = [env.reset(seed=seed)[1] for env, seed in zip(envs, seeds, strict=True)]
    for _ in range(6):
        infos = [env.step(int(info["action_mask"].argmax()))[4] for env, info in zip(envs, infos, strict=True)]
    return [env.unwrapped.record() for env in envs]


@pytest.mark.parametrize("spec", ["random", "pimc:3", None])
def test_environments_with_the_same_agent_object_play_as_if_each_were_alone(spec):
    agent = Dice() if spec is None else make_agent(spec, make().unwrapped.game, seed=4)
    alone = [plays_of([make(opponents=agent)], [seed])[0] for seed in (1, 2, 3)]
    assert plays_of([make(opponents=agent) for _ in range(3)], [1, 2, 3]) == alone


def test_an_agent_is_not_taken_for_a_spec_that_it_is_called_by():
    opponents = [Dice("random:7"), "pimc:2", Dice("pimc:2"), "pimc:2"]
    env = make(opponents=opponents, seat=0)
    players, agents = env.unwrapped._learners.opponents.players, env.unwrapped._learners.opponents.agents
    assert players.tolist() == [0, 1, 2, 1]
    assert [type(agent).__name__ for agent in agents] == ["Dice", "SearchAgent", "Dice"]


def test_an_agent_that_cannot_be_copied_is_refused_in_words():
    agent = Dice()
    agent.lock = threading.Lock()
    with pytest.raises(ValueError, match=r"cannot be copied .TypeError.*: pass a spec, or a function"):
        make(opponents=agent)


# --- masks --------------------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize(("observation_key", "mask_key"), [("observations", "action_mask"), ("obs", "mask")])
def test_the_mask_is_in_the_observation_under_the_keys_of_ones_choice(name, observation_key, mask_key):
    env = make(name, observation_key=observation_key, mask_key=mask_key)
    seen, masks, rewards, record = play_match(env, seed=3)
    plain, plain_masks, plain_rewards, plain_record = play_match(make(name), seed=3)
    assert (rewards, record) == (plain_rewards, plain_record)
    for one, mask, vector, plain_mask in zip(seen, masks, plain, plain_masks, strict=True):
        assert set(one) == {observation_key, mask_key}
        assert one in env.observation_space
        assert (one[observation_key].dtype, one[mask_key].dtype) == (np.float32, np.int8)
        np.testing.assert_array_equal(one[observation_key], vector)
        np.testing.assert_array_equal(one[mask_key], plain_mask)
        np.testing.assert_array_equal(one[mask_key], mask)
        assert not np.shares_memory(one[mask_key], mask)


def test_the_key_of_the_vector_is_observation_unless_it_is_named():
    assert set(make(mask_key="action_mask").observation_space.spaces) == {"observation", "action_mask"}


@pytest.mark.parametrize(("end_mask", "expected"), [("zeros", 0), ("ones", 1)])
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_the_mask_of_a_finished_match_is_zeros_or_ones(end_mask, expected):
    env = make(end_mask=end_mask, mask_key="mask")
    seen, masks, _, _ = play_match(env, seed=1)
    assert (masks[-1] == expected).all()
    assert (seen[-1]["mask"] == expected).all()
    assert (env.unwrapped.action_masks() == expected).all()
    assert not any(mask.all() for mask in masks[:-1])
    _, info = env.reset(seed=1)
    seen, _, _, _, info = env.step(int(info["action_mask"].argmin()))  # also after an illegal end
    assert (info["action_mask"] == expected).all()
    assert (seen["mask"] == expected).all()


# --- copies, pictures, learners -----------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike(name, duplicate):
    env = make(name, opponents="random").unwrapped
    duplicate(env)  # before the first reset
    _, info = env.reset(seed=3)
    for _ in range(3):
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    twin = duplicate(env)
    ends = []
    for one in (env, twin):
        mask, over = one.action_masks(), False
        while not over:
            _, _, over, _, now = one.step(int(mask.argmax()))
            mask = now["action_mask"]
        following, _ = one.reset()
        ends.append((one.record(), one.seat, following.tolist()))
    assert ends[0] == ends[1]


def test_a_copy_with_a_policy_as_opponent_goes_on_alike(policy_file):
    env = make(opponents=f"{policy_file}:sample").unwrapped
    env.reset(seed=3)
    env.step(int(env.action_masks().argmax()))
    twins = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for _ in range(5):
        for one in twins:
            one.step(int(one.action_masks().argmax()))
    assert twins[0].record() == twins[1].record() == twins[2].record()


def test_render():
    env = make(render_mode="ansi")
    env.reset(seed=1)
    assert "player_0" in env.render()


def test_metadata_names_the_same_render_modes_as_the_aec_environment():
    env = make().unwrapped
    assert env.metadata["render_modes"] == pepper_v0.env().metadata["render_modes"]


def test_maskable_ppo_learns_on_it():
    torch = pytest.importorskip("torch")
    sb3_contrib = pytest.importorskip("sb3_contrib")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        env = make(num_deals=1, opponents="random", illegal="raise")  # an unmasked action would raise
        model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=1, device="cpu")
        before = {name: weight.clone() for name, weight in model.policy.state_dict().items()}
        model.learn(128)
        assert model.num_timesteps == 128
        assert any(not torch.equal(before[name], weight) for name, weight in model.policy.state_dict().items())
    finally:
        torch.set_num_threads(threads)


def test_the_package_lists_its_registered_games():
    assert sorted(REGISTERED.values()) == sorted(trick_envs.game_names())
