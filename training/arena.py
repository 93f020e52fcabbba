"""The arena: every player against every other on duplicate deals, with intervals that say how sure the table is.

A deal is played with the same cards once for every seat of the one player among players of the other kind, and once
the other way round; the margin is what the one player then has more than the other, a seat, the mean of both ways. In
team games it is two against two, once for either team.

Deals are played in chunks, those of searching players one by one. A finished chunk is a line of ``chunks.jsonl`` in the
arena's folder, so that an arena that was stopped goes on where it was. What players choose by chance hangs on the
arena's seed and on the deal alone, and whether a pair has played enough is asked after every so many of its deals in
their order: the table is the same whatever the number of processes, interruptions, or the order of the players.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

try:
    from openskill.models import PlackettLuce
except ImportError:
    raise ImportError("the arena needs openskill: pip install 'trick_envs[train]'") from None

import trick_envs
from training.evaluation import half_width_95, own_points_and_margins, play_deals, seatings, short_name
from training.files import write_json, write_text
from training.plots import heat_map
from trick_envs.agents import SEARCHES, Actions, Agent, make_agent
from trick_envs.engine.game import Setup
from trick_envs.interfaces.batch import BatchEnv

CHUNK = 20  # deals that are played, and kept, together; after as many a pair asks whether it may stop
FEWEST = 100  # deals before a pair may stop early: an interval over fewer of them is itself unsure
MAX_DEALS = 1_000_000  # the deals of the next seed begin after these
LADDER = ("random", "greedy", "pimc:10", "ismcts:1000")  # whom a player is measured against, if nobody else is named
LOG = "chunks.jsonl"
FORMAT = 2


@dataclass(frozen=True)
class Player:
    """A player, and what its policy file held when the arena began.

    Attributes:
        spec: as ``make_agent`` takes it.
        digest: of the file; empty for players without one.
    """

    spec: str
    digest: str = ""

    @property
    def id(self) -> str:
        """What tells it from all others, also from an earlier policy in the same file."""
        return f"{self.spec}@{self.digest}" if self.digest else self.spec

    @property
    def searches(self) -> bool:
        """Whether it takes so long that each of its deals is kept at once."""
        return self.spec.rpartition("+")[2].partition(":")[0] in SEARCHES


@dataclass(frozen=True)
class Plan:
    """What an arena plays.

    Attributes:
        game: the game, set up for a single deal.
        players: who takes part.
        deals: for every pair, at most.
        half_width: a pair stops when its 95 % interval is ± this or narrower; ``None`` plays all deals.
        seed: of deals and players.
        only_first: the first player meets all others, and they do not meet each other.
    """

    game: Setup
    players: tuple[Player, ...]
    deals: int
    half_width: float | None
    seed: int
    only_first: bool = False

    def pairs(self) -> list[Pair]:
        """Who is to meet."""
        met = 1 if self.only_first else len(self.players)
        return [Pair(self, one, other) for i, one in enumerate(self.players[:met]) for other in self.players[i + 1 :]]


def make_plan(
    game: Setup,
    specs: Sequence[str],
    deals: int = 1000,
    half_width: float | None = None,
    seed: int = 0,
    only_first: bool = False,
) -> Plan:
    """Checks what an arena is to play.

    Raises:
        ValueError: for fewer than two players, the same one twice, a spec that means nothing, a policy of another
            game, or a number that is out of range.
    """
    if len(specs) < 2:
        raise ValueError(f"an arena needs two players or more, such as random greedy; got {', '.join(specs) or 'none'}")
    twice = sorted({spec for spec in specs if specs.count(spec) > 1})
    if twice:
        raise ValueError(f"named twice: {', '.join(twice)} (a player does not meet itself)")
    if not 2 <= deals <= MAX_DEALS:
        raise ValueError(f"deals: expected 2 to {MAX_DEALS:,}, not {deals}")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected 0 to 2**32 - 1, not {seed}")
    if half_width is not None and not half_width > 0:
        raise ValueError(f"half width: expected a number of points above 0, not {half_width}")
    for spec in specs:
        make_agent(spec, game)
    players = tuple(Player(spec, _digest_of_policy(spec)) for spec in specs)
    return Plan(game, players, deals, half_width, seed, only_first)


def _digest_of_policy(spec: str) -> str:
    path, found, _ = spec.rpartition(".onnx")
    return hashlib.sha256(Path(path + found).read_bytes()).hexdigest()[:16] if found else ""


# --- playing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A chunk to play."""

    game: Setup
    players: tuple[Player, Player]
    seed: int
    first: int
    deals: int


