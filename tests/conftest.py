"""What all tests share."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pettingzoo.utils.env_logger import EnvLogger

import trick_envs
from trick_envs.agents.policy import METADATA_KEY, policy_metadata


@pytest.fixture(autouse=True)
def _quiet():
    """PettingZoo prints its warnings."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()
    EnvLogger.flush()


@pytest.fixture
def policy_file(tmp_path):
    """A policy of Pepper that likes high numbers, as an ONNX file."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, game = onnx.helper, trick_envs.load_game("pepper")
    kinds = [("observation", game.layout.size), ("action_mask", game.num_actions)]
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size]) for name, size in kinds]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("logits", "value")]
    likes = np.arange(game.num_actions, dtype=np.float32) / 10
    constants = [
        onnx.numpy_helper.from_array(likes, "likes"),
        onnx.numpy_helper.from_array(np.array(1, np.float32), "one"),
        onnx.numpy_helper.from_array(np.array(1e9, np.float32), "never"),
    ]
    nodes = [
        helper.make_node("Sub", ["action_mask", "one"], ["forbidden"]),
        helper.make_node("Mul", ["forbidden", "never"], ["penalty"]),
        helper.make_node("Add", ["likes", "penalty"], ["logits"]),
        helper.make_node("ReduceSum", ["observation"], ["value"], keepdims=0),
    ]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {METADATA_KEY: json.dumps(policy_metadata(game, {}))})
    path = tmp_path / "policy.onnx"
    onnx.save(model, str(path))
    return path
