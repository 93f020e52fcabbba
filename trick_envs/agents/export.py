"""Policies from anywhere into the arena: a network of any framework becomes an ONNX file that plays.

from trick_envs import export_policy, make_agent

export_policy(model, env, "policy.onnx")
agent = make_agent("policy.onnx", env.unwrapped.game)
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import wrappers

from trick_envs.agents.policy import ILLEGAL_LOGIT, METADATA_KEY, PolicyAgent, masked_logits, policy_metadata
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game
from trick_envs.engine.play_log import layout_of
from trick_envs.engine.registry import load_game
from trick_envs.errors import (
    InputError,
    InputTypeError,
    MissingExtraError,
    checked,
    checked_path,
    in_a_line,
    one_line,
    shown,
)
from trick_envs.files import replacing, try_to_write

try:
    import onnx
    import onnxscript  # noqa: F401  (torch's exporter needs it)
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError(f"export_policy: {error.name} is missing: pip install 'trick_envs[export]'") from None

POSITIONS = 64  # that the exported file is checked on
TOLERANCE = 1e-4  # relative to the largest number

Judgement: TypeAlias = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]  # masked logits, values


def export_policy(policy: Any, game: Any, path: str | os.PathLike[str], run: dict[str, Any] | None = None) -> None:
    """Writes a policy as the ONNX file that ``make_agent``, ``opponents=`` and every ``trick`` command take.

    The file masks illegal actions itself. Before it replaces ``path``, it is opened and compared with the policy in
    random legal positions.

    Args:
        policy: a ``torch.nn.Module``, called as ``module(observation, action_mask)`` with ``(B, D) float32`` and
            ``(B, A) float32`` (1: legal), or as ``module(observation)`` if it takes no more. It returns logits
            ``(B, A)`` (Q-values are fine), or ``(logits, value)`` with values ``(B,)`` or ``(B, 1)``. Or a model of
            Stable-Baselines3, or its policy: actor-critic (``PPO``, ``A2C``, ``MaskablePPO``), ``DQN`` or ``QRDQN``, on
            the vector or on a dict of vector and mask; a ``VecNormalize`` of its environment goes into the file. (A
            model that was loaded without an environment, and a policy, know of none: it is that of ``game`` then.)
        game: the game it plays: a ``Game``, an environment of it, or the name, for the default number of players. If it
            is an environment with ``observation="history"``, this is what the policy sees, also as a player.
        path: the file; it is replaced atomically.
        run: how the policy was trained, JSON-serialisable, for the file's metadata.

    A policy without values gets the value 0 everywhere; only a search that uses them (``+rollout``) is the worse.

    Raises:
        ImportError: without torch, onnx, onnxscript or onnxruntime.
        TypeError: if ``policy``, ``game`` or ``run`` is none of these.
        ValueError: if the module does not take or return what is said above, or the file computes something else than
            the module.
    """
    played, target = _game(game), checked_path(path, "path")
    observation = _observation(game, played)
    size = layout_of(played, observation).size
    try:
        about = json.dumps(policy_metadata(played, run or {}, observation))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputTypeError(f"run: expected what JSON can hold: {error}") from None
    try_to_write(target)
    network = _Exported(_network(policy, game, played, size))
    observations, masks = _positions(played, observation)
    with _for_inference(network):
        expected = _evaluate(network, played, observations, masks)
        for rows in (slice(1), slice(3, 10)):
            alone = _evaluate(network, played, observations[rows], masks[rows])
            _same(
                "the module's", alone, (expected[0][rows], expected[1][rows]), masks[rows], "when asked with fewer rows"
            )
        model = _to_onnx(network, played, size)
    onnx.helper.set_model_props(model, {METADATA_KEY: about})
    content = model.SerializeToString()
    try:
        agent = PolicyAgent(target, played, content=content)
    except InputError as error:
        raise InputError(
            "the module cannot become a policy file; one with len(), loops or branches over rows cannot be followed "
            f"for any number of rows ({str(error).removeprefix(f'{target}: ')})"
        ) from None
    found = agent.evaluate(observations, masks)
    _same("the exported file's", found, expected, masks, "from the module's")
    with replacing(target) as temporary:
        temporary.write_bytes(content)


def _same(whose: str, found: Judgement, expected: Judgement, masks: npt.NDArray[np.float32], how: str) -> None:
    """Checks that two judgements of the same positions are equal.

    Raises:
        ValueError: if they are not.
    """
    for what, one, other in zip(("logits", "values"), found, expected, strict=True):
        legal = masks != 0 if one.ndim == 2 else np.ones(len(one), np.bool_)
        apart, largest = np.abs(one - other)[legal].max(), np.abs(other[legal]).max()
        if not apart <= TOLERANCE * max(1.0, largest):
            raise InputError(
                f"{whose} {what} differ by {apart:.3g} {how} (up to {largest:.3g}): expected a module that computes "
                "the same in every call, for each row from its observation and action_mask alone"
            )


class _Exported(torch.nn.Module):
    """A policy's module with one signature: ``(observation, action_mask) -> (masked logits, value)``."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._takes_mask = len([one for one in _parameters(module) if one.kind in kinds]) != 1

    def outputs(self, observation: torch.Tensor, action_mask: torch.Tensor) -> Any:
        """What the module returns, as a tuple; without a value, the second is ``None``."""
        found = self.module(observation, action_mask) if self._takes_mask else self.module(observation)
        return tuple(found) if isinstance(found, (tuple, list)) else (found, None)

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, value = self.outputs(observation, action_mask)
        value = observation[:, 0] * 0 if value is None else value.reshape(-1)
        return torch.where(action_mask > 0.5, logits, ILLEGAL_LOGIT), value


