"""What one observer sees of a match: the table, and the last trick."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from trick_envs.engine.game import Game
from trick_envs.engine.state import FOLLOW, KEEP, LEAD, OVER, States, copy_states
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
    return table_view(match.game, match.states, observer, previous_trick(match), names=match.names)


def previous_trick(match: Match) -> _Found:
    """The plays of the last finished trick and who took it; empty before the end of the first trick."""
    state = match.states
    now = len(match.deals), int(state["tricks"][0]), int(state["phase"][0]) in _PLAYS
    known = _known.get(match)
    if known is not None and known[0] == now:  # the same until the next trick ends
        return known[1]
    found: _Found = ()
    for number in range(len(match.deals) - 1, max(len(match.deals) - 3, -1), -1):
        found = found or _last_trick(match.game, match.deals[number], number)
    _known[match] = now, found
    return found


def ends_trick(before: States, after: States) -> bool:
    """Whether the play between two positions ended a trick; ``after`` still belongs to the same deal.

    A choice that follows the last card of a trick, such as a pick from the stock, does not.
    """
    swept = after["tricks"][0] > before["tricks"][0] or after["trick_size"][0] == 0 < before["trick_size"][0]
    return bool(before["phase"][0] in (*_PLAYS, KEEP) and (swept or after["phase"][0] == OVER))


def _last_trick(game: Game, deal: Deal, number: int) -> _Found:
    """The last finished trick of a deal: its last actions, played again one by one."""
    kernels, actions = game.kernels, deal.actions
    states = game.template.copy()
    states["deal_number"] = number  # the rules of a deal may depend on it
    kernels.deal_order(states, deal.order, deal.dealer)
    start = max(len(actions) - 2 * (game.num_players + 2), 0)  # two tricks have fewer actions than that
    for _, kind in actions[:start]:
        kernels.play_without_dealing(states, kind)
    found: tuple[Plays, int] = (), 0
    row: list[tuple[int, int]] = []
    for seat, kind in actions[start:]:
        before = copy_states(states)
        if before["phase"][0] == LEAD and before["trick_size"][0] == 0:
            row = []
        if before["phase"][0] in _PLAYS:
            row.append((seat, kind))
        kernels.play_without_dealing(states, kind)
        if ends_trick(before, states):
            found = tuple(row), int(states["taking"][0])
    return found if found[0] else ()
