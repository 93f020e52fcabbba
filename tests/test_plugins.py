"""Games and players of other packages: by entry point, and players also as ``package.module:function``."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from helpers import first, installed

from trick_envs import BatchEnv, game_names, load_game, make_agent
from trick_envs.agents.greedy import GreedyAgent
from trick_envs.agents.random import RandomAgent
from trick_envs.discovery import built_in_games, version_of
from trick_envs.engine.registry import all_games, game_type
from trick_envs.errors import InputError
from trick_envs.interfaces.describe import describe_game
from trick_envs.interfaces.env import make_env

MODULE = '''
import dataclasses

import numpy as np

from trick_envs.games.pepper import GAME as PEPPER


class Highest:
    """Plays its last legal card in the order of the deck."""

    name = "highest"

    def __init__(self, game, seed):
        self.game, self.made_with = game, seed

    def seed(self, seed):
        pass

    def act(self, observations, action_masks, states=None):
        masks = np.asarray(action_masks)
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


class Players:
    highest = Highest


def nobody(game, seed):
    return None


def lacks_act(game, seed):
    return object()


def takes_one(game):
    return Highest(game, 0)


def fails(game, seed):
    raise KeyError("weights")


NUMBER = 7
HOT_PEPPER = dataclasses.replace(PEPPER, name="hot_pepper", title="Hot Pepper", version=1)
COUNTED = dataclasses.replace(PEPPER, name="counted", title="Counted", version=NUMBER)
FALSE_PEPPER = dataclasses.replace(PEPPER, title="False Pepper")
'''
TORN = "GAME = GameType("
ENDS = "raise SystemExit('usage: plug_in_ends FILE')\n"
BROKEN = "import a_library_that_is_missing\n"
ENTRY_POINTS = """
[trick_envs.agents]
highest = plug_in:Highest
greedy = plug_in:Highest
seven = plug_in:NUMBER
nowhere = plug_in_missing:Highest

