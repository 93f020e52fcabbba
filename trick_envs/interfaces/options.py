"""The arguments of the environments in which one seat learns, single or many, and those of ``reset``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import gymnasium

from trick_envs.engine.deal import BY_THE_RULES, Deal
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game_for
from trick_envs.errors import InputError, InputTypeError, shown
from trick_envs.matches.fixed_deals import read_dealer, read_deals
from trick_envs.matches.seating import Opponent

OBSERVATION_KEY = "observation"


@dataclass(frozen=True)
class SeatOptions:
    """How one seat learns, and who plays the others.

    Attributes:
        seat: where the learner sits; ``None`` draws a seat for each match.
        opponents: one player for all other seats, or a list with one for each, clockwise from the learner. A player
            is a spec (``"greedy"``, …), an ``Agent``, or a function ``(observations, action_masks) -> actions`` on
            batches. An ``Agent`` object with ``seed`` is copied: each environment has its own.
        illegal: what an illegal action does: ``"terminate"`` ends the match, and its rewards then add up to less than
            those of any honest match (``illegal_penalty.worst_total``); ``"raise"`` is an ``IllegalAction`` (a
            ``ValueError``); ``"substitute"`` plays a random legal card instead.
        reward: ``"score"``, ``"zero_sum"`` or ``"win"``.
        num_players: seats, where the rules allow a choice.
        num_deals: exact length of a match; ``None`` plays what the original plays or recommends.
        render_mode: ``None``, ``"ansi"``, ``"rgb_array"`` or, of a single game, ``"human"``.
        render_view: whose view is rendered: ``None``, the learner's, another seat's, or ``"all"``.
        mask_key, observation_key: make the observation a dict of the mask and the vector under these keys, such as
            ``"action_mask"`` and ``"observations"``; ``mask_key=None`` leaves it a vector.
        end_mask: the mask when the match is over, ``"zeros"`` or ``"ones"``. All zeros are NaN in a softmax of masked
            logits.
        observation: ``"position"``, or ``"history"``, with blocks that say when every card was played. Opponents that
            are functions get the same observations, all others those of the position.
    """

    seat: int | None = None
    opponents: Opponent | Sequence[Opponent] = "greedy"
    illegal: str = "terminate"
    reward: str = "score"
    num_players: int | None = None
    num_deals: int | None = None
    render_mode: str | None = None
    render_view: int | str | None = None
    mask_key: str | None = None
    observation_key: str = OBSERVATION_KEY
    end_mask: str = "zeros"
    observation: str = "position"

    @classmethod
    def read(
        cls, caller: str, game: str, given: Mapping[str, Any], others: Sequence[str] = ()
    ) -> tuple[Game, SeatOptions]:
        """The game and the options among keyword arguments, some of which are options of the game.

        Args:
            caller: whose arguments they are.
            game: the name of the game.
            given: the arguments.
            others: what else the caller takes.
        """
        own = cls(**{name: value for name, value in given.items() if name in SEAT_OPTIONS})
        of_game = {name: value for name, value in given.items() if name not in SEAT_OPTIONS}
        return load_game_for(caller, [*others, *SEAT_OPTIONS], game, own.num_players, own.num_deals, of_game), own


_OF_RESET = ("dealer", "deals")
SEAT_OPTIONS = tuple(each.name for each in fields(SeatOptions))


def reset_options(options: Any) -> dict[str, Any]:
    """The options of ``reset``, as a dict of its own.

    Raises:
        TypeError: if they are something else.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputTypeError(f"options: expected None or a dict, not {shown(options)}")
    return dict(options or {})


def given_deals(game: Game, options: Mapping[str, object]) -> list[Deal]:
    """The deals that ``reset(options=…)`` asks for instead of random ones.

    Raises:
        ValueError: for an invalid dealer or deal; names the wrong card.
    """
    for option in options:
        if option not in _OF_RESET:
            listed = " and ".join(map(repr, _OF_RESET))
            gymnasium.logger.warn(f"reset: option {option!r} means nothing here (the options are {listed})")
    given = read_deals(game, options.get("deals"))
    dealer = read_dealer(game, options.get("dealer"), "options['dealer']")
    if dealer == BY_THE_RULES:
        return given
    first = given[0] if given else Deal()
    if first.dealer not in (BY_THE_RULES, dealer):
        raise InputError(f"options['dealer'] is {dealer}, but options['deals'][0] is dealt by {first.dealer}")
    return [Deal(dealer, first.order), *given[1:]]
