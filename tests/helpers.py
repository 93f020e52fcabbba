"""Every game at every number of players, random play, and policies that are quickly made."""

from __future__ import annotations

import importlib
import json
import pickle
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trick_envs.agents.policy import METADATA_KEY, policy_metadata
from trick_envs.discovery import plug_ins, version_of
from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.playing import MATCH_ENDED
from trick_envs.engine.positions import places
from trick_envs.engine.registry import game_names, game_type, game_type_again, load_game, load_game_again

TABLES = [(name, players) for name in game_names() for players in game_type(name).players]


def marks_of(name: str, players: int | None = None) -> tuple[pytest.MarkDecorator, ...]:
    """Of a game's own number of players, the fewest and the most: none. Of those between: slow."""
    numbers, own = game_type(name).players, game_type(name).default_players
    return () if players in (None, own, numbers[0], numbers[-1]) else (pytest.mark.slow,)


def marks_of_others(name: str, players: int) -> tuple[pytest.MarkDecorator, ...]:
    """Of a game's own number of players: none. Of all others: slow."""
    return () if players == game_type(name).default_players else (pytest.mark.slow,)


def of_tables(tables: Iterable[tuple[str, int]], marks: Callable[..., Any] = marks_of) -> pytest.MarkDecorator:
    """Parametrises a test by tables; ``marks``: those of each."""
    cases = [pytest.param(*table, marks=marks(*table), id="{}-{}".format(*table)) for table in tables]
    return pytest.mark.parametrize(("name", "players"), cases)


every_table = of_tables(TABLES)
own_tables = of_tables(TABLES, marks_of_others)
every_game = pytest.mark.parametrize("name", game_names())


def first(number: int, values: Iterable[Any]) -> list[Any]:
    """Values of a parameter, of which those after the first few are slow."""
    return [pytest.param(each, marks=() if k < number else pytest.mark.slow) for k, each in enumerate(values)]


