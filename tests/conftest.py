"""What all tests share."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TRICK_ENVS_COMPILE", "first")  # test_start.py tries the other way
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in a shell's background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from helpers import write_policy
from pettingzoo.utils.env_logger import EnvLogger

import trick_envs
from trick_envs.engine.registry import game_names, game_type

LONGEST = (
    "test_example_game",
    "test_ray",
    "test_start",
)  # they wait for processes of their own: none of them comes last


def pytest_configure() -> None:
    """A run keeps most of what it makes: looking for garbage in it took a fifteenth of its time."""
    gc.set_threshold(50_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="also what is marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, so that no worker is left with one when the others are done; last what is of a table.

    Workers begin in different places, and take from each other's end. With the tests of a table side by side most
    tables have one worker, which has what the rules mean to the compiler ready for the next kernel.
    """
    if not config.getoption("--all"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    items.sort(key=lambda item: _table_of(item) or (item.path.stem not in LONGEST,))


def _table_of(item: pytest.Item) -> tuple[Any, ...]:
    """2, the game and the number of players, if a test has them as parameters, and no fixture that others share."""
    given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    name, players = given.get("name"), given.get("players")
    if name not in game_names() or "browser" in item.fixturenames:
        return ()
    return 2, name, players if isinstance(players, int) else game_type(name).default_players


@pytest.hookimpl(optionalhook=True)  # there is no such hook without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Every worker begins with files of its own, instead of the same games as the others at the same time.

    Workers that want the same function of a game wait until one of them has compiled it.
    """
    if config.getoption("dist") != "load":  # another way was asked for
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def _exporter_reads_its_library_once() -> Iterator[None]:
    """PyTorch's exporter reads the sources of its library at every export: a third of its time."""
    with pytest.MonkeyPatch.context() as patch:
        if "torch" in sys.modules:
            with contextlib.suppress(ImportError, AttributeError):  # private names
                from torch.onnx._internal.exporter._registration import ONNXRegistry

                once = functools.cache(ONNXRegistry.from_torchlib)
                patch.setattr(ONNXRegistry, "from_torchlib", staticmethod(once))
        yield


_EXPORTED: dict[Any, Any] = {}


@pytest.fixture(scope="module")
def quick_export() -> Iterator[None]:
    """Of networks of one shape, the first is exported; the others get its graph with their own weights.

    The exporter takes longer than a small run learns. ``export_policy`` still compares every file with its module in
    played positions: a graph that does not fit is an error.
    """
    import onnx

    from trick_envs.agents import export

    original = export._to_onnx

    def to_onnx(network: Any, game: Any, size: int) -> Any:
        weights = {name: value.numpy() for name, value in network.state_dict().items()}
        key = (
            game.name,
            game.num_players,
            size,
            str(network),
            tuple((name, each.shape) for name, each in weights.items()),
        )
        if key not in _EXPORTED:
            _EXPORTED[key] = original(network, game, size).SerializeToString()
        model = onnx.ModelProto.FromString(_EXPORTED[key])
        for part in model.graph.initializer:
            if part.name in weights:
                part.CopyFrom(onnx.numpy_helper.from_array(weights[part.name], part.name))
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "_to_onnx", to_onnx)
        yield


@pytest.fixture(autouse=True)
def _quiet():
    """PettingZoo prints its warnings."""
    EnvLogger.suppress_output()
    yield
    EnvLogger.unsuppress_output()
    EnvLogger.flush()


@pytest.fixture(scope="session")
def whole(pytestconfig: pytest.Config) -> bool:
    """Whether what takes long is tested at its whole size, as before a release."""
    return bool(pytestconfig.getoption("--all"))


@pytest.fixture
def policy_file(tmp_path):
    """A policy of Pepper that likes high numbers, as an ONNX file."""
    return write_policy(tmp_path / "policy.onnx", trick_envs.load_game("pepper"))
