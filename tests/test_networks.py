"""The networks: shared over suits where a game treats them alike, the same in torch, as a zip and as an ONNX file."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
import torch
from gymnasium import spaces
from helpers import every_game, own_tables

pytest.importorskip("sb3_contrib")
from relabelling import Relabelling
from sb3_contrib import MaskablePPO

from training import suit_kernels
from training.callbacks import save_model
from training.network import ILLEGAL_LOGIT, NetworkAgent, SuitColumns, SuitPolicy, matrix_precision, suit_network
from training.products import numbers, one_thread, product
from training.self_play import SelfPlayPPO, self_play_env
from trick_envs import BatchEnv, export_policy, make_agent
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError


def make_policy(game: Game, depth: int = 3, seed: int = 0, precision: str = "float32") -> SuitPolicy:
    """A policy whose layers, heads included, all matter: with large random weights."""
    return with_weights(SuitPolicy.for_game(game, 24, depth, precision=precision), seed)


def with_weights(policy: SuitPolicy, seed: int = 0) -> SuitPolicy:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in policy.parameters():
            spread = 1.5 / weights.shape[-1] ** 0.5 if weights.ndim > 1 else 0.3
            weights.copy_(torch.randn(weights.shape, generator=generator) * spread)
    return policy


def evaluated(policy: Any, observations: Any, masks: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Masked logits and values."""
    with torch.no_grad():
        logits, values = policy.logits_and_values(torch.from_numpy(np.ascontiguousarray(observations)), masks)
    return logits.numpy(), values.squeeze(1).numpy()


