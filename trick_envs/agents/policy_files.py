"""Policy files for players on other machines: they travel by their content, and need no common folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from trick_envs.agents import Agent, make_agent
from trick_envs.agents.pretrained import PRETRAINED
from trick_envs.agents.spec import parse_spec
from trick_envs.engine.game import Game

PolicyFiles = dict[str, bytes]


def read_policy_files(specs: Iterable[str]) -> PolicyFiles:
    """The content of all policy files of some players, by path; those that come with a game are everywhere already."""
    paths = {parse_spec(spec).policy for spec in specs} - {None, PRETRAINED}
    return {str(path): Path(str(path)).read_bytes() for path in paths}


def make_agent_from(files: PolicyFiles, spec: str, game: Game, seed: int = 0) -> Agent:
    """``make_agent``, with the policy files from ``read_policy_files``."""
    path = parse_spec(spec).policy
    if path not in files:
        return make_agent(spec, game, seed)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "policy.onnx"
        copy.write_bytes(files[path])
        return make_agent(f"{copy}{spec.removeprefix(path)}", game, seed)
