"""How strong a player is: one protocol and one type of result for runs, best responses, evaluations and arenas.

Every deal is played several times with the same cards (duplicate deals), so that the luck of the deal cancels:

- one game for every seat of a single player among opponents,
- one game for every seat of a single opponent among such players,
- in team games one game for each team of the player, the opponent being the other team.

Or (``seatings="all"``) one game for every way to seat the two, except for those in which all seats have the same
player: 14 with four seats, as the literature on Hearts has it.

The margin is what the player scores more than the opponent per seat and deal: the mean of both ways, or with all
seatings the mean over all seats of either. The confidence interval is over deals, which are independent
(``intervals.py``).
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Agent
from trick_envs.agents.agent import checked_agent, observation_for
from trick_envs.engine.arguments import whole_number
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game, checked_game
from trick_envs.errors import InputError, shown
from trick_envs.evaluation.intervals import half_width_95
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, match_seeds, player_seeds
from trick_envs.files import is_list, is_number
from trick_envs.matches.loop import choose_actions
from trick_envs.matches.seating import seatings as seats_of_one

if TYPE_CHECKING:
    from rich.table import Table

SEATINGS = ("alone", "all")
MAX_GAMES = 4096  # that are played side by side


@dataclass(frozen=True)
class Result:
    """One player against another, on duplicate deals.

    Attributes:
        player: who was measured.
        opponent: against whom.
        deals: number of different deals.
        margin: the player's points per deal minus the opponent's, the mean of both ways.
        half_width: the 95 % confidence interval is ``margin`` ± this.
        margin_as_one: the margin of a single player among opponents alone, its points less the mean of theirs, as
            exploitability needs it. In team games the same as ``margin``.
        half_width_as_one: the 95 % confidence interval is ``margin_as_one`` ± this.
    """

    player: str
    opponent: str
    deals: int
    margin: float
    half_width: float
    margin_as_one: float
    half_width_as_one: float

    def as_dict(self) -> dict[str, str | int | float]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Any) -> Result:
        """From JSON, where an infinite half width is ``null``.

        Raises:
            ValueError: if it is not what ``as_dict`` has made of a result.
        """
        names = [each.name for each in fields(cls)]
        values: list[Any] = [content.get(name) for name in names] if isinstance(content, dict) else []
        widths = [0 if width is None else width for width in values[4::2]]
        if (
            not is_list(values[:2], 2, str)
            or not is_number(values[2], int)
            or not is_list([*values[3::2], *widths], 4, float)
            or min(values[2] - 1, *widths) < 0
        ):
            raise InputError(f"expected the result of an evaluation, not {reprlib.repr(content)}")
        filled: list[Any] = [math.inf if value is None else value for value in values]
        return cls(*filled)

    def verdict(self, level: float | None = None) -> str:
        """What the interval says: ``better``, ``worse`` or ``undecided``, from the player's view.

        Args:
            level: points per deal; if the whole interval is within ± this, both are ``level``.
        """
        if abs(self.margin) > self.half_width:
            return "better" if self.margin > 0 else "worse"
        return "level" if level is not None and abs(self.margin) + self.half_width <= level else "undecided"


def make_result(
    player: str,
    opponent: str,
    margins: npt.ArrayLike,
    half_width: Callable[[npt.ArrayLike], float] = half_width_95,
) -> Result:
    """The result of some deals.

    Args:
        player: who was measured.
        opponent: against whom.
        margins: ``(deals, 2)`` or ``(deals, 3)``, from ``margins_of``.
        half_width: of the 95 % interval; for deals that were played until something was known,
            ``half_width_at_any_time_95``.
    """
    mean, as_one = means(margins), np.asarray(margins, np.float64)[:, 0]
    return Result(
        player, opponent, len(mean),
        float(mean.mean()), half_width(mean),
        float(as_one.mean()), half_width(as_one),
    )  # fmt: skip


def means(margins: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """``(deals,)``: the margin of each deal over all its ways, from ``margins_of``."""
    ways = np.asarray(margins, np.float64)
    return ways[:, 2] if ways.shape[1] == 3 else ways.mean(axis=1)


def evaluate(
    game: Game,
    player: Agent,
    opponent: Agent,
    deals: int,
    seed: int = 0,
    purpose: Purpose = Purpose.VALIDATION,
    on_progress: Callable[[int], None] | None = None,
) -> Result:
    """Measures a player against another on duplicate deals.

    Args:
        game: the game; deals are played one by one, whatever its ``num_deals``.
        player: who is measured.
        opponent: against whom.
        deals: number of different deals.
        seed: of the deals and of the players' random choices.
        purpose: what the result is for; every purpose has deals of its own.
        on_progress: called with the number of deals just finished.

    Raises:
        ValueError: for a number of deals or a seed that is out of range.
        TypeError: for what is no player.
    """
    deals = whole_number(deals, 1, SEEDS_PER_RUN, "deals")
    points = play_points(game, (player, opponent), purpose, seed, 0, deals, on_progress)
    return make_result(player.name, opponent.name, margins_of(game, points))


def play_points(
    game: Game,
    players: tuple[Agent, Agent],
    purpose: Purpose,
    seed: int,
    first: int,
    deals: int,
    on_progress: Callable[[int], None] | None = None,
    seatings: str = "alone",
) -> npt.NDArray[np.float64]:
    """Plays consecutive deals of an evaluation. Results do not depend on how an evaluation is cut into such calls.

    Args:
        game: the game.
        players: the player and its opponent; their seeds are set.
        purpose: what the result is for.
        seed: of the evaluation.
        first: number of the first deal.
        deals: how many deals.
        on_progress: called with the number of deals just finished.
        seatings: ``"alone"`` or ``"all"``.

    Returns:
        ``(deals, L, num_players)``, the points of every seat, as ``play_deals``.

    Raises:
        ValueError: for other seatings, and for all of them in a team game.
    """
    for player, player_seed in zip(players, player_seeds(purpose, seed), strict=True):
        checked_agent(player, "player").seed(player_seed)
    seeds = match_seeds(purpose, seed, first, deals)
    return play_deals(checked_game(game), players, seeds, on_progress, lineups(game, seatings))


def margins_of(game: Game, points: npt.NDArray[np.float64], seatings: str = "alone") -> npt.NDArray[np.float64]:
    """The margins from the points of ``play_points``.

    Returns:
        ``(deals, 2)`` margins per deal, of a single player among opponents, and of the players over a single opponent
        among them; with all seatings ``(deals, 3)``, the third over all of them, every seat counting the same.
    """
    lineup = lineups(game, seatings)
    own, others = (points.mean(axis=2, where=lineup == index) for index in (0, 1))
    if seatings == "all":
        one, many = ((own - others)[:, (lineup == index).sum(axis=1) == 1].mean(axis=1) for index in (0, 1))
        every = [points.mean(axis=(1, 2), where=lineup == index) for index in (0, 1)]
        return np.stack([one, many, every[0] - every[1]], axis=1)
    ways = (own - others).reshape(len(points), -1, len(seats_of_one(game))).mean(axis=2)
    return np.repeat(ways, 2 // ways.shape[1], axis=1)  # in team games one way is both


def reverse_margins(margins: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The margins of ``margins_of`` from the opponent's view."""
    ways = 0.0 - np.asarray(margins, np.float64)
    return ways[:, [1, 0, *range(2, ways.shape[1])]]


