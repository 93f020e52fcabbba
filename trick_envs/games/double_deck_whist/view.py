"""What only Double-Deck German Whist has on its table: trump, the stock, two cards face up, the tricks of the teams."""

from __future__ import annotations

from dataclasses import replace

from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.games.double_deck_whist.rules import HALF, MAJORITY
from trick_envs.view.messages import said
from trick_envs.view.rows import Row
from trick_envs.view.sentences import highest_of_suit
from trick_envs.view.table import TableView
from trick_envs.view.words import ScoreItem, card_words, counted, listed, sentence, suit_name

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
        note, other = "", (seat.seat + 2) % n
        if seat.seat == open_hand or other == view.observer:
            note = said("double_deck_whist.open_hand" if seat.seat == open_hand else "double_deck_whist.partner")
        told = note or ("" if seat.seat == view.observer else said("double_deck_whist.with", name=view.you(other)))
        seats.append(replace(seat, note=note, facts=(Row(note=told),) if told else ()))
    prompt = view.prompt
    if view.phase == "pick" and view.acting is not None:
        prompt = view.said_of(view.acting, "double_deck_whist.pick")
    view = replace(view, seats=tuple(seats), sections=sections, prompt=prompt)
    return replace(view, rows=_rows(view))


def _rows(view: TableView) -> tuple[Row, ...]:
    """Trump, the two cards to be won, what is left of both halves, and the tricks that count."""
    now = view.sections
    half, left = now["half"], now["left"]
    whose = view.spoken_to if view.observer is None else view.observer
    ours = (whose or 0) % 2
    names = (said("double_deck_whist.ours"), said("double_deck_whist.theirs"))
    names = (listed(["0", "2"]), listed(["1", "3"])) if whose is None else names
    if view.spoken_to not in (None, whose):  # another seat than the person's looks on
        names = names if (view.spoken_to or 0) % 2 == ours else names[::-1]
    parts = [said("double_deck_whist.first_half"), said("double_deck_whist.second_half")]
    tricks = sentence(counted(left[half - 1], "trick"))
    about = said(
        "double_deck_whist.about", suit=suit_name(now["trump"]), stock=now["stock"], tricks=tricks,
        half=parts[half - 1], last=HALF, most=MAJORITY,
    )  # fmt: skip
    won = "tricks that count: " + ", ".join(f"{view.you(i)} and {view.you(i + 2)} {now['won'][i]}" for i in range(2))
    deals = (f"{view.you(i)} and {view.you(i + 2)} {won}" for i, won in enumerate(now["deals_won"]))
    before = f"deals won: {', '.join(deals)}" if any(now["deals_won"]) else ""
    return (
        Row(said("double_deck_whist.trump"), suit=now["trump"], strong=True, about=about,
            words=f"trump: {suit_name(now['trump'])}; {parts[half - 1]}, {counted(left[half - 1], 'trick')} left"),
        Row(said("double_deck_whist.to_be_won"), note=said("double_deck_whist.stock", count=now["stock"]),
            cards=tuple(now["upturned"]), about=about),
        *(
            Row(parts[i], said("double_deck_whist.left" if left[i] else "double_deck_whist.done", count=left[i]),
                strong=i + 1 == half, small=i + 1 != half, about=about)
            for i in range(2)
        ),
        *(
            Row(names[i], str(now["won"][team]),
                note=said("double_deck_whist.deals_won", deals=counted(now["deals_won"][team], "deal")),
                bar=(now["won"][team], MAJORITY), about=said("double_deck_whist.tricks", most=MAJORITY),
                words="" if i else won)
            for i, team in enumerate((ours, 1 - ours))
        ),
        *([Row(words=before)] if before else []),
    )  # fmt: skip


def why_taken(view: TableView) -> str:
    """The highest trump takes the trick, or without one the highest card of the led suit."""
    trump = view.sections["trump"]
    if any(view.suit_of(kind) == trump for _, kind in view.trick):
        return highest_of_suit(view, trump, said("double_deck_whist.trump"))
    return highest_of_suit(view)


def effect(before: TableView, kind: int, after: TableView) -> str:
    """Who gets the other cards of the stock; for whom a trick of the second half counts."""
    n, (one, other) = before.num_players, (*before.sections["upturned"], None, None)[:2]
    if before.phase == "pick" and before.acting is not None:
        left = card_words(before.suits, before.ranks, other if kind == one else one)
        return after.said_of((before.acting + 2) % n, "double_deck_whist.gets", card=left)
    if before.sections["half"] == 1 or after.taking is None or after.acting is not None:
        return ""
    team = after.taking % 2
    won = after.sections["won"][team]
    names = listed([after.you(team), after.you(team + 2)])
    return said("double_deck_whist.of_most", tricks=counted(won, "trick"), most=MAJORITY, team=names)


def stands(view: TableView) -> str:
    """What tricks are good for now."""
    now, team = view.sections, (view.acting or 0) % 2
    told = said("double_deck_whist.better_cards", last=HALF)
    if now["half"] == 2:
        own, others = now["won"][team], now["won"][1 - team]
        told = said("double_deck_whist.stands", own=own, most=MAJORITY, others=others)
    return said("double_deck_whist.trump_is", suit=suit_name(now["trump"])) + said("words.space") + told


def score_items(view: TableView) -> list[list[ScoreItem]]:
    """By seat: the tricks of its team in the second half."""
    found = []
    for seat in view.seats:
        won = view.sections["won"][seat.seat % 2]
        key = "double_deck_whist.item_wins" if won >= MAJORITY else "double_deck_whist.item"
        found.append([ScoreItem(said(key, tricks=counted(won, "trick")), won)])
    return found
