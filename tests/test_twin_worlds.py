"""No leak and no blindness: worlds that a seat cannot tell apart look equal to it, and all others look different.

Every test plays random matches of every game and changes a copy of the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from helpers import (
    TABLES,
    every_game,
    every_table,
    greedy_action,
    legal_of,
    look,
    random_positions,
    start,
    step,
    twin_setup,
)

from trick_envs.engine.cards import WORD, members
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.history import Recall
from trick_envs.engine.kernels.playing import DEAL_ENDED
from trick_envs.engine.play_log import PlayLog, history_layout
from trick_envs.engine.positions import places
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import LEAD, PASS, State, fields
from trick_envs.engine.table import card_flags
from trick_envs.games.tricky_express.rules import EXCHANGED, RIGHT

MATCHES, ENOUGH = 3, 18  # at least
EVERY = 11  # steps: no multiple of the number of seats, so that all stages of a trick come up


@cache
def positions(game: Game) -> list[Any]:
    """Of some matches; where deals are short, of as many as it takes to have ``ENOUGH``."""
    found, seed = list[Any](), 0
    while seed < MATCHES or len(found) < ENOUGH:
        found += random_positions(game, seed, EVERY)
        seed += 1
    return found


def seats_at(game: Game, rng: Any, count: int = 3) -> list[int]:
    """Some seats that look on."""
    return [int(seat) for seat in rng.choice(game.num_players, min(count, game.num_players), replace=False)]


def swapped(game: Game, states: Any, one: int, other: int) -> Any:
    """The world in which two cards have changed places (and who knows where they are)."""
    twin = states.copy()
    record = twin[0]
    for name in [*game.type.places, "seen"]:
        for row in record[name].reshape(-1, 2):
            held = set(members(row))
            if (one in held) != (other in held):
                for card in (one, other):
                    row[card // WORD] ^= 1 << (card % WORD)
    for name in ("order", "trick"):
        row = record[name]
        at_one, at_other = row == one, row == other
        row[at_one], row[at_other] = other, one
    return twin


def hidden_from(game: Game, states: Any, observer: int) -> dict[str, list[int]]:
    """Place by place, the cards of which the observer does not know where they are."""
    closed = {name for name, place in game.type.places.items() if not place.open}
    seen = set(members(states["seen"][0][observer]))
    lies = places(game, states)
    return {name: [c for c in found if c not in seen] for name, found in lies.items() if name.split()[0] in closed}


def hidden_swaps(game: Game, states: Any, observer: int, rng: Any, count: int = 4) -> Iterator[Any]:
    """Worlds that differ only in where cards lie that are hidden from the observer."""
    hidden = [(place, card) for place, found in hidden_from(game, states, observer).items() for card in found]
    if len({place for place, _ in hidden}) < 2:
        return
    for _ in range(count):
        place, one = hidden[rng.integers(len(hidden))]
        elsewhere = [card for name, card in hidden if name != place]
        other = int(rng.choice(elsewhere))
        twin = swapped(game, states, one, other)
        if game.name == "tricky_express":
            swap_notes(twin[0], observer, one, other)
        yield twin


def swap_notes(record: Any, observer: int, one: int, other: int) -> None:
    """Others have noted the other card, unless the observer handed the one to them."""
    flags = {card: card_flags(record, card) for card in (one, other)}
    for seat in {0, 1, 2, 3} - {observer}:
        notes = record["exchanged"][seat * EXCHANGED : (seat + 1) * EXCHANGED]
        for k, noted in enumerate(notes.tolist()):
            partner = (seat + (-1 if k % 2 == RIGHT else 1)) % 4
            if noted in flags.values() and not (partner == observer and record["named"] >= 8 * (1 + k // 4)):
                notes[k] = flags[other if noted == flags[one] else one]


def twins(game: Game, worlds: Callable[..., Iterator[Any]], seed: int, every: int = 1, seats: int = 3) -> Iterator[Any]:
    """Positions, who looks on, and worlds beside them: ``(states, observer, twin)``."""
    rng = np.random.default_rng(seed)
    for states in positions(game)[::every]:
        for observer in seats_at(game, rng, seats):
            for twin in worlds(game, states, observer, rng):
                yield states, observer, twin


def test_a_game_of_short_deals_is_tried_as_often_as_others():
    assert len(positions(load_game("pepper", 3, num_deals=1))) >= ENOUGH == len(positions(twin_setup("pepper", 3)))


# --- no leak ------------------------------------------------------------------------------------------------------


@every_table
def test_hidden_cards_change_nothing_that_a_seat_sees(name, players):
    game, tried = twin_setup(name, players), 0
    for states, observer, twin in twins(game, hidden_swaps, 1):
        assert twin.tobytes() != states.tobytes()
        assert look(game, twin, observer) == look(game, states, observer)
        tried += 1
    assert tried > 50


@every_table
def test_several_hidden_swaps_and_another_future_change_nothing_either(name, players):
    game, rng = twin_setup(name, players), np.random.default_rng(2)
    for states in positions(game):
        for observer in seats_at(game, rng):
            twin = states.copy()
            for _ in range(10):
                twin = next(hidden_swaps(game, twin, observer, rng, 1), twin)
            twin["rng"] ^= np.uint64(0x5555)
            twin["seed"] ^= np.uint64(0x5555)
            assert look(game, twin, observer) == look(game, states, observer)


@every_table
def test_the_choice_of_greedy_hangs_on_nothing_hidden(name, players):
    game, rng = twin_setup(name, players), np.random.default_rng(3)
    for states in positions(game):
        for twin in hidden_swaps(game, states, int(states["seat"][0]), rng):
            assert greedy_action(game, twin) == greedy_action(game, states)


TWO_PACKS = [name for name, players in TABLES if game_type(name).deck(players).copies == 2]


@pytest.mark.parametrize("name", TWO_PACKS)
def test_which_copy_of_a_card_it_is_nobody_sees(name):
    game = twin_setup(name, game_type(name).default_players)
    rng = np.random.default_rng(4)
    for states in positions(game):
        for kind in rng.choice(game.num_actions, 6, replace=False):
            twin = swapped(game, states, int(kind), WORD + int(kind))
            for observer in range(game.num_players):
                assert look(game, twin, observer) == look(game, states, observer)
            assert greedy_action(game, twin) == greedy_action(game, states)


@every_table
def test_a_seat_knows_its_own_hand(name, players):
    game = twin_setup(name, players)
    for states in positions(game):
        for seat in range(players):
            assert set(members(states["hand"][0][seat])) <= set(members(states["seen"][0][seat]))


# --- no blindness -------------------------------------------------------------------------------------------------


@every_table
def test_two_cards_that_a_seat_may_play_look_different_to_everybody_who_sees_them(name, players):
    """After either of two legal actions everybody sees which it was; of cards passed in secret only who knows them."""
    game, rng = twin_setup(name, players), np.random.default_rng(7)
    for states in positions(game):
        secret, actor = states["phase"][0] == PASS, int(states["seat"][0])
        outcomes = []
        for action in legal_of(game, states):
            after = states.copy()
            if step(game, after, action) < DEAL_ENDED:  # the next deal shows nothing of the last
                outcomes.append(after)
        for observer in seats_at(game, rng):
            looks = {}
            for after in outcomes:
                own = tuple(members(after["hand"][0][observer])) if secret and observer != actor else ()
                key = own if secret and observer != actor else len(looks)
                looks.setdefault(key, set()).add(look(game, after, observer)[0])
            assert all(len(seen) == 1 for seen in looks.values())
            assert len(set.union(set(), *looks.values())) == len(looks)


def other_own_card(game: Game, states: Any, observer: int, rng: Any) -> Iterator[Any]:
    hidden = hidden_from(game, states, observer)
    own = members(states["hand"][0][observer])
    elsewhere = [card for found in hidden.values() for card in found]
    if own and elsewhere:
        one, other = int(rng.choice(own)), int(rng.choice(elsewhere))
        if game.deck.kind(one) != game.deck.kind(other):
            yield swapped(game, states, one, other)


def gone_by_another(game: Game, states: Any, observer: int, rng: Any) -> Iterator[Any]:
    gone = states["gone"][0]
    played = [(seat, card) for seat in range(game.num_players) for card in members(gone[seat])]
    if played:
        seat, card = played[int(rng.integers(len(played)))]
        twin = states.copy()
        for changed in (seat, (seat + 1) % game.num_players):
            twin["gone"][0][changed][card // WORD] ^= 1 << (card % WORD)
        yield twin


def trick_of_others(game: Game, states: Any, observer: int, rng: Any) -> Iterator[Any]:
    state = states[0]
    for j in range(1, int(state.trick_size)):
        if state.trick_seat[j] != state.trick_seat[0]:
            twin = states.copy()
            row = twin["trick"][0]
            row[0], row[j] = row[j], row[0]
            if game.deck.kind(int(row[0])) != game.deck.kind(int(row[j])):
                yield twin


def smaller_hand(game: Game, states: Any, observer: int, rng: Any) -> Iterator[Any]:
    for seat in range(game.num_players):
        unseen = hidden_from(game, states, observer)[f"hand {seat}"]
        if unseen:
            twin = states.copy()
            card, other = unseen[0], (seat + 1) % game.num_players
            twin["hand"][0][seat][card // WORD] ^= 1 << (card % WORD)
            twin["hand"][0][other][card // WORD] ^= 1 << (card % WORD)
            yield twin


def other_number(field: str, change: Callable[[Any, Game, int], Any]) -> Callable[..., Iterator[Any]]:
    def worlds(game: Game, states: Any, observer: int, rng: Any) -> Iterator[Any]:
        twin = states.copy()
        twin[field][0] = change(states[field][0], game, int(rng.integers(game.num_players)))
        yield twin

    worlds.__name__ = field
    return worlds


def at_seat(by: int) -> Callable[[Any, Game, int], Any]:
    def change(row: Any, game: Game, seat: int) -> Any:
        changed = row.copy()
        changed[seat] += by
        return changed

    return change


def void_of(row: Any, game: Game, seat: int) -> Any:
    changed = row.copy()
    changed[seat * len(game.deck.suits)] ^= 1
    return changed


def next_phase(phase: int, game: Game, seat: int) -> int:
    phases = list(game.type.phases)
    return phases[(phases.index(phase) + 1) % len(phases)]


WORLDS = [
    other_own_card,
    gone_by_another,
    trick_of_others,
    smaller_hand,
    other_number("dealer", lambda dealer, game, seat: (dealer + 1) % game.num_players),
    other_number("seat", lambda acting, game, seat: (acting + 1) % game.num_players),
    other_number("phase", next_phase),
    other_number("deal_number", lambda number, game, seat: number + 1),
    other_number("num_deals", lambda number, game, seat: number + 1),
    other_number("score", at_seat(1)),
    other_number("score", at_seat(-1)),
    other_number("score", at_seat(100)),
    other_number("void", void_of),
]


@pytest.mark.parametrize("worlds", WORLDS, ids=lambda worlds: worlds.__name__)
@every_table
def test_what_a_seat_can_tell_is_in_its_observation(name, players, worlds):
    game, tried = twin_setup(name, players), 0
    for states, observer, twin in twins(game, worlds, 5):
        assert look(game, twin, observer)[0] != look(game, states, observer)[0]
        tried += 1
    assert tried > 9


@every_game
def test_every_field_of_a_game_is_seen(name):
    """Changing a field that a game declares changes what somebody sees, in some position."""
    declared = game_type(name)
    game = load_game(name, declared.default_players, num_deals=4)
    own = {field: each for field, each in fields(declared.state).items() if field not in fields(State)}
    unseen = {field for field, each in own.items() if not (each.cards or each.derived or each.lasts == "setup")}
    for states in positions(game):
        for field in sorted(unseen):
            twin = states.copy()
            row = twin[field][0]
            twin[field][0] = row + 1 if np.ndim(row) == 0 else (row + 1) % 2
            if any(look(game, twin, seat) != look(game, states, seat) for seat in range(game.num_players)):
                unseen.discard(field)
        if not unseen:
            break
    assert not unseen, "features() has to write them, or their declarations say derived=True"


@every_table
def test_the_whole_state_shows_every_hand(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(6), 0
    one, other = np.zeros((2, game.state_layout.size), np.int8)
    for states in positions(game):
        for twin in hidden_swaps(game, states, int(rng.integers(players)), rng):
            if hands(game, twin) != hands(game, states):
                game.kernels.write_full_state(states, 0, one)
                game.kernels.write_full_state(twin, 0, other)
                assert one.tobytes() != other.tobytes()
                tried += 1
    assert tried > 9


def hands(game: Game, states: Any) -> list[list[str]]:
    return [game.deck.format_all(members(row)) for row in states["hand"][0]]


# --- what happened before -----------------------------------------------------------------------------------------


class Past:
    """A deal and its first plays, which can be played again with other cards."""

    def __init__(self, game: Game, order: Any, dealer: int, actions: list[int]) -> None:
        self.game, self.order, self.dealer, self.actions = game, order, dealer, actions
        self.states = start(game, 0)
        game.kernels.deal_order(self.states, order, dealer)
        self.seats: list[int] = []
        self.phases: list[int] = []
        for action in actions:
            if action not in legal_of(game, self.states):
                raise ValueError("illegal")
            self.seats.append(int(self.states["seat"][0]))
            self.phases.append(int(self.states["phase"][0]))
            game.kernels.play_without_dealing(self.states, action)

    @property
    def logged(self) -> list[Deal]:
        return [Deal(self.dealer, tuple(self.order.tolist()), list(zip(self.seats, self.actions, strict=True)))]

    @cached_property
    def _recall(self) -> Recall:
        return Recall(self.game)

    def events(self, seat: int) -> Any:
        return self._recall.history(self.logged, seat)

    def history(self, seat: int) -> bytes:
        return self.events(seat).tobytes()

    def blocks(self, seat: int) -> bytes:
        log, out = PlayLog(self.game, 1), np.zeros((1, history_layout(self.game).size), np.int8)
        log.load(self.logged)
        log.write(np.zeros(1, np.int64), np.array([seat]), out)
        return out.tobytes()

    def twin(self, observer: int, one: int, other: int) -> Past | None:
        """The world in which two cards are dealt (and passed by others) in each other's place, if play allows it."""
        order, kind = self.order.copy(), self.game.deck.kind
        order[self.order == one], order[self.order == other] = other, one
        exchanged = {kind(one): kind(other), kind(other): kind(one)}
        actions = [
            exchanged.get(action, action) if phase == PASS and seat != observer else action
            for action, phase, seat in zip(self.actions, self.phases, self.seats, strict=True)
        ]
        try:
            return Past(self.game, order, self.dealer, actions)
        except ValueError:
            return None