def lineups(game: Game, seatings: str = "alone") -> npt.NDArray[np.int64]:
    """Who sits where in the games of one deal: ``(L, num_players)``, 0 for the player and 1 for its opponent.

    First every seating of a single player, then every seating of a single opponent. Where both have the same number
    of seats, as in team games, every seating of the player is both ways at once. With ``"all"`` seatings, every way to
    seat at least one of each.

    Raises:
        ValueError: for other seatings, and for all of them in a team game.
    """
    if not isinstance(seatings, str) or seatings not in SEATINGS:
        raise InputError(f"seatings: expected {' or '.join(map(repr, SEATINGS))}, not {shown(seatings)}")
    if seatings == "all":
        if game.type.teams:
            raise InputError(f"seatings: {game.name} is played by teams, which stay together: only 'alone' is possible")
        bits = np.arange(1, 2**game.num_players - 1)
        return (bits[:, None] >> np.arange(game.num_players)) & 1
    seats = seats_of_one(game)
    lineup = np.ones((len(seats), game.num_players), np.int64)
    for row, taken in zip(lineup, seats, strict=True):
        row[list(taken)] = 0
    return lineup if 2 * len(seats[0]) == game.num_players else np.concatenate([lineup, 1 - lineup])


def play_deals(
    game: Game,
    players: tuple[Agent, Agent],
    seeds: npt.NDArray[np.uint64],
    on_progress: Callable[[int], None] | None = None,
    lineup: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.float64]:
    """Plays a deal for every seed, in every lineup.

    Returns:
        ``(deals, L, num_players)`` points, in the order of ``seeds`` and of ``lineup``, by default ``lineups(game)``.
    """
    lineup = lineups(game) if lineup is None else lineup
    points = np.zeros((len(seeds), len(lineup), game.num_players))
    at_once = max(1, MAX_GAMES // len(lineup))
    for start in range(0, len(seeds), at_once):
        batch = seeds[start : start + at_once]
        who = np.tile(lineup, (len(batch), 1))
        played = _play_one_deal_each(game, players, np.repeat(batch, len(lineup)), who)
        points[start : start + len(batch)] = played.reshape(len(batch), len(lineup), -1)
        if on_progress is not None:
            on_progress(len(batch))
    return points


def _play_one_deal_each(
    game: Game, players: tuple[Agent, Agent], seeds: npt.NDArray[np.uint64], who: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    seen = observation_for(*players)
    games = BatchEnv(game.name, len(seeds), game.num_players, 1, "score", observation=seen, **game.options)
    games.reset(seeds)
    points = np.zeros((len(seeds), game.num_players), np.float32)
    running = np.arange(len(seeds))
    while len(running):
        rewards, terminated = games.step(choose_actions(games, players, who, running), running)
        points[terminated] = rewards[terminated]
        running = running[~terminated[running]]
    return points


def results_table(results: Sequence[Result], title: str, verdicts: Sequence[str] = ()) -> Table:
    """Results as a table for the terminal, with a verdict on each where there are any."""
    from rich.table import Table

    alone = f" ({each_alone(len(results))})" if len(results) > 1 else ""
    table = Table(title=title, caption=f"margin: points per deal over the opponent, with 95 % interval{alone}")
    for name in ("player", "against"):
        table.add_column(name, no_wrap=True)
    for figure, width in (("deals", 5), ("margin", 14)):
        table.add_column(figure, justify="right", no_wrap=True, min_width=width)
    if verdicts:
        table.add_column("player is", no_wrap=True)
    for i, result in enumerate(results):
        margin = f"{result.margin:+.2f} ± {result.half_width:.2f}"
        table.add_row(
            short_name(result.player), short_name(result.opponent), str(result.deals), margin, *verdicts[i : i + 1]
        )
    return table


def each_alone(count: int) -> str:
    """What so many intervals of 95 % say together: by Bonferroni's inequality, which holds however they depend."""
    together = max(100 - 5 * count, 0)
    return f"each of the {count} alone; all of them hold at once in {together} % of all cases or more"


def short_name(name: str) -> str:
    """A player's name; of a long path only the end."""
    return name if len(name) <= 18 else "…" + name[-17:]
