"""Policy files for players on other machines: they travel by their content, and need no common folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trick_envs.agents.agent import Agent
from trick_envs.agents.policy import read_policy_file
from trick_envs.agents.pretrained import PRETRAINED
from trick_envs.agents.spec import PolicyFiles, make_agent, parse_spec
from trick_envs.engine.game import Game

__all__ = ["PolicyFiles", "make_agent_from", "read_policy_files"]


def read_policy_files(specs: Iterable[str]) -> PolicyFiles:
    """The content of all policy files of some players, by path; those that come with a game are everywhere already."""
    paths = {parse_spec(spec).policy for spec in specs} - {None, PRETRAINED}
    return {str(path): read_policy_file(Path(str(path))) for path in paths}


def make_agent_from(files: PolicyFiles, spec: str, game: Game, seed: int = 0) -> Agent:
    """``make_agent``, with the policy files from ``read_policy_files``."""
    return make_agent(spec, game, seed, files)
