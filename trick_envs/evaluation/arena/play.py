"""The loop of an arena."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path

from trick_envs.agents.llm import answers_in
from trick_envs.agents.spec import read_policy_files
from trick_envs.evaluation.arena.log import LOG, Log
from trick_envs.evaluation.arena.pair import Chunk, Pair, play_chunk
from trick_envs.evaluation.arena.schedule import Plan
from trick_envs.evaluation.arena.standings import Standings
from trick_envs.files import locked
from trick_envs.parallel.executor import make_executor


def play_arena(
    plan: Plan,
    folder: Path,
    workers: int = 1,
    on_progress: Callable[[int, int, Pair], None] | None = None,
    ray: str | None = None,
) -> Standings:
    """Plays the deals of a plan that a folder does not hold yet.

    Args:
        plan: from ``make_plan``.
        folder: where finished chunks are saved, and read from, and what language models are asked and answer.
        workers: number of processes; the table is the same for any number.
        on_progress: called with the number of deals that count so far, the number that may be needed, and the pair
            that has just played.
        ray: where to play with Ray (``make_executor``); the table is the same.

    Raises:
        ValueError: if the folder holds an arena with other settings.
        FolderInUseError: if another process plays an arena in the folder.
        ChildProcessError: if a process died; finished chunks are saved.
        KeyboardInterrupt: on Ctrl-C; finished chunks are saved.
    """
    with locked(folder), answers_in(folder):
        return _play(plan, folder, workers, on_progress, ray)


def _play(
    plan: Plan, folder: Path, workers: int, on_progress: Callable[[int, int, Pair], None] | None, ray: str | None
) -> Standings:
    log = Log(folder / LOG, plan)
    pairs = [Pair(plan, one, other) for one, other in plan.pairs()]
    by_ids = {pair.ids: pair for pair in pairs}
    for chunk in log.chunks:
        if chunk.players in by_ids:
            by_ids[chunk.players].add(chunk)
    playing: dict[Future[Chunk], Pair] = {}
    if not any(pair.is_open for pair in pairs):
        return Standings(plan, pairs)
    with make_executor(workers, ray) as executor:
        files = executor.share(read_policy_files(player.spec for player in plan.players))
        while any(pair.is_open for pair in pairs):
            while len(playing) < (wanted := executor.in_flight):
                waiting = [(task.first, i, task) for i, pair in enumerate(pairs) if (task := pair.next_task(wanted))]
                if not waiting:
                    break
                _, i, task = min(waiting, key=lambda entry: entry[:2])  # all pairs advance together
                pairs[i].start(task)
                playing[executor.submit(play_chunk, task, files)] = pairs[i]
            for future in wait(playing, return_when=FIRST_COMPLETED).done:
                pair, chunk = playing.pop(future), future.result()
                log.add(chunk)
                pair.add(chunk)
                if on_progress is not None:
                    total = sum(plan.deals if pair.is_open else len(pair.margins) for pair in pairs)
                    on_progress(sum(len(pair.margins) for pair in pairs), total, pair)
    return Standings(plan, pairs)
