"""How strong a player is: duplicate deals, every seat, and an interval that says how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Agent
from trick_envs.engine.game import Setup
from trick_envs.interfaces.batch import BatchEnv

GAMES_AT_ONCE = 4096
Z_95 = 1.959964  # standard errors on either side of a mean that make a 95 % interval


@dataclass(frozen=True)
class Result:
    """One player against another, on duplicate deals.

    Attributes:
        player: who was measured.
        opponent: who sat on all other seats (in team games, the other team).
        deals: different deals; each was played once for every seat (or team) of the player.
        margin: the player's points a deal minus the mean of the opponents'.
        half_width: the margin's 95 % confidence interval is ``margin`` ± this, over deals.
        points: the player's own points a deal.
    """

    player: str
    opponent: str
    deals: int
    margin: float
    half_width: float
    points: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def seatings(game: Setup) -> list[tuple[int, ...]]:
    """The seats of the measured player, a game each: every seat in turn, or in team games every team."""
    if game.rules.game.teams:
        return [(0, 2), (1, 3)]
    return [(seat,) for seat in range(game.num_players)]


def play_deals(
    game: Setup,
    player: Agent,
    opponent: Agent,
    first_seed: int,
    deals: int,
    on_progress: Callable[[int], None] | None = None,
) -> npt.NDArray[np.float64]:
    """Plays deals with the seeds ``first_seed …``, each once for every seating.

    Returns:
        ``(deals, seatings, players)`` points.
    """
    places = seatings(game)
    points = np.zeros((deals, len(places), game.num_players))
    at_once = max(1, GAMES_AT_ONCE // len(places))
    for start in range(0, deals, at_once):
        count = min(at_once, deals - start)
        seeds = np.repeat(np.arange(first_seed + start, first_seed + start + count, dtype=np.uint64), len(places))
        own = np.zeros((len(seeds), game.num_players), np.bool_)
        for i, seats in enumerate(places):
            own[i :: len(places), seats] = True
        played = _play_one_deal_each(game, player, opponent, seeds, own)
        points[start : start + count] = played.reshape(count, len(places), -1)
        if on_progress is not None:
            on_progress(count)
    return points


def _play_one_deal_each(
    game: Setup, player: Agent, opponent: Agent, seeds: npt.NDArray[np.uint64], own: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    games = BatchEnv(game.rules.name, len(seeds), game.num_players, 1, **game.options)
    games.reset(seeds)
    points = np.zeros((len(seeds), game.num_players), np.float32)
    running = np.ones(len(seeds), np.bool_)
    actions = np.zeros(len(seeds), np.int64)
    rows = np.arange(len(seeds))
    while running.any():
        mine = own[rows, games.seats]
        actions[:] = games.action_masks.argmax(axis=1)  # a finished game has begun another, which nobody looks at
        for agent, wanted in ((player, mine & running), (opponent, ~mine & running)):
            chosen = np.flatnonzero(wanted)
            if len(chosen):
                actions[chosen] = agent.act(
                    games.observations[chosen], games.action_masks[chosen], games.states[chosen]
                )
        rewards, ends = games.step(actions)
        finished = ends & running
        points[finished] = rewards[finished]
        running &= ~ends
    return points


def own_points_and_margins(
    game: Setup, points: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Of every deal the measured player's points, and what they are more than the mean of the others'.

    Args:
        game: the game.
        points: ``(deals, seatings, players)``, from ``play_deals``.

    Returns:
        Twice ``(deals,)``, means over the seatings.
    """
    own = np.zeros(points.shape[1:], np.bool_)
    for i, seats in enumerate(seatings(game)):
        own[i, seats] = True
    mine, theirs = points.mean(axis=2, where=own[None]), points.mean(axis=2, where=~own[None])
    return mine.mean(axis=1), (mine - theirs).mean(axis=1)


def half_width_95(margins: npt.ArrayLike) -> float:
    """The 95 % confidence interval of the mean is the mean ± this; infinite for fewer than two numbers."""
    values = np.asarray(margins, np.float64)
    return Z_95 * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def evaluate(
    game: Setup,
    player: Agent,
    opponent: Agent,
    deals: int,
    seed: int = 0,
    on_progress: Callable[[int], None] | None = None,
) -> Result:
    """Measures a player against another on duplicate deals.

    Every deal is played once for each seat of the player, with the same cards, so that luck of the deal cancels; the
    interval is over deals, which are independent.

    Args:
        game: the game; deals are played one by one, whatever its ``num_deals``.
        player: who is measured.
        opponent: who sits on all other seats.
        deals: how many different deals.
        seed: of the deals, and of the players' own choices.
        on_progress: called with the number of deals just finished.
    """
    player.seed(seed)
    opponent.seed(seed + 1)
    points = play_deals(game, player, opponent, seed * 1_000_003, deals, on_progress)
    mine, margins = own_points_and_margins(game, points)
    return Result(player.name, opponent.name, deals, float(margins.mean()), half_width_95(margins), float(mine.mean()))


def results_table(results: Sequence[Any], title: str) -> Any:
    """Results, or meetings of an arena, as a table for the terminal."""
    from rich.table import Table

    table = Table(title=title, caption="margin: points a deal over the opponents' mean, with 95 % interval")
    for name in ("player", "against"):
        table.add_column(name, no_wrap=True)
    for figure, width in (("deals", 5), ("margin", 14)):
        table.add_column(figure, justify="right", no_wrap=True, min_width=width)
    for result in results:
        margin = f"{result.margin:+.2f} ± {result.half_width:.2f}"
        table.add_row(short_name(result.player), short_name(result.opponent), str(result.deals), margin)
    return table


def short_name(name: str) -> str:
    """A player's name, of a long path the end."""
    return name if len(name) <= 18 else "…" + name[-17:]
