"""The games in words as an OpenEnv environment: ``trick openenv --game pepper`` serves it (extra ``[openenv]``).

Types, server, client and protocol are OpenEnv's; what is asked and what an answer does is ``TextEnv``'s.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, cast
from uuid import uuid4

import gymnasium
import numpy as np

from trick_envs.discovery import gymnasium_id
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.interrupts import Interruptible, whole
from trick_envs.engine.registry import game_type
from trick_envs.engine.rng import SEED_BITS, fresh_seed
from trick_envs.errors import InputError, MissingExtraError, TrickEnvsError, shown
from trick_envs.interfaces.text import TextEnv

try:
    from openenv.core.env_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, ConcurrencyConfig, EnvironmentMetadata, Observation, State
    from starlette import websockets
    from starlette.responses import JSONResponse
except ModuleNotFoundError as missing:
    raise MissingExtraError("trick openenv needs OpenEnv: pip install 'trick_envs[openenv]'") from missing

TRAINING = "training"
MOST_LETTERS = 100_000  # of an answer
MOST_SEED = 2**SEED_BITS - 1  # deals of validation and test have seeds from 3 * 2**60 on
Splits = Mapping[str, Callable[[int], int]]
_GONE = ("WebSocketDisconnect", "WebSocketDisconnected")  # Starlette's errors; old ones lack the second


class CardAction(Action):
    """An answer in words.

    Attributes:
        answer: its last card in ``<play>…</play>`` counts (``parse_answer``).
    """

    answer: str


class CardObservation(Observation):
    """What the seat knows and what it is asked; ``reward`` and ``done`` are OpenEnv's fields.

    Attributes:
        text: the question (``position_text``), after a bad answer with what was wrong.
        rules: the rules, after a reset; empty afterwards.
        legal: the legal cards.
        played: the card that the last answer has put on the table; empty: none.
        problem: what was wrong with the last answer; empty: nothing.
        bad_answers, substituted, decisions: of this match so far.
    """

    text: str = ""
    rules: str = ""
    legal: list[str] = []  # noqa: RUF012 (a default of pydantic, which copies it)
    played: str = ""
    problem: str = ""
    bad_answers: int = 0
    substituted: int = 0
    decisions: int = 0


class CardState(State):
    """What is played; nothing that the seat does not know.

    Attributes:
        game, num_players, seat, split, task: the match; ``task`` is ``None`` in training.
        seed: as the client gave it; ``None`` if chance chose it: from a seed every card follows.
        points: paid so far.
    """

    game: str
    num_players: int
    seat: int | None = None
    split: str = TRAINING
    task: int | None = None
    seed: int | None = None
    points: float = 0.0


class CardEnvironment(Interruptible, Environment[CardAction, CardObservation, CardState]):
    """A game in words from one seat: one session of an OpenEnv server.

    Args:
        game: the game, such as ``"pepper"``.
        splits: by name, from the number of a task to the seed of its match; besides these there is ``"training"``.
        settings: as for ``TextEnv``: opponents, bad answers, players, options, …
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, game: str, splits: Splits | None = None, **settings: Any) -> None:
        super().__init__()
        self._splits = dict(splits or {})
        made = gymnasium.make(gymnasium_id(game_type(game).name, "text"), disable_env_checker=True, **settings)
        self._env = cast(TextEnv, made.unwrapped)
        self._state = self._fresh()

    def _fresh(self, **about: Any) -> CardState:
        return CardState(game=self._env.game.name, num_players=self._env.game.num_players, **about)

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = TRAINING,
        task: int | None = None,
        **unknown: Any,
    ) -> CardObservation:
        """Starts a match.

        Args:
            seed: of a match for training; 0 to 2**53 - 1, or chance.
            episode_id: a name for the match.
            split: ``"training"``, or one of the splits, such as ``"validation"``.
            task: in such a split, which of its deals; always the same for the same number.
            unknown: an error.

        Raises:
            ValueError: for other arguments and values.
        """
        if unknown:
            raise InputError(f"reset: expected seed, episode_id, split and task, not {', '.join(map(repr, unknown))}")
        if episode_id is not None and not isinstance(episode_id, str):
            raise InputError(f"episode_id: expected a text, not {shown(episode_id)}")
        if split == TRAINING:
            if task is not None:
                raise InputError("task: training has none, but seeds")
            match = whole_number(fresh_seed() if seed is None else seed, 0, MOST_SEED, "seed")
        elif isinstance(split, str) and split in self._splits:
            if seed is not None:
                raise InputError(f"seed: {split} has none, but tasks")
            match = self._splits[split](whole_number(task, 0, math.inf, "task"))
        else:
            named = ", ".join(map(repr, [TRAINING, *self._splits]))
            raise InputError(f"split: expected one of {named}, not {str(split)[:80]!r}")
        return self._reset(match, episode_id, split, task, seed)

    @whole
    def _reset(
        self, match: int, episode_id: str | None, split: str, task: int | None, seed: int | None
    ) -> CardObservation:
        text, info = self._env.reset(seed=match)
        name = str(uuid4()) if episode_id is None else episode_id
        self._state = self._fresh(episode_id=name, seat=self._env.seat, split=split, task=task, seed=seed)
        return self._seen(text, info, rules=info["rules"])

    def step(self, action: CardAction, timeout_s: float | None = None, **unknown: Any) -> CardObservation:
        """Plays the card that an answer names, and on to the next question or the end of the match.

        Raises:
            gymnasium.error.ResetNeeded: before ``reset``, after the end of the match, and when an opponent has raised.
            ValueError: for an answer of more than 100,000 letters.
        """
        if self._state.episode_id is None:
            raise gymnasium.error.ResetNeeded("no match is going on: call reset() first (a session is a WebSocket's)")
        if len(action.answer) > MOST_LETTERS:
            raise InputError(f"answer: expected at most {MOST_LETTERS:,} letters, not {len(action.answer):,}")
        self._needs_complete()
        self._env._needs_match()
        return self._step(action.answer)

    @whole
    def _step(self, answer: str) -> CardObservation:
        text, reward, over, _, info = self._env.step(answer)
        self._state.step_count += 1
        self._state.points += info.get("points", reward)
        return self._seen(text, info, reward=reward, done=over)

    def _seen(self, text: str, info: dict[str, Any], **more: Any) -> CardObservation:
        names = self._env.game.deck.names
        legal = [] if more.get("done") else [names[kind] for kind in np.flatnonzero(info["action_mask"])]
        counts = {name: int(info[name]) for name in ("bad_answers", "substituted", "decisions")}
        losses = {name: info[name] for name in ("loss", "loss_error", "points") if name in info}
        return CardObservation(
            text=text, legal=legal, played=info["played"], problem=info["problem"], metadata=losses, **counts, **more
        )

    @property
    def state(self) -> CardState:
        """What is played."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, version and rules."""
        from trick_envs import __version__

        game, splits = self._env.game, ", ".join([TRAINING, *self._splits])
        return EnvironmentMetadata(
            name=f"trick_envs-{game.name}",
            description=f"{game.title}, a trick-taking card game in words, {game.num_players} players; {splits}",
            readme_content=self._env.rules,
            version=__version__,
        )

    def close(self) -> None:
        """Nothing is open."""