def crossed(**axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrises a test by all combinations, of which a diagonal is not slow: every value occurs in it."""
    names, values = list(axes), [list(axis) for axis in axes.values()]
    longest = max(map(len, values))
    diagonal = [tuple(number % len(axis) for axis in values) for number in range(longest)]
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(
                *(axis[number] for axis, number in zip(values, numbers, strict=True)),
                marks=() if numbers in diagonal else (pytest.mark.slow,),
            )
            for numbers in product(*(range(len(axis)) for axis in values))
        ],
    )


def make(name: str, players: int | None = None, raw: bool = True, **options: Any) -> Any:
    """The environment of a PettingZoo module: of ``trick_envs``, or of the plug-in that the game comes from."""
    module = importlib.import_module(f"{game_type(name).package}.{game_type(name).versioned_name}")
    if players is not None and len(game_type(name).players) > 1:
        options["num_players"] = players
    return (module.raw_env if raw else module.env)(**options)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """In this block no file may have more than so many bytes: as on a full disk, but the error says "too large"."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def chromium() -> str | None:
    """Where the browser is; the one that never has a window takes a fifth less of the processor."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


@contextmanager
def installed(folder: Path, entry_points: str) -> Iterator[None]:
    """A package in a folder, installed for a while: its metadata holds the entry points."""
    metadata = folder / "plug_in-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    found_once = (plug_ins, game_names, game_type_again, load_game_again, version_of)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for found in found_once:
            found.cache_clear()
        yield
    for found in found_once:
        found.cache_clear()


def legal_actions(env: Any) -> list[int]:
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()


def play_randomly(env: Any, rng: np.random.Generator, steps: int = 10**9) -> None:
    """Random legal actions, until the match is over."""
    for _ in range(steps):
        if env.phase == "over":
            return
        env.step(int(rng.choice(legal_actions(env))))


def play(env: Any, cards: str) -> None:
    """The cards that are named, one after the other: ``"5S 3H"``."""
    for card in cards.split():
        env.step(env.game.deck.parse(card))


def actions_of(record: dict[str, Any]) -> str:
    """The cards that were named, for ``play``."""
    return " ".join(card for deal in record["deals"] for _, card in deal["actions"])


def finish(env: Any) -> dict[str, float]:
    """The dead steps of all seats; returns the cumulative rewards."""
    total = {}
    while env.agents:
        _, total[env.agent_selection], over, _, _ = env.last()
        assert over
        env.step(None)
    return total


# --- given deals --------------------------------------------------------------------------------------------------

RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]
CLUBS, DIAMONDS, HEARTS, SPADES = (" ".join(rank + suit for rank in RANKS) for suit in "CDHS")
SUITS = [CLUBS, DIAMONDS, HEARTS, SPADES]


def deal(hands: Sequence[str], dealer: int, stock: str = "") -> dict[str, Any]:
    """A deal as it stands in a record; a hand is written ``"5S 3H …"``."""
    return {"dealer": dealer, "hands": [hand.split() for hand in hands], "stock": stock.split()}


def given(name: str, hands: Sequence[str], dealer: int, stock: str = "", **options: Any) -> Any:
    """A match of one deal, in which these cards are dealt."""
    env = make(name, len(hands), num_deals=1, **options)
    env.reset(seed=0, options={"deals": [deal(hands, dealer, stock)]})
    return env


def legal(env: Any) -> set[str]:
    """The cards that may be named."""
    return {env.game.deck.names[action] for action in legal_actions(env)}


def lies(env: Any, place: str) -> list[str]:
    """The cards in a place such as ``"hand 0"``, in the order of the deck."""
    return env.game.deck.format_all(places(env.game, env.states)[place])


def block(env: Any, seat: int, name: str) -> list[int]:
    """A block of what a seat observes."""
    return env.observe(f"player_{seat}")["observation"][env.layout.slices()[name]].astype(int).tolist()


def known(env: Any, observer: int, holder: int) -> list[str]:
    """The cards that the observer knows in a hand, in the order of the deck."""
    players, names = env.game.num_players, env.game.deck.names
    counts = np.reshape(block(env, observer, "known"), (players - 1, -1))[(holder - observer) % players - 1]
    return [name for name, count in zip(names, counts, strict=True) for _ in range(count)]


# --- the game itself ----------------------------------------------------------------------------------------------


def start(game: Game, seed: int) -> Any:
    states = np.zeros(1, game.dtype)
    game.kernels.start_match(states, 0, game.template, np.uint64(seed))
    return states


def step(game: Game, states: Any, action: int) -> int:
    """Plays an action; the code of ``step_one``."""
    result = game.kernels.step_one(states, action, 0, np.zeros(game.num_players))
    assert result >= 0
    return result


def look(game: Game, states: Any, observer: int) -> tuple[bytes, bytes]:
    view, mask = np.zeros(game.layout.size, np.int8), np.zeros(game.num_actions, np.int8)
    assert game.kernels.observe(states, 0, observer, view, mask) == game.layout.size
    return view.tobytes(), mask.tobytes()


def legal_of(game: Game, states: Any) -> list[int]:
    """The legal actions, ascending."""
    return sorted({game.deck.kind(card) for card in members(game.kernels.legal_cards(states))})


def greedy_action(game: Game, states: Any) -> int:
    actions = np.full(1, -1)
    game.kernels.greedy_actions(states, actions)
    return int(actions[0])


def random_positions(game: Game, seed: int, every: int) -> Iterator[Any]:
    """Copies of the record at every so many steps of a random match."""
    rng, states, count, result = np.random.default_rng(seed), start(game, seed), 0, 0
    while result < MATCH_ENDED:
        if count % every == 0:
            yield states.copy()
        result = step(game, states, int(rng.choice(legal_of(game, states))))
        count += 1


def twin_setup(name: str, players: int) -> Game:
    return load_game(name, players, num_deals=2)


# --- policies -----------------------------------------------------------------------------------------------------


def write_policy(path: Path, game: Game, likes: Any = None) -> Path:
    """Writes an ONNX file of a policy that plays the legal card it likes most: by default the last of the deck."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    kinds = [("observation", game.layout.size), ("action_mask", game.num_actions)]
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size]) for name, size in kinds]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("logits", "value")]
    liked = np.arange(game.num_actions) / 10 if likes is None else likes
    constants = [
        onnx.numpy_helper.from_array(np.asarray(liked, np.float32), "likes"),
        onnx.numpy_helper.from_array(np.array(1, np.float32), "one"),
        onnx.numpy_helper.from_array(np.array([1], np.int64), "numbers"),
        onnx.numpy_helper.from_array(np.array(1e9, np.float32), "never"),
    ]
    nodes = [
        helper.make_node("Sub", ["action_mask", "one"], ["forbidden"]),
        helper.make_node("Mul", ["forbidden", "never"], ["penalty"]),
        helper.make_node("Add", ["likes", "penalty"], ["logits"]),
        helper.make_node("ReduceSum", ["observation", "numbers"], ["value"], keepdims=0),
    ]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {METADATA_KEY: json.dumps(policy_metadata(game, {}))})
    onnx.save(model, str(path))
    return path


SMALL_RUN: dict[str, Any] = {  # a config of a run that takes seconds, without its evaluation
    "game": "donguri",
    "num_players": 3,
    "total_samples": 3000,
    "checkpoint_every": 1000,
    "evaluate_every": 1000,
    "n_envs": 16,
    "n_steps": 32,
    "batch_size": 128,
    "width": 16,
    "depth": 2,
}


def distributions(extra: str) -> set[str]:
    """The names of the distributions that an extra asks for, those of other extras in it included."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def of(extra: str) -> set[str]:
        found: set[str] = set()
        for requirement in project["optional-dependencies"][extra]:
            ours = re.fullmatch(r"trick_envs\[([a-z,]+)\]", requirement)
            found |= set().union(*map(of, ours[1].split(","))) if ours else {re.split(r"[\[<>=]", requirement)[0]}
        return found

    return of(extra)


def through_a_store(thing: Any) -> Any:
    """A copy as Ray's object store gives it: its buffers are outside of the pickle, and read-only."""
    buffers: list[Any] = []
    data = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
