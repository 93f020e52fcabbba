"""A game and its positions in words, for a reader without eyes: rules, what a seat knows, and how to answer.

Cards are written as ``Deck.parse`` takes them: ``10B`` is the 10 of blue. Seats are ``P0``, ``P1`` and so on. All is
ASCII, so that tokenizers know it, and short.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import numpy as np

from trick_envs.engine.cards import members
from trick_envs.engine.game import Game, checked_game, checked_states
from trick_envs.engine.history import DEAL, HIDDEN_CARD, MIDDLE, SEE, Events
from trick_envs.engine.registry import load_game
from trick_envs.engine.state import FOLLOW, LEAD, OVER, PASS, PHASES, PICK, States
from trick_envs.errors import InputError, checked, shown
from trick_envs.view.guide import Guide, guide_of, rule_words
from trick_envs.view.look import table_view
from trick_envs.view.table import Kinds, SeatView, TableView
from trick_envs.view.words import card_words, counted, listed, place_words, signed, suit_name

MOST_WORDS = 800  # of the rules
MOST_TOKENS = 600  # of a position, late in a deal
HOW_TO_ANSWER = "Answer with one card in a tag, such as <play>{card}</play>."
_SIGNS = str.maketrans({"−": "-", "–": "-", "…": "...", "×": "x", "’": "'"})
_PIECE = re.compile(r"[JQ](?=[A-Z])|[A-Za-z]+|\d{1,3}|\s+|[^\sA-Za-z\d]+")
_SPACE_BEFORE_WORD = re.compile(r"(?<!\s) (?=[A-Za-z])")


# --- the rules ------------------------------------------------------------------------------------------------------


def rules_text(game: Game | str) -> str:
    """The rules as a player needs them, in at most 800 words: goal, cards, play, scoring with an example, answers.

    Args:
        game: the game, or its name: then at its usual number of players.
    """
    game = load_game(game) if isinstance(game, str) else checked_game(game)
    guide = guide_of(game.name)
    head = [f"You play {game.title}.", *([f"The goal: {guide.goal}"] if guide else [])]
    tail = ["", "Answers", _how_to_write(game)]
    if guide is None:
        docstring = inspect.getdoc(game.type.modules[0]) or ""
        room = MOST_WORDS - _words("\n".join([*head, _facts(game), *tail]))
        return plain("\n".join([*head, _facts(game), "", "Rules", _first_words(docstring, room), *tail]))
    rules = []
    for rule in guide.rules:
        words = rule_words(guide, rule)
        rules.append(f"- {rule.title}: {rule.text}" + (f" (Shown: {words}.)" if words else ""))
    example = f"Example: {guide.example.text} {_example(guide)}."
    usual = guide.learn["players"]
    note = f" (told for {usual} players; the table above says what differs)" if usual != game.num_players else ""
    whole = "\n".join([*head, _facts(game), "", f"Rules{note}", *rules, "", "Scoring", example, *tail])
    if _words(whole) > MOST_WORDS:  # pictures repeat what the words say
        whole = re.sub(r" \(Shown: [^\n]*\)(?=\n)", "", whole)
    return plain(whole)


def _example(guide: Guide) -> str:
    """The parts of the example with their points: ``three hearts: -3 (4 hearts, 9 hearts and J hearts); …``."""
    parts = []
    for group, points in zip(guide.example.picture, guide.points, strict=True):
        cards = [card_words(guide.deck.suits, guide.deck.ranks, kind) for kind, _ in group.cards if kind is not None]
        picture = f" ({listed(cards)})" if cards else f" ({' '.join(map(str, group.line))})" if group.line else ""
        parts.append(f"{group.label.rpartition(':')[0] or group.label}: {signed(points)}{picture}")
    return "; ".join(parts)


def _facts(game: Game) -> str:
    """The table: players, deck, hands, deals, options."""
    deck, template = game.deck, game.template[0]
    suits = listed([suit_name(suit) for suit in deck.suits])
    ranks = " ".join(deck.ranks)
    copies = "every card twice" if deck.copies == 2 else "every card once"
    rest = deck.size - game.num_players * game.hand_size
    deals, exact = int(template["num_deals"]), game.num_deals is not None or not int(template["original"])
    parts = [
        f"{game.num_players} players, P0 to P{game.num_players - 1} clockwise"
        + ("; P0 and P2 play against P1 and P3" if game.type.teams else ""),
        f"cards: {suits}, each with the ranks {ranks} (weakest first), {copies}: {deck.size} cards",
        f"{game.hand_size} cards to each hand" + (f", {rest} to the stock" if rest else ""),
        f"a match has {'' if exact else 'at most '}{counted(deals, 'deal')}",
    ]
    options = [f"{name}={value}" for name, value in game.options.items() if value != game.type.options[name]]
    parts += [f"options: {', '.join(options)}"] if options else []
    return f"The table: {'; '.join(parts)}."


def _how_to_write(game: Game) -> str:
    deck = game.deck
    card = deck.names[-1]
    suits = ", ".join(f"{letter} {suit_name(letter)}" for letter in deck.suits)
    return (
        f"A card is written rank first, then the letter of its suit ({suits}): {card} is "
        f"{card_words(deck.suits, deck.ranks, deck.kinds - 1)}. Every decision names one card, of those said to be "
        f"legal. {HOW_TO_ANSWER.format(card=card)} Only the last such card counts."
    )


def _first_words(text: str, room: int) -> str:
    """Whole paragraphs of a text, as many as have room; of the first one at least what has room."""
    kept: list[str] = []
    for paragraph in text.split("\n\n"):
        if _words("\n\n".join([*kept, paragraph])) > room:
            break
        kept.append(paragraph)
    return "\n\n".join(kept) or " ".join(text.split()[:room])


def _words(text: str) -> int:
    return len(text.split())


def plain(text: str) -> str:
    """A text in ASCII."""
    return text.translate(_SIGNS).encode("ascii", "replace").decode()


# --- a position -----------------------------------------------------------------------------------------------------


def position_text(game: Game, states: States, seat: int | None = None, events: Events | None = None) -> str:
    """What a seat knows of ``states[0]``, and what is asked of it.

    With ``events`` this is perfect recall of the deal in the order of play; of the deals before, it says the points.
    Two positions that the seat cannot tell apart give equal texts, all others different ones. A text that would be
    longer than ``MOST_TOKENS`` says less of what follows from the order of play: not which suits a seat is out of, then
    not how it stands.

    Args:
        game: the game.
        states: the position, a record.
        seat: who looks on; ``None``: the seat to act.
        events: what the seat has seen, ``(T, 4)``: ``env.unwrapped.history(seat)``, or the plays alone,
            ``BatchEnv.plays()[i]``; ``None``: the order is not known, and the text says who has played what.

    Raises:
        ValueError: if there is no such seat, or the record is of another game.
    """
    states = checked_states(checked_game(game), states, least=1)
    if events is not None and not (isinstance(events, np.ndarray) and events.shape[1:] == (4,)):
        raise InputError(f"events: expected plays, shape (T, 4), such as env.unwrapped.history(), not {shown(events)}")
    observer = int(states["seat"][0]) if seat is None else seat
    view = table_view(game, states, observer, names=[f"P{each}" for each in range(game.num_players)])
    for detail in (2, 1, 0) if events is not None else (2,):
        text = plain("\n".join(_position(game, view, states, events, detail)))
        if estimated_tokens(text) <= MOST_TOKENS:
            break
    return text


def _position(game: Game, view: TableView, states: States, events: Events | None, detail: int) -> Iterator[str]:
    """The lines of a position: where it stands, what was played, the seats, what only this game has, the question."""
    title = f"{view.title}, deal" if detail else "Deal"
    where = f"{title} {view.deal} of {view.num_deals}, trick {view.trick_number}"
    yield f"{where}. You are P{view.observer}; P{int(states['dealer'][0])} dealt."
    if detail:
        yield "Suits: " + ", ".join(f"{letter} {suit_name(letter)}" for letter in view.suits)
    if events is None:
        yield from _played(game, view, states)
    else:
        yield from _order_of_play(game, view, events, int(states["deal_number"][0]), "P" if detail else "")
    for seat in view.seats:
        yield _seat(game, view, states, seat, detail)
    for name, held in view.places.items():
        if held:
            yield f"{_name(name)}: {_cards(view, held)}"
    yield from view.lines
    yield f"Phase {view.phase}: {view.prompt}."
    if view.legal:
        yield f"Legal: {' '.join(view.card(kind) for kind in view.legal)}"
        yield "Answer <play>CARD</play>"


def _name(place: str) -> str:
    return place_words(place).capitalize()


def _seat(game: Game, view: TableView, states: States, seat: SeatView, detail: int) -> str:
    """What is known of a seat: points, cards; with more detail how it stands, and its voids."""
    suits = game.deck.suits
    void = [suit for k, suit in enumerate(suits) if states["void"][0][seat.seat * len(suits) + k]]
    parts = [f"{signed(seat.score)}{' points' if detail else ''}", _cards(view, seat.hand) or "no cards"]
    parts += [f"{_name(name).lower()} {_cards(view, held)}" for name, held in seat.places.items() if held]
    parts += [seat.note] if seat.note and detail >= 1 else []
    parts += [f"out of {' '.join(void)}"] if void and detail >= 2 else []
    return f"{_who(view, seat.seat).capitalize()}: {'; '.join(parts)}"


def _who(view: TableView, seat: int) -> str:
    return "you" if seat == view.observer else f"P{seat}"


def _cards(view: TableView, held: Kinds) -> str:
    known = [view.card(kind) for kind in held if kind is not None]
    hidden = len(held) - len(known)
    return " ".join([*known, *([f"{'+ ' if known else ''}{hidden} hidden"] if hidden else [])])


def _played(game: Game, view: TableView, states: States) -> list[str]:
    """Where the order is not known: who has played what, and who has taken what."""
    lines = []
    for seat in view.seats:
        gone = game.deck.format_all(members(states["gone"][0][seat.seat]))
        if gone or seat.taken:
            taken = f"; taken {' '.join(map(view.card, seat.taken))}" if seat.taken else ""
            lines.append(f"{_who(view, seat.seat).capitalize()} played {' '.join(gone) or 'nothing'}{taken}")
    if view.trick:
        lines.append(f"On the table: {', '.join(f'P{who} {view.card(kind)}' for who, kind in view.trick)}")
    return lines


def _order_of_play(game: Game, view: TableView, events: Events, deal: int, letter: str) -> list[str]:
    """The plays of the deal in order, a line for each trick, and what the seat came to see after it was dealt.

    ``letter`` stands before the number of who led.
    """
    names, rows, passed = game.deck.names, list[str](), list[str]()
    upturned, drawn = list[int](), dict[int, list[str]]()

    def add(told: str) -> None:
        """Adds to the line of the trick; what comes before the first one gets a line of its own."""
        rows[-1:] = [rows[-1] + told] if rows else [told.strip()]

    last, picked, playing, offered, partner = (-1, -1), False, False, list[int](), -1
    for number, seat, phase, card in events.tolist():
        if number != deal or phase in (DEAL, OVER):
            continue
        if phase == SEE:
            if seat == MIDDLE:
                upturned.append(card)
            elif playing and not (seat == partner and card in offered):  # what was dealt follows from hand and plays
                drawn.setdefault(seat, []).append(names[card])
            continue
        playing, offered = True, []
        if phase == PASS:
            passed += [names[card]] if card != HIDDEN_CARD else []
        elif phase == PICK:
            if card in upturned:
                upturned.remove(card)
            told = f" {'/'.join(names[each] for each in (card, *upturned))}" if upturned else f" pick {names[card]}"
            add(told if rows else f" P{seat}{told}")
            offered, upturned, picked = upturned, [], picked or bool(upturned)
            partner = (seat + 2) % game.num_players if game.type.teams else -1  # gets what was not picked
        elif phase == LEAD and last == (LEAD, seat):
            add(f"+{names[card]}")
        elif phase == LEAD:
            rows.append(f"{letter}{seat} {names[card]}")
        elif phase == FOLLOW:
            add(f" {names[card]}" if seat == (last[1] + 1) % game.num_players else f" P{seat} {names[card]}")
        else:
            add(f" P{seat} {PHASES[phase]}s {names[card]}")
        last = (phase, seat) if phase in (LEAD, FOLLOW) else last
    lines = [f"You passed, in this order: {' '.join(passed)}"] if passed else []
    running = [f"On the table: P{rows.pop().removeprefix(letter)}"] if rows and view.trick else []
    if rows:
        picks = "; A/B: picked A, not B" if picked else ""
        lines += [f"Tricks, first the leader, then clockwise{picks}:", *rows]
    lines += [f"{_who(view, seat).capitalize()} then got {' '.join(cards)}" for seat, cards in drawn.items()]
    return [*lines, *running]


def estimated_tokens(text: str) -> int:
    """About how many tokens a text is for a model with a byte-pair tokenizer.

    Words of up to 6 letters with the space before them, numbers of up to three digits, signs and runs of spaces are
    one token each, longer words one for every 6 letters, and a card such as ``QH`` two. On the positions of all tables
    the vocabularies ``cl100k_base`` and ``o200k_base`` never need more (``docs/language_models.md``).
    """
    found = _PIECE.findall(checked(text, str, "text", "a text"))
    more = sum((len(piece) - 1) // 6 for piece in found if len(piece) > 6 and piece.isalpha())
    return len(found) + more - len(_SPACE_BEFORE_WORD.findall(text))
