"""Hidden worlds drawn anew, and the players that look ahead in them."""

from __future__ import annotations

import itertools
import types
from collections import Counter
from typing import Any

import numpy as np
import pytest
from helpers import every_game, every_table, legal_of, look, random_positions, start, step, twin_setup
from test_twin_worlds import hidden_from, hidden_swaps, positions

from trick_envs.agents import make_agent
from trick_envs.agents.search import SearchAgent
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.build.twin import call
from trick_envs.engine.cards import members
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.playing import DEAL_ENDED, MATCH_ENDED
from trick_envs.engine.positions import places
from trick_envs.engine.registry import load_game
from trick_envs.engine.rng import decision_bits_of
from trick_envs.engine.search.playouts import COMPARISON
from trick_envs.engine.search.worlds import ROWS, WIDTH
from trick_envs.engine.state import copy_states
from trick_envs.engine.table import card_of_flags
from trick_envs.games.double_deck_whist.rules import first_in_stock


def resampled(game: Game, states: Any, seat: int, count: int, seed: int = 0) -> Any:
    """``count`` worlds drawn for a seat."""
    return game.resample(np.repeat(states, count), seat, np.random.default_rng(seed))


@every_table
def test_a_drawn_world_looks_the_same_to_the_seat_and_plays_on(name: str, players: int) -> None:
    game, rng = twin_setup(name, players), np.random.default_rng(1)
    moved = 0
    for states in positions(game):
        seat = int(rng.integers(players))
        before = places(game, states)
        for world in resampled(game, states, seat, 3):
            one = np.array([world], game.dtype)
            assert look(game, one, seat) == look(game, states, seat)
            after = places(game, one)
            assert {place: len(found) for place, found in after.items()} == {p: len(c) for p, c in before.items()}
            assert sorted(c for found in after.values() for c in found) == sorted(game.deck.cards)
            moved += after != before
            assert one["rng"][0] != states["rng"][0]
            result = 0
            while result < MATCH_ENDED:  # and it can be played to its end
                result = step(game, one, int(rng.choice(legal_of(game, one))))
    assert moved > 10


@every_table
def test_twin_worlds_draw_the_same_worlds(name: str, players: int) -> None:
    """What is drawn hangs on what the seat knows, not on where the hidden cards truly lie, nor on who knows which."""
    game, rng, tried = twin_setup(name, players), np.random.default_rng(3), 0
    for number, states in enumerate(positions(game)):
        seat = int(rng.integers(players))
        drawn = resampled(game, states, seat, 3, number)
        for twin in hidden_swaps(game, states, seat, rng):
            other = resampled(game, twin, seat, 3, number)
            at = first_in_stock(states[0]) if name == "double_deck_whist" else len(states["order"][0])
            other["order"][:, :at] = drawn["order"][:, :at]  # nobody looks there after the deal
            other["trick"] = drawn["trick"]  # open, but for unused entries
            for field in game.dtype.names:
                assert other[field].tolist() == drawn[field].tolist(), field
            tried += 1
    assert tried > 50


@every_table
def test_a_drawn_world_is_as_good_as_a_dealt_one(name: str, players: int) -> None:
    """Worlds drawn from drawn worlds, for the same seat and for others: no card is lost, nothing seen changes."""
    game, rng = twin_setup(name, players), np.random.default_rng(4)
    for states in positions(game):
        world = states.copy()
        for seat in [0, 0, *rng.permutation(players)[:3], 0]:
            before, seen = places(game, world), look(game, world, int(seat))
            world = game.resample(copy_states(world), int(seat), rng)
            after = places(game, world)
            assert sorted(card for found in after.values() for card in found) == sorted(game.deck.cards)
            assert {place: len(found) for place, found in after.items()} == {p: len(c) for p, c in before.items()}
            assert look(game, world, int(seat)) == seen
        result = 0
        while result < MATCH_ENDED:
            result = step(game, world, int(rng.choice(legal_of(game, world))))
        assert sorted(card for found in places(game, world).values() for card in found) == sorted(game.deck.cards)


