"""Self-play: rewards by seat, and advantages along the decisions of each seat."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from helpers import through_a_store

from trick_envs import BatchEnv

pytest.importorskip("sb3_contrib")
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import KVWriter, Logger

from training import self_play
from training.network import FIGURES, Batch, LossWeights, Moments, SuitPolicy, gradients_of_loss
from training.self_play import GRAIN, SelfPlayBuffer, SelfPlayPPO, SelfPlayVecEnv, self_play_env, suit_network
from training.suit_kernels import SuitKernels
from trick_envs.agents.policy import ILLEGAL_LOGIT
from trick_envs.engine.cards import members
from trick_envs.evaluation.seeds import Purpose, match_seeds

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
        buffer.see()
        buffer.note_decisions(actions, values, log_probs)
        with env.stepped_by_self_play():
            env.step(actions)
        buffer.note_rewards()
        journal.append((observations, actions, seats, values, env.rewards.copy(), env.terminated.copy()))
    buffer.compute_returns_and_advantage()


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
    env.reward_scale = SCALE
    buffer.connect(env, np.random.default_rng(0))
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
    buffer.connect(env, np.random.default_rng(0))
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
    buffer.connect(env, np.random.default_rng(0))
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


@pytest.mark.parametrize("fraction", [0.1, 0.4, 0.9])
def test_samples_are_drawn_with_their_probabilities_and_weighted_by_the_inverse(fraction: float) -> None:
    model = make_model()
    rolled_out(model)
    buffer = model.rollout_buffer
    chances = buffer.chances(fraction, vf_coef=0.5)
    passes = [np.concatenate(buffer.order(256, chances)) for _ in range(400)]
    assert chances.mean() == pytest.approx(fraction)
    assert 0 < chances.min() < chances.max() <= 1
    assert (chances == 1).any() == (fraction > 0.2)
    found = np.zeros(len(buffer._chosen))
    for rows in passes:
        assert len(set(rows)) == len(rows) == pytest.approx(fraction * len(chances), abs=1)
        found[rows] += 1 / len(passes)
    np.testing.assert_allclose(found[buffer.ready], chances, atol=0.15)
    assert found.sum() == pytest.approx(found[buffer.ready].sum())
    weights = buffer.batch(chances).weights
    np.testing.assert_allclose(weights[buffer.ready] * chances, 1, rtol=1e-6)
    advantages = buffer.batch().advantages
    for numbers in (advantages, np.abs(advantages), np.ones(len(weights))):
        sums = [(weights * numbers)[rows].sum() for rows in passes]
        error = np.std(sums) / np.sqrt(len(sums))
        assert np.mean(sums) == pytest.approx(numbers[buffer.ready].sum(), abs=4 * error + 1e-2)


def test_gradients_of_a_third_of_the_samples_are_nearer_to_all_than_those_of_any_third() -> None:
    model = make_model()
    shake(model.policy, 3)
    rolled_out(model)
    buffer, kernels, clip = model.rollout_buffer, model.policy.compiled, LossWeights(0.2, np.inf, 0.5, 0.01)

    def gradients(chances: np.ndarray | None) -> np.ndarray:
        (rows,) = buffer.order(None, chances)
        batch = buffer.batch(chances)
        model._gradients(kernels, kernels.sparse(torch.from_numpy(batch.observations)), batch, rows, clip)
        return np.concatenate([weight.grad.numpy().ravel() for weight in kernels.weights])

    whole, third = gradients(buffer.chances(1, 0.5)), buffer.chances(1 / 3, 0.5)
    errors = [
        np.mean([np.square(gradients(chances) - whole).sum() for _ in range(20)])
        for chances in (third, np.full(len(third), 1 / 3))
    ]
    assert errors[0] < 0.5 * errors[1]


def test_a_self_play_environment_has_the_games_spaces() -> None:
    games = BatchEnv("pepper", 3)
    env = SelfPlayVecEnv(games, seed=3)
    assert env.action_space == spaces.Discrete(60)
    assert env.observation_space.shape == (games.game.layout.size,)
    first = env.reset()
    np.testing.assert_array_equal(first, games.observations)
    np.testing.assert_array_equal(np.stack(env.env_method("action_masks")), games.action_masks)
    np.testing.assert_array_equal(env.get_attr("action_masks", [2])[0](), games.action_masks[2])
    assert env.get_attr("game") == [games.game] * 3
    with env.stepped_by_self_play():
        after, _, dones, infos = env.step(games.action_masks.argmax(1))
    assert not dones.any()
    assert infos == [{}] * 3
    np.testing.assert_array_equal(after, games.observations)


def test_self_play_does_not_know_the_order_of_play() -> None:
    with pytest.raises(ValueError, match="observation: expected 'position', not 'history'"):
        self_play_env("pepper", 4, observation="history")


def test_only_self_play_steps_the_games() -> None:
    env = self_play_env("pepper", 4)
    env.reset()
    with pytest.raises(ValueError, match="self-play games are for SelfPlayPPO"):
        env.step(env.games.action_masks.argmax(1))


@pytest.mark.parametrize("reward", ["score", "zero_sum"])
def test_a_finished_match_says_what_it_paid_to_the_seats_on_average(reward: str) -> None:
    env = self_play_env("donguri", 5, 3, seed=2, reward=reward, num_deals=2)
    env.reset()
    paid, episodes = np.zeros((5, 3)), 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        masks = env.games.action_masks
        with env.stepped_by_self_play():
            *_, dones, infos = env.step((rng.random(masks.shape) * masks).argmax(1))
        paid += env.rewards
        for i, info in enumerate(infos):
            assert ("episode" in info) == dones[i]
            if dones[i]:
                assert info["episode"]["r"] == pytest.approx(paid[i].mean(), abs=1e-6)
                assert info["episode"]["l"] == 2 * 36  # also of the first, in whose middle learning begins
                paid[i] = 0
                episodes += 1
    assert episodes > 10


@pytest.mark.parametrize("opponent", [None, "greedy"])
def test_copies_play_on_alike_also_where_arrays_are_read_only(opponent: str | None) -> None:
    env = self_play_env("pepper", 6, 3, 1, opponent=opponent)
    env.reset()
    copies = env, copy.deepcopy(env), through_a_store(env)
    for games in zip(*(random_steps(each, 40) for each in copies), strict=True):
        for found in games[1:]:
            for one, other in zip(found, games[0], strict=True):
                np.testing.assert_array_equal(one, other)


def random_steps(env: SelfPlayVecEnv, count: int) -> Iterator[list[Any]]:
    """What random play shows: who acted, and what was paid to whom."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        masks = env.games.action_masks
        with env.stepped_by_self_play():
            seen, rewards, ends, infos = env.step((rng.random(masks.shape) * masks).argmax(1))
        paid = [info.get("episode", {}).get("r") for info in infos]
        yield [seen.copy(), rewards, ends, env.acted.copy(), env.rewards.copy(), env.terminated.copy(), paid]


