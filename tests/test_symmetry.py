"""No game prefers a suit: a relabelled deal, played with relabelled cards, is the same game.

Every test plays random matches, relabels their records, and compares what all seats see on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from helpers import TABLES, every_game, legal_of, look, of_tables
from relabelling import Relabelling, relabel_record

from trick_envs.engine.game import Game
from trick_envs.engine.observation import Block, Layout, Unit
from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.symmetry import by_suit
from trick_envs.matches.match import Match
from trick_envs.matches.replay import replay, start_match

SYMMETRIC = [(name, players) for name, players in TABLES if game_type(name).suit_symmetric]
every_table = of_tables(SYMMETRIC)


@dataclass
class Sights:
    """A match as all seats see it: before every card, and at the end (``T`` moments)."""

    seats: npt.NDArray[np.int64]  # (T,): who is to act
    observations: npt.NDArray[np.int8]  # (T, players, D)
    masks: npt.NDArray[np.int8]  # (T, players, A)
    vectors: npt.NDArray[np.int8]  # (T, S): of state()
    results: tuple[list[Any], list[int] | None]  # scores and rewards of the deals, and the winners


def random_record(game: Game, seed: int, cards: int = 10**9) -> dict[str, Any]:
    """The record of a random match, or of its first so many cards."""
    match, rng = Match(game, seed), np.random.default_rng(seed)
    while not match.over and cards > 0:
        match.step(int(rng.choice(legal_of(game, match.states))))
        cards -= 1
    return match.record()


def sights(record: dict[str, Any]) -> Sights:
    """Plays a record again, and looks at every moment of it."""
    match, seats, seen, vectors = start_match(record), [], [], []
    game = match.game

    def take_in() -> None:
        seats.append(int(match.states["seat"][0]))
        seen.append([look(game, match.states, seat) for seat in range(game.num_players)])
        vectors.append(np.zeros(game.state_layout.size, np.int8))
        game.kernels.write_full_state(match.states, 0, vectors[-1])

    for deal in record["deals"]:
        for seat, card in deal["actions"]:
            assert seat == match.states["seat"][0]
            take_in()
            match.step(game.deck.parse(card))
    take_in()
    views, masks = (
        np.array([[np.frombuffer(pair[i], np.int8) for pair in moment] for moment in seen]) for i in range(2)
    )
    results = [(deal.score, deal.rewards) for deal in match.deals], match.winners()
    return Sights(np.array(seats), views, masks, np.array(vectors), results)


def relabellings(game: Game, seed: int, count: int = 3) -> Iterator[Relabelling]:
    """Random ones, none of which leaves all suits where they are."""
    rng, suits = np.random.default_rng(seed), range(len(game.deck.suits))
    while count > 0:
        drawn = rng.permutation(len(suits)).tolist()
        if drawn != list(suits):
            yield Relabelling(game, drawn)
            count -= 1


def differences(before: Sights, after: Sights, relabelling: Relabelling) -> set[tuple[str, str]]:
    """Where a match differs from a relabelled one: layout and block of what some seat sees at some moment."""
    found = set()
    for layout, expected, seen in (
        ("layout", relabelling.observations(before.observations), after.observations),
        ("state_layout", relabelling.states(before.vectors), after.vectors),
    ):
        blocks = getattr(relabelling.game, layout)
        differ = (expected != seen).reshape(-1, blocks.size).any(axis=0)
        found |= {(layout, name) for name, where in blocks.slices().items() if differ[where].any()}
    return found


def settings(name: str) -> list[dict[str, bool]]:
    """The options as they are by default, and each of them changed."""
    return [{}, *({option: not default} for option, default in game_type(name).options.items())]


# --- the same game ------------------------------------------------------------------------------------------------


@every_table
def test_a_relabelled_match_shows_relabelled_sights_and_has_the_same_scores(name, players):
    for options in settings(name):
        game = load_game(name, players, num_deals=2, **options)
        for seed in range(2):
            record = random_record(game, seed)
            before = sights(record)
            assert before.results[1] is not None
            for relabelling in relabellings(game, seed):
                after = sights(relabel_record(record, relabelling))
                assert not differences(before, after, relabelling)
                assert (after.masks == relabelling.masks(before.masks)).all()
                assert (after.seats == before.seats).all()
                assert after.results == before.results


def damaged(game: Game, layout: str, name: str, unit: Unit) -> Any:
    """What a relabelling uses of a game, with another unit at one block of one of its layouts."""
    blocks = (replace(block, unit=unit) if block.name == name else block for block in getattr(game, layout))
    return SimpleNamespace(**{**vars(game), layout: Layout(blocks)})


def wrong_units(block: Block, game: Game) -> Iterator[Unit]:
    """The units that a block could have by its length, and does not have."""
    for unit in get_args(Unit):
        if unit not in (block.unit, "card number"):
            try:
                by_suit(replace(block, unit=unit), game.deck)
            except ValueError:
                continue
            yield unit


@every_table
def test_a_wrong_unit_would_show(name, players):
    """The test above needs the unit of every block: with any other that fits its length, the block differs."""
    game = load_game(name, players)  # of the original's length: all blocks get numbers other than 0
    record = random_record(game, seed=8)
    before, tried, noticed = sights(record), set(), set()
    for relabelling in relabellings(game, seed=1):
        after = sights(relabel_record(record, relabelling))
        for layout in ("layout", "state_layout"):
            for block in getattr(game, layout):
                for unit in wrong_units(block, game):
                    wrong = Relabelling(damaged(game, layout, block.name, unit), relabelling.suits)
                    tried.add((layout, block.name, unit))
                    if differences(before, after, wrong) == {(layout, block.name)}:
                        noticed.add((layout, block.name, unit))
    assert len(tried) > 10
    assert noticed == tried


# --- relabelling --------------------------------------------------------------------------------------------------


def test_a_relabelling_moves_suits_and_keeps_ranks():
    game = load_game("pepper", 3)
    relabelling = Relabelling(game, [2, 0, 1, 3])  # RYGB: red becomes green, yellow red, green yellow
    assert [relabelling.card(card) for card in ("1R", "9R", "5Y", "2G", "7B")] == ["1G", "9G", "5R", "2Y", "7B"]
    assert relabelling.actions[game.deck.parse("5Y")] == game.deck.parse("5R")
    mask = np.zeros((1, 2, game.num_actions), np.int8)
    mask[0, 1, game.deck.parse("5Y")] = 1
    assert np.argwhere(relabelling.masks(mask)).tolist() == [[0, 1, game.deck.parse("5R")]]
    where = game.layout.slices()["void"]
    observation = np.zeros(game.layout.size, np.float32)
    observation[where] = [1, 2, 3, 4, 0, 0, 5, 0, 0, 6, 0, 0]
    moved = relabelling.observations(observation)
    assert moved.dtype == np.float32
    assert moved[where].tolist() == [2, 3, 1, 4, 0, 5, 0, 0, 6, 0, 0, 0]
    with pytest.raises(ValueError, match="'2N' is no card of this deck"):
        relabelling.card("2N")


@every_game
def test_whatever_is_no_permutation_of_the_suits_is_refused(name):
    game = load_game(name)
    suits = list(range(len(game.deck.suits)))
    for wrong in ([], suits[1:], [*suits, len(suits)], [0, *suits[:-1]], [-1, *suits[1:]], [None, *suits[1:]], "CDHS"):
        with pytest.raises(ValueError, match=f"suits: expected the numbers 0 to {suits[-1]} in some order, not"):
            Relabelling(game, wrong)
    assert Relabelling(game, np.array(suits)).suits == tuple(suits)


def test_a_block_that_is_not_whole_runs_of_its_unit_is_refused():
    deck = load_game("pepper", 3).deck
    with pytest.raises(ValueError, match="block 'trumps': 6 numbers are no runs of 4, one suit each"):
        by_suit(Block("trumps", 6, "by seat: a suit", unit="suit"), deck)


# --- records ------------------------------------------------------------------------------------------------------


@every_table
def test_a_relabelled_record_is_a_record_and_can_be_relabelled_back(name, players):
    for cards in (0, 7, 10**9):
        game = load_game(name, players, num_deals=1)
        record = random_record(game, seed=5, cards=cards)
        for relabelling in relabellings(game, seed=5):
            moved = json.loads(json.dumps(relabel_record(record, relabelling)))
            assert moved["deals"][0]["hands"] != record["deals"][0]["hands"]
            assert replay(moved).record() == moved
            assert relabel_record(moved, Relabelling(game, np.argsort(relabelling.suits))) == record


def test_a_relabelled_record_keeps_all_but_the_cards():
    game = load_game("pepper", 3, num_deals=1, lead_peppers=True)
    record = random_record(game, seed=4)
    moved = relabel_record(record, Relabelling(load_game("pepper", 3), [1, 0, 2, 3]))
    assert {**moved, "deals": None} == {**record, "deals": None}
    deal, dealt = moved["deals"][0], record["deals"][0]
    swap = str.maketrans("RY", "YR")
    assert [sorted(hand) for hand in deal["hands"]] == [
        sorted(card.translate(swap) for card in hand) for hand in dealt["hands"]
    ]
    assert deal["actions"] == [[seat, card.translate(swap)] for seat, card in dealt["actions"]]
    assert (deal["dealer"], deal["score"]) == (dealt["dealer"], dealt["score"])


def test_what_cannot_be_relabelled_is_refused():
    record, suits = random_record(load_game("pepper", 3, num_deals=1), seed=4), [1, 0, 2, 3]
    for name, players in (("pepper", 4), ("tricky_express", 4)):
        with pytest.raises(ValueError, match=f"a relabelling of <{name} for {players}> does not fit a record of"):
            relabel_record(record, Relabelling(load_game(name, players), suits))
    record["deals"][0]["score"][0] += 1
    with pytest.raises(ValueError, match="deal 1: the record says the score is"):
        relabel_record(record, Relabelling(load_game("pepper", 3), suits))