[trick_envs.games]
hot_pepper = plug_in:HOT_PEPPER
renamed = plug_in:HOT_PEPPER
seven = plug_in:NUMBER
counted = plug_in:COUNTED
torn = plug_in_torn:GAME
ends = plug_in_ends:GAME
Two Words = plug_in:HOT_PEPPER
lost = nowhere.inside:GAME
pepper = plug_in:FALSE_PEPPER
"""
HIGHEST = ("highest", "plug_in:Highest", "plug_in:Players.highest")


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path) -> Iterator[None]:
    """What an installed package consists of: its modules, and metadata with its entry points."""
    (tmp_path / "plug_in.py").write_text(MODULE)
    (tmp_path / "plug_in_broken.py").write_text(BROKEN)
    (tmp_path / "plug_in_torn.py").write_text(TORN)
    (tmp_path / "plug_in_ends.py").write_text(ENDS)
    with installed(tmp_path, ENTRY_POINTS):
        yield
    for module in ("plug_in", "plug_in_broken"):
        sys.modules.pop(module, None)


def highest(observations: Any, action_masks: Any) -> Any:
    return action_masks.shape[1] - 1 - np.asarray(action_masks)[:, ::-1].argmax(axis=1)


# --- players ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", HIGHEST)
def test_a_player_is_made_with_the_game_and_the_seed(spec: str) -> None:
    game = load_game("pepper", 4)
    agent: Any = make_agent(spec, game, seed=5)
    assert (agent.name, agent.game, agent.made_with) == ("highest", game, 5)


@pytest.mark.parametrize("spec", HIGHEST)
def test_a_player_acts_on_a_batch(spec: str) -> None:
    batch = BatchEnv("pepper", 8)
    batch.reset(seed=1)
    actions = make_agent(spec, batch.game).act(batch.observations, batch.action_masks, batch.states)
    assert actions.tolist() == [np.flatnonzero(mask)[-1] for mask in batch.action_masks]


def record(opponents: Any) -> Any:
    """A match in which the learner plays its first legal card."""
    env = gymnasium.make("trick_envs/Pepper-v0", opponents=opponents, seat=1, num_deals=1)
    _, info = env.reset(seed=3)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    return env.unwrapped.record()  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", HIGHEST)
def test_a_player_is_an_opponent(spec: str) -> None:
    expected = record(highest)
    assert record(spec) == expected != record("random")
    assert record(["random", "random", spec, "random"])["deals"][0]["score"] is not None


@pytest.mark.parametrize("spec", HIGHEST)
def test_a_player_is_an_opponent_in_a_vector_environment(spec: str) -> None:
    def play(opponents: Any) -> list[bytes]:
        env = gymnasium.make_vec(
            "trick_envs/Pepper-v0", 5, vectorization_mode="vector_entry_point", opponents=opponents, num_deals=1
        )
        _, infos = env.reset(seed=3)
        seen = []
        for _ in range(20):
            observations, rewards, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
            seen += [observations.tobytes(), rewards.tobytes()]
        return seen

    assert play(spec) == play(highest) != play("random")


def test_no_plug_in_takes_the_name_of_a_built_in_player() -> None:
    assert isinstance(make_agent("greedy", load_game("pepper")), GreedyAgent)
    assert isinstance(make_agent("random", load_game("pepper")), RandomAgent)


def test_an_unknown_player_is_an_error_that_names_the_plug_ins() -> None:
    with pytest.raises(ValueError, match=r"'highst' is no player: expected 'random', 'greedy', .*'highest'"):
        make_agent("highst", load_game("pepper"))


ERRORS = [
    (
        "plug_in_missing:Highest",
        ValueError,
        r"'plug_in_missing:Highest' cannot .*: No module named 'plug_in_missing' \(for .*, set PYTHONPATH=\.\)$",
    ),
    (
        "plug_in.players:Highest",
        ValueError,
        "'plug_in.players:Highest' cannot .*: No module named 'plug_in.players'; 'plug_in' is not a package$",
    ),
    ("plug_in:Lowest", ValueError, "'plug_in:Lowest' cannot .*: module 'plug_in' has no attribute 'Lowest'"),
    ("plug_in:Players.lowest", ValueError, "'plug_in:Players.lowest' cannot be .*has no attribute 'lowest'"),
    ("plug_in_broken:Highest", ValueError, "'plug_in_broken:Highest' cannot .*No module named 'a_library_that_is_miss"),
    ("plug_in_torn:Highest", ValueError, "'plug_in_torn:Highest' cannot be loaded: SyntaxError: "),
    ("plug_in_ends:Highest", ValueError, "'plug_in_ends:Highest' cannot be loaded: SystemExit: usage"),
    (
        "plug_in:takes_one",
        ValueError,
        r"'plug_in:takes_one': expected a function \(game, seed\) -> .*not <function",
    ),
    ("plug_in:fails", ValueError, "plug_in:fails: KeyError: 'weights'"),
    ("plug_in:NUMBER", ValueError, r"'plug_in:NUMBER': expected a function \(game, seed\) -> agent, not 7"),
    ("plug_in:nobody", TypeError, r"plug_in:nobody: expected an agent with act\(.*, not None"),
    ("plug_in:lacks_act", TypeError, r"plug_in:lacks_act: expected an agent with act\(.*, not <object"),
    ("plug_in:", ValueError, "'plug_in:' is no player: expected .*'package.module:function'"),
    ("seven", ValueError, r"'seven': expected a function \(game, seed\) -> agent, not 7"),
    ("nowhere", ValueError, "'nowhere': 'plug_in_missing:Highest' cannot .*No module named 'plug_in_missing'"),
]


@pytest.mark.parametrize(("spec", "error", "message"), ERRORS, ids=[spec for spec, _, _ in ERRORS])
def test_what_is_wrong_with_a_player_is_said(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make_agent(spec, load_game("pepper"))
    with pytest.raises(error, match=message):
        gymnasium.make("trick_envs/Pepper-v0", opponents=spec)


# --- games --------------------------------------------------------------------------------------------------------


def test_a_game_is_loaded_by_its_name() -> None:
    game = load_game("hot_pepper", 3)
    assert (game.name, game.title, game.num_players) == ("hot_pepper", "Hot Pepper", 3)
    for one in (game, game.type):
        assert pickle.loads(pickle.dumps(one)) is copy.deepcopy(one) is one
    with pytest.raises(TypeError, match="<GameType hot_pepper> cannot be copied or pickled"):
        pickle.dumps(dataclasses.replace(game.type))
    assert game.dtype == load_game("pepper", 3).dtype


def test_importing_the_package_registers_a_game_under_its_version_without_importing_it(tmp_path: Path) -> None:
    code = (
        "import sys, gymnasium, pettingzoo, trick_envs\n"
        "assert not {'plug_in', 'trick_envs.engine.game'} & {*sys.modules}\n"
        "for kind in ('', 'text-'):\n"
        "    print(gymnasium.spec(f'trick_envs/HotPepper-{kind}v1').kwargs['game'])\n"
    )
    if hasattr(pettingzoo, "make"):  # since PettingZoo 1.27
        code += "print(pettingzoo.make('aec', 'trick_envs/hot_pepper-v1').unwrapped.game.name)"
    printed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    assert set(printed.split()) == {"hot_pepper"}


def test_a_game_is_named_with_its_version() -> None:
    described = describe_game("hot_pepper")
    assert "`hot_pepper_v1.env()`" in described
    assert '"trick_envs/HotPepper-v1"' in described
    assert make_env("hot_pepper").metadata["name"] == "hot_pepper_v1"


def test_a_version_that_cannot_be_read_without_importing_the_game_is_an_error() -> None:
    assert version_of("counted") == version_of("torn") == version_of("lost") == 0
    with pytest.raises(ValueError, match=r"'counted': version: expected a number written in the module .*, not 7"):
        load_game("counted")


def test_no_plug_in_takes_the_name_of_a_built_in_game() -> None:
    assert set(built_in_games()) < set(game_names())
    assert game_names().count("pepper") == 1
    assert game_type("pepper").title == "Pepper"
    assert load_game("pepper").title == "Pepper"


def test_a_game_of_another_name_is_an_error() -> None:
    with pytest.raises(TypeError, match="renamed: expected a GameType with this name, not <GameType hot_pepper>"):
        load_game("renamed")


def test_what_is_not_a_game_is_an_error() -> None:
    with pytest.raises(TypeError, match="seven: expected a GameType with this name, not 7"):
        load_game("seven")


def test_an_unknown_game_is_an_error_that_names_the_plug_ins() -> None:
    with pytest.raises(ValueError, match=r"there is no game 'bridge': choose one of .*hot_pepper"):
        load_game("bridge")


def test_a_game_that_cannot_be_loaded_is_told_in_a_sentence_and_the_others_are_listed() -> None:
    """One broken package in a virtual environment was the end of ``trick games``, ``policies`` and the page."""
    for name, told in (
        ("torn", "SyntaxError"),
        ("ends", "SystemExit: usage: plug_in_ends FILE"),
        ("lost", "ModuleNot"),
    ):
        with pytest.raises(InputError, match=f"'{name}': '.*:GAME' cannot be loaded: {told}"):
            load_game(name)
    all_games.cache_clear()
    with pytest.warns(UserWarning, match="a game is missing: 'torn': "):
        found = [kind.name for kind in all_games()]
    assert {"pepper", "hot_pepper", "hearts"} < set(found) < set(game_names())
    all_games.cache_clear()


def test_what_no_game_can_be_called_is_ignored_and_the_package_can_be_imported(tmp_path: Path) -> None:
    """A blank in the name of an entry point was gymnasium's error at ``import trick_envs``."""
    code = "import trick_envs, gymnasium; assert 'trick_envs/HotPepper-v1' in gymnasium.registry"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert "plug_in:HOT_PEPPER is ignored, because 'Two Words' is no lower-case word" in done.stderr


