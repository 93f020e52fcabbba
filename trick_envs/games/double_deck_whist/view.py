"""What only Double-Deck German Whist has on its table: trump, the stock, two cards face up, the tricks of the teams."""

from __future__ import annotations

from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.double_deck_whist.rules import HALF, MAJORITY
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.words import ScoreItem, card_words, counted, sentence, suit_name

PANEL = ("right", 160)


def refine(view: TableView, game: Game, states: States) -> TableView:
    """Trump, the half, the tricks that count; while the winner picks, the trick still lies on the table."""
    state, n = states[0], view.num_players
    trump, won = view.suits[int(state["trump"])], state["won"].tolist()
    tricks = int(state["tricks"])
    if view.phase == "pick":
        seats, cards = state["trick_seat"].tolist()[:n], state["trick"].tolist()[:n]
        trick = tuple((seat, game.deck.kind(card)) for seat, card in zip(seats, cards, strict=True))
        view = replace(view, trick=trick, led=trick[0][0], taking=int(state["taking"]))
    half = 1 if tricks < HALF else 2
    sections = {
        "trump": trump, "half": half, "left": [max(HALF - tricks, 0), min(2 * HALF - tricks, HALF)], "won": won,
        "deals_won": state["deals_won"].tolist(), "upturned": list(view.places["upturned"]),
        "stock": len(view.places["stock"]),
    }  # fmt: skip
    open_hand = None if view.observer is None else (view.observer - 1) % n
    seats = []
    for seat in view.seats:
        note = "open hand" if seat.seat == open_hand else "partner" if _partner(view, seat) else ""
        told = note or ("" if seat.seat == view.observer else f"with {view.you((seat.seat + 2) % n)}")
        seats.append(replace(seat, note=note, facts=(Row(note=told),) if told else ()))
    prompt = view.prompt
    if view.phase == "pick" and view.acting is not None:
        yours = view.acting == view.spoken_to
        prompt = f"{view.you(view.acting)} {'pick' if yours else 'to pick'} one of the two cards that lie face up"
    view = replace(view, seats=tuple(seats), sections=sections, prompt=prompt)
    return replace(view, rows=_rows(view))


def _rows(view: TableView) -> tuple[Row, ...]:
    """Trump, the two cards to be won, what is left of both halves, and the tricks that count."""
    now = view.sections
    half, left = now["half"], now["left"]
    whose = view.spoken_to if view.observer is None else view.observer
    ours = (whose or 0) % 2
    names = ("0 and 2", "1 and 3") if whose is None else ("you two", "they")
    if view.spoken_to not in (None, whose):  # another seat than the person's looks on
        names = names if (view.spoken_to or 0) % 2 == ours else names[::-1]
    about = (
        f"Trump is {suit_name(now['trump'])}; {now['stock']} cards are left in the stock. "
        f"{sentence(counted(left[half - 1], 'trick'))} left in the {('first', 'second')[half - 1]} half. "
        f"Of the last {HALF} tricks {MAJORITY} win the deal; three deals win the match."
    )
    won = "tricks that count: " + ", ".join(f"{view.you(i)} and {view.you(i + 2)} {now['won'][i]}" for i in range(2))
    deals = (f"{view.you(i)} and {view.you(i + 2)} {won}" for i, won in enumerate(now["deals_won"]))
    before = f"deals won: {', '.join(deals)}" if any(now["deals_won"]) else ""
    parts = ["first half", "second half"]
    return (
        Row("trump", suit=now["trump"], strong=True, about=about,
            words=f"trump: {suit_name(now['trump'])}; {parts[half - 1]}, {counted(left[half - 1], 'trick')} left"),
        Row("to be won", note=f"stock {now['stock']}", cards=tuple(now["upturned"]), about=about),
        *(
            Row(parts[i], f"{left[i]} left" if left[i] else "done", strong=i + 1 == half, small=i + 1 != half,
                about=about)
            for i in range(2)
        ),
        *(
            Row(names[i], str(now["won"][team]), note=f"{counted(now['deals_won'][team], 'deal')} won",
                bar=(now["won"][team], MAJORITY), about=f"Tricks of the second half: {MAJORITY} win the deal.",
                words="" if i else won)
            for i, team in enumerate((ours, 1 - ours))
        ),
        *([Row(words=before)] if before else []),
    )  # fmt: skip


def why_taken(view: TableView) -> str:
    """The highest trump takes the trick, or without one the highest card of the led suit."""
    trump = view.sections["trump"]
    return highest_of_suit(view, trump, "trump") if _has(view, trump) else highest_of_suit(view)


def _has(view: TableView, letter: str) -> bool:
    """Whether a card of this suit lies in the trick."""
    return any(view.suit_of(kind) == letter for _, kind in view.trick)


def effect(before: TableView, kind: int, after: TableView) -> str:
    """Who gets the other cards of the stock; for whom a trick of the second half counts."""
    n, (one, other) = before.num_players, (*before.sections["upturned"], None, None)[:2]
    if before.phase == "pick" and before.acting is not None:
        left = card_words(before.suits, before.ranks, other if kind == one else one)
        return f"{after.verb((before.acting + 2) % n, 'get')} {left}, the others draw a card each"
    if before.sections["half"] == 1 or after.taking is None or after.acting is not None:
        return ""
    team = after.taking % 2
    won = after.sections["won"][team]
    return f"{counted(won, 'trick')} of {MAJORITY} for {after.you(team)} and {after.you(team + 2)}"


def stands(view: TableView) -> str:
    """What tricks are good for now."""
    now, team = view.sections, (view.acting or 0) % 2
    trump = f"Trump: {suit_name(now['trump'])}."
    if now["half"] == 1:
        return f"{trump} Tricks win better cards now; only the last {HALF} will count."
    own, others = now["won"][team], now["won"][1 - team]
    return f"{trump} You two have {own} of the {MAJORITY} tricks that win the deal, they {others}."


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the tricks of its team in the second half."""
    found = []
    for seat in view.seats:
        won = view.sections["won"][seat.seat % 2]
        wins = ", which win the deal" if won >= MAJORITY else ""
        found.append([ScoreItem(f"{counted(won, 'trick')} of the second half{wins}", won)])
    return found


def _partner(view: TableView, seat: SeatView) -> bool:
    return view.observer is not None and (seat.seat - view.observer) % 4 == 2
