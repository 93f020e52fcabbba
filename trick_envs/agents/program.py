"""Players that are programs of their own, written in any language: ``program:PATH?ARGUMENT&ARGUMENT``.

The program reads questions from its standard input and writes answers to its standard output, one JSON object a line.
``docs/external_players.md`` is the protocol. It runs from the first question on until the player is gone, in a process
group of its own, which ends as a whole. Where there are signals and a shell, a guard ends it also if this process is
killed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from trick_envs.agents.agent import Actions, Masks, Observations, required
from trick_envs.agents.chance import Chance
from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.history import HIDDEN_CARD, Events
from trick_envs.engine.positions import phase_name
from trick_envs.engine.state import FOLLOW, LEAD, OVER, PASS, States
from trick_envs.errors import InputError, one_line, shown
from trick_envs.view import table_view

PREFIX = "program:"
PROTOCOL = 1
Tricks: TypeAlias = "list[list[list[int | str]]]"
TIMEOUT = 60.0  # seconds for an answer
_PATIENCE = 2.0  # seconds for a program to end by itself
_LONGEST = 1 << 20  # bytes of an answer
_LAST_WORDS = 4000  # bytes
_MOST_LINES = 1000  # that nobody has asked for
_GUARD = 'read -r line; kill -s KILL -- "-$1"'  # reads to the end of its input, which is that of this process
_SHELL = "/bin/sh"


class ProgramError(InputError):
    """A program that did not answer, or not with a legal card; the message says what it did."""


class IllegalAnswer(ProgramError):
    """A card that is not legal; the message says which ones are: it is for nobody who plays with them."""


class ProgramAgent:
    """A program that plays. Several threads may ask it; copies, pickles and forks start a program of their own.

    Args:
        spec: ``program:PATH``, and behind a ``?`` its arguments, separated by ``&``. A path that ends in ``.py`` is run
            by this Python. The argument ``timeout=SECONDS`` is not passed on: it is how long an answer may take.
        game: the game it is to play.
        seed: seed of the random numbers that it is given.

    Attributes:
        name: the spec.
        observation: ``"history"``: it is told the order of play where that is known.

    Raises:
        ValueError: if there is no such file, or the timeout is no positive number, or longer than Python can wait.
    """

    observation = "history"

    def __init__(self, spec: str, game: Game, seed: int = 0) -> None:
        path, _, rest = spec.removeprefix(PREFIX).partition("?")
        arguments = [each for each in rest.split("&") if each]
        own = [each for each in arguments if each.startswith("timeout=")]
        if not Path(path).is_file():
            raise InputError(f"{spec}: there is no file {path!r}")
        self.name, self.game = spec, game
        self._timeout = _seconds(own[-1].removeprefix("timeout="), spec) if own else TIMEOUT
        file = str(Path(path).resolve())
        self._command = [*([sys.executable] if path.endswith(".py") else []), file]
        self._command += [each for each in arguments if each not in own]
        self.seed(seed)
        self._begin()

    def _begin(self) -> None:
        """No program runs yet: at the beginning, in a copy, and after a fork."""
        self._running: _Running | None = None
        self._lock = threading.RLock()
        _PLAYERS.add(self)

    def seed(self, seed: int) -> None:
        """Reseeds the random numbers that the program is given."""
        self._chance = Chance(seed)

    def act(
        self, observations: Observations, action_masks: Masks, states: States | None = None, plays: Events | None = None
    ) -> Actions:
        """The program's card for every row, ``(B,) int64``.

        Raises:
            ProgramError: if it does not answer in time, has ended, or names no legal card. It is ended then.
        """
        states = required(states, self.game, self.name)
        draws = self._chance.draw(len(states), states)
        actions = np.zeros(len(states), np.int64)
        for i in range(len(states)):
            if states["phase"][i] != OVER:
                question = position(self.game, states[i : i + 1])
                if plays is not None:
                    question |= order_of(self.game, states[i : i + 1], plays[i])
                try:
                    with self._lock:
                        actions[i] = self._ask(question | {"random": float(draws[i])})
                except BaseException:  # also Ctrl-C: an answer that comes later would be taken for the next one
                    self.close()
                    raise
        return actions

    def close(self) -> None:
        """Ends the program, and all that it has started. The next question starts it again."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def _ask(self, question: dict[str, Any]) -> int:
        if self._running is None:
            self._running = _Running(self._command, self.name)
            self._expect({"type": "start", "protocol": PROTOCOL, **self._about()}, "ready")
        answer = self._expect({"type": "act", **question}, "card")
        card = answer.get("card")
        if card not in question["legal"]:
            told = f"named {shown(card)}, which is not legal: expected one of {' '.join(question['legal'])}"
            raise self._failed(told, IllegalAnswer)
        return self.game.deck.parse(str(card))

    def _about(self) -> dict[str, Any]:
        game = self.game
        return {
            "game": game.name,
            "version": game.type.version,
            "num_players": game.num_players,
            "options": game.options,
            "cards": list(game.deck.names),
        }

    def _expect(self, message: dict[str, Any], kind: str) -> dict[str, Any]:
        """Sends a message; returns the answer, which has to be of a kind."""
        running = self._running
        if running is None:
            raise self._failed("was closed while it was asked")
        early = running.unasked()
        if early:
            raise self._failed(f"wrote {_shown(early)} without being asked: expected one line for each question")
        line = running.exchange(json.dumps(message), self._timeout)
        if line is None:
            ended = f": it {running.how_it_ended()}" if running.has_ended() else ""  # what it has started has not
            told = f"did not answer within {self._timeout:g} seconds (set it with '?timeout=SECONDS')"
            raise self._failed(told + ended)
        if not line:
            raise self._failed(running.how_it_ended())
        try:
            answer = json.loads(line.decode())
        except UnicodeDecodeError:
            raise self._failed(f"answered {_shown(line)}, which is not UTF-8") from None
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("type") != kind:
            raise self._failed(f'answered {_shown(line)}: expected a line {{"type": "{kind}", …}}')
        return answer

    def _failed(self, what: str, kind: type[ProgramError] = ProgramError) -> ProgramError:
        self.close()
        return kind(f"{self.name} {what}")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_running", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()


