"""``SelfPlayPPO`` as a user of Stable-Baselines3 takes it: arguments, callbacks, logs, files."""

from __future__ import annotations

import csv
import os
import signal
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("sb3_contrib")
from sb3_contrib import QRDQN, MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3 import A2C, PPO
from stable_baselines3.common import callbacks as sb3
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecCheckNan, VecFrameStack, VecMonitor, VecNormalize

from training import DuplicateEval, ExactCheckpoint, SelfPlayPPO, Snapshots, self_play_env, suit_network
from training.callbacks import snapshots
from trick_envs import export_policy, load_game, make_agent
from trick_envs.errors import InputError, InputTypeError, TrickEnvsError
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.evaluation.seeds import Purpose
from trick_envs.interfaces.sb3 import make_vec_env

QUICK: dict[str, Any] = {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "device": "cpu"}
GAMES, ROLLOUT = 16, 16 * 16


def games(num_envs: int = GAMES, seed: int = 0, **given: Any) -> Any:
    return self_play_env("donguri", num_envs, 3, seed, **given)


def make(env: Any = None, policy: str = "SuitPolicy", seed: int | None = 0, **given: Any) -> SelfPlayPPO:
    env = games() if env is None else env
    network = {"policy_kwargs": suit_network(env, 16, 2)} if policy == "SuitPolicy" else {}
    return SelfPlayPPO(policy, env, seed=seed, **{**QUICK, **network, **given})


def bits(model: Any) -> dict[str, bytes]:
    return {name: weights.detach().numpy().tobytes() for name, weights in model.policy.state_dict().items()}


class Journal(KVWriter):
    """A logger's output that keeps what it gets, with the step."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, Any]]] = []

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        self.rows.append((step, dict(key_values)))

    def close(self) -> None:
        """Nothing to close."""

    def of(self, name: str) -> list[Any]:
        return [row[name] for _, row in self.rows if name in row]


# --- as it stands -------------------------------------------------------------------------------------------------


class Mine(sb3.BaseCallback):
    """Reads what SB3's own callbacks find."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def _on_step(self) -> bool:
        names = {"obs_tensor", "action_masks", "actions", "values", "log_probs", "new_obs", "rewards", "dones", "infos"}
        assert names <= set(self.locals)
        actions, masks = self.locals["actions"], self.locals["action_masks"]
        assert masks[np.arange(len(actions)), actions].all()
        assert self.locals["new_obs"].shape == tuple(self.locals["obs_tensor"].shape)
        assert self.locals["total_timesteps"] == 600
        self.seen.append((self.locals["obs_tensor"], self.locals["infos"]))
        return True


@pytest.mark.usefixtures("quick_export")
def test_the_lines_of_the_documentation_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.chdir(tmp_path)
    env, mine = games(), Mine()
    model = SelfPlayPPO(
        "SuitPolicy", env, learning_rate=1e-3, ent_coef=0.02, tensorboard_log="runs", verbose=1, **QUICK
    )
    every = DuplicateEval(["greedy"], every=300, deals=4)
    model.learn(600, callback=[every, sb3.CheckpointCallback(20, "kept"), mine], progress_bar=True)
    model.save("policy.zip")
    export_policy(model, env, "policy.onnx")
    assert model.num_timesteps == 3 * ROLLOUT
    assert [one["samples"] for one in every.evaluations] == [0, 512, 768]
    assert len(mine.seen) == 48
    assert not torch.equal(mine.seen[0][0], mine.seen[1][0])  # observations are copies
    assert {path.name for path in Path("kept").iterdir()} == {"rl_model_320_steps.zip", "rl_model_640_steps.zip"}
    (folder,) = Path("runs").iterdir()
    assert folder.name == "SelfPlayPPO_1"
    assert (folder / "best_model.zip").is_file()
    printed = capsys.readouterr().out
    for told in ("ep_rew_mean", "ep_len_mean", "ent_coef", "clip_range", "margin_over_greedy", "Using cpu device"):
        assert told in printed, told
    game = load_game("donguri", 3)
    assert make_agent("policy.onnx", game).metadata["game"] == "donguri"


def test_without_a_seed_two_models_differ_and_with_one_they_do_not() -> None:
    assert bits(make(seed=None)) != bits(make(seed=None))
    one, other = make(seed=3).learn(600), make(seed=3).learn(600)
    assert bits(one) == bits(other)
    assert bits(one) != bits(make(seed=4).learn(600))


