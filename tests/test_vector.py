"""The natively batched Gymnasium environments: game i plays what the single environment plays, in every mode."""

from __future__ import annotations

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from helpers import crossed

import trick_envs
from trick_envs import IllegalAction
from trick_envs.agents import GreedyAgent
from trick_envs.interfaces.illegal_penalty import worst_total

GAMES = [
    name for name, spec in gymnasium.registry.items() if name.startswith("trick_envs/") and spec.vector_entry_point
]
PEPPER = "trick_envs/Pepper-v0"
every_game = pytest.mark.parametrize("name", GAMES)
every_mode = pytest.mark.parametrize("mode", AutoresetMode)


def make_vec(name=PEPPER, num_envs=4, **options):
    return gymnasium.make_vec(name, num_envs, "vector_entry_point", **{"num_deals": 1, **options})


def make_sync(name, num_envs, mode, **options):
    single = {"num_deals": 1, **options}
    return SyncVectorEnv([lambda: gymnasium.make(name, **single) for _ in range(num_envs)], autoreset_mode=mode)


def some_legal(masks, rng):
    return ((rng.random(masks.shape) + 1) * (masks != 0)).argmax(axis=1)


def lowest(observations, action_masks):
    return np.asarray(action_masks).argmax(axis=1)


def assert_equal(ours, theirs):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert_equal(ours[key], theirs[key])
    elif theirs.dtype == object:
        assert ours.dtype == object
        for one, other in zip(ours, theirs, strict=True):
            assert (one is None) == (other is None)
            if other is not None:
                assert_equal(one, other)
    else:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def compare_with_sync(name, mode, steps=60, wrong=0.0, **options):
    """Plays the same random cards in both, some of them illegal; returns how many matches ended."""
    ours, theirs = make_vec(name, autoreset_mode=mode, **options), make_sync(name, 4, mode, **options)
    rng = np.random.default_rng(0)
    now, expected = ours.reset(seed=17), theirs.reset(seed=17)
    ends = 0
    for _ in range(steps):
        for one, other in zip(now, expected, strict=True):
            assert_equal(one, other)
        assert ours.seats.tolist() == list(theirs.get_attr("seat"))
        masks = now[-1]["action_mask"]
        actions = np.where(rng.random(4) < wrong, masks.argmin(axis=1), some_legal(masks, rng))
        now, expected = ours.step(actions), theirs.step(actions)
        over = now[2]
        ends += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            for one, other in zip(now, expected, strict=True):
                assert_equal(one, other)
            now = ours.reset(options={"reset_mask": over.copy()})
            expected = theirs.reset(options={"reset_mask": over.copy()})
            again = expected[1]["_action_mask"]
            np.testing.assert_array_equal(now[1]["action_mask"][again], expected[1]["action_mask"][again])
            expected[1].update(now[1])  # ours says the mask of every game, theirs of those that start
    return ends


# --- the same matches as the single environment -------------------------------------------------------------------


@crossed(name=GAMES, mode=AutoresetMode)
def test_it_does_what_gymnasiums_vector_of_single_environments_does(name, mode):
    assert compare_with_sync(name, mode, opponents="greedy") > 0


@every_game
def test_random_opponents_play_as_in_the_single_environment(name):
    assert compare_with_sync(name, AutoresetMode.SAME_STEP, opponents="random", reward="zero_sum") > 0


@every_mode
def test_agents_and_functions_play_as_in_the_single_environment(mode):
    game = trick_envs.load_game("pepper", num_deals=1)
    mixed = ["random", GreedyAgent(game), "greedy", lowest]
    assert compare_with_sync(PEPPER, mode, opponents=mixed, num_players=5) > 0


def test_searches_and_sampled_policies_play_as_in_the_single_environment(policy_file):
    mixed = [f"{policy_file}:sample", "ismcts:20", f"{policy_file}+pimc:2", "random"]
    assert compare_with_sync(PEPPER, AutoresetMode.SAME_STEP, opponents=mixed, num_players=5) > 0


@every_mode
@pytest.mark.parametrize("illegal", ["terminate", "substitute"])
@pytest.mark.parametrize("reward", ["win", "zero_sum"])
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_illegal_actions_do_the_same_as_in_the_single_environment(mode, illegal, reward):
    options = {"illegal": illegal, "opponents": "random", "reward": reward, "num_deals": 2}
    assert compare_with_sync(PEPPER, mode, wrong=0.04, **options) > 0


@every_mode
@pytest.mark.parametrize("end_mask", ["zeros", "ones"])
@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_masks_are_where_they_are_in_the_single_environment(mode, end_mask):
    options = {"observation_key": "obs", "mask_key": "mask", "end_mask": end_mask}
    assert compare_with_sync(PEPPER, mode, wrong=0.05, **options) > 0


def test_a_fixed_seat_and_another_number_of_players():
    assert compare_with_sync(PEPPER, AutoresetMode.NEXT_STEP, seat=2, num_players=3, num_deals=2) > 0