def test_after_a_stop_within_a_step_other_matches_begin() -> None:
    """Else the next rollout would go on from a step that the buffer has not noted."""
    env, steps = self_play_env("pepper", 8, 3, seed=1), iter(range(100))
    model = SelfPlayPPO("SuitPolicy", env, n_steps=16, batch_size=64)
    played = env.step_wait

    def stopped() -> Any:
        found = played()
        if next(steps) == 20:
            raise KeyboardInterrupt
        return found

    env.step_wait = stopped  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        model.learn(10_000)
    resets = env.resets
    model.learn(8 * 16, reset_num_timesteps=False)
    assert env.resets == resets + 1


def test_another_reset_begins_other_matches_and_a_seed_the_same() -> None:
    env, seen = self_play_env("pepper", 8, seed=4), []
    for _ in range(2):
        env.reset()
        seen.append(set(env.games.states["seed"].tolist()))
    assert seen == [set(match_seeds(Purpose.TRAINING, 4, first, 8).tolist()) for first in (0, 8)]
    env.seed(4)
    env.reset()
    assert set(env.games.states["seed"].tolist()) == seen[0]


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
    env.seed(3)
    env.reset()
    assert env.games.states.tobytes() == states.tobytes()


# --- the update ---------------------------------------------------------------------------------------------------


def make_model(width: int = 12, policy: str = "SuitPolicy", precision: str = "float32", **given: Any) -> Any:
    """A model with large random weights."""
    env = self_play_env("donguri", 32, 3, seed=0)
    network = {**suit_network(env, width, 2), "precision": precision} if policy == "SuitPolicy" else None
    settings = {"n_steps": 40, "batch_size": 512, "learning_rate": 2e-3, "n_epochs": 1, "gamma": 1.0, "device": "cpu"}
    model = SelfPlayPPO(policy, env, policy_kwargs=network, seed=0, **{**settings, **given})
    shake(model.policy)
    return model


def weights_of(policy: Any) -> dict[str, Any]:
    return {name: parameter.numpy(force=True).copy() for name, parameter in policy.named_parameters()}


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
    model.rollout_buffer.rng = np.random.default_rng(3)
    update(model)
    model.logger.dump()
    return {key: float(value) for key, value in journal.found.items() if key.startswith("train/")}


def rolled_out(model: Any) -> None:
    """Collects a rollout, and moves the policy away from the one that played it."""
    _, callback = model._setup_learn(10_000)
    model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
    shake(model.policy, 1, by=0.03)


