"""Language models as players: ``llm:MODEL@URL?ARGUMENT&…``, behind an OpenAI-compatible endpoint for chats.

``docs/language_models.md`` says what is asked, and what happens to bad answers. Every question and answer is a line of
a JSONL file; an answer that is there already is not asked for again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from trick_envs.agents.agent import Actions, Masks, Observations, required
from trick_envs.agents.chance import Chance
from trick_envs.engine.copies import OwnCopies
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.history import HIDDEN_CARD, Events, Recall
from trick_envs.engine.state import OVER, States
from trick_envs.errors import InputError, MissingExtraError, one_line
from trick_envs.view.answer import parse_answer
from trick_envs.view.reader import plain, position_text, rules_text

PREFIX = "llm:"
FOLDER = "TRICK_ENVS_LLM_FOLDER"  # the environment variable that says in which folder ``FILE`` is written
FILE = "llm.jsonl"
MOST_BYTES = 1_000_000  # of a response
MOST_TOKENS = 10**12  # of a request: more is no count
LONGEST_PAUSE = 60.0  # seconds before a request is sent again
_SPEC = re.compile(r"llm:(?P<model>.+?)@(?P<url>https?://[^\s?#]+)(?:\?(?P<rest>\S*))?", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SEND_AGAIN = (408, 409, 425, 429)  # and 500 and above


class LLMError(InputError):
    """A server that does not answer, or refuses; the message says what it did, never the key."""


@dataclass(frozen=True)
class Settings:
    """What stands behind the ``?`` of a spec.

    Attributes:
        key: the environment variable that holds the key; empty: no key is sent.
        temperature: of sampling.
        max_tokens: of an answer.
        retries: how often a bad answer is asked again, before a random legal card is played.
        concurrency: requests at a time.
        timeout: seconds for an answer.
        attempts: how often a request is sent before the server counts as dead.
        pause: seconds before it is sent again; each time twice as long.
        seed: of the requests; 0 sends none and leaves chance to the server.
    """

    key: str = ""
    temperature: float = 0.0
    max_tokens: int = 1024
    retries: int = 2
    concurrency: int = 8
    timeout: float = 120.0
    attempts: int = 6
    pause: float = 1.0
    seed: int = 1


_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 10), "max_tokens": (1, 1_000_000), "retries": (0, 100), "concurrency": (1, 1000),
    "timeout": (1e-3, 86_400), "attempts": (1, 1000), "pause": (0, 3600), "seed": (0, 2**31 - 1),
}  # fmt: skip


@dataclass
class Usage:
    """What language models have cost and how well they answered, by what a file of theirs says.

    Attributes:
        decisions: how many cards they were asked for (forced plays are not).
        answers: how many answers these took.
        bad_answers: how many of these named no legal card.
        substituted: for how many decisions a random card was played in the end.
        prompt_tokens, completion_tokens: as the server counts them.
        seconds: all answers together, however many came at a time.
    """

    decisions: int = 0
    answers: int = 0
    bad_answers: int = 0
    substituted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, line: Mapping[str, Any]) -> None:
        """Counts a line of the file."""
        self.decisions += line["attempt"] == 0
        self.answers += 1
        self.bad_answers += bool(line["problem"])
        self.substituted += bool(line["substituted"])
        self.prompt_tokens += line["prompt_tokens"]
        self.completion_tokens += line["completion_tokens"]
        self.seconds += line["seconds"]

    @property
    def share(self) -> float:
        """Of all answers, how many were bad."""
        return self.bad_answers / max(self.answers, 1)

    @property
    def told(self) -> str:
        """The same in a line."""
        return (
            f"{self.decisions:,} decisions, {self.answers:,} answers, {self.share:.1%} of them bad, "
            f"{self.substituted:,} cards substituted; "
            f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens, {self.seconds:,.0f} s"
        )

    def as_dict(self) -> dict[str, float | int]:
        """For JSON."""
        return {**asdict(self), "seconds": round(self.seconds, 3), "share_of_bad_answers": round(self.share, 4)}


def usage_in(folder: Path) -> dict[str, Usage]:
    """What the file in a folder says, by player."""
    found: dict[str, Usage] = {}
    for line in _lines(folder / FILE):
        found.setdefault(line["player"], Usage()).add(line)
    return found


@contextmanager
def answers_in(folder: Path) -> Iterator[None]:
    """Inside, language models keep what they are asked and answer in this folder; so do new processes."""
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[FOLDER]
        else:
            os.environ[FOLDER] = before


def parse_llm(spec: str) -> tuple[str, str, Settings]:
    """Model, address and settings of a spec.

    Raises:
        ValueError: if it is malformed. What it says of a key is never repeated.
    """
    found = _SPEC.fullmatch(spec)
    if found is None or "@" in found["url"] or not _is_address(found["url"]):
        raise InputError("expected 'llm:MODEL@http://HOST:PORT/v1?ARGUMENT&…', with no password in the address")
    given: dict[str, Any] = {}
    for pair in filter(None, (found["rest"] or "").split("&")):
        name, _, value = pair.partition("=")
        if name == "key":
            if not _VARIABLE.fullmatch(value):
                raise InputError("llm: key: expected the NAME of an environment variable that holds the key")
            given[name] = value
            continue
        if name not in _RANGES:
            raise InputError(f"llm: an unknown argument behind the '?': expected some of key, {', '.join(_RANGES)}")
        whole = isinstance(getattr(Settings, name), int)
        low, high = _RANGES[name]
        try:
            number = int(value) if whole else float(value)
        except ValueError:
            number = -1
        if not low <= number <= high:
            kind = "a whole number" if whole else "a number"
            raise InputError(f"llm: {name}: expected {kind} of {low:g} to {high:g}")
        given[name] = number
    return found["model"], found["url"], Settings(**given)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname and parts.hostname.encode("idna")) and parts.port != 0
    except ValueError:  # brackets, a port that there is not, a name that has no such letters or is too long
        return False


class LLMAgent(OwnCopies):
    """A language model that plays.

    Every decision is a chat of its own: the rules, and what the seat knows (``position_text``), with the order of play
    where it is known. A bad answer is asked again with a sentence that says what is legal, ``retries`` times; then a
    random legal card is played. Where only one card is legal, nobody is asked.

    Args:
        spec: ``llm:MODEL@URL?ARGUMENT&…`` (``Settings``).
        game: the game it is to play.
        seed: seed of the requests' seeds and of substituted cards, which depend only on this seed, the seed of the
            match, and the position as the seat knows it.

    Attributes:
        name: the spec.
        observation: ``"history"``.
        usage: what it has cost since it was made.

    Raises:
        ValueError: for a malformed spec, or if the environment variable of the key is not set.
        ImportError: without ``openai``.
    """

    observation = "history"
    _opened: Any
    _opening: threading.Lock
    _files: _Kept

    def __init__(self, spec: str, game: Game, seed: int = 0) -> None:
        self.model, self.url, self.settings = parse_llm(spec)
        self.name, self.game = spec, game
        self.usage = Usage()
        self._rules = rules_text(game)
        self._key()
        self._open()
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Reseeds its random choices."""
        self._seed, self._chance = seed, Chance(seed)

    def act(
        self, observations: Observations, action_masks: Masks, states: States | None = None, plays: Events | None = None
    ) -> Actions:
        """The model's card for every row, ``(B,) int64``; rows are asked side by side.

        Raises:
            LLMError: if the server refuses, or is silent in spite of all attempts.
        """
        states = required(states, self.game, self.name)
        draws = self._chance.draw(len(states), states)
        actions, alike = np.asarray(action_masks).argmax(axis=1).astype(np.int64), dict[tuple[str, float], list[int]]()
        for i in range(len(states)):
            if states["phase"][i] != OVER and np.count_nonzero(action_masks[i]) > 1:
                own = states[i : i + 1]
                events = None if plays is None else recalled(self.game, own, plays[i])
                alike.setdefault((position_text(self.game, own, None, events), float(draws[i])), []).append(i)
        kept, stopped = self._kept(), threading.Event()
        questions, found = SimpleQueue[Any](), SimpleQueue[tuple[list[int], int | BaseException]]()

        def decide() -> None:
            for (told, draw), rows in iter(questions.get, None):
                legal = np.flatnonzero(action_masks[rows[0]]).tolist()
                try:
                    found.put((rows, self._decide(told, legal, draw, kept, stopped)))
                except _Stopped:
                    return  # what has stopped it is raised
                except BaseException as error:
                    found.put((rows, error))
                    stopped.set()  # here, before this thread takes another question

        count = min(self.settings.concurrency, len(alike))
        threads = [threading.Thread(target=decide, daemon=True) for _ in range(count)]  # Python ends without them
        for question in (*alike.items(), *[None] * count):
            questions.put(question)
        try:
            for thread in threads:
                thread.start()
            for _ in alike:
                rows, card = found.get()
                if isinstance(card, BaseException):
                    raise card
                actions[rows] = card
        except BaseException as error:
            stopped.set()
            if isinstance(error, Exception):  # answers that are on their way are paid; after Ctrl-C nobody waits
                for thread in filter(threading.Thread.is_alive, threads):
                    thread.join()
            raise
        return actions

    def _decide(self, told: str, legal: list[int], draw: float, kept: _Kept, stopped: threading.Event) -> int:
        """The card for one question."""
        names, own = self.game.deck.names, self.settings
        messages = [{"role": "system", "content": self._rules}, {"role": "user", "content": told}]
        for attempt in range(own.retries + 1):
            request = self._request(messages, draw)
            key = hashlib.sha256(json.dumps([request, attempt, self._seed, draw]).encode()).hexdigest()[:32]
            line = kept.find(key)
            if line is None:
                found = self._chat(request, stopped)
                card, problem = parse_answer(found["answer"], [names[kind] for kind in legal], self.game.deck)
                last = attempt == own.retries
                if card is None and last:
                    card = names[legal[int(draw * len(legal))]]
                line = {
                    **found,
                    "key": key,
                    "player": self.name,
                    "attempt": attempt,
                    "card": card,
                    "problem": plain(problem),
                    "substituted": bool(problem) and last,
                    "messages": messages[-1:] if attempt else messages,
                }
                kept.add(line)
                with kept.lock:
                    self.usage.add(line)
            if line["card"] is not None:
                return names.index(line["card"])
            messages = [
                *messages,
                {"role": "assistant", "content": line["answer"]},
                {"role": "user", "content": line["problem"]},
            ]
        raise AssertionError("the last attempt has a card")

    def _request(self, messages: list[dict[str, str]], draw: float) -> dict[str, Any]:
        own = self.settings
        seed = {"seed": (own.seed + int(draw * 2**31)) % 2**31} if own.seed else {}
        sent = {"model": self.model, "messages": messages, "temperature": own.temperature, "max_tokens": own.max_tokens}
        return {**sent, **seed}

    # --- the server -----------------------------------------------------------------------------------------------

    def _chat(self, request: dict[str, Any], stopped: threading.Event) -> dict[str, Any]:
        """An answer, its tokens and how long it took; asks again while the server fails in passing."""
        own, said = self.settings, ""
        for attempt in range(own.attempts):
            if stopped.is_set():
                raise _Stopped
            began = time.monotonic()
            try:
                return {**self._read(request), "seconds": round(time.monotonic() - began, 3)}
            except _InPassing as error:
                said = str(error)
                if attempt + 1 < own.attempts:
                    stopped.wait(min(max(own.pause * 2**attempt, error.wait), LONGEST_PAUSE))
        raise LLMError(f"{self.name}: no answer after {own.attempts} attempts, the last: {said}")

    def _read(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request."""
        import openai

        deadline, body = time.monotonic() + self.settings.timeout, bytearray()
        try:
            with self._client().chat.completions.with_streaming_response.create(**request) as response:
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise _InPassing(f"a response of more than {MOST_BYTES:,} bytes")
                    if time.monotonic() > deadline:
                        raise _InPassing(f"no whole response within {self.settings.timeout:g} seconds")
        except openai.APIStatusError as error:
            told = f"status {error.status_code}: {self._told(str(error))}"
            if error.status_code in _SEND_AGAIN or error.status_code >= 500:
                raise _InPassing(told, _retry_after(error.response.headers)) from None
            raise LLMError(f"{self.name}: {told}") from None
        except openai.APITimeoutError:
            raise _InPassing(f"nothing within {self.settings.timeout:g} seconds") from None
        except openai.OpenAIError as error:
            raise _InPassing(self._told(f"{error}: {error.__cause__}" if error.__cause__ else str(error))) from None
        except OSError as error:
            raise _InPassing(self._told(str(error))) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("httpx", "httpx2", "httpcore", "httpcore2", "h11"):
                raise
            raise _InPassing(f"{type(error).__name__}: {self._told(str(error))}") from None
        try:
            content = json.loads(body)
            answer = content["choices"][0]["message"].get("content")
            usage = content.get("usage") or {}
            tokens = {name: int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")}
            if not all(0 <= count <= MOST_TOKENS for count in tokens.values()):
                raise InputError("no counts of tokens")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError):
            shown = self._told(body.decode(errors="replace"))
            raise _InPassing(f"a response that is no chat completion: {shown!r}") from None
        text = answer if isinstance(answer, str) else ""
        return {"answer": self._without_key(text.encode(errors="replace").decode()), **tokens}

    def _client(self) -> Any:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    openai = _library()
                    self._opened = openai.OpenAI(
                        base_url=self.url, api_key=self._key() or "none", max_retries=0, timeout=self.settings.timeout
                    )
        return self._opened

    def _key(self) -> str:
        if not self.settings.key:
            return ""
        key = os.environ.get(self.settings.key, "").strip()
        if not key:
            raise InputError(f"{self.name}: the environment variable {self.settings.key} is not set: it holds the key")
        if not (key.isascii() and key.isprintable()):  # it would be no header, and the error would show it
            raise InputError(
                f"{self.name}: the key in the environment variable {self.settings.key} has a line break, a control "
                "character or a letter outside ASCII: expected the key alone"
            )
        return key

    def _told(self, text: str) -> str:
        """What others have written, as it may stand in a message: cut off only where the key is out of it."""
        return one_line(self._without_key(text))

    def _without_key(self, text: str) -> str:
        if self.settings.key and self._opened is not None:
            key = self._opened.api_key  # as it was sent, whatever the variable says now
            for written in {key, quote(key), quote(key, safe=""), key.replace("/", r"\/"), json.dumps(key)[1:-1]}:
                text = text.replace(written, "***")
        return text

    # --- what is kept ---------------------------------------------------------------------------------------------

    def _kept(self) -> _Kept:
        """The file in the folder of now; without one, what this player remembers."""
        folder = os.environ.get(FOLDER)
        path = Path(folder) / FILE if folder else None
        if path != self._files.path:
            self._files = _Kept(path)
        return self._files

    def _open(self) -> None:
        _library()
        self._opened, self._opening, self._files = None, threading.Lock(), _Kept(None)

    def __getstate__(self) -> dict[str, Any]:
        gone = ("_opened", "_opening", "_files")
        return {name: value for name, value in self.__dict__.items() if name not in gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()


class _Stopped(Exception):
    """Another question has failed: no more requests are sent, which would be paid for nothing."""


class _InPassing(Exception):
    """A failure after which a request is worth sending again, after so many seconds."""

    def __init__(self, told: str, wait: float = 0.0) -> None:
        super().__init__(told)
        self.wait = wait


@dataclass
class _Kept:
    """Questions with their answers: in a file if there is a path, and in memory."""

    path: Path | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            self.found = {line["key"]: line for line in _lines(self.path)}

    def find(self, key: str) -> dict[str, Any] | None:
        return self.found.get(key)

    def add(self, line: dict[str, Any]) -> None:
        with self.lock:
            self.found[line["key"]] = line
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                written = (json.dumps(line) + "\n").encode()
                file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
                try:
                    size = os.fstat(file).st_size
                    cut_off = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # by a crash
                    os.write(file, b"\n" * cut_off + written)  # at once: other processes append to the same file
                finally:
                    os.close(file)


_TYPES: dict[str, Any] = {
    "key": str, "player": str, "attempt": int, "problem": str, "substituted": bool, "answer": str, "prompt_tokens": int,
    "completion_tokens": int, "seconds": (int, float), "card": (str, type(None)),
}  # fmt: skip


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; those that a crash has cut off are left out."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8-sig", errors="replace") as file:  # a byte order mark, if an editor wrote one
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and all(isinstance(line.get(name, ...), kind) for name, kind in _TYPES.items()):
                yield line


def recalled(game: Game, states: States, plays: Events) -> Events:
    """What the seat to act has seen in the deal: of plays that it has all seen, with the cards it drew meanwhile.

    Args:
        game: the game.
        states: the position.
        plays: ``(T, 4)``, from ``BatchEnv.plays``.
    """
    deal, state = int(states["deal_number"][0]), states[0]
    own = plays[plays[:, 0] == deal]
    if (own[:, 3] == HIDDEN_CARD).any():
        return own
    logged = Deal(
        int(state["dealer"]), tuple(state["order"].tolist()), [(seat, card) for _, seat, _, card in own.tolist()]
    )
    events = Recall(game).history([logged], int(state["seat"])).copy()
    events[:, 0] = deal
    return events


def _library() -> Any:
    try:
        import openai
    except ModuleNotFoundError as missing:
        raise MissingExtraError("llm:… needs openai: pip install 'trick_envs[llm]'") from missing
    return openai


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return max(float(headers.get("retry-after", "0")), 0.0)
    except ValueError:
        return 0.0
