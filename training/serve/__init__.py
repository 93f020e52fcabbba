"""``trick serve``: a page to play on and a viewer for replays, on this machine."""

from training.serve.app import make_app
from training.serve.server import serve

__all__ = ["make_app", "serve"]
