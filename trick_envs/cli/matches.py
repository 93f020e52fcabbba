"""Commands for single matches: ``simulate``, ``play``, ``replay`` and ``serve``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trick_envs.cli.base import GameOption, JsonOption, PlayersOption, app, out, output_file
from trick_envs.errors import InputError, shown


@app.command()
def simulate(
    game: GameOption,
    num_players: PlayersOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the cards and of the players.")] = 0,
    num_deals: Annotated[int, typer.Option("--num-deals", min=1, help="Number of deals.")] = 1,
    players: Annotated[
        str, typer.Option("--players", help="The players: one spec for all, or one per seat, separated by commas.")
    ] = "greedy",
    file: Annotated[Path | None, output_file("--file", "For the record; it is printed by default.")] = None,
) -> None:
    """Play a match and write its record."""
    from trick_envs.agents import make_agent
    from trick_envs.engine.registry import load_game
    from trick_envs.engine.rng import MAX_SEED
    from trick_envs.files import write_json
    from trick_envs.matches.loop import play_match

    loaded = load_game(game, num_players, num_deals)
    specs = players.split(",")
    if len(specs) not in (1, loaded.num_players):
        raise InputError(f"--players: expected 1 spec, or {loaded.num_players} separated by commas, not {len(specs)}")
    seats = {
        seat: make_agent(specs[seat % len(specs)], loaded, (seed + seat) % (MAX_SEED + 1))
        for seat in range(loaded.num_players)
    }
    record = play_match(game, seats, seed, loaded.num_players, num_deals)
    record["players"] = [specs[seat % len(specs)] for seat in range(loaded.num_players)]
    if file is None:
        print(json.dumps(record))
    else:
        write_json(file, record)


@app.command()
def play(
    game: Annotated[str | None, typer.Argument(help="The game, such as pepper.")] = None,
    num_players: PlayersOption = None,
    seat: Annotated[int, typer.Option("--seat", min=0, help="Your seat.")] = 0,
    opponents: Annotated[
        str | None,
        typer.Option(
            "--opponents",
            help="One spec for all, or one for each, separated by commas, clockwise from your left; pretrained by "
            "default, or a search where there is no trained policy.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the deals; random by default.")] = None,
    num_deals: Annotated[
        int | None, typer.Option("--num-deals", min=1, help="Number of deals; default: the game's.")
    ] = None,
    record: Annotated[
        Path | None, output_file("--record", "For the record; a new file in runs/play by default.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the match of --record.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="With --resume: let the players be programs or Python functions.")
    ] = False,
    pause: Annotated[float, typer.Option("--pause", min=0.0, help="Seconds for which a finished trick stays.")] = 2.0,
    symbols: Annotated[bool, typer.Option("--symbols/--letters", help="How suits are written.")] = False,
) -> None:
    """Play a match in the terminal; as plain text if input or output is a file or a pipe."""
    from trick_envs.play.terminal import play_match

    if not resume and game is None:
        raise InputError("name a game, such as pepper (or --resume with a --record)")
    if resume and game is not None:
        raise InputError(f"--resume goes on with the game of the record: leave out {game!r}")
    if resume and (record is None or any(given is not None for given in (num_players, opponents, seed, num_deals))):
        raise InputError("--resume needs the --record of a match, which goes on with its own players and deals")
    play_match(game, num_players, seat, opponents, seed, num_deals, record, symbols, pause, trust)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A match record, as written by trick simulate.")],
    html: Annotated[Path | None, output_file("--html", "Write a page with every step to this file instead.")] = None,
    language: Annotated[
        str, typer.Option("--language", help="Of the page of --html, in two letters, such as ja.")
    ] = "en",
) -> None:
    """Print a match from its record, trick by trick, after checking every action; or make a page of it."""
    from trick_envs.files import read_json
    from trick_envs.matches.transcript import narrate
    from trick_envs.view.messages import languages, speaking

    if language not in languages():
        raise InputError(f"--language: expected {' or '.join(languages())}, not {shown(language)}")
    record = read_json(file)
    if html is None:
        print(narrate(record))
        return
    from trick_envs.cli.progress import progress_bar
    from trick_envs.files import write_text
    from trick_envs.play.web.export import replay_page

    with progress_bar(out, transient=True) as bar, speaking(language):
        task = bar.add_task("steps", total=None, note="")
        page = replay_page(record, lambda done, total: bar.update(task, completed=done, total=total))
    write_text(html, page)
    out.print(f"written: {html}", highlight=False, soft_wrap=True)


@app.command()
def review(
    file: Annotated[Path, typer.Argument(help="A match record, as written by trick play or trick simulate.")],
    seat: Annotated[
        int | None, typer.Option("--seat", min=0, help="Whose plays are told; the person's by default, or all.")
    ] = None,
    worlds: Annotated[
        int, typer.Option("--worlds", min=8, help="How many worlds to sample for the second comparison of a play.")
    ] = 256,
    json_file: JsonOption = None,
) -> None:
    """Judge every play of a match: what it has cost, which were mistakes, and who has played how well."""
    from trick_envs.agents.search import MAX_EFFORT
    from trick_envs.cli.progress import progress_bar
    from trick_envs.engine.arguments import whole_number
    from trick_envs.files import read_json, write_json
    from trick_envs.matches.replay import replay as replayed
    from trick_envs.matches.seating import checked_seat
    from trick_envs.play.characters import PERSON
    from trick_envs.play.review import review as judge
    from trick_envs.play.review import review_told

    whole_number(worlds, 8, MAX_EFFORT, "--worlds")
    record = read_json(file)
    match = replayed(record)
    if seat is not None:
        checked_seat(seat, match.game, "--seat")
    players = record.get("players")
    if seat is None and isinstance(players, list) and players.count(PERSON) == 1:
        seat = players.index(PERSON)
    with progress_bar(out, transient=True) as bar:
        task = bar.add_task("plays", total=None, note="")
        found = judge(match, lambda done, total: bar.update(task, completed=done, total=total), again=worlds)
    print(review_told(found, seat))
    if json_file is not None:
        write_json(json_file, found.as_dict())


@app.command()
def serve(
    game: Annotated[str | None, typer.Option("--game", help="The game that is dealt at once.")] = None,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; others can play too if it is not a loopback address.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")] = 8000,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    folder: Annotated[  # where nothing can be written, games are played all the same
        Path | None, typer.Option("--folder", help="Where games are saved; by default in the user's data folder.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host", help="A further name to answer to: of a tunnel or a proxy in front. Repeatable."
        ),
    ] = None,
    opponent: Annotated[
        list[Path] | None,
        typer.Option("--opponent", help="A policy file that the page offers as an opponent in its game. Repeatable."),
    ] = None,
) -> None:
    """Play and look at replays in the browser."""
    from trick_envs.play.web import serve as run_server

    def tell(text: str) -> None:
        more = "  (Ctrl-C stops the server)" if text.startswith("http") else ""
        out.print(f"{text}{more}", highlight=False, soft_wrap=True)

    run_server(game, host, port, not no_browser, folder, tell, allowed_host or (), opponent or ())
