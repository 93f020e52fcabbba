"""Policies of other frameworks, exported to files that play."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from trick_envs import BatchEnv, donguri_v0, load_game, make_agent, pepper_v0
from trick_envs.agents.policy import ILLEGAL_LOGIT
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.matches.loop import play_match

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
nn = torch.nn

from trick_envs import export_policy  # noqa: E402
from trick_envs.agents.export import _game, _observation  # noqa: E402

GAME = load_game("donguri", 3)
SIZE, ACTIONS = GAME.layout.size, GAME.num_actions
ID = "trick_envs/Donguri-v0"
SMALL = {"policy_kwargs": {"net_arch": [16]}, "seed": 1, "device": "cpu"}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Masked(nn.Module):
    """A module as CleanRL writes one: it masks by itself, and has a value."""

    def __init__(self, size: int = SIZE, actions: int = ACTIONS) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 16), nn.Tanh(), nn.Dropout(0.5))
        self.actor, self.critic = nn.Linear(16, actions), nn.Linear(16, 1)

    def forward(self, observation: Any, action_mask: Any) -> tuple[Any, Any]:
        hidden = self.body(observation)
        return self.actor(hidden).masked_fill(action_mask == 0, -torch.inf), self.critic(hidden)


def positions(game: Any = GAME) -> tuple[Any, Any]:
    """Observations and masks in the course of random matches."""
    games, rng, found = BatchEnv(game.name, 8, game.num_players), np.random.default_rng(0), []
    games.reset(seed=3)
    for _ in range(20):
        found.append((games.observations.astype(np.float32), games.action_masks.astype(np.float32)))
        games.step((rng.random(games.action_masks.shape) * games.action_masks).argmax(1))
    observations, masks = map(np.concatenate, zip(*found, strict=True))
    return observations, masks


def exported(module: Any, game: Any, path: Path) -> Any:
    export_policy(module, game, path)
    return make_agent(str(path), GAME)


def assert_same(agent: Any, logits: Any, values: Any = None) -> None:
    """In ``positions()`` the file has these values, and these logits up to a constant; its actions are legal."""
    observations, masks = positions()
    found, found_values = agent.evaluate(observations, masks)
    one, other = (np.where(masks, each, 0) for each in (found, logits.numpy(force=True)))
    constant = (one - other).sum(1, keepdims=True) / masks.sum(1, keepdims=True)
    np.testing.assert_allclose(one, (other + constant) * masks, rtol=0, atol=1e-4)
    assert (found[masks == 0] == np.float32(ILLEGAL_LOGIT)).all()
    expected = np.zeros(len(masks)) if values is None else values.numpy(force=True).reshape(-1)
    np.testing.assert_allclose(found_values, expected, rtol=0, atol=1e-4)
    assert masks[np.arange(len(masks)), agent.act(observations, masks)].all()


# --- modules ------------------------------------------------------------------------------------------------------


def test_a_module_is_written_as_it_plays_and_comes_back_as_it_was(tmp_path):
    module = Masked().train()
    module.critic.eval()
    agent = exported(module, GAME, tmp_path / "policy.onnx")
    assert module.training
    assert module.body[2].training
    assert not module.critic.training
    observations, masks = map(torch.from_numpy, positions())
    assert_same(agent, *module.eval()(observations, masks))


class Bare(Masked):
    """Without a value."""

    def forward(self, observation: Any, action_mask: Any) -> Any:
        return super().forward(observation, action_mask)[0]


def test_the_value_of_a_module_without_one_is_zero_also_where_its_logits_are_infinite(tmp_path):
    module = Bare()
    agent = exported(module, GAME, tmp_path / "policy.onnx")
    assert_same(agent, module.eval()(*map(torch.from_numpy, positions())))


def test_a_module_that_knows_no_mask_is_masked_in_the_file(tmp_path):
    module = nn.Sequential(nn.Linear(SIZE, 16), nn.ReLU(), nn.Linear(16, ACTIONS))
    assert_same(exported(module, GAME, tmp_path / "policy.onnx"), module(torch.from_numpy(positions()[0])))


@pytest.mark.parametrize(
    "game",
    [
        lambda: gymnasium.make(ID, num_players=3),
        lambda: gymnasium.make_vec(ID, 2, "vector_entry_point", num_players=3),
        lambda: donguri_v0.env(num_players=3),
        lambda: BatchEnv("donguri", 2, 3),
        lambda: pytest.importorskip("trick_envs.interfaces.sb3").make_vec_env(ID, 2, env_kwargs={"num_players": 3}),
        lambda: load_game("donguri", 3),
        lambda: "donguri",
    ],
    ids=["Gymnasium", "vector", "PettingZoo", "BatchEnv", "VecEnv", "Game", "name"],
)
def test_the_game_is_found_in_every_environment(game):
    found = _game(game())
    assert found is (load_game("donguri") if game() == "donguri" else load_game("donguri", 3))


@pytest.mark.parametrize(
    "env",
    [
        lambda **kind: gymnasium.make(ID, num_players=3, **kind),
        lambda **kind: gymnasium.make_vec(ID, 2, "vector_entry_point", num_players=3, **kind),
        lambda **kind: donguri_v0.env(num_players=3, **kind),
        lambda **kind: BatchEnv("donguri", 2, 3, **kind),
        lambda **kind: pytest.importorskip("trick_envs.interfaces.sb3").make_vec_env(
            ID, 2, env_kwargs={"num_players": 3, **kind}
        ),
    ],
    ids=["Gymnasium", "vector", "PettingZoo", "BatchEnv", "VecEnv"],
)
def test_a_policy_sees_what_its_environment_shows(env):
    assert _observation(env(), GAME) == "position"
    assert _observation(env(observation="history"), GAME) == "history"


class Lead(nn.Module):
    """Prefers cards that have been led in the deal, by whomever; next those that others have played."""

    def forward(self, observation: Any) -> Any:
        played, led = observation[:, SIZE:].unflatten(1, (2, -1, ACTIONS)).unbind(1)
        suits = torch.arange(ACTIONS) // 12
        return (led.sum(1) @ (suits[:, None] == suits).float()) + 0.1 * played.sum(1)


def test_a_policy_of_history_plays_wherever_the_order_is_known(tmp_path):
    path = str(tmp_path / "policy.onnx")
    export_policy(Lead(), BatchEnv("donguri", 1, 3, observation="history"), path)
    agent, greedy = make_agent(path, GAME), make_agent("greedy", GAME)
    assert agent.observation == "history"
    record = play_match("donguri", {0: agent, 1: greedy, 2: greedy}, seed=1, num_players=3, num_deals=2)
    kinds = {"num_players": 3, "num_deals": 2, "opponents": ["greedy", "greedy"]}
    env = gymnasium.make(ID, seat=0, observation="history", **kinds)
    seen, info = env.reset(seed=1)
    over = False
    while not over:  # the learner is the same policy
        action = int(agent.act(seen[None], info["action_mask"][None])[0])
        seen, _, over, _, info = env.step(action)
    assert env.unwrapped.record()["deals"] == record["deals"]
    searching = make_agent(f"{path}+ismcts:20", GAME)
    assert evaluate(GAME, searching, greedy, 20).margin > evaluate(GAME, agent, greedy, 20).margin
    with pytest.raises(
        ValueError, match=r"sees the history, .* not .*: make the environment with observation='history'"
    ):
        gymnasium.make(ID, seat=1, opponents=path, num_players=3).reset(seed=1)
    with pytest.raises(
        ValueError, match=r"sampled worlds do not have: '.rollout' needs a policy that sees the position"
    ):
        make_agent(f"{path}+rollout:4", GAME)


def test_opponents_of_history_play_the_same_in_all_environments_that_show_it(tmp_path):
    path = str(tmp_path / "policy.onnx")
    export_policy(Lead(), BatchEnv("donguri", 1, 3, observation="history"), path)
    kind = {"num_players": 3, "num_deals": 2, "seat": 1, "opponents": path, "observation": "history"}
    env, envs = gymnasium.make(ID, **kind), gymnasium.make_vec(ID, 2, "vector_entry_point", **kind)
    (seen, info), (many, infos) = env.reset(seed=4), envs.reset(seed=[9, 4])
    over = False
    while not over:
        assert (seen == many[1]).all()
        mask, masks = info["action_mask"], infos["action_mask"]
        assert (mask == masks[1]).all()
        seen, _, over, _, info = env.step(int(mask.argmax()))
        many, _, _, _, infos = envs.step(masks.argmax(1))
    learner = SimpleNamespace(act=lambda seen, masks, states: np.asarray(masks).argmax(1))
    agent = make_agent(path, GAME)
    record = play_match("donguri", {0: agent, 1: learner, 2: agent}, seed=4, num_players=3, num_deals=2)
    assert env.unwrapped.record()["deals"] == record["deals"]


def test_the_file_plays_as_opponent_and_in_the_arena(tmp_path):
    path = str(tmp_path / "policy.onnx")
    export_policy(Masked(), GAME, path, {"steps": 7})
    assert make_agent(path, GAME).metadata["run"] == {"steps": 7}
    env = gymnasium.make(ID, num_players=3, num_deals=1, opponents=path, illegal="raise")
    _, info = env.reset(seed=1)
    over = False
    while not over:
        *_, over, _, info = env.step(int(info["action_mask"].argmax()))
    code = [
        "-m",
        "trick_envs.cli",
        "evaluate",
        "--game",
        "donguri",
        "--num-players",
        "3",
        path,
        "random",
        "--deals",
        "6",
    ]
    done = subprocess.run(
        [sys.executable, *code, "--folder", str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "random" in done.stdout


# --- Stable-Baselines3 --------------------------------------------------------------------------------------------


def sb3_env(normalize: bool = False, **options: Any) -> Any:
    """Games in SB3's ``VecEnv``; with statistics of the observations after some random play."""
    from stable_baselines3.common.vec_env import VecNormalize

    from trick_envs.interfaces.sb3 import make_vec_env

    env = make_vec_env(ID, 4, 1, env_kwargs={"num_players": 3, "num_deals": 1, "illegal": "substitute", **options})
    if not normalize:
        return env
    env = VecNormalize(env)
    env.reset()
    for _ in range(20):
        env.step(np.zeros(4, np.int64))
    return env


