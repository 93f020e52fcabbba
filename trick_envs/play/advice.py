"""What a policy and a search think of a decision, in words: the one place where hints are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from trick_envs.engine.game import Game
from trick_envs.engine.registry import game_type
from trick_envs.play.hints import CardHint, Hint
from trick_envs.view import TableView
from trick_envs.view.messages import said
from trick_envs.view.words import card_words, counted, sentence


def percent(probability: float) -> str:
    """A probability in words; what is not certain is never 0 % or 100 %."""
    if 0.0 < probability < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= probability < 1.0 else f"{100 * probability:.0f} %"


def headline(hint: Hint, suits: str, ranks: Sequence[str], figures: bool = True) -> str:
    """The hint in one plain sentence: ``10 green, as the trained player would 99 % of the time; looking ahead …``.

    Args:
        hint: the hint.
        suits, ranks: of the deck.
        figures: whether it says by how many points one card is better than another.
    """
    baseline, best = card_words(suits, ranks, hint.baseline), card_words(suits, ranks, hint.search)
    if len(hint.cards) == 1:
        return said("advice.only", card=baseline)
    own, other = hint.of(hint.baseline), hint.of(hint.search)
    assert own is not None
    simple, likely = own.probability is None, percent(own.probability or 0.0)
    if hint.disagree and other is not None:
        usual = said("advice.simple") if simple else said("advice.trained", likely=likely)
        by, error = f"{other.advantage:.1f}", f"{other.error:.1f}"
        key = "advice.better_by" if figures else "advice.better"
        return said(key, best=best, baseline=baseline, usual=usual, by=by, error=error)
    return said("advice.agree_simple" if simple else "advice.agree", card=baseline, likely=likely)


def outlook(hint: Hint, teams: bool) -> str:
    """What the policy expects of the deal, said to the seat without a sign; empty without a policy.

    Args:
        hint: the hint.
        teams: whether two play against two.
    """
    if hint.value is None:
        return ""
    whole, others = round(abs(hint.value)), others_of(teams)
    if whole == 0:
        return said("advice.even", others=others)
    return said("advice.ahead" if hint.value > 0 else "advice.behind", points=counted(whole, "point"), others=others)


def card_figures(card: CardHint) -> str:
    """What is thought of a card, in words: ``trained player 99 %, looking ahead −0.4 ± 0.2 points``."""
    told = [] if card.probability is None else [said("advice.likely", likely=percent(card.probability))]
    if card.advantage is not None:
        told.append(said("advice.looking", points=points(card.advantage), error=f"{card.error or 0.0:.1f}"))
    return said("words.comma").join(told)


def points(number: float) -> str:
    """Points with a sign and one digit: ``+1.5``, ``−0.4``, ``0.0``."""
    return f"{round(number, 1) + 0.0:+.1f}".replace("-", "−").replace("+0.0", "0.0")


def others_of(teams: bool) -> str:
    """With whom a seat's points are compared; ``teams``: whether two play against two."""
    return said("review.other_team" if teams else "review.others")


def margin(expected: float, teams: bool) -> str:
    """How far ahead of the others a seat is expected to end: ``2.0 points ahead of the average of the others``."""
    by, others = abs(round(expected, 1)), others_of(teams)
    if not by:
        return said("advice.level", others=others)
    return said("advice.more" if expected > 0 else "advice.less", points=f"{by:.1f}", others=others)


def expectation(hint: Hint, teams: bool) -> str:
    """How this deal is expected to end, in one sentence with a figure; empty without a policy."""
    return "" if hint.value is None else said("advice.expect", margin=margin(hint.value, teams))


def hint_data(hint: Hint, game: Game) -> dict[str, Any]:
    """A hint for the page: its figures, and in words ``headline``, ``expectation`` and what is thought of each card.

    ``plain`` and ``outlook`` are headline and expectation for who wants no figures.

    JSON-serialisable.
    """
    deck, data = game.deck, asdict(hint)
    for card, told in zip(hint.cards, data["cards"], strict=True):
        told["words"] = card_figures(card)
    return {
        **data,
        "headline": headline(hint, deck.suits, deck.ranks),
        "expectation": expectation(hint, game.type.teams),
        "plain": headline(hint, deck.suits, deck.ranks, figures=False),
        "outlook": outlook(hint, game.type.teams),
    }


def retry_told(tried: Mapping[str, Any]) -> str:
    """What another card would have been worth, in a sentence: see ``Replay.retry``."""
    if tried["same"]:
        return said("retry.same")
    gain, error = tried["gain"], tried["error"]
    kind = "retry.better" if gain > error else "retry.worse" if gain < -error else "retry.equal"
    told = said(kind, points=f"{abs(gain):.1f}")
    ending = "retry.best" if tried["best"] else "retry.short" if tried["short"] > 0 else "retry.told"
    return said(ending, told=told, points=f"{tried['short']:.1f}")


def summary(view: TableView, hint: Hint, brief: bool = False) -> str:
    """A hint in a sentence or two; ``brief``: in one."""
    told = [headline(hint, view.suits, view.ranks), "" if brief else expectation(hint, game_type(view.game).teams)]
    return " ".join(f"{sentence(each)}." for each in told if each)


def table(view: TableView, hint: Hint) -> list[str]:
    """A hint, a line for every legal card."""
    lines = []
    for card in hint.cards:
        likely = "" if card.probability is None else f"{card.probability:>5.0%}"
        gain = "" if card.advantage is None else f"{round(card.advantage, 1) + 0.0:>+6.1f}"
        error = f" ± {card.error:.1f}" if card.error else ""
        lines.append(f"{view.card(card.kind):>4}  {likely}  {gain}{error}".rstrip())
    return lines
