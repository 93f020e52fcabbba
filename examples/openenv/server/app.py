"""The server that openenv.yaml and the Dockerfile name: GAME and OPPONENTS in the environment say what is played."""

import os

import uvicorn

from trick_envs.cli.openenv import SPLITS
from trick_envs.interfaces.openenv import make_openenv_app

GAME, OPPONENTS = os.environ.get("GAME", "pepper"), os.environ.get("OPPONENTS", "pretrained")
app = make_openenv_app(GAME, SPLITS, num_deals=1, opponents=OPPONENTS)


def main(host: str = "0.0.0.0", port: int = 8000) -> None:
    """Serves it."""
    uvicorn.run(app, host=host, port=port)


if __name__ == "__main__":
    main()