_PLAYERS: weakref.WeakSet[ProgramAgent] = weakref.WeakSet()


def _begin_anew() -> None:
    """In a forked child: programs, their pipes and the locks of other threads belong to the parent."""
    for player in list(_PLAYERS):
        if player._running is not None:
            player._running.forget()
        player._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _shown(line: bytes) -> str:
    """A line of a program, as it may stand in a message."""
    try:
        text = repr(line.decode().strip())
    except UnicodeDecodeError:
        text = repr(line.strip())
    return text if len(text) <= 200 else f"{text[:200]}…"


def position(game: Game, states: States) -> dict[str, Any]:
    """What the seat to act sees of a position, as plain data with cards in text: a question to a program."""
    seat, deck = int(states["seat"][0]), game.deck
    view, names = table_view(game, states, seat), game.deck.names

    def named(kinds: Any) -> list[str]:
        return [names[kind] for kind in kinds if kind is not None]

    return {
        "seat": seat,
        "phase": phase_name(states),
        "deal": view.deal,
        "num_deals": view.num_deals,
        "dealer": int(states["dealer"][0]),
        "trick_number": view.trick_number,
        "trick": [[who, names[kind]] for who, kind in view.trick],
        "legal": named(view.legal),
        "hand": named(view.seats[seat].hand),
        "known": [named(each.hand) for each in view.seats],
        "hand_sizes": [len(each.hand) for each in view.seats],
        "played": [deck.format_all(members(states["gone"][0][who])) for who in range(game.num_players)],
        "void": [
            [suit for k, suit in enumerate(deck.suits) if states["void"][0][who * len(deck.suits) + k]]
            for who in range(game.num_players)
        ],
        "places": {name: named(kinds) for name, kinds in view.places.items()},
        "seat_places": [{name: named(kinds) for name, kinds in each.places.items()} for each in view.seats],
        "scores": [each.score for each in view.seats],
        "own": view.as_dict()["sections"],
    }


def order_of(game: Game, states: States, plays: Events) -> dict[str, Any]:
    """What the seat to act knows of the order of play in a deal: more of a question.

    Args:
        game: the game.
        states: the position.
        plays: ``(T, 4)``, from ``BatchEnv.plays``.

    Returns:
        ``tricks``: in order, each with its plays ``[seat, card]``; the cards that are led begin one. ``passed``: the
        cards that the seat has passed, in the order in which it named them.
    """
    tricks: Tricks = []
    passed, before = [], FOLLOW
    for deal, seat, phase, kind in plays.tolist():
        if deal != states["deal_number"][0]:
            continue
        if phase == PASS and kind != HIDDEN_CARD:
            passed.append(game.deck.names[kind])
        if phase in (LEAD, FOLLOW):
            if phase == LEAD and before != LEAD:  # in some games two cards are led
                tricks.append([])
            tricks[-1].append([seat, game.deck.names[kind]])
            before = phase
    return {"tricks": tricks, "passed": passed}


