"""Stable-Baselines3: natively batched games as its ``VecEnv``. ::

    from sb3_contrib import MaskablePPO
    from trick_envs.interfaces.sb3 import make_vec_env

    model = MaskablePPO("MlpPolicy", make_vec_env("trick_envs/Pepper-v0", n_envs=256, seed=1))
    model.learn(100_000)

Only this module imports ``stable_baselines3``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from trick_envs.engine.arguments import action_numbers, whole_number
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.rng import checked_seed, game_seeds
from trick_envs.errors import (
    IllegalAction,
    InputError,
    InputTypeError,
    ResetNeeded,
    TrickEnvsError,
    checked,
    optional_path,
    shown,
)
from trick_envs.interfaces.vector import VectorSeatEnv


class SeatVecEnv(Interruptible, VecEnv):
    """Games of a ``VectorSeatEnv`` as a ``VecEnv``: what ``DummyVecEnv`` makes of as many ``SeatEnv``, but compiled.

    - The match that follows a finished one begins with the same step; the last observation of the finished one is in
      ``infos[i]["terminal_observation"]``.
    - ``env_method("action_masks")``, which sb3-contrib calls, returns the mask of every game.
    - ``seed`` and ``set_options`` hold for the next ``reset``. Game ``i`` gets ``seed + i``.

    ``make_vec_env`` makes one, with episode statistics. The games share all attributes but ``seat`` and
    ``action_masks``, so none can be set.

    Args:
        games: what ``gymnasium.make_vec(…, autoreset_mode="SAME_STEP")`` returns.

    Raises:
        ValueError: if the games reset themselves otherwise.
    """

    def __init__(self, games: VectorSeatEnv) -> None:
        checked(games, VectorSeatEnv, "games", "what gymnasium.make_vec() makes of a game of trick_envs")
        if games.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise InputError(f"games: expected autoreset_mode='SAME_STEP', not {games.autoreset_mode.name!r}")
        self.games, self.spec = games, games.spec
        self._actions: npt.ArrayLike | None = None
        super().__init__(games.num_envs, games.single_observation_space, games.single_action_space)

    def __repr__(self) -> str:
        game = self.games.game
        return f"<SeatVecEnv of {self.num_envs} x {game.name} for {game.num_players} players>"

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Game ``i`` gets ``seed + i`` with the next ``reset``; ``None`` draws a seed.

        Raises:
            ValueError: if it is no seed.
        """
        if seed is None:
            return list(super().seed())
        self._seeds = game_seeds(checked_seed(seed), self.num_envs)
        return self._seeds

    def set_options(self, options: Any = None) -> None:
        """The options of the next ``reset``: a dict for all games, or the same one for each of them.

        Raises:
            TypeError: if they are something else.
        """
        listed = isinstance(options, (list, tuple)) and len(options) == self.num_envs
        if not all(each is None or isinstance(each, dict) for each in (options if listed else [options])):
            raise InputTypeError(f"set_options: expected None, a dict, or {self.num_envs} dicts, not {shown(options)}")
        super().set_options(options)

    def reset(self) -> Any:
        """Starts a match in every game; returns the observations.

        Raises:
            ValueError: for options that the games refuse. They are dropped, the seeds are not, and the matches go on.
        """
        complete = self._complete
        try:
            if any(options != self._options[0] for options in self._options):
                raise InputError("set_options: expected the same options for all games, which reset together")
            return self._reset()
        except TrickEnvsError:
            self._complete = complete and self.games._complete
            self._reset_options()
            raise

    @whole
    def _reset(self) -> Any:
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        observations, infos = self.games.reset(seed=seeds, options=self._options[0])
        self.reset_infos = [{"action_mask": mask} for mask in infos["action_mask"]]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: npt.ArrayLike) -> None:
        """Notes the actions, ``(num_envs,)`` integers; ``step_wait`` plays them."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, ends and infos of all games."""
        self._needs_complete()
        if self._actions is None:
            raise ResetNeeded("no actions: call step_async() before step_wait()")
        actions = action_numbers(self._actions, self.num_envs)
        self._actions = None
        try:
            return self._step(actions)
        except IllegalAction:  # of the learner: nothing has moved
            self._complete = self.games._complete
            raise

    @whole
    def _step(self, actions: npt.NDArray[np.int64]) -> Any:
        observations, rewards, ends, _, infos = self.games.step(actions)
        told: list[dict[str, Any]] = [
            {"action_mask": mask, "TimeLimit.truncated": False} for mask in infos["action_mask"]
        ]
        for i in np.flatnonzero(ends):
            self.reset_infos[i] = {"action_mask": told[i]["action_mask"]}
            told[i]["action_mask"] = infos["final_info"]["action_mask"][i]
            told[i]["terminal_observation"] = infos["final_obs"][i]
        return observations, rewards.astype(np.float32), ends, told

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The value of an attribute in every game, or in some."""
        each = self._get_indices(indices)
        checked(attr_name, str, "attr_name", "the name of an attribute")
        if attr_name == "seat":
            return [int(self.games.seats[i]) for i in each]
        if attr_name == "action_masks":
            return [partial(self._mask, i) for i in each]
        return [getattr(self.games, attr_name) for _ in each]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **named: Any) -> list[Any]:
        """What a method of single games returns, for every game or some: ``action_masks``, ``history``, ``render``."""
        each = self._get_indices(indices)
        if method_name == "action_masks":
            masks = self.games.action_masks()
            return [masks[i] for i in each]
        if method_name == "history":
            return [self.games.history(i, *args, **named) for i in each]
        if method_name == "render":
            pictures = self.games.render()
            return [None if pictures is None else pictures[i] for i in each]
        raise AttributeError(f"env_method: expected 'action_masks', 'history' or 'render', not {shown(method_name)}")

    def get_images(self) -> list[Any]:
        """Every table as pixels, in render mode ``"rgb_array"``."""
        return list(self.games.render() or ())

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible: the games share their attributes."""
        raise AttributeError(f"{attr_name!r} cannot be set: make the games with the arguments that they shall have")

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Any = None
    ) -> list[bool]:
        """``False`` for every game: there are no single environments to be wrapped."""
        return [False for _ in self._get_indices(indices)]

    def _get_indices(self, indices: Any) -> list[int]:
        """The games that are meant, checked: -1 is none."""
        return [whole_number(i, 0, self.num_envs - 1, "indices") for i in super()._get_indices(_listed(indices))]

    def close(self) -> None:
        """Closes the games."""
        self.games.close()

    def _mask(self, i: int) -> npt.NDArray[np.int8]:
        return self.games.action_masks()[i]


