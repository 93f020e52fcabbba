"""Self-play: rewards by seat, and advantages along the decisions of each seat."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from trick_envs import BatchEnv

pytest.importorskip("sb3_contrib")
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import KVWriter, Logger

from training.config import RunConfig
from training.networks.policy import SelfPlayPolicy, save_model, weights_of
from training.ppo import algorithm
from training.ppo.algorithm import SelfPlayPPO, new_ppo, prepare, set_reference
from training.ppo.loss import FIGURES, Batch, LossWeights, backward, masked_log_softmax, torch_loss
from training.ppo.rollouts import RolloutTask, RolloutWorkers, collect
from training.ppo.self_play import GRAIN, SelfPlayBuffer, SelfPlayVecEnv
from trick_envs.engine.cards import members
from trick_envs.parallel.executor import ThisProcess

GAMMA, LAMBDA, SCALE = 0.97, 0.9, 0.5


def roll(env: SelfPlayVecEnv, buffer: SelfPlayBuffer, rng: np.random.Generator, journal: list[Any]) -> None:
    """One rollout of random play with made-up values; appends what really happened to the journal."""
    buffer.reset()
    games = env.games
    for _ in range(buffer.buffer_size):
        observations, masks, seats = games.observations.copy(), games.action_masks.copy(), games.seats.copy()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        values = rng.normal(size=env.num_envs).astype(np.float32)
        log_probs = rng.normal(size=env.num_envs).astype(np.float32)
        env.step(actions)
        buffer.add(
            observations,
            actions.reshape(-1, 1),
            np.zeros(env.num_envs),
            np.zeros(env.num_envs),
            torch.from_numpy(values).reshape(-1, 1),
            torch.from_numpy(log_probs),
            action_masks=masks,
        )
        journal.append((observations, actions, seats, values, env.rewards.copy(), env.terminated.copy()))
    buffer.compute_returns_and_advantage(None, None)


def brute_force(journal: list[Any], players: int, ends_of_rollouts: list[int]) -> dict[tuple[int, int], float]:
    """Advantages by (step, game), from the definition, for all decisions whose successor is known by the end.

    A rollout that ends cuts the chain of every seat at its last decision: that decision's value stands in for the
    rest, and the decision itself is estimated in the rollout in which it gets a successor.
    """
    found: dict[tuple[int, int], float] = {}
    games = len(journal[0][1])
    for game in range(games):
        chains: dict[int, list[tuple[int, float, float]]] = defaultdict(list)  # by seat: step, value, reward

        def close(chain: list[tuple[int, float, float]], terminal: bool, game: int = game) -> None:
            for i, (step, _, _) in enumerate(chain):
                total, weight = 0.0, 1.0
                _, at_value, at_reward = chain[i]
                for j in range(i, len(chain)):
                    _, at_value, at_reward = chain[j]
                    if j + 1 < len(chain):
                        delta = at_reward + GAMMA * chain[j + 1][1] - at_value
                    elif terminal:
                        delta = at_reward - at_value
                    else:
                        break
                    total += weight * delta
                    weight *= GAMMA * LAMBDA
                if i + 1 < len(chain) or terminal:
                    found[step, game] = total

        for step, (_, _, seats, values, rewards, ends) in enumerate(journal):
            chains[seats[game]].append((step, float(values[game]), 0.0))
            for seat in range(players):
                if chains[seat]:
                    at, value, reward = chains[seat][-1]
                    chains[seat][-1] = (at, value, reward + float(rewards[game, seat]) * SCALE)
            if ends[game]:
                for seat in range(players):
                    close(chains.pop(seat, []), terminal=True)
            if step + 1 in ends_of_rollouts:
                for seat in list(chains):
                    close(chains[seat], terminal=False)
                    chains[seat] = chains[seat][-1:]
    return found


def check_advantages(env: SelfPlayVecEnv, steps: int, rollouts: int) -> list[Any]:
    """Rolls out, compares all samples with ``brute_force``, and returns the journal."""
    env.reset()
    games, players = env.num_envs, env.games.num_players
    buffer = SelfPlayBuffer(
        steps, env.observation_space, env.action_space, "cpu", gae_lambda=LAMBDA, gamma=GAMMA, n_envs=games
    )
    buffer.attach(env, SCALE)
    rng, journal, got = np.random.default_rng(0), [], {}
    for _ in range(rollouts):
        roll(env, buffer, rng, journal)
        wanted = {journal[s][0][g].tobytes() + bytes([g]): (s, g) for s in range(len(journal)) for g in range(games)}
        assert len(wanted) == len(journal) * games  # observations tell the decisions apart
        (batch,) = buffer.get(None)
        for i in range(len(batch.actions)):
            seen = batch.observations[i].numpy().astype(np.int8).tobytes()
            keys = [key for g in range(games) if (key := wanted.get(seen + bytes([g]))) is not None and key not in got]
            keys = [key for key in keys if journal[key[0]][3][key[1]] == batch.old_values[i].item()]
            (key,) = keys
            assert batch.actions[i].item() == journal[key[0]][1][key[1]]
            assert batch.action_masks[i].bool()[batch.actions[i]]
            got[key] = batch.advantages[i].item()
            assert batch.returns[i].item() == pytest.approx(got[key] + batch.old_values[i].item(), abs=1e-5)
    expected = brute_force(journal, players, [steps * (k + 1) for k in range(rollouts)])
    assert set(got) == set(expected)
    assert len(got) > 0.95 * len(journal) * games - players * games  # all but those that wait at the very end
    for key, advantage in expected.items():
        assert got[key] == pytest.approx(advantage, abs=1e-4)
    return journal


@pytest.mark.parametrize(("num_deals", "reward"), [(1, "score"), (2, "zero_sum"), (2, "win")])
def test_advantages_are_those_of_every_seats_own_decisions(num_deals: int, reward: str) -> None:
    games = BatchEnv("donguri", 6, num_players=3, num_deals=num_deals, reward=reward)
    check_advantages(SelfPlayVecEnv(games, seed=5), steps=25, rollouts=8)


def test_batches_are_about_equal_and_hold_every_sample_once() -> None:
    env = SelfPlayVecEnv(BatchEnv("pepper", 16), seed=0)
    env.reset()
    buffer = SelfPlayBuffer(20, env.observation_space, env.action_space, "cpu", n_envs=16)
    buffer.attach(env, 1.0)
    roll(env, buffer, np.random.default_rng(0), [])
    sizes = [len(batch.actions) for batch in buffer.get(100)]
    (whole,) = buffer.get(None)
    assert sum(sizes) == len(whole.actions)
    assert max(sizes) - min(sizes) <= 1
    assert abs(sizes[0] - 100) < 40


def test_large_batches_have_few_shapes() -> None:
    env = SelfPlayVecEnv(BatchEnv("pepper", 61), seed=0)
    env.reset()
    buffer = SelfPlayBuffer(41, env.observation_space, env.action_space, "cpu", n_envs=61)
    buffer.attach(env, 1.0)
    roll(env, buffer, np.random.default_rng(0), [])
    (whole,) = buffer.order(None)
    passes = [buffer.order(1024) for _ in range(2)]
    for batches in passes:
        assert len({len(rows) for rows in batches}) == 1
        assert len(batches[0]) % GRAIN == 0
        found = np.concatenate(batches)
        assert len(set(found)) == len(found) > len(whole) - GRAIN * len(batches)
        assert set(found) <= set(whole)
    assert set(np.concatenate(passes[0])) != set(np.concatenate(passes[1]))


def test_a_self_play_environment_has_the_games_spaces() -> None:
    games = BatchEnv("pepper", 3)
    env = SelfPlayVecEnv(games, seed=3)
    assert env.action_space == spaces.Discrete(60)
    assert env.observation_space.shape == (games.game.layout.size,)
    first = env.reset()
    np.testing.assert_array_equal(first, games.observations)
    assert env.env_method("action_masks")[0] is games.action_masks
    after, rewards, dones, _ = env.step(games.action_masks.argmax(1))
    assert not rewards.any()
    assert not dones.any()
    games.observations[:] = 0
    assert after.any()  # a copy: SB3 stores it after the next step


@pytest.mark.parametrize(("name", "num_deals"), [("double_deck_whist", 1), ("donguri", None)])
def test_games_begin_at_different_points_of_the_first_deal(name: str, num_deals: int | None) -> None:
    """In lock step, rollouts of Double-Deck German Whist showed first halves of deals and second halves in turn."""
    env = SelfPlayVecEnv(BatchEnv(name, 200, num_deals=num_deals), seed=3)
    env.reset()
    states = env.games.states.copy()
    gone = np.array([sum(len(members(cards)) for cards in each["gone"]) for each in states])
    cards = int(states["num_cards"][0]) - 4
    assert not states["deal_number"].any()
    assert not env.games.rewards.any()
    assert not env.games.terminated.any()
    assert np.histogram(gone, bins=5, range=(0, cards))[0].min() >= 15
    env.reset()
    assert env.games.states.tobytes() == states.tobytes()


# --- the update ---------------------------------------------------------------------------------------------------


def make_model(**stage: Any) -> tuple[RunConfig, Any]:
    """A model with large random weights, prepared to learn."""
    changes = {key: stage.pop(key) for key in ("precision", "network") if key in stage}
    given = {"method": "ppo", "n_envs": 32, "n_steps": 40, "batch_size": 512, "learning_rate": 2e-3, **stage}
    config = RunConfig.model_validate(
        {"game": "donguri", "num_players": 3, "network": {"width": 12, "depth": 2}, "precision": "float32",
         "stages": [given], **changes}
    )  # fmt: skip
    model = new_ppo(config, config.stages[0])  # type: ignore[arg-type]
    shake(model.policy)
    prepare(config, config.stages[0], model)  # type: ignore[arg-type]
    return config, model


def shake(policy: Any, seed: int = 0, by: float = 0.3) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in policy.parameters():
            weights += by * torch.randn(weights.shape, generator=generator)


class Journal(KVWriter):
    """A logger's output that keeps what it gets."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, Any], step: int = 0) -> None:
        self.found.update(key_values)

    def close(self) -> None:
        """Nothing to close."""


