"""Policy files from strangers: whatever is damaged or hostile is one sentence as the file is loaded."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import every_table

from trick_envs import BatchEnv, load_game, make_agent
from trick_envs.agents.onnx_file import MAX_BYTES, read_graph
from trick_envs.agents.onnx_sizes import BatchSize, sizes_of
from trick_envs.agents.policy import ILLEGAL_LOGIT, METADATA_KEY, PolicyError, policy_metadata
from trick_envs.agents.pretrained import pretrained_policy
from trick_envs.engine.build.cache import cache_root
from trick_envs.errors import InputError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
helper, array = onnx.helper, onnx.numpy_helper.from_array
FLOAT, INT64, BOOL, STRING = (onnx.TensorProto.DataType.Value(name) for name in ("FLOAT", "INT64", "BOOL", "STRING"))

GAME = load_game("pepper")
SIZE, CARDS = GAME.layout.size, GAME.num_actions


def info(name: str, shape: Any, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


INPUTS = [info("observation", ["n", SIZE]), info("action_mask", ["n", CARDS])]
OUTPUTS = [info("logits", None), info("value", None)]
CONSTANTS = {
    "likes": np.arange(CARDS, dtype=np.float32), "one": np.int64([1]), "zero": np.float32(0), "row": np.int64([0]),
}  # fmt: skip
VALUE = node("ReduceSum", "observation one", "value", keepdims=0)
LOGITS = node("Mul", "action_mask likes", "logits")
LIKED = node("Mul", "action_mask likes", "liked")


def model(
    *nodes: Any, inputs: Any = INPUTS, outputs: Any = OUTPUTS, constants: Any = (), metadata: Any = None, **more: Any
) -> Any:
    """A model of these nodes, with the metadata of a policy."""
    given = {**CONSTANTS, **dict(constants)}
    held = [
        array(np.asarray(one), name) if not isinstance(one, onnx.TensorProto) else one for name, one in given.items()
    ]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, held)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, **more)
    text = json.dumps(policy_metadata(GAME, {})) if metadata is None else metadata
    helper.set_model_props(made, {METADATA_KEY: text})
    return made


def load(content: Any, tmp_path: Path) -> Any:
    path = tmp_path / "policy.onnx"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return make_agent(str(path), GAME)


def refused(content: Any, tmp_path: Path, message: str = "", seconds: float = 20.0) -> None:
    """One sentence as it is loaded, and soon."""
    began = time.monotonic()
    with pytest.raises(InputError) as found:
        load(content, tmp_path)
    said = str(found.value)
    assert "\n" not in said
    assert said.isprintable()
    assert len(said) < 1000
    assert said.startswith(str(tmp_path))
    assert message in said
    assert time.monotonic() - began < seconds


def huge(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    """A policy that has a large thing somewhere: its sum counts among the logits."""
    return [
        node(kind, inputs, outputs, **attributes),
        node("ReduceMax", outputs.split()[0], "largest", keepdims=0),
        node("Add", "likes largest", "liked"),
        node("Mul", "action_mask liked", "logits"),
        VALUE,
    ]


def body(*nodes: Any) -> Any:
    return helper.make_graph(nodes, "body", [], [info("inner", None)])


def external(location: str) -> Any:
    tensor = onnx.TensorProto(name="likes", data_type=FLOAT, dims=[CARDS])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def loop(condition: bool) -> Any:
    """A loop that ends after 2**62 turns, or never."""
    inner = helper.make_graph(
        [node("Identity", "go", "on"), node("Identity", "sum", "after")], "body",
        [info("turn", [], INT64), info("go", [], BOOL), info("sum", [])], [info("on", [], BOOL), info("after", [])],
    )  # fmt: skip
    constants = {"turns": np.int64(2**62), "true": np.bool_(True)}
    looping = helper.make_node("Loop", ["" if condition else "turns", "true", "zero"], ["end"], body=inner)
    return model(
        looping,
        node("Add", "likes end", "liked"),
        node("Mul", "action_mask liked", "logits"),
        VALUE,
        constants=constants,
    )


def nested(depth: int) -> Any:
    graph = body(node("Identity", "zero", "inner"))
    for _ in range(depth):
        branch = helper.make_node("If", ["yes"], ["inner"], then_branch=graph, else_branch=graph)
        graph = body(branch)
        if graph.ByteSize() > 1 << 20:
            break
    return model(
        helper.make_node("If", ["yes"], ["logits"], then_branch=graph, else_branch=graph),
        VALUE,
        constants={"yes": np.bool_(True)},
    )


def function() -> Any:
    made = helper.make_function("own", "f", ["x"], ["y"], [node("Identity", "x", "y")], [helper.make_opsetid("", 17)])
    calling = model(LOGITS, helper.make_node("f", ["likes"], ["more"], domain="own"), VALUE, functions=[made])
    calling.opset_import.append(helper.make_opsetid("own", 1))
    return calling


def doubling(times: int) -> Any:
    """Its last tensor has 2**times numbers."""
    nodes = [node("Concat", f"x{k} x{k}", f"x{k + 1}", axis=0) for k in range(times)]
    return model(*nodes, *huge("Identity", f"x{times}", "last"), constants={"x0": np.float32([1])})


def long_work() -> Any:
    nodes = [node("MatMul", "x0 w", "x1")] + [node("MatMul", f"x{k} w", f"x{k + 1}") for k in range(1, 2000)]
    constants = {"w": np.zeros((1000, 1000), np.float32), "x0": np.zeros((1000, 1000), np.float32)}
    return model(*nodes, *huge("Identity", "x2000", "last"), constants=constants)


def much_reading() -> Any:
    """Many numbers for a row, of which many sums are made: little is written, much is read."""
    axes = [list(some) for length in range(6) for some in itertools.combinations(range(1, 6), length)]
    kinds = ("L1", "L2", "LogSumExp", "Max", "Mean", "Min", "Prod", "SumSquare")
    made = [
        (node(f"Reduce{kind}", "x", f"r{k}{kind}", axes=[*some, 6]), node("Reshape", f"r{k}{kind} flat", f"s{k}{kind}"))
        for kind in kinds
        for k, some in enumerate(axes)
    ]
    return model(
        node("ReduceMax", "observation", "most", axes=[1]), node("ConstantOfShape", "wide", "large"),
        node("Reshape", "most shape", "rows"), node("MatMul", "rows large", "x"),
        *(one for pair in made for one in pair),
        node("Sum", " ".join(sum_.output[0] for _, sum_ in made), "sum"),
        node("Add", "likes sum", "liked"), node("Mul", "action_mask liked", "logits"), VALUE,
        constants={"wide": np.int64([1, 1 << 22]), "shape": np.int64([0, 1, 1, 1, 1, 1, 1]),
                   "flat": np.int64([-1, 1])},
    )  # fmt: skip


def large_rows(*nodes: Any, last: str) -> Any:
    """A policy with 4 million numbers a row, named x0; of the number a row ``last`` it makes nothing."""
    return model(
        node("ReduceMax", "observation", "most", axes=[1]), node("ConstantOfShape", "wide", "large"),
        node("MatMul", "most large", "x0"), *nodes,
        node("Mul", f"{last} zero", "nothing"), node("Add", "action_mask nothing", "liked"),
        node("Mul", "liked likes", "logits"), VALUE,
        constants={"wide": np.int64([1, 1 << 22]), "parts": np.int64([(1 << 22) - 1, 1])},
    )  # fmt: skip


def never_read() -> Any:
    """At most 8 million numbers a row are still to be read, but onnxruntime keeps what nothing reads."""
    nodes = [node("Split", "x0 parts", "rest0 x1", axis=1)]
    for k in range(1, 21):
        nodes += [
            node("MatMul", f"x{k} large", f"wide{k}"),
            node("Split", f"wide{k} parts", f"rest{k} x{k + 1}", axis=1),
        ]
    return large_rows(*nodes, last="x21")


def read_late() -> Any:
    """In the order of the file there are few numbers at a time; onnxruntime makes all before it reads any twice."""
    nodes = []
    for k in range(1, 31):
        nodes += [node("MatMul", f"most{k} large", f"x{k}"), node("ReduceMax", f"x{k}", f"top{k}", axes=[1]),
                  node("ReduceMin", f"x{k}", f"low{k}", axes=[1])]  # fmt: skip
    more = [node("Cos" if k % 2 else "Sin", f"most{k - 1}" if k > 1 else "most", f"most{k}") for k in range(1, 31)]
    tops, lows = (" ".join(f"{name}{k}" for k in range(1, 31)) for name in ("top", "low"))
    sums = node("Sum", tops, "tops"), node("Mul", "tops tops", "square"), node("Sum", f"square {lows}", "last")
    return large_rows(*more, *nodes, *sums, last="last")


def whole(kind: str, by: int) -> Any:
    """The least integer, if the lead is legal, divided by a number."""
    return model(
        node("Cast", "action_mask", "int", to=INT64), node("Mul", "int least", "large"), node(kind, "large by", "r"),
        node("Cast", "r", "float", to=FLOAT), node("Add", "float likes", "liked"),
        node("Mul", "action_mask liked", "logits"), VALUE,
        constants={"least": np.int64(-(2**63)), "by": np.int64(by)},
    )  # fmt: skip


def torn(share: float) -> bytes:
    content = model(LOGITS, VALUE).SerializeToString()
    return content[: int(len(content) * share)]


def flipped(seed: int) -> bytes:
    """A file of which some bytes are others, outside its metadata."""
    content = bytearray(model(LOGITS, VALUE).SerializeToString())
    rng = np.random.default_rng(seed)
    for at in rng.integers(content.index(METADATA_KEY.encode()), size=2):
        content[at] = rng.integers(256)
    return bytes(content)


def with_opset(version: int, *nodes: Any, **more: Any) -> Any:
    made = model(*(nodes or (LOGITS, VALUE)), **more)
    made.opset_import[0].version = version
    return made


def by_a_number(*nodes: Any, **constants: Any) -> Any:
    """A policy with a large tensor of a size that onnxruntime finds otherwise than Python does."""
    large = [node("Expand", "zero size", "x"), node("ReduceMax", "x", "most", keepdims=0)]
    return model(
        *nodes, *large, node("Add", "likes most", "liked"), node("Mul", "action_mask liked", "logits"), VALUE,
        constants=constants,
    )  # fmt: skip


def twice_the_graph() -> bytes:
    """Readers of Protocol Buffers join the two."""
    other = onnx.ModelProto(graph=helper.make_graph([node("Identity", "likes", "logits")], "more", [], []))
    return model(LOGITS, VALUE).SerializeToString() + other.SerializeToString()


def _with_entry(key: str) -> Any:
    made = model(LOGITS, VALUE)
    made.metadata_props.add(key=key, value="{}")
    return made


METADATA = policy_metadata(GAME, {})
LARGE = 10**10

HOSTILE: dict[str, tuple[Callable[[], Any], str]] = {
    # what is no policy
    "empty": (lambda: b"", "it has no"),
    "text": (lambda: b"a text, and no policy", "not a policy"),
    "zeros": (lambda: bytes(4096), "not a policy"),
    "page": (lambda: b"<html>" + b"x" * 5000, "no ONNX file"),
    "graphless": (lambda: onnx.ModelProto(ir_version=9), "it has no graph"),
    "two graphs": (twice_the_graph, "graph stands twice"),
    "unknown field": (lambda: model(LOGITS, VALUE).SerializeToString() + b"\xf8\x3f\x01", "unknown"),
    "old operators": (lambda: with_opset(6), "before 2018"),
    "future operators": (lambda: with_opset(9000), "not a policy"),
    # inputs and outputs
    "no mask": (lambda: model(node("Tile", "likes one", "logits"), VALUE, inputs=INPUTS[:1]), "its inputs are"),
    "another input": (lambda: model(LOGITS, VALUE, inputs=[*INPUTS, info("more", ["n", 1])]), "its inputs are"),
    "renamed input": (
        lambda: model(node("Mul", "mask likes", "logits"), VALUE, inputs=[INPUTS[0], info("mask", ["n", CARDS])]),
        "its inputs are",
    ),
    "no value": (lambda: model(LOGITS, outputs=OUTPUTS[:1]), "no output 'value'"),
    "no logits": (lambda: model(VALUE, outputs=OUTPUTS[1:]), "no output 'logits'"),
    "logits that nothing writes": (lambda: model(VALUE), "no output 'logits'"),
    "integers in": (
        lambda: model(LOGITS, VALUE, inputs=[info("observation", ["n", SIZE], INT64), INPUTS[1]]),
        "float32",
    ),
    "texts in": (lambda: model(LOGITS, VALUE, inputs=[info("observation", ["n", SIZE], STRING), INPUTS[1]]), "float32"),
    "integers out": (
        lambda: model(
            node("Cast", "action_mask", "logits", to=INT64), VALUE, outputs=[info("logits", None, INT64), OUTPUTS[1]]
        ),
        "not float32",
    ),
    "texts out": (
        lambda: model(
            node("Cast", "action_mask", "logits", to=STRING), VALUE, outputs=[info("logits", None, STRING), OUTPUTS[1]]
        ),
        "not",
    ),
    "a sequence out": (
        lambda: model(
            node("SequenceConstruct", "action_mask", "logits"),
            VALUE,
            outputs=[helper.make_tensor_sequence_value_info("logits", FLOAT, None), OUTPUTS[1]],
        ),
        "no policy needs",
    ),
    "a sequence in": (
        lambda: model(
            LOGITS, VALUE, inputs=[helper.make_tensor_sequence_value_info("observation", FLOAT, None), INPUTS[1]]
        ),
        "a sequence",
    ),
    "scalars": (lambda: model(node("ReduceSum", "observation", "logits", keepdims=0), VALUE), "has the shape []"),
    "rank 3": (lambda: model(LIKED, node("Unsqueeze", "liked one", "logits"), VALUE), "has the shape [n, 1, 60]"),
    "one row for all": (lambda: model(node("Unsqueeze", "likes row", "logits"), VALUE), "has the shape [1, 60]"),
    "no rows": (lambda: model(node("Identity", "likes", "logits"), VALUE), "has the shape [60]"),
    "one value for all": (
        lambda: model(LOGITS, node("ReduceSum", "observation", "value", keepdims=0)),
        "has the shape []",
    ),
    "a value of all columns": (
        lambda: model(LOGITS, node("Identity", "observation", "value")),
        f"has the shape [n, {SIZE}]",
    ),
    "too few logits": (lambda: model(node("Relu", "observation", "logits"), VALUE), f"has the shape [n, {SIZE}]"),
    "rows and columns changed": (
        lambda: model(LIKED, node("Transpose", "liked", "logits"), VALUE),
        "has the shape [60, n]",
    ),
    "two rows only": (
        lambda: model(LOGITS, VALUE, inputs=[info("observation", [2, SIZE]), INPUTS[1]]),
        "has the shape [2",
    ),
    "one row only": (
        lambda: model(LOGITS, VALUE, inputs=[info("observation", [1, SIZE]), INPUTS[1]]),
        "has the shape [1",
    ),
    "another width": (
        lambda: model(LOGITS, VALUE, inputs=[info("observation", ["n", 471]), INPUTS[1]]),
        f"of {SIZE} numbers",
    ),
    "a batch in itself": (
        lambda: model(
            LIKED,
            node("Transpose", "liked", "turned"),
            node("MatMul", "liked turned", "square"),
            VALUE,
            node("MatMul", "square liked", "logits"),
        ),
        "compares rows with each other",
    ),
    "rows that count together": (
        lambda: model(LIKED, node("Softmax", "liked", "logits", axis=0), VALUE),
        "depends on the other rows",
    ),
    "the first row for all": (
        lambda: model(
            node("Gather", "observation row", "first", axis=0),
            node("ReduceSum", "first", "sum", keepdims=0),
            node("Add", "likes sum", "liked"),
            node("Mul", "action_mask liked", "logits"),
            node("ReduceMean", "observation", "mean", axes=[0], keepdims=1),
            node("Mul", "observation mean", "x"),
            node("ReduceSum", "x one", "value", keepdims=0),
        ),
        "depends on the other rows",
    ),
    # numbers
    "no number": (
        lambda: model(
            node("Sqrt", "minus", "nan"),
            node("Add", "action_mask nan", "logits"),
            VALUE,
            constants={"minus": np.float32(-1)},
        ),
        "no finite number",
    ),
    "infinity": (lambda: model(node("Div", "action_mask zero", "logits"), VALUE), "no finite number"),
    "no value that is a number": (
        lambda: model(
            LOGITS, node("ReduceSum", "observation one", "sum", keepdims=0), node("Div", "sum zero", "value")
        ),
        "no finite number",
    ),
    # what reads files or runs code
    "external data": (lambda: model(LOGITS, VALUE, constants={"likes": external("weights.bin")}), "external data"),
    "external data above": (
        lambda: model(LOGITS, VALUE, constants={"likes": external("../weights.bin")}),
        "external data",
    ),
    "external data by root": (
        lambda: model(LOGITS, VALUE, constants={"likes": external("/etc/passwd")}),
        "external data",
    ),
    "custom operator": (
        lambda: model(helper.make_node("Run", ["action_mask"], ["logits"], domain="com.microsoft"), VALUE),
        "no operator of ONNX",
    ),
    "function": (function, "functions of its own"),
    "unknown operator": (lambda: model(node("Exec", "action_mask", "logits"), VALUE), "no policy needs"),
    "random numbers": (
        lambda: model(LIKED, node("RandomUniformLike", "liked", "logits"), VALUE),
        "draws random numbers",
    ),
    "dropout": (
        lambda: model(
            LIKED,
            helper.make_node("Dropout", ["liked", "", "yes"], ["logits"]),
            VALUE,
            constants={"yes": np.bool_(True)},
        ),
        "draws random numbers",
    ),
    # what is endless, or large
    "long loop": (lambda: loop(False), "a graph within the graph"),
    "endless loop": (lambda: loop(True), "a graph within the graph"),
    "nested branches": (lambda: nested(12), "a graph within the graph"),
    "huge constant": (
        lambda: model(*huge("ConstantOfShape", "size", "x"), constants={"size": np.int64([LARGE])}),
        "numbers",
    ),
    "huge cube": (
        lambda: model(*huge("ConstantOfShape", "size", "x"), constants={"size": np.int64([4000, 4000, 4000])}),
        "numbers",
    ),
    "negative size": (
        lambda: model(*huge("ConstantOfShape", "size", "x"), constants={"size": np.int64([-4])}),
        "makes a tensor of shape",
    ),
    "huge expansion": (
        lambda: model(*huge("Expand", "zero size", "x"), constants={"size": np.int64([LARGE])}),
        "numbers",
    ),
    "huge tile": (lambda: model(*huge("Tile", "likes size", "x"), constants={"size": np.int64([LARGE])}), "numbers"),
    "huge range": (
        lambda: model(
            *huge("Range", "from to by", "x"), constants={"from": np.int64(0), "to": np.int64(LARGE), "by": np.int64(1)}
        ),
        "numbers",
    ),
    "huge padding": (
        lambda: model(*huge("Pad", "likes size", "x"), constants={"size": np.int64([0, LARGE])}),
        "numbers",
    ),
    "huge choice": (
        lambda: model(
            *huge("OneHot", "one depth both", "x"), constants={"depth": np.int64(LARGE), "both": np.float32([0, 1])}
        ),
        "numbers",
    ),
    "huge gather": (
        lambda: model(
            node("Expand", "row size", "many"),
            *huge("Gather", "likes many", "x"),
            constants={"size": np.int64([LARGE])},
        ),
        "numbers",
    ),
    "huge product": (
        lambda: model(
            *huge("MatMul", "a b", "x"),
            constants={"a": np.zeros((30000, 1), np.float32), "b": np.zeros((1, 30000), np.float32)},
        ),
        "numbers",
    ),
    "huge sum": (
        lambda: model(
            *huge("Add", "a b", "x"),
            constants={"a": np.zeros((30000, 1), np.float32), "b": np.zeros((1, 30000), np.float32)},
        ),
        "numbers",
    ),
    "huge for each row": (
        lambda: model(
            node("Unsqueeze", "observation two", "x3"),
            *huge("MatMul", "x3 b", "x"),
            constants={"b": np.zeros((1, 300000), np.float32), "two": np.int64([2])},
        ),
        "numbers",
    ),
    "doubling": (lambda: doubling(60), "numbers"),
    "a size from what is seen": (
        lambda: model(
            node("ReduceMax", "observation", "most", keepdims=0),
            node("Cast", "most", "int", to=INT64),
            node("Unsqueeze", "int row", "size"),
            *huge("ConstantOfShape", "size", "x"),
        ),
        "hang on what is observed",
    ),
    "places from what is seen": (lambda: model(*huge("NonZero", "observation", "x")), "no policy needs"),
    "long work": (long_work, "computes more than"),
    "much reading": (much_reading, "computes more than"),
    "huge rests that nothing reads": (never_read, "it makes"),
    "huge rows that are read late": (read_late, "it makes"),
    "huge texts": (
        lambda: large_rows(
            node("Cast", "x0", "text", to=STRING),
            node("Cast", "text", "x", to=FLOAT),
            node("ReduceMax", "x", "last", axes=[1]),
            last="last",
        ),
        "makes texts",
    ),
    "huge slope": (
        lambda: model(
            *huge("PRelu", "a b", "x"),
            constants={"a": np.zeros((1, 30000), np.float32), "b": np.zeros((30000, 1), np.float32)},
        ),
        "joins the shapes",
    ),
    # what onnxruntime takes otherwise than one may think: it would be large, or mix the rows, or end the program
    "a large rest": (
        lambda: by_a_number(
            node("Mod", "a b", "c", fmod=1),
            node("Add", "c two", "size"),
            a=np.int64([LARGE]),
            b=np.int64([-LARGE - 1]),
            two=np.int64([2]),
        ),
        "hang on what is observed",
    ),
    "a size that nothing has written": (
        lambda: with_opset(
            19,
            node("Cast", "two", "some", to=INT64, saturate=7),
            *huge("ConstantOfShape", "some", "x"),
            constants={"two": np.float32([2])},
        ),
        "saturate 7: expected 0 or 1",
    ),
    "backwards from before the first": (
        lambda: by_a_number(
            node("Slice", "many before end row back", "size"),
            many=np.int64([LARGE]),
            before=np.int64([-100]),
            end=np.int64([-5]),
            back=np.int64([-1]),
        ),
        "numbers",
    ),
    "backwards to beyond the last": (
        lambda: by_a_number(
            node("Slice", "many row end row back", "size"),
            many=np.int64([LARGE]),
            end=np.int64([2**63 - 1]),
            back=np.int64([-1]),
        ),
        "do not fit",
    ),
    "sums of nothing": (
        lambda: with_opset(
            13,
            *huge("ReduceMean", "nothing", "x", axes=[0, 1]),
            constants={"nothing": np.zeros((LARGE, 0), np.float32)},
        ),
        "brings no numbers together",
    ),
    "the largest of nothing": (
        lambda: model(
            node("ArgMax", "nothing", "k", axis=1),
            node("Cast", "k", "x", to=FLOAT),
            *huge("Identity", "x", "more"),
            constants={"nothing": np.zeros((LARGE, 0), np.float32)},
        ),
        "brings no numbers together",
    ),
    # what onnxruntime ends the whole program for
    **{
        f"{name} of nothing": (
            lambda node_of_nothing=node_of_nothing, given=given: model(
                node_of_nothing,
                node("ReduceMax", "x", "most", keepdims=0),
                node("Mul", "most zero", "nil"),
                node("Add", "likes nil", "liked"),
                LOGITS,
                VALUE,
                constants={key: np.ones(shape, np.float32) for key, shape in given.items()},
            ),
            "brings no numbers together",
        )
        for name, node_of_nothing, given in [
            ("a norm", node("InstanceNormalization", "a s s", "x"), {"a": (1, 4, 0), "s": (4,)}),
            ("inputs", node("GRU", "a w r", "x h", hidden_size=3), {"a": (2, 1, 0), "w": (1, 9, 0), "r": (1, 9, 3)}),
            ("steps", node("GRU", "a w r", "x h", hidden_size=3), {"a": (0, 1, 4), "w": (1, 9, 4), "r": (1, 9, 3)}),
            ("rows", node("LSTM", "a w r", "x h", hidden_size=3), {"a": (2, 0, 4), "w": (1, 12, 4), "r": (1, 12, 3)}),
            ("a product", node("MatMul", "a w", "x"), {"a": (2, 0), "w": (0, 2)}),
            ("a window", node("Conv", "a w", "x"), {"a": (1, 0, 4), "w": (1, 0, 2)}),
            ("the highest", node("Hardmax", "a", "x"), {"a": (2, 0)}),
        ]
    },
    "less than no rows": (
        lambda: model(
            node("Shape", "observation", "both"),
            node("Gather", "both row", "n"),
            node("Mul", "n minus", "less"),
            *huge("ConstantOfShape", "less", "x"),
            constants={"minus": np.int64([-5])},
        ),
        "makes a tensor of shape",
    ),
    "neither yes nor no": (
        lambda: model(
            node("ReduceSum", "observation one", "sums", keepdims=2),
            node("ReduceMax", "observation", "most", axes=[1]),
            *huge("Mul", "most sums", "x"),
        ),
        "keepdims 2: expected 0 or 1",
    ),
    "a row that is no row": (
        lambda: model(LIKED, node("Squeeze", "liked", "x"), *huge("Identity", "x", "more")),
        "takes away the rows",
    ),
    "two constants in one": (
        lambda: model(node("Constant", "", "size", value_ints=[LARGE], value_int=1), *huge("Expand", "zero size", "x")),
        "do not fit",
    ),
    "more parts than places": (
        lambda: with_opset(18, node("Split", "likes", "likes1 likes2", axis=0, num_outputs=1), LOGITS, VALUE),
        "do not fit",
    ),
    "rows together that are none": (
        lambda: model(node("GatherND", "observation row", "x", batch_dims=-(2**31)), LOGITS, VALUE),
        "do not fit",
    ),
    "a number to add that has no name": (
        lambda: model(LIKED, helper.make_node("LayerNormalization", ["liked", "likes", ""], ["logits"]), VALUE),
        "lacks input 2",
    ),
    # what stops the processor
    "the least integer by -1": (lambda: whole("Div", -1), "by what may be 0 or -1"),
    "the rest by -1": (lambda: whole("Mod", -1), "by what may be 0 or -1"),
    "many operations": (
        lambda: model(*[node("Identity", "zero", f"x{k}") for k in range(6000)], LOGITS, VALUE),
        "6,002 operations",
    ),
    "false size of a constant": (
        lambda: model(
            LOGITS,
            VALUE,
            constants={"likes": onnx.TensorProto(name="likes", data_type=FLOAT, dims=[LARGE], raw_data=b"1234")},
        ),
        "as many numbers",
    ),
    "no content of a constant": (
        lambda: model(
            LOGITS, VALUE, constants={"likes": onnx.TensorProto(name="likes", data_type=FLOAT, dims=[10**6, 10**6])}
        ),
        "as many numbers",
    ),
    "negative constant": (
        lambda: model(
            LOGITS,
            VALUE,
            constants={"likes": onnx.TensorProto(name="likes", data_type=FLOAT, dims=[-1, -60], float_data=range(60))},
        ),
        "has the shape",
    ),
    "text constant": (
        lambda: model(
            LOGITS,
            VALUE,
            constants={"text": onnx.TensorProto(name="text", data_type=STRING, dims=[1], string_data=[b"x"])},
        ),
        "texts",
    ),
    # graphs that are none
    "circle": (
        lambda: model(
            node("Add", "likes b", "a"), node("Add", "likes a", "b"), node("Mul", "action_mask a", "logits"), VALUE
        ),
        "nothing has written before",
    ),
    "itself": (lambda: model(node("Add", "logits action_mask", "logits"), VALUE), "nothing has written before"),
    "twice written": (lambda: model(LOGITS, LOGITS, VALUE), "writes 'logits' twice"),
    "written over": (
        lambda: model(node("Identity", "likes", "observation"), LOGITS, VALUE),
        "writes 'observation' twice",
    ),
    "shapes that do not fit": (
        lambda: model(node("Add", "observation action_mask", "logits"), VALUE),
        "joins the shapes",
    ),
    "reshaped wrongly": (
        lambda: model(node("Reshape", "observation size", "logits"), VALUE, constants={"size": np.int64([-1, CARDS])}),
        "do not fit",
    ),
    "an attribute of another kind": (
        lambda: model(node("Concat", "action_mask", "logits", axis="last"), VALUE),
        "of the wrong kind",
    ),
    "an axis too far": (
        lambda: model(node("Concat", "action_mask action_mask", "logits", axis=9), VALUE),
        "do not fit",
    ),
    "a name that a terminal obeys": (
        lambda: model(node("\x1b[2J\nExec", "action_mask", "logits"), VALUE),
        "no policy needs",
    ),
    "a long name": (lambda: model(node("x" * 10**6, "action_mask", "logits"), VALUE), "no policy needs"),
    # metadata
    "metadata of another program": (lambda: model(LOGITS, VALUE, metadata="1.0"), "no JSON object"),
    "no JSON": (lambda: model(LOGITS, VALUE, metadata="{"), "no JSON"),
    "deep JSON": (lambda: model(LOGITS, VALUE, metadata="[" * 10**5), "no JSON"),
    "long number": (lambda: model(LOGITS, VALUE, metadata="9" * 10**5), "no JSON"),
    "huge metadata": (
        lambda: model(LOGITS, VALUE, metadata=json.dumps({**METADATA, "run": {"x": "y" * (1 << 21)}})),
        "characters",
    ),
    "metadata twice": (lambda: _with_entry(METADATA_KEY), "two of the metadata"),
    **{
        f"{key} {value!r:.20}": (
            lambda key=key, value=value: model(LOGITS, VALUE, metadata=json.dumps({**METADATA, key: value})),
            repr(value)[:15],
        )
        for key, value in [
            ("format", True),
            ("format", 2),
            ("format", "1"),
            ("format", None),
            ("game", ["pepper"]),
            ("game", "poker\n"),
            ("game", "x" * 10**5),
            ("num_players", 5.0),
            ("num_players", 4),
            ("num_players", 10**400),
            ("run", []),
            ("run", "x"),
            ("options", 3),
            ("observation", {}),
            ("observation", "0-000000000000"),
        ]
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    for folder in (tmp_path, tmp_path / "inner"):  # there, if it should be read
        (folder / "weights.bin").write_bytes(np.arange(CARDS, dtype=np.float32).tobytes())
    make, message = HOSTILE[name]
    refused(make(), tmp_path, message)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
def test_a_torn_file_is_one_sentence(share: float, tmp_path: Path) -> None:
    refused(torn(share), tmp_path)


def test_a_file_of_which_bytes_have_changed_plays_or_is_one_sentence(tmp_path: Path) -> None:
    games = BatchEnv("pepper", 8)
    games.reset(seed=1)
    plays = 0
    for seed in range(300):
        content = flipped(seed)
        try:
            agent = load(content, tmp_path)
        except InputError:
            continue
        actions = agent.act(games.observations, games.action_masks)
        assert games.action_masks[np.arange(8), actions].all()
        plays += 1
    assert 0 < plays < 300


def test_who_plays_a_policy_is_told_to_nobody(tmp_path: Path) -> None:
    """``onnxruntime`` numbers a machine in the home folder before it tells its makers what runs there."""
    program = "from trick_envs import load_game, make_agent; make_agent('pretrained', load_game('pepper'))"
    own = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    kept = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "TRICK_ENVS_CACHE": str(cache_root())}
    subprocess.run([sys.executable, "-c", program], env={**own, **kept}, check=True)
    assert [file for file in tmp_path.rglob("*") if "Microsoft" in str(file)] == []


# --- what a policy may be ---------------------------------------------------------------------------------------------


@every_table
def test_released_policies_are_followed_exactly(name: str, players: int) -> None:
    """The lengths that are found are those of the numbers that onnxruntime computes."""
    import onnxruntime

    game = load_game(name, players)
    content = pretrained_policy(game).read_bytes()
    graph, made = read_graph(content), onnx.load_from_string(content)
    sizes = sizes_of(
        graph, {"observation": (BatchSize(1), game.layout.size), "action_mask": (BatchSize(1), game.num_actions)}
    )
    names = [name for node in made.graph.node for name in node.output]
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in graph.outputs)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    games = BatchEnv(name, 5, players)
    games.reset(seed=1)
    seen = {"observation": games.observations.astype(np.float32), "action_mask": games.action_masks.astype(np.float32)}
    for name, found in zip(names, session.run(names, seen), strict=True):
        value = sizes.values[name]
        expected = [one.times * 5 if isinstance(one, BatchSize) else one for one in value.shape]
        assert list(found.shape) == expected, name
        if value.numbers is not None:
            numbers = [one.times * 5 if isinstance(one, BatchSize) else one for one in value.numbers.flat]
            assert found.reshape(-1).tolist() == numbers, name


@every_table
def test_released_policies_say_what_their_files_say(name: str, players: int) -> None:
    import onnxruntime

    game = load_game(name, players)
    games = BatchEnv(name, 200, players)
    games.reset(seed=2)
    rng = np.random.default_rng(1)
    for _ in range(15):
        games.step((rng.random(games.action_masks.shape) * games.action_masks).argmax(1))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(pretrained_policy(game).read_bytes(), options)
    agent = make_agent("pretrained", game)
    for rows in (1, 3, 200):
        seen = games.observations[:rows].astype(np.float32), games.action_masks[:rows].astype(np.float32)
        logits, values = session.run(["logits", "value"], dict(zip(("observation", "action_mask"), seen, strict=True)))
        found = agent.evaluate(games.observations[:rows], games.action_masks[:rows])  # type: ignore[attr-defined]
        assert found[0].tobytes() == logits.tobytes()
        assert found[1].tobytes() == values.reshape(-1).tobytes()


def played(agent: Any, seed: int = 1) -> None:
    """All that it plays in a match is legal; else ``BatchEnv`` raises."""
    games = BatchEnv("pepper", 6, num_deals=1)
    games.reset(seed)
    for _ in range(60):
        games.step(agent.act(games.observations, games.action_masks, games.states))


@pytest.mark.parametrize("more", ["", ":sample", "+rollout:4", "+ismcts:8", "+pimc:2"])
@pytest.mark.parametrize("liked", ["illegal", "far below", "far apart"])
def test_what_a_file_says_of_illegal_actions_counts_for_nothing(liked: str, more: str, tmp_path: Path) -> None:
    """It likes illegal actions more; or its legal logits are lower than those that others give to illegal ones."""
    logits = {
        "illegal": [node("Mul", "action_mask below", "logits")],
        "far below": [node("Sub", "likes far", "low"), node("Sub", "low action_mask", "logits")],
        "far apart": [node("Mul", "likes steep", "low"), node("Sub", "low action_mask", "logits")],
    }[liked]
    constants = {"below": np.float32(-5), "far": np.float32(1e9), "steep": np.float32(-3e37 / CARDS)}
    load(model(*logits, VALUE, constants=constants), tmp_path)
    agent = make_agent(f"{tmp_path / 'policy.onnx'}{more}", GAME)
    played(agent)


def test_integers_are_divided_by_what_is_known(tmp_path: Path) -> None:
    played(load(whole("Div", 2), tmp_path))
    played(load(whole("Mod", 60), tmp_path))


def test_the_best_legal_action_is_played_however_low_it_is(tmp_path: Path) -> None:
    steep = model(node("Mul", "likes steep", "low"), node("Sub", "low action_mask", "logits"), VALUE,
                  constants={"steep": np.float32(-1e9)})  # fmt: skip
    agent, games = load(steep, tmp_path), BatchEnv("pepper", 40)
    games.reset(seed=1)
    lowest = games.action_masks.argmax(axis=1)
    np.testing.assert_array_equal(agent.act(games.observations, games.action_masks), lowest)
    logits, _ = agent.evaluate(games.observations, games.action_masks)
    assert (logits[np.arange(40), lowest] == 0).all()
    assert (logits[games.action_masks != 0] > ILLEGAL_LOGIT).all()
    assert (logits[games.action_masks == 0] == np.float32(ILLEGAL_LOGIT)).all()
    assert agent.act(games.observations[:1], np.zeros((1, CARDS), np.int8)).shape == (1,)  # a finished game


@pytest.mark.parametrize("output", ["logits", "value"])
@pytest.mark.parametrize("more", ["", ":sample", "+rollout:4", "+ismcts:8"])
def test_a_policy_that_fails_later_says_so(output: str, more: str, tmp_path: Path) -> None:
    """Its numbers are none as soon as somebody has played."""
    first = {"stop": np.int64([SIZE]), "start": np.int64([CARDS + 1]), "axis": np.int64([1])}
    played_since = GAME.layout.slices()["phase"]  # it leads to begin with
    assert played_since.stop <= SIZE
    games = BatchEnv("pepper", 4)
    games.reset(seed=1)
    fresh = games.observations.astype(np.float32).copy()
    games.step(games.action_masks.argmax(axis=1))
    changed = int(np.flatnonzero((games.observations[0] != 0) & (fresh == 0).all(axis=0))[0])
    first |= {"start": np.int64([changed]), "stop": np.int64([changed + 1]), "many": np.float32(3e38)}
    nodes = [
        node("Slice", "observation start stop axis", "sign"), node("Mul", "sign many", "large"),
        node("Mul", "large many", "infinite"), node("ReduceSum", "infinite one", "sum", keepdims=0),
    ]  # fmt: skip
    if output == "logits":
        nodes += [LIKED, node("Add", "liked infinite", "logits"), VALUE]
    else:
        nodes += [LOGITS, node("Add", "sum zero", "value")]
    load(model(*nodes, constants=first), tmp_path)
    agent = make_agent(f"{tmp_path / 'policy.onnx'}{more}", GAME)
    with pytest.raises(PolicyError, match="judges a position with what is no finite number"):
        agent.act(games.observations, games.action_masks, games.states)


def test_observations_and_masks_that_do_not_fit_are_told(tmp_path: Path) -> None:
    agent = load(model(LOGITS, VALUE), tmp_path)
    with pytest.raises(InputError, match=r"expected action masks of shape \(2, 60\), not \(1, 60\)"):
        agent.act(np.zeros((2, SIZE), np.float32), np.ones((1, CARDS), np.int8))
    with pytest.raises(InputError, match=f"sees the position, {SIZE} numbers in pepper for 5, not 7: .* its game"):
        agent.act(np.zeros((2, 7), np.float32), np.ones((2, CARDS), np.int8))
    assert agent.act(np.zeros((0, SIZE), np.float32), np.ones((0, CARDS), np.int8)).shape == (0,)


def test_many_rows_are_judged_in_parts(tmp_path: Path) -> None:
    agent = load(model(LOGITS, VALUE), tmp_path)
    games = BatchEnv("pepper", 40)
    games.reset(seed=1)
    together = agent.evaluate(games.observations, games.action_masks)
    agent._rows_at_once = 7
    for one, other in zip(agent.evaluate(games.observations, games.action_masks), together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.onnx"
    with path.open("wb") as file:
        os.truncate(file.fileno(), MAX_BYTES + 1)
    with pytest.raises(InputError, match="more than 67,108,864 bytes"):
        make_agent(str(path), GAME)
    with pytest.raises(InputError, match="there is no such policy file"):
        make_agent(str(tmp_path / "other.onnx"), GAME)
    with pytest.raises(InputError, match="not readable"):
        make_agent(f"{'x' * 300}.onnx", GAME)


def test_memory_stays_small_whatever_a_file_asks_for(tmp_path: Path) -> None:
    """In a process of its own: the most that it has held."""
    resource = pytest.importorskip("resource")
    del resource
    paths = []
    for number, name in enumerate(name for name in HOSTILE if name.startswith(("huge", "doubling", "long work"))):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(HOSTILE[name][0]().SerializeToString())
        paths.append(str(path))
    code = f"""
import resource
from trick_envs import load_game, make_agent

game, used = load_game("pepper"), lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
make_agent("pretrained", game)
before = used()
for path in {paths!r}:
    try:
        make_agent(path, game)
    except ValueError:
        pass
assert used() - before < 300_000, used() - before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
