"""Pictures of a match for the page: one after every play, and one of every finished trick."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trick_envs.engine.game import Game
from trick_envs.engine.state import FOLLOW, KEEP, LEAD, States
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import SeatView, TableView, svg
from trick_envs.view.table import suit_name

VERBS = {  # of you, of others
    "lead": ("lead", "leads"),
    "follow": ("play", "plays"),
    "pass": ("pass", "passes"),
    "keep": ("keep", "keeps"),
    "pick": ("pick", "picks"),
}
HIDDEN = ("pass",)  # phases in which a card goes from hand to hand, and only these two see it


@dataclass(frozen=True)
class Layout:
    """A way to draw a table.

    Attributes:
        width, height: in pixels.
        hand: whether the observer's own hand is in the picture, rather than beside it as buttons.
    """

    width: int
    height: int
    hand: bool


@dataclass(frozen=True)
class Snapshot:
    """What an observer sees of a match at one moment.

    Attributes:
        view: the table.
        number: how many plays there were in the match.
        told: the last play in words.
        pause: why to look at it for longer: ``"trick"`` or ``"deal"`` has just ended; else empty.
        deal_score: by seat: the points of a deal that has just ended.
    """

    view: TableView
    number: int
    told: str = ""
    pause: str = ""
    deal_score: list[int] | None = None

    def picture(self, layout: Layout) -> str:
        """The table as an SVG string."""
        return svg(self.view, layout.width, layout.height, hand=layout.hand)


def number_of_plays(match: Match) -> int:
    """How many plays there were in a match."""
    return sum(len(deal.actions) for deal in match.deals)


def look(match: Match, observer: int | None) -> Snapshot:
    """What an observer sees now."""
    return Snapshot(match_view(match, observer), number_of_plays(match))


@dataclass(frozen=True)
class End:
    """What a play has ended: a trick, and perhaps its deal.

    Attributes:
        taker: the seat that takes the trick; ``None`` if the play was none of a trick.
        deal_score: by seat, if the deal has ended.
    """

    taker: int | None
    deal_score: list[int] | None

    def shot(self, before: TableView, action: int, number: int, told: str) -> Snapshot:
        """What there is to see of it.

        Args:
            before: the view before the play.
            action: the card that was named.
            number: how many plays there were, with this one.
            told: the play in words.
        """
        pause = "trick" if self.deal_score is None else "deal"
        if self.taker is None:
            return Snapshot(replace(before, acting=None, legal=(), prompt=told), number, told, pause, self.deal_score)
        view = finished_trick(before, action, self.taker)
        return Snapshot(view, number, f"{told}. {sentence(view.prompt)}", pause, self.deal_score)


def advance(match: Match, action: int) -> End | None:
    """Plays an action; returns what it has ended, if anything."""
    deals, before = len(match.deals), match.states.copy()
    match.step(action)
    score = match.deals[deals - 1].score
    ended = score is not None
    after = _last_position(match.game, before.copy(), action) if ended else match.states
    swept = after["tricks"][0] > before["tricks"][0] or after["trick_size"][0] == 0 < before["trick_size"][0]
    if before["phase"][0] in (LEAD, FOLLOW, KEEP) and (swept or ended):
        return End(int(after["taking"][0]), score)
    return End(None, score) if ended else None


def _last_position(game: Game, states: States, action: int) -> States:
    """The records after an action that ends the deal, before the next one is dealt."""
    states["num_deals"], states["original"] = states["deal_number"] + 1, 0  # a match that ends here
    game.kernels.step_one(states, action, 0, np.zeros(game.num_players))
    return states


def play(match: Match, action: int, observer: int | None, before: TableView | None = None) -> Snapshot:
    """Plays an action; returns what an observer sees of it: the position after it, or the trick that it has ended.

    Args:
        match: the match.
        action: the card that is named.
        observer: who looks on.
        before: the view before the play, if it is known.
    """
    before = before or match_view(match, observer)
    told = tell_play(before, action)
    end = advance(match, action)
    number = number_of_plays(match)
    return (
        Snapshot(match_view(match, observer), number, told) if end is None else end.shot(before, action, number, told)
    )


def finished_trick(before: TableView, action: int, taker: int) -> TableView:
    """A trick with its last card on the table, from the view before that card, or before a choice between its cards."""
    assert before.acting is not None
    seats, trick, who = list(before.seats), before.trick, before.you(taker)
    if before.phase != "keep":
        seats[before.acting] = _without(seats[before.acting], action)
        trick = (*trick, (before.acting, action))
    return replace(
        before,
        seats=tuple(seats),
        trick=trick,
        led=before.acting if before.led is None else before.led,
        taking=taker,
        acting=None,
        legal=(),
        prompt=f"{who} {'take' if who == 'you' else 'takes'} the trick",
    )


def _without(seat: SeatView, card: int) -> SeatView:
    """A seat without a card that it has played: one seen in its hand or before it, else a hidden one."""
    for gone in (card, None):
        for name, held in (("hand", seat.hand), *seat.places.items()):
            if gone in held:
                left = (*held[: held.index(gone)], *held[held.index(gone) + 1 :])
                return replace(seat, **({"hand": left} if name == "hand" else {"places": {**seat.places, name: left}}))
    return seat


# --- words ----------------------------------------------------------------------------------------------------------


def card_words(suits: str, ranks: tuple[str, ...], kind: int) -> str:
    """A card as one says it: ``4 yellow``."""
    return f"{ranks[kind % len(ranks)]} {suit_name(suits[kind // len(ranks)])}"


def tell_play(view: TableView, action: int) -> str:
    """A play in words, as the observer may hear it, from the view before it."""
    assert view.acting is not None
    who, (yours, theirs) = view.you(view.acting), VERBS[view.phase]
    shown = view.phase not in HIDDEN or view.observer in (None, view.acting)
    card = card_words(view.suits, view.ranks, action) if shown else "a card"
    return sentence(f"{who} {yours if who == 'you' else theirs} {card}")


def sentence(text: str) -> str:
    """With a capital letter; names such as player_1 stay as they are."""
    return text if "_" in text.partition(" ")[0] else text[:1].upper() + text[1:]