def test_torchs_settings_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    validate = torch.distributions.Distribution._validate_args
    make().learn(300)
    assert torch.get_num_threads() == 2
    assert torch.distributions.Distribution._validate_args == validate
    torch.set_num_threads(before)


@pytest.mark.parametrize("policy", ["SuitPolicy", "MlpPolicy"])
def test_every_argument_of_sb3_counts(policy: str) -> None:
    """Each changes the weights, and none is an error."""
    base = bits(make(policy=policy).learn(600))
    changes: list[dict[str, Any]] = [
        {"learning_rate": 1e-3}, {"learning_rate": LinearSchedule(3e-4, 0.0, 1.0)}, {"n_steps": 20},
        {"batch_size": 128}, {"batch_size": None}, {"n_epochs": 3}, {"gamma": 0.9}, {"gae_lambda": 0.5},
        {"clip_range": 1e-4, "n_epochs": 3}, {"clip_range": lambda left: 0.1 * left, "n_epochs": 4},
        {"clip_range_vf": 1e-3}, {"clip_range_vf": lambda left: 1e-3 * left}, {"normalize_advantage": False},
        {"ent_coef": 0.1}, {"ent_coef": lambda left: 0.1 * left}, {"vf_coef": 2.0}, {"max_grad_norm": 0.01},
        {"target_kl": 1e-9}, {"seed": 5},
    ]  # fmt: skip
    for change in changes:
        assert bits(make(policy=policy, **change).learn(600)) != base, change
    unlogged = make(policy=policy, stats_window_size=3, verbose=0, tensorboard_log=None).learn(600)
    assert bits(unlogged) == base
    assert unlogged.ep_info_buffer.maxlen == len(unlogged.ep_info_buffer) == 3


def test_the_defaults_are_those_of_sb3() -> None:
    ours = SelfPlayPPO("MlpPolicy", games(), device="cpu")
    theirs = MaskablePPO("MlpPolicy", make_vec_env("trick_envs/Pepper-v0"), device="cpu")
    names = (
        "n_steps batch_size n_epochs gamma gae_lambda ent_coef vf_coef max_grad_norm target_kl clip_range_vf "
        "normalize_advantage learning_rate _stats_window_size"
    )
    for name in names.split():
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.clip_range(1.0) == theirs.clip_range(1.0)


class OneReward(VecMonitor):
    """A wrapper that nobody knows."""


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"env": lambda: "trick_envs/Pepper-v0"}, r"env: SelfPlayPPO expects self_play_env"),
        ({"env": lambda: make_vec_env("trick_envs/Pepper-v0")}, r"env: SelfPlayPPO expects self_play_env.*MaskablePPO"),
        ({"env": lambda: VecNormalize(games(), norm_obs=False)}, r"not in a VecNormalize.*reward_scale"),
        ({"env": lambda: VecMonitor(VecCheckNan(games()))}, r"not in a VecCheckNan"),
        ({"env": lambda: OneReward(games())}, r"not in a OneReward"),
        ({"rollout_buffer_class": object}, "rollout_buffer_class: expected None"),
        ({"rollout_buffer_kwargs": {"a": 1}}, "rollout_buffer_kwargs: expected None"),
        ({"device": "foo"}, "device: expected 'cpu', 'auto', or one that torch finds here"),
        ({"device": "cuda:77"}, "device: expected 'cpu', 'auto', or one that torch finds here"),
        ({"device": "meta"}, "device: expected 'cpu'"),
        ({"n_steps": 0}, "n_steps: expected a whole number of 1 or more, not 0"),
        ({"n_epochs": 1.5}, "n_epochs: expected a whole number of 1 or more, not 1.5"),
        ({"batch_size": 1}, "batch_size: expected a whole number of 2 or more, not 1"),
        ({"stats_window_size": 0}, "stats_window_size: expected a whole number of 1 or more, not 0"),
        ({"env": lambda: None}, "env: SelfPlayPPO expects self_play_env"),
        ({"policy": "CnnPolicy"}, "policy: expected one of MlpPolicy, SuitPolicy, or a subclass of MaskableActor"),
        ({"policy": torch.nn.Linear}, "policy: expected one of MlpPolicy, SuitPolicy"),
        ({"policy": None}, "policy: expected one of MlpPolicy, SuitPolicy"),
        ({"ent_coef": "auto"}, "ent_coef: expected a number of any size, or a schedule, not 'auto'"),
        ({"learning_rate": float("nan")}, "learning_rate: expected a number of 0 or more, or a schedule, not nan"),
        ({"clip_range": -1}, "clip_range: expected a number of 0 or more, or a schedule, not -1"),
        ({"gamma": 2}, "gamma: expected a number of 0 to 1, not 2"),
        ({"gae_lambda": "x"}, "gae_lambda: expected a number of 0 to 1, not 'x'"),
        ({"vf_coef": "x"}, "vf_coef: expected a number of 0 or more, not 'x'"),
        ({"max_grad_norm": None}, "max_grad_norm: expected a number of 0 or more, not None"),
        ({"target_kl": True}, "target_kl: expected a number of 0 or more, or None, not True"),
        *(
            ({"policy": "SuitPolicy", "policy_kwargs": given}, f"SuitPolicy: {next(iter(given))} does not fit it")
            for given in (
                {"activation_fn": torch.nn.ReLU}, {"share_features_extractor": False}, {"width": 96}, {"use_sde": True}
            )
        ),
        ({"policy": "SuitPolicy", "policy_kwargs": {"net_arch": [64]}}, "SuitPolicy: expected.*without"),
        ({"policy": "SuitPolicy", "policy_kwargs": {"features_extractor_kwargs": {"width": 9}}}, "SuitPolicy: exp"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_in_the_constructor(wrong: dict[str, Any], expected: str) -> None:
    env = wrong.pop("env", games)()
    with pytest.raises(ValueError, match=expected):
        SelfPlayPPO(wrong.pop("policy", "MlpPolicy"), env, **{**QUICK, **wrong})


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_a_gpu_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"device: expected 'cpu', 'auto', or one that torch finds here.*not 'cuda'"):
        make(device="cuda")
    make().save(tmp_path / "policy.zip")
    with pytest.raises(ValueError, match="not 'cuda'"):
        SelfPlayPPO.load(tmp_path / "policy.zip", games(), device="cuda")


