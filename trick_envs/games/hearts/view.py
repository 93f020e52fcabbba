"""What only Hearts has on its table: the direction of the pass, cards passed and got, points taken, broken hearts."""

from __future__ import annotations

from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.hearts.rules import ALL_POINTS, JACK_POINTS, NO_TRICK_POINTS, PASSED, QUEEN_POINTS, TRICKS
from trick_envs.view.messages import said
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.table import TableView
from trick_envs.view.words import ScoreItem, counted

PANEL = ("right", 140)
DIRECTIONS = ("hearts.nobody", "hearts.left", "hearts.across", "hearts.right")


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Points taken by seat, the pass, and whether hearts are broken."""
    state, n = states[0], view.num_players
    hearts, queen, jack = (state[name].tolist()[:n] for name in ("hearts", "queen", "jack"))
    bonus = JACK_POINTS if game.options["jd_bonus"] else 0
    points = [h + QUEEN_POINTS * q + bonus * j for h, q, j in zip(hearts, queen, jack, strict=True)]
    to, passed, received = int(state["pass_to"]), [], []
    rows = [Row(said("hearts.pass"), said(DIRECTIONS[to]), words=f"pass: {said(DIRECTIONS[to])}")]
    if view.observer is not None:
        who, to_whom, giver = view.you(view.observer), view.you((view.observer + to) % n), (view.observer - to) % n
        if passed := _kinds(int(state["gave"][view.observer])):
            words = f"{who} passed {' '.join(map(view.card, passed))} to {to_whom}"
            rows.append(Row(said("hearts.to", name=to_whom), cards=tuple(passed), words=words))
        if to and int(state["named"]) == PASSED * n and (received := _kinds(int(state["gave"][giver]))):
            words = f"{who} got {' '.join(map(view.card, received))}"
            rows.append(Row(said("hearts.from", name=view.you(giver)), cards=tuple(received), words=words))
    broken = bool(state["broken"])
    rows.append(Row(said("hearts.hearts"), said("hearts.may_be_led" if broken else "hearts.not_yet"), strong=broken,
                    about=said("hearts.about"),
                    words="hearts may be led" if broken else ""))  # fmt: skip
    to_come = ALL_POINTS - sum(hearts) - QUEEN_POINTS * sum(queen)
    seats = tuple(
        replace(
            seat,
            note=said("hearts.one_taken" if taken == 1 else "hearts.taken", points=taken),
            facts=(Row(said("hearts.point" if taken == 1 else "hearts.points"), str(taken)),),
        )
        for seat, taken in zip(view.seats, points, strict=True)
    )
    sections = {
        "points": points, "to_come": to_come, "pass_to": to, "passed": passed, "received": received,
        "broken": broken, "hearts": hearts, "queen": queen, "jack": jack if bonus else [0] * n,
        "no_trick": [int(game.options["avoid_all_tricks_bonus"] and each == 0) for each in state["taken"].tolist()[:n]],
    }  # fmt: skip
    together = PASSED - _named(view) if view.phase == "pass" and view.acting is not None else 1
    return replace(view, seats=seats, sections=sections, rows=tuple(rows), prompt=_prompt(view, to), together=together)


why_taken = highest_of_suit  # the highest card of the led suit takes the trick


def stands(view: TableView) -> str:
    """The points taken, and those still to come."""
    if view.phase == "pass":
        return said("hearts.high_cards")
    own = view.sections["points"][view.acting or 0]
    return said("hearts.stands", points=counted(own, "point"), to_come=view.sections["to_come"])


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the hearts and the queen of spades that it has taken, the moon, and bonuses."""
    hearts, queen, jack, no_trick = (view.sections[name] for name in ("hearts", "queen", "jack", "no_trick"))
    moon = [seat for seat in range(view.num_players) if hearts[seat] == TRICKS and queen[seat]]
    found = []
    for seat in range(view.num_players):
        items = []
        if hearts[seat]:
            items.append(ScoreItem(counted(hearts[seat], "heart"), -hearts[seat]))
        if queen[seat]:
            items.append(ScoreItem(said("hearts.queen"), -QUEEN_POINTS))
        if jack[seat]:
            items.append(ScoreItem(said("hearts.jack"), -JACK_POINTS))
        if moon:
            own = seat in moon
            items.append(ScoreItem(said("hearts.moon" if own else "hearts.shot"), ALL_POINTS if own else -ALL_POINTS))
        elif no_trick[seat]:
            items.append(ScoreItem(said("hearts.no_trick"), -NO_TRICK_POINTS))
        found.append(items or [ScoreItem(said("hearts.no_points"), 0)])
    return found


def _kinds(bits: int) -> list[int]:
    """The cards of a set of one bit each."""
    return [kind for kind in range(bits.bit_length()) if bits >> kind & 1]


def _prompt(view: TableView, to: int) -> str:
    if view.phase != "pass" or view.acting is None:
        return ""
    acts, other = view.acting, (view.acting + to) % view.num_players
    named = _named(view)
    cards = said("hearts.card_of", number=named + 1, all=PASSED) if named else counted(PASSED, "card")
    return view.said_of(acts, "hearts.passes", cards=cards, direction=said(DIRECTIONS[to]), other=view.you(other))


def _named(view: TableView) -> int:
    """How many of the cards that it passes the seat to act has named."""
    return len(view.seats[view.acting or 0].places["passed"])