class _ActorCritic(torch.nn.Module):
    """The actor-critic policy of an SB3 model."""

    def __init__(self, policy: Any, inputs: _Inputs) -> None:
        super().__init__()
        self.policy, self.inputs = policy, inputs

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        layers = self.policy.mlp_extractor
        features = self.policy.extract_features(self.inputs(observation, action_mask))
        actor, critic = features if isinstance(features, tuple) else (features, features)
        logits = self.policy.action_net(layers.forward_actor(actor))
        return logits, self.policy.value_net(layers.forward_critic(critic))


class _QNetwork(torch.nn.Module):
    """The Q-values of an SB3 model, or the means of their quantiles; the value is that of the best legal action."""

    def __init__(self, network: torch.nn.Module, inputs: _Inputs) -> None:
        super().__init__()
        self.network, self.inputs = network, inputs

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values = self.network(self.inputs(observation, action_mask))
        values = values.mean(1) if values.ndim == 3 else values  # (B, quantiles, A)
        best = torch.where(action_mask > 0.5, values, -torch.inf).amax(1)
        return values, torch.where(best > -torch.inf, best, 0.0)


class _Inputs(torch.nn.Module):
    """What an SB3 policy observes: the vector, or a dict of vector and mask; normalised as ``VecNormalize`` did."""

    def __init__(self, space: Any, game: Game, size: int, normalize: Any) -> None:
        super().__init__()
        sizes = {(size,): "observation", (game.num_actions,): "action_mask"}
        parts = getattr(space, "spaces", {None: space})
        shapes = [part.shape for part in parts.values()]
        if not all(shape in sizes for shape in shapes):
            raise InputError(
                f"{game.name} with {game.num_players} players: expected a policy on observations of shape "
                f"({size},), or a dict of these and masks of shape ({game.num_actions},), not on {shapes}"
            )
        self.keys = {key: sizes[part.shape] for key, part in parts.items()}
        self.normalize = normalize if normalize is not None and normalize.norm_obs else None

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> Any:
        given = {"observation": observation, "action_mask": action_mask}
        parts = {key: self._normalized(key, given[name]) for key, name in self.keys.items()}
        return parts.get(None, parts)

    def _normalized(self, key: str | None, part: torch.Tensor) -> torch.Tensor:
        if self.normalize is None or (key is not None and key not in self.normalize.norm_obs_keys):
            return part
        statistics, limit = self.normalize.obs_rms, self.normalize.clip_obs
        if key is not None:
            statistics = statistics[key]
        mean = torch.as_tensor(statistics.mean, dtype=torch.float32)
        scale = torch.as_tensor(np.sqrt(statistics.var + self.normalize.epsilon), dtype=torch.float32)
        return ((part - mean) / scale).clamp(-limit, limit)


def _game(given: Any) -> Game:
    """The game that is meant: itself, by its name, or by an environment of it."""
    if isinstance(given, str):
        return load_game(given)
    found = given if isinstance(given, Game) else _of_environment(given, "game")
    if isinstance(found, Game):
        return found
    raise InputTypeError(
        f"game: expected a game's name, load_game(…), or an environment of trick_envs, not {shown(given)}"
    )


