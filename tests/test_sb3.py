"""Stable-Baselines3 on the environments as they stand, and on the natively batched games."""

from __future__ import annotations

import csv
import warnings

import gymnasium
import numpy as np
import pytest

import trick_envs

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")

from relabelling import Relabelling  # noqa: E402
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3.common import env_util  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import load_results  # noqa: E402
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

from training.network import SuitLayers, SuitPolicy, suit_network  # noqa: E402
from trick_envs.errors import InputError  # noqa: E402
from trick_envs.interfaces.sb3 import SeatVecEnv, make_vec_env  # noqa: E402

PEPPER = "trick_envs/Pepper-v0"
GAMES = [
    name for name, spec in gymnasium.registry.items() if name.startswith("trick_envs/") and spec.vector_entry_point
]
SMALL = {"n_steps": 16, "batch_size": 32, "n_epochs": 1, "seed": 1, "device": "cpu"}
SHORT = {"num_deals": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def some_legal(masks, rng):
    return ((rng.random(masks.shape) + 1) * (masks != 0)).argmax(axis=1)


def assert_learns(model, steps):
    before = {name: weight.clone() for name, weight in model.policy.state_dict().items()}
    model.learn(steps)
    assert model.num_timesteps >= steps
    assert any(not torch.equal(before[name], weight) for name, weight in model.policy.state_dict().items())


# --- as they stand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_its_own_make_vec_env_takes_the_games_by_their_names(name):
    """It asks for ``render_mode="rgb_array"`` first."""
    env = env_util.make_vec_env(name, n_envs=2, seed=1)
    assert env.reset().shape == (2, env.observation_space.shape[0])
    env.step(get_action_masks(env).argmax(axis=1))


def test_a_model_takes_the_game_by_its_name():
    assert_learns(sb3_contrib.MaskablePPO("MlpPolicy", PEPPER, **SMALL), 16)


# --- the native games ---------------------------------------------------------------------------------------------


def assert_alike(ours, theirs):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            assert_alike(ours[key], theirs[key])
    else:
        np.testing.assert_array_equal(ours, theirs)
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("keys", [{}, {"mask_key": "mask", "observation_key": "obs"}])
def test_it_does_what_the_vector_of_single_environments_does(name, keys):
    options = {"num_deals": 2, "opponents": "random", **keys}
    ours, theirs = make_vec_env(name, 3, 7, env_kwargs=options), env_util.make_vec_env(name, 3, 7, env_kwargs=options)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    rng, episodes = np.random.default_rng(0), 0
    assert_alike(ours.reset(), theirs.reset())
    for _ in range(70):
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        for one, other in zip(ours.unwrapped.reset_infos, theirs.reset_infos, strict=True):
            assert_alike(one, other)
        actions = some_legal(masks, rng)
        (*arrays, infos), (*expected, expected_infos) = ours.step(actions), theirs.step(actions)
        for one, other in zip(arrays, expected, strict=True):
            assert_alike(one, other)
        for info, expected_info in zip(infos, expected_infos, strict=True):
            result, expected_result = info.pop("episode", {}), expected_info.pop("episode", {})
            assert [result.get(key) for key in "rl"] == [expected_result.get(key) for key in "rl"]
            assert set(result) == set(expected_result)
            episodes += bool(result)
            assert_alike(info, expected_info)
        assert ours.get_attr("seat") == theirs.get_attr("seat")
    assert episodes >= 3


def test_masks_are_found_by_method_attribute_and_index():
    env = make_vec_env(PEPPER, 4, seed=1)
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (4, env.action_space.n)
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[2])[0], masks[2])
    np.testing.assert_array_equal(env.get_attr("action_masks", 3)[0](), masks[3])
    assert env.get_attr("game") == [trick_envs.load_game("pepper")] * 4
    assert not env.has_attr("wheels")


def test_what_the_games_share_cannot_be_set_or_called():
    env = make_vec_env(PEPPER, 2)
    with pytest.raises(AttributeError, match="'seat' cannot be set: make the games with the arguments"):
        env.set_attr("seat", 3)
    with pytest.raises(AttributeError, match="expected 'action_masks', 'history' or 'render', not 'record'"):
        env.env_method("record")


def test_seeds_and_options_hold_for_the_next_reset():
    env = make_vec_env(PEPPER, 3, seed=5)
    first = env.reset()
    assert env.unwrapped.games.states["seed"].tolist() == [5, 6, 7]
    assert (env.reset() != first).any()
    env.seed(5)
    np.testing.assert_array_equal(env.reset(), first)
    env.set_options({"seat": 2})
    env.reset()
    assert env.get_attr("seat") == [2, 2, 2]
    env.set_options([{"seat": 1}, {}, {}])
    with pytest.raises(ValueError, match="the same options for all games"):
        env.reset()