@cache
def pasts(game: Game) -> list[Past]:
    """Beginnings of random deals, of different lengths."""
    found, rng = [], np.random.default_rng(8)
    for seed in range(8):
        states, actions = start(game, seed), list[int]()
        order, dealer, stop = states["order"][0].copy(), int(states["dealer"][0]), int(rng.integers(3, 60))
        while len(actions) < stop and states["tricks"][0] < game.hand_size // 2:
            actions.append(int(rng.choice(legal_of(game, states))))
            game.kernels.play_without_dealing(states, actions[-1])
        found.append(Past(game, order, dealer, actions))
    return found


def never_seen(past: Past, observer: int) -> list[int]:
    """The cards of which the observer has seen nothing so far."""
    events = Recall(past.game).history(past.logged, observer)
    named = set(events[:, 3].tolist())
    return [card for card in past.game.deck.cards if past.game.deck.kind(card) not in named]


@every_table
def test_histories_are_equal_in_worlds_that_have_looked_alike(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(9), 0
    for past in pasts(game):
        for observer in seats_at(game, rng):
            hidden = never_seen(past, observer)
            for _ in range(4 if len(hidden) > 1 else 0):
                one, other = (int(card) for card in rng.choice(hidden, 2, replace=False))
                twin = past.twin(observer, one, other)
                if twin is not None:
                    assert twin.history(observer) == past.history(observer)
                    assert twin.blocks(observer) == past.blocks(observer)
                    assert look(game, twin.states, observer) == look(game, past.states, observer)
                    tried += 1
    assert tried > 15


@every_table
def test_another_card_that_a_seat_has_seen_is_another_history(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(10), 0
    for past in pasts(game):
        for observer in seats_at(game, rng):
            hidden, dealt = never_seen(past, observer), game.hand_size
            own = past.order[observer * dealt : (observer + 1) * dealt].tolist()
            for one in rng.choice(own, 3, replace=False):
                twin = past.twin(observer, int(one), int(rng.choice(hidden))) if hidden else None
                if twin is not None:
                    assert twin.history(observer) != past.history(observer)
                    tried += 1
    assert tried > 3


@pytest.mark.parametrize("name", [name for name in game_names() if PASS in game_type(name).phases])
def test_what_has_come_from_another_hand_is_another_history(name):
    """Two cards that were passed to a seat, in each other's place: its history is as different as what it sees."""
    game, tried = twin_setup(name, game_type(name).default_players), 0
    for past in pasts(game):
        for observer in range(game.num_players):
            got = set(members(past.states["hand"][0][observer]))
            got -= set(past.order[observer * game.hand_size : (observer + 1) * game.hand_size].tolist())
            for one, other in combinations(sorted(got), 2):
                twin = past.twin(observer, one, other)
                if twin is not None:
                    looks_alike = look(game, twin.states, observer) == look(game, past.states, observer)
                    assert (twin.history(observer) == past.history(observer)) == looks_alike
                    tried += 1
    assert tried > 10


@every_table
def test_another_play_is_another_history_for_everybody_who_sees_it(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(11), 0
    for past in pasts(game):
        acting, secret = int(past.states["seat"][0]), int(past.states["phase"][0]) == PASS
        after = [Past(game, past.order, past.dealer, [*past.actions, a]) for a in legal_of(game, past.states)[:3]]
        for observer in seats_at(game, rng) if len(after) > 1 else ():
            told = {each.history(observer) for each in after}
            if not secret or observer == acting:
                assert len(told) == len(after)
            else:
                assert len(told) == 1 or int(after[0].states["phase"][0]) != PASS  # the cards have changed hands
            tried += 1
    assert tried > 5


@pytest.mark.parametrize(
    "name", [name for name in game_names() if name not in TWO_PACKS]
)  # order decides who draws what
def test_a_history_knows_which_of_two_tricks_was_first_though_the_position_does_not(name):
    """Two tricks that the same seat has led and taken, in either order."""
    game, tried = twin_setup(name, game_type(name).default_players), 0
    rng = np.random.default_rng(12)
    for seed in range(3000):
        states, actions, ends, leaders = start(game, seed), list[int](), list[int](), list[int]()
        order, dealer = states["order"][0].copy(), int(states["dealer"][0])
        while states["tricks"][0] < 3:
            if states["phase"][0] == LEAD and int(states["tricks"][0]) == len(ends):
                leaders.append(int(states["seat"][0]))
                ends.append(len(actions))
            actions.append(int(rng.choice(legal_of(game, states))))
            game.kernels.play_without_dealing(states, actions[-1])
        if {*leaders[1:], int(states["seat"][0])} != {leaders[1]}:
            continue
        before, one, two = actions[: ends[1]], actions[ends[1] : ends[2]], actions[ends[2] :]
        try:
            past, other = (Past(game, order, dealer, [*before, *tricks]) for tricks in (one + two, two + one))
        except ValueError:
            continue
        if any(look(game, past.states, seat) != look(game, other.states, seat) for seat in range(game.num_players)):
            continue  # what was drawn, or how the prices moved, hangs on the order
        for seat in range(game.num_players):
            assert past.history(seat) != other.history(seat)
            assert past.blocks(seat) != other.blocks(seat)
        tried += 1
        if tried == 3:
            return
    raise AssertionError("no two such tricks were found")
