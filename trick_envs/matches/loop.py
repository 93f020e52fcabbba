"""The loops that play: a whole match, and many games in lock step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trick_envs.agents import Actions, Agent
from trick_envs.agents.agent import HistoryAgent, ask, checked_agent, takes_history
from trick_envs.engine.play_log import history_layout
from trick_envs.engine.positions import observe, why_illegal
from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import checked_seed
from trick_envs.errors import IllegalAction, InputTypeError, shown
from trick_envs.matches.match import Match
from trick_envs.matches.record import Record

if TYPE_CHECKING:
    from trick_envs.engine.batch import BatchEnv

NOBODY = -1


def play_match(
    game: str, agents: Mapping[int, Agent], seed: int, num_players: int | None = None, num_deals: int | None = None
) -> Record:
    """Plays a match and returns its record.

    Args:
        game: the game.
        agents: a player for every seat.
        seed: seed of the deals.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length; ``None`` plays the original's.

    Raises:
        ValueError: if a player names what is no legal card.
        TypeError: if it is no player.
    """
    match = Match(load_game(game, num_players, num_deals), checked_seed(seed))
    finish_match(match, agents)
    return match.record()


def finish_match(match: Match, agents: Mapping[int, Agent]) -> None:
    """Plays a match to its end, with a player for every seat."""
    if not isinstance(agents, Mapping):
        raise InputTypeError(f"agents: expected a dict from seats to players, not {shown(agents)}")
    for seat in range(match.game.num_players):
        checked_agent(agents.get(seat), f"player of seat {seat}", only_acts=True)
    while not match.over:
        match.step(choose_action(match, agents[match.seat]))


def choose_action(match: Match, agent: Agent | HistoryAgent) -> int:
    """The action that a player names for the seat to act.

    Raises:
        ValueError: if it is no legal card; names the player.
    """
    game, (observation, mask) = match.game, observe(match.game, match.states, match.seat)
    own, states = mask[None].copy(), match.states.copy()  # the player may change or keep them
    if not takes_history(agent):
        action = int(ask(agent, game, observation[None], own, states)[0])
    else:
        log, seen = match.log(), np.zeros((1, history_layout(game).size), np.float32)
        seen[0, : len(observation)] = observation
        row, seat = np.zeros(1, np.int64), np.array([match.seat])
        log.write(row, seat, seen)
        action = int(ask(agent, game, seen, own, states, lambda: log.plays(row, seat))[0])
    if not (0 <= action < len(mask) and mask[action]):
        raise IllegalAction(f"player {getattr(agent, 'name', agent)}: {why_illegal(game, match.states, action)}")
    return action


def choose_actions(
    games: BatchEnv, players: Sequence[Agent], who: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> Actions:
    """The players' actions in some games; each player is called once, for all games in which it is to act.

    Args:
        games: the games.
        players: who plays.
        who: ``(num_envs, num_players)``: who sits where, as an index into ``players``.
        rows: the games to choose in, ``(R,)``; in all of them one of the players is to act.

    Returns:
        ``(R,)`` actions.

    Raises:
        ValueError: if a player names what is no legal card; names the player.
    """
    turn = who[rows, games.seats[rows]]
    actions = np.zeros(len(rows), np.int64)
    for number, player in enumerate(players):
        mine = np.flatnonzero(turn == number)
        if len(mine):
            asked = rows[mine]
            seen = games.observations[asked], games.action_masks[asked], games.states[asked]
            plays = (lambda asked=asked: games.plays()[asked]) if games.knows_order else None
            named = actions[mine] = ask(player, games.game, *seen, plays)
            if (wrong := games.illegal_action(named, asked)) is not None:
                raise IllegalAction(f"player {getattr(player, 'name', player)}: {wrong[1]}")
    return actions
