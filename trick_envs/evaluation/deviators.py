"""What one deviator wins among copies of a player: a lower bound on the player's exploitability.

Training a best response is one way to find a deviator; a search among copies of the player is another, and often wins
more. The best of several is chosen on validation deals and measured on test deals, so that the choice does not flatter
it. A null beside it says little unless the same deviators do win from a player that is known to be weak: the control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trick_envs.agents.spec import make_agent, parse_spec
from trick_envs.engine.game import Game
from trick_envs.evaluation.duplicate import Result, evaluate
from trick_envs.evaluation.seeds import Purpose

CONTROL = "greedy"  # exploitable in every game
SEARCH, ROLLOUT = "ismcts:1000", "rollout:64"


@dataclass(frozen=True)
class Deviation:
    """The best of some deviators.

    Attributes:
        tried: each of them on validation deals, by which the best was chosen (``margin_as_one``).
        best: the best of them, on test deals.
    """

    tried: tuple[Result, ...]
    best: Result

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"tried": [result.as_dict() for result in self.tried], "best": self.best.as_dict()}


def search_deviators(player: str) -> list[str]:
    """Players that search, to be tried against a player: by the heuristic, and with its own policy if it has one."""
    policy = parse_spec(player).policy
    return [SEARCH] if policy is None else [SEARCH, f"{policy}+{ROLLOUT}"]


def best_deviation(game: Game, player: str, deviators: Sequence[str], deals: int, seed: int = 0) -> Deviation:
    """Tries deviators against copies of a player, and measures the best of them on other deals.

    Args:
        game: the game; deals are played one by one.
        player: the spec of the player that never changes.
        deviators: specs, one or more.
        deals: how many deals of each split, 2 or more.
        seed: of the deals and of all random choices.
    """
    target = make_agent(player, game, seed)
    agents = [make_agent(spec, game, seed) for spec in deviators]
    tried = tuple(evaluate(game, agent, target, deals, seed, Purpose.VALIDATION) for agent in agents)
    best = max(range(len(tried)), key=lambda i: tried[i].margin_as_one)
    return Deviation(tried, evaluate(game, agents[best], target, deals, seed, Purpose.TEST))


def in_words(deviation: Deviation, control: Deviation) -> str:
    """What both say, in a few lines."""
    found, known = deviation.best, control.best
    lines = [
        f"one {found.player} among {found.opponent}, the best of {len(deviation.tried)} deviators, wins "
        f"{found.margin_as_one:+.2f} ± {found.half_width_as_one:.2f} points per deal ({found.deals} test deals)"
    ]
    if found.margin_as_one > found.half_width_as_one:
        lines[0] += f": {found.opponent} is exploitable by at least that margin"
    lines.append(
        f"control: one {known.player} among {known.opponent} wins {known.margin_as_one:+.2f} ± "
        f"{known.half_width_as_one:.2f}"
    )
    if known.margin_as_one <= known.half_width_as_one:
        lines[1] += ": these deviators find nothing there either, so finding nothing says nothing"
    return "\n".join(lines)