def test_the_original_match_with_several_deals_pays_every_deal():
    env = make_vec(num_deals=None, autoreset_mode="SameStep", seat=1)
    _, infos = env.reset(seed=3)
    rng, paid, ended = np.random.default_rng(1), np.zeros(4), np.zeros(4, bool)
    scores = {}
    while not ended.all():
        before = env.states.copy()
        _, rewards, terminations, _, infos = env.step(some_legal(infos["action_mask"], rng))
        paid += np.where(ended, 0, rewards)
        for i in np.flatnonzero(terminations & ~ended):
            scores[i] = before[i].score[1] + rewards[i]
        ended |= terminations
    assert paid.tolist() == [scores[i] for i in range(4)]
    assert paid.any()


# --- autoreset ----------------------------------------------------------------------------------------------------


@every_mode
def test_the_mode_is_in_metadata_and_an_attribute(mode):
    for given in (mode, mode.value, mode.name):
        env = make_vec(autoreset_mode=given)
        assert env.metadata["autoreset_mode"] is mode
        assert env.autoreset_mode is mode
    assert make_vec().autoreset_mode is AutoresetMode.NEXT_STEP


@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_a_step_of_a_finished_match_without_autoreset_is_an_error():
    env = make_vec(autoreset_mode=AutoresetMode.DISABLED)
    _, infos = env.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    actions[2] = infos["action_mask"][2].argmin()
    _, rewards, terminations, truncations, infos = env.step(actions)
    assert rewards.tolist() == [0, 0, worst_total(env.game, "score"), 0]
    assert terminations.tolist() == [False, False, True, False]
    assert not truncations.any()
    assert infos["action_mask"].any(axis=1).tolist() == [True, True, False, True]
    with pytest.raises(ResetNeeded, match="game 2"):
        env.step(actions)


def test_reset_mask_starts_only_the_marked_games():
    env = make_vec(num_deals=3)
    _, infos = env.reset(seed=1)
    for _ in range(3):
        observations, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    before = env.states.copy()
    marked = np.array([True, False, False, True])
    options = {"reset_mask": marked}
    again, infos = env.reset(seed=[50, None, 52, 53], options=options)
    assert "reset_mask" in options
    assert [env.states[i].tobytes() == before[i].tobytes() for i in range(4)] == [False, True, True, False]
    assert env.states["seed"].tolist() == [50, *before["seed"][1:3].tolist(), 53]
    np.testing.assert_array_equal(again[1:3], observations[1:3])
    assert infos["action_mask"].any(axis=1).all()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False, False, False], TypeError),
        (np.array([1, 0, 0, 0]), TypeError),
        (np.array([True]), ValueError),
        (np.zeros(4, bool), ValueError),
    ],
)
def test_a_bad_reset_mask_is_an_error(mask, error):
    env = make_vec()
    env.reset(seed=1)
    with pytest.raises(error, match="reset_mask"):
        env.reset(options={"reset_mask": mask})


def test_the_first_reset_has_to_start_every_game():
    with pytest.raises(ResetNeeded):
        make_vec().reset(options={"reset_mask": np.array([True, False, False, False])})
    with pytest.raises(ResetNeeded):
        make_vec().step(np.zeros(4, int))


# --- seeds, seats, options ----------------------------------------------------------------------------------------


def test_one_seed_counts_upwards_a_list_gives_each_and_none_goes_on():
    env = make_vec()
    env.reset(seed=7)
    assert env.states["seed"].tolist() == [7, 8, 9, 10]
    env.reset()
    following = env.states["seed"].tolist()
    assert len({7, 8, 9, 10, *following}) == 8
    env.reset(seed=[7, None, 9, 10])
    env.reset(seed=[7, 8, 9, 10])
    env.reset()
    assert env.states["seed"].tolist() == following
    with pytest.raises(ValueError, match="expected 4 seeds"):
        env.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="seed: expected a whole number"):
        env.reset(seed=-1)


def test_reset_options_seat_and_dealer():
    env = make_vec(opponents="random")
    env.reset(seed=1, options={"seat": 2, "dealer": 2})
    assert env.seats.tolist() == [2] * 4
    assert env.states["dealer"].tolist() == [2] * 4
    assert not env.states["trick_size"].any()  # the dealer leads, which is the learner
    single = gymnasium.make(PEPPER, opponents="random", num_deals=1)
    expected, _ = single.reset(seed=2, options={"seat": 2, "dealer": 1})
    observations, _ = env.reset(seed=1, options={"seat": 2, "dealer": 1})
    np.testing.assert_array_equal(observations[1], expected)
    with pytest.raises(ValueError, match="only a single environment plays given deals"):
        env.reset(options={"deals": []})


def test_random_seats_are_spread():
    env = make_vec(num_envs=500)
    env.reset(seed=1)
    assert np.bincount(env.seats, minlength=5).min() > 60


# --- arguments, arrays, errors ------------------------------------------------------------------------------------