def model(kind: str, normalize: bool = False, keys: bool = False, **settings: Any) -> Any:
    sb3, contrib = pytest.importorskip("stable_baselines3"), pytest.importorskip("sb3_contrib")
    options = {"mask_key": "mask", "observation_key": "obs"} if keys else {}
    family = getattr(sb3, kind, None) or getattr(contrib, kind)
    name = "MlpLstmPolicy" if kind == "RecurrentPPO" else "MultiInputPolicy" if keys else "MlpPolicy"
    return family(name, sb3_env(normalize, **options), **{**SMALL, **settings})


@pytest.mark.parametrize(
    ("kind", "keys", "normalize"),
    [
        ("MaskablePPO", False, False), ("PPO", False, True), ("PPO", True, True), ("DQN", False, False),
        ("QRDQN", False, False),
    ],
)  # fmt: skip
def test_a_model_of_stable_baselines_plays_the_same_outside(kind, keys, normalize, tmp_path):
    """With ``predict`` as the reference, and with observations normalised as in its own environment."""
    shared = kind in ("DQN", "QRDQN") or (kind == "PPO" and not keys)
    settings = {} if shared else {"policy_kwargs": {"net_arch": [16], "share_features_extractor": False}}
    learner = model(kind, normalize, keys, **settings)
    agent = exported(learner, learner.get_env(), tmp_path / "policy.onnx")
    observations, masks = positions()
    seen: Any = {"obs": observations, "mask": masks} if keys else observations
    if normalize:
        seen = learner.get_vec_normalize_env().normalize_obs(seen)
    tensors, policy = learner.policy.obs_to_tensor(seen)[0], learner.policy
    if kind in ("DQN", "QRDQN"):
        logits = policy.q_net(tensors) if kind == "DQN" else policy.quantile_net(tensors).mean(1)
        values = torch.where(torch.from_numpy(masks) == 1, logits, -torch.inf).amax(1)
    else:
        logits, values = policy.get_distribution(tensors).distribution.logits, policy.predict_values(tensors)
    assert_same(agent, logits, values)
    if kind == "MaskablePPO":
        np.testing.assert_array_equal(agent.act(observations, masks), learner.predict(seen, None, None, True, masks)[0])


