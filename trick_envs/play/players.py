"""The players of the other seats in a person's match."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from trick_envs.agents import Agent, make_agent
from trick_envs.agents.policy import read_policy_file
from trick_envs.agents.pretrained import PRETRAINED
from trick_envs.agents.spec import ROLLOUT, parse_spec
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.errors import InputError
from trick_envs.view.messages import said

SHRINK = 4  # a search shrinks in steps of this, so that a game needs few agents
LEAST_EFFORT = {"pimc": 5, "ismcts": 50}
PLAIN_PLAYERS = ("pretrained", "greedy", "random")
EFFORTS = {
    "pimc": 100,
    "ismcts": 5000,
    "pretrained+rollout": 128,
}  # the largest search that a page or a record may name
STAND_IN = "greedy"  # plays on for a player that fails

BROUGHT = re.compile(r"[0-9a-f]{32}\.onnx")  # a policy that a browser has sent: the digest of its content
_SEARCH = re.compile(f"({'|'.join(map(re.escape, EFFORTS))}):([1-9][0-9]{{0,3}})")


def is_allowed(spec: object) -> bool:
    """Whether a page or a record may name this player: never a path, nor anything that is imported."""
    if not isinstance(spec, str):
        return False
    found = _SEARCH.fullmatch(spec)
    return spec in PLAIN_PLAYERS or (found is not None and int(found[2]) <= EFFORTS[found[1]])


@lru_cache(maxsize=128)
def _shared(spec: str, game: Game, folder: Path | None) -> Agent:
    """A player without a state of its own, one for all games: a policy takes megabytes.

    ``folder``: where it is if somebody has brought it; what it holds follows from its name.
    """
    if folder is None:
        return make_agent(spec, game)
    file = folder / spec
    if not file.is_file():
        raise InputError(said("refused.no_player"))
    return make_agent(spec, game, files={spec: read_policy_file(file)})


class Player:
    """The player of a seat; a search shrinks while many games want to move at once.

    Args:
        spec: any player's.
        game: what it plays.
        seed: seed of its choices.
        policies: where the policies are that people have brought.

    Raises:
        ValueError: if there is no such player.
    """

    def __init__(self, spec: str, game: Game, seed: int, policies: Path | None = None) -> None:
        self.spec, self._game, self._seed = spec, game, seed
        self._policies = policies if BROUGHT.fullmatch(spec) else None
        parsed = parse_spec(spec)
        self._effort, self._shrinks = parsed.effort, parsed.policy is None and parsed.method in LEAST_EFFORT
        self._method = parsed.method or ""
        self._agents: dict[int, Agent] = {}
        self.act(1)  # an error now, not in mid-game

    def act(self, busy: int) -> Agent:
        """The agent that plays now.

        Args:
            busy: how many moves are being computed, this one included.
        """
        effort, game = self._effort, self._game
        if self._policies or self.spec in (PRETRAINED, "greedy") or self._method == ROLLOUT:
            game = load_game(game.name, game.num_players, **game.options)  # whatever the length of the match
            return _shared(self.spec, game, self._policies)
        if self._shrinks:
            while effort * busy > self._effort and effort // SHRINK >= LEAST_EFFORT[self._method]:
                effort //= SHRINK
        if effort not in self._agents:
            spec = self.spec if effort == self._effort else f"{self._method}:{effort}"
            self._agents[effort] = make_agent(spec, game, self._seed)
        return self._agents[effort]