@pytest.mark.parametrize("wrong", [{"reward_scale": 0}, {"reward": "money"}, {"opponent": "gredy"}, {"seed": -1}])
def test_games_say_what_is_wrong_with_their_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected|0 to"):
        self_play_env("donguri", **{"num_envs": 2, **wrong})


@pytest.mark.parametrize("family", [MaskablePPO, PPO, A2C, QRDQN])
def test_other_algorithms_are_told_of_self_play_ppo(family: Any) -> None:
    model = family(
        "MlpPolicy", games(4), device="cpu", **({"learning_starts": 0} if family is QRDQN else {"n_steps": 8})
    )
    with pytest.raises(ValueError, match="self-play games are for SelfPlayPPO"):
        model.learn(64)
    with pytest.raises(ValueError, match="self-play games are for SelfPlayPPO"):
        evaluate_policy(make(), games(2), n_eval_episodes=1, warn=False)


def test_masks_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match="use_masking: expected True"):
        make().learn(64, use_masking=False)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("threads", 0, "threads: expected a whole number of 1 to 1,024, not 0"),
        ("threads", "x", "threads: expected a whole number of 1 to 1,024, not 'x'"),
        ("update_fraction", 0, "update_fraction: expected a number above 0, 1 at most, not 0"),
        ("update_fraction", float("nan"), "update_fraction: expected a number above 0, 1 at most, not nan"),
        ("update_fraction", 2, "update_fraction: expected a number above 0, 1 at most, not 2"),
    ],
)
def test_settings_that_there_are_not_are_told_before_anything_is_learned(name: str, value: Any, told: str) -> None:
    model = make()
    setattr(model, name, value)
    with pytest.raises(InputError, match=f"^{told}"):
        model.learn(64)
    assert model.num_timesteps == 0


def test_a_model_without_games_cannot_learn(tmp_path: Path) -> None:
    make().save(tmp_path / "policy.zip")
    with pytest.raises(ValueError, match="no games to learn in: load"):
        SelfPlayPPO.load(tmp_path / "policy.zip").learn(64)


# --- callbacks ----------------------------------------------------------------------------------------------------


def evaluated(tmp_path: Path, **given: Any) -> MaskableEvalCallback:
    env = make_vec_env("trick_envs/Donguri-v0", 2, 1, env_kwargs={"num_players": 3, "num_deals": 1, "illegal": "raise"})
    return MaskableEvalCallback(env, n_eval_episodes=2, eval_freq=20, verbose=0, log_path=str(tmp_path), **given)