@pytest.mark.parametrize("first", ["training.commands", "trick_envs.cli"])
def test_commands_of_a_package_are_found_whichever_package_is_imported_first(first: str) -> None:
    code = (
        f"import {first}\n"
        "from trick_envs.cli import app\n"
        "names = [command.name or command.callback.__name__ for command in app.registered_commands]\n"
        "assert names.count('train') == names.count('evaluate') == 1, names\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


IMPOSSIBLE = "def f(x: 'Nothing'): ...\ndef add_to(app):\n    app.command('g')(lambda: None)\n    app.command()(f)\n"
BROKEN_COMMANDS = {  # by what stands where the commands are expected: files, and what is told
    "empty": ({"fleet/__init__.py": ""}, "ModuleNotFoundError: No module named 'fleet.commands'"),
    "folder": ({"fleet/commands.py": ""}, "AttributeError: module 'fleet.commands' has no attribute 'add_to'"),
    "script": ({"fleet.py": "raise SystemExit('usage: fleet.py FILE')"}, "SystemExit: usage: fleet.py FILE"),
    "text": ({"fleet.py": "if:"}, "SyntaxError: invalid syntax (fleet.py, line 1)"),
    "other": ({"fleet/__init__.py": "", "fleet/commands.py": "def add_to(): ..."}, "TypeError: add_to() takes 0"),
    "option": ({"fleet/__init__.py": "", "fleet/commands.py": IMPOSSIBLE}, "NameError: name 'Nothing' is not defined"),
    "nothing": ({}, "(fleet is not found): ModuleNotFoundError: No module named 'fleet'"),
}


@pytest.mark.parametrize("name", first(2, BROKEN_COMMANDS))
def test_commands_that_cannot_be_added_are_one_warning_and_the_others_work(name: str, tmp_path: Path) -> None:
    files, told = BROKEN_COMMANDS[name]
    metadata = {"METADATA": "Metadata-Version: 2.1\nName: fleet\nVersion: 1.0\n"}
    metadata["entry_points.txt"] = "[trick_envs.commands]\nfleet = fleet.commands:add_to\n"
    home = tmp_path / "home"
    for file, text in (files | {f"fleet-1.0.dist-info/{file}": text for file, text in metadata.items()}).items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text)
    for arguments, shown in ((["games", "pepper"], "Pepper"), (["--help"], "best-response")):
        done = subprocess.run(
            [sys.executable, "-m", "trick_envs.cli", *arguments], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(home)},
        )  # fmt: skip
        assert shown in done.stdout
        (line,) = done.stderr.splitlines()
        assert line.startswith("warning: the commands of fleet.commands:add_to are missing (fleet is ")
        assert told in line
        assert not files or f"(fleet is {home / 'fleet'}" in line


