"""What a play has done: a card, the trick that it ends and why somebody takes it, the score of a deal, the winners.

``play(match, action)`` plays and returns a ``Play``, from which every presenter reads: the text of a record, the
terminal, the page, its replays. A ``Play`` holds positions in which everything is open; ``look`` and ``events`` give of
it what one observer may know, and are the same in all worlds that look alike to that observer. What only one game can
say is in its ``view`` module (``why_taken``, ``effect``, ``score_items``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from trick_envs.engine.cards import members
from trick_envs.engine.deal import Deal, Plays, Trick, ends_trick
from trick_envs.engine.game import Game
from trick_envs.engine.history import is_hidden
from trick_envs.engine.state import KEEP, States, copy_states
from trick_envs.errors import IllegalAction, InputError, shown
from trick_envs.matches.match import Match
from trick_envs.view import TableView, table_view
from trick_envs.view.messages import said, spoken
from trick_envs.view.table import Ended
from trick_envs.view.words import ScoreItem, card_words, listed, sentence, signed


@dataclass(frozen=True)
class CardPlayed:
    """A card was named.

    Attributes:
        seat: who named it.
        phase: what it meant: ``lead``, ``follow``, ``pass``, ``keep`` or ``pick``.
        kind: the card; ``None`` if the observer does not see it.
    """

    seat: int
    phase: str
    kind: int | None


@dataclass(frozen=True)
class TrickTaken:
    """A trick has ended.

    Attributes:
        number: its number, from 1.
        plays: its cards as they were played: seat and kind.
        taker: the seat that has taken it.
        why: by which rule, a clause; empty if the game does not say.
    """

    number: int
    plays: Plays
    taker: int
    why: str = ""


@dataclass(frozen=True)
class Changed:
    """Something else has changed, which only this game has: a price, the peppers in front of a seat, the line.

    Attributes:
        words: what, in words.
    """

    words: str


@dataclass(frozen=True)
class DealScored:
    """A deal has ended.

    Attributes:
        number: its number, from 1.
        scores: by seat: its points.
        items: by seat: what these consist of; each seat's add up to its points. Empty if the game does not say.
    """

    number: int
    scores: tuple[int, ...]
    items: tuple[tuple[ScoreItem, ...], ...] = ()


@dataclass(frozen=True)
class MatchWon:
    """The match has ended.

    Attributes:
        winners: the seats that have won.
        scores: by seat: points of the match.
    """

    winners: tuple[int, ...]
    scores: tuple[int, ...]


Event = CardPlayed | TrickTaken | Changed | DealScored | MatchWon


@dataclass(frozen=True, eq=False)
class Play:
    """A play, and what it has ended.

    Attributes:
        game: the game.
        before: the position before it, as records ``(1,)``.
        after: the position after it; at the end of a deal its last position, before another one is dealt.
        number: how many plays there were in the match, with this one.
        deal: the number of its deal, from 0.
        seat: who played.
        action: the card that was named.
        previous: the last finished trick before it; ``None`` before the end of the first one.
        trick: the trick that it ended; else ``None``.
        score: by seat: the points of the deal that it ended; else ``None``.
        winners: the winners of the match that it ended; else ``None``.
        names: what the seats are called, as in its match.
    """

    game: Game
    before: States
    after: States
    number: int
    deal: int
    seat: int
    action: int
    previous: Trick | None
    trick: Trick | None = None
    score: tuple[int, ...] | None = None
    winners: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    _seen: dict[tuple[str, int | None, str], TableView] = field(default_factory=dict, repr=False)

    @property
    def ends(self) -> str:
        """The largest thing that it has ended: ``"match"``, ``"deal"``, ``"trick"``, or nothing: empty."""
        if self.score is not None:
            return "deal" if self.winners is None else "match"
        return "trick" if self.trick else ""

    def look_before(self, observer: int | None) -> TableView:
        """What an observer saw before the play; ``None``: everything open."""
        key = "before", observer, spoken()
        if key not in self._seen:
            self._seen[key] = table_view(self.game, self.before, observer, self.previous, names=self.names)
        return self._seen[key]

    def look(self, observer: int | None) -> TableView:
        """What an observer sees after the play: a finished trick still lies on the table, with all that it has changed.

        Nobody is to act in the view of a finished trick or deal, and nobody has won the match yet.
        """
        key = "after", observer, spoken()
        if key not in self._seen:
            ended = None
            if self.ends:
                number = int(self.before["tricks"][0]) + 1
                ended = Ended(number, Trick(self._lying, self.trick.taker) if self.trick else None)
            self._seen[key] = table_view(self.game, self.after, observer, self.previous, ended, self.names)
        return self._seen[key]

    @cached_property
    def _lying(self) -> Plays:
        """The cards of the finished trick that its taker gets: a card that went to a common place is not among them."""
        state, deck = self.before[0], self.game.deck
        common = [name for name, place in self.game.type.places.items() if not place.per_seat and name != "table"]
        gone = {card for name in common for card in members(self.after[name][0])}
        size = int(state["trick_size"])
        lying = [
            (int(seat), deck.kind(int(card)))
            for seat, card in zip(state["trick_seat"][:size], state["trick"][:size], strict=True)
            if int(card) not in gone
        ]
        return (*lying, *([(self.seat, self.action)] if int(state["phase"]) != KEEP else []))

    def events(self, observer: int | None) -> tuple[Event, ...]:
        """What has happened, as far as an observer may know it; ``None``: everything."""
        view, module = self.look(observer), self.game.type.view
        before = self.look_before(observer)
        shown = observer is None or not is_hidden(int(self.before["phase"][0]), self.seat, observer)
        events: list[Event] = [CardPlayed(self.seat, before.phase, self.action if shown else None)]
        if self.trick:
            why_taken = getattr(module, "why_taken", lambda view: "")
            events.append(TrickTaken(view.trick_number, *self.trick, why_taken(view)))
        effect = getattr(module, "effect", lambda before, kind, after: "")
        if shown and (words := effect(before, self.action, view)):
            events.append(Changed(words))
        if self.score is not None:
            items = getattr(module, "score_items", lambda view: ())(view)
            events.append(DealScored(view.deal, self.score, tuple(map(tuple, items))))
        if self.winners is not None:
            events.append(MatchWon(self.winners, tuple(seat.score for seat in view.seats)))
        return tuple(events)


def play(match: Match, action: int) -> Play:
    """Plays an action of the seat to act; returns what it has done.

    Raises:
        ValueError: if it is illegal; names the seat, the card and the rule.
    """
    number, seat, previous = len(match.deals) - 1, match.seat, match.last_trick
    match.step(action)
    before, after = copy_states(match.before), copy_states(match.after)
    score, winners = match.deals[number].score, match.winners()
    return Play(
        match.game, before, after, number_of_plays(match), number, seat, action,
        previous, match.last_trick if ends_trick(before, after) else None,
        None if score is None else tuple(score),
        None if winners is None else tuple(winners), match.names,
    )  # fmt: skip


def imagine(match: Match, action: int) -> Play:
    """What a legal action of the seat to act would do; the match stays as it is.

    Ask it only for what its seat may know before it plays: ``events`` and ``look`` of a play that turns up hidden cards
    (a pass, a pick) show them.
    """
    before, after = copy_states(match.states), copy_states(match.states)
    match.game.kernels.play_without_dealing(after, action)
    laid = match.trick if match.phase == "keep" else (*match.trick, (match.seat, action))
    return Play(
        match.game, before, after, number_of_plays(match) + 1, len(match.deals) - 1, match.seat, action,
        match.last_trick, Trick(laid, int(after["taking"][0])) if ends_trick(before, after) else None,
        names=match.names,
    )  # fmt: skip


def replayed(match: Match, deals: Sequence[Deal]) -> Iterator[Play]:
    """Plays what was played in some deals again, in a match that has just begun with them, and yields each play.

    Every replay reads this: the position is that of ``match``, or ``before`` and ``after`` of the plays.

    Raises:
        ValueError: if a play is illegal or out of turn, or comes after the end of its deal or of the match, or a deal
            has another score; says where.
    """
    for number, deal in enumerate(deals, 1):
        if match.over or len(match.deals) != number:
            raise InputError(f"deal {number}: the {'match was' if match.over else 'deal before is not'} over before it")
        for count, (seat, action) in enumerate(deal.actions, 1):
            where = f"deal {number}, play {count}"
            if match.over or len(match.deals) != number:
                raise InputError(f"{where}: the deal was over before it")
            if seat != match.seat:
                raise InputError(
                    f"{where}: it is player_{match.seat}'s turn to {match.phase}, not player_{shown(seat)}'s"
                )
            try:
                done = play(match, action)
            except IllegalAction as error:
                raise InputError(f"{where}: {error}") from None
            yield done
        score = match.deals[number - 1].score
        if score != deal.score:
            raise InputError(f"deal {number}: the record says the score is {shown(deal.score)}, the cards say {score}")


def plays_of(match: Match) -> Iterator[Play]:
    """The plays of a match, one by one from its start, on a match of their own."""
    return replayed(match_after(match, 0), match.deals)


def match_after(match: Match, number: int) -> Match:
    """Another match, as this one was after so many plays; the same cards are dealt in it."""
    again = Match(match.game, match.seed, match.deals, match.reward)
    again.names = match.names
    for _ in islice(replayed(again, match.deals), number):
        pass
    return again


def number_of_plays(match: Match) -> int:
    """How many plays there were in a match: every position of it has its own."""
    return sum(len(deal.actions) for deal in match.deals)


# --- words ----------------------------------------------------------------------------------------------------------


def tell(event: Event, view: TableView) -> str:
    """An event in a sentence, without a stop at its end; the reason of a trick is a sentence of its own (``why``).

    Args:
        event: what has happened.
        view: any view of that match: it says who looks on, and what seats and cards are called.
    """
    if isinstance(event, CardPlayed):
        card = said("told.hidden") if event.kind is None else card_words(view.suits, view.ranks, event.kind)
        return sentence(view.said_of(event.seat, f"moves.{event.phase}", card=card))
    if isinstance(event, Changed):
        return sentence(event.words)
    if isinstance(event, TrickTaken):
        return sentence(view.said_of(event.taker, "told.takes"))
    if isinstance(event, DealScored):
        points = [f"{view.you(seat)} {signed(score)}" for seat, score in enumerate(event.scores)]
        return said("told.deal", number=event.number, points=said("words.comma").join(points))
    one = len(event.winners) == 1 and event.winners[0] != view.spoken_to
    names = listed([view.you(seat) for seat in event.winners])
    return sentence(said("told.wins" if one else "told.win", names=names))


def tell_all(events: Sequence[Event], view: TableView) -> str:
    """What a play has done, in sentences: who takes a trick by which rule, what else has changed, the points.

    One play alone has no stop: ``You play 4 yellow``; several are ``You play 4 yellow. player_2 takes the trick: …``.
    """
    told = []
    for event in events:
        why = said("words.because", why=event.why) if isinstance(event, TrickTaken) and event.why else ""
        told.append(f"{tell(event, view)}{why}")
    return said("words.end").join(told)


def items_told(event: DealScored, view: TableView) -> list[str]:
    """What the points of each seat consist of, a line each: ``you: red pepper −2, four red cards −4``."""
    return [
        f"{view.you(seat)}: {', '.join(f'{item.words} {signed(item.points)}' for item in items)}"
        for seat, items in enumerate(event.items)
        if items
    ]