CALLBACKS = {
    "checkpoint": (lambda path: sb3.CheckpointCallback(20, str(path), save_vecnormalize=True), 1024),
    "evaluation": (lambda path: evaluated(path, best_model_save_path=str(path)), 1024),
    "threshold": (
        lambda path: evaluated(path, callback_on_new_best=sb3.StopTrainingOnRewardThreshold(-1000)),
        20 * GAMES,
    ),
    "no improvement": (
        lambda path: evaluated(path, callback_after_eval=sb3.StopTrainingOnNoModelImprovement(0)), 40 * GAMES
    ),
    "episodes": (lambda path: sb3.StopTrainingOnMaxEpisodes(1), None),
    "every": (lambda path: sb3.EveryNTimesteps(200, sb3.CheckpointCallback(1, str(path))), 1024),
    "log": (lambda path: sb3.LogEveryNTimesteps(100), 1024),
    "bar": (lambda path: sb3.ProgressBarCallback(), 1024),
    "function": (lambda path: lambda found, _: found["self"].num_timesteps < 100, 112),
    "list": (lambda path: sb3.CallbackList([Snapshots(path), sb3.CheckpointCallback(1000, str(path))]), 1024),
}  # fmt: skip


@pytest.mark.parametrize(("callback", "ends"), CALLBACKS.values(), ids=CALLBACKS.keys())
@pytest.mark.filterwarnings("ignore:Training and eval env are not of the same type")
def test_the_callbacks_of_sb3_work(callback: Any, ends: int | None, tmp_path: Path) -> None:
    if callback is CALLBACKS["bar"][0]:
        pytest.importorskip("tqdm")
    model = make().learn(1000, callback=callback(tmp_path))
    if ends is None:  # about one match of about 36 decisions in every game
        assert 400 < model.num_timesteps < 700
    elif callback is CALLBACKS["no improvement"][0]:
        assert 40 * GAMES <= model.num_timesteps <= 1024
    else:
        assert model.num_timesteps == ends
    names = {path.name for path in tmp_path.iterdir()}
    if callback is CALLBACKS["evaluation"][0]:
        assert {"evaluations.npz", "best_model.zip"} <= names
    if callback is CALLBACKS["every"][0]:
        assert len(names) == 1024 // 208
    if callback is CALLBACKS["list"][0]:
        assert names == {"256.zip", "512.zip", "768.zip"}


def test_an_evaluation_without_masks_is_refused() -> None:
    env = make_vec_env("trick_envs/Donguri-v0", 1, env_kwargs={"num_players": 3})
    for callback in (sb3.EvalCallback(env), [sb3.EveryNTimesteps(9, sb3.EvalCallback(env))]):
        with pytest.raises(ValueError, match="EvalCallback asks the policy without action masks"):
            make().learn(64, callback=callback)


def test_an_evaluation_on_self_play_games_is_refused() -> None:
    with pytest.raises(ValueError, match="MaskableEvalCallback: expected an environment with opponents"):
        make().learn(64, callback=[sb3.EveryNTimesteps(9, MaskableEvalCallback(games(2)))])


class Averages(sb3.BaseCallback):
    """Logs what a rollout has, as callbacks for Weights & Biases do."""

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        buffer = self.locals["rollout_buffer"]
        assert buffer is self.model.rollout_buffer
        for name in ("actions", "log_probs", "rewards", "values", "advantages", "returns"):
            assert getattr(buffer, name).shape == (len(buffer.ready),), name
        assert buffer.observations.shape == (len(buffer.ready), *self.model.observation_space.shape)
        assert buffer.action_masks[np.arange(len(buffer.ready)), buffer.actions].all()
        np.testing.assert_allclose(buffer.returns, buffer.values + buffer.advantages)
        self.logger.record("mine/advantage", float(buffer.advantages.mean()))
        self.logger.record("mine/entropy", float(-buffer.log_probs.mean()))


def test_callbacks_read_the_samples_of_a_rollout() -> None:
    journal, model = Journal(), make()
    model.set_logger(Logger(None, [journal]))
    model.learn(3 * ROLLOUT, callback=Averages())
    assert len(journal.of("mine/advantage")) == 3
    assert 0.5 < journal.of("mine/entropy")[0] < 3
    whole = model.rollout_buffer  # the samples that get gives, in another order
    (given,) = whole.get()
    assert sorted(given.returns.tolist()) == sorted(whole.returns.tolist())
    assert given.actions.bincount().tolist() == np.bincount(whole.actions).tolist()


