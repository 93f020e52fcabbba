"""What only Hearts has on its table: the direction of the pass, cards passed and got, points taken, broken hearts."""

from __future__ import annotations

from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.hearts.rules import ALL_POINTS, JACK_POINTS, NO_TRICK_POINTS, PASSED, QUEEN_POINTS, TRICKS
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.table import TableView
from trick_envs.view.words import ScoreItem, counted

PANEL = ("right", 140)
DIRECTIONS = ("nobody passes", "to the left", "across", "to the right")


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Points taken by seat, the pass, and whether hearts are broken."""
    state, n = states[0], view.num_players
    hearts, queen, jack = (state[name].tolist()[:n] for name in ("hearts", "queen", "jack"))
    bonus = JACK_POINTS if game.options["jd_bonus"] else 0
    points = [h + QUEEN_POINTS * q + bonus * j for h, q, j in zip(hearts, queen, jack, strict=True)]
    to, who = int(state["pass_to"]), "" if view.observer is None else view.you(view.observer)
    passed, received = [], []
    if view.observer is not None:
        passed = _kinds(int(state["gave"][view.observer]))
        if to and int(state["named"]) == PASSED * n:
            received = _kinds(int(state["gave"][(view.observer - to) % n]))
    rows = [Row("pass", DIRECTIONS[to], words=f"pass: {DIRECTIONS[to]}")]
    if passed:
        to_whom = view.you((view.observer + to) % n) if view.observer is not None else ""
        cards = " ".join(map(view.card, passed))
        rows.append(Row(f"to {to_whom}", cards=tuple(passed), words=f"{who} passed {cards} to {to_whom}"))
    if received:
        from_whom = view.you((view.observer - to) % n) if view.observer is not None else ""
        cards = " ".join(map(view.card, received))
        rows.append(Row(f"from {from_whom}", cards=tuple(received), words=f"{who} got {cards}"))
    broken = bool(state["broken"])
    rows.append(Row("hearts", "may be led" if broken else "not yet led", strong=broken,
                    about="Hearts may be led once a heart or the queen of spades has been played.",
                    words="hearts may be led" if broken else ""))  # fmt: skip
    to_come = ALL_POINTS - sum(hearts) - QUEEN_POINTS * sum(queen)
    words = ["point" if taken == 1 else "points" for taken in points]
    seats = tuple(
        replace(seat, note=f"{taken} {word} taken", facts=(Row(word, str(taken)),))
        for seat, taken, word in zip(view.seats, points, words, strict=True)
    )
    sections = {
        "points": points, "to_come": to_come, "pass_to": to, "passed": passed, "received": received,
        "broken": broken, "hearts": hearts, "queen": queen, "jack": jack if bonus else [0] * n,
        "no_trick": [int(game.options["avoid_all_tricks_bonus"] and each == 0) for each in state["taken"].tolist()[:n]],
    }  # fmt: skip
    together = PASSED - _named(view) if view.phase == "pass" and view.acting is not None else 1
    return replace(view, seats=seats, sections=sections, rows=tuple(rows), prompt=_prompt(view, to), together=together)


def why_taken(view: TableView) -> str:
    """The highest card of the led suit takes the trick."""
    return highest_of_suit(view)


def stands(view: TableView) -> str:
    """The points taken, and those still to come."""
    if view.phase == "pass":
        return "High cards take tricks, and with them points: the queen of spades costs 13."
    own = view.sections["points"][view.acting or 0]
    return f"You have taken {counted(own, 'point')}; {view.sections['to_come']} are still to come."


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
            items.append(ScoreItem("the queen of spades", -QUEEN_POINTS))
        if jack[seat]:
            items.append(ScoreItem("the jack of diamonds", -JACK_POINTS))
        if moon:
            own = seat in moon
            items.append(ScoreItem("the moon" if own else "somebody shot the moon", ALL_POINTS if own else -ALL_POINTS))
        elif no_trick[seat]:
            items.append(ScoreItem("no trick", -NO_TRICK_POINTS))
        found.append(items or [ScoreItem("no points", 0)])
    return found


def _kinds(bits: int) -> list[int]:
    """The cards of a set of one bit each."""
    return [kind for kind in range(bits.bit_length()) if bits >> kind & 1]


def _prompt(view: TableView, to: int) -> str:
    if view.phase != "pass" or view.acting is None:
        return ""
    acts, other = view.acting, (view.acting + to) % view.num_players
    verb = "pass" if acts == view.spoken_to else "to pass"
    named = _named(view)
    what = f"card {named + 1} of {PASSED}" if named else counted(PASSED, "card")
    return f"{view.you(acts)} {verb} {what} {DIRECTIONS[to]}, to {view.you(other)}"


def _named(view: TableView) -> int:
    """How many of the cards that it passes the seat to act has named."""
    return len(view.seats[view.acting or 0].places["passed"])
