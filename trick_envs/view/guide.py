"""The rules of a game for people: the goal, a picture for every rule, an example of scoring.

They are data: a file ``guide.toml`` beside the game's rules, and translations beside it (``guide.ja.toml``), the
same in other words. A game without one has no guide, and the docstring of its rules stands in. The keys of the file::

    goal = "one sentence"
    original = "the title as the author of the game writes it"    # if it is another one
    players = 4                # whose deck the pictures show

    [[rules]]
    title = "a few words"
    text = "one to three sentences"
    when = ["follow"]          # when a guided deal shows it first: "start", a phase, "trick" (its end) or "score"
    picture = [                # groups side by side
      { label = "led", cards = "4N" },
      { label = "you may play", cards = "7N 1N" },
      { label = "but not", cards = "9R~" },
    ]

    [example]                  # of scoring
    text = "what is given"
    total = -5
    rows = [{ words = "red pepper", cards = "1R", points = -2 }, …]

    [learn]                    # the guided deal
    seed = 5
    players = 4                # if not the number above
    seat = 0

In ``cards``, ``##`` is a back, ``7N!`` takes the trick and ``9R~`` may not be played. In place of cards a group may
have ``text``, or ``line``: players, A to I, drawn as stations.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from trick_envs.engine.cards import Deck
from trick_envs.engine.game import GameType
from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.state import PHASES
from trick_envs.errors import InputError, in_a_line
from trick_envs.view.cards import face
from trick_envs.view.messages import ENGLISH, messages, spoken
from trick_envs.view.pen import RATIO, Drawing, Item, Pen, measure
from trick_envs.view.style import CREAM, FELT, GOLD, INK, MIST, RIM, SEATS
from trick_envs.view.svg import to_svg
from trick_envs.view.words import signed, suit_name

FILE = "guide.toml"
WHEN = ("start", *PHASES, "trick", "score")
WIDTH, MARGIN = 330, 9  # of a picture, in pixels: it fits on a phone at its own size
CARD, GAP, BETWEEN = 42, 4, 16
LETTERS = 12.5  # size of labels
PLAYERS = "ABCDEFGHI"  # in the pictures of a line of stations
_BACK, _TAKES, _DIM = "##", "!", "~"


@dataclass(frozen=True)
class Group:
    """Things side by side in a picture, under a label.

    Attributes:
        label: what they are; may be empty.
        cards: kinds (``None``: a back), each with its mark: ``"!"`` takes the trick, ``"~"`` may not be played.
        text: words instead of cards.
        line: players instead of cards, as stations: ``"A"`` and so on.
    """

    label: str = ""
    cards: tuple[tuple[int | None, str], ...] = ()
    text: str = ""
    line: str = ""


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        title: what it is about.
        text: what it says.
        when: at which moments of a guided deal it matters.
        picture: what is drawn.
    """

    title: str
    text: str
    when: tuple[str, ...]
    picture: tuple[Group, ...]


@dataclass(frozen=True)
class Guide:
    """The rules of a game for people.

    Attributes:
        game: the name of the game.
        language: of its texts.
        goal: in one sentence.
        original: the title as the author of the game writes it; empty if it is the same. In a translation: the title
            in its language, if that is not the author's.
        deck: the cards in the pictures.
        rules: in the order of play.
        example: an example of scoring: a rule whose picture shows what each part is for.
        points: the points of each part, and of all together.
        learn: the guided deal: ``players``, ``seed`` and ``seat``.
    """

    game: str
    language: str
    goal: str
    original: str
    deck: Deck
    rules: tuple[Rule, ...]
    example: Rule
    points: tuple[int, ...]
    learn: dict[str, int]

    @property
    def pages(self) -> tuple[Rule, ...]:
        """All rules, and the example."""
        return (*self.rules, self.example)