class _Running:
    """A program that runs."""

    def __init__(self, command: list[str], name: str) -> None:
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        except (OSError, ValueError) as error:  # the latter of a character that no argument may have
            raise ProgramError(f"{shown(name)} does not start: {getattr(error, 'strerror', None) or error}") from error
        guard = None
        if os.name == "posix" and os.path.exists(_SHELL):
            guard = subprocess.Popen(
                [_SHELL, "-c", _GUARD, "guard", str(process.pid)], bufsize=0, stdin=pipe, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self._process, self._guard = process, guard
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=_MOST_LINES)
        self._said = bytearray()  # the end of its standard error
        assert process.stdout is not None
        assert process.stderr is not None
        threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True).start()
        self._listener = threading.Thread(target=_keep_end, args=(process.stderr, self._said), daemon=True)
        self._listener.start()
        self._end = weakref.finalize(self, _end, process, guard)  # also when Python ends

    def unasked(self) -> bytes:
        """A line that it has written without being asked, if there is one."""
        try:
            line = self._lines.get_nowait()
        except queue.Empty:
            return b""
        if not line:  # its end, which ``exchange`` finds
            self._lines.put(line)
        return line

    def exchange(self, message: str, timeout: float) -> bytes | None:
        """Sends a line and returns the next one; empty if the program has ended, ``None`` if it takes too long."""
        assert self._process.stdin is not None
        deadline = time.monotonic() + timeout
        rest = memoryview(f"{message}\n".encode())
        try:
            while rest:
                rest = rest[self._process.stdin.write(rest) :]
        except (OSError, ValueError):  # it has ended, or another thread has closed it
            return b""
        try:
            return self._lines.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            return None

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def how_it_ended(self) -> str:
        """Its exit status, and the last line of its standard error."""
        status = _wait(self._process)
        self._listener.join(_PATIENCE)  # what it has started may hold it open
        words = self._said.decode(errors="replace").strip().splitlines()
        end = "has closed its output" if status is None else f"has ended with exit status {status}"
        return end + (f": {one_line(words[-1])}" if words else "")

    def end(self) -> None:
        """Ends it, and all processes of its group."""
        self._end()

    def forget(self) -> None:
        """Lets go of a program of the process from which this one was forked."""
        self._end.detach()
        for one in (self._process, self._guard):
            if one is not None:
                one.returncode = 0  # nobody waits for it here
                if one.stdin is not None:
                    one.stdin.close()


def _read(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Lines of a program, an empty one at the end."""
    left_over = bytearray()
    try:
        while part := stream.read(1 << 16):
            left_over += part
            *whole, left_over = left_over.split(b"\n")
            for line in whole:
                lines.put_nowait(bytes(line) + b"\n")
            if len(left_over) > _LONGEST:
                break
    except (OSError, ValueError):
        pass
    except queue.Full:  # the next question finds out
        return
    finally:
        stream.close()
    if left_over:
        lines.put(bytes(left_over))
    lines.put(b"")


def _keep_end(stream: IO[bytes], said: bytearray) -> None:
    """Reads all that a program says, and keeps the last of it: whoever says much must not fill a disk."""
    try:
        while part := stream.read(1 << 16):
            said += part
            del said[:-_LAST_WORDS]
    except (OSError, ValueError):
        pass
    finally:
        stream.close()


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:  # it has only closed its output
        return None


def _end(process: subprocess.Popen[bytes], guard: subprocess.Popen[bytes] | None) -> None:
    """Closes its input, which asks it to end, and kills what is left of it two seconds later."""
    try:
        if process.stdin is not None:
            process.stdin.close()
    except OSError:
        pass
    if process.poll() is None:
        _wait(process)
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)  # it may have ended, and not what it has started
        elif process.poll() is None:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
    except OSError:  # nothing is left
        pass
    if process.poll() is None:
        process.kill()
        process.wait()
    if guard is not None:
        guard.kill()
        guard.wait()
        if guard.stdin is not None:
            guard.stdin.close()


def _seconds(text: str, spec: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise InputError(
            f"{spec}: timeout: expected a number of seconds above 0, not {shown(text)}; "
            f"at most {threading.TIMEOUT_MAX:,.0f} are possible"
        )
    return seconds