@pytest.mark.parametrize("options", [{"seat": 99}, {"reset_mask": True}, [{"seat": 1}, {"seat": 0}]])
def test_options_that_are_refused_are_dropped_and_the_matches_go_on(options):
    env, other = (make_vec_env(PEPPER, 2, seed=1, env_kwargs=SHORT) for _ in range(2))
    for each in (env, other):
        each.reset()
        each.seed(7)
    env.set_options(options)
    with pytest.raises((ValueError, TypeError), match="option"):
        env.reset()
    seen = [(each.step(np.argmax(each.env_method("action_masks"), axis=1))[0], each.reset()) for each in (env, other)]
    np.testing.assert_array_equal(*seen)


def test_a_reset_in_which_an_opponent_fails_has_stopped_half_way():
    answers = [ValueError("no"), InputError("no")]

    def fails(observations, masks):
        if fails.on:
            raise answers.pop()
        return masks.argmax(axis=1)

    fails.on = False
    env = make_vec_env(PEPPER, 2, seed=1, env_kwargs={**SHORT, "opponents": fails, "seat": 3})
    env.reset()
    fails.on = True
    while answers:
        with pytest.raises(ValueError, match="no"):
            env.reset()
        with pytest.raises(RuntimeError, match="half-way"):
            env.step([0, 0])
        env.set_options({"seat": 99})
        with pytest.raises(ValueError, match="seat"):
            env.reset()
        with pytest.raises(RuntimeError, match="half-way"):
            env.step([0, 0])


def test_games_that_reset_themselves_otherwise_are_refused():
    games = gymnasium.make_vec(PEPPER, 2, "vector_entry_point")
    with pytest.raises(ValueError, match="expected autoreset_mode='SAME_STEP', not 'NEXT_STEP'"):
        SeatVecEnv(games)
    with pytest.raises(ValueError, match="expected autoreset_mode='SAME_STEP', not 'DISABLED'"):
        make_vec_env(PEPPER, 2, env_kwargs={"autoreset_mode": "DISABLED"})


@pytest.mark.parametrize("env_id", ["pepper", "CartPole-v1", None, SeatVecEnv])
def test_only_games_are_made(env_id):
    with pytest.raises(ValueError, match="env_id: expected a game such as 'trick_envs/Pepper-v0', not"):
        make_vec_env(env_id)


def test_results_are_written_for_load_results(tmp_path):
    env, rng = make_vec_env(PEPPER, 4, 1, tmp_path / "logs", env_kwargs=SHORT), np.random.default_rng(0)
    env.reset()
    results = []
    for _ in range(30):
        *_, infos = env.step(some_legal(get_action_masks(env), rng))
        results += [info["episode"] for info in infos if "episode" in info]
    env.close()
    assert len(results) >= 8
    with (tmp_path / "logs" / "monitor.csv").open() as file:
        assert PEPPER in file.readline()
        assert [float(row["r"]) for row in csv.DictReader(file)] == [result["r"] for result in results]
    if pytest.importorskip("pandas"):
        assert len(load_results(str(tmp_path / "logs"))) == len(results)


def test_it_says_what_it_is():
    assert repr(make_vec_env(PEPPER, 4).venv) == "<SeatVecEnv of 4 x pepper for 5 players>"


def test_maskable_ppo_learns_and_is_evaluated_without_an_illegal_action():
    env = make_vec_env(PEPPER, 8, seed=1, env_kwargs={"illegal": "raise", **SHORT})
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, **SMALL)
    assert_learns(model, 256)
    assert len(model.ep_info_buffer) > 8
    with warnings.catch_warnings(action="error"):
        rewards, lengths = evaluate_masked(model, env, n_eval_episodes=16, return_episode_rewards=True)
    assert len(rewards) == 16
    assert min(lengths) > 8


def test_maskable_ppo_learns_from_observations_with_masks():
    env = make_vec_env(PEPPER, 4, seed=1, env_kwargs={"mask_key": "action_mask", "illegal": "raise", **SHORT})
    assert_learns(sb3_contrib.MaskablePPO("MultiInputPolicy", env, **SMALL), 64)


def test_ppo_learns_and_is_evaluated():
    env = make_vec_env(PEPPER, 8, seed=1, env_kwargs={"illegal": "substitute", **SHORT})
    model = sb3.PPO("MlpPolicy", env, **SMALL)
    assert_learns(model, 128)
    with warnings.catch_warnings(action="error"):
        assert len(evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)[0]) == 8