@every_game
def test_a_world_drawn_from_a_drawn_one_where_a_phase_begins_has_every_card_once_after_a_play(name: str) -> None:
    """What begins with it, such as who leads, may hang on a card that all know, as the two of clubs in Hearts."""
    game, rng = load_game(name, None, 1), np.random.default_rng(5)
    for seed in range(8):
        states, before, result = start(game, seed), -1, 0
        while result < DEAL_ENDED:
            phase = int(states["phase"][0])
            for first in range(game.num_players) if phase != before and states["tricks"][0] == 0 else ():
                world = resampled(game, states, first, 1, seed)
                again = resampled(game, world, (first + 1) % game.num_players, 8, seed)
                for each in again:
                    one = np.array([each], game.dtype)
                    if step(game, one, int(rng.choice(legal_of(game, one)))) < DEAL_ENDED:
                        lying = [card for found in places(game, one).values() for card in found]
                        assert sorted(lying) == sorted(game.deck.cards)
            before, result = phase, step(game, states, int(rng.choice(legal_of(game, states))))


@every_game
def test_a_world_that_is_never_accepted_still_has_every_card_once_and_looks_the_same(name: str) -> None:
    """After ``TRIES`` rejections cards go anywhere, whatever play has shown; here at once, in plain Python."""
    game = load_game(name, None, 1)
    copy = game.kernels.plain["deal_unseen"]
    deal = types.FunctionType(copy.__code__, {**copy.__globals__, "TRIES": 0})
    moved = 0
    for number, states in enumerate(random_positions(game, 3, 12)):
        world, seat = states.copy(), number % game.num_players
        streams, work = np.full(1, number, np.uint64), np.zeros((ROWS, WIDTH), np.int64)
        call(lambda all_, *given: deal(all_[0], *given), (world, seat, streams, 0, work))
        before, after = places(game, states), places(game, world)
        assert {place: len(found) for place, found in after.items()} == {p: len(c) for p, c in before.items()}
        assert sorted(c for found in after.values() for c in found) == sorted(game.deck.cards)
        assert look(game, world, seat) == look(game, states, seat)
        moved += after != before
    assert moved > 1


def given_by_force(hand: set[int], to_right: int, to_left: int) -> bool:
    """Whether a hand of Tricky Express had to give these: one of its highest rank, then one of those of the rest."""
    rest = {card % 13 for card in hand - {to_right}}
    return to_right % 13 == max(card % 13 for card in hand) and to_left % 13 == max(rest)


def can_have_been_given(hands: list[set[int]], seat: int, gave: dict[int, list[int]]) -> bool:
    """Whether there are forced gifts among the three others with which all three gave what they had to."""
    left, far, right = ((seat + k) % 4 for k in (1, 2, 3))
    (to_right, to_left), left_gave, right_gave = gave[seat], gave[left][0], gave[right][1]
    for from_far, from_left in itertools.product(hands[left] - {to_left}, hands[far]):
        if given_by_force(hands[left] - {from_far, to_left} | {from_left, left_gave}, left_gave, from_left):
            for other, from_right in itertools.product(hands[right] - {to_right}, hands[far] - {from_left}):
                at_right = hands[right] - {other, to_right} | {from_right, right_gave}
                at_far = hands[far] - {from_left, from_right} | {from_far, other}
                if given_by_force(at_right, from_right, right_gave) and given_by_force(at_far, from_far, other):
                    return True
    return False


def test_after_the_first_exchange_of_an_express_all_can_have_been_forced_to_their_gifts() -> None:
    game = load_game("tricky_express")
    for seed in range(4):
        states, rng, gave, seat = start(game, seed), np.random.default_rng(seed), dict[int, list[int]](), seed % 4
        for _ in range(8):
            gave.setdefault(int(states["seat"][0]), []).append(int(rng.choice(legal_of(game, states))))
            step(game, states, gave[int(states["seat"][0])][-1])
        for world in (*states, *resampled(game, states, seat, 20, seed)):
            hands = [set(members(world["hand"][other])) for other in range(4)]
            assert can_have_been_given(hands, seat, gave)