@every_game
def test_spaces_and_arrays(name):
    env = make_vec(name, num_envs=3)
    single = gymnasium.make(name)
    assert env.single_observation_space == single.observation_space
    assert env.single_action_space == single.action_space
    first, infos = env.reset(seed=1)
    kept = first.copy()
    second, rewards, terminations, truncations, infos = env.step(infos["action_mask"].argmax(axis=1).astype(np.int32))
    for observations in (first, second):
        assert observations.dtype == np.float32
        assert observations in env.observation_space
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    assert rewards.shape == terminations.shape == truncations.shape == (3,)
    assert infos["action_mask"].shape == (3, env.single_action_space.n)
    assert infos["action_mask"].dtype == np.int8
    np.testing.assert_array_equal(env.action_masks(), infos["action_mask"])
    infos["action_mask"][:] = 0
    assert env.action_masks().any()


def test_illegal_raise_names_the_game_and_moves_none():
    env = make_vec(illegal="raise", seat=0)
    _, infos = env.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    actions[2] = infos["action_mask"][2].argmin()
    before = env.states.tobytes()
    with pytest.raises(IllegalAction, match=r"game 2: player_0 (does not have|may not play)"):
        env.step(actions)
    actions[2] = 1000
    with pytest.raises(IllegalAction, match="game 2: action 1000 is no card"):
        env.step(actions)
    assert env.states.tobytes() == before


@pytest.mark.filterwarnings("ignore:.*an illegal action")
def test_actions_outside_the_space_end_the_match():
    env = make_vec()
    env.reset(seed=1)
    _, rewards, terminations, _, _ = env.step(np.array([-1, 60, 10**6, -(2**40)]))
    assert rewards.tolist() == [worst_total(env.game, "score")] * 4
    assert terminations.all()


def test_an_illegal_end_warns_once_of_the_mask():
    env = make_vec(autoreset_mode="SAME_STEP")
    for expected in (1, 0):
        _, infos = env.reset(seed=1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            env.step(infos["action_mask"].argmin(axis=1))
        assert len([each for each in seen if 'info["action_mask"]' in str(each.message)]) == expected


def test_the_mask_is_in_the_observation_of_a_batch():
    env = make_vec(observation_key="observations", mask_key="action_mask")
    observations, infos = env.reset(seed=1)
    assert observations in env.observation_space
    assert observations["observations"].shape == (4, env.game.layout.size)
    np.testing.assert_array_equal(observations["action_mask"], infos["action_mask"])
    infos["action_mask"][:] = 0
    assert observations["action_mask"].any(axis=1).all()


def test_the_mask_of_a_finished_match_can_be_fit_for_a_softmax():
    """Under NEXT_STEP a policy also acts, to no effect, on the last observation: all zeros make NaN of its logits."""
    env, rng = make_vec(end_mask="ones"), np.random.default_rng(0)
    _, infos = env.reset(seed=1)
    ends = 0
    for _ in range(40):
        _, _, terminations, _, infos = env.step(some_legal(infos["action_mask"], rng))
        ends += terminations.sum()
        assert infos["action_mask"].any(axis=1).all()
        assert infos["action_mask"][terminations].all()
    assert ends


@pytest.mark.parametrize("actions", [np.zeros(3, int), np.zeros(4), np.zeros((4, 1), int), [None] * 4])
def test_actions_of_the_wrong_shape_or_type_are_an_error(actions):
    env = make_vec()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="expected 4 whole numbers"):
        env.step(actions)


@pytest.mark.parametrize("wrong", [{"num_envs": 0}, {"render_mode": "human"}, {"autoreset_mode": "never"}])
def test_bad_arguments_are_an_error(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
        make_vec(**wrong)


def test_an_unknown_autoreset_mode_is_told_the_names():
    with pytest.raises(ValueError, match=r"expected one of 'NEXT_STEP', 'SAME_STEP', 'DISABLED', or .* not 'never'"):
        make_vec(autoreset_mode="never")


def test_an_opponents_illegal_action_is_blamed_on_it():
    env = make_vec(opponents=lambda observations, action_masks: action_masks.argmin(axis=1), seat=0)
    with pytest.raises(ValueError, match=r"opponent .*: player_\d does not have"):
        env.reset(seed=1, options={"dealer": 1})


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_alike(duplicate):
    env = make_vec(opponents="random", autoreset_mode="SameStep")
    duplicate(env)
    _, infos = env.reset(seed=3)
    for _ in range(5):
        _, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    twin = duplicate(env)
    masks = infos["action_mask"]
    for _ in range(30):
        actions = masks.argmax(axis=1)
        ours, its = env.step(actions), twin.step(actions)
        assert_equal(ours[0], its[0])
        assert_equal(ours[1], its[1])
        masks = ours[-1]["action_mask"]


def test_render():
    env = make_vec(render_mode="ansi")
    env.reset(seed=1)
    pictures = env.render()
    assert len(pictures) == 4
    assert all("player_0" in picture for picture in pictures)


def test_gymnasiums_episode_statistics_work_on_it():
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec())
    _, infos = env.reset(seed=1)
    rng = np.random.default_rng(0)
    returns = []
    for _ in range(40):
        _, rewards, terminations, _, infos = env.step(some_legal(infos["action_mask"], rng))
        if terminations.any():
            np.testing.assert_array_equal(infos["episode"]["r"][terminations], rewards[terminations])
            returns += rewards[terminations].tolist()
    assert len(returns) >= 8
    assert any(returns)