def _of_environment(given: Any, name: str) -> Any:
    """An attribute of an environment, inside of wrappers, too, or of the first of several; ``None`` if it has none."""
    try:
        if callable(getattr(given, "get_attr", None)):  # a VecEnv of SB3, or a vector of single ones of Gymnasium
            return given.get_attr(name)[0]
        return getattr(given, name, None) or getattr(given.unwrapped, name)
    except AttributeError:
        return None


def _of_vec_env(given: Any) -> Any:
    """SB3's module of them, if this is a ``VecEnv``: who has one has imported it. Else ``None``."""
    module = sys.modules.get("stable_baselines3.common.vec_env")
    return module if module is not None and isinstance(given, module.VecEnv) else None


def _observation(given: Any, game: Game) -> str:
    """What a policy sees that plays there: ``"history"`` in an environment that shows it."""
    return "history" if _of_environment(given, "layout") == layout_of(game, "history") else "position"


def _network(policy: Any, given: Any, game: Game, size: int) -> torch.nn.Module:
    """The module of a policy: itself, or what an SB3 model consists of.

    A model that has no environment, or a policy alone, saw what the environment shows that is ``given``.
    """
    if not isinstance(policy, torch.nn.Module) and isinstance(getattr(policy, "policy", None), torch.nn.Module):
        given = given if policy.get_env() is None else policy.get_env()
        policy = policy.policy
    vec_env = _of_vec_env(given)
    normalize = None if vec_env is None else vec_env.unwrap_vec_normalize(given)
    checked(policy, torch.nn.Module, "policy", "a torch.nn.Module or a model of Stable-Baselines3")
    policy = _unwrapped(policy)
    sb3 = sys.modules.get("stable_baselines3.common.policies")  # who has such a model has imported it
    own = sb3 is None or not isinstance(policy, sb3.BasePolicy)
    if _normalised(given) or (own and normalize is not None and normalize.norm_obs):
        raise InputError(
            "game: an environment that normalises observations, which players do not get: let the module do it, and "
            "give the game alone; VecNormalize of Stable-Baselines3 goes into the file with its own policies"
        )
    if own:
        return policy
    inputs = _Inputs(policy.observation_space, game, size, normalize)
    for name in ("q_net", "quantile_net"):
        if hasattr(policy, name):
            return _QNetwork(getattr(policy, name), inputs)
    if hasattr(policy, "mlp_extractor") and not hasattr(policy, "lstm_actor"):
        return _ActorCritic(policy, inputs)
    raise InputTypeError(
        f"policy: expected an actor-critic, DQN or QRDQN policy of Stable-Baselines3, not {type(policy).__name__}; "
        "wrap it in a torch.nn.Module that takes (observation, action_mask) and returns logits"
    )


def _normalised(given: Any) -> bool:
    """Whether an environment shows what Gymnasium's ``NormalizeObservation`` makes of observations."""
    if _of_vec_env(given) is not None:
        return any(given.env_is_wrapped(wrappers.NormalizeObservation))
    if isinstance(given, (wrappers.NormalizeObservation, wrappers.vector.NormalizeObservation)):
        return True
    inner = getattr(given, "env", None), *getattr(given, "envs", ())  # of a wrapper, and of SyncVectorEnv
    return any(_normalised(one) for one in inner if one is not None)


def _parameters(module: torch.nn.Module) -> list[inspect.Parameter]:
    """What ``forward`` takes; nothing if nobody knows (TorchScript)."""
    try:
        return list(inspect.signature(module.forward).parameters.values())
    except ValueError:
        return []


def _unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The module inside ``torch.compile``, ``DataParallel`` and the like, which take any arguments and pass them on."""
    while True:
        inner = [getattr(module, name, None) for name in ("_orig_mod", "module")]
        inside = next((one for one in inner if isinstance(one, torch.nn.Module)), None)
        if inside is None or not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in _parameters(module)):
            return module
        module = inside


def _positions(game: Game, observation: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Observations ``(B, D)`` and masks ``(B, A)`` of random play, each at another move of a match."""
    options: dict[str, Any] = {"num_players": game.num_players, "num_deals": game.num_deals, **game.options}
    games, rng = BatchEnv(game.name, POSITIONS, observation=observation, **options), np.random.default_rng(0)
    games.reset(seed=0)
    for move in range(1, POSITIONS):
        likes = rng.random(games.action_masks[move:].shape)
        games.step((likes * games.action_masks[move:]).argmax(1), np.arange(move, POSITIONS))
    return games.observations.astype(np.float32), games.action_masks.astype(np.float32)


