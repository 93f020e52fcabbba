"""The command: a socket, an address, a browser."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from trick_envs.agents import make_agent
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError, shown
from trick_envs.files import write_text
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match
from trick_envs.play.hints import advisor_of
from trick_envs.play.saved import data_root
from trick_envs.play.web.app import FIRST, make_app
from trick_envs.play.web.http import HOST, LOOPBACK

ALL = ("0.0.0.0", "::")  # where a server listens on every address of its machine
PATIENCE = 3  # seconds that a server which ends waits for what is still being sent, computed or read


def serve(
    game: str | None,
    host: str,
    port: int,
    browser: bool,
    folder: Path | None,
    tell: Callable[[str], None],
    allowed: Sequence[str] = (),
    policies: Sequence[Path] = (),
) -> None:
    """Serves until it is stopped.

    Args:
        game: the game that is dealt at once; ``None``: the page begins with all games.
        host: where to listen: a loopback address, unless others are meant to play too.
        port: the port; 0 takes any that is free.
        browser: whether to open a browser, if there is one.
        folder: where games are saved; ``None``: ``games`` in the user's data folder.
        tell: gets the address, and that games cannot be saved if so.
        allowed: further names under which it may be asked: of a tunnel or a proxy in front.
        policies: files that may be chosen as opponents.

    Raises:
        OSError: if the port is taken.
        ValueError: if there is no such game, a file holds no policy, or an allowed name is none.
    """
    folder = folder or data_root() / "games"
    app = make_app(game or FIRST, allowed_hosts(host, allowed), host in ALL, folder, True, policies)
    found = _bind(host, port)
    address = f"http://{_shown(host)}:{found.getsockname()[1]}/" + (f"?game={game}" if game else "")
    tell(address)
    if wrong := unwritable(folder):
        tell(f"games are not saved, they last as long as the server runs: {wrong}")
    threading.Thread(target=_compile, args=(game or FIRST,), daemon=True).start()
    if browser and _has_browser():
        threading.Timer(0.3, webbrowser.open, (address,)).start()
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=30)
    _Server(config).run(sockets=[found])


class _Server(uvicorn.Server):
    """Ends in order also while somebody sends half a request, or does not read an answer."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(PATIENCE, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def unwritable(folder: Path) -> str:
    """Why nothing can be written into a folder, which is made if it is not there; empty if something can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / ".writable", "")
        (folder / ".writable").unlink()
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return ""


def allowed_hosts(host: str, further: Sequence[str] = ()) -> list[str]:
    """The names under which a server that listens there may be asked: no other site's name that leads here.

    Raises:
        ValueError: if a further one is no name, such as an address with ``http://`` or a port: nobody asks by that.
    """
    for name in further:
        if not HOST.fullmatch(name):
            raise InputError(f"--allowed-host: expected a name such as cards.example.org, not {shown(name)}")
    if host in ALL:
        name = socket.gethostname()
        return [*LOOPBACK, name, f"{name}.local", *further]  # addresses in numbers besides: see ``KnownHosts``
    return [*LOOPBACK, f"[{host}]" if ":" in host else host, *further]


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, TypeError, ValueError) as error:  # a name with letters that no host has is one of the latter
        found.close()
        elsewhere = not isinstance(error, OSError) or isinstance(error, socket.gaierror)
        elsewhere = elsewhere or getattr(error, "errno", None) == errno.EADDRNOTAVAIL
        other = "another --host, one of this machine" if elsewhere else "another --port, or 0 for any"
        told = getattr(error, "strerror", error)
        raise OSError(f"cannot listen on {host}:{port} ({told}): try {other}") from None
    found.listen(128)
    return found


def _shown(host: str) -> str:
    if host in ALL:
        return "localhost"
    return f"[{host}]" if ":" in host else host


def _has_browser() -> bool:
    """Whether there is a browser with a window; one in the terminal would take the terminal."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _compile(name: str) -> None:
    """Makes ready what the first game needs: compiled rules, a policy, a search."""
    game = load_game(name, num_deals=1)
    greedy = make_agent("greedy", game)
    play_match(name, dict.fromkeys(range(game.num_players), greedy), 0, num_deals=1)
    advisor_of(game).advise(Match(game, 0).states)
