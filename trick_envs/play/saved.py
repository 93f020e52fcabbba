"""The games that people have begun in a browser, on disk: a folder for every browser, with a record for every game."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trick_envs.engine.registry import game_type
from trick_envs.errors import InputError
from trick_envs.files import files_in, is_list, is_number, read_json, user_folder, write_json
from trick_envs.play.characters import PERSON
from trick_envs.play.session import Session

MOST = 500  # games of one browser; the one that was left longest ago makes room
MOST_IN_ALL = 20_000
MOST_WITH_THE_SAME_CARDS = 50
_ID = re.compile(r"[A-Za-z0-9_-]{12}")
_LOG = logging.getLogger("trick_envs.serve")


def data_root() -> Path:
    """The folder for what people keep: ``$TRICK_ENVS_DATA``, else the user's data folder.

    Without a home it is a temporary folder: games last as long as this process.
    """
    return user_folder("TRICK_ENVS_DATA", "XDG_DATA_HOME", ".local/share") or _temporary_root()


@cache
def _temporary_root() -> Path:
    root = tempfile.mkdtemp(prefix="trick_envs-games-")
    atexit.register(lambda: shutil.rmtree(root, ignore_errors=True))
    return Path(root)


def new_id() -> str:
    """An id that nobody guesses, for a game's address and the name of its file."""
    return secrets.token_urlsafe(9)


@dataclass(frozen=True)
class SavedGame:
    """A game at a glance. Nothing in it tells what a seat may not know.

    Attributes:
        id: its own.
        game: the name of what is played.
        num_players, num_deals: as in its record.
        deals: how many deals have begun.
        seat: the person's.
        score: points of the match by seat.
        over: whether nobody plays any more.
        winners: the seats that have won; ``None`` if the match has not come to its end.
        taken_back: how often the person took back a play.
        begun: whether the person has played a card.
        old: whether the rules have changed since, so that it cannot be opened.
        saved: when, in seconds since 1970.
    """

    id: str
    game: str
    num_players: int
    num_deals: int
    deals: int
    seat: int
    score: list[int]
    over: bool
    winners: list[int] | None
    taken_back: int
    begun: bool
    old: bool
    saved: float