def test_matches_are_monitored(tmp_path: Path) -> None:
    env = VecMonitor(games(reward="score"), str(tmp_path / "monitor.csv"))
    model = make(env).learn(2000)
    env.close()
    with (tmp_path / "monitor.csv").open() as file:
        file.readline()
        assert len(list(csv.DictReader(file))) > 30
    assert len(model.ep_info_buffer) > 30
    plain = make(games(reward="score")).learn(2000)
    assert bits(plain) == bits(model)


def test_episodes_are_logged_as_the_mean_over_seats() -> None:
    journal = Journal()
    model = make(games(reward="score", reward_scale=0.01))
    model.set_logger(Logger(None, [journal]))
    model.learn(3000)
    last = [info["r"] for info in model.ep_info_buffer]
    assert journal.of("rollout/ep_rew_mean")[-1] == pytest.approx(np.mean(last))
    assert abs(np.mean(last)) > 0.1
    assert 20 < journal.of("rollout/ep_len_mean")[-1] < 60


@pytest.mark.parametrize("policy", ["SuitPolicy", "MlpPolicy"])
def test_steps_in_the_log_never_go_back_and_coefficients_are_those_of_now(policy: str) -> None:
    journal = Journal()
    model = make(policy=policy, ent_coef=lambda left: 0.1 * left, clip_range=lambda left: 0.2 * left)
    model.set_logger(Logger(None, [journal]))
    model.learn(4 * ROLLOUT, callback=DuplicateEval(["random"], ROLLOUT, 2))
    model.learn(2 * ROLLOUT, callback=DuplicateEval(["random"], ROLLOUT, 2), reset_num_timesteps=False)
    steps = [step for step, _ in journal.rows]
    assert steps == sorted(steps)
    assert steps[-1] == 6 * ROLLOUT
    expected = [1 - 1 / 4, 1 - 2 / 4, 1 - 3 / 4, 0, 1 - 5 / 6, 0]
    assert journal.of("train/ent_coef") == pytest.approx([0.1 * left for left in expected])
    assert journal.of("train/clip_range") == pytest.approx([0.2 * left for left in expected])


def test_tensorboard_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = make(tensorboard_log=str(tmp_path))
    model.learn(2 * ROLLOUT)
    time.sleep(1.1)  # files are read in the order of their names, which tell the second
    model.learn(2 * ROLLOUT, reset_num_timesteps=False)
    (folder,) = tmp_path.iterdir()
    found = EventAccumulator(str(folder))
    found.Reload()
    steps = [event.step for event in found.Scalars("time/fps")]
    assert steps == [ROLLOUT, 2 * ROLLOUT, 3 * ROLLOUT, 4 * ROLLOUT]


def test_duplicate_evaluations_have_deals_of_their_own_and_keep_the_best_model(tmp_path: Path) -> None:
    callback = DuplicateEval(["random", make_agent("greedy", load_game("donguri", 3))], 500, 6, 9, tmp_path)
    model = make().learn(1500, callback=callback)
    assert [one["samples"] for one in callback.evaluations] == [0, 512, 1024, 1536]
    assert [one["opponent"] for one in callback.evaluations[-1]["results"]] == ["random", "greedy"]
    assert callback.evaluations[-1]["figures"]["train/value_loss"] > 0
    means = [np.mean([one["margin"] for one in each["results"]]) for each in callback.evaluations]
    assert callback.best_margin == max(means)
    from training.network import NetworkAgent

    game, best = load_game("donguri", 3, 1), SelfPlayPPO.load(tmp_path / "best_model.zip", device="cpu")
    at = callback.evaluations[int(np.argmax(means))]
    found = evaluate(game, NetworkAgent(best.policy), make_agent("random", game), 6, 9, Purpose.MONITORING)
    assert found.margin == at["results"][0]["margin"]
    assert best.num_timesteps == at["samples"]
    for wrong, expected in (("greedy", "a list of players"), ([], "a list of players")):
        with pytest.raises(ValueError, match=expected):
            DuplicateEval(wrong, 100)
    for settings in ({"every": 0}, {"every": 1.5}, {"every": 10, "deals": 0}):
        with pytest.raises(ValueError, match=r"(every|deals): expected"):
            DuplicateEval(["greedy"], **settings)
    assert model.num_timesteps == 1536


def fixed(**given: Any) -> VecMonitor:
    return make_vec_env("trick_envs/Donguri-v0", 4, 1, env_kwargs={"num_players": 3, "num_deals": 1, **given})


