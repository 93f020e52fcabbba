"""What one observer sees of a match: the table, and the last trick."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from trick_envs.engine.game import Game
from trick_envs.engine.state import FOLLOW, LEAD
from trick_envs.matches.match import Deal, Match
from trick_envs.view import TableView, table_view
from trick_envs.view.table import Plays

_PLAYS = (LEAD, FOLLOW)
_Found = tuple[Plays, int] | tuple[()]
_known: WeakKeyDictionary[Match, tuple[tuple[int, ...], _Found]] = WeakKeyDictionary()


def match_view(match: Match, observer: int | None = None) -> TableView:
    """What an observer sees of a match now, the last finished trick included (at first that of the deal before).

    Args:
        match: the match.
        observer: a seat, or ``None``: everything is open.

    Raises:
        ValueError: if there is no such seat.
    """
    return table_view(match.game, match.states, observer, previous_trick(match))


def previous_trick(match: Match) -> _Found:
    """The plays of the last finished trick and who took it; empty before the end of the first trick."""
    state = match.states
    now = len(match.deals), int(state["tricks"][0]), int(state["phase"][0]) in _PLAYS
    known = _known.get(match)
    if known is not None and known[0] == now:  # the same until the next trick ends
        return known[1]
    found: _Found = ()
    for deal in reversed(match.deals[-2:]):
        found = found or _last_trick(match.game, deal)
    _known[match] = now, found
    return found


def _last_trick(game: Game, deal: Deal) -> _Found:
    """The last finished trick of a deal: its last actions, played again one by one."""
    kernels, rewards, actions = game.kernels, np.zeros(game.num_players), deal.actions
    states = game.template.copy()
    states["num_deals"], states["original"] = 1, 0  # so that the last position stays
    kernels.deal_order(states, deal.order, deal.dealer)
    before = max(len(actions) - 2 * (game.num_players + 2), 0)  # two tricks have fewer actions than that
    named = np.array([kind for _, kind in actions[:before]], np.int64)
    kernels.replay_actions(states, named, 0, rewards, np.zeros(before, np.int64))
    phase, tricks, size, taking = (states[name] for name in ("phase", "tricks", "trick_size", "taking"))
    step = kernels.step_one
    found: tuple[Plays, int] = (), 0
    row: list[tuple[int, int]] = []
    for seat, kind in actions[before:]:
        number, cards = tricks[0], size[0]
        if phase[0] == LEAD and cards == 0:
            row = []
        if phase[0] in _PLAYS:
            row.append((seat, kind))
        step(states, kind, 0, rewards)
        if tricks[0] > number or size[0] == 0 < cards:
            found = tuple(row), int(taking[0])
    return found if found[0] else ()
