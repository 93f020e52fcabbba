"""The command that serves a game in words to OpenEnv's clients."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from trick_envs.cli.base import GameOption, PlayersOption, Split, app, out


def split_seed(split: Split, task: int) -> int:
    """The seed of the match of a task; deals for training have other seeds.

    Raises:
        ValueError: if there is no such task.
    """
    from trick_envs.evaluation.seeds import match_seeds

    return int(match_seeds(split.purpose, 0, task, 1)[0])


SPLITS = {split.value: partial(split_seed, split) for split in Split}


@app.command()
def openenv(
    game: GameOption,
    opponents: Annotated[str, typer.Option("--opponents", help="Specs of the other seats, by commas.")] = "pretrained",
    num_players: PlayersOption = None,
    num_deals: Annotated[int, typer.Option("--num-deals", min=1, help="Deals of a match.")] = 1,
    bad_answers: Annotated[
        str, typer.Option("--bad-answers", help="retry, substitute or terminate; docs/language_models.md.")
    ] = "retry",
    loss: Annotated[
        str | None,
        typer.Option("--loss", help="A search, such as pretrained+rollout:64: rewards are minus what a card loses."),
    ] = None,
    sessions: Annotated[int, typer.Option("--sessions", min=1, help="How many at a time.")] = 64,
    session_timeout: Annotated[
        float, typer.Option("--session-timeout", min=1, help="Seconds until a session that does nothing is closed.")
    ] = 600.0,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = 8000,
) -> None:
    """Serve a game in words as an OpenEnv environment: docs/language_models.md."""
    from trick_envs.interfaces.openenv import make_openenv_app

    import uvicorn  # isort: skip  (what is missing is told by the module above)

    specs = opponents.split(",")
    served = make_openenv_app(
        game, SPLITS, sessions, session_timeout, opponents=specs if len(specs) > 1 else specs[0],
        num_players=num_players, num_deals=num_deals, bad_answers=bad_answers, loss=loss,
    )  # fmt: skip
    out.print(f"OpenEnv: http://{host}:{port}, {game}, {sessions} sessions", highlight=False, soft_wrap=True)
    uvicorn.run(served, host=host, port=port, log_level="warning")