class SavedGames:
    """Games on disk. Files are replaced atomically (``Session.save``).

    Args:
        folder: where; it is made when the first game is saved.

    Attributes:
        policies: the folder of the policies that people have brought.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.policies = folder, folder / "policies"
        self._known: dict[Path, tuple[int, SavedGame | None]] = {}
        self._index: dict[str, Path] | None = None  # by id
        self._lock = threading.Lock()

    def _by_id(self) -> dict[str, Path]:
        with self._lock:
            if self._index is None:
                self._index = {path.stem: path for path in files_in(self.folder, "*/*.json")}
            return self._index

    def ids(self) -> list[str]:
        """The ids of all games."""
        return list(self._by_id())

    def file_for(self, browser: str, game: str) -> Path | None:
        """The file of a new game; ``None`` if there are too many of others.

        Args:
            browser: the secret that a browser sends; it is nowhere on the disk.
            game: the game's id.
        """
        own, index = self._own(browser), self._by_id()
        try:
            kept = sorted(own.glob("*.json"), key=self._worth)
            for least in kept[: max(0, len(kept) - MOST + 1)]:
                least.unlink(missing_ok=True)
                index.pop(least.stem, None)
        except OSError:  # what is wrong with the folder is said when the game is saved
            kept = []
        if len(kept) < MOST and len(index) >= MOST_IN_ALL:
            _LOG.error("%s holds %d games: a new one is not saved", self.folder, MOST_IN_ALL)
            return None
        index[game] = own / f"{game}.json"
        return index[game]

    def _worth(self, path: Path) -> tuple[bool, int]:
        """What makes room first is worth least: a game without a card, then the one left longest ago."""
        found = self._glance(path)
        return found is not None and found.begun, path.stat().st_mtime_ns

    def find(self, game: str) -> Path | None:
        """The file of a game, whoever's it is; ``None`` if there is none."""
        if not _ID.fullmatch(game):
            return None
        path = self._by_id().get(game)
        return path if path is not None and path.is_file() else None

    def load(self, game: str) -> Session | None:
        """A game as it was saved; ``None`` if there is none.

        Raises:
            ValueError: if it cannot be played on, for example because the rules are of another version; tells no path.
        """
        path = self.find(game)
        return None if path is None else Session.load(path, named=True, policies=self.policies)

    def delete(self, browser: str, game: str) -> bool:
        """Deletes a game of this browser; returns whether there was one."""
        file = self._own(browser) / f"{game}.json"
        if not _ID.fullmatch(game) or not os.path.isfile(file):
            return False
        file.unlink(missing_ok=True)
        self._by_id().pop(game, None)
        return True

    def games_of(self, browser: str) -> list[SavedGame]:
        """The games that a browser has begun, the latest first. What cannot be read is left out."""
        files = files_in(self._own(browser), "*.json")
        self._by_id().update((path.stem, path) for path in files)  # another server may have written some
        found = [self._glance(path) for path in files]
        return sorted((one for one in found if one is not None and one.begun), key=lambda one: -one.saved)

    # --- the same cards for several people ---------------------------------------------------------------------------

    def share(self, game: str) -> str:
        """A new link to the cards of a game: its name, which nobody guesses."""
        name = new_id()
        self._shared_file(name).parent.mkdir(parents=True, exist_ok=True)
        self._write(name, [game])
        return name

    def shared(self, name: str) -> list[str]:
        """The games of a link, by their ids: the one that the cards are from, then others; empty if there is none."""
        path = self._shared_file(name)
        if not _ID.fullmatch(name) or not os.path.isfile(path):  # nor if one may not look
            return []
        try:
            found = read_json(path)
            games = [found["first"], *found["games"]]
            if all(isinstance(one, str) and _ID.fullmatch(one) for one in games):
                return games
        except (ValueError, TypeError, KeyError, OSError) as error:
            _LOG.warning("%s is no link (%s: %s)", path, type(error).__name__, error)
        return []

    def join(self, name: str, game: str) -> None:
        """Adds a game to those of a link; of very many, the first and the last ones are kept."""
        with self._lock:
            if games := self.shared(name):
                self._write(name, [games[0], *[*games[1:], game][-MOST_WITH_THE_SAME_CARDS:]])

    def results(self, name: str, without: str) -> list[dict[str, Any]]:
        """How those games of a link have ended that are over, except one: ``first`` or not, ``score`` by seat."""
        games = self.shared(name)
        paths = [self.find(game) for game in games if game != without]
        ended = [one for one in (self._glance(path) for path in paths if path) if one and one.winners is not None]
        return [{"first": one.id == games[0], "score": one.score} for one in ended]

    def _write(self, name: str, games: list[str]) -> None:
        write_json(self._shared_file(name), {"first": games[0], "games": games[1:]})

    def _shared_file(self, name: str) -> Path:
        return self.folder / "same" / f"{name}.link"

    def _own(self, browser: str) -> Path:
        return self.folder / hashlib.sha256(browser.encode()).hexdigest()[:24]

    def _glance(self, path: Path) -> SavedGame | None:
        """A game at a glance, read again only if the file has changed."""
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
                return None
            stamp = found.st_mtime_ns
            with self._lock:
                known = self._known.get(path)
            if known is None or known[0] != stamp:
                known = stamp, _read(path)
                with self._lock:
                    self._known[path] = known
            return known[1]
        except OSError:  # deleted just now, or no file
            return None


def _read(path: Path) -> SavedGame | None:
    try:
        record = read_json(path)
        seat = record["players"].index(PERSON)
        plays = [who for deal in record["deals"] for who, _ in deal["actions"]][record.get("start_number", 0) :]
        players, num_deals, winners = record["num_players"], record["num_deals"], record["winners"]
        sound = (
            is_number(players, int) and is_list(record["score"], players, int)
            and (num_deals is None or is_number(num_deals, int)) and is_number(record.get("taken_back", 0), int)
            and (winners is None or (is_list(winners, len(winners), int) and set(winners) <= set(range(players))))
        )  # fmt: skip
        if not sound:
            raise InputError("numbers of players, deals and points that no record has")
        kind = game_type(record["game"])
        return SavedGame(
            path.stem, kind.name, players, num_deals, len(record["deals"]), seat,
            record["score"], winners is not None or record.get("ended") is True, winners, record.get("taken_back", 0),
            seat in plays, record["version"] != kind.version, path.stat().st_mtime,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, InputError) as error:
        _LOG.warning("%s is no saved game (%s: %s)", path, type(error).__name__, error)
        return None
