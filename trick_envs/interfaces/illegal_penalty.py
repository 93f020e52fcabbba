"""What an illegal action costs a learner, where it ends the match: as much as the worst match."""

from __future__ import annotations

from functools import cache

import numpy as np

from trick_envs.engine.arguments import reward_mode
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game, checked_game

_DEALS = 1024  # sampled
_MARGIN = 2  # twice the worst of them is worse than any that people or programs play


def worst_total(game: Game, reward: str) -> float:
    """A bound that the rewards of a seat, added up over a match, do not fall below in honest play.

    With ``"win"`` it is -1. Else it is twice the worst deal of any seat in some thousand deals between random and
    greedy players, but not more than 0, times the deals of a match (the most that there can be). The deals are always
    the same ones, so this is a constant of a game with its settings.

    Raises:
        ValueError: if there is no such reward.
        TypeError: if ``game`` is no game.
    """
    reward_mode(reward)
    return -1.0 if reward == "win" else _twice_the_worst(checked_game(game), reward)


@cache
def _twice_the_worst(game: Game, reward: str) -> float:
    deals = BatchEnv(game.name, _DEALS, game.num_players, num_deals=1, reward=reward, **game.options)
    deals.reset(seed=0)
    streams, lucky, clever = np.arange(_DEALS, dtype=np.uint64), np.zeros(_DEALS, np.int64), np.zeros(_DEALS, np.int64)
    worst, ended, among_greedy = 0.0, np.zeros(_DEALS, np.bool_), np.arange(_DEALS) % 2 == 0
    while not ended.all():
        game.kernels.random_actions(deals.action_masks, streams, lucky)
        game.kernels.greedy_actions(deals.states, clever)
        rewards, terminated = deals.step(np.where(among_greedy & (deals.seats > 0), clever, lucky))
        worst, ended = min(worst, float(rewards.min())), ended | terminated
    return _MARGIN * worst * int(game.template["num_deals"][0])


def illegal_warning() -> str:
    """What a learner is told once, when an illegal action of it ends a match."""
    return (
        'an illegal action ended the match, and its rewards now add up to those of the worst one: info["action_mask"] '
        "marks the legal actions (action_masks() for sb3-contrib, mask_key=… for a mask in the observation)"
    )
