"""The review of a match: what every play has cost, which ones were mistakes, and what a seat could infer.

Every decision is judged from what its seat knew. In worlds sampled from that, the card that was played is compared with
those that the policy finds likely, all in the same worlds, and play goes on as ``Advisor`` has it. The best of the
others is then compared with the played card once more, in other worlds: the largest of several uncertain numbers is too
large, the second comparison is not. Its mean is what the play has cost, if the 95 % interval leaves out zero.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.agents import make_agent
from trick_envs.engine.cards import members
from trick_envs.engine.game import Game, checked_states
from trick_envs.engine.positions import observe
from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import MAX_SEED
from trick_envs.engine.state import PHASES, States
from trick_envs.engine.table import margin_of
from trick_envs.matches.events import Play, match_after, plays_of
from trick_envs.matches.loop import choose_action
from trick_envs.matches.match import Match
from trick_envs.play.advice import margin
from trick_envs.play.characters import PERSON
from trick_envs.play.hints import LEAST, Advisor, CardHint, advisor_of
from trick_envs.play.players import Player, is_allowed
from trick_envs.view.messages import said, said_to
from trick_envs.view.table import YOU, seat_name
from trick_envs.view.words import card_words, sentence

WORLDS, AGAIN = 64, 256  # of the first and of the second comparison
AT_ONCE = 16  # decisions judged side by side
# What a loss is called, from which share of the standard deviation of a deal's margin on.
MARKS = {"blunder": 0.4, "mistake": 0.15, "inaccuracy": 0.05}
BELIEF_WORLDS = 400
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Decision:
    """A play, judged from what its seat knew.

    Attributes:
        number: how many plays there were before it.
        deal, trick: their numbers, from 1.
        seat: who played.
        phase: ``lead``, ``follow``, ``pass``, ``keep`` or ``pick``.
        played: the card.
        best: the card that search finds best: the played one if it has cost nothing.
        loss: by how many points of the deal's margin ``best`` is better; 0 if not by more than the noise; ``None`` if
            there was no time to judge the decision.
        error: half the width of the 95 % interval of ``loss``; 0 if that is 0.
        mark: ``"inaccuracy"``, ``"mistake"`` or ``"blunder"``; empty for none.
        cards: the legal cards; their advantage is over the played card, whose own is 0.
        expected: by how many points the policy expected to beat the mean of the others (the other team's) in this deal;
            ``None`` without a policy.
    """

    number: int
    deal: int
    trick: int
    seat: int
    phase: str
    played: int
    best: int
    loss: float | None
    error: float
    mark: str
    cards: tuple[CardHint, ...]
    expected: float | None


@dataclass(frozen=True)
class SeatReview:
    """How a seat has played.

    Attributes:
        decisions: in how many there was a choice, and time to judge it.
        points_lost: the sum of the losses.
        accuracy: the share of these decisions without a mark, 0 to 1; 1 if there are none.
        marks: how many of each.
    """

    decisions: int
    points_lost: float
    accuracy: float
    marks: dict[str, int]


@dataclass(frozen=True)
class Review:
    """A match, judged.

    Attributes:
        game: the game.
        decisions: every play, in order.
        seats: by seat: how it has played.
        margins: by deal: each seat's points minus the mean of the others' (the other team's); deals that have ended.
        score: by seat: points of the match.
        winners: ``None`` if the match did not come to its end.
        spread: the standard deviation of a deal's margin, in points: the marks are shares of it.
        sources: the specs of policy and search.
        names: what the seats are called; empty: ``player_0`` and so on.
    """

    game: Game
    decisions: tuple[Decision, ...]
    seats: tuple[SeatReview, ...]
    margins: tuple[tuple[float, ...], ...]
    score: tuple[int, ...]
    winners: tuple[int, ...] | None
    spread: float
    sources: tuple[str, ...]
    names: tuple[str, ...] = ()

    def name(self, seat: int) -> str:
        """What a seat is called."""
        return self.names[seat] if self.names else seat_name(seat)

    def mistakes(self, seat: int | None = None) -> list[Decision]:
        """The decisions with a mark, of a seat or of all, the costliest first."""
        found = [one for one in self.decisions if one.mark and seat in (None, one.seat)]
        return sorted(found, key=lambda one: -(one.loss or 0.0))

    def decisive(self, seat: int) -> Decision | None:
        """A seat's costliest mistake; ``None`` if none of its plays has a mark."""
        return next(iter(self.mistakes(seat)), None)

    def expected(self, decision: Decision) -> float | None:
        """By how many points the seat was expected to beat the mean of the others when this deal would have ended.

        The deals before are in it, in points of their margins.
        """
        if decision.expected is None:
            return None
        return sum(margin[decision.seat] for margin in self.margins[: decision.deal - 1]) + decision.expected

    def told(self, decision: Decision, you: int | None = None) -> str:
        """A decision in words, a clause: ``deal 2, trick 5: player_1 leads 9 red; 3 green is better by 4.2 ± 0.8``.

        Args:
            decision: one of these.
            you: the seat that is spoken to.
        """
        name = YOU if decision.seat == you else self.name(decision.seat)
        move = said_to(name == YOU, f"moves.{decision.phase}", name=name, card=self._card(decision.played))
        told = said("judged.where", deal=decision.deal, trick=decision.trick, move=move)
        return said("judged.both", told=told, better=self._better(decision)) if decision.loss else told

    def _better(self, decision: Decision) -> str:
        """By how much the best card is better, a clause."""
        noise = f" ± {decision.error:.1f}" if decision.error >= 0.05 else ""
        return said("judged.better", card=self._card(decision.best), loss=f"{decision.loss:.1f}{noise}")

    def verdict(self, seat: int) -> str:
        """The result of a seat and its decisive mistake, in sentences."""
        behind = max(self.score) - self.score[seat]
        if self.winners is None:
            told = [said("judged.unfinished")]
        elif seat in self.winners:
            told = [said("judged.won")]
        else:
            told = [said("judged.one_behind" if behind == 1 else "judged.behind", points=behind)]
        worst = self.decisive(seat)
        if worst is None:
            told += [said("judged.none"), *([said("judged.unjudged")] if self._unjudged(seat) else [])]
            return said("words.space").join(told)
        lost = self.winners is not None and seat not in self.winners
        key = "judged.decisive" if lost else "judged.costliest"
        told.append(said(key, mark=said(f"marks.{worst.mark}"), told=self.told(worst, seat)))
        if lost and worst.loss is not None and worst.loss >= behind > 0:
            told.append(said("judged.as_much", points=behind))
        return said("words.space").join(told)

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable: the attributes, and in words ``verdicts`` by seat, ``told`` and ``note`` by decision.

        ``total`` is what ``expected`` returns.
        """
        decisions = []
        for one in self.decisions:
            total = self.expected(one)
            told = [self.told(one, you) for you in (None, one.seat)]
            words = {"told": told[0], "told_you": told[1], "note": self._note(one)}
            decisions.append({**asdict(one), "total": None if total is None else round(total, 2), **words})
        return {
            "decisions": decisions,
            "seats": [asdict(one) for one in self.seats],
            "margins": [list(margin) for margin in self.margins],
            "spread": self.spread,
            "marks": {mark: round(share * self.spread, 2) for mark, share in MARKS.items()},
            "verdicts": [self.verdict(seat) for seat in range(self.game.num_players)],
            "sources": list(self.sources),
        }

    def _card(self, kind: int) -> str:
        return card_words(self.game.deck.suits, self.game.deck.ranks, kind)

    def _note(self, decision: Decision) -> str:
        """What is to be said of a decision beside its figures, in sentences."""
        if len(decision.cards) == 1 and decision.loss is not None:
            return said("judged.only", card=sentence(self._card(decision.played)))
        if decision.loss is None:
            return said("judged.no_time")
        told = said("judged.nothing")
        if decision.loss and decision.mark:
            told = said("judged.marked", mark=sentence(said(f"marks.{decision.mark}")), better=self._better(decision))
        elif decision.loss:
            told = said("judged.unmarked", better=sentence(self._better(decision)))
        if decision.expected is None:
            return told
        expected = margin(decision.expected, self.game.type.teams)
        return said("words.space").join([told, said("judged.before", margin=expected)])

    def _unjudged(self, seat: int) -> bool:
        return any(one.loss is None for one in self.decisions if one.seat == seat)


def review_told(found: Review, seat: int | None = None) -> str:
    """A review as text: the mistakes of a seat, or of all, the costliest first, and how every seat has played."""
    lines = [] if seat is None else [found.verdict(seat)]
    lines += [f"{one.mark:<10}  {found.told(one, seat)}" for one in found.mistakes(seat)]
    lines += [
        "",
        f"{'seat':<10} {'decisions':>9} {'points lost':>11} {'accuracy':>8}  blunders, mistakes, inaccuracies",
    ]
    for number, one in enumerate(found.seats):
        name = YOU if number == seat else found.name(number)
        counts = ", ".join(str(one.marks[mark]) for mark in MARKS)
        lines.append(f"{name:<10} {one.decisions:>9} {one.points_lost:>11.1f} {one.accuracy:>8.0%}  {counts}")
    least = ", ".join(f"{mark} from {share * found.spread:.1f}" for mark, share in MARKS.items())
    return "\n".join([*lines, "", f"points of a deal: {least}; judged by {' and '.join(found.sources)}"])


def review(
    match: Match,
    on_progress: OnProgress | None = None,
    seconds: float | None = None,
    first: int | None = None,
    worlds: int = WORLDS,
    again: int = AGAIN,
) -> Review:
    """Judges every play of a match. The same match gives the same review, if there is time for all of it.

    Args:
        match: as it was played, to its end or not.
        on_progress: is called with the work done and all of it.
        seconds: after which time no further decision is judged; those that are left have no loss.
        first: the seat whose decisions are judged before those of others.
        worlds: how many to sample for the first comparison of a decision.
        again: how many for the second one.
    """
    limit = math.inf if seconds is None else time.monotonic() + seconds
    advisor, plays = advisor_of(match.game), list(plays_of(match))
    spread = _spread(match.game, advisor)
    decisions = [_forced(done) for done in plays]
    open_ = [number for number, one in enumerate(decisions) if one.loss is None]
    done, total = 0, len(open_)

    def others(number: int) -> bool:  # the person's come before these
        return first is not None and plays[number].seat != first

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if on_progress is not None:
            on_progress(done, total)

    tell(0)
    doubtful: list[int] = []
    for rows in _chunks(sorted(open_, key=others)):
        if time.monotonic() > limit:
            break
        judged = _first(advisor, [plays[number] for number in rows], [decisions[number] for number in rows], worlds)
        for number, one in zip(rows, judged, strict=True):
            decisions[number] = one
            if one.best != one.played:
                doubtful.append(number)
        tell(len(rows))
    total += len(doubtful)
    doubtful.sort(key=lambda number: (others(number), -_advantage(decisions[number])))  # the largest losses first
    for rows in _chunks(doubtful):
        looked = [decisions[number] for number in rows]
        if time.monotonic() > limit:
            judged = [replace(one, loss=None, best=one.played) for one in looked]
        else:
            judged = _second(advisor, [plays[number] for number in rows], looked, again, spread)
        for number, one in zip(rows, judged, strict=True):
            decisions[number] = one
        tell(len(rows))
    return _summed_up(match, decisions, spread, advisor.sources_of(again))


def _chunks(numbers: Sequence[int]) -> list[Sequence[int]]:
    return [numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE)]


def _forced(done: Play) -> Decision:
    """A decision before it is judged; if there was no choice, that is all."""
    state = done.before[0]
    loss = None if observe(done.game, done.before, done.seat)[1].sum() > 1 else 0.0
    cards = (CardHint(done.action, None, 0.0, 0.0, 0),)
    phase, trick = PHASES[int(state["phase"])], int(state["tricks"]) + 1
    return Decision(
        done.number - 1, done.deal + 1, trick, done.seat, phase, done.action, done.action, loss, 0.0, "", cards, None
    )


def _first(advisor: Advisor, plays: Sequence[Play], decisions: Sequence[Decision], worlds: int) -> list[Decision]:
    """Compares the played cards with all that are likely; ``best`` is the one that looks best, ``loss`` open if any."""
    states, played = _rows(plays)
    found = advisor.judge(states, played, worlds, 0, None)
    judged = []
    for row, one in enumerate(decisions):
        cards = found.cards(row)
        most = max(cards, key=lambda card: card.advantage or 0.0)
        least = (most.advantage or 0.0) - (most.error or 0.0)  # of those that may be as good, the policy's favourite
        best = max((card for card in cards if (card.advantage or -np.inf) >= least), default=most, key=_likelihood)
        better = (most.advantage or 0.0) > 0.0 and (best.advantage or 0.0) > 0.0
        kind, loss = (best.kind, None) if better else (one.played, 0.0)
        judged.append(replace(one, cards=tuple(cards), expected=found.expected(row), best=kind, loss=loss))
    return judged


def _likelihood(card: CardHint) -> tuple[float, float]:
    return card.probability or 0.0, card.advantage or 0.0


def _second(
    advisor: Advisor, plays: Sequence[Play], decisions: Sequence[Decision], worlds: int, spread: float
) -> list[Decision]:
    """Compares the played cards with those that looked best, in other worlds."""
    states, played = _rows(plays)
    best = np.array([one.best for one in decisions], np.int64)
    found = advisor.judge(states, played, worlds, 1, best)
    judged = []
    for row, one in enumerate(decisions):
        loss, error = float(found.advantages[row, one.best]), float(found.errors[row, one.best])
        tried = next(card for card in found.cards(row) if card.kind == one.best)
        cards = tuple(
            replace(tried, probability=card.probability) if card.kind == one.best else card for card in one.cards
        )
        if loss <= max(error, LEAST):
            judged.append(replace(one, best=one.played, loss=0.0, cards=cards))
        else:
            mark = next((mark for mark, share in MARKS.items() if loss >= share * spread), "")
            judged.append(replace(one, loss=round(loss, 2), error=round(error, 2), mark=mark, cards=cards))
    return judged


def _rows(plays: Sequence[Play]) -> tuple[States, npt.NDArray[np.int64]]:
    return np.concatenate([done.before for done in plays]), np.array([done.action for done in plays], np.int64)


def _advantage(decision: Decision) -> float:
    return next(card.advantage or 0.0 for card in decision.cards if card.kind == decision.best)


def _spread(game: Game, advisor: Advisor) -> float:
    """The standard deviation of a deal's margin: of the policy's play, or the heuristic's where there is no policy."""
    return advisor.spread or _greedy_spread(game)


@lru_cache(maxsize=16)
def _greedy_spread(game: Game) -> float:
    one_deal = load_game(game.name, game.num_players, 1, **game.options)
    greedy, scores = make_agent("greedy", one_deal), []
    for seed in range(64):
        match = Match(one_deal, seed)
        while not match.over:
            match.step(choose_action(match, greedy))
        scores.append([int(score) for score in match.states["score"][0][: game.num_players]])
    return float(np.std([_margin(game, score, seat) for score in scores for seat in range(game.num_players)]))


def _margin(game: Game, score: Sequence[int], seat: int) -> float:
    """A seat's points minus the mean of the others' (the other team's)."""
    return float(getattr(margin_of, "py_func", margin_of)(score[seat], sum(score), game.num_players, game.type.teams))


def _summed_up(match: Match, decisions: Sequence[Decision], spread: float, sources: Sequence[str]) -> Review:
    game, seats = match.game, []
    for seat in range(game.num_players):
        own = [one for one in decisions if one.seat == seat and one.loss is not None and len(one.cards) > 1]
        marks = {mark: sum(one.mark == mark for one in own) for mark in MARKS}
        without = 1.0 - sum(marks.values()) / len(own) if own else 1.0
        seats.append(SeatReview(len(own), round(sum(one.loss or 0.0 for one in own), 2), round(without, 4), marks))
    scores = [deal.score for deal in match.deals if deal.score is not None]
    margins = tuple(tuple(round(_margin(game, one, seat), 2) for seat in range(game.num_players)) for one in scores)
    winners = match.winners()
    return Review(
        game, tuple(decisions), tuple(seats), margins,
        tuple(int(score) for score in match.states["score"][0][: game.num_players]),
        None if winners is None else tuple(winners), round(spread, 2), tuple(sources),
        match.names,
    )  # fmt: skip


# --- what a seat could infer ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Belief:
    """Where the cards may lie that a seat does not see, and where they lie.

    Attributes:
        seat: whose belief it is.
        kinds: the cards, in the order of the deck.
        shares: by card, then by seat: how many copies the seat holds, the mean over sampled worlds: with one copy, the
            share of the worlds in which the seat holds it. What is missing to the number of copies lies elsewhere,
            such as in a stock.
        truth: by card, then by seat: how many copies the seat holds in truth.
        worlds: how many were sampled.
    """

    seat: int
    kinds: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]
    truth: tuple[tuple[int, ...], ...]
    worlds: int


def belief(game: Game, states: States, seat: int, worlds: int = BELIEF_WORLDS) -> Belief:
    """What the seat could tell of the others' hands, from sampled worlds: as searches sample them.

    They respect the cards that it has seen, the sizes of the hands, and who has shown to have none of a suit. What
    others chose to play is not used as evidence, so a person may know more.

    Args:
        game: the game.
        states: ``(1,)`` records: the position.
        seat: whose belief.
        worlds: how many to sample.
    """
    drawn = game.resample(np.repeat(checked_states(game, states, least=1)[:1], worlds), seat, np.random.default_rng(0))
    counts = np.zeros((game.deck.kinds, game.num_players))
    for hands in drawn["hand"]:
        counts += _hands(game, hands)
    truth = _hands(game, states["hand"][0])
    counts[:, seat] = truth[:, seat] = 0
    kinds = np.flatnonzero((counts + truth).sum(axis=1))
    return Belief(
        seat,
        tuple(map(int, kinds)),
        tuple(tuple(round(float(share), 3) for share in counts[kind] / worlds) for kind in kinds),
        tuple(tuple(map(int, truth[kind])) for kind in kinds),
        worlds,
    )


def _hands(game: Game, hands: Any) -> npt.NDArray[np.float64]:
    """``(kinds, players)``: how many copies of a card each seat holds."""
    found = np.zeros((game.deck.kinds, game.num_players))
    for seat in range(game.num_players):
        for card in members(hands[seat]):
            found[game.deck.kind(card), seat] += 1
    return found


# --- the same cards -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duplicate:
    """The same cards, played once more by another player in a seat.

    Attributes:
        spec: who played there.
        score: by seat: points of the match.
        deals: after how many deals both are compared.
        compared: by seat: points of the match that was reviewed, after as many deals.
    """

    spec: str
    score: tuple[int, ...]
    deals: int
    compared: tuple[int, ...]


def duplicate(match: Match, spec: str, seconds: float | None = None) -> Duplicate | None:
    """What another player scores with the same cards in the person's seat, against the same players.

    Args:
        match: as it was played; its record has ``players``, as that of a ``Session`` does.
        spec: who plays in the person's seat now.
        seconds: after which time it is given up.

    Returns:
        ``None`` if there is no person, or a player that a record may not name (a file, something that is imported), or
        no deal that has ended, or no time.
    """
    players, start, game = match.notes.get("players"), match.notes.get("start_number", 0), match.game
    deals = [deal.score for deal in match.deals if deal.score is not None]
    if not isinstance(players, list) or players.count(PERSON) != 1 or not isinstance(start, int) or not deals:
        return None
    if len(players) != game.num_players:
        return None
    specs = [spec if each == PERSON else each for each in players]
    if not all(map(is_allowed, specs)):
        return None
    limit = math.inf if seconds is None else time.monotonic() + seconds
    again = match_after(match, start)
    agents = [Player(each, game, (match.seed + seat) % (MAX_SEED + 1)) for seat, each in enumerate(specs)]
    while not again.over and (match.over or len(again.deals) <= len(deals)):
        if time.monotonic() > limit:
            return None
        again.step(choose_action(again, agents[again.seat].act(1)))
    scores = [deal.score for deal in again.deals if deal.score is not None]
    return Duplicate(spec, _total(scores), len(scores), _total(deals))


def _total(deals: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(each) for each in zip(*deals, strict=True))