@dataclass(frozen=True)
class Chunk:
    """A chunk that was played: a line of the log.

    Attributes:
        players: their ids.
        first: number of the first deal.
        margins: the first player's over the second, deal by deal.
        decisions: how many each of the two has made.
        seconds: how long they took.
    """

    players: tuple[str, str]
    first: int
    margins: list[float]
    decisions: tuple[int, int]
    seconds: tuple[float, float]


class _Timed:
    """A player that counts its decisions and their time."""

    def __init__(self, agent: Agent) -> None:
        self.name, self.seed = agent.name, agent.seed
        self._agent, self.decisions, self.seconds = agent, 0, 0.0

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Actions:
        began = time.perf_counter()
        actions = self._agent.act(observations, action_masks, states)
        self.seconds += time.perf_counter() - began
        self.decisions += len(actions)
        return actions


@cache
def _agent(player: Player, game: Setup) -> Agent:
    """The player, loaded and warm, once a process."""
    agent = make_agent(player.spec, game)
    games = BatchEnv(game.rules.name, 1, game.num_players, 1, **game.options)
    games.reset(0)
    agent.act(games.observations, games.action_masks, games.states)  # compiles: that is no part of its speed
    return agent


def play_chunk(task: Task) -> Chunk:
    """Plays a chunk of deals, both ways."""
    game = task.game
    one, other = (_Timed(_agent(player, game)) for player in task.players)
    ways = [(one, other, 1.0), (other, one, -1.0)]
    if 2 * len(seatings(game)[0]) == game.num_players:  # both ways at once
        ways.pop()
    margins = np.zeros(task.deals)
    for number, (lone, rest, sign) in enumerate(ways):
        seeds = np.random.SeedSequence((task.seed, number)).generate_state(2)
        for player, seed in zip((lone, rest), seeds, strict=True):
            player.seed(int(seed))
        points = play_deals(game, lone, rest, task.seed * MAX_DEALS + task.first, task.deals)
        margins += sign * own_points_and_margins(game, points)[1] / len(ways)
    return Chunk(
        (task.players[0].id, task.players[1].id), task.first, margins.tolist(),
        (one.decisions, other.decisions), (round(one.seconds, 6), round(other.seconds, 6)),
    )  # fmt: skip


