"""``trick serve``: a page to play on and a viewer for replays, on this machine."""

from trick_envs.play.web.app import make_app
from trick_envs.play.web.server import serve

__all__ = ["make_app", "serve"]
