"""Counts of all legal lines from positions near the end of a deal, as chess programs count them ("perft").

Engine and brute force (``brute_force.py``: plain Python, from the rule pages alone) have to agree on where every line
leads, and the number of lines is pinned, so that a mistake made in both is seen when it is mended in one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import brute_force
import numpy as np
import pytest
from helpers import TABLES, legal_of, marks_of

from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.cards import members
from trick_envs.engine.registry import load_game
from trick_envs.interfaces.aec import RawEnv

ALL = 99


class Case(NamedTuple):
    """A position, and how many lines go on from it.

    The position is one of the match with this seed in which ``scripted`` names the cards: of its last deal, before
    the ``at``-th decision, or with a negative number before the one so many from the end.
    """

    game: str
    players: int
    seed: int
    at: int
    lines: int
    decisions: int = ALL  # lines stop after so many
    width: int = ALL  # only so many cards are tried at a decision
    num_deals: int | None = 1
    lead_peppers: bool = False

    def __str__(self) -> str:
        extra = f"-{self.num_deals}deals" if self.num_deals != 1 else "-lead_peppers" if self.lead_peppers else ""
        return f"{self.game}-{self.players}{extra}-seed{self.seed}-at{self.at}"


CASES = [
    # Pepper: three and more peppers in front, hands of different sizes.
    Case("pepper", 3, 1, -9, 396),
    Case("pepper", 3, 3, -9, 558),
    Case("pepper", 4, 1, -9, 2332),
    Case("pepper", 4, 4, -12, 1958),
    Case("pepper", 5, 0, -15, 3136),
    Case("pepper", 5, 2, -11, 2448),
    Case("pepper", 6, 0, -17, 4992),
    Case("pepper", 7, 0, -20, 1004),
    Case("pepper", 8, 4, -23, 5184),
    Case("pepper", 9, 2, -19, 6336),
    Case("pepper", 3, 0, -9, 1760, lead_peppers=True),
    Case("pepper", 4, 0, -9, 682, lead_peppers=True),
    Case("pepper", 5, 0, -11, 5712, lead_peppers=True),
    Case("pepper", 7, 0, -15, 6700, lead_peppers=True),
    # Donguri.
    Case("donguri", 3, 0, -12, 898),
    Case("donguri", 3, 1, -12, 1186),
    Case("donguri", 3, 2, -12, 4944),
    Case("donguri", 4, 0, -16, 3812),
    Case("donguri", 4, 1, -16, 3836),
    Case("donguri", 4, 2, -12, 680),
    Case("donguri", 5, 0, -15, 1360),
    Case("donguri", 5, 1, -15, 504),
    Case("donguri", 5, 2, -15, 1576),
    # Zaraba 22: followers and leaders keep in many of these lines; some begin in the middle of a trick.
    Case("zaraba22", 3, 0, -11, 1792),
    Case("zaraba22", 3, 3, -11, 15288),
    Case("zaraba22", 3, 6, -11, 4248),
    Case("zaraba22", 3, 0, -16, 11912, width=2),
    Case("zaraba22", 3, 1, -16, 7216, width=2),
    Case("zaraba22", 3, 3, -16, 8988, width=2),
    # Double-Deck German Whist: the first trick with its pick, the last pick and the lead after it, the last two
    # tricks of the first half, the end of the second.
    Case("double_deck_whist", 4, 0, 0, 4775, decisions=6),
    Case("double_deck_whist", 4, 1, 0, 12556, decisions=6),
    Case("double_deck_whist", 4, 0, 60, 7968, decisions=6),
    Case("double_deck_whist", 4, 1, 60, 7215, decisions=6),
    Case("double_deck_whist", 4, 0, 55, 2748, decisions=12, width=2),
    Case("double_deck_whist", 4, 1, 55, 2080, decisions=12, width=2),
    Case("double_deck_whist", 4, 3, -16, 1832),
    Case("double_deck_whist", 4, 5, -16, 3744),
    Case("double_deck_whist", 4, 8, -16, 6768),
    # Tricky Express: the forced exchange, both exchanges with two cards to choose from, the last two seats of the
    # free one, the end of a deal, the end of the fourth deal of four with its development bonus.
    Case("tricky_express", 4, 0, 0, 48, decisions=8),
    Case("tricky_express", 4, 1, 0, 8, decisions=8),
    Case("tricky_express", 4, 0, 0, 4096, decisions=16, width=2),
    Case("tricky_express", 4, 1, 0, 2048, decisions=16, width=2),
    Case("tricky_express", 4, 0, 12, 24336, decisions=4),
    Case("tricky_express", 4, 1, -16, 6832),
    Case("tricky_express", 4, 2, -16, 12960),
    Case("tricky_express", 4, 3, -16, 14976),
    Case("tricky_express", 4, 10, -16, 3504, num_deals=None),
    Case("tricky_express", 4, 12, -16, 5320, num_deals=None),
    Case("tricky_express", 4, 16, -16, 4736, num_deals=None),
]
MANY = 8000  # lines, for brute force
every_case = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.slow if case.lines > MANY else marks_of(case.game, case.players))
        for case in CASES
    ],
    ids=map(str, CASES),
)


def scripted(actions: list[int], count: int, seed: int) -> int:
    """Some legal action, the same everywhere."""
    return actions[(seed * 31 + count * 17 + count // 5) % len(actions)]


def position(case: Case) -> tuple[RawEnv, brute_force.Game]:
    """The position in the engine, and the same for brute force, which plays the record's last deal up to it."""
    options = {"lead_peppers": True} if case.lead_peppers else {}
    env = RawEnv(load_game(case.game, case.players, case.num_deals, **options))
    env.reset(seed=case.seed)
    count = 0
    while env.phase != "over":
        env.step(scripted(legal_of(env.game, env.states), count, case.seed))
        count += 1
    record = env.record()
    del record["deals"][-1]["actions"][case.at :]
    env.reset(seed=case.seed)
    for deal, slow in zip(record["deals"], brute_force.deals_of(record), strict=True):
        for _, card in deal["actions"]:
            env.step(env.game.deck.parse(card))
            slow.play(card)
    return env, slow