class Pair:
    """Two players and what they have played.

    Attributes:
        players: in the order of their names, whatever the order in which they were given.
        margins: the first player's over the second, of the deals that count: those in their order up to the first gap,
            or to the one after which the interval was narrow enough.
    """

    def __init__(self, plan: Plan, one: Player, other: Player) -> None:
        self.players = (one, other) if one.id < other.id else (other, one)
        self.margins: list[float] = []
        self._plan = plan
        self._chunk = 1 if one.searches or other.searches else CHUNK
        self._chunks: dict[int, Chunk] = {}
        self._asked: set[int] = set()
        self._sure = False

    @property
    def ids(self) -> tuple[str, str]:
        """The players' ids."""
        return self.players[0].id, self.players[1].id

    @property
    def is_open(self) -> bool:
        """Whether more deals are wanted."""
        return len(self.margins) < self._plan.deals and not self._sure

    @property
    def note(self) -> str:
        """How the pair stands, in a line."""
        if not self.margins:
            return ""
        one, other = (short_name(player.spec) for player in self.players)
        return f"{one} over {other}: {np.mean(self.margins):+.2f} ± {half_width_95(self.margins):.2f}"

    def next_task(self, ahead: int) -> Task | None:
        """The next chunk that nobody plays yet, if more are wanted; not more than so many ahead of those that count."""
        if self.is_open:
            begin = len(self.margins)
            for first in range(begin, min(begin + ahead * self._chunk, self._plan.deals), self._chunk):
                if first not in self._chunks and first not in self._asked:
                    return Task(self._plan.game, self.players, self._plan.seed, first, self._length(first))
        return None

    def _length(self, first: int) -> int:
        return min(self._chunk, self._plan.deals - first)

    def ask(self, task: Task) -> None:
        """Notes that somebody plays a chunk."""
        self._asked.add(task.first)

    def take(self, chunk: Chunk) -> None:
        """Counts a chunk, if it is one of the plan's."""
        if chunk.first % self._chunk or len(chunk.margins) != self._length(chunk.first):
            return
        self._chunks[chunk.first] = chunk
        while self.is_open and len(self.margins) in self._chunks:
            self.margins += self._chunks[len(self.margins)].margins
            asks = len(self.margins) >= FEWEST and len(self.margins) % CHUNK == 0
            if self._plan.half_width is not None and asks:
                self._sure = half_width_95(self.margins) <= self._plan.half_width

    def speed(self) -> Iterator[tuple[Player, float]]:
        """Decisions a second of either player."""
        for i, player in enumerate(self.players):
            seconds = sum(chunk.seconds[i] for chunk in self._chunks.values())
            yield player, sum(chunk.decisions[i] for chunk in self._chunks.values()) / max(seconds, 1e-9)


class Log:
    """The chunks in an arena's folder.

    The first line says what shapes every chunk. Players, the number of deals and the width to stop at are no part of
    it: those may change from one run to the next, and chunks that were played stay good.

    Args:
        path: the file; it is made if there is none.
        settings: what shapes every chunk.

    Attributes:
        chunks: those that have been played.

    Raises:
        ValueError: if the file holds chunks of other settings, or something else; says what differs.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self._path, head = path, json.dumps(settings)
        self.chunks: list[Chunk] = []
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        whole, newline, torn = text.rpartition("\n")  # a last line without an end was cut off while it was written
        lines = whole.split("\n") if newline else []
        if not lines or torn:
            write_text(path, "\n".join([*(lines or [head]), ""]))
        for number, line in enumerate(lines):
            try:
                content = json.loads(line)
                if number:
                    self.chunks.append(Chunk(**{**content, "players": tuple(content["players"])}))
                else:
                    self._check(content["settings"], settings["settings"])
            except (TypeError, KeyError, json.JSONDecodeError):
                what = "line" if number else "file"  # nothing in it is good without its head
                raise ValueError(
                    f"{path}, line {number + 1}: not as trick arena writes it; delete the {what}"
                ) from None

    def _check(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        for name, value in wanted.items():
            if found[name] != value:
                raise ValueError(
                    f"{self._path.parent} holds an arena with {name} {found[name]!r}, but this is {value!r}: "
                    "choose another --folder, or delete that one"
                )

    def add(self, chunk: Chunk) -> None:
        """Keeps a chunk, whatever happens from now on."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(chunk)) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _settings(plan: Plan) -> dict[str, Any]:
    """What shapes every chunk of a plan, but for the players."""
    return {
        "settings": {
            "format": FORMAT,
            "game": plan.game.rules.name,
            "num players": plan.game.num_players,
            "seed": plan.seed,
            "version": f"{trick_envs.__version__}-{_digest_of_code(plan.game)}",
        }
    }


