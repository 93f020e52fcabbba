"""Matches played before the first release, kept as files: the same seed still gives the same match, to the bit.

``tests/golden/GAME.json`` holds, for every number of players, the whole record of a match and digests of what every
interface showed on the way. ``python tests/test_golden.py`` writes the files anew, which is right only after a change
that is meant to alter matches or observations (and then their version changes, too).
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import marks_of

import trick_envs

FOLDER = Path(__file__).parent / "golden"
TABLES = {
    "pepper": [{"num_players": n} for n in range(3, 10)] + [{"num_players": 5, "lead_peppers": True}],
    "donguri": [{"num_players": n} for n in (3, 4, 5)],
    "zaraba22": [{}],
    "double_deck_whist": [{}],
    "tricky_express": [{}],
    "hearts": [{}, {"jd_bonus": True, "avoid_all_tricks_bonus": True, "can_lead_any_club": True}],
}
CASES = [
    pytest.param(game, number, marks=marks_of(game, options.get("num_players")), id=f"{game}-{number}")
    for game, tables in TABLES.items()
    for number, options in enumerate(tables)
]
SEED = 20_261


class Digest:
    """Of arrays, one after the other."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *arrays: Any) -> None:
        for array in arrays:
            self._hash.update(np.ascontiguousarray(array).tobytes())

    def __str__(self) -> str:
        return self._hash.hexdigest()[:24]


def choose(mask: Any, count: int) -> int:
    """A legal action that depends on nothing but the mask and how many were chosen before."""
    legal = np.flatnonzero(mask)
    return int(legal[(count * 2654435761 >> 8) % len(legal)])


def aec_match(game: str, reward: str, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The record of a match through ``env()``, and a digest of all that every seat and ``state()`` showed."""
    env = importlib.import_module(f"trick_envs.{game}_v0").env(reward=reward, **options)
    env.reset(seed=SEED)
    digest, count = Digest(), 0
    for agent in env.agent_iter():
        observation, paid, over, _, _ = env.last()
        digest.add(np.float64(paid), env.state())
        for other in env.possible_agents:
            seen = env.observe(other)
            digest.add(seen["observation"], seen["action_mask"])
        env.step(None if over else choose(observation["action_mask"], count))
        count += 1  # noqa: SIM113
        assert agent in env.possible_agents
    return env.unwrapped.record(), str(digest)


def seat_matches(game: str, options: dict[str, Any]) -> str:
    """Three matches of one learner among greedy players."""
    name = "".join(part.capitalize() for part in game.split("_"))
    env = gymnasium.make(f"trick_envs/{name}-v0", opponents="greedy", **options)
    digest = Digest()
    for match in range(3):
        seen, info = env.reset(seed=SEED if match == 0 else None)
        over, count = False, 0
        while not over:
            digest.add(seen, info["action_mask"])
            seen, reward, over, _, info = env.step(choose(info["action_mask"], count))
            digest.add(np.float64(reward))
            count += 1
    return str(digest)


def vector_steps(game: str, options: dict[str, Any]) -> str:
    """150 steps of 16 learners among random players."""
    name = "".join(part.capitalize() for part in game.split("_"))
    envs = gymnasium.make_vec(
        f"trick_envs/{name}-v0", num_envs=16, vectorization_mode="vector_entry_point", opponents="random", **options
    )
    digest = Digest()
    seen, infos = envs.reset(seed=SEED)
    over = np.zeros(16, bool)
    for count in range(150):
        masks = infos["action_mask"]
        actions = [0 if over[i] else choose(masks[i], count + i) for i in range(16)]
        seen, rewards, over, _, infos = envs.step(np.array(actions))
        digest.add(seen, rewards, over, infos["action_mask"])
    return str(digest)


def batch_steps(game: str, options: dict[str, Any]) -> str:
    """400 plays in 32 games, match after match."""
    games = trick_envs.BatchEnv(game, 32, **options)
    games.reset(seed=SEED)
    digest = Digest()
    for count in range(400):
        actions = [choose(games.action_masks[i], count + i) for i in range(32)]
        rewards, terminated = games.step(np.array(actions))
        digest.add(games.observations, games.action_masks, games.seats, rewards, terminated)
    return str(digest)


def golden(game: str, number: int) -> dict[str, Any]:
    options = TABLES[game][number]
    record, shown = aec_match(game, "score", options)
    return {
        "options": options,
        "record": record,
        "shown": shown,
        "zero_sum": aec_match(game, "zero_sum", options)[1],
        "win": aec_match(game, "win", options)[1],
        "seat": seat_matches(game, options),
        "vector": vector_steps(game, options),
        "batch": batch_steps(game, options),
    }


@pytest.mark.parametrize(("game", "number"), CASES)
def test_the_same_seed_still_gives_the_same_match(game: str, number: int) -> None:
    kept = json.loads((FOLDER / f"{game}.json").read_text(encoding="utf-8"))
    assert golden(game, number) == kept[number]


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for game, tables in TABLES.items():
        found = [golden(game, number) for number in range(len(tables))]
        (FOLDER / f"{game}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