def test_normalising_and_monitoring_wrap_it():
    games = gymnasium.make_vec(PEPPER, 4, "vector_entry_point", autoreset_mode="SAME_STEP", illegal="raise", **SHORT)
    with warnings.catch_warnings(action="error"):
        env = VecNormalize(VecMonitor(SeatVecEnv(games)))
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, **SMALL)
    assert_learns(model, 128)
    assert len(model.ep_info_buffer)
    assert env.obs_rms.count > 100


def test_pictures_are_texts():
    env = make_vec_env(PEPPER, 2, seed=1, env_kwargs={"render_mode": "ansi"})
    env.reset()
    assert ["player_0" in picture for picture in env.env_method("render")] == [True, True]
    assert make_vec_env(PEPPER, 2).render_mode is None


# --- the network shared over suits --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_network_shared_over_suits_learns_in_maskable_ppo_and_treats_suits_alike(wrapped, tmp_path):
    env = make_vec_env(PEPPER, 8, seed=1, env_kwargs={"illegal": "raise", **SHORT})
    env = VecNormalize(env, norm_obs=False, gamma=1) if wrapped else env
    model = sb3_contrib.MaskablePPO(SuitPolicy, env, policy_kwargs=suit_network(env, width=16, depth=2), **SMALL)
    assert model.policy.features_extractor.width == 16
    assert_learns(model, 128)
    game, seen, masks = env.get_attr("game")[0], env.reset(), np.stack(env.env_method("action_masks"))
    relabelling = Relabelling(game, [*range(1, len(game.deck.suits)), 0])
    with torch.no_grad():
        logits, values = model.policy.logits_and_values(torch.from_numpy(seen), masks)
        others, same = model.policy.logits_and_values(
            torch.from_numpy(relabelling.observations(seen)), relabelling.masks(masks)
        )
        by_sb3 = model.policy.predict_values(torch.from_numpy(seen))  # without compiled code
    legal = relabelling.masks(masks) != 0
    np.testing.assert_allclose(relabelling.masks(logits.numpy())[legal], others.numpy()[legal], atol=1e-5)
    np.testing.assert_allclose(values, same, atol=1e-5)
    np.testing.assert_allclose(values, by_sb3, atol=1e-5)
    assert np.ptp(values.numpy()) > 1e-3
    trick_envs.export_policy(model, env, tmp_path / "policy.onnx")
    agent = trick_envs.make_agent(str(tmp_path / "policy.onnx"), game)
    np.testing.assert_array_equal(agent.act(seen, masks), model.predict(seen, None, None, True, masks)[0])


@pytest.mark.parametrize("family", [sb3.PPO, sb3.A2C, sb3.DQN, sb3_contrib.QRDQN])
def test_layers_shared_over_suits_fit_every_discrete_algorithm(family):
    env = make_vec_env(PEPPER, 4, seed=1, env_kwargs={"illegal": "substitute", **SHORT})
    replays = issubclass(family, OffPolicyAlgorithm)
    settings = {"learning_starts": 16, "buffer_size": 200, "batch_size": 16} if replays else {"n_steps": 16}
    model = family("MlpPolicy", env, policy_kwargs=suit_network(env, 16, 2), seed=1, device="cpu", **settings)
    assert_learns(model, 128)
    assert any(isinstance(module, SuitLayers) for module in model.policy.modules())


def test_the_network_shared_over_suits_takes_no_normalised_observations():
    env = VecNormalize(make_vec_env(PEPPER, 4, seed=1, env_kwargs=SHORT))
    model = sb3_contrib.MaskablePPO(SuitPolicy, env, policy_kwargs=suit_network(env), **SMALL)
    with pytest.raises(ValueError, match=r"not normalised ones: VecNormalize\(games, norm_obs=False\)"):
        model.learn(64)


def test_the_network_shared_over_suits_needs_a_game_and_sizes():
    assert suit_network(trick_envs.load_game("pepper"))["features_extractor_kwargs"]["width"] == 64
    others = env_util.make_vec_env("CartPole-v1", 2)
    for wrong in ("pepper", others):
        with pytest.raises(TypeError, match="expected a VecEnv of trick_envs, or load_game"):
            suit_network(wrong)
    with pytest.raises(ValueError, match="depth: expected a whole number of 1 or more, not 0"):
        suit_network(trick_envs.load_game("pepper"), depth=0)


@pytest.mark.parametrize("wrong", [3, "seat", [("seat", 0)]], ids=repr)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(TypeError, match=r"^env_kwargs: expected a dict of the games' arguments, not "):
        make_vec_env(PEPPER, env_kwargs=wrong)
    with pytest.raises(TypeError, match=r"^monitor_dir: expected a path, not "):
        make_vec_env(PEPPER, monitor_dir=[wrong])
