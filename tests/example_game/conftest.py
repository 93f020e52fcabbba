"""Seats the example game: with ``EXAMPLE_GAME=1`` the package finds the files of this folder beside its own.

Without it nothing here is collected, and no other test meets a sixth game.
"""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent
SEATED = os.environ.get("EXAMPLE_GAME") == "1"
collect_ignore_glob = [] if SEATED else ["*"]

if SEATED:
    import trick_envs
    import trick_envs.games

    trick_envs.__path__.append(str(HERE / "trick_envs"))
    trick_envs.games.__path__.append(str(HERE / "trick_envs" / "games"))
    trick_envs._register()
