"""What an arena plays, and the code that its results depend on."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import trick_envs
from trick_envs.agents import Agent, make_agent
from trick_envs.agents.spec import LLM, PROGRAM, parse_spec, plug_in_point
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.build.digest import compiled_digest
from trick_envs.engine.game import Game
from trick_envs.errors import InputError, checked_list, shown
from trick_envs.evaluation import duplicate, seeds
from trick_envs.evaluation.seeds import Purpose, check_run_seed, checked_purpose

MAX_DEALS = 1_000_000
LADDER = ("random", "greedy", "pimc:10", "ismcts:1000")  # the default opponents of a player that is evaluated

_PACKAGE = Path(trick_envs.__file__).parent
# What an arena's results depend on beside the engine and the game.
_PLACES = (
    _PACKAGE / "agents",
    _PACKAGE / "matches",
    _PACKAGE / "discovery.py",
    Path(duplicate.__file__),
    Path(seeds.__file__),
)


@dataclass(frozen=True)
class Player:
    """A player, and the content of its file when the arena began.

    Attributes:
        spec: as ``make_agent`` takes it.
        digest: of its policy file or program, or of the source files of a plug-in's function and class; empty for
            built-in players.
    """

    spec: str
    digest: str = ""

    @property
    def id(self) -> str:
        """Distinguishes it from all others, also from an earlier policy in the same file."""
        return f"{self.spec}@{self.digest}" if self.digest else self.spec

    @property
    def rank(self) -> tuple[str, str]:
        """Orders the players of a pair: built-in ones first."""
        return self.digest, self.spec

    @property
    def searches(self) -> bool:
        """Whether it is so slow that each of its deals is saved at once."""
        return parse_spec(self.spec).method is not None or self.spec.startswith((PROGRAM, LLM))


@dataclass(frozen=True)
class Plan:
    """What an arena plays.

    Attributes:
        game: the game, with matches of a single deal.
        players: who takes part.
        deals: maximum number of deals per pair.
        half_width: a pair stops when its 95 % interval is ± this or narrower; ``None`` plays all deals.
        until_decided: a pair stops when its 95 % interval, which then may be looked at at any time
            (``half_width_at_any_time_95``), excludes 0, or is within ± ``half_width``.
        seed: of deals and players.
        purpose: what the results are for; every purpose has deals of its own.
        seatings: of every deal: ``"alone"`` or ``"all"`` (``trick_envs/evaluation/duplicate.py``).
        only_first: the first player meets all others, and the others do not meet each other.
    """

    game: Game
    players: tuple[Player, ...]
    deals: int
    half_width: float | None
    seed: int
    purpose: Purpose
    only_first: bool = False
    until_decided: bool = False
    seatings: str = "alone"

    @property
    def may_stop_early(self) -> bool:
        """Whether a pair may need fewer deals than the maximum."""
        return self.until_decided or self.half_width is not None

    def pairs(self) -> list[tuple[Player, Player]]:
        """Who meets whom."""
        first = self.players[:1] if self.only_first else self.players
        return [(one, other) for i, one in enumerate(first) for other in self.players[i + 1 :]]


def make_plan(
    game: Game,
    specs: Sequence[str],
    deals: int = 1000,
    half_width: float | None = None,
    seed: int = 0,
    purpose: Purpose = Purpose.VALIDATION,
    only_first: bool = False,
    until_decided: bool = False,
    seatings: str = "alone",
) -> Plan:
    """Checks what an arena is to play.

    Raises:
        ValueError: for fewer than two players, the same one twice, an unknown spec, a policy of another game, or a
            number that is out of range.
    """
    specs = checked_list(specs, str, "specs", "a list of players' specs")
    if len(specs) < 2:
        raise InputError(f"an arena needs two players or more, such as random greedy; got {', '.join(specs) or 'none'}")
    twice = sorted({spec for spec in specs if specs.count(spec) > 1})
    if twice:
        raise InputError(f"named twice: {', '.join(twice)} (a player does not meet itself)")
    deals, seed = whole_number(deals, 2, MAX_DEALS, "deals"), check_run_seed(seed)
    purpose = checked_purpose(purpose)
    duplicate.lineups(game, seatings)
    if half_width is not None and not (isinstance(half_width, Real) and half_width > 0):
        raise InputError(f"half width: expected a number of points above 0, not {shown(half_width)}")
    players = tuple(Player(spec, _player_digest(spec, game, make_agent(spec, game))) for spec in specs)
    return Plan(game, players, deals, half_width, seed, purpose, only_first, until_decided, seatings)


def _player_digest(spec: str, game: Game, agent: Agent) -> str:
    """The digest of a player's own file; built-in players have none, they are part of ``code_digest``."""
    file = Path(spec.removeprefix(PROGRAM).partition("?")[0]) if spec.startswith(PROGRAM) else None
    file = file or parse_spec(spec).policy_file(game)
    files = [file] if file is not None else _own_sources(spec, agent)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16] if files else ""


def _own_sources(spec: str, agent: Agent) -> list[Path]:
    """The files of a player's class and of the function that made it, without those of this package."""
    point = plug_in_point(spec)
    modules = [type(agent).__module__, *([point.module] if point else [])]
    sources = dict.fromkeys(getattr(sys.modules.get(module), "__file__", None) for module in modules)
    return [path for source in sources if source and not (path := Path(source)).is_relative_to(_PACKAGE)]


def code_digest(game: Game) -> str:
    """A digest of all code that an arena's results depend on: chunks of different code do not mix.

    It covers the folder of the game (also of a plug-in), the engine, the players, and how deals are seeded and played.
    """
    folders = dict.fromkeys(Path(str(module.__file__)).parent for module in game.type.modules)
    return compiled_digest(*folders, *_PLACES)
