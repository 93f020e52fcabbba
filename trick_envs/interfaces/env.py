"""The AEC environments with the checks of PettingZoo's standard wrappers built in, and what the games' modules hold.

The wrappers themselves (TerminateIllegal, AssertOutOfBounds, OrderEnforcing) would take most of the time of a step.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger

from trick_envs.engine.arguments import unknown_argument
from trick_envs.engine.registry import arguments_of, game_type, load_game
from trick_envs.errors import InvalidAction, shown
from trick_envs.interfaces.aec import Action, Observation, RawEnv
from trick_envs.interfaces.describe import describe_arguments, describe_game

E = TypeVar("E", bound=RawEnv)


class Env(RawEnv):
    """``RawEnv`` with what PettingZoo's three standard wrappers check.

    - An action outside the action space is an ``AssertionError`` (``InvalidAction``).
    - An illegal action ends the match: its agent gets -1, the others 0, all terminate and truncate.
    - ``step``, ``observe``, ``state``, ``render`` and ``agent_iter`` before ``reset`` are errors, and a step after
      the end is a warning; ``agent_iter`` wants a step between two agents.
    """

    _maker = "env"
    _ends_by_illegal = True

    def _dead_step(self, action: Action) -> None:
        if self._match is None:
            EnvLogger.error_step_before_reset()
        super()._dead_step(action if action is None or not self.agents else self._number(action))

    def _refuse(self, action: int) -> None:
        EnvLogger.warn_on_illegal_move()
        self._complete = False
        self._end_by_illegal(self.agent_selection)
        self._complete = True

    def _number(self, action: object) -> int:
        number = super()._number(action)
        if not 0 <= number < self.game.num_actions:
            raise InvalidAction(f"action is not in action space: 0 to {self.game.num_actions - 1}, not {shown(action)}")
        return number

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int | None]:
        if self._match is None:
            EnvLogger.error_agent_iter_before_reset()
        return _StrictIterable(self, max_iter)

    def set_state(self, state: bytes) -> None:
        super().set_state(state)
        self._has_updated = True


class _StrictIterable(AECIterable[str, Observation, int | None]):
    def __iter__(self) -> AECIterator[str, Observation, int | None]:
        return _StrictIterator(self.env, self.max_iter)


class _StrictIterator(AECIterator[str, Observation, int | None]):
    def __next__(self) -> str:
        agent = super().__next__()
        assert self.env._has_updated, "need to call step() or reset() in a loop over `agent_iter`"
        self.env._has_updated = False
        return agent


def make_env(game: str, **options: Any) -> Env:
    """``env`` of a game, by name."""
    return _make(Env, "make_env", game, options)


def environment_module(game: str) -> tuple[Callable[..., Env], Callable[..., RawEnv], str]:
    """``env``, ``raw_env`` and the docstring of a game's module."""

    def env(**options: Any) -> Env:
        return _make(Env, "env", game, options)

    def raw_env(**options: Any) -> RawEnv:
        return _make(RawEnv, "raw_env", game, options)

    module = sys._getframe(1).f_globals["__name__"]
    title, arguments = game_type(game).title, describe_arguments(game)
    for function, checks in ((env, "with the checks of PettingZoo's standard wrappers"), (raw_env, "without checks")):
        function.__module__, function.__qualname__ = module, function.__name__  # pickles name it, and so do errors
        function.__signature__ = _signature(game)  # type: ignore[attr-defined]
        function.__doc__ = f"{title} as a PettingZoo AEC environment, {checks}.\n\n{arguments}"
    return env, raw_env, describe_game(game)


def _make(kind: type[E], caller: str, game: str, options: dict[str, Any]) -> E:
    known = [*_signature(game).parameters]
    for name in options:
        if name not in (*known, "num_players"):
            raise unknown_argument(caller, name, known)
    own = {name: options.pop(name) for name in arguments_of(RawEnv, "game") if name in options}
    return kind(load_game(game, **options), **own)


def _signature(game: str) -> inspect.Signature:
    """What ``env`` and ``raw_env`` of a game take: what ``load_game`` and ``RawEnv`` take, and the game's options."""
    declared = game_type(game)
    arguments = {**arguments_of(load_game, "name"), **arguments_of(RawEnv, "game")}
    defaults: dict[str, Any] = {**{name: each.default for name, each in arguments.items()}, **declared.options}
    if len(declared.players) > 1:
        defaults["num_players"] = declared.default_players
    else:
        del defaults["num_players"]
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, by_name, default=value) for name, value in defaults.items()])