def learn(model: Any, update: Callable[[Any], None]) -> dict[str, float]:
    """Another update of two passes from the same samples; returns what was logged."""
    journal = Journal()
    model.set_logger(Logger(None, [journal]))
    model.rollout_buffer._rng = np.random.default_rng(3)
    update(model)
    model.logger.dump()
    return {key: float(value) for key, value in journal.found.items() if key.startswith("train/")}


def rolled_out(model: Any) -> None:
    """Collects a rollout, and moves the policy away from the one that played it."""
    _, callback = model._setup_learn(10_000)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    shake(model.policy, 1, by=0.03)


@pytest.mark.parametrize("network", [{"width": 12, "depth": 2}, {"kind": "mlp", "shared": [24]}])
def test_an_update_is_that_of_sb3(network: dict[str, Any]) -> None:
    """From the same samples in the same order come the same weights and the same log."""
    _, model = make_model(network=network, n_epochs=3, ent_coef=0.05, clip_range=0.1)
    rolled_out(model)
    begun = {key: value.clone() for key, value in model.policy.state_dict().items()}
    optimizer = copy.deepcopy(model.policy.optimizer.state_dict())
    logged, weights = [], []
    for update in (MaskablePPO.train, SelfPlayPPO.train):
        model.policy.load_state_dict(begun)
        model.policy.optimizer.load_state_dict(copy.deepcopy(optimizer))
        logged.append(learn(model, update))
        weights.append(weights_of(model.policy))
    expected, found = logged
    assert set(found) == set(expected)
    assert expected["train/clip_fraction"] > 0.1
    assert expected["train/approx_kl"] > 0.01
    for key in set(expected) - {"train/n_updates"}:
        assert found[key] == pytest.approx(expected[key], rel=2e-3, abs=1e-5), key
    for key, before in begun.items():
        moved = np.abs(weights[0][key] - before.numpy()).max() if key in weights[0] else None
        if moved is not None:
            assert moved > 1e-3
            np.testing.assert_allclose(weights[1][key], weights[0][key], rtol=0, atol=0.02 * moved, err_msg=key)


