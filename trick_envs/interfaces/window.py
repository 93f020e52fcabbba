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
    """A window that shows pictures. It stays closed, and says so once, where none can be opened.

    Attributes:
        open: whether there is a window.
    """

    open = False
    _told = False  # by any window

    def __init__(self, title: str, fps: int) -> None:
        self._title, self._fps = title, fps
        self._screen: Any = None
        reason = self._why_not()
        self.open = not reason
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

        if self._screen is None:
            self._screen = pygame.display.set_mode((pixels.shape[1], pixels.shape[0]))
            pygame.display.set_caption(self._title)
            self._clock = pygame.time.Clock()
        pygame.event.pump()
        self._screen.blit(pygame.surfarray.make_surface(pixels.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Closes the window."""
        if self.open:
            import pygame

            pygame.display.quit()
            self.open, self._screen = False, None