@pytest.mark.parametrize(
    ("algorithm", "policy", "env"),
    [
        (PPO, "MlpPolicy", fixed),
        (PPO, "MlpPolicy", lambda: "CartPole-v1"),
        (MaskablePPO, "MlpPolicy", lambda: VecNormalize(fixed())),
        (MaskablePPO, "MlpPolicy", lambda: VecFrameStack(fixed(), 2)),
        (MaskablePPO, "MlpPolicy", lambda: fixed(observation="history")),
        (MaskablePPO, "MultiInputPolicy", lambda: fixed(mask_key="mask")),
    ],
)
def test_a_policy_that_sees_something_else_than_players_do_is_not_measured(
    algorithm: Any, policy: str, env: Any
) -> None:
    model = algorithm(policy, env(), n_steps=8, batch_size=16)
    with pytest.raises(InputError, match="DuplicateEval: expected SelfPlayPPO or MaskablePPO on the position"):
        model.learn(32, callback=DuplicateEval(["random"], 100, 2))


def test_maskable_ppo_is_measured_with_rewards_normalised_alone_and_has_no_exact_checkpoints(tmp_path: Path) -> None:
    model = MaskablePPO("MlpPolicy", VecNormalize(fixed(), norm_obs=False), n_steps=8, batch_size=16)
    callback = DuplicateEval(["random"], 32, 2)
    model.learn(32, callback=callback)
    assert [one["samples"] for one in callback.evaluations] == [0, 32]
    with pytest.raises(InputError, match="ExactCheckpoint: expected SelfPlayPPO, not MaskablePPO"):
        model.learn(32, callback=ExactCheckpoint(tmp_path / "checkpoint.zip", 16))


@pytest.mark.parametrize("wrong", [3, None, b"greedy", "greedy", np.array([1, 2]), [2.0, "x"], ...], ids=repr)
def test_callbacks_say_what_they_want_before_training_begins(wrong: Any, tmp_path: Path) -> None:
    """Snapshots of "x" were a TypeError in the middle of training, those of 25 were never made."""
    if not isinstance(wrong, list):
        with pytest.raises(InputError, match=r"^opponents: expected a list of players, such as \['greedy'\], not "):
            DuplicateEval(wrong, 100)
    with pytest.raises(TrickEnvsError, match=r"^parts: expected numbers of 0 to 1, not "):
        Snapshots(tmp_path, wrong)
    with pytest.raises(InputTypeError, match=r"^callbacks: expected a list of DuplicateEval, not "):
        ExactCheckpoint(tmp_path / "exact.zip", 100, wrong)


@pytest.mark.parametrize("wrong", [3, b"runs", ["runs"]], ids=repr)
def test_callbacks_want_a_path(wrong: Any) -> None:
    for make, name in (
        (lambda: ExactCheckpoint(wrong, 100), "path"),
        (lambda: ExactCheckpoint.load(wrong, games()), "path"),
        (lambda: Snapshots(wrong), "folder"),
        (lambda: DuplicateEval(["greedy"], 100, best_model_save_path=wrong), "best_model_save_path"),
    ):
        with pytest.raises(InputTypeError, match=rf"^{name}: expected a path, not "):
            make()


# --- files --------------------------------------------------------------------------------------------------------


def test_a_policy_goes_on_in_every_algorithm_that_may_take_it(tmp_path: Path) -> None:
    model = make(learning_rate=LinearSchedule(1e-3, 0.0, 1.0), ent_coef=lambda left: 0.1 * left)
    model.learn(600)
    model.save(tmp_path / "policy.zip")
    seats = make_vec_env("trick_envs/Donguri-v0", 4, 1, env_kwargs={"num_players": 3, "illegal": "raise"})
    with warnings.catch_warnings(action="error"):
        theirs = MaskablePPO.load(tmp_path / "policy.zip", env=seats, device="cpu")
    assert bits(theirs) == bits(model)
    assert theirs.ent_coef == model.ent_coef
    theirs.learn(200)
    assert bits(theirs) != bits(model)
    theirs.save(tmp_path / "theirs.zip")
    for name, envs in (("policy.zip", 16), ("policy.zip", 5), ("theirs.zip", 7)):
        ours = SelfPlayPPO.load(tmp_path / name, games(envs, seed=3), device="cpu")
        before = bits(ours)
        ours.learn(300, reset_num_timesteps=False)
        assert bits(ours) != before
        assert len(ours.ep_info_buffer) > 0
    again = SelfPlayPPO.load(tmp_path / "policy.zip", games(), device="cpu")
    again._current_progress_remaining = 0.25
    again._setup_learn(100)
    again.learn(100)
    assert again.ent_coef_schedule(0.25) == pytest.approx(0.025)
    assert SelfPlayPPO.load(tmp_path / "policy.zip", games(), device="cpu", ent_coef=0.3).ent_coef_schedule is None
    with pytest.raises(ValueError, match="env: SelfPlayPPO expects self_play_env"):
        SelfPlayPPO.load(tmp_path / "policy.zip", seats)
    actions, _ = SelfPlayPPO.load(tmp_path / "policy.zip").predict(
        np.zeros((2, *model.observation_space.shape), np.float32), action_masks=np.ones((2, model.action_space.n))
    )
    assert actions.shape == (2,)


