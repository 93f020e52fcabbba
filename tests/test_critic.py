"""The privileged critic: what it sees, that the policy sees nothing of it, and that it learns and resumes."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers import SMALL_RUN, every_game

pytest.importorskip("sb3_contrib")
from rich.console import Console
from stable_baselines3.common.utils import explained_variance

from training import run
from training.config import RunConfig
from training.networks.policy import save_model, weights_of
from training.ppo import critic as critics
from training.ppo.algorithm import new_ppo, prepare
from training.ppo.critic import CRITIC, HiddenView, PrivilegedCritic, load_critic
from training.ppo.rollouts import RolloutWorkers
from training.report.tracker import CHECKPOINT, Monitor
from trick_envs import BatchEnv
from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.parallel.executor import ThisProcess


def random_batch(game: Game, steps: int, num_envs: int = 24) -> BatchEnv:
    games = BatchEnv(game.name, num_envs, game.num_players, 1)
    games.reset(3 + 1000 * steps)
    rng = np.random.default_rng(steps)
    for _ in range(steps):
        games.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in games.action_masks]))
    return games


def view_of(view: HiddenView, states: Any) -> dict[str, Any]:
    """The blocks of the view, each ``(B, length)``."""
    found = np.full((len(states), view.blocks.size), -1, np.int8)
    view.write(states, found)
    return {name: found[:, where] for name, where in view.blocks.slices().items()}


def full_state(game: Game, states: Any, i: int) -> dict[str, Any]:
    out = np.zeros(game.state_layout.size + 8192, np.int8)
    game.kernels.write_full_state(states, i, out)
    return {name: out[where] for name, where in game.state_layout.slices().items()}


@every_game
@pytest.mark.parametrize("steps", [0, 2, 17, 40])
def test_the_critic_sees_the_other_hands_from_the_left_neighbour_on(name: str, steps: int) -> None:
    game = load_game(name)
    games = random_batch(game, steps)
    hands = view_of(HiddenView(game), games.states)["other_hands"].reshape(24, game.num_players - 1, -1)
    for i, state in enumerate(games.states):
        for k in range(1, game.num_players):
            held = members(state["hand"][(state["seat"] + k) % game.num_players])
            kinds = [game.deck.kind(card) for card in held]
            np.testing.assert_array_equal(hands[i, k - 1], np.bincount(kinds, minlength=game.num_actions))


@pytest.mark.parametrize(("name", "block"), [("hearts", "passes"), ("tricky_express", "exchanges")])
def test_the_critic_sees_what_every_seat_passed_with_the_seat_to_act_first(name: str, block: str) -> None:
    game = load_game(name)
    games = random_batch(game, 20)
    shown = view_of(HiddenView(game), games.states)[block].reshape(24, 4, -1)
    assert shown.any()
    for i, seat in enumerate(games.seats):
        written = full_state(game, games.states, i)[block].reshape(4, -1)
        np.testing.assert_array_equal(shown[i], np.roll(written, -seat, axis=0))


@pytest.mark.parametrize("steps", [0, 33, 58, 70])
def test_the_critic_sees_the_next_cards_of_whists_stock_and_how_many_of_each_are_left(steps: int) -> None:
    game = load_game("double_deck_whist")
    games = random_batch(game, steps)
    shown = view_of(HiddenView(game), games.states)
    for i in range(24):
        stock = [number - 1 for number in full_state(game, games.states, i)["stock"] if number > 0]
        np.testing.assert_array_equal(shown["stock"][i], np.bincount(stock, minlength=52))
        following = shown["stock_next"][i].reshape(critics.NEXT, 52)
        assert following.sum() == min(len(stock), critics.NEXT)
        assert [int(row.argmax()) for row in following if row.any()] == stock[: critics.NEXT]


@every_game
def test_worlds_that_look_alike_to_the_seat_do_not_to_the_critic(name: str) -> None:
    game = load_game(name)
    games = random_batch(game, 9)
    twins = BatchEnv(game.name, 24, game.num_players, 1)
    twins.reset(0)
    twins.states[:] = game.resample(games.states, games.seats, np.random.default_rng(1))
    twins.observe()
    np.testing.assert_array_equal(twins.observations, games.observations)
    one, other = (view_of(HiddenView(game), each.states)["other_hands"] for each in (games, twins))
    assert (one != other).any(axis=1).mean() > 0.9


# --- the policy ---------------------------------------------------------------------------------------------------


def make_model(privileged_critic: bool, **stage: Any) -> tuple[RunConfig, Any]:
    given = {"method": "ppo", "n_envs": 64, "n_steps": 32, "batch_size": 512, "learning_rate": 2e-3, **stage}
    config = RunConfig.model_validate(
        {"game": "donguri", "num_players": 3, "network": {"width": 12, "depth": 2}, "precision": "float32",
         "stages": [{**given, "privileged_critic": privileged_critic}]}
    )  # fmt: skip
    model = new_ppo(config, config.stages[0])  # type: ignore[arg-type]
    prepare(config, config.stages[0], model)  # type: ignore[arg-type]
    return config, model


def rolled_out(model: Any, times: int = 1) -> None:
    _, callback = model._setup_learn(10**6)
    for _ in range(times):
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)


def test_a_policy_plays_and_first_learns_as_without_a_critic_that_has_learned_nothing(tmp_path: Path) -> None:
    samples, weights, files = [], [], []
    for privileged_critic in (False, True):
        _, model = make_model(privileged_critic)
        rolled_out(model)
        samples.append(vars(model.rollout_buffer.samples()))
        model.train()
        weights.append(weights_of(model.policy))
        rolled_out(model)
        model.train()  # now from advantages of a critic that has learned
        weights.append(weights_of(model.policy))
        save_model(model, tmp_path / "policy.zip")
        files.append(sorted(zipfile.ZipFile(tmp_path / "policy.zip").namelist()))
    for name, column in samples[0].items():
        if name != "hidden":
            np.testing.assert_array_equal(samples[1][name], column, err_msg=name)
    plain, plain_then, helped, helped_then = weights
    assert list(plain) == list(helped)
    for name in plain:
        np.testing.assert_array_equal(helped[name], plain[name], err_msg=name)
    assert any((helped_then[name] != plain_then[name]).any() for name in plain)
    assert files[0] == files[1]


def test_no_gradient_of_the_policy_depends_on_what_is_hidden() -> None:
    """Other hands in the buffer, after the advantages are known: the same update."""
    weights = []
    for scrambled in (False, True):
        _, model = make_model(privileged_critic=True)
        rolled_out(model, 2)
        if scrambled:
            model.rollout_buffer._hidden[:] = np.random.default_rng(0).permutation(model.rollout_buffer._hidden)
        model.train()
        weights.append(weights_of(model.policy))
    for name, before in weights[0].items():
        np.testing.assert_array_equal(weights[1][name], before, err_msg=name)


def test_advantages_are_measured_from_the_critics_values_and_the_head_learns_the_returns() -> None:
    _, model = make_model(privileged_critic=True, gae_lambda=1.0)
    with torch.no_grad():
        model.critic.value.head.bias += 0.25
    rolled_out(model)
    buffer = model.rollout_buffer
    samples = buffer.samples()
    np.testing.assert_allclose(samples.baseline, samples.values + 0.25, atol=1e-6)
    np.testing.assert_allclose(buffer.returns, samples.advantages + samples.baseline, atol=1e-6)
    used = torch.from_numpy(buffer._ready)
    np.testing.assert_array_equal(buffer.batch().returns[used].numpy(), buffer.returns)
    with pytest.raises(RuntimeError, match="not known any more"):
        buffer.add(None, None, None, None, torch.zeros(1), torch.zeros(1))


def test_workers_compute_the_critics_values_of_what_they_have_played() -> None:
    config, model = make_model(privileged_critic=True, rollout_workers=2)
    with torch.no_grad():
        model.critic.value.head.weight += 0.1
    stage: Any = config.stages[0]
    workers = RolloutWorkers(ThisProcess(), config, stage, 7)
    for done in (0, stage.n_envs * stage.n_steps):
        for part in workers.collect(weights_of(model.policy), done, model.critic):
            added = model.critic.corrections(part.hidden, part.observations)
            assert np.abs(added).max() > 0.01
            np.testing.assert_allclose(part.baseline, part.values + added, atol=1e-5)


# --- learning -----------------------------------------------------------------------------------------------------


def test_the_critic_finds_what_only_the_hidden_cards_tell() -> None:
    """A planted target, in games that it has not learned from; shown the hands of other games, it finds nothing."""
    game = load_game("donguri", 3)
    batches = [random_batch(game, steps, 512) for steps in range(8)]
    hidden = np.concatenate([view_of(HiddenView(game), games.states)["other_hands"] for games in batches])
    seen = np.concatenate([games.observations for games in batches])
    suits, ranks = len(game.deck.suits), len(game.deck.ranks)
    high = hidden[:, : game.num_actions].reshape(-1, suits, ranks)[:, :, ranks // 2 :]  # of the left neighbour
    target = high.sum((1, 2)).astype(np.float32)
    target = (target - target.mean()) / target.std()
    new, learned = np.arange(512), np.arange(512, len(target))
    found = []
    for shown in (hidden, np.random.default_rng(0).permutation(hidden)):
        critic = PrivilegedCritic(game, 0, torch.device("cpu"))
        before = explained_variance(critic.corrections(shown[new], seen[new]), target[new])
        for _ in range(20):
            critic.learn(shown, seen, target, learned, 5e-3, 0.5)
        found += [before, explained_variance(critic.corrections(shown[new], seen[new]), target[new])]
    assert found[0] == 0.0
    assert found[1] > 0.8
    assert found[3] < found[1] - 0.3


def test_a_critic_goes_on_from_a_checkpoint_bit_by_bit(tmp_path: Path) -> None:
    config, model = make_model(privileged_critic=True)
    for _ in range(2):
        rolled_out(model)
        model.train()
    save_model(model, tmp_path / "checkpoint.zip", {CRITIC: model.critic.saved()})
    again = load_critic(config, model.device, tmp_path / "checkpoint.zip")
    assert again is not None
    buffer = model.rollout_buffer
    for critic in (model.critic, again):
        critic.learn(buffer._hidden, buffer._seen, buffer._advantage, buffer._ready, 1e-3, 0.5)
    found = [critic.corrections(buffer._hidden, buffer._seen) for critic in (model.critic, again)]
    assert found[0].any()
    np.testing.assert_array_equal(found[0], found[1])
    for (name, one), other in zip(model.critic.state_dict().items(), again.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    save_model(model, tmp_path / "without.zip")
    assert load_critic(config, model.device, tmp_path / "without.zip") is None


def test_an_interrupted_run_goes_on_with_the_critic_of_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [{**SMALL_RUN["stages"][0], "privileged_critic": True}]
    config = RunConfig.model_validate({**SMALL_RUN, "stages": stages, "evaluation": {"deals": 1, "final_deals": 1}})
    kept, resumed, load = [], [], PrivilegedCritic.load

    def interrupted(self: Monitor, policy: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Monitor, "evaluate", interrupted)
    monkeypatch.setattr(Monitor, "stop", lambda self, model: (self.save(model), kept.append(model.critic.saved())))
    monkeypatch.setattr(PrivilegedCritic, "load", lambda self, content: (resumed.append(content), load(self, content)))
    with pytest.raises(run.Interrupted):
        run.train(config, tmp_path, Console(quiet=True))
    assert CRITIC in zipfile.ZipFile(tmp_path / CHECKPOINT).namelist()
    with pytest.raises(run.Interrupted):
        run.resume(tmp_path, Console(quiet=True))
    assert resumed == kept[:1]
    assert kept[1] != kept[0]