def engine_lines(env: RawEnv, case: Case) -> Counter[tuple[Any, ...]]:
    """As ``brute_force.lines``, by the engine: all lines one decision further at a time."""
    options = {"lead_peppers": True} if case.lead_peppers else {}
    found: Counter[tuple[Any, ...]] = Counter()
    masks, states = env.observe(env.agent_selection)["action_mask"][None], env.states
    for _ in range(case.decisions):
        rows, actions = np.nonzero(masks * (masks.cumsum(axis=1) <= case.width))
        if len(rows) == 0:
            return found
        batch = BatchEnv(case.game, len(rows), case.players, case.num_deals, **options)
        batch.reset(seed=0)
        batch.states[:] = states[rows]
        rewards, ends = batch.step(actions)
        found.update(map(tuple, rewards[ends].astype(int).tolist()))
        masks, states = batch.action_masks[~ends], batch.states[~ends]
    for state in states:
        hands = (" ".join(env.game.deck.format_all(members(hand))) for hand in state["hand"][: case.players])
        found[(int(state["seat"]), *hands)] += 1
    return found


@every_case
def test_engine_and_brute_force_count_the_same_lines(case):
    env, slow = position(case)
    lines = engine_lines(env, case)
    assert lines == brute_force.lines(slow, case.width, case.decisions, env.game.deck.names)
    assert lines.total() == case.lines


def test_the_positions_are_of_every_game_and_number_of_players():
    assert {(case.game, case.players) for case in CASES} == {
        (name, players) for name, players in TABLES if name in brute_force.GAMES
    }


def test_brute_force_agrees_with_the_examples_of_the_rule_pages():
    empty = {"hands": [[]] * 4, "stock": [], "dealer": 0}
    earlier = [[0, 3, 4, 0], [1, 4, 4, 0], [2, 4, 4, 0]]  # first long passes of deals 1-3
    for before, scores in (([], [3, 6, 5, 0]), (earlier, [3 + 8, 6 + 6, 5, 0])):
        express = brute_force.TrickyExpress(empty, before)
        express.line = ["ABCD".index(seat) for seat in "CABACBDAACBBB"]
        first_two = [express.long_passes(seat)[:2] for seat in range(4)]
        assert first_two == [[(3, 7), (1, 3)], [(4, 10), (2, 5)], [(4, 9), (3, 4)], []]
        assert express.scores() == scores
    chart = ["10S", "3H", "2H", "JH", "10D", "8D", "2D", "AD", "3C", "4C", "7C", "AC"]
    zaraba = brute_force.Zaraba22({"hands": [[]] * 3, "stock": chart, "dealer": 0})
    assert [zaraba.price(suit) for suit in "SHDC"] == [1, 3, -1, -1]
