"""Players that are programs of their own, written in any language: ``program:PATH?ARGUMENT&ARGUMENT``.

The program reads questions from its standard input and writes answers to its standard output, one JSON object a line.
``docs/external_players.md`` is the protocol. It runs from the first question on until the player is gone.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
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
from trick_envs.engine.history import Events
from trick_envs.engine.inspect import phase_name
from trick_envs.engine.state import FOLLOW, LEAD, OVER, States
from trick_envs.errors import InputError
from trick_envs.view import table_view

PREFIX = "program:"
PROTOCOL = 1
Tricks: TypeAlias = "list[list[list[int | str]]]"
TIMEOUT = 60.0  # seconds for an answer
_PATIENCE = 2.0  # seconds for a program to end by itself


class ProgramError(InputError):
    """A program that did not answer, or not with a legal card; the message says what it did."""


class ProgramAgent:
    """A program that plays.

    Args:
        spec: ``program:PATH``, and behind a ``?`` its arguments, separated by ``&``. A path that ends in ``.py`` is run
            by this Python. The argument ``timeout=SECONDS`` is not passed on: it is how long an answer may take.
        game: the game it is to play.
        seed: seed of the random numbers that it is given.

    Attributes:
        name: the spec.
        observation: ``"history"``: it is told the order of play where that is known.

    Raises:
        ValueError: if there is no such file, or the timeout is no positive number.
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
        self._running: _Running | None = None
        self.seed(seed)

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
        states = required(states, self.name)
        draws = self._chance.draw(len(states), states)
        actions = np.zeros(len(states), np.int64)
        for i in range(len(states)):
            if states["phase"][i] != OVER:
                tricks = None if plays is None else tricks_of(self.game, states[i : i + 1], plays[i])
                actions[i] = self._ask(states[i : i + 1], float(draws[i]), tricks)
        return actions

    def close(self) -> None:
        """Ends the program. The next question starts it again."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _ask(self, states: States, draw: float, tricks: Tricks | None) -> int:
        if self._running is None:
            self._running = _Running(self._command, self.name)
            self._expect({"type": "start", "protocol": PROTOCOL, **self._about()}, "ready")
        question = position(self.game, states) | ({} if tricks is None else {"tricks": tricks})
        answer = self._expect({"type": "act", **question, "random": draw}, "card")
        card = answer.get("card")
        if card not in question["legal"]:
            raise self._failed(f"named {card!r}, which is not legal: expected one of {' '.join(question['legal'])}")
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
        assert self._running is not None
        line = self._running.exchange(json.dumps(message), self._timeout)
        if line is None:
            raise self._failed(f"did not answer within {self._timeout:g} seconds (set it with '?timeout=SECONDS')")
        if not line:
            raise self._failed(self._running.how_it_ended())
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or answer.get("type") != kind:
            raise self._failed(f'answered {line.strip()[:200]!r}: expected a line {{"type": "{kind}", …}}')
        return answer

    def _failed(self, what: str) -> ProgramError:
        self.close()
        return ProgramError(f"{self.name} {what}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_running": None}  # a copy starts a program of its own


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


def tricks_of(game: Game, states: States, plays: Events) -> Tricks:
    """The tricks of the deal in order, each with its plays: ``[seat, card]``. Every lead begins one.

    Args:
        game: the game.
        states: the position.
        plays: ``(T, 4)``, from ``BatchEnv.plays``.
    """
    tricks: Tricks = []
    for deal, seat, phase, card in plays.tolist():
        if deal == states["deal_number"][0] and phase in (LEAD, FOLLOW):
            if phase == LEAD:
                tricks.append([])
            tricks[-1].append([seat, game.deck.names[card]])
    return tricks


class _Running:
    """A program that runs."""

    def __init__(self, command: list[str], name: str) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the program runs)
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, text=True, bufsize=1
            )
        except OSError as error:
            raise ProgramError(f"{name} does not start: {error.strerror or error}") from error
        self._lines: queue.Queue[str] = queue.Queue()
        assert self._process.stdout is not None
        threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
        self._end = weakref.finalize(self, _end, self._process)  # also when Python ends

    def exchange(self, message: str, timeout: float) -> str | None:
        """Sends a line and returns the next one; empty if the program has ended, ``None`` if it takes too long."""
        assert self._process.stdin is not None
        deadline = time.monotonic() + timeout
        try:
            self._process.stdin.write(message + "\n")
            self._process.stdin.flush()
        except OSError:
            return ""
        try:
            return self._lines.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            return None

    def how_it_ended(self) -> str:
        """Its exit status, and the last line of its standard error."""
        status = _wait(self._process)
        self._said.seek(max(self._said.seek(0, os.SEEK_END) - 4000, 0))
        words = self._said.read().decode(errors="replace").strip().splitlines()
        return f"has ended with exit status {status}" + (f": {words[-1]}" if words else "")

    def end(self) -> None:
        self._end()


def _read(stream: IO[str], lines: queue.Queue[str]) -> None:
    try:
        for line in stream:
            lines.put(line)
    except (OSError, ValueError):
        pass
    lines.put("")


def _wait(process: subprocess.Popen[str]) -> int | None:
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:  # it has only closed its output
        return None


def _end(process: subprocess.Popen[str]) -> None:
    """Closes its input, which asks it to end, and kills it if it does not."""
    try:
        if process.stdin is not None:
            process.stdin.close()
    except OSError:
        pass
    if process.poll() is None and _wait(process) is None:
        process.kill()
        process.wait()


def _seconds(text: str, spec: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{spec}: timeout: expected a number of seconds above 0, not {text!r}")
    return seconds