@cache
def guide_of(name: str, language: str = ENGLISH) -> Guide | None:
    """The guide of a game, in a language if it is there, else in English; ``None`` if it has none.

    Raises:
        ValueError: if its file is not as described above; says where.
    """
    file = guide_file(game_type(name))
    if language != ENGLISH:
        file = file.with_name(f"{file.stem}.{language}{file.suffix}")
    if not file.is_file():
        return None if language == ENGLISH else guide_of(name)
    try:
        return _read(name, language, tomllib.loads(file.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: {in_a_line(error)}") from error


def title_of(name: str) -> str:
    """The title of a game, in the language of its guide."""
    guide = guide_of(name, spoken())
    if guide is None or guide.language == ENGLISH:
        return game_type(name).title
    english = guide_of(name)
    return guide.original or (english.original if english is not None else "") or game_type(name).title


def guide_file(kind: GameType) -> Path:
    """Where the guide of a game would lie."""
    return Path(inspect.getfile(kind.modules[0])).with_name(FILE)


def _read(name: str, language: str, found: dict[str, Any]) -> Guide:
    deck = load_game(name, found["players"]).deck
    rules = []
    for rule in found["rules"]:
        when = tuple(rule.get("when", ()))
        if wrong := set(when) - set(WHEN):
            raise InputError(f"{rule['title']}: when is one of {', '.join(WHEN)}, not {', '.join(sorted(wrong))}")
        rules.append(Rule(rule["title"], rule["text"], when, _groups(deck, rule.get("picture", ()))))
    told = found["example"]
    points = tuple(int(row["points"]) for row in told["rows"])
    if sum(points) != told["total"]:
        raise InputError(f"the example adds up to {sum(points)}, not to {told['total']}")
    words = messages(language)["guide"]
    rows = [
        {"label": words["row"].format(words=row["words"], points=signed(row["points"])), **row} for row in told["rows"]
    ]
    together = {"label": words["together"], "text": signed(told["total"])}
    example = Rule(words["example"], told["text"], ("score",), _groups(deck, [*rows, together]))
    learn = {"players": found["players"], "seat": 0, **found["learn"]}
    return Guide(
        name, language, found["goal"], found.get("original", ""), deck, tuple(rules), example, (*points, told["total"]),
        learn,
    )  # fmt: skip


def _groups(deck: Deck, found: Sequence[dict[str, Any]]) -> tuple[Group, ...]:
    groups = []
    for group in found:
        cards = []
        for word in group.get("cards", "").split():
            bare = word.rstrip(_TAKES + _DIM)
            cards.append((None if bare == _BACK else deck.parse(bare), word[len(bare) :]))
        line = "".join(group.get("line", "").split())
        if unknown := set(line) - set(PLAYERS):
            raise InputError(f"line: expected players of A to I, not {min(unknown)!r}")
        groups.append(Group(group.get("label", ""), tuple(cards), group.get("text", ""), line))
    return tuple(groups)


def guide_markdown(name: str, picture: Callable[[Guide, int], str] | None = None) -> str:
    """The rules of a game for people as Markdown: those of its guide, else the docstring of its rules.

    Args:
        name: of the game.
        picture: what stands for the picture of a page of the guide, by its number; ``None``: what it shows, in words.
    """
    guide = guide_of(name)
    if guide is None:
        return inspect.getdoc(game_type(name).modules[0]) or ""
    parts = [f"**{messages(ENGLISH)['guide']['goal']}** {guide.goal[:1].lower()}{guide.goal[1:]}"]
    for number, rule in enumerate(guide.pages):
        shown = f"*{rule_words(guide, rule)}*" if picture is None else picture(guide, number)
        parts += [f"### {rule.title}", rule.text, shown]
    return "\n\n".join(part for part in parts if part)


# --- pictures -------------------------------------------------------------------------------------------------------


def rule_svg(guide: Guide, rule: Rule) -> str:
    """The picture of a rule, as SVG; what it shows is its title (``rule_words``)."""
    drawing = _draw(guide, rule)
    return to_svg(drawing, 1, rule_words(guide, rule))


def rule_words(guide: Guide, rule: Rule) -> str:
    """What the picture of a rule shows, in words."""
    return messages(guide.language)["words"]["semicolon"].join(_told(guide, group) for group in rule.picture)


def _told(guide: Guide, group: Group) -> str:
    deck, words, cards = guide.deck, {**messages(guide.language)["guide"], **messages(guide.language)["words"]}, []
    for kind, mark in group.cards:
        suit, rank = (0, 0) if kind is None else divmod(kind, len(deck.ranks))
        name = suit_name(deck.suits[suit], guide.language)
        card = words["hidden"] if kind is None else words["card"].format(rank=deck.ranks[rank], suit=name)
        cards.append({_TAKES: words["takes"], _DIM: words["barred"], "": "{card}"}[mark].format(card=card))
    several = words["and"].join([words["comma"].join(cards[:-1]), cards[-1]]) if len(cards) > 1 else "".join(cards)
    told = several or " ".join(group.line) or group.text
    return f"{group.label}: {told}" if group.label else told


def _draw(guide: Guide, rule: Rule) -> Drawing:
    """Groups from left to right, in as many rows as they need."""
    items: list[Item] = []
    x, y, high, right = float(MARGIN), float(MARGIN), 0.0, 0.0
    for group in rule.picture:
        pen = Pen()
        width, height = _draw_group(pen, guide, group)
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y, high = MARGIN, y + high + 10, 0
        items += [item._replace(x=item.x + x, y=item.y + y) for item in pen.items]
        right = max(right, x + width)
        x, high = x + width + BETWEEN, max(high, height)
    ground = Pen()
    whole = min(max(right + MARGIN, 120), WIDTH), y + high + MARGIN
    ground.box(0, 0, *whole, FELT, 10)
    return Drawing(*whole, tuple(ground.items), tuple(items))


def _lines(label: str) -> list[str]:
    """A label in lines that fit."""
    lines: list[str] = []
    for word in label.split():
        if lines and measure(f"{lines[-1]} {word}", LETTERS, False) <= WIDTH - 2 * MARGIN:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _draw_group(pen: Pen, guide: Guide, group: Group) -> tuple[float, float]:
    """Draws a group at the top left corner; returns its width and height."""
    deck, lines, width, height = guide.deck, _lines(group.label), 0.0, 0.0
    for i, line in enumerate(lines):
        width = max(width, pen.label(0, 7 + 19 * i, line, LETTERS, MIST))
    y = 19.0 * max(len(lines), 1)
    for i, (kind, mark) in enumerate(group.cards):
        at, width, height = i * (CARD + GAP), max(width, (i + 1) * (CARD + GAP) - GAP), RATIO * CARD + 4
        pen.card(at, y, CARD, face(guide.game, deck.suits, deck.ranks, kind, CARD), mark == _DIM)
        if mark == _TAKES:
            pen.box(at - 1, y - 1, CARD + 2, RATIO * CARD + 2, None, 6, stroke=GOLD, line=3)
        if mark == _DIM:
            pen.shape(at + CARD / 2, y + RATIO * CARD / 2, _CROSS, CREAM, 15, opacity=0.95)
            pen.shape(at + CARD / 2, y + RATIO * CARD / 2, _CROSS, "#b3261e", 12)
    if group.line:
        width, height = max(width, 24 * len(group.line)), 28
        pen.box(12, y + 10, 24 * (len(group.line) - 1), 4, RIM, 2)
    for i, player in enumerate(group.line):
        pen.disc(12 + 24 * i, y + 12, 11, SEATS[PLAYERS.index(player)], stroke=INK, line=1)
        pen.label(12 + 24 * i, y + 12, player, 12.5, INK, bold=True, anchor=0.5)
    if group.text:
        inner = measure(group.text, 19, True) + 20
        width, height = max(width, inner), 34
        pen.box(0, y, inner, 32, CREAM, 8)
        pen.label(10, y + 16, group.text, 19, INK, bold=True)
    return width, y + height


_CROSS = tuple(
    (x, y)
    for x, y in (
        (-1, -0.7), (-0.7, -1), (0, -0.3), (0.7, -1), (1, -0.7), (0.3, 0), (1, 0.7), (0.7, 1), (0, 0.3), (-0.7, 1),
        (-1, 0.7), (-0.3, 0),
    )
)  # fmt: skip
