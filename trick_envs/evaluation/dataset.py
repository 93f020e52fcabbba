"""Datasets for offline learning, in Minari's format: every decision of every seat, at the engine's speed.

An episode is what one seat has decided in one deal. Minari's own writer takes seconds for what takes the engine
milliseconds, so the episodes are written here, in its layout (HDF5); its metadata is written by Minari.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.agents import make_agent
from trick_envs.agents.agent import observation_for
from trick_envs.engine.arguments import reward_mode, whole_number
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game
from trick_envs.engine.play_log import layout_of
from trick_envs.errors import InputError, MissingExtraError, shown
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, match_seeds
from trick_envs.files import locked, naming
from trick_envs.matches.loop import choose_actions

AT_ONCE = 1024  # deals
LONGEST_NAME = 200  # of a dataset: Minari walks its folders by recursion, and names of files end at 255
MAIN_FILE = "main_data.hdf5"  # Minari's name


@dataclass(frozen=True)
class Decisions:
    """What seats have decided in some deals, episode by episode.

    Attributes:
        deals, seats, players: ``(E,)``: of each episode the number of its deal, the seat, and the number of the player.
        seeds: ``(E,) uint64``: the seeds of the matches of one deal.
        ends: ``(E,)``: where each episode ends among the decisions.
        observations: ``(N, D) int8``.
        action_masks: ``(N, A) int8``.
        actions: ``(N,) int64``.
        rewards: ``(E,) float32``: what each episode is paid, for its last decision.
    """

    deals: npt.NDArray[np.int64]
    seats: npt.NDArray[np.int64]
    players: npt.NDArray[np.int64]
    seeds: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.int64]
    observations: npt.NDArray[np.int8]
    action_masks: npt.NDArray[np.int8]
    actions: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float32]


def play_decisions(
    game: Game, players: Sequence[str], deals: int, seed: int = 0, reward: str = "score"
) -> Iterator[Decisions]:
    """Plays deals, and gives what everybody has decided, some deals at a time.

    In deal ``d`` seat ``s`` has player ``(s + d) % len(players)``. The seeds are those of training: neither validation
    nor test deals are among them.

    Args:
        game: the game.
        players: specs.
        deals: how many deals.
        seed: of deals and players.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.

    Raises:
        ValueError: for an unknown spec, no player, a policy of another game, or numbers that are out of range.
    """
    return _play(game, _agents(game, players, deals, seed, reward), deals, seed, reward)


def _agents(game: Game, players: Sequence[str], deals: int, seed: int, reward: str) -> list[Any]:
    """The players, if all arguments are right."""
    if not players or not isinstance(players, Sequence) or isinstance(players, str):
        raise InputError(f"players: expected a list of one spec or more, such as ['greedy'], not {shown(players)}")
    match_seeds(Purpose.TRAINING, seed, 0, whole_number(deals, 1, SEEDS_PER_RUN, "deals"))
    reward_mode(reward)
    return [make_agent(spec, game, seed + number) for number, spec in enumerate(players)]


def _play(game: Game, agents: Sequence[Any], deals: int, seed: int, reward: str) -> Iterator[Decisions]:
    n, seen = game.num_players, observation_for(*agents)
    for first in range(0, deals, AT_ONCE):
        numbers = np.arange(first, min(first + AT_ONCE, deals))
        seeds = match_seeds(Purpose.TRAINING, seed, first, len(numbers))
        who = (numbers[:, None] + np.arange(n)) % len(agents)
        games = BatchEnv(game.name, len(numbers), n, 1, reward, observation=seen, **game.options)
        games.reset(seeds)
        running, paid = np.arange(len(numbers)), np.zeros((len(numbers), n), np.float32)
        steps: list[tuple[npt.NDArray[Any], ...]] = []
        while len(running):
            seats = games.seats[running].astype(np.int64)
            actions = choose_actions(games, agents, who, running)
            steps.append((running * n + seats, games.observations[running], games.action_masks[running], actions))
            rewards, terminated = games.step(actions, running)
            paid[terminated] = rewards[terminated]
            running = running[~terminated[running]]
        whose, observations, masks, actions = (np.concatenate(part) for part in zip(*steps, strict=True))
        order = np.argsort(whose, kind="stable")
        episodes, starts = np.unique(whose[order], return_index=True)
        rows, seats = np.divmod(episodes, n)
        yield Decisions(
            numbers[rows], seats, who[rows, seats], seeds[rows], np.append(starts[1:], len(order)),
            observations[order], masks[order], actions[order], paid[rows, seats],
        )  # fmt: skip


def dataset_folder(dataset_id: str) -> Path:
    """Where Minari keeps a dataset (``MINARI_DATASETS_PATH``, or a folder in the home)."""
    _libraries()
    from minari.dataset.minari_dataset import gen_dataset_id, parse_dataset_id
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage import get_dataset_path

    try:
        namespace, name, version = parse_dataset_id(dataset_id)
        if gen_dataset_id(namespace, name, version) != dataset_id or len(dataset_id) > LONGEST_NAME:  # x-v00
            raise ValueError
    except (ValueError, TypeError):  # Minari's is a TypeError where there is no version
        raise InputError(
            f"{str(dataset_id)[:LONGEST_NAME]!r} is no name of a dataset: expected one such as 'pepper/pretrained-v0', "
            f"of {LONGEST_NAME} letters at most"
        ) from None
    if namespace and namespace not in list_local_namespaces():
        create_namespace(namespace)
    return Path(get_dataset_path(dataset_id))


def write_dataset(
    game: Game,
    players: Sequence[str],
    deals: int,
    dataset_id: str,
    seed: int = 0,
    reward: str = "score",
    on_progress: Callable[[int], None] | None = None,
) -> Path:
    """Plays deals and writes all decisions as a dataset that ``minari.load_dataset(dataset_id)`` loads.

    - Observation: a dict of ``observation``, ``(D,) int8`` (the numbers of the environment's float32), and
      ``action_mask``, ``(A,) int8``. An episode has one more than actions: the last is zeros, as nobody decides then.
      If a player wants to know the order of play, all are those of ``observation="history"``; the metadata says which.
    - Reward: at the last decision of an episode, what the seat is paid for the deal. All others are 0.
    - Of each episode: ``seed`` (the match of one deal with that seed is the deal), ``deal``, ``seat``, and ``player``,
      an index into ``players`` of the metadata.

    Returns:
        the folder of the dataset.

    Raises:
        ValueError: as ``play_decisions``, and if there is such a dataset.
        ImportError: without ``minari`` and ``h5py``.
    """
    agents = _agents(game, players, deals, seed, reward)
    folder = dataset_folder(dataset_id)
    with locked(folder):
        if (folder / "data").exists():
            raise InputError(f"there is a dataset {dataset_id!r} already, in {folder}: remove it, or take another name")
        temporary = folder / "data.writing"
        shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
        try:
            with naming(folder):
                _write_data(
                    temporary,
                    game,
                    players,
                    _play(game, agents, deals, seed, reward),
                    on_progress,
                    observation=observation_for(*agents),
                    dataset_id=dataset_id,
                    num_deals=int(deals),  # NumPy's numbers are no JSON
                    seed=int(seed),
                    reward=reward,
                )
                temporary.rename(folder / "data")
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _write_data(
    folder: Path,
    game: Game,
    players: Sequence[str],
    played: Iterator[Decisions],
    on_progress: Callable[[int], None] | None,
    **about: Any,
) -> None:
    """Writes a dataset's files into a folder of their own."""
    minari, _ = _libraries()
    from minari.dataset.minari_storage import MinariStorage

    low, high = layout_of(game, about["observation"]).bounds()
    space = spaces.Dict(
        {
            "observation": spaces.Box(low.astype(np.int8), high.astype(np.int8), dtype=np.int8),
            "action_mask": spaces.Box(0, 1, (game.num_actions,), np.int8),
        }
    )
    folder.mkdir()
    storage = MinariStorage.new(folder, space, spaces.Discrete(game.num_actions), data_format="hdf5")
    episodes, steps, total = _write(folder / MAIN_FILE, played, on_progress)
    storage.update_metadata(
        {
            "total_episodes": episodes,
            "total_steps": steps,
            "dataset_size": round((folder / MAIN_FILE).stat().st_size / 1e6, 1),
            "minari_version": minari.__version__,
            "algorithm_name": ", ".join(players),
            "description": f"Every decision of every seat in {about['num_deals']:,} deals of {game.title}, played by "
            "trick_envs.",
            "requirements": ["trick_envs"],
            "game": game.name,
            "version": game.type.version,
            "num_players": game.num_players,
            "options": game.options,
            "players": list(players),
            "mean_reward": [round(value, 4) for value in total],
            **about,
        }
    )


def _write(
    path: Path, played: Iterator[Decisions], on_progress: Callable[[int], None] | None
) -> tuple[int, int, list[float]]:
    """Writes all episodes; returns their number, that of all decisions, and the mean reward of each player."""
    _, h5py = _libraries()
    episodes, steps = 0, 0
    sums: dict[int, list[float]] = {}
    with _as_oserror(), h5py.File(path, "w", libver="latest") as file:
        put = _writer(h5py)
        for part in played:
            start = 0
            for i, end in enumerate(part.ends.tolist()):
                count = end - start
                group = h5py.h5g.create(file.id, b"episode_%d" % (episodes + i))
                inner = h5py.h5g.create(group, b"observations")
                h5py.h5g.create(group, b"infos")  # without it, Minari cannot print an episode
                put(inner, b"observation", _with_last(part.observations[start:end]))
                put(inner, b"action_mask", _with_last(part.action_masks[start:end]))
                rewards, over = np.zeros(count, np.float32), np.zeros(count, np.bool_)
                rewards[-1], over[-1] = part.rewards[i], True
                put(group, b"actions", part.actions[start:end])
                put(group, b"rewards", rewards)
                put(group, b"terminations", over.view(np.int8), boolean=True)
                put(group, b"truncations", np.zeros(count, np.int8), boolean=True)
                about = np.array([episodes + i, count, part.deals[i], part.seats[i], part.players[i]])
                for name, value in zip((b"id", b"total_steps", b"deal", b"seat", b"player"), about, strict=True):
                    put.attribute(group, name, value)
                put.attribute(group, b"seed", part.seeds[i])
                sums.setdefault(int(part.players[i]), []).append(float(part.rewards[i]))
                start = end
            episodes, steps = episodes + len(part.ends), steps + len(part.actions)
            if on_progress is not None:
                on_progress(len(np.unique(part.deals)))
    return episodes, steps, [float(np.mean(sums[number])) for number in sorted(sums)]


@contextlib.contextmanager
def _as_oserror() -> Iterator[None]:
    """HDF5 tells of a full disk by a ``RuntimeError`` whose text holds the number of the system's error."""
    try:
        yield
    except RuntimeError as error:
        number = re.search(r"errno = (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _with_last(rows: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    out = np.zeros((len(rows) + 1, rows.shape[1]), np.int8)
    out[:-1] = rows
    return out


class _writer:
    """Writes small arrays: with HDF5's own calls, which take a tenth of the time of h5py's."""

    def __init__(self, h5py: Any) -> None:
        self._h5py = h5py
        self._compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._compact.set_layout(h5py.h5d.COMPACT)
        self._plain = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        self._scalar = h5py.h5s.create(h5py.h5s.SCALAR)
        self._boolean = h5py.h5t.py_create(np.dtype(np.bool_), logical=True)
        self._spaces: dict[tuple[int, ...], Any] = {}
        self._types: dict[Any, Any] = {}

    def __call__(self, group: Any, name: bytes, rows: npt.NDArray[Any], boolean: bool = False) -> None:
        h5py = self._h5py
        if rows.shape not in self._spaces:
            self._spaces[rows.shape] = h5py.h5s.create_simple(rows.shape)
        kind = self._boolean if boolean else self._type(rows.dtype)
        layout = self._compact if rows.nbytes < 60_000 else self._plain  # a header holds 64 kB
        rows = np.ascontiguousarray(rows)
        h5py.h5d.create(group, name, kind, self._spaces[rows.shape], layout).write(
            h5py.h5s.ALL, h5py.h5s.ALL, rows.view(np.bool_) if boolean else rows
        )

    def attribute(self, group: Any, name: bytes, value: Any) -> None:
        """Writes a number as an attribute of a group."""
        number = np.asarray(value)
        self._h5py.h5a.create(group, name, self._type(number.dtype), self._scalar).write(number)

    def _type(self, dtype: np.dtype[Any]) -> Any:
        if dtype not in self._types:
            self._types[dtype] = self._h5py.h5t.py_create(dtype)
        return self._types[dtype]


def _libraries() -> tuple[Any, Any]:
    try:
        import h5py
        import minari
    except ModuleNotFoundError as missing:
        raise MissingExtraError("datasets need minari: pip install 'trick_envs[minari]'") from missing
    return minari, h5py