def test_cards_that_a_neighbour_has_played_count_among_those_above_its_forced_gift() -> None:
    game = load_game("tricky_express")
    for seed in range(60):
        states, rng, gave, played = (
            start(game, seed),
            np.random.default_rng(seed),
            {},
            {other: set() for other in range(4)},
        )
        for number in range(32):
            acts, action = int(states["seat"][0]), int(rng.choice(legal_of(game, states)))
            if number < 16:
                gave.setdefault(acts, []).append(action)
            else:
                played[acts].add(action)
            step(game, states, action)
        seat = seed % 4
        for world in (*states, *resampled(game, states, seat, 40, seed)):
            for other, gift, mine in (
                ((seat + 1) % 4, gave[(seat + 1) % 4][0], {gave[seat][1], gave[seat][3]}),
                ((seat + 3) % 4, gave[(seat + 3) % 4][1], {gave[seat][0], gave[seat][2]}),
            ):
                had = set(members(world["hand"][other])) | played[other]
                assert sum(card % 13 > gift % 13 for card in had - mine) <= 2


def test_notes_of_an_exchange_follow_the_cards_into_a_drawn_world() -> None:
    """Tricky Express: what another seat noted of its gifts names cards that lie where the noted cards lay."""
    game, rng = load_game("tricky_express"), np.random.default_rng(6)
    tried = 0
    for states in positions(game):
        world = game.resample(np.repeat(states, 1), 0, rng)
        notes = [one["exchanged"][0].reshape(4, 8) for one in (states, world)]
        for seat, k in np.argwhere(notes[0] > 0):
            assert notes[1][seat, k] > 0
            handed_over = states["named"][0] >= 8 * (1 + k // 4)
            if seat == 0 or ((seat - 1 if k % 2 == 0 else seat + 1) % 4 == 0 and handed_over):  # seat 0 saw it
                assert notes[1][seat, k] == notes[0][seat, k]
                continue
            tried += 1
            where = [
                place
                for place, found in places(game, states).items()
                if card_of_flags(states[0], notes[0][seat, k]) in found
            ]
            there = [
                place
                for place, found in places(game, world).items()
                if card_of_flags(world[0], notes[1][seat, k]) in found
            ]
            if states["named"][0] >= 8:  # forced gifts that wait are chosen anew
                assert there == where
    assert tried > 50


@every_game
def test_worlds_of_a_batch_are_drawn_for_the_seats_that_act(name: str) -> None:
    games = BatchEnv(name, 64)
    games.reset(0)
    rng = np.random.default_rng(2)
    for _ in range(9):
        games.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in games.action_masks]))
    before, observations = games.states.copy(), games.observations.copy()
    worlds = games.game.resample(games.states, games.seats, np.random.default_rng(3))
    np.testing.assert_array_equal(games.states, before)
    np.testing.assert_array_equal(games.game.resample(before, games.seats, np.random.default_rng(3)), worlds)
    assert (games.game.resample(before, games.seats, np.random.default_rng(4)) != worlds).any()
    games = BatchEnv(name, 64)  # play goes on from states alone
    games.states[:] = worlds
    games.observe()
    np.testing.assert_array_equal(games.observations, observations)
    games.step(games.action_masks.argmax(axis=1))


def test_what_cannot_be_drawn_is_told() -> None:
    games, rng = BatchEnv("pepper", 3), np.random.default_rng(0)
    games.reset(0)
    for seats in (5, -1, 0.5, [0, 1], [0, 1, 9]):
        with pytest.raises(ValueError, match="seats: expected seats of 0 to 4, one or 3, not"):
            games.game.resample(games.states, seats, rng)
    for other in (load_game("donguri"), load_game("pepper", 4)):
        with pytest.raises(ValueError, match="states: expected records of <"):
            other.resample(games.states, 0, rng)
    with pytest.raises(ValueError, match="states: expected records of <pepper for 5>"):
        games.game.resample(games.states[0], 0, rng)


