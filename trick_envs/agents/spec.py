"""Specs: short names of players that every command and every ``opponents=`` takes.

| spec | player |
| --- | --- |
| ``random`` | any legal card |
| ``greedy`` | the game's heuristic |
| ``pimc:N``, ``ismcts:N`` | search over N sampled worlds (``trick_envs/agents/search.py``); ``search:N``: the better |
| ``cheat:N`` | search in the true world: an upper bound, not a fair player |
| ``PATH.onnx`` | a trained policy's best action |
| ``PATH.onnx:sample`` | an action drawn from its distribution |
| ``PATH.onnx+ismcts:N`` | search that starts from the policy's best action; ``pimc``, ``search``, ``cheat`` likewise |
| ``PATH.onnx+rollout:N`` | search in which the policy plays on in N sampled worlds (``trick_envs/agents/rollout.py``) |
| ``pretrained`` | the policy that comes with the game, for its number of players; also ``:sample``, ``+ismcts:N`` |
| ``program:PATH?ARGUMENT&…`` | a program of its own, in any language (``trick_envs/agents/program.py``) |
| ``llm:MODEL@URL?ARGUMENT&…`` | a language model behind an OpenAI-compatible endpoint (``trick_envs/agents/llm.py``) |
| ``NAME``, ``package.module:function`` | a player of your own: an installed plug-in, or an importable function |

A plug-in is an entry point in the group ``trick_envs.agents``. Like ``package.module:function``, it names a function
``(game, seed) -> Agent``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeAlias

from trick_envs.agents.agent import Agent, checked_agent, takes_two
from trick_envs.agents.greedy import GreedyAgent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_policy
from trick_envs.agents.random import RandomAgent
from trick_envs.agents.search import MAX_EFFORT, METHODS, SearchAgent
from trick_envs.discovery import AGENTS, load_point, plug_ins
from trick_envs.engine.game import Game, checked_game
from trick_envs.engine.rng import checked_seed
from trick_envs.errors import InputError, InputTypeError, TrickEnvsError, in_a_line, shown

PROGRAM = "program:"
LLM = "llm:"
ROLLOUT = "rollout"  # a search that needs a policy
# What ``search:N`` means. At equal time (ismcts:1000 against pimc:200 or pimc:100) better in Zaraba 22 and Whist, by
# 1.5 and 1.2 points per deal; no measurable difference in the other games.
BEST_METHOD = "ismcts"

PolicyFiles: TypeAlias = dict[str, bytes]

_SEARCH = re.compile(r"(pimc|ismcts|cheat|search|rollout)(?::(.*))?")
_EFFORT = re.compile(r"[0-9]{1,9}")
_POLICY = re.compile(rf"({PRETRAINED}|.*\.onnx)(:sample)?", re.DOTALL)
_IMPORT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Spec:
    """A parsed spec.

    Attributes:
        text: as written.
        policy: the path of an ONNX file or ``"pretrained"``, if there is a policy.
        sample: whether actions are drawn from the policy's distribution.
        method: the kind of search, if there is one: ``"pimc"``, ``"ismcts"``, ``"cheat"`` or ``"rollout"``.
        effort: worlds or iterations of the search.
    """

    text: str
    policy: str | None = None
    sample: bool = False
    method: str | None = None
    effort: int = 0

    def policy_file(self, game: Game) -> Path | None:
        """The ONNX file of its policy, if there is one.

        Raises:
            ValueError: if the game comes without a policy for this number of players.
        """
        if self.policy is None:
            return None
        return pretrained_policy(game) if self.policy == PRETRAINED else Path(self.policy)


def parse_spec(text: str) -> Spec:
    """Parses a spec; ``make_agent`` checks whether there is such a player.

    Raises:
        ValueError: for an invalid search, or one that lacks the policy it needs; lists what is allowed.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"expected a player's spec, such as 'greedy' or the path of a policy, not {shown(text)}")
    if text.startswith((PROGRAM, LLM)):
        return Spec(text)
    two = ".onnx+" in text or text.startswith(f"{PRETRAINED}+")
    base, plus, search = text.rpartition("+") if two else ("", "", "")
    if not plus:
        base, search = ("", text) if _SEARCH.fullmatch(text) and not _POLICY.fullmatch(text) else (text, "")
    named = _POLICY.fullmatch(base)
    policy, sample = (named[1], named[2] is not None) if named else (None, False)
    if not plus and not search:
        return Spec(text, policy, sample)
    found = _SEARCH.fullmatch(search)
    if found is None or not _EFFORT.fullmatch(found[2] or "") or not 1 <= int(found[2]) <= MAX_EFFORT:
        allowed = ", ".join(f"'{one}:N'" for one in (*METHODS, "search", *([ROLLOUT] if plus else [])))
        raise InputError(f"{shown(search)} is no search: expected {allowed}, N from 1 to {MAX_EFFORT:,}")
    if plus and policy is None:
        raise InputError(f"{shown(base)} is no policy that a search can start from: expected 'PATH.onnx+{search}'")
    if found[1] == ROLLOUT and policy is None:
        raise InputError(f"{shown(search)} needs a policy that plays on: expected 'PATH.onnx+{search}'")
    return Spec(text, policy, sample, BEST_METHOD if found[1] == "search" else found[1], int(found[2]))