@pytest.mark.parametrize(("left", "expected"), [(1.0, 0.1), (0.25, 0.04), (0.0, 0.02)])
def test_the_weight_of_the_entropy_falls_to_its_final_value(left: float, expected: float) -> None:
    """An update with a schedule is one with that constant weight."""
    weights = []
    for stage in ({"ent_coef": 0.1, "final_ent_coef": 0.02}, {"ent_coef": expected, "final_ent_coef": None}):
        _, model = make_model(**stage)
        rolled_out(model)
        model._current_progress_remaining = left
        learn(model, SelfPlayPPO.train)
        weights.append(weights_of(model.policy))
    for key, constant in weights[1].items():
        np.testing.assert_allclose(weights[0][key], constant, rtol=1e-6, atol=1e-7, err_msg=key)
    _, model = make_model(ent_coef=0.1, final_ent_coef=None)
    rolled_out(model)
    model._current_progress_remaining = left
    learn(model, SelfPlayPPO.train)
    same = [np.allclose(weights_of(model.policy)[key], found, atol=1e-7) for key, found in weights[0].items()]
    assert all(same) == (left == 1.0)


def test_the_weights_do_not_depend_on_the_cores_but_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads, cores in ((3, 1), (3, 8), (1, 8)):
        monkeypatch.setattr(algorithm, "usable_cores", lambda cores=cores: cores)
        _, model = make_model(n_epochs=2)
        model.threads = threads
        rolled_out(model)
        learn(model, SelfPlayPPO.train)
        found.append(weights_of(model.policy))
    for key, expected in found[0].items():
        np.testing.assert_array_equal(found[1][key], expected, err_msg=key)
        np.testing.assert_allclose(found[2][key], expected, atol=1e-4, err_msg=key)