def _listed(indices: Any) -> Any:
    several = indices is None or (isinstance(indices, Iterable) and getattr(indices, "ndim", 1) > 0)
    return indices if several else [indices]


def make_vec_env(
    env_id: str,
    n_envs: int = 1,
    seed: int | None = None,
    monitor_dir: str | Path | None = None,
    env_kwargs: dict[str, Any] | None = None,
) -> VecMonitor:
    """``make_vec_env`` of Stable-Baselines3 with compiled games: a ``SeatVecEnv`` in a ``VecMonitor``.

    Args:
        env_id: a game, such as ``"trick_envs/Pepper-v0"``.
        n_envs: how many games.
        seed: game ``i`` starts with ``seed + i``; ``None``: random seeds.
        monitor_dir: the folder for a file ``monitor.csv`` with the result of every match.
        env_kwargs: arguments of the games, as for ``gymnasium.make_vec``.
    """
    if not isinstance(env_id, str) or "trick_envs/" not in env_id:
        raise InputError(f"env_id: expected a game such as 'trick_envs/Pepper-v0', not {shown(env_id)}")
    options = checked({} if env_kwargs is None else env_kwargs, dict, "env_kwargs", "a dict of the games' arguments")
    folder = optional_path(monitor_dir, "monitor_dir")
    games: Any = gymnasium.make_vec(
        env_id, n_envs, "vector_entry_point", **{"autoreset_mode": AutoresetMode.SAME_STEP, **options}
    )
    env = SeatVecEnv(games)
    if seed is not None:
        seed = checked_seed(seed)
        env.seed(seed)
        env.action_space.seed(seed)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return VecMonitor(env, None if folder is None else str(folder / "monitor.csv"))