def test_a_policy_and_a_loaded_model_see_what_the_given_environment_shows(tmp_path):
    """Both know nothing of the ``VecNormalize`` that they have learned in."""
    learner = model("PPO", normalize=True)
    games, (observations, masks) = learner.get_env(), positions()
    learner.save(tmp_path / "model.zip")
    wanted = exported(learner, GAME, tmp_path / "policy.onnx").evaluate(observations, masks)
    for alone in (learner.policy, type(learner).load(tmp_path / "model.zip")):
        found = exported(alone, games, tmp_path / "alone.onnx").evaluate(observations, masks)
        assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]
    plain = model("PPO")  # its own games show everything as it is
    as_it_is = exported(plain, plain.get_env(), tmp_path / "plain.onnx").evaluate(observations, masks)
    found = exported(plain, games, tmp_path / "plain.onnx").evaluate(observations, masks)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in as_it_is]


def test_a_module_that_saw_normalised_observations_has_to_normalise_them_itself(tmp_path):
    """It once became a player that got other numbers than it had learned with, without a word."""
    from gymnasium.wrappers import NormalizeObservation
    from gymnasium.wrappers.vector import NormalizeObservation as NormalizeObservations

    make_vec_env = pytest.importorskip("stable_baselines3.common.env_util").make_vec_env

    def make(**options: Any) -> Any:
        return gymnasium.make(ID, num_players=3, num_deals=1, **options)

    single = make_vec_env(lambda: NormalizeObservation(make()), 2)
    both = gymnasium.vector.SyncVectorEnv([lambda: NormalizeObservation(make())] * 2)
    games = gymnasium.make_vec(ID, 2, num_players=3, num_deals=1)
    for shown in (NormalizeObservation(make()), NormalizeObservations(games), single, both, sb3_env(normalize=True)):
        with pytest.raises(ValueError, match="normalises observations, which players do not get"):
            export_policy(Masked(), shown, tmp_path / "policy.onnx")
    with pytest.raises(ValueError, match="normalises observations"):
        export_policy(model("PPO").policy, single, tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()
    for shown in (games, gymnasium.vector.SyncVectorEnv([make])):
        export_policy(Masked(), shown, tmp_path / "policy.onnx")


# --- errors -------------------------------------------------------------------------------------------------------


class Noisy(nn.Linear):
    def forward(self, observation: Any) -> Any:
        return super().forward(observation) + torch.rand(1)


class OfBatch(nn.Linear):
    """Its answer depends on the other rows."""

    def __init__(self, how: Any) -> None:
        super().__init__(SIZE, ACTIONS)
        self.how = how

    def forward(self, observation: Any) -> Any:
        return self.how(super().forward(observation))


@pytest.mark.parametrize(
    "how",
    [
        lambda x: x.softmax(0),
        lambda x: x - x.mean(0),
        lambda x: x * (1 + (len(x) > 32)),
        lambda x: x + torch.arange(len(x))[:, None] * torch.arange(ACTIONS),
        lambda x: (x, x.mean().expand(len(x))),
        lambda x: (x, x.sum(1).cumsum(0)),
    ],
)
def test_a_module_whose_answer_depends_on_the_other_rows_is_refused(how, tmp_path):
    with pytest.raises(
        ValueError, match=r"differ by .* when asked with fewer rows .*: expected a module that computes"
    ):
        export_policy(OfBatch(how), GAME, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())


def test_statistics_of_the_batch_are_refused_those_of_training_are_not(tmp_path):
    def normalized(**kind: Any) -> Any:
        return nn.Sequential(nn.BatchNorm1d(SIZE, **kind), nn.Linear(SIZE, ACTIONS))

    with pytest.raises(ValueError, match=r"the module fails on B = 1: .*more than 1 value"):
        export_policy(normalized(track_running_stats=False), GAME, tmp_path / "policy.onnx")
    module = normalized()
    assert_same(exported(module, GAME, tmp_path / "policy.onnx"), module.eval()(torch.from_numpy(positions()[0])))


def test_a_module_whose_logits_are_far_below_those_of_illegal_actions_plays_its_best_one(tmp_path):
    """Diverged Q-values."""
    module = nn.Linear(SIZE, ACTIONS)
    module.bias.data = -1e9 - 1e6 * torch.arange(ACTIONS)
    agent = exported(module, GAME, tmp_path / "policy.onnx")
    observations, masks = positions()
    np.testing.assert_array_equal(agent.act(observations, masks), masks.argmax(1))


@pytest.mark.parametrize(
    ("wrap", "behind"),
    [
        (torch.compile, False), (nn.DataParallel, False), (torch.optim.swa_utils.AveragedModel, False),
        (lambda module: torch.compile(nn.DataParallel(module)), False),
        (lambda module: nn.Sequential(torch.compile(module, backend="eager"), nn.Tanh()), True),
        (lambda module: module.compile() or module, False),
    ],
    ids=["compile", "DataParallel", "AveragedModel", "both", "inside", "in place"],
)  # fmt: skip
def test_the_module_inside_a_wrapper_is_exported(wrap, behind, tmp_path):
    module = nn.Sequential(nn.Linear(SIZE, 16), nn.Tanh(), nn.Linear(16, ACTIONS))
    agent = exported(wrap(module), GAME, tmp_path / "policy.onnx")
    expected = module(torch.from_numpy(positions()[0]))
    assert_same(agent, expected.tanh() if behind else expected)


class Careless(nn.Linear):
    """A module that works in the arrays of its caller."""

    def forward(self, observation: Any) -> Any:
        logits = super().forward(observation)
        observation.zero_()
        return logits


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda: nn.Linear(SIZE, 7), rf"returns shapes \[\(64, 7\), None\] .*expects logits \(B, {ACTIONS}\)"),
        (lambda: nn.Linear(5, ACTIONS), rf"fails on B = 64: donguri with 3 players has observations \(B, {SIZE}\)"),
        (lambda: Masked(actions=7), rf"fails on .*action masks \(B, {ACTIONS}\)"),
        (lambda: Noisy(SIZE, ACTIONS), "logits differ by .*: expected a module that computes the same in every call"),
        (lambda: nn.LSTM(SIZE, ACTIONS), "fails on B = 64.*RuntimeError"),
        (lambda: torch.jit.script(nn.Linear(SIZE, ACTIONS)), r"it holds TorchScript .*: expected the module that"),
        (lambda: nn.Sequential(torch.jit.script(nn.Linear(SIZE, ACTIONS)), nn.Tanh()), "it holds TorchScript"),
        (lambda: torch.export.export(nn.Linear(SIZE, ACTIONS), (torch.ones(2, SIZE),)).module(), "no mode for"),
        (lambda: OfBatch(lambda x: x * float("nan")), "with what is no finite number"),
        (lambda: OfBatch(lambda x: x.numpy()), r"returns shapes \[\('ndarray',\), None\]"),
        (lambda: OfBatch(lambda x: x.to_sparse()), r"returns shapes \[\('Tensor',\), None\]"),
        (lambda: OfBatch(lambda x: (x, np.zeros(len(x), np.float32))), r"returns shapes .*, \('ndarray',\)\]"),
        (lambda: OfBatch(lambda x: (x, x[:, 0] > 0)), r"returns torch\.float32 and torch\.bool, not torch\.float32"),
        (lambda: OfBatch(lambda x: x.bfloat16()), "returns torch"),
        (lambda: OfBatch(lambda x: x.double()), r"returns torch\.float64 and torch\.float32, not torch\.float32"),
        (lambda: Careless(SIZE, ACTIONS), "changes what it is given"),
        (lambda: nn.Linear(SIZE, ACTIONS, device="meta"), "weights without numbers"),
        (
            lambda: OfBatch(lambda x: torch.stack([*x])),
            r"the module cannot become .* any number of rows.*\(not a policy",
        ),
        (lambda: OfBatch(lambda x: x + torch.zeros(len(x), ACTIONS)), "any number of rows"),
        (lambda: OfBatch(lambda x: x if len(x) < 100 else -x), "any number of rows"),
    ],
)
def test_a_module_that_does_not_fit_is_a_clear_error_and_no_file(module, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_policy(module(), GAME, tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())


def test_what_is_no_policy_or_no_game_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module or a model of .*, not 'policy.zip'"):
        export_policy("policy.zip", GAME, tmp_path / "policy.onnx")
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    others = vec_env.DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])
    for no_game in (3, others, others.envs[0], gymnasium.make_vec("CartPole-v1", 2, "sync")):
        with pytest.raises(TypeError, match="game: expected a game's name"):
            export_policy(Masked(), no_game, tmp_path / "policy.onnx")
    for run in ({"by": object()}, {(1, 2): 3}):
        with pytest.raises(TypeError, match="run: expected what JSON can hold"):
            export_policy(Masked(), GAME, tmp_path / "policy.onnx", run)
    with pytest.raises(ValueError, match="cannot be written: Is a directory"):
        export_policy(Masked(), GAME, tmp_path)
    with pytest.raises(ValueError, match="there is no game 'poker'"):
        export_policy(Masked(), "poker", tmp_path / "policy.onnx")
    with pytest.raises(TypeError, match=r"not RecurrentActorCriticPolicy; wrap it in a torch\.nn\.Module"):
        export_policy(model("RecurrentPPO", policy_kwargs={"lstm_hidden_size": 8}), GAME, tmp_path / "policy.onnx")
    with pytest.raises(ValueError, match=r"pepper with 5 players: expected a policy on .*, not on \[\(230,\)\]"):
        export_policy(model("PPO"), pepper_v0.env(), tmp_path / "policy.onnx")


def test_a_missing_library_names_the_extra():
    code = """
import sys
import trick_envs

for missing in ("onnx", "onnxscript", "torch"):
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        del sys.modules[name]
    sys.modules[missing] = None
    try:
        trick_envs.export_policy
    except ImportError as error:
        assert str(error) == f"export_policy: {missing} is missing: pip install 'trick_envs[export]'", error
    else:
        raise AssertionError(missing)
    del sys.modules[missing]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wrong", [None, 3, ["policy.onnx"]], ids=repr)
def test_the_file_is_named_by_a_path(wrong):
    with pytest.raises(TypeError, match=r"^path: expected a path, not "):
        export_policy(Masked(), GAME, wrong)
