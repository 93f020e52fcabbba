"""``trick play``: a person against players, in the terminal."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from pathlib import Path

from rich.console import Console

from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import fresh_seed
from trick_envs.files import try_to_write
from trick_envs.play.session import Session, default_player


def play_match(
    game: str | None, num_players: int | None, seat: int, opponents: str | None, seed: int | None, deals: int | None,
    record: Path | None, symbols: bool, pause: float, trust: bool = False,
) -> None:  # fmt: skip
    """Plays a match in the terminal, or as plain text if input or output is none, and saves its record.

    The arguments are those of the command; without a ``game``, the match in ``record`` goes on.
    """
    streams = sys.stdin, sys.stdout  # None where they are closed
    terminal = all(each and each.isatty() for each in streams) and os.environ.get("TERM") != "dumb"
    console = Console(markup=False, highlight=False, soft_wrap=True)
    with console.status("compiling the game; the first time takes a while") if terminal else contextlib.nullcontext():
        if game is None:
            assert record is not None
            session = Session.resume(record, trust)
        else:
            chosen = load_game(game, num_players, deals)
            stamp = time.strftime("%Y%m%d-%H%M%S")
            file = record or Path("runs") / "play" / f"{game}-{chosen.num_players}-{stamp}.json"
            try_to_write(file)
            drawn = fresh_seed() if seed is None else seed
            session = Session.start(chosen, seat, opponents or default_player(chosen), drawn, file)
        session.prepare()
    try:
        if terminal:
            from trick_envs.play.terminal.app import play_in_terminal

            play_in_terminal(session, symbols, pause)
        else:
            from trick_envs.play.terminal.plain import play_plain

            play_plain(session, sys.stdin or io.StringIO(), lambda text: print(text, flush=True))
    except BrokenPipeError:  # nobody reads on; Python would complain when it flushes what is left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        if session.begun:
            session.save()
        elif game is not None and session.file is not None:  # what the others have played alone
            session.file.unlink(missing_ok=True)
    if not session.begun:
        console.print("you have played no card, so nothing is saved")
    elif session.unsaved:
        console.print(f"not saved in {session.file}: {session.unsaved}")
    elif session.match.over:
        console.print(f"saved: {session.file}; 'trick replay {session.file}' prints it")
    else:
        console.print(f"saved: {session.file}; to go on: trick play --resume --record {session.file}")