def _evaluate(
    network: _Exported, game: Game, observations: npt.NDArray[np.float32], masks: npt.NDArray[np.float32]
) -> Judgement:
    """Masked logits and values, as the module itself computes them.

    Raises:
        ValueError: if it does not take such arrays, or returns something else.
    """
    wanted = (
        f"{game.name} with {game.num_players} players has observations (B, {observations.shape[1]}) and action masks "
        f"(B, {game.num_actions}), and expects logits (B, {game.num_actions})"
    )
    given, rows = (torch.tensor(observations), torch.tensor(masks)), len(masks)
    try:
        with torch.no_grad():
            parts = network.outputs(*given)
    except Exception as error:
        raise InputError(f"the module fails on B = {rows}: {wanted} ({in_a_line(error)})") from error
    if not (np.array_equal(given[0].numpy(), observations) and np.array_equal(given[1].numpy(), masks)):
        raise InputError("the module changes what it is given: expected one that leaves both its inputs as they are")
    dense = [isinstance(part, torch.Tensor) and part.layout is torch.strided for part in parts]
    shapes = [
        None if part is None else tuple(part.shape) if has_shape else (type(part).__name__,)
        for part, has_shape in zip(parts, dense, strict=True)
    ]
    fits = len(parts) == 2 and shapes[0] == masks.shape and shapes[1] in (None, (rows,), (rows, 1))
    if not fits:
        raise InputError(
            f"the module returns shapes {shapes} for B = {rows}: {wanted}, alone or with values (B,) or (B, 1)"
        )
    with torch.no_grad():
        judged = network(*given)
    if not all(one.dtype == torch.float32 for one in judged):
        raise InputError(
            f"the module returns {' and '.join(str(one.dtype) for one in judged)}, not torch.float32 numbers"
        )
    logits, values = (one.numpy() for one in judged)
    if not (np.isfinite(logits[masks != 0]).all() and np.isfinite(values).all()):
        raise InputError("the module judges a position, or a legal action, with what is no finite number")
    return masked_logits(logits, masks != 0), values


@contextlib.contextmanager
def _for_inference(module: torch.nn.Module) -> Iterator[None]:
    """In this block the module is on the CPU and not in training mode.

    Raises:
        ValueError: if its weights are nowhere.
    """
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    if any(each.is_meta for each in (*module.parameters(), *module.buffers())):
        raise InputError("the module has weights without numbers (on the device meta): load them first")
    modes = {part: part.training for part in module.modules()}
    try:
        module.to("cpu").eval()
    except Exception as error:  # NotImplementedError of what torch.export has made
        raise InputError(f"the module has no mode for inference ({in_a_line(error)})") from error
    try:
        yield
    finally:
        module.to(device)
        for part, mode in modes.items():
            part.training = mode


def _to_onnx(network: _Exported, game: Game, size: int) -> Any:
    """The module as an ONNX model, for any number of rows."""
    example = torch.zeros(2, size), torch.ones(2, game.num_actions)
    batch = torch.export.Dim("batch")
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                network,
                example,
                input_names=["observation", "action_mask"],
                output_names=["logits", "value"],
                dynamic_shapes=({0: batch}, {0: batch}),
                dynamo=True,
                optimize=False,  # the weights keep names and shapes, for trick train's start; the runtime optimizes
                verbose=False,
            )
    except Exception as error:
        cause = (str(error.__cause__ or error).splitlines() or [""])[0]
        if any(isinstance(part, torch.jit.ScriptModule) for part in network.modules()):
            cause = "it holds TorchScript of torch.jit.script: expected the module that this was made from"
        told = f"{type(error).__name__}: {one_line(cause)}"
        raise InputError(f"torch.export cannot follow the module ({told})") from error
    assert program is not None
    model = program.model_proto
    for part in (*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info, model.graph):
        part.ClearField("metadata_props")  # the exporter's stack traces, with the paths of this machine
        part.ClearField("doc_string")
    return model


@contextlib.contextmanager
def _quiet_exporter() -> Iterator[None]:
    """Silences the exporter's warnings about itself: about torchvision, and about future changes."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