def test_no_command_of_a_package_takes_the_name_of_one_that_is_there(tmp_path: Path) -> None:
    """``trick games`` was the package's, and nobody was told."""
    home = tmp_path / "home"
    (home / "fleet-1.0.dist-info").mkdir(parents=True)
    for name, text in {
        "METADATA": "Metadata-Version: 2.1\nName: fleet\nVersion: 1.0\n",
        "entry_points.txt": "[trick_envs.commands]\nfleet = fleet:add_to\n",
    }.items():
        (home / "fleet-1.0.dist-info" / name).write_text(text)
    (home / "fleet.py").write_text(
        "import typer\n"
        "def fleet(name: str = ''):\n    print('fleet of', name)\n"
        "def language_benchmark(name: str = ''):\n    fleet(name)\n"
        "def add_to(app):\n"
        "    for name in ('games', 'train', None):\n        app.command(name)(fleet)\n"
        "    app.command()(language_benchmark)\n"
        "    for name in ('arena', 'ships'):\n"
        "        group = typer.Typer(name=name)\n"
        "        group.command('one')(fleet)\n        group.command('two')(fleet)\n"
        "        app.add_typer(group)\n"
    )
    taken = ("arena", "games", "language-benchmark", "train")
    told = "".join(
        f"warning: fleet:add_to: its command is ignored, because {name!r} is taken already\n" for name in taken
    )
    for arguments, shown in (
        (["games", "pepper"], "Pepper"), (["train", "--help"], "--resume"), (["arena", "--help"], "--half-width"),
        (["language-benchmark", "--help"], "--judged-deals"), (["fleet", "--name", "mine"], "fleet of mine"),
        (["ships", "two"], "fleet of"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "trick_envs.cli", *arguments], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(home), "TERM": "dumb"},
        )  # fmt: skip
        assert shown in done.stdout
        assert done.stderr == told


def test_a_package_that_has_the_name_of_ours_takes_away_only_its_commands(tmp_path: Path) -> None:
    (tmp_path / "theirs" / "training").mkdir(parents=True)
    for name, text in (("__init__", ""), ("commands", "raise OSError('no data')")):
        (tmp_path / "theirs" / "training" / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "trick_envs.cli", "games", "pepper"], capture_output=True, text=True, check=True,
        cwd=tmp_path / "theirs", env={**os.environ, "PYTHONPATH": str(tmp_path / "theirs")},
    )  # fmt: skip
    assert "Pepper" in done.stdout
    assert done.stderr == (
        "warning: the commands of training.commands:add_to are missing "
        f"(training is {tmp_path / 'theirs' / 'training' / '__init__.py'}): OSError: no data\n"
    )