UPDATES = {
    "plain": {},
    "value clipped": {"clip_range_vf": 0.05},
    "not normalised": {"normalize_advantage": False},
    "stopped": {"target_kl": 0.012, "learning_rate": 0.02},
}


@pytest.mark.parametrize("change", UPDATES.values(), ids=UPDATES.keys())
def test_an_update_is_that_of_sb3(change: dict[str, Any]) -> None:
    """From the same samples in the same order come the same weights and the same log."""
    model = make_model(n_epochs=3, ent_coef=0.05, clip_range=0.1, **change)
    model.update_fraction = 1.0
    rolled_out(model)
    begun = {key: value.clone() for key, value in model.policy.state_dict().items()}
    optimizer = copy.deepcopy(model.policy.optimizer.state_dict())
    logged, weights = [], []
    for update in (MaskablePPO.train, SelfPlayPPO.train):
        model.policy.load_state_dict(begun)
        model.policy.optimizer.load_state_dict(copy.deepcopy(optimizer))
        model._n_updates = 0
        logged.append(learn(model, update))
        weights.append(weights_of(model.policy))
    expected, found = logged
    assert set(found) == {*expected, "train/ent_coef"}
    assert expected["train/clip_fraction"] > 0.1
    assert expected["train/approx_kl"] > 0.003
    assert (expected["train/n_updates"] < 3) == ("target_kl" in change)
    for key in expected:
        assert found[key] == pytest.approx(expected[key], rel=2e-3, abs=1e-5), key
    for key, before in begun.items():
        moved = np.abs(weights[0][key] - before.numpy()).max() if key in weights[0] else None
        if moved is not None:
            assert moved > (0.0 if "target_kl" in change else 1e-3)
            np.testing.assert_allclose(weights[1][key], weights[0][key], rtol=0, atol=0.02 * moved, err_msg=key)


def test_where_nothing_is_compiled_the_update_is_sb3s_own() -> None:
    model = make_model(policy="MlpPolicy")
    rolled_out(model)
    found = learn(model, SelfPlayPPO.train)
    assert found["train/learning_rate"] == 2e-3
    assert all(np.isfinite(value) for value in found.values())


@pytest.mark.parametrize(("left", "expected"), [(1.0, 0.1), (0.25, 0.04), (0.0, 0.02)])
def test_the_weight_of_the_entropy_may_follow_a_schedule(left: float, expected: float) -> None:
    """An update with a schedule is one with that constant weight; what it is now is logged."""
    weights = []
    for ent_coef in (lambda progress: 0.02 + 0.08 * progress, expected):
        model = make_model(ent_coef=ent_coef)
        rolled_out(model)
        model._current_progress_remaining = left
        logged = learn(model, SelfPlayPPO.train)
        assert logged["train/ent_coef"] == model.ent_coef == pytest.approx(expected)
        weights.append(weights_of(model.policy))
    for key, constant in weights[1].items():
        np.testing.assert_allclose(weights[0][key], constant, rtol=1e-6, atol=1e-7, err_msg=key)
    model = make_model(ent_coef=0.2)
    rolled_out(model)
    learn(model, SelfPlayPPO.train)
    assert not all(np.allclose(weights_of(model.policy)[key], found, atol=1e-7) for key, found in weights[0].items())


def test_the_weights_do_not_depend_on_the_cores_but_on_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for threads, cores in ((3, 1), (3, 8), (1, 8)):
        monkeypatch.setattr(self_play, "usable_cores", lambda cores=cores: cores)
        model = make_model(n_epochs=2)
        model.threads = threads
        rolled_out(model)
        learn(model, SelfPlayPPO.train)
        found.append(weights_of(model.policy))
    for key, expected in found[0].items():
        np.testing.assert_array_equal(found[1][key], expected, err_msg=key)
        np.testing.assert_allclose(found[2][key], expected, atol=1e-4, err_msg=key)


def test_a_rollout_reads_the_weights_once_and_each_those_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read, vectors = [], SuitKernels.vectors
    monkeypatch.setattr(SuitKernels, "vectors", lambda *given: read.append(1) or vectors(*given))
    model = make_model()
    _, callback = model._setup_learn(10_000)
    for _ in range(2):
        read.clear()
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps)
        assert len(read) == 1
        of_now = slice(model.n_steps * model.env.num_envs)  # decisions that wait for their returns come after these
        seen, masks, actions, log_probs, *_ = (column[of_now] for column in model.rollout_buffer.batch())
        values = (torch.from_numpy(seen), torch.from_numpy(actions))
        with torch.no_grad():
            _, expected, _ = model.policy.evaluate_actions(*values, action_masks=masks)
        np.testing.assert_allclose(log_probs, expected.numpy(), atol=1e-5)
        model.train()  # to other weights