def by_torch(policy: Any, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and values by torch's own operations."""
    latent_pi, latent_vf = policy.mlp_extractor(policy.extract_features(seen.float()))
    return policy.action_net(latent_pi), policy.value_net(latent_vf)


def weights_of(policy: Any) -> dict[str, Any]:
    return {name: parameter.numpy(force=True).copy() for name, parameter in policy.named_parameters()}


def positions(game: Game, steps: int = 40) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Observations and masks of some random play."""
    games = BatchEnv(game.name, 12, game.num_players, **game.options)
    games.reset(3)
    rng, seen = np.random.default_rng(0), []
    for _ in range(steps):
        seen.append((games.observations.copy(), games.action_masks.copy()))
        games.step((games.action_masks * rng.random(games.action_masks.shape)).argmax(1))
    observations, masks = (np.concatenate(each) for each in zip(*seen, strict=True))
    return observations, masks


def relabelling_of(game: Game) -> Relabelling:
    """One that leaves no suit where it is."""
    suits = list(range(len(game.deck.suits)))
    return Relabelling(game, [*suits[1:], 0])


def largest(logits: Any, masks: Any) -> float:
    """The scale of legal logits."""
    return float(np.abs(logits[masks != 0]).max())


def difference(one: Any, other: Any, masks: Any) -> float:
    """The largest one between legal logits, in relation to their scale."""
    return float(np.abs(one - other)[masks != 0].max()) / largest(one, masks)


# --- suits --------------------------------------------------------------------------------------------------------


@own_tables
def test_relabelled_observations_have_relabelled_logits_where_a_game_treats_all_suits_alike(
    name: str, players: int
) -> None:
    game = load_game(name, players)
    policy, relabelling = make_policy(game, seed=3), relabelling_of(game)
    observations, masks = positions(game)
    logits, values = evaluated(policy, observations, masks)
    moved_masks = relabelling.masks(masks)
    moved_logits, moved_values = evaluated(policy, relabelling.observations(observations), moved_masks)
    apart = difference(relabelling.masks(logits), moved_logits, moved_masks)
    both = (masks != 0) & (moved_masks != 0)
    assert difference(logits, moved_logits, both) > 0.1  # relabelling does change what the network says
    if game.type.suit_symmetric:
        assert apart < 1e-5
        np.testing.assert_allclose(values, moved_values, rtol=0, atol=1e-5 * np.abs(values).max())
        assert values.std() > 0.01 * np.abs(values).max()
    else:  # each suit says which one it is
        assert apart > 0.1
        assert np.abs(values - moved_values).max() > 0.01 * np.abs(values).max()


@every_game
def test_the_numbers_of_the_suits_and_the_others_are_the_whole_observation_in_small_numbers(name: str) -> None:
    game = load_game(name)
    observations, _ = positions(game)
    by_suit, others = SuitColumns(game)(torch.from_numpy(observations).float())
    assert by_suit.shape[:2] == (len(observations), len(game.deck.suits))
    sorted_ = np.concatenate([by_suit.flatten(1).numpy(), others.numpy()], axis=1)
    assert len(np.unique(sorted_, axis=0)) == len(np.unique(observations, axis=0)) > 100
    assert np.abs(sorted_).max() <= 1.5


@every_game
def test_what_cards_in_the_hand_are_worth_is_what_counting_says(name: str) -> None:
    """Higher and lower cards that are still out, whether there are any, and whether a card is above the trick's."""
    game, different = load_game(name), set()
    suits, ranks, copies = len(game.deck.suits), len(game.deck.ranks), game.deck.copies
    columns, where = SuitColumns(game), game.layout.slices()
    observations, _ = positions(game)
    by_suit, _ = columns(torch.from_numpy(observations).float())
    ends = by_suit.shape[2] - columns.names.shape[1]
    found = by_suit[:, :, ends - 5 * ranks : ends].unflatten(2, (5, ranks)).numpy()
    for seen, of_held in zip(observations.astype(int), found, strict=True):
        hand = seen[where["hand"]].reshape(suits, ranks)
        gone = seen[where["gone"]].reshape(-1, suits, ranks).sum(0)
        trick = np.zeros((suits, ranks), int)
        for card in seen[where["table"]].reshape(-1, suits + ranks):
            trick += np.outer(card[:suits], card[suits:])
        for suit, rank in np.ndindex(suits, ranks):
            out = np.maximum(copies - hand - gone - trick, 0)[suit]
            above, below = out[rank + 1 :].sum(), out[:rank].sum()
            takes = trick[suit].any() and not trick[suit, rank:].any()
            worth = [above / copies / ranks, below / copies / ranks, above == 0, below == 0, takes]
            expected = np.array(worth) * (hand[suit, rank] > 0)
            np.testing.assert_allclose(of_held[suit, :, rank], expected, rtol=0, atol=1e-6)
            different.add(tuple(expected[2:]))
    assert len(different) >= 5


@every_game
def test_the_exported_network_is_the_network(name: str, tmp_path: Path) -> None:
    game = load_game(name)
    policy, relabelling = make_policy(game), relabelling_of(game)
    export_policy(policy, game, tmp_path / "policy.onnx", {})
    observations, masks = positions(game)
    agent: Any = make_agent(str(tmp_path / "policy.onnx"), game)
    logits, values = agent.evaluate(observations, masks)
    expected, expected_values = evaluated(policy, observations, masks)
    assert difference(expected, logits, masks) < 1e-5
    assert (logits[masks == 0] == np.float32(ILLEGAL_LOGIT)).all()
    np.testing.assert_allclose(values, expected_values, rtol=0, atol=1e-5 * np.abs(expected_values).max())
    if game.type.suit_symmetric:
        moved = relabelling.masks(masks)
        moved_logits, moved_values = agent.evaluate(relabelling.observations(observations), moved)
        assert difference(relabelling.masks(logits), moved_logits, moved) < 1e-5
        np.testing.assert_allclose(values, moved_values, rtol=0, atol=1e-5 * np.abs(values).max())


# --- compiled code ------------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("depth", [1, 3])
def test_compiled_code_computes_the_network_and_its_gradients(name: str, depth: int) -> None:
    game = load_game(name)
    policy = make_policy(game, depth)
    observations, _ = positions(game)
    seen = torch.from_numpy(observations)
    generator = torch.Generator().manual_seed(1)
    to_logits = torch.randn(len(seen), game.num_actions, generator=generator)
    to_values = torch.randn(len(seen), 1, generator=generator)
    found = []
    for compiled_code in (False, True):
        policy.zero_grad()
        logits, values = policy.logits_and_values(seen, None) if compiled_code else by_torch(policy, seen)
        assert ("_Network" in type(logits.grad_fn).__name__) == compiled_code
        torch.autograd.backward((logits, values), (to_logits, to_values))
        gradients = {key: weights.grad.clone() for key, weights in policy.named_parameters()}
        found.append({"logits": logits.detach(), "values": values.detach(), **gradients})
    expected, compiled = found
    assert len(expected) == 2 + 3 * depth + 6
    for key, gradient in expected.items():
        largest = gradient.abs().max()
        assert largest > 0.01, key
        torch.testing.assert_close(compiled[key], gradient, rtol=0, atol=2e-5 * float(largest), msg=key)


@pytest.mark.parametrize("name", ["pepper", "double_deck_whist"])
def test_the_network_sees_the_order_of_play_where_games_show_it(name: str) -> None:
    """Compiled code once read beyond its tables there, which ended Python; torch's left it out without a word."""
    games, rng = BatchEnv(name, 64, observation="history"), np.random.default_rng(0)
    games.reset(seed=1)
    for _ in range(40):
        games.step((rng.random(games.action_masks.shape) * games.action_masks).argmax(1))
    low, high = games.layout.bounds()
    space, actions = spaces.Box(low, high, dtype=np.float32), spaces.Discrete(games.game.num_actions)
    policy = with_weights(SuitPolicy(space, actions, lambda _: 0.0, **suit_network(games.game, 24, 2)))
    seen = torch.from_numpy(games.observations)
    with torch.no_grad():
        for found, expected in zip(policy.logits_and_values(seen, None), by_torch(policy, seen), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=2e-5 * float(expected.abs().max()))
        for block in ("played_in", "played_as_lead"):
            without = seen.clone()
            without[:, games.layout.slices()[block]] = 0
            assert (policy.logits_and_values(without, None)[0] != policy.logits_and_values(seen, None)[0]).any()
    for width in (games.game.layout.size, 2 * games.layout.size):
        with pytest.raises(ValueError, match=rf"expected observations of shape \(B, {games.layout.size}\), not \(3, "):
            policy.logits_and_values(torch.zeros(3, width), None)
    stacked = spaces.Box(np.tile(low, 2), np.tile(high, 2), dtype=np.float32)
    for other in (stacked, spaces.Box(low[1:], high[1:], dtype=np.float32), spaces.Dict({"observation": space})):
        with pytest.raises(ValueError, match=f"expected observations as the games of <{name} for"):
            SuitPolicy(other, actions, lambda _: 0.0, **suit_network(games.game))


def test_compiled_code_in_bfloat16_has_nearly_the_same_gradients() -> None:
    game = load_game("donguri", 3)
    seen = torch.from_numpy(positions(game)[0])
    to_logits = torch.randn(len(seen), game.num_actions, generator=torch.Generator().manual_seed(1))
    found = []
    for precision in ("float32", "bfloat16"):
        policy = make_policy(game, precision=precision)
        logits, values = policy.logits_and_values(seen, None)
        torch.autograd.backward((logits, values), (to_logits, values.detach()))
        found.append({key: weights.grad.clone() for key, weights in policy.named_parameters()})
    exact, rounded = found
    for key, gradient in exact.items():
        apart = float((gradient - rounded[key]).norm() / gradient.norm())
        assert apart < 0.05, key
        assert rounded[key].dtype == torch.float32
    assert any((gradient != rounded[key]).any() for key, gradient in exact.items())


def test_compiled_code_takes_any_numbers_also_of_cards() -> None:
    """More inputs than a game ever has: cards with several suits and ranks at once, negative numbers."""
    game = load_game("tricky_express")
    policy = make_policy(game)
    seen = torch.from_numpy(np.random.default_rng(0).integers(-2, 3, (64, game.layout.size), np.int8))
    with torch.no_grad():
        expected, expected_values = by_torch(policy, seen)
        logits, values = policy.logits_and_values(seen, None)
        torch.testing.assert_close(logits, expected, rtol=0, atol=2e-5 * float(expected.abs().max()))
        torch.testing.assert_close(values, expected_values, rtol=0, atol=2e-5 * float(expected_values.abs().max()))


def gradients_of(policy: Any, logits: torch.Tensor, values: torch.Tensor) -> list[torch.Tensor]:
    policy.zero_grad()
    torch.autograd.backward((logits, values), (logits.detach(), values.detach()))
    return [weights.grad.clone() for weights in policy.parameters()]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_forward_passes_keep_their_numbers_until_their_own_backward_pass(precision: str) -> None:
    """Also of other sizes: memory is used again only when a backward pass needs it no longer."""
    game = load_game("donguri", 3)
    policy = make_policy(game, precision=precision)
    seen = torch.from_numpy(positions(game)[0])
    few, many = seen[:5], seen[5:]
    expected = [gradients_of(policy, *policy.logits_and_values(rows, None)) for rows in (few, many)]
    first, second = (policy.logits_and_values(rows, None) for rows in (few, many))
    with torch.no_grad():
        policy.logits_and_values(many, None)
    found = [gradients_of(policy, *second), gradients_of(policy, *first)]
    for one, other in zip([*expected[1], *expected[0]], [*found[0], *found[1]], strict=True):
        assert torch.equal(one, other)
    logits, values = policy.logits_and_values(few, None)
    torch.autograd.backward((logits, values), (logits.detach(), values.detach()), retain_graph=True)
    with pytest.raises(RuntimeError, match="one backward pass after each forward pass"):
        torch.autograd.backward((logits, values), (logits.detach(), values.detach()))


def test_passes_of_the_network_use_the_same_memory() -> None:
    game = load_game("donguri", 3)
    policy = make_policy(game)
    seen = torch.from_numpy(positions(game)[0])
    blocks = set()
    for _ in range(4):
        gradients_of(policy, *policy.logits_and_values(seen, None))
        (memory,) = policy._kernels.free
        blocks.add(memory._block.ctypes.data)
        assert memory._used == 0
    assert len(blocks) == 1
    with torch.no_grad():
        policy.logits_and_values(seen, None)
    assert policy._kernels.free == [memory]
    assert memory._used == 0
    assert copy.deepcopy(policy)._kernels.free == []


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_threads_share_a_batch_and_the_number_of_cores_changes_nothing(precision: str) -> None:
    game = load_game("pepper")
    policy, (seen, _) = make_policy(game, precision=precision), positions(game)
    count = 9 * suit_kernels.LEAST // policy.features_extractor.width + 50  # a part is large enough to be shared, too
    rows = torch.from_numpy(np.tile(seen, (1 + count // len(seen), 1))[:count])
    with torch.no_grad(), one_thread():
        alone = policy.logits_and_values(rows, None)
        found = []
        for cores, of_torch in ((1, 1), (1, 2), (2, 2), (8, 2)):  # torch adds up in another order with two threads
            torch.set_num_threads(of_torch)
            with policy.compiled.team(3, cores):
                found.append(policy.logits_and_values(rows, None))
                shared = len(policy.compiled._team.pool._threads)
                assert shared == min(2, cores - 1), "nothing was shared"
                few = policy.logits_and_values(rows[:200], None)
    for part in range(2):
        torch.testing.assert_close(found[0][part], alone[part], atol=1e-5 if precision == "float32" else 0.05, rtol=0)
        torch.testing.assert_close(few[part], alone[part][:200], atol=1e-5 if precision == "float32" else 0.05, rtol=0)
        assert all(torch.equal(found[0][part], other[part]) for other in found[1:])
    copy.deepcopy(policy)  # threads do not come along


def test_observations_that_were_read_once_give_what_they_give() -> None:
    game = load_game("pepper", 5)
    policy = make_policy(game)
    seen = torch.from_numpy(positions(game)[0])
    rows = torch.from_numpy(np.random.default_rng(0).permutation(len(seen)))
    with torch.no_grad():
        logits, values = policy.logits_and_values(policy.compiled.sparse(seen)[rows.numpy()][3:40], None)
        expected, expected_values = policy.logits_and_values(seen[rows][3:40], None)
    assert len(logits) == 37
    assert torch.equal(logits, expected)
    assert torch.equal(values, expected_values)
    wanted = np.arange(len(seen)) % 3 == 0
    some = policy.compiled.sparse(seen, wanted)
    assert len(some.found[1]) <= len(policy.compiled.sparse(seen).found[1])
    with torch.no_grad():
        logits, _ = policy.logits_and_values(some[np.flatnonzero(wanted)], None)
        assert torch.equal(logits, policy.logits_and_values(seen[torch.from_numpy(wanted)], None)[0])
    assert policy.to("meta").compiled is None  # no compiled code on other devices


def test_compiled_code_rounds_to_bfloat16_as_torch_does() -> None:
    drawn = torch.randn(2000, generator=torch.Generator().manual_seed(0))
    halves = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 0.0, 3e38])
    numbers = torch.cat([drawn, halves]).numpy()
    stored = np.zeros(len(numbers), np.uint16)

    def store(numbers: Any, stored: Any, back: Any) -> None:
        for i in range(len(numbers)):
            stored[i] = suit_kernels._like(numbers[i], stored[i])
            back[i] = suit_kernels._load(stored[i])

    expected = torch.from_numpy(numbers).bfloat16().float().numpy()
    for function in (store, numba.njit(store)):  # as plain Python, and compiled
        back = np.zeros_like(numbers)
        function(numbers, stored, back)
        np.testing.assert_array_equal(back, expected)


def test_actions_are_drawn_from_the_softmax_of_legal_logits() -> None:
    game = load_game("donguri", 3)
    policy = make_policy(game)
    observations, masks = positions(game)
    row = int(masks.sum(1).argmax())
    seen, legal = torch.from_numpy(observations[[row] * 20_000]), masks[[row] * 20_000]
    torch.manual_seed(0)
    with torch.no_grad():
        actions, _, log_probs = policy(seen, action_masks=legal)
        logits, _ = policy.logits_and_values(seen[:1], legal[:1])
        best, _, of_best = policy(seen, True, legal)
    expected = torch.log_softmax(logits, 1)[0]
    torch.testing.assert_close(log_probs, expected[actions], rtol=0, atol=1e-5)
    torch.testing.assert_close(of_best, expected[best], rtol=0, atol=1e-5)
    assert (best == expected.argmax()).all()
    counts = torch.bincount(actions, minlength=game.num_actions) / len(actions)
    assert masks[row].sum() > 5
    assert (counts[masks[row] == 0] == 0).all()
    assert (counts - expected.exp()).abs().max() < 0.015


# --- saved and sent -----------------------------------------------------------------------------------------------


def make_model(precision: str = "float32") -> SelfPlayPPO:
    env = self_play_env("donguri", 16, 3, seed=0)
    network = {**suit_network(env, 24), "precision": precision}
    settings = {"n_steps": 32, "batch_size": 128, "n_epochs": 1, "learning_rate": 1e-3, "seed": 0, "device": "cpu"}
    return SelfPlayPPO("SuitPolicy", env, policy_kwargs=network, **settings)


def test_a_saved_policy_is_loaded_by_sb3_alone(tmp_path: Path) -> None:
    model = make_model()
    game = load_game("donguri", 3)
    model.policy.load_state_dict(make_policy(game).state_dict())
    save_model(model, tmp_path / "policy.zip")
    loaded = MaskablePPO.load(tmp_path / "policy.zip")
    observations, masks = positions(game)
    for one, other in zip(
        evaluated(loaded.policy, observations, masks), evaluated(model.policy, observations, masks), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    actions, _ = loaded.predict(observations.astype(np.float32), action_masks=masks, deterministic=True)
    np.testing.assert_array_equal(actions, NetworkAgent(model.policy).act(observations, masks))
    drawn, _ = loaded.predict(observations.astype(np.float32), action_masks=masks)
    assert masks[np.arange(len(masks)), drawn].all()
    assert (drawn != actions).any()


# --- weights that somebody freezes or replaces, and policies that somebody changes ---------------------------------


def test_frozen_weights_stay_and_the_others_learn() -> None:
    model, frozen = make_model(), "features_extractor.first.weight"
    model.policy.get_parameter(frozen).requires_grad_(False)
    before = weights_of(model.policy)
    model.learn(2 * 16 * 32)
    for name, weights in weights_of(model.policy).items():
        assert (weights == before[name]).all() == (name == frozen), name


def test_weights_that_were_assigned_play_and_learn_with_an_optimizer_of_theirs() -> None:
    model, game = make_model(), load_game("donguri", 3)
    other = make_policy(game)
    model.policy.load_state_dict(other.state_dict(), assign=True)
    observations, masks = positions(game)
    for one, two in zip(
        evaluated(model.policy, observations, masks), evaluated(other, observations, masks), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    before = {name: weights.copy() for name, weights in weights_of(model.policy).items()}
    with pytest.raises(InputError, match="the optimizer has other weights than the policy"):
        model.learn(2 * 16 * 32)
    model.policy.optimizer = torch.optim.Adam(model.policy.parameters(), lr=1e-3)
    model.learn(2 * 16 * 32)
    for name, weights in weights_of(model.policy).items():
        assert (weights != before[name]).any(), name


def test_a_layer_of_another_shape_is_refused_before_compiled_code_reads_it() -> None:
    policy = make_policy(game := load_game("donguri", 3))
    policy.value_net.head = torch.nn.Linear(3, 1)
    with pytest.raises(InputError, match="expected layers of the shapes with which it was made"):
        evaluated(policy, *positions(game))


class WithBias(SuitPolicy):
    """What a user adds to a policy of SB3."""

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.bias = torch.nn.Parameter(torch.zeros(self.action_space.n))
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)

    def logits_and_values(self, obs: Any, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        logits, values = super().logits_and_values(obs, action_masks)
        return logits + self.bias, values


class WithoutFeatures(SuitPolicy):
    def extract_features(self, obs: Any, features_extractor: Any = None) -> Any:
        return torch.zeros_like(super().extract_features(obs, features_extractor))


def test_a_subclass_learns_and_plays_as_it_says() -> None:
    env = self_play_env("donguri", 16, 3, seed=0)
    kwargs: dict[str, Any] = {"n_steps": 32, "batch_size": 128, "n_epochs": 1, "seed": 0, "device": "cpu"}
    model = SelfPlayPPO(WithBias, env, policy_kwargs=suit_network(env, 24), **kwargs)
    before = weights_of(model.policy)
    model.learn(2 * 16 * 32)
    for name, weights in weights_of(model.policy).items():
        assert (weights != before[name]).any(), name
    blind = WithoutFeatures.for_game(game := load_game("donguri", 3), 24)
    logits, values = blind.logits_and_values(torch.from_numpy(positions(game)[0]), None)
    assert (logits == logits[0]).all()
    assert (values == values[0]).all()


def test_a_run_that_diverges_says_so() -> None:
    env = self_play_env("donguri", 16, 3, seed=0)
    model = SelfPlayPPO("SuitPolicy", env, 1e30, 32, 128, 1, policy_kwargs=suit_network(env, 24), seed=0, device="cpu")
    with pytest.raises(InputError, match=r"^after [\d,]+ samples the network has what is no finite number: expected a"):
        model.learn(8 * 16 * 32)


# --- precision ----------------------------------------------------------------------------------------------------


def test_precision_is_what_was_asked_for_or_what_the_processor_is_good_at(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    matrix_precision.cache_clear()
    for device in (cpu, cuda):
        assert matrix_precision("float32", device) == torch.float32
        assert matrix_precision("bfloat16", device) == torch.bfloat16
    for fast, expected in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda fast=fast: fast)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, fast=fast: fast)
        matrix_precision.cache_clear()
        assert matrix_precision("auto", cpu) == matrix_precision("auto", cuda) == expected
    assert matrix_precision("auto", torch.device("meta")) == torch.float32
    matrix_precision.cache_clear()


def test_in_bfloat16_a_network_says_nearly_the_same() -> None:
    game = load_game("donguri", 3)
    observations, masks = positions(game)
    logits, values = evaluated(make_policy(game), observations, masks)
    rounded, rounded_values = evaluated(make_policy(game, precision="bfloat16"), observations, masks)
    assert rounded.dtype == rounded_values.dtype == np.float32
    assert 1e-4 < difference(logits, rounded, masks) < 0.05
    assert np.abs(values - rounded_values).max() < 0.05 * np.abs(values).max()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_network_learns_in_either_precision(precision: str) -> None:
    model = make_model(precision)
    assert str(model.policy.precision) == f"torch.{precision}"
    before = weights_of(model.policy)
    model.learn(2 * 16 * 32)
    for name, weights in weights_of(model.policy).items():
        assert weights.dtype == np.float32
        assert np.isfinite(weights).all()
        assert (weights != before[name]).any(), name


def test_a_precision_and_a_network_that_there_is_not_are_told() -> None:
    env = self_play_env("donguri", 4, 3)
    with pytest.raises(ValueError, match="precision: expected one of auto, float32, bfloat16, not 'float16'"):
        SelfPlayPPO("SuitPolicy", env, policy_kwargs={"precision": "float16"})
    with pytest.raises(ValueError, match=r"SuitPolicy: expected policy_kwargs=suit_network\(games\), without another"):
        SelfPlayPPO("SuitPolicy", env, policy_kwargs={"net_arch": [64]})


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_products_in_compiled_code_are_torchs(kind: torch.dtype) -> None:
    def of_both(left: Any, left_turned: bool, right: Any, right_turned: bool, out: Any) -> None:
        product(left, left_turned, right, right_turned, out)

    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(shape, generator=generator).to(kind) for shape in ((70, 30), (30, 50)))
    expected = left @ right
    for function in (of_both, numba.njit(of_both)):  # as plain Python, and compiled
        for left_turned in (False, True):
            for right_turned in (False, True):
                first, second = (
                    each.t().contiguous() if turned else each
                    for each, turned in ((left, left_turned), (right, right_turned))
                )
                found = torch.empty_like(expected)
                function(numbers(first), left_turned, numbers(second), right_turned, numbers(found))
                torch.testing.assert_close(found, expected)
    with pytest.raises(RuntimeError, match="matrices that fit"):  # compiled code would write elsewhere
        function(numbers(left), False, numbers(right), False, numbers(found[:69]))
    with pytest.raises(RuntimeError, match="matrices that fit"):
        function(numbers(left), True, numbers(right), False, numbers(found))


def test_a_batch_without_rows_has_logits_without_rows_and_no_gradients() -> None:
    game = load_game("donguri", 3)
    policy = make_policy(game)
    logits, values = policy.logits_and_values(torch.zeros(0, game.layout.size, dtype=torch.int8), None)
    assert logits.shape == (0, game.num_actions)
    assert values.shape == (0, 1)
    assert all((gradient == 0).all() for gradient in gradients_of(policy, logits, values))


def test_the_network_computes_in_double_precision_too() -> None:
    game = load_game("pepper")
    layers, numbers = make_policy(game).features_extractor, torch.ones(3, game.layout.size)
    expected = layers(numbers)
    assert torch.allclose(layers.double()(numbers.double()), expected.double(), atol=1e-4)
