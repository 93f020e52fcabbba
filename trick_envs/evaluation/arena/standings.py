"""The results of an arena, as a table and as files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trick_envs.evaluation.arena.pair import Pair
from trick_envs.evaluation.arena.schedule import Plan
from trick_envs.evaluation.duplicate import Result, short_name
from trick_envs.evaluation.plots import heat_map
from trick_envs.files import write_json, write_text

RESULTS = ("results.json", "results.csv", "results.md", "heatmap.png", "speed.json")  # the files that are written

if TYPE_CHECKING:
    from rich.table import Table


class Standings:
    """The table of an arena.

    Attributes:
        plan: what was played.
        results: by player and opponent, both ways round.
        speed: decisions per second of every player, in the pair in which it was fastest (against a search, which plays
            one deal at a time, a fast player has small batches). Measured by the clock, so never the same twice.
    """

    def __init__(self, plan: Plan, pairs: Sequence[Pair]) -> None:
        self.plan = plan
        self.names = [player.spec for player in plan.players]
        self.results: dict[tuple[str, str], Result] = {}
        for pair in pairs:
            result = pair.result
            self.results[result.player, result.opponent] = result
            self.results[result.opponent, result.player] = pair.reverse
        self._pairs = pairs
        self.speed = dict.fromkeys(self.names, 0.0)
        for pair in pairs:
            for player, speed in pair.speed():
                self.speed[player.spec] = max(speed, self.speed[player.spec])

    @cached_property
    def ratings(self) -> dict[str, tuple[float, float]]:
        """For every player: points per deal above the mean of all players, and half the width of its 95 % interval.

        Least squares: of all ratings, those whose differences come nearest to the margins, every deal counting the
        same. The interval takes what different pairs have played as independent.
        """
        ranks = {player.spec: player.rank for player in self.plan.players}
        players = sorted(ranks, key=ranks.__getitem__)  # the same sums in the same order, whatever was given
        found = sorted((pair.result for pair in self._pairs), key=lambda one: (ranks[one.player], ranks[one.opponent]))
        signs = [[(name == one.player) - (name == one.opponent) for name in players] for one in found]
        weights = np.sqrt([one.deals for one in found])
        solve = np.linalg.pinv(weights[:, None] * np.array(signs, np.float64)) * weights
        ratings = solve @ [one.margin for one in found]
        widths = [
            math.hypot(*(part * one.half_width for part, one in zip(row, found, strict=True) if abs(part) > 1e-9))
            for row in solve
        ]
        return dict(zip(players, zip(ratings.tolist(), widths, strict=True), strict=True))

    @property
    def title(self) -> str:
        """The game and the number of players."""
        return f"{self.plan.game.title}, {self.plan.game.num_players} players"

    def rows(self) -> list[Result]:
        """All results in the order of the players."""
        wanted = [(one, other) for one in self.names for other in self.names]
        return [self.results[names] for names in wanted if names in self.results]

    def about(self) -> dict[str, object]:
        """What was played, for JSON."""
        plan = self.plan
        return {
            "game": plan.game.name,
            "num_players": plan.game.num_players,
            "seed": plan.seed,
            "purpose": plan.purpose.name.lower(),
        }

    def as_dict(self) -> dict[str, object]:
        """For JSON: the same for the same plan and code, on the same machine, to the last bit."""
        plan = self.plan
        return {
            **self.about(),
            "deals": plan.deals,
            "half_width": plan.half_width,
            "players": [
                {"player": name, "rating": self.ratings[name][0], "half_width": self.ratings[name][1]}
                for name in self.names
            ],
            "results": [result.as_dict() for result in self.rows()],
        }

    def write(self, folder: Path) -> None:
        """Writes the files of ``RESULTS``."""
        report, sheet, cross_table, picture, speeds = (folder / name for name in RESULTS)
        write_json(report, self.as_dict())
        rows = io.StringIO()
        table = csv.DictWriter(rows, Result.__dataclass_fields__, lineterminator="\n")
        table.writeheader()
        table.writerows(result.as_dict() for result in self.rows())
        write_text(sheet, rows.getvalue())
        write_text(cross_table, self.markdown())
        found = [[self.results.get((one, other)) for other in self.names] for one in self.names]
        cells = [[(cell.margin, cell.half_width) if cell else None for cell in row] for row in found]
        heat_map(self._labels(), cells, picture, self.title)
        write_json(speeds, {name: round(speed, 1) for name, speed in self.speed.items()})

    def _labels(self) -> list[str]:
        """Short names, if they distinguish the players."""
        short = [short_name(name) for name in self.names]
        return short if len(set(short)) == len(short) else self.names

    def _cells(self, one: str) -> list[str]:
        """A row of the cross table."""
        found = [self.results.get((one, other)) for other in self.names]
        return [f"{cell.margin:+.2f} ± {cell.half_width:.2f}" if cell else "" for cell in found]

    def markdown(self) -> str:
        """The cross table in Markdown."""
        lines = [[self.title, *(f"over {name}" for name in self.names)], ["---"] * (len(self.names) + 1)]
        lines += [[name, *self._cells(name)] for name in self.names]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def table(self) -> Table:
        """The cross table for the terminal."""
        from rich.box import SIMPLE
        from rich.table import Table

        deals = sorted({result.deals for result in self.results.values()})
        played = f"{deals[0]}" if len(deals) == 1 else f"{deals[0]} to {deals[-1]}"
        caption = f"points per deal, with 95 % interval; {played} deals per pair; rating: over the mean of all players"
        table = Table(title=self.title, caption=caption, box=SIMPLE, show_lines=True)
        table.add_column("player\ndecisions/s", min_width=11, overflow="fold")
        for number in range(1, len(self.names) + 1):
            table.add_column(f"over {number}", justify="right", no_wrap=True)
        table.add_column("rating", justify="right", no_wrap=True)
        for number, (name, label) in enumerate(zip(self.names, self._labels(), strict=True), 1):
            rating, half_width = self.ratings[name]
            cells = [cell.replace(" ± ", "\n±") for cell in self._cells(name)]
            table.add_row(f"{number} {label}\n{self.speed[name]:,.0f}", *cells, f"{rating:+.2f}\n±{half_width:.2f}")
        return table
