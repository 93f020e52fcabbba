"""Where a run gets its first weights from: the policy of another run, or the one that comes with the game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import numpy_helper

from training.config import load_config
from training.suit_kernels import OF_HELD
from trick_envs.agents.policy import PolicyAgent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_policy
from trick_envs.engine.game import Game
from trick_envs.errors import InputError

LARGEST = 10_000  # weight: learning with numbers that are much larger, or none, ends in what is no number


def initial_file(init_from: str, game: Game) -> Path:
    """The file that ``init_from`` in a config means.

    Raises:
        ValueError: if there is none.
    """
    path = pretrained_policy(game) if init_from == PRETRAINED else Path(init_from)
    if not path.is_file():
        found = "a folder: expected a policy.onnx or policy.zip in it" if path.is_dir() else "there is no such file"
        raise InputError(f"init_from: {init_from}: {found}")
    return path


def network_of(init_from: str, game: Game) -> dict[str, int]:
    """Width and depth of the network whose weights ``init_from`` has.

    Raises:
        ValueError: if there is no such file, or it does not say which network it is.
    """
    path = initial_file(init_from, game)
    if path.suffix != ".onnx":
        config = load_config(path.with_name("config.yaml"))
        return {"width": config.width, "depth": config.depth}
    network = PolicyAgent(path, game).metadata.get("run", {}).get("network")
    if not isinstance(network, dict) or not all(isinstance(network.get(key), int) for key in ("width", "depth")):
        raise InputError(f"init_from: {init_from} does not say which network it is: expected a policy from trick train")
    return {key: network[key] for key in ("width", "depth")}


def load_initial(model: Any, init_from: str, game: Game) -> None:
    """Gives a model its first weights.

    Args:
        model: of SB3, with a ``torch.nn.Module``.
        init_from: ``pretrained``, or the path of a ``policy.onnx`` or of a ``policy.zip``.
        game: which is learned.

    Raises:
        ValueError: if there is no such file, or it is for another game or another network.
    """
    path = initial_file(init_from, game)
    if path.suffix == ".onnx":
        checked = PolicyAgent(path, game)  # says what is wrong if it is for another game
        _load_weights(model.policy, checked.content, init_from)
    else:
        try:
            model.set_parameters(str(path), device=model.device)
        except Exception:  # a damaged zip, or what it holds, has many errors
            raise InputError(f"init_from: {init_from} is not a policy.zip of this game and this network") from None
    for name, parameter in model.policy.named_parameters():
        if not (parameter.abs() <= LARGEST).all():
            raise InputError(f"init_from: {init_from}: expected weights from {-LARGEST:,} to {LARGEST:,} in its {name}")


def _load_weights(policy: torch.nn.Module, content: bytes, init_from: str) -> None:
    """The weights of a policy file, which have the names of the network's (``export_policy`` keeps them)."""
    held = {one.name: numpy_helper.to_array(one) for one in onnx.load_from_string(content).graph.initializer}
    layers: Any = policy.features_extractor
    shared: dict[torch.nn.Parameter, list[str]] = {}  # all names of each: policy and value share their first layers
    for name, parameter in policy.named_parameters(remove_duplicate=False):
        shared.setdefault(parameter, []).append(name)
    with torch.no_grad():
        for parameter, names in shared.items():
            found = [array for key, array in held.items() if key.endswith(tuple(f".{name}" for name in names))]
            if layers.first.weight is parameter:
                found = [_with_held(array, layers.columns) for array in found]
            shapes = [array.shape for array in found]
            if shapes != [parameter.shape]:
                there = " and ".join(map(str, shapes)) or "missing"
                raise InputError(
                    f"init_from: {init_from} is a policy of another network: its {names[0]} is {there}, but that of "
                    f"the config is {tuple(parameter.shape)}"
                )
            parameter.copy_(torch.from_numpy(np.array(found[0])))


def _with_held(weights: npt.NDArray[np.float32], columns: Any) -> npt.NDArray[np.float32]:
    """Those of a first layer; zeros for what it did not know of the cards in the hand, as policies of version 1.0.0."""
    numbers = OF_HELD * columns.ranks
    if weights.shape[1] != columns.per_suit - numbers:
        return weights
    return np.insert(weights, [columns.held_at] * numbers, 0.0, axis=1)