def test_a_misspelt_argument_of_load_is_told(tmp_path: Path) -> None:
    """SB3 would make an attribute of it, and learn with the rate in the file."""
    make().save(tmp_path / "policy.zip")
    with pytest.raises(TypeError, match=r"SelfPlayPPO.load\(\) got .* 'lerning_rate' \(did you mean 'learning_rate'"):
        SelfPlayPPO.load(tmp_path / "policy.zip", games(), lerning_rate=3)
    for wrong in ({"learning_rate": -1}, {"n_steps": 0}, {"rollout_buffer_kwargs": {}}, {"batch_size": 1}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            SelfPlayPPO.load(tmp_path / "policy.zip", games(), **wrong)
    assert SelfPlayPPO.load(tmp_path / "policy.zip", batch_size=1, normalize_advantage=False).batch_size == 1
    given = {"learning_rate": 2e-3, "n_steps": 7, "batch_size": None, "custom_objects": None, "force_reset": True}
    model = SelfPlayPPO.load(tmp_path / "policy.zip", games(), **given)
    assert (model.lr_schedule(0.5), model.rollout_buffer.buffer_size) == (2e-3, 7)

    class Mine(SelfPlayPPO):
        def __init__(self, *args: Any, colour: str = "red", **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.colour = colour

    assert Mine.load(tmp_path / "policy.zip", colour="blue", gamma=0.5).colour == "blue"


def test_other_games_are_learned_after_set_env() -> None:
    model = make().learn(600)
    before = bits(model)
    model.set_env(games(seed=8))
    model.learn(600, reset_num_timesteps=False)
    assert bits(model) != before
    with pytest.raises(ValueError, match="env: SelfPlayPPO expects"):
        model.set_env(make_vec_env("trick_envs/Pepper-v0", GAMES))


@pytest.mark.parametrize("other", [("pepper", 3), ("donguri", 4)])
def test_games_that_a_model_has_not_learned_are_told_in_a_sentence(other: tuple[str, int], tmp_path: Path) -> None:
    make().save(tmp_path / "policy.zip")
    env = self_play_env(other[0], GAMES, other[1])
    for attempt in (lambda: make().set_env(env), lambda: SelfPlayPPO.load(tmp_path / "policy.zip", env)):
        with pytest.raises(ValueError, match="env: expected the game and the number of players") as told:
            attempt()
        assert len(str(told.value)) < 100


@pytest.mark.parametrize("policy", ["SuitPolicy", "MlpPolicy"])
@pytest.mark.parametrize("opponent", [None, "random"])
def test_training_that_goes_on_from_an_exact_checkpoint_ends_with_the_same_bits(
    policy: str, opponent: str | None, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"learning_rate": LinearSchedule(1e-3, 0.0, 1.0), "ent_coef": lambda left: 0.1 * left}

    def env(seed: int = 0) -> Any:
        return games(seed=seed, opponent=opponent)

    def callbacks(every: int) -> tuple[DuplicateEval, ExactCheckpoint]:
        measured = DuplicateEval(["greedy"], 300, 3)
        return measured, ExactCheckpoint(tmp_path / f"{every}.zip", every, [measured])

    whole, (measured, saved) = make(env(), policy, **settings), callbacks(10_000)
    whole.learn(8 * ROLLOUT, callback=[measured, saved])

    class Stop(sb3.BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 5 * ROLLOUT + 100

    stopped, (first, saved) = make(env(), policy, **settings), callbacks(3 * ROLLOUT)
    stopped.learn(8 * ROLLOUT, callback=[first, saved, Stop()])
    torch.manual_seed(99), np.random.seed(99)  # noqa: NPY002
    second, _ = callbacks(3 * ROLLOUT)
    resumed = ExactCheckpoint.load(tmp_path / f"{3 * ROLLOUT}.zip", env(5), [second], "cpu")
    assert resumed.num_timesteps == 3 * ROLLOUT
    resumed.learn(5 * ROLLOUT, callback=[second], reset_num_timesteps=False)
    assert bits(resumed) == bits(whole)
    for one, other in zip(
        whole.policy.optimizer.state_dict()["state"].values(), resumed.policy.optimizer.state_dict()["state"].values(),
        strict=True,
    ):  # fmt: skip
        assert all(torch.equal(one[key], other[key]) for key in one)
    assert [one["results"] for one in measured.evaluations] == [one["results"] for one in second.evaluations]
    assert [info["r"] for info in whole.ep_info_buffer] == [info["r"] for info in resumed.ep_info_buffer]
    assert whole.games.games.states.tobytes() == resumed.games.games.states.tobytes()


def test_what_is_no_exact_checkpoint_is_told(tmp_path: Path) -> None:
    model = make()
    model.save(tmp_path / "policy.zip")
    (tmp_path / "junk.zip").write_bytes(b"junk")
    for name in ("policy.zip", "junk.zip"):
        with pytest.raises(ValueError, match=f"{name}: expected a checkpoint of ExactCheckpoint"):
            ExactCheckpoint.load(tmp_path / name, games())
    checkpoint = ExactCheckpoint(tmp_path / "exact.zip", 100)
    model.learn(300, callback=checkpoint)
    with pytest.raises(ValueError, match="the checkpoint is of other games"):
        ExactCheckpoint.load(tmp_path / "exact.zip", games(4))
    model.between_updates = False
    with pytest.raises(RuntimeError, match="between two updates"):
        checkpoint.save()
    assert bits(MaskablePPO.load(tmp_path / "exact.zip", device="cpu")) == bits(model)


def test_a_damaged_checkpoint_is_told_wherever_it_is_damaged(tmp_path: Path) -> None:
    make().learn(300, callback=ExactCheckpoint(tmp_path / "exact.zip", 100))
    whole, env, damaged = (tmp_path / "exact.zip").read_bytes(), games(), tmp_path / "damaged.zip"
    rng = np.random.default_rng(0)
    for attempt in range(60):
        at = int(rng.integers(len(whole) - 64))
        other = b"" if attempt % 2 else bytes(255 - byte for byte in whole[at : at + 64]) + whole[at + 64 :]
        damaged.write_bytes(whole[:at] + other)  # its end is missing, or a part is another
        with pytest.raises(ValueError, match=r"damaged.zip: expected a checkpoint of ExactCheckpoint.*damaged$"):
            ExactCheckpoint.load(damaged, env)


@pytest.mark.parametrize("content", [b"", b"PK", b"[]"])
def test_a_checkpoint_whose_parts_are_of_something_else_is_told(content: bytes, tmp_path: Path) -> None:
    make().learn(300, callback=ExactCheckpoint(tmp_path / "exact.zip", 100))
    with zipfile.ZipFile(tmp_path / "exact.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for changed in ("data", "policy.pth", "policy.optimizer.pth", "standing.npz"):
        with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, content if name == changed else part)
        with pytest.raises(ValueError, match=r"other.zip: expected a checkpoint of ExactCheckpoint; .*damaged") as told:
            ExactCheckpoint.load(tmp_path / "other.zip", games())
        assert "\n" not in str(told.value)  # torch tells a page


@pytest.mark.skipif(os.name != "posix", reason="has no pipes in folders")
def test_a_pipe_among_the_snapshots_is_none(tmp_path: Path) -> None:
    (tmp_path / "768.zip").touch()
    os.mkfifo(tmp_path / "1536.zip")  # who opened it would wait for ever
    assert snapshots(tmp_path) == [768]


def test_ctrl_c_leaves_no_bar_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    bars: list[Any] = []
    original = sb3.ProgressBarCallback._on_training_start

    def started(self: Any) -> None:
        original(self)
        bars.append(self.pbar)

    monkeypatch.setattr(sb3.ProgressBarCallback, "_on_training_start", started)

    class Interrupt(sb3.BaseCallback):
        def _on_step(self) -> bool:
            os.kill(os.getpid(), signal.SIGINT)
            return True

    with pytest.raises(KeyboardInterrupt):
        make().learn(600, callback=Interrupt(), progress_bar=True)
    assert bars[0].disable  # closed
    assert not bars[0]._prog.live.is_started


def test_numbers_may_be_numpys() -> None:
    one = np.int64(1)
    DuplicateEval(["greedy"], every=one, deals=one)
    kwargs = suit_network(load_game("pepper"), width=one, depth=one)["features_extractor_kwargs"]
    assert [type(kwargs[name]) for name in ("width", "depth")] == [int, int]
