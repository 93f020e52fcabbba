"""The best and the worst deal of a final evaluation: where the same cards in the same seat made the most difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Agent
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.evaluation.duplicate import lineups
from trick_envs.evaluation.seeds import Purpose, match_seeds, player_seeds
from trick_envs.matches.loop import finish_match
from trick_envs.matches.match import Match
from trick_envs.matches.seating import seatings

POLICY = "policy.onnx"  # in the record's players


@dataclass(frozen=True)
class Difference:
    """A seat of a deal, played by the policy and by its opponent with the same cards.

    Attributes:
        deal: its number, from 0.
        seat: the seat.
        own: the points of the policy in this seat, the others being opponents (in team games the other team).
        theirs: the points of the opponent in this seat, the mean of the games in which the policy sits elsewhere.
    """

    deal: int
    seat: int
    own: float
    theirs: float


@dataclass(frozen=True)
class Shown:
    """A deal in the report.

    Attributes:
        difference: what was compared.
        opponent: the opponent's name.
        page: the game in which the policy sits there, as ``replay_page`` makes it.
    """

    difference: Difference
    opponent: str
    page: str


def best_and_worst(game: Game, points: npt.NDArray[np.float64]) -> tuple[Difference, Difference]:
    """The seats in which the policy scored the most and the least against its opponent with the same cards.

    Args:
        game: the game.
        points: ``(deals, L, num_players)``, from ``play_points``.
    """
    lineup = _lineup(game)
    single = points[:, : len(lineup)]  # the games of a single player among opponents
    own, theirs = (single.mean(axis=1, where=(lineup == who)[None]) for who in (0, 1))
    found = []
    for place in (np.argmax(own - theirs), np.argmin(own - theirs)):
        deal, seat = map(int, np.unravel_index(place, own.shape))
        found.append(Difference(deal, seat, float(own[deal, seat]), float(theirs[deal, seat])))
    return found[0], found[1]


def replayed(
    game: Game, difference: Difference, players: tuple[Agent, Agent], purpose: Purpose, seed: int
) -> dict[str, Any]:
    """Plays the game of a difference again: the same cards, and players with the same seeds.

    Args:
        game: the game.
        difference: from an evaluation.
        players: the policy and its opponent; their seeds are set.
        purpose, seed: of the evaluation.

    Returns:
        the record, with ``players``.
    """
    for player, player_seed in zip(players, player_seeds(purpose, seed), strict=True):
        player.seed(player_seed)
    lineup = _lineup(game)
    seats = lineup[np.flatnonzero(lineup[:, difference.seat] == 0)[0]]
    cards = int(match_seeds(purpose, seed, difference.deal, 1)[0])
    match = Match(load_game(game.name, game.num_players, 1, **game.options), cards)
    finish_match(match, {seat: players[who] for seat, who in enumerate(seats)})
    match.notes["players"] = [(POLICY, players[1].name)[who] for who in seats]
    return cast(dict[str, Any], match.record())


def _lineup(game: Game) -> npt.NDArray[np.int64]:
    """Who sits where in the games of a single player among opponents: 0 for the player."""
    return lineups(game)[: len(seatings(game))]
