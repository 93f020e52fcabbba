"""A window for mode ``"human"``, with pygame-ce if it is installed and there is a display."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

_HIDDEN = ("offscreen", "dummy")  # what SDL falls back to without a display


class Window:
    """A window that shows pictures; others of this process do not matter to it, nor it to them.

    Where none can be opened, it says so once. One that its user has closed stays closed.

    Attributes:
        possible: whether there can be a window.
        shut: whether its user has closed it.
    """

    _told = False  # by any window

    def __init__(self, title: str, fps: int) -> None:
        self._title, self._fps = title, fps
        self._window: Any = None
        self.shut = False
        reason = self._why_not()
        self.possible = not reason
        if reason and not Window._told:
            Window._told = True
            gymnasium.logger.warn(f"render_mode='human' prints text, because {reason}")

    def _why_not(self) -> str:
        """Why no window can be opened; nothing if one can."""
        for module, package in (("pygame", "pygame-ce"), ("PIL", "'trick_envs[render]'")):
            if find_spec(module) is None:
                return f"{module} is not installed (for a window: pip install {package})"
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        import pygame

        if not hasattr(pygame, "Window"):
            return "pygame is too old (for a window: pip install 'pygame-ce>=2.5')"
        try:
            pygame.display.init()
        except pygame.error as error:
            return f"no display can be used ({error})"
        if pygame.display.get_driver() in _HIDDEN and "SDL_VIDEODRIVER" not in os.environ:
            pygame.display.quit()
            return "there is no display"
        return ""

    def show(self, pixels: npt.NDArray[np.uint8]) -> None:
        """Shows ``(H, W, 3) uint8``, and waits so that there are no more than so many pictures a second."""
        import pygame

        if not pygame.display.get_init():  # somebody else has ended pygame, and all windows with it
            pygame.display.init()
            self._window = None
        _look_for_closed_windows()
        if self.shut:
            return
        if self._window is None:
            self._window = pygame.Window(self._title, (pixels.shape[1], pixels.shape[0]))
            _open[self._window.id] = self
            self._clock = pygame.time.Clock()
        self._window.get_surface().blit(pygame.surfarray.make_surface(pixels.swapaxes(0, 1)), (0, 0))
        self._window.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Closes the window."""
        window, self._window = self._window, None
        if window is not None:
            import pygame

            if _open.get(window.id) is self:
                del _open[window.id]
            if pygame.display.get_init():
                window.destroy()


_open: dict[int, Window] = {}  # the windows on the screen, by their numbers


def _look_for_closed_windows() -> None:
    """Closes those whose cross has been pressed; all other events stay where they are."""
    import pygame

    pygame.event.pump()
    for event in pygame.event.get(pygame.WINDOWCLOSE):
        shown = _open.get(getattr(event.window, "id", -1))
        if shown is not None:
            shown.shut = True
            shown.close()
