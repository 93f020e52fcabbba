"""What ``render()`` shows in all environments: text, pixels or a window, of what a seat sees or of everything."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt

from trick_envs.engine.arguments import check_render_mode, seat_number
from trick_envs.engine.game import Game
from trick_envs.errors import MissingExtraError
from trick_envs.interfaces.window import Window
from trick_envs.view import TableView, ansi, rgb_array

MODES, FPS = ("human", "ansi", "rgb_array"), 2
ALL = "all"

Rendered: TypeAlias = str | npt.NDArray[np.uint8] | None


def no_render_mode(modes: Sequence[str] = MODES) -> None:
    """Warns of ``render()`` in an environment that was made without a mode."""
    gymnasium.logger.warn(f"render() needs a render_mode: make the environment with one of {', '.join(modes)}")


class NoPillow(MissingExtraError, ModuleNotFoundError, TypeError):
    """Pixels are asked for, but Pillow is not installed.

    It is a ``TypeError`` as well: Stable-Baselines3 asks for ``"rgb_array"`` first, and does without it after one.
    """


class Rendering:
    """The settings of ``render()``, checked, and the window of mode ``"human"``.

    Args:
        game: the game.
        mode: one of ``modes``, or ``None``.
        view: ``"all"``, a seat, or ``None``: the seat that the environment says.
        modes: the modes that the environment has.

    Raises:
        UnknownRenderMode: if there is no such mode.
        NoPillow: for ``"rgb_array"`` without Pillow.
        ValueError: if there is no such view.
    """

    def __init__(self, game: Game, mode: str | None, view: int | str | None, modes: Sequence[str] = MODES) -> None:
        check_render_mode(mode, modes)
        if mode == "rgb_array" and find_spec("PIL") is None:
            raise NoPillow("render_mode='rgb_array' needs Pillow: pip install 'trick_envs[render]'", name="PIL")
        if not (view is None or (isinstance(view, str) and view == ALL)):
            seat_number(view, game.num_players, "render_view", "'all' or a seat")
        self.mode, self.view = mode, view
        self._window: Window | None = None

    def observer(self, seat: int | None) -> int | None:
        """Who looks on: a seat, or ``None`` for an open table; ``seat`` if the settings do not say."""
        return seat if self.view is None else None if self.view == ALL else int(self.view)

    def show(self, view: TableView) -> Rendered:
        """Text in mode ``"ansi"``, ``(H, W, 3) uint8`` in ``"rgb_array"``; nothing in ``"human"``, which shows it."""
        if self.mode == "ansi":
            return ansi(view)
        if self.mode == "rgb_array":
            return rgb_array(view)
        if self._window is None:
            self._window = Window(view.title, FPS)
        if self._window.possible:
            self._window.show(rgb_array(view))
        else:
            print(ansi(view, color=bool(sys.stdout and sys.stdout.isatty())))
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}