def make_openenv_app(
    game: str, splits: Splits | None = None, sessions: int = 64, session_timeout: float | None = 600.0, **settings: Any
) -> Any:
    """OpenEnv's FastAPI application for a game.

    Args:
        game, splits, settings: as for ``CardEnvironment``; they are tried before anything is served.
        sessions: how many at a time.
        session_timeout: seconds after which a session that does nothing is closed; ``None``: never.

    Raises:
        ValueError: for settings that no environment can be made with.
    """
    CardEnvironment(game, splits, **settings)
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # of OpenEnv's web page, if somebody switches it on
    app = create_app(
        lambda: CardEnvironment(game, splits, **settings),
        CardAction,
        CardObservation,
        env_name=f"trick_envs-{game}",
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=session_timeout),
    )
    for kind in (TrickEnvsError, gymnasium.error.ResetNeeded):  # over HTTP; WebSockets have messages for errors
        app.add_exception_handler(kind, _told)
    for name in _GONE:
        if (found := getattr(websockets, name, None)) is not None:
            app.add_exception_handler(found, _gone)
    return app


async def _gone(_: Any, error: Exception) -> None:
    """A client that hangs up is no error of the server; OpenEnv closes its end once more, which raises."""


async def _told(_: Any, error: Exception) -> Any:
    return JSONResponse({"detail": str(error)}, 422)
