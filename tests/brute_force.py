"""All five games once more, slowly, from their rule pages alone.

Nothing here looks at the engine. Cards are texts, places are lists. A game starts from a deal as a match record holds
it; ``choices`` are the cards that the seat to act may name, ``play`` names one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

TWO_TO_ACE = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]


def suit(card: str) -> str:
    return card[-1]


class Game:
    """Hands, the trick as ``(seat, card)``, and the usual way to play: clockwise, following suit.

    Attributes:
        seat: who acts; when the deal is over, who took the last trick.
        over: the deal has ended.
    """

    ranks = TWO_TO_ACE  # weakest first
    original_deals = 1
    ends_early = False

    def __init__(self, deal: dict[str, Any]) -> None:
        self.hands = [list(hand) for hand in deal["hands"]]
        self.n = len(self.hands)
        self.dealer = deal["dealer"]
        self.seat = (self.dealer + 1) % self.n
        self.trick: list[tuple[int, str]] = []
        self.over = False

    def copy(self) -> Game:
        twin = object.__new__(type(self))
        for name, value in self.__dict__.items():
            if isinstance(value, list):
                value = [list(one) if isinstance(one, list) else one for one in value]
            setattr(twin, name, value)
        return twin

    def rank(self, card: str) -> int:
        return self.ranks.index(card[:-1])

    def follow(self, held: list[str]) -> list[str]:
        """Must follow suit, else any card."""
        led = suit(self.trick[0][1])
        return [card for card in held if suit(card) == led] or held

    def choices(self) -> list[str]:
        hand = self.hands[self.seat]
        return self.follow(hand) if self.trick else hand

    def play(self, card: str) -> None:
        self.hands[self.seat].remove(card)
        self.add_to_trick(card)

    def add_to_trick(self, card: str) -> None:
        self.trick.append((self.seat, card))
        if len(self.trick) < self.n:
            self.seat = (self.seat + 1) % self.n
            return
        self.seat = self.winner()
        self.end_trick([card for _, card in self.trick])
        self.trick = []

    def winner(self) -> int:
        """The highest card of the led suit."""
        led = suit(self.trick[0][1])
        return max((self.rank(card), seat) for seat, card in self.trick if suit(card) == led)[1]

    def end_trick(self, taken: list[str]) -> None:
        raise NotImplementedError

    def scores(self) -> list[int]:
        raise NotImplementedError

    def next_dealer(self) -> int:
        return (self.dealer + 1) % self.n


class Pepper(Game):
    original_deals = 5

    def __init__(self, deal: dict[str, Any], lead_peppers: bool = False) -> None:
        super().__init__(deal)
        self.front = [[card for card in hand if card[:-1] == "1"] for hand in self.hands]
        self.hands = [[card for card in hand if card[:-1] != "1"] for hand in self.hands]
        self.piles: list[list[str]] = [[] for _ in self.hands]
        self.seat = self.dealer
        self.lead_peppers = lead_peppers

    def rank(self, card: str) -> int:
        return int(card[:-1])

    def choices(self) -> list[str]:
        hand, front = self.hands[self.seat], self.front[self.seat]
        if self.trick:
            return self.follow(hand + front)
        return hand + front if self.lead_peppers else hand

    def play(self, card: str) -> None:
        (self.front if card[:-1] == "1" else self.hands)[self.seat].remove(card)
        self.add_to_trick(card)

    def end_trick(self, taken: list[str]) -> None:
        for card in taken:
            (self.front if card[:-1] == "1" else self.piles)[self.seat].append(card)
        self.over = not all(self.hands)

    def scores(self) -> list[int]:
        return [
            -sum(
                2 + sum(suit(card) == suit(pepper) for card in self.piles[seat] + self.hands[seat])
                for pepper in self.front[seat]
            )
            for seat in range(self.n)
        ]

    def next_dealer(self) -> int:
        return self.seat


class Donguri(Game):
    points = {  # noqa: RUF012
        3: {"6": 3, "J": 3, "5": 2, "Q": 2},
        4: {"5": 2, "6": 2, "J": 2, "Q": 2},
        5: {"4": 2, "5": 2, "12": 2, "13": 2},
    }

    def __init__(self, deal: dict[str, Any]) -> None:
        super().__init__(deal)
        self.captured = [0] * self.n
        self.ranks = [str(number) for number in range(1, 17)] if self.n == 5 else TWO_TO_ACE[1:]
        self.original_deals = {3: 9, 4: 8, 5: 5}[self.n]

    def winner(self) -> int:
        votes = [card for place, (_, card) in enumerate(self.trick) if self.n != 4 or place != 1]
        acorns = sum(card[:-1] in self.ranks[: len(self.ranks) // 2] for card in votes)
        best = max if acorns > len(votes) - acorns else min
        return best(self.trick, key=lambda played: self.rank(played[1]))[0]  # of equal ranks the first one

    def end_trick(self, taken: list[str]) -> None:
        self.captured[self.seat] += sum(self.points[self.n].get(card[:-1], 1) for card in taken)
        self.over = not any(self.hands)

    def scores(self) -> list[int]:
        return [captured - max(self.captured) for captured in self.captured]


class Zaraba22(Game):
    ranks = ["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J"]  # noqa: RUF012
    original_deals = 3

    def __init__(self, deal: dict[str, Any]) -> None:
        super().__init__(deal)
        self.chart = list(deal["stock"])
        self.taken: list[list[str]] = [[] for _ in self.hands]
        self.seat = self.leader = self.dealer
        self.leads: list[str] = []  # those still there
        self.phase = "lead"

    def choices(self) -> list[str]:
        if self.phase == "keep":
            return self.leads
        hand = self.hands[self.seat]
        if self.phase == "lead":
            return hand
        suits = {suit(card) for card in self.leads}
        return [card for card in hand if suit(card) in suits] or hand

    def play(self, card: str) -> None:
        if self.phase == "keep":
            self.stays(card)
            self.phase = "follow"
            if self.seat == self.leader:
                self.take()
            else:
                self.go_on()
            return
        self.hands[self.seat].remove(card)
        if self.phase == "lead":
            self.leads.append(card)
            if len(self.leads) == 2:
                self.phase, self.seat = "follow", (self.seat + 1) % 3
            return
        self.trick.append((self.seat, card))
        if len(self.leads) == 2:
            matched = [lead for lead in self.leads if suit(lead) == suit(card)]
            if len(matched) == 2:
                self.phase = "keep"
                return
            if matched:
                self.stays(matched[0])
        self.go_on()

    def stays(self, card: str) -> None:
        self.chart += [lead for lead in self.leads if lead != card]
        self.leads = [card]

    def go_on(self) -> None:
        self.seat = (self.seat + 1) % 3
        if len(self.trick) == 2:
            if len(self.leads) == 2:
                self.phase = "keep"  # the leader's choice
            else:
                self.take()

    def take(self) -> None:
        lead = self.leads[0]
        three = [(self.leader, lead), *self.trick]
        self.seat = self.leader = max((self.rank(card), seat) for seat, card in three if suit(card) == suit(lead))[1]
        self.taken[self.seat] += [card for _, card in three]
        self.trick, self.leads, self.phase = [], [], "lead"
        self.over = not all(self.hands) or len(self.hands[self.seat]) < 2

    def price(self, wanted: str) -> int:
        numbers = [card[:-1] for card in self.chart if suit(card) == wanted]
        total = sum({"A": 11, "J": 10}.get(number) or int(number) for number in numbers)
        return -1 if total >= 22 else len(numbers)

    def scores(self) -> list[int]:
        return [sum(self.price(suit(card)) for card in self.taken[seat] + self.hands[seat]) for seat in range(3)]


class DoubleDeckWhist(Game):
    original_deals = 5
    ends_early = True

    def __init__(self, deal: dict[str, Any]) -> None:
        super().__init__(deal)
        self.stock = list(deal["stock"])
        self.trump = suit(self.stock[0])
        self.won = [0, 0]  # tricks of the second half, by team
        self.picking = False

    def choices(self) -> list[str]:
        return self.stock[:2] if self.picking else super().choices()

    def play(self, card: str) -> None:
        if not self.picking:
            super().play(card)
            return
        face_up, face_down, self.stock = self.stock[:2], self.stock[2:4], self.stock[4:]
        face_up.remove(card)
        for seat, drawn in enumerate([card, face_down[0], face_up[0], face_down[1]]):
            self.hands[(self.seat + seat) % 4].append(drawn)
        self.picking = False

    def winner(self) -> int:
        led = suit(self.trick[0][1])

        def strength(played: tuple[int, str]) -> tuple[bool, bool, int]:
            return suit(played[1]) == self.trump, suit(played[1]) == led, self.rank(played[1])

        return max(self.trick, key=strength)[0]  # of identical cards the first one

    def end_trick(self, taken: list[str]) -> None:
        self.picking = bool(self.stock)
        if not self.picking:
            self.won[self.seat % 2] += 1
            self.over = not any(self.hands)

    def scores(self) -> list[int]:
        return [self.won[seat % 2] for seat in range(4)]


class TrickyExpress(Game):
    original_deals = 4

    def __init__(self, deal: dict[str, Any], earlier: Sequence[Sequence[int]] = ()) -> None:
        """``earlier``: the first long passes of all seats in deals 1-3, if this is the fourth of four."""
        super().__init__(deal)
        self.line: list[int] = []
        self.given: list[str] = []  # right, left, right, left, … from the dealer's left on
        self.exchange = 1
        self.earlier = [list(lengths) for lengths in earlier]

    def choices(self) -> list[str]:
        hand = self.hands[self.seat]
        if self.exchange == 1:
            return [card for card in hand if self.rank(card) == max(map(self.rank, hand))]
        return super().choices()

    def play(self, card: str) -> None:
        if self.exchange > 2:
            super().play(card)
            return
        self.hands[self.seat].remove(card)
        self.given.append(card)
        self.seat = (self.dealer + 1 + len(self.given) // 2) % 4
        if len(self.given) == 8:
            for i in range(4):
                giver = (self.dealer + 1 + i) % 4
                self.hands[(giver - 1) % 4].append(self.given[2 * i])
                self.hands[(giver + 1) % 4].append(self.given[2 * i + 1])
            self.given = []
            self.exchange += 1

    def end_trick(self, taken: list[str]) -> None:
        self.line.append(self.seat)
        self.over = not any(self.hands)

    def long_passes(self, seat: int) -> list[tuple[int, int]]:
        """The passes of a seat as length and trick of completion, the first long pass first."""
        stops = [trick for trick, stopped in enumerate(self.line) if stopped == seat]
        return sorted(((after - before - 1, after) for before, after in pairwise(stops)), reverse=True)

    def first_lengths(self) -> list[int]:
        return [self.long_passes(seat)[0][0] if self.long_passes(seat) else 0 for seat in range(4)]

    def scores(self) -> list[int]:
        scores = self.first_lengths()
        for place, bonus in ((0, 2), (1, 1)):
            passes = [(self.long_passes(seat)[place], seat) for seat in range(4) if len(self.long_passes(seat)) > place]
            if passes:
                scores[max(passes)[1]] += bonus
        if len(self.earlier) == 3:
            for seat, lengths in enumerate(zip(*self.earlier, self.first_lengths(), strict=True)):
                steps = [after - before for before, after in pairwise(lengths)]
                if min(steps) >= 0 and any(steps):
                    scores[seat] += 8 - steps.count(0)
        return scores


GAMES: dict[str, type[Game]] = {
    "pepper": Pepper,
    "donguri": Donguri,
    "zaraba22": Zaraba22,
    "double_deck_whist": DoubleDeckWhist,
    "tricky_express": TrickyExpress,
}


# --- every legal line ---------------------------------------------------------------------------------------------


def lines(position: Game, width: int, left: int, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """What every legal line of up to ``left`` decisions leads to, and how many lines lead there.

    A line may stop in the middle of a deal: then it leads to the hands and the seat to act. Where more than ``width``
    cards may be named, only the first ones count, in the order of ``names``.
    """
    found: Counter[tuple[Any, ...]] = Counter()
    order = {name: number for number, name in enumerate(names)}

    def go_on(position: Game, left: int) -> None:
        if position.over:
            found[tuple(position.scores())] += 1
            return
        if left == 0:
            hands = (" ".join(sorted(hand, key=order.__getitem__)) for hand in position.hands)
            found[(position.seat, *hands)] += 1
            return
        *others, last = sorted(set(position.choices()), key=order.__getitem__)[:width]
        for card in others:
            following = position.copy()
            following.play(card)
            go_on(following, left - 1)
        position.play(last)
        go_on(position, left - 1)

    go_on(position.copy(), left)
    return found


# --- whole matches ------------------------------------------------------------------------------------------------


def deals_of(record: dict[str, Any]) -> Iterator[Game]:
    """Every deal of a record as it begins; the caller plays it on before asking for the next one."""
    four = record["game"] == "tricky_express" and record["num_deals"] in (None, 4)
    earlier: list[list[int]] = []
    for deal in record["deals"]:
        options: dict[str, Any] = {**record.get("options", {}), **({"earlier": earlier} if four else {})}
        game = GAMES[record["game"]](deal, **options)
        yield game
        if isinstance(game, TrickyExpress):
            earlier.append(game.first_lengths())


def check_match(record: dict[str, Any], allowed: Sequence[set[str]]) -> None:
    """Plays the record of a finished match and asserts every score and dealer, who wins, and that ``allowed`` are the
    cards that might be named at each decision.
    """
    decisions = iter(allowed)
    dealer = record["deals"][0]["dealer"]
    total, deals_won, played = [0] * record["num_players"], [0, 0], 0
    for deal, game in zip(record["deals"], deals_of(record), strict=True):
        assert deal["dealer"] == dealer
        for seat, card in deal["actions"]:
            assert not game.over, "the deal should have ended before"
            assert seat == game.seat, "out of turn"
            assert set(game.choices()) == next(decisions), f"before {seat} names {card}"
            game.play(card)
        assert game.over, "the deal should go on"
        assert deal["score"] == game.scores()
        total = [before + its for before, its in zip(total, game.scores(), strict=True)]
        dealer, played = game.next_dealer(), played + 1
        if isinstance(game, DoubleDeckWhist):
            deals_won[0 if game.won[0] > game.won[1] else 1] += 1
        if record["num_deals"] is None:
            over = max(deals_won) == 3 if game.ends_early else played == game.original_deals
        else:
            over = played == record["num_deals"]
        assert over == (played == len(record["deals"]))
    assert next(decisions, None) is None
    assert record["score"] == total
    standing = [deals_won[seat % 2] for seat in range(4)] if record["game"] == "double_deck_whist" else total
    assert record["winners"] == [seat for seat, its in enumerate(standing) if its == max(standing)]
