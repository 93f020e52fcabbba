"""Positions in a deal, from the first card that is dealt to the last that is played."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyspiel

from trick_envs.engine.cards import WORD
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.playing import DEAL_ENDED, ILLEGAL, ZERO_SUM
from trick_envs.engine.positions import places, why_illegal
from trick_envs.engine.state import PASS, States, copy_states
from trick_envs.errors import IllegalAction
from trick_envs.interfaces.openspiel.variant import Variant, all_open

Mask: TypeAlias = npt.NDArray[np.int8]
Play = tuple[int, int, int]  # the seat, its action, and who knows the action: a set of seats, as bits

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


class Moves:
    """Positions of one game after one another, by its compiled code.

    Args:
        game: what is played.

    Attributes:
        size: how many numbers a seat observes.
        to_deal: how many cards are dealt one by one; of a small variant, those that lie nowhere are not.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.size = game, game.view_size if isinstance(game, Variant) else game.layout.size
        self.to_deal = game.num_players * game.hand_size if isinstance(game, Variant) else game.deck.size
        self.nothing = (0.0,) * game.num_players  # returns until the deal is over
        self.no_action = np.zeros(game.num_actions, np.int8)
        self._shape, self._byte, self._players = (game.num_actions,), np.dtype(np.int8), (game.num_players,)
        self._scratch = np.zeros(game.num_actions, np.int8)  # that nobody reads: threads share it
        self._branch = game.kernels.direct("branch")
        self._observe = game.kernels.direct("observe")

    def view(self, record: States, seat: int) -> npt.NDArray[np.int8]:
        """What a seat observes, as in the environments."""
        out = np.empty(self.size, self._byte)
        self._observe(record, 0, seat, out, self._scratch)
        return out

    def dealt(self, order: Sequence[int]) -> tuple[States, int, Mask]:
        """The record when these cards have been dealt by seat 0, the seat to act, and its legal actions."""
        record = copy_states(self.game.template)
        self.game.kernels.deal_order(record, np.array(order, np.int8), 0)
        return record, *self.look(record)

    def look(self, record: States) -> tuple[int, Mask]:
        """The seat to act, and its legal actions."""
        mask = np.empty(self._shape, self._byte)
        return int(self.game.kernels.look(record, mask)), mask

    def played(self, record: States, action: int) -> tuple[States, int, Mask, tuple[float, ...]]:
        """The record after an action, who is to act, the legal actions, and the returns.

        Raises:
            IllegalAction: if it is not legal.
        """
        after, mask, rewards = np.empty(1, record.dtype), np.empty(self._shape, self._byte), np.empty(self._players)
        result = self._branch(record, action, ZERO_SUM, after, rewards, mask)
        if result == ILLEGAL:
            raise IllegalAction(why_illegal(self.game, record, action))
        if result < DEAL_ENDED:
            return after, int(result), mask, self.nothing
        return after, TERMINAL, mask, tuple(rewards.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return moves, (self.game,)


@cache
def moves(game: Game) -> Moves:
    """The ``Moves`` of a game; they are the same for equal games."""
    return Moves(game)


_ways = cache(math.comb)


@cache
def _of_one_pack(count: int, missing: int) -> list[float]:
    """By card: the probability that it is the lowest of ``missing`` ones among ``count``; as many as can be."""
    return [_ways(count - i - 1, missing - 1) / _ways(count, missing) for i in range(count - missing + 1)]


def next_cards(left: Sequence[int], last: int, drawn: int, missing: int) -> list[tuple[int, float]]:
    """The kinds that may come next to a hand whose cards are dealt in ascending order, with exact probabilities.

    All hands of the cards that are left have the same chance (two copies of a kind are two cards), and each of them,
    as kinds, is dealt in one way.

    Args:
        left: by kind: how many are not dealt yet.
        last: the kind that this hand has got last; -1 at its beginning.
        drawn: how many of that kind the hand has.
        missing: how many cards it still gets.
    """
    kinds, above = [kind for kind in range(last + 1, len(left)) if left[kind]], sum(left[last + 1 :])
    copies = left[last] + drawn if last >= 0 else 0
    if copies <= 1 and len(kinds) == above:
        return list(zip(kinds, _of_one_pack(above, missing), strict=False))
    ways = [
        _ways(copies, drawn + more) * _ways(above, missing - more) for more in range(min(copies - drawn, missing) + 1)
    ]
    total = sum(ways)
    found = [(last, (total - ways[0]) / total)]
    for kind in kinds:
        fewer = above - left[kind]
        found.append((kind, _ways(copies, drawn) * (_ways(above, missing) - _ways(fewer, missing)) / total))
        above = fewer
    return [(kind, chance) for kind, chance in found if chance > 0]


class Position:
    """A position in a deal. It is immutable, so copies of a state share it.

    Attributes:
        game: what is played.
        record: ``(1,)``, the template as long as cards are dealt.
        player: the seat to act, ``CHANCE`` or ``TERMINAL``.
        mask: ``(A,) int8``, the legal actions of the seat to act.
        returns: by seat; 0 until the deal is over.
        dealt: the kinds of the cards dealt so far: hand after hand, then the stock.
        left: how many cards of each kind are not dealt yet.
        before: the position before the last play, if known.
        last: the last play: the seat and its action; ``None`` without one.
    """

    __slots__ = (
        "_digests", "_moves", "_plays",
        "before", "dealt", "game", "last", "left", "mask", "player", "record", "returns",
    )  # fmt: skip

    def __init__(
        self,
        moves: Moves,
        record: States,
        player: int,
        mask: Mask,
        returns: tuple[float, ...],
        dealt: tuple[int, ...],
        left: Sequence[int],
        before: Position | None = None,
        last: tuple[int, int] | None = None,
    ) -> None:
        self.game, self.record, self.player, self.mask, self.returns = moves.game, record, player, mask, returns
        self._moves, self.dealt, self.left, self.before, self.last = moves, dealt, left, before, last
        self._plays: tuple[Play, ...] | None = None if last is not None else ()
        self._digests: dict[int, str] = {}

    @classmethod
    def start(cls, game: Game) -> Position:
        """Before the first card is dealt."""
        own, deck = moves(game), game.deck
        return cls(own, game.template, CHANCE, own.no_action, own.nothing, (), [deck.copies] * deck.kinds)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def legal(self) -> list[int]:
        """The legal actions, ascending."""
        return self.mask.nonzero()[0].tolist()

    @property
    def dealing(self) -> bool:
        """Whether cards are dealt."""
        return self.player == CHANCE

    @property
    def hands(self) -> list[tuple[int, ...]]:
        """The hands as dealt, as far as they are."""
        size, held = self.game.hand_size, self.dealt[: self.game.num_players * self.game.hand_size]
        return [held[at : at + size] for at in range(0, len(held), size)]

    def next_cards(self) -> list[tuple[int, float]]:
        """The kinds that may be dealt next, ascending, each with its probability."""
        seat, at = divmod(len(self.dealt), self.game.hand_size)
        if seat >= self.game.num_players:  # the stock has an order
            total = self.game.deck.size - len(self.dealt)
            return [(kind, count / total) for kind, count in enumerate(self.left) if count]
        hand = self.dealt[len(self.dealt) - at :]
        last = hand[-1] if hand else -1
        return next_cards(self.left, last, hand.count(last), self.game.hand_size - at)

    def with_card(self, kind: int) -> Position:
        """The position after the next card was dealt. Seat 0 deals.

        Raises:
            IllegalAction: if it cannot be dealt: a hand gets its cards in ascending order.
        """
        if not self._may_be_dealt(kind):
            raise IllegalAction(f"{kind} cannot be dealt next: expected one of {[one for one, _ in self.next_cards()]}")
        own, dealt, left = self._moves, (*self.dealt, kind), [*self.left]
        left[kind] -= 1
        if len(dealt) < own.to_deal:
            return Position(own, self.record, CHANCE, self.mask, self.returns, dealt, left)
        dealt += tuple(itertools.chain.from_iterable([kind] * count for kind, count in enumerate(left)))
        order, first = [], set[int]()
        for each in dealt:
            order.append(each + WORD * (each in first))
            first.add(each)
        return Position(own, *own.dealt(order), self.returns, dealt, left)

    def _may_be_dealt(self, kind: int) -> bool:
        """Whether it is among ``next_cards``, found out sooner."""
        seat, at = divmod(len(self.dealt), self.game.hand_size)
        if not 0 <= kind < len(self.left) or not self.left[kind]:
            return False
        if seat >= self.game.num_players:
            return True
        return (not at or kind >= self.dealt[-1]) and sum(self.left[kind:]) >= self.game.hand_size - at

    def played(self, action: int) -> Position:
        """The position after an action.

        Raises:
            IllegalAction: if it is not legal.
        """
        after = self._moves.played(self.record, action)
        return Position(self._moves, *after, self.dealt, self.left, self, (self.player, action))

    @property
    def plays(self) -> tuple[Play, ...]:
        """Every decision so far, with who knows of it: found out when somebody asks."""
        unknown, position = list[Position](), self
        while position._plays is None:
            assert position.before is not None
            unknown.append(position)
            position = position.before
        found = position._plays
        for position in reversed(unknown):
            assert position.last is not None
            found = position._plays = (*found, (*position.last, position._who_knows(*position.last)))
        return found

    def _who_knows(self, actor: int, action: int) -> int:
        """The seats that know the card that has just been named: all if it lies open now, else those that see it."""
        game, everybody = self.game, (1 << self.game.num_players) - 1
        if all_open(game.type):
            return everybody
        assert self.before is not None
        if self.before.record["phase"][0] == PASS:
            return 1 << actor  # who gets the cards sees them, but not in which order they were named
        words, it = self.record.view(np.int64), np.int64(1 << action % WORD)
        of_the_card = slice(0, 2) if game.deck.copies == 2 else slice(action // WORD, action // WORD + 1)
        if (words[_words(game, "open")[:, of_the_card]] & it).any():
            return everybody
        knows = (words[_words(game, "hand")[:, of_the_card]] | words[_words(game, "seen")[:, of_the_card]]) & it
        return 1 << actor | sum(1 << int(seat) for seat in np.flatnonzero(knows.any(axis=1)))

    def view(self, seat: int) -> npt.NDArray[np.int8]:
        """What a seat observes, as in the environments."""
        return self._moves.view(self.record, seat)

    def digest(self, seat: int) -> str:
        """A digest of all that a seat has observed, play by play."""
        if seat not in self._digests:
            before = "" if self.before is None else self.before.digest(seat)
            self._digests[seat] = hashlib.sha256(before.encode() + self.view(seat).tobytes()).hexdigest()[:16]
        return self._digests[seat]

    def greedy(self) -> int:
        """The action of the game's heuristic."""
        actions = np.zeros(1, np.int64)
        self.game.kernels.greedy_actions(self.record, actions)
        return int(actions[0])

    def resampled(self, seat: int, rng: np.random.Generator) -> Position:
        """The position in another world, drawn by ``Game.resample``, that looks the same to a seat.

        Nobody remembers there what the seat did not see others pass: it was another card.
        """
        record = self.game.resample(self.record, seat, rng)
        _, mask = self._moves.look(record)
        other = Position(self._moves, record, self.player, mask, self.returns, self.dealt, self.left)
        other._plays = tuple((actor, action, known if known >> seat & 1 else 0) for actor, action, known in self.plays)
        other._digests[seat] = self.digest(seat)
        return other

    def hands_anew(self, seat: int, random: Callable[[], float]) -> list[list[int]]:
        """Hands that may have been dealt: the cards that a seat has not seen are shuffled, with those that no hand got.

        Not all such hands allow what others have played. ``random`` draws from 0 … 1.
        """
        lies = places(self.game, self.record)
        held = [lies[f"hand {each}"] if each != seat else [] for each in range(self.game.num_players)]
        unseen = list(itertools.chain(*held, set(self.game.deck.cards).difference(*lies.values())))
        for i in range(len(unseen) - 1, 0, -1):
            j = int(random() * (i + 1))
            unseen[i], unseen[j] = unseen[j], unseen[i]
        cards = iter(unseen)
        return [
            sorted({*hand}.difference(old) | {*itertools.islice(cards, len(old))})
            for hand, old in zip(self.hands, held, strict=True)
        ]


@cache
def _words(game: Game, place: str) -> npt.NDArray[np.int64]:
    """Where the card sets of a place lie in a record, ``(sets, 2)``, in words; ``"open"``: those of all open places."""
    names = [name for name, each in game.type.places.items() if each.open] if place == "open" else [place]
    assert game.dtype.fields is not None
    fields = [game.dtype.fields[name] for name in names]
    return np.concatenate([at // 8 + np.arange(dtype.itemsize // 8).reshape(-1, 2) for dtype, at, *_ in fields])