@every_game
def test_drawn_worlds_respect_what_play_has_shown(name: str) -> None:
    game = twin_setup(name, load_game(name).num_players)
    suits, ranks = len(game.deck.suits), len(game.deck.ranks)
    shown = 0
    for states in positions(game):
        void = states["void"][0].reshape(-1)[: game.num_players * suits].reshape(game.num_players, suits)
        for world in resampled(game, states, 0, 4):
            for other, suit in np.argwhere(void[1:]):
                held = {game.deck.kind(card) // ranks for card in members(world.hand[other + 1])}
                assert suit not in held
                shown += 1
    assert shown > 20


def ends_of_deals(game: Game, most_hidden: int, least_worlds: int) -> Any:
    """A position near the end of a deal with voids, and all worlds that the first seat thinks possible."""
    ranks = len(game.deck.ranks)
    for seed in range(200):
        for states in random_positions(game, seed, 1):
            hidden = {place: found for place, found in hidden_from(game, states, 0).items() if found}
            cards = sorted(card for found in hidden.values() for card in found)
            if not 4 <= len(cards) <= most_hidden or len(hidden) < 2:
                continue
            suits = len(game.deck.suits)
            seats = [int(place.split()[1]) for place in hidden]
            void = {
                (seat, suit)
                for seat in seats
                for suit in range(suits)
                if states["void"][0][seat * suits + suit] and any(card // ranks == suit for card in cards)
            }
            if not void:
                continue
            worlds = set()
            sizes = [len(found) for found in hidden.values()]
            for order in itertools.permutations(cards):
                ends = np.cumsum(sizes)
                hands = [tuple(sorted(order[end - size : end])) for end, size in zip(ends, sizes, strict=True)]
                if not any(
                    (seat, card // ranks) in void for seat, hand in zip(seats, hands, strict=True) for card in hand
                ):
                    worlds.add(tuple(hands))
            if len(worlds) >= least_worlds:
                return states, seats, sorted(worlds)
    raise AssertionError("no such position")


@pytest.mark.parametrize(
    ("name", "players"), [("pepper", 3), ("pepper", 5), ("donguri", 3), ("donguri", 4), ("zaraba22", 3)]
)
def test_every_world_that_fits_is_drawn_equally_often(name: str, players: int) -> None:
    game = load_game(name, players, 1)
    states, seats, worlds = ends_of_deals(game, most_hidden=7, least_worlds=6)
    draws = 400 * len(worlds)
    found = Counter(
        tuple(tuple(c for c in members(world.hand[seat]) if c not in members(world.seen[0])) for seat in seats)
        for world in resampled(game, states, 0, draws)
    )
    assert set(found) == set(worlds)
    expected = draws / len(worlds)
    chi_square = sum((found[world] - expected) ** 2 / expected for world in worlds)
    freedom = len(worlds) - 1
    assert chi_square < freedom + 5 * (2 * freedom) ** 0.5  # five standard deviations


@pytest.mark.parametrize("spec", ["pimc:3", "ismcts:40"])
@every_game
def test_hidden_cards_do_not_change_what_a_search_plays(name: str, spec: str) -> None:
    game, rng = twin_setup(name, load_game(name).num_players), np.random.default_rng(4)
    agent, tried = make_agent(spec, game), 0
    for states in positions(game)[::2]:
        if len(legal_of(game, states)) < 2:
            continue
        chosen = agent.act(None, None, states)
        for twin in hidden_swaps(game, states, int(states["seat"][0]), rng, 2):
            twin["rng"] += np.uint64(1)  # another future, too
            assert agent.act(None, None, twin)[0] == chosen[0]
            tried += 1
    assert tried > 10


@every_game
def test_who_looks_ahead_among_greedy_players_in_the_true_world_gets_no_less_than_foreseen(name: str) -> None:
    """One step ahead, the rest by the heuristic: the best value can only rise from decision to decision."""
    game = load_game(name, None, 1)
    kernels, scratch, named = game.kernels, np.zeros(2, game.dtype), np.zeros(1, np.int64)
    for seed in range(5):
        states, result, foreseen = start(game, seed), 0, -np.inf
        while result < MATCH_ENDED:
            kernels.greedy_actions(states, named)
            seat, action = int(states["seat"][0]), int(named[0])
            if seat == 0 or (seat == 2 and game.type.teams):
                values = {}
                for action in legal_of(game, states):
                    scratch[0] = states[0]
                    values[action] = kernels.value_of(scratch, action, seat)
                action = max(values, key=values.__getitem__)
                assert values[action] >= foreseen
                foreseen = values[action]
            result = step(game, states, action)
        scores = states["deal_score"][0].reshape(-1)[: game.num_players]
        others = [seat for seat in range(1, game.num_players) if not (game.type.teams and seat == 2)]
        assert scores[0] - scores[others].mean() == pytest.approx(foreseen)


@every_game
def test_a_search_plays_legal_cards_and_leaves_the_game_alone(name: str) -> None:
    game = load_game(name, None, 1)
    agents = [make_agent(spec, game) for spec in ("pimc:2", "ismcts:12", "cheat:8", "search:2")]
    states, result = start(game, 5), 0
    while result < MATCH_ENDED:
        before = states.tobytes()
        actions = [int(agent.act(None, None, states)[0]) for agent in agents]
        assert states.tobytes() == before
        assert set(actions) <= set(legal_of(game, states))
        result = step(game, states, actions[result % len(agents)])


def test_a_search_repeats_itself_by_seed_however_games_are_batched() -> None:
    game = load_game("pepper", 5, 1)
    states = np.concatenate([next(itertools.islice(random_positions(game, seed, 1), 20, None)) for seed in range(20)])
    agent = make_agent("pimc:2", game, seed=3)
    together = agent.act(None, None, states)
    one_by_one = [make_agent("pimc:2", game, seed=3).act(None, None, states[i : i + 1])[0] for i in range(20)]
    np.testing.assert_array_equal(together, one_by_one)
    assert (make_agent("pimc:2", game, seed=4).act(None, None, states) != together).any()


class Stubborn:
    """Always the highest legal action."""

    name = "stubborn"

    def seed(self, seed: int) -> None: ...

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


@pytest.mark.parametrize("word", ["pimc", "ismcts"])
def test_a_search_leaves_another_players_choice_only_for_a_better_one(word: str) -> None:
    from trick_envs.evaluation.duplicate import evaluate

    game, stubborn = load_game("pepper", 5, 1), Stubborn()
    agent = SearchAgent(word, 40, game, baseline=stubborn)
    assert agent.name == f"stubborn+{word}:40"
    result = evaluate(game, agent, stubborn, 40)
    assert result.margin - result.half_width > 3
    games = BatchEnv("pepper", 200, 5, 1)
    games.reset(0)
    looks = games.observations, games.action_masks, games.states
    kept = (agent.act(*looks) == stubborn.act(*looks)).mean()
    assert 0.2 < kept < 0.8


@pytest.mark.parametrize("spec", ["pimc", "pimc:0", "pimc:x", "ismcts:-1", "search:", "cheat:1.5", "pimc:99999999"])
def test_a_search_spec_that_means_nothing_says_what_does(spec: str) -> None:
    with pytest.raises(ValueError, match="is no search: expected 'pimc:N'"):
        make_agent(spec, load_game("pepper"))


@pytest.mark.parametrize(
    ("name", "spec"),
    [("pepper", "pimc:10"), ("donguri", "ismcts:100"), ("double_deck_whist", "pimc:10"), ("zaraba22", "pimc:10")],
)
def test_search_beats_greedy(name: str, spec: str) -> None:
    from trick_envs.evaluation.duplicate import evaluate

    game = load_game(name, None, 1)
    result = evaluate(game, make_agent(spec, game), make_agent("greedy", game), 60)
    assert result.margin - result.half_width > 0


@every_game
def test_every_decision_of_a_match_has_random_numbers_of_its_own(name: str) -> None:
    """Searches and sampling players derive them by one function; in Tricky Express the passes do not share them."""
    game, found = load_game(name, num_deals=2), []
    for states in random_positions(game, seed=8, every=1):
        streams = np.zeros(1, np.uint64)
        game.kernels.begin_decision(states, 0, np.uint64(3), streams, np.zeros(WIDTH, COMPARISON))
        bits = decision_bits_of(states, np.uint64(3))
        assert streams[0] == bits[0]
        found.append(int(bits[0]))
    assert len(set(found)) == len(found) > 40