@pytest.mark.parametrize("kl_coef", [0.0, 0.7])
def test_compiled_gradients_are_those_of_the_loss(kl_coef: float) -> None:
    generator = torch.Generator().manual_seed(0)
    rows, actions = 400, 9
    logits, values = (torch.randn(rows, count, generator=generator) for count in (actions, 1))
    masks = (torch.rand(rows, actions, generator=generator) < 0.5).to(torch.int8)
    masks[:, 4] = 1
    masks[:40, :4], masks[:40, 5:] = 0, 0  # forced
    chosen = torch.multinomial(masks.float(), 1, generator=generator).squeeze(1)
    log_probs = masked_log_softmax(logits + 0.3 * torch.randn(rows, actions, generator=generator), masks)
    reference = masked_log_softmax(torch.randn(rows, actions, generator=generator), masks)
    batch = Batch(
        torch.zeros(rows, 0, dtype=torch.int8), masks, chosen, log_probs.gather(1, chosen[:, None]).squeeze(1),
        torch.randn(rows, generator=generator), torch.randn(rows, generator=generator),
        reference if kl_coef else reference[:, :0],
    )  # fmt: skip
    weights = LossWeights(clip_range=0.2, vf_coef=0.5, ent_coef=0.03, kl_coef=kl_coef)
    logits.requires_grad_(), values.requires_grad_()
    loss, expected = torch_loss(logits, values, batch, weights)
    gradients = torch.autograd.grad(loss, (logits, values))
    found = sum(
        backward(logits[part], values[part], Batch(*(column[part] for column in batch)), weights, rows)
        for part in (slice(0, 150), slice(150, rows))
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert 0.1 < float(expected[FIGURES.index("clip_fraction")]) < 0.9
    assert weights.total(dict(zip(FIGURES, found.tolist(), strict=True))) == pytest.approx(
        float(loss.detach()), abs=1e-5
    )
    for tensor, gradient in zip((logits, values), gradients, strict=True):
        torch.testing.assert_close(tensor.grad, gradient, rtol=1e-4, atol=1e-8)
        assert gradient.abs().max() > 1e-4


@pytest.mark.parametrize("ent_coef", [0.0, 0.02])
def test_the_divergence_from_a_reference_is_a_term_of_its_own(ent_coef: float, tmp_path: Path) -> None:
    """The entropy that is logged is the policy's, whatever the divergence weighs; so is the rest of the log."""
    logged = {}
    for kl_coef in (0.0, 0.3):
        config, model = make_model(kl_coef=kl_coef, ent_coef=ent_coef, n_epochs=1, batch_size=1280)  # one step
        rolled_out(model)
        save_model(model, tmp_path / "reference.zip")
        set_reference(model, config.stages[0], tmp_path / "reference.zip")  # type: ignore[arg-type]
        shake(model.policy, 2, by=0.03)
        (whole,) = model.rollout_buffer.get()
        with torch.no_grad():
            logs = masked_log_softmax(model.policy.logits_and_values(whole.observations, None)[0], whole.action_masks)
            there = MaskablePPO.load(tmp_path / "reference.zip").policy
            reference = masked_log_softmax(there.logits_and_values(whole.observations, None)[0], whole.action_masks)
        divergence = float((logs.exp() * (logs - reference)).sum(1).mean())
        logged[kl_coef] = learn(model, SelfPlayPPO.train)
    free, tied = logged[0.0], logged[0.3]
    assert set(tied) - set(free) == {"train/kl_to_reference"}
    assert divergence > 0.003
    assert tied["train/kl_to_reference"] == pytest.approx(divergence, rel=1e-4)
    assert tied["train/loss"] - free["train/loss"] == pytest.approx(0.3 * divergence, rel=1e-3)
    for key in ("entropy_loss", "policy_gradient_loss", "value_loss", "approx_kl"):
        assert tied[f"train/{key}"] == pytest.approx(free[f"train/{key}"], rel=1e-5), key
    again = MaskablePPO.load(tmp_path / "reference.zip")
    assert set(again.policy.state_dict()) == set(model.policy.state_dict())


def test_a_learner_in_another_precision_than_its_workers_measures_ratios_in_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A learner on CUDA may compute in bfloat16 while rollouts are float32: at the first step, all ratios are 1."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    config, model = make_model(precision="auto", n_epochs=1, batch_size=1280, rollout_workers=2)
    stage: Any = config.stages[0]
    shake(model.policy, 1)
    model.workers = RolloutWorkers(ThisProcess(), config, stage, 7)
    model.policy.precision = torch.bfloat16
    _, callback = model._setup_learn(10_000)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    samples = model.rollout_buffer.batch()
    with torch.no_grad():
        logits, _ = model.policy.logits_and_values(samples.observations, None)
        own = masked_log_softmax(logits, samples.masks).gather(1, samples.actions.unsqueeze(1)).squeeze(1)
    used = torch.from_numpy(model.rollout_buffer.order()[0])
    assert (own - samples.log_probs)[used].abs().max() > 1e-3  # rounding does change them
    logged = learn(model, SelfPlayPPO.train)
    assert abs(logged["train/approx_kl"]) < 1e-7
    assert logged["train/clip_fraction"] == 0.0


# --- rollouts by workers ------------------------------------------------------------------------------------------


def test_a_worker_that_keeps_nothing_plays_as_one_that_goes_on() -> None:
    """Samples and advantages of rollouts in tasks, against one environment and one buffer that are never left."""
    stage = {"method": "ppo", "n_envs": 24, "n_steps": 16, "batch_size": 64, "rollout_workers": 2}
    config = RunConfig.model_validate(
        {"game": "donguri", "num_players": 3, "network": {"width": 8, "depth": 1}, "precision": "float32",
         "stages": [stage]}
    )  # fmt: skip
    (ppo,) = config.stages
    policy = SelfPlayPolicy.for_game(config.make_game(), config.network)
    env = SelfPlayVecEnv(BatchEnv("donguri", 12, 3, 1, "zero_sum"), 7)
    buffer = SelfPlayBuffer(16, env.observation_space, env.action_space, "cpu", ppo.gae_lambda, ppo.gamma, 12)
    buffer.attach(env, config.reward_scale)
    observations, standing = env.reset(), None
    for number in range(4):
        task = RolloutTask(config, ppo, 12, 7, number * 16 * 24)
        buffer.reset()
        with torch.no_grad():
            torch.manual_seed(int(np.random.SeedSequence((7, task.done)).generate_state(1)[0]))
            for _ in range(16):
                masks = env.games.action_masks.copy()
                actions, values, log_probs = policy(torch.from_numpy(observations), action_masks=masks)
                following, *_ = env.step(actions.numpy())
                buffer.add(observations, actions.numpy(), np.zeros(0), np.zeros(0), values, log_probs, masks)
                observations = following
        buffer.compute_returns_and_advantage(None, None)
        found, standing = collect(task, weights_of(policy), {}, standing)
        for name, expected in vars(buffer.samples()).items():
            np.testing.assert_array_equal(getattr(found, name), expected, err_msg=name)
    assert len(found.actions) > 12 * 16 - 3 * 12


def test_a_learner_takes_the_samples_of_all_workers() -> None:
    stage = {"method": "ppo", "n_envs": 10, "n_steps": 16, "batch_size": 64, "rollout_workers": 3}
    config = RunConfig.model_validate({"game": "donguri", "num_players": 3, "stages": [stage]})
    (ppo,) = config.stages
    weights = weights_of(SelfPlayPolicy.for_game(config.make_game(), config.network))
    env = SelfPlayVecEnv(BatchEnv("donguri", 10, 3, 1, "zero_sum"), 7)
    buffer = SelfPlayBuffer(16, env.observation_space, env.action_space, n_envs=10)
    buffer.attach(env)
    workers = RolloutWorkers(ThisProcess(), config, ppo, 7)
    for number in range(3):
        parts = workers.collect(weights, number * 160)
        assert len(parts) == 3
        buffer.load_samples(parts)
        taken = np.sort(np.concatenate([batch.old_log_prob.numpy() for batch in buffer.get(64)]))
        np.testing.assert_array_equal(taken, np.sort(np.concatenate([part.log_probs for part in parts])))
        advantages = np.concatenate([part.advantages for part in parts])
        np.testing.assert_allclose(buffer.returns - buffer.values, advantages, atol=1e-6)