@pytest.mark.parametrize("clip_range_vf", [np.inf, 0.7])
def test_compiled_gradients_are_those_of_the_loss(clip_range_vf: float) -> None:
    """Against the loss of ``MaskablePPO.train`` and torch's gradients of it."""
    generator = torch.Generator().manual_seed(0)
    rows, actions = 400, 9
    logits, values = (torch.randn(rows, count, generator=generator) for count in (actions, 1))
    masks = (torch.rand(rows, actions, generator=generator) < 0.5).to(torch.int8)
    masks[:, 4] = 1
    masks[:40, :4], masks[:40, 5:] = 0, 0  # forced
    chosen = torch.multinomial(masks.float(), 1, generator=generator).squeeze(1)
    before = logits + 0.3 * torch.randn(rows, actions, generator=generator)

    def masked(numbers: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(torch.where(masks != 0, numbers, ILLEGAL_LOGIT), 1)

    old, advantages, returns = (torch.randn(rows, generator=generator) for _ in range(3))
    old_log_probs = masked(before).gather(1, chosen[:, None]).squeeze(1)
    sample_weights = torch.rand(rows, generator=generator) * 3
    columns = masks, chosen, old_log_probs, old, advantages, returns, sample_weights
    batch = Batch(np.zeros((rows, 0), np.int8), *(column.numpy() for column in columns))
    weights = LossWeights(clip_range=0.2, clip_range_vf=clip_range_vf, vf_coef=0.5, ent_coef=0.03)
    logits.requires_grad_(), values.requires_grad_()
    log_probs = masked(logits)
    log_ratio = log_probs.gather(1, chosen[:, None]).squeeze(1) - old_log_probs
    ratio = log_ratio.exp()
    total = float(sample_weights.sum())

    def mean(numbers: torch.Tensor) -> torch.Tensor:
        return (sample_weights * numbers).sum() / total

    policy_loss = -mean(torch.min(advantages * ratio, advantages * ratio.clamp(0.8, 1.2)))
    moved = values.squeeze(1) - old
    value_loss = mean((old + moved.clamp(-clip_range_vf, clip_range_vf) - returns) ** 2)
    entropy_loss = mean((log_probs.exp() * log_probs).sum(1))
    loss = policy_loss + 0.5 * value_loss + 0.03 * entropy_loss
    clipped = ((ratio - 1).abs() > 0.2).float()
    expected = [policy_loss, value_loss, entropy_loss, mean(ratio - 1 - log_ratio), mean(clipped)]
    gradients = torch.autograd.grad(loss, (logits, values))
    parts = [
        gradients_of_loss(
            logits.detach().numpy()[part], values.detach().numpy()[part], batch, part, Moments(total), weights
        )
        for part in (np.arange(150), np.arange(150, rows))
    ]
    to_logits, to_values, figures = (list(each) for each in zip(*parts, strict=True))
    np.testing.assert_allclose(sum(figures), torch.stack(expected).detach(), rtol=1e-4, atol=1e-6)
    assert 0.1 < float(sum(figures)[FIGURES.index("clip_fraction")]) < 0.9
    for found, gradient in zip((np.concatenate(to_logits), np.concatenate(to_values)), gradients, strict=True):
        np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-8)
        assert gradient.abs().max() > 1e-4
    assert (np.concatenate(to_values) == 0).any() == (clip_range_vf < 1)


def test_a_rollout_in_which_no_seat_decides_twice_teaches_nothing() -> None:
    env = self_play_env("pepper", 1, seed=1)
    model = SelfPlayPPO("SuitPolicy", env, n_steps=2, batch_size=2, n_epochs=1, seed=1, device="cpu")
    before = weights_of(model.policy)
    model.learn(2)
    for name, weights in weights_of(model.policy).items():
        np.testing.assert_array_equal(weights, before[name])
    model.learn(60, reset_num_timesteps=False)
    assert all(np.isfinite(weights).all() for weights in weights_of(model.policy).values())
    assert any((weights != before[name]).any() for name, weights in weights_of(model.policy).items())


def test_adams_eps_is_set_and_a_users_arguments_are_kept() -> None:
    env = self_play_env("donguri", 4, 3)
    for given, expected in (({}, 1e-5), ({"eps": 1e-8}, 1e-8), ({"betas": (0.5, 0.9)}, 1e-5)):
        kwargs = {"optimizer_kwargs": given} if given else None
        model = SelfPlayPPO("SuitPolicy", env, policy_kwargs=kwargs, device="cpu")
        (group,) = model.policy.optimizer.param_groups
        assert group["eps"] == expected
        assert group["betas"] == given.get("betas", (0.9, 0.999))
    sgd = SelfPlayPPO("SuitPolicy", env, policy_kwargs={"optimizer_class": torch.optim.SGD}, device="cpu")
    assert isinstance(sgd.policy.optimizer, torch.optim.SGD)
    assert isinstance(sgd.policy, SuitPolicy)