def _digest_of_code(game: Setup) -> str:
    """Of everything that a game and its players hang on: chunks of different code do not mix."""
    package = Path(trick_envs.__file__).parent
    files = [*(package / "engine").glob("*.py"), *(package / "agents").glob("*.py")]
    digest = hashlib.sha256()
    for path in [*sorted(files), package / "games" / f"{game.rules.name}.py"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def play_arena(
    plan: Plan, folder: Path, workers: int = 1, on_progress: Callable[[int, int, Pair], None] | None = None
) -> Standings:
    """Plays what a plan asks for and a folder does not hold yet.

    Args:
        plan: from ``make_plan``.
        folder: where finished chunks are kept, and taken from.
        workers: processes that play; the table is the same for any number.
        on_progress: called with the deals that count, the deals that may be wanted, and the pair that just played.

    Raises:
        ValueError: if the folder holds an arena with other settings.
        ChildProcessError: if a process died; what was finished is kept.
        KeyboardInterrupt: as it comes; what was finished is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = Log(folder / LOG, _settings(plan))
    pairs = plan.pairs()
    by_ids = {pair.ids: pair for pair in pairs}
    for chunk in log.chunks:
        if chunk.players in by_ids:
            by_ids[chunk.players].take(chunk)
    playing: dict[Future[Chunk], Pair] = {}
    with _executor(workers if any(pair.is_open for pair in pairs) else 1) as executor:
        while any(pair.is_open for pair in pairs):
            while len(playing) < workers:
                waiting = [
                    (task.first, i, task) for i, pair in enumerate(pairs) if (task := pair.next_task(2 * workers))
                ]
                if not waiting:
                    break
                _, i, task = min(waiting, key=lambda entry: entry[:2])  # all pairs in turn
                pairs[i].ask(task)
                playing[executor.submit(play_chunk, task)] = pairs[i]
            for future in wait(playing, return_when=FIRST_COMPLETED).done:
                pair, chunk = playing.pop(future), future.result()
                log.add(chunk)
                pair.take(chunk)
                if on_progress is not None:
                    total = sum(plan.deals if pair.is_open else len(pair.margins) for pair in pairs)
                    on_progress(sum(len(pair.margins) for pair in pairs), total, pair)
    return Standings(plan, pairs)


class _Here(Executor):
    """One worker: this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@contextmanager
def _executor(workers: int) -> Iterator[Executor]:
    """Something to play chunks in, that is gone at the end, with what it was playing."""
    if workers == 1:
        yield _Here()
        return
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # the workers inherit it
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_worker)
    try:
        yield pool
    except BrokenProcessPool:
        raise ChildProcessError(
            "a worker process died (is there enough memory?); finished deals are kept: run it again, with fewer workers"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --- what came out ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meeting:
    """One player against another.

    Attributes:
        player: whose margin it is.
        opponent: over whom.
        deals: how many counted.
        margin: points a deal.
        half_width: the margin's 95 % confidence interval is ``margin`` ± this, over deals.
    """

    player: str
    opponent: str
    deals: int
    margin: float
    half_width: float


class Standings:
    """The table of an arena.

    Attributes:
        plan: what was played.
        meetings: by player and opponent, either way round.
        ratings: of every player, mean and standard deviation, from who won how many deals (Plackett-Luce, by
            openskill): a summary only, which knows nothing of points.
        speed: decisions a second of every player, where it was fastest (beside searches, which play one deal at a
            time, a fast player has little to do at once); what a clock says, so never the same twice.
    """

    def __init__(self, plan: Plan, pairs: Sequence[Pair]) -> None:
        self.plan = plan
        self.names = [player.spec for player in plan.players]
        self.meetings: dict[tuple[str, str], Meeting] = {}
        for pair in pairs:
            one, other = (player.spec for player in pair.players)
            deals, margin, width = len(pair.margins), float(np.mean(pair.margins)), half_width_95(pair.margins)
            self.meetings[one, other] = Meeting(one, other, deals, margin, width)
            self.meetings[other, one] = Meeting(other, one, deals, 0.0 - margin, width)
        self.ratings = self._rate(pairs)
        self.speed = dict.fromkeys(self.names, 0.0)
        for pair in pairs:
            for player, speed in pair.speed():
                self.speed[player.spec] = max(speed, self.speed[player.spec])

    def _rate(self, pairs: Sequence[Pair]) -> dict[str, tuple[float, float]]:
        model = PlackettLuce(tau=0.0)  # players do not change while they play
        ratings = {name: model.rating(name=name) for name in self.names}
        pairs = sorted(pairs, key=lambda pair: pair.ids)
        for deal in range(max(len(pair.margins) for pair in pairs)):
            for pair in pairs:
                if deal < len(pair.margins):
                    one, other = (player.spec for player in pair.players)
                    margin = round(
                        pair.margins[deal], 9
                    )  # means of the same points in another order may differ by a bit
                    ranks = [float(margin < 0), float(margin > 0)]
                    (ratings[one],), (ratings[other],) = model.rate([[ratings[one]], [ratings[other]]], ranks=ranks)
        return {name: (rating.mu, rating.sigma) for name, rating in ratings.items()}

    @property
    def title(self) -> str:
        """The game and its players."""
        return f"{self.plan.game.rules.game.title}, {self.plan.game.num_players} players"

    def rows(self) -> list[Meeting]:
        """All meetings in the order of the players."""
        wanted = [(one, other) for one in self.names for other in self.names]
        return [self.meetings[names] for names in wanted if names in self.meetings]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the same for the same plan and code, on the same machine, to the last bit."""
        plan = self.plan
        return {
            "game": plan.game.rules.name,
            "num_players": plan.game.num_players,
            "seed": plan.seed,
            "deals": plan.deals,
            "half_width": plan.half_width,
            "players": [
                {"player": name, "rating": self.ratings[name][0], "rating_deviation": self.ratings[name][1]}
                for name in self.names
            ],
            "meetings": [asdict(meeting) for meeting in self.rows()],
        }

    def write(self, folder: Path) -> None:
        """Writes ``results.json``, ``results.csv``, ``results.md``, ``heatmap.png`` and ``speed.json``."""
        write_json(folder / "results.json", self.as_dict())
        rows = io.StringIO()
        table = csv.DictWriter(rows, Meeting.__dataclass_fields__, lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(meeting) for meeting in self.rows())
        write_text(folder / "results.csv", rows.getvalue())
        write_text(folder / "results.md", self.markdown())
        found = [[self.meetings.get((one, other)) for other in self.names] for one in self.names]
        cells = [[(cell.margin, cell.half_width) if cell else None for cell in row] for row in found]
        heat_map(self._labels(), cells, folder / "heatmap.png", self.title)
        write_json(folder / "speed.json", {name: round(speed, 1) for name, speed in self.speed.items()})

    def _labels(self) -> list[str]:
        """Short names, where they tell the players apart."""
        short = [short_name(name) for name in self.names]
        return short if len(set(short)) == len(short) else self.names

    def _cells(self, one: str) -> list[str]:
        """A row of the cross table."""
        found = [self.meetings.get((one, other)) for other in self.names]
        return [f"{cell.margin:+.2f} ± {cell.half_width:.2f}" if cell else "" for cell in found]

    def markdown(self) -> str:
        """The cross table for a README."""
        lines = [[self.title, *(f"over {name}" for name in self.names)], ["---"] * (len(self.names) + 1)]
        lines += [[name, *self._cells(name)] for name in self.names]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def table(self) -> Any:
        """The cross table for the terminal."""
        from rich.box import SIMPLE
        from rich.table import Table

        deals = sorted({meeting.deals for meeting in self.meetings.values()})
        played = f"{deals[0]}" if len(deals) == 1 else f"{deals[0]} to {deals[-1]}"
        caption = f"points a deal, with 95 % interval; {played} deals a pair"
        table = Table(title=self.title, caption=caption, box=SIMPLE, show_lines=True)
        table.add_column("player\ndecisions/s", min_width=11, overflow="fold")
        for number in range(1, len(self.names) + 1):
            table.add_column(f"over {number}", justify="right", no_wrap=True)
        table.add_column("rating", justify="right", no_wrap=True)
        for number, (name, label) in enumerate(zip(self.names, self._labels(), strict=True), 1):
            mean, deviation = self.ratings[name]
            cells = [cell.replace(" ± ", "\n±") for cell in self._cells(name)]
            table.add_row(f"{number} {label}\n{self.speed[name]:,.0f}", *cells, f"{mean:.1f}\n±{deviation:.1f}")
        return table