def runs_code(spec: str) -> bool:
    """Whether the spec of a player names a program, a Python function, or a service: whatever else has a colon."""
    parsed = parse_spec(spec)
    return parsed.policy is None and parsed.method is None and ":" in spec


def not_trusted(spec: str, where: str) -> str:
    """Why a player that runs code is refused: it is named in ``where``, such as ``"a config"``."""
    return (
        f"{shown(spec)} runs a program or a Python function, or calls a service, which {where} from a stranger must "
        "not do: give --trust if you trust this one"
    )


def make_agent(spec: str, game: Game, seed: int = 0, files: PolicyFiles | None = None) -> Agent:
    """A player from its spec.

    Args:
        spec: such as ``"greedy"``, ``"ismcts:1000"`` or the path of a policy; ``docs/evaluation.md`` lists all.
        game: the game it is to play.
        seed: seed of its random choices.
        files: the contents of policy files by path (``read_policy_files``): these are not read again.

    Raises:
        ValueError: for an invalid spec, a policy of another game, or an invalid seed; says what is allowed.
        TypeError: if ``game`` is no game, or a plug-in returns something that is not an agent.
    """
    game, seed, parsed = checked_game(game), checked_seed(seed), parse_spec(spec)
    if spec.startswith(PROGRAM):
        from trick_envs.agents.program import ProgramAgent

        return ProgramAgent(spec, game, seed)
    if spec.startswith(LLM):
        from trick_envs.agents.llm import LLMAgent

        return LLMAgent(spec, game, seed)
    if parsed.policy is not None:
        return _with_policy(parsed, game, seed, files or {})
    if parsed.method is not None:
        return SearchAgent(parsed.method, parsed.effort, game, seed, name=spec)
    if spec == "random":
        return RandomAgent(seed)
    if spec == "greedy":
        return GreedyAgent(game)
    return _from_outside(spec, game, seed)


def read_policy_files(specs: Iterable[str]) -> PolicyFiles:
    """The content of all policy files of some players, by path: for players on other machines.

    Those that come with a game are everywhere already.
    """
    from trick_envs.agents.policy import read_policy_file

    paths = {parse_spec(spec).policy for spec in specs} - {None, PRETRAINED}
    return {str(path): read_policy_file(Path(str(path))) for path in paths}


def _with_policy(spec: Spec, game: Game, seed: int, files: PolicyFiles) -> Agent:
    """A policy, or a search that starts from one."""
    from trick_envs.agents.policy import PolicyAgent

    file, name = spec.policy_file(game), PRETRAINED if spec.policy == PRETRAINED else ""
    assert file is not None
    policy = PolicyAgent(file, game, spec.sample, seed, name, files.get(spec.policy or ""))
    if spec.method is None:
        return policy
    if spec.method == ROLLOUT:
        from trick_envs.agents.rollout import RolloutAgent

        return RolloutAgent(policy, spec.effort, game, seed)
    name = f"{policy.name}+{spec.text.rpartition('+')[2]}"
    return SearchAgent(spec.method, spec.effort, game, seed, policy, name)


def _from_outside(spec: str, game: Game, seed: int) -> Agent:
    """A player that does not come with this package.

    Raises:
        ValueError: if there is none; says what there is.
        TypeError: if it is no player.
    """
    factory = _plug_in(spec)
    if factory is None:
        if spec.endswith((".zip", ".pt", ".pth")):
            raise InputError(
                f"{shown(spec)} is no player: expected a policy.onnx, which export_policy makes of a model"
            )
        if os.path.isdir(spec):
            raise InputError(f"{shown(spec)} is a folder, and no player: expected a policy.onnx in it")
        others = "".join(f", {name!r}" for name in sorted(plug_ins(AGENTS)))
        raise InputError(
            f"{shown(spec)} is no player: expected 'random', 'greedy'{others}, a search such as 'pimc:100', a path to "
            "a policy.onnx or 'pretrained' (':sample' behind it draws from its distribution instead of playing its "
            "best action, '+ismcts:100' searches), 'program:PATH', 'llm:MODEL@URL', or 'package.module:function'"
        )
    try:
        agent = factory(game, seed)
    except TrickEnvsError:
        raise
    except (Exception, SystemExit) as error:  # code of others
        raise InputError(f"{spec}: {in_a_line(error)}") from error
    return checked_agent(agent, spec)


def plug_in_point(spec: str) -> EntryPoint | None:
    """Where a player from outside the package is made, if the spec names one."""
    imported = EntryPoint(name=spec, value=spec, group=AGENTS) if _IMPORT.fullmatch(spec) else None
    return plug_ins(AGENTS).get(spec, imported)


def _plug_in(spec: str) -> Callable[[Game, int], object] | None:
    """The function that makes a player from outside the package, if the spec names one."""
    if (point := plug_in_point(spec)) is None:
        return None
    found = load_point(point)
    if not callable(found) or not takes_two(found):
        raise InputError(f"{shown(spec)}: expected a function (game, seed) -> agent, not {shown(found)}")
    return found
