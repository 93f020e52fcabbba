"""The same seed is the same match: on every interface, in any batch, in any thread. And many matches, checked slowly.

The last test plays ``TRICK_ENVS_MATCHES`` matches (20 unless told) of every game at every number of players.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import brute_force
import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from helpers import TABLES, every_game, every_table, greedy_action, legal_of, make, marks_of, of_tables

from trick_envs import BatchEnv, make_agent
from trick_envs.engine.cards import WORD
from trick_envs.engine.game import Game
from trick_envs.engine.positions import dealt
from trick_envs.engine.registry import game_type, load_game
from trick_envs.matches.loop import play_match
from trick_envs.matches.replay import replay

SEED = 11


# --- every interface ----------------------------------------------------------------------------------------------


class Scribe:
    """Writes the record of a match from the outside: told of every position and what is named there."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.seed = game, seed
        self.deals: list[dict[str, Any]] = []
        self.totals: list[list[int]] = []  # match scores before each deal

    def note(self, state: Any, action: int) -> None:
        if int(state["deal_number"]) == len(self.deals):
            hands, stock = dealt(self.game, state["order"])
            deal = {"dealer": int(state["dealer"]), "hands": hands, "stock": stock, "actions": [], "score": None}
            self.deals.append(deal)
            self.totals.append(self.scores(state["score"]))
        self.deals[-1]["actions"].append([int(state["seat"]), self.game.deck.format(action)])

    def scores(self, row: Any) -> list[int]:
        return [int(score) for score in row[: self.game.num_players]]

    def record(self, score: Any, winners: list[int]) -> dict[str, Any]:
        """The whole record, given how the match ended."""
        totals = [*self.totals, self.scores(score)]
        for deal, before, after in zip(self.deals, totals[:-1], totals[1:], strict=True):
            deal["score"] = [its - was for was, its in zip(before, after, strict=True)]
        return {
            "game": self.game.name,
            "version": self.game.type.version,
            "num_players": self.game.num_players,
            "num_deals": self.game.num_deals,
            "seed": self.seed,
            "deals": self.deals,
            "score": totals[-1],
            "winners": winners,
        }


class NotedGreedy:
    """The greedy player, which tells a scribe what it names."""

    name = "noted greedy"

    def __deepcopy__(self, memo: Any) -> NotedGreedy:  # an environment has a copy of its own: the scribe is one
        return self

    def __init__(self, game: Game, scribe: Scribe) -> None:
        self.greedy, self.scribe = make_agent("greedy", game), scribe

    def seed(self, seed: int) -> None:
        pass

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        actions = self.greedy.act(observations, action_masks, states)
        self.scribe.note(states[0], int(actions[0]))
        return actions


def by_aec(game: Game) -> tuple[dict[str, Any], bytes]:
    env = make(game.name, game.num_players, raw=False)
    env.reset(seed=SEED)
    while not any(env.terminations.values()):
        env.step(greedy_action(game, env.states))
    return env.record(), env.states.tobytes()


def by_gymnasium(game: Game, seat: int) -> tuple[dict[str, Any], bytes]:
    env = gymnasium.make(gymnasium_id(game), num_players=game.num_players, seat=seat).unwrapped
    env.reset(seed=SEED)
    over = False
    while not over:
        _, _, over, _, _ = env.step(greedy_action(game, env.states))
    return env.record(), env.states.tobytes()


def by_vector(game: Game, opponents: Any, scribe: Scribe) -> tuple[Any, bytes]:
    """The match score and the last state; the scribe is told what the learner names."""
    env = gymnasium.make_vec(
        gymnasium_id(game), num_envs=1, vectorization_mode="vector_entry_point", num_players=game.num_players, seat=1,
        opponents=opponents, autoreset_mode=AutoresetMode.DISABLED,
    ).unwrapped  # fmt: skip
    env.reset(seed=SEED)
    over = False
    while not over:
        action = greedy_action(game, env.states)
        scribe.note(env.states[0], action)
        _, _, (over,), _, _ = env.step([action])
    return env.states["score"][0], env.states.tobytes()


def by_batch(game: Game) -> tuple[Scribe, Any]:
    """The scribe and the sum of all rewards, from the third of five games."""
    batch = BatchEnv(game.name, 5, game.num_players)
    batch.reset(seed=SEED - 2)
    scribe, total, over = Scribe(game, SEED), np.zeros(game.num_players), False
    actions = np.zeros(5, np.int64)
    while not over:
        game.kernels.greedy_actions(batch.states, actions)
        scribe.note(batch.states[2], int(actions[2]))
        rewards, ends = batch.step(actions)
        total += rewards[2]
        over = bool(ends[2])
    return scribe, total


def gymnasium_id(game: Game) -> str:
    return f"trick_envs/{''.join(map(str.capitalize, game.name.split('_')))}-v0"


@every_table
def test_a_seed_is_the_same_match_on_every_interface_to_the_byte(name, players):
    game = load_game(name, players)
    record, last = by_aec(game)
    expected, winners = json.dumps(record), record["winners"]
    assert record["seed"] == SEED
    assert len(record["deals"]) > 1

    for seat in (0, players - 1):
        found, found_last = by_gymnasium(game, seat)
        assert json.dumps(found) == expected
        assert found_last == last

    scribe = Scribe(game, SEED)
    score, found_last = by_vector(game, NotedGreedy(game, scribe), scribe)
    assert json.dumps(scribe.record(score, winners)) == expected
    assert found_last == last
    assert by_vector(game, "greedy", Scribe(game, SEED))[1] == last  # opponents that are compiled

    scribe, score = by_batch(game)
    assert json.dumps(scribe.record(score, winners)) == expected

    assert json.dumps(replay(json.loads(expected)).record()) == expected
    greedy = make_agent("greedy", game)
    assert json.dumps(play_match(name, dict.fromkeys(range(players), greedy), SEED, players)) == expected


# --- any batch, any thread ----------------------------------------------------------------------------------------


def first_legal(batch: BatchEnv, steps: int) -> tuple[bytes, ...]:
    """Everything that a batch holds after so many steps, and all that it has paid."""
    total, ends = np.zeros_like(batch.rewards, np.float64), 0
    for number in range(steps):
        allowed = batch.action_masks
        rewards, ended = batch.step(allowed.argmax(axis=1) if number % 3 else last_legal(allowed))
        total += rewards
        ends += ended
    arrays = (batch.states, batch.observations, batch.action_masks, batch.seats, total, ends)
    return tuple(np.asarray(array).tobytes() for array in arrays)


def last_legal(masks: Any) -> Any:
    return masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)


@every_game
def test_a_match_is_the_same_in_a_batch_of_1_of_7_and_of_4096(name):
    batches = [BatchEnv(name, size, num_deals=1) for size in (1, 7, 4096)]
    for batch in batches:
        batch.reset(seed=SEED)
    ends = np.zeros(7, bool)
    for number in range(160):
        for batch in batches:
            batch.step(batch.action_masks.argmax(axis=1) if number % 3 else last_legal(batch.action_masks))
        one, seven, many = batches
        for field in ("states", "observations", "action_masks", "seats", "rewards", "terminated"):
            assert getattr(seven, field)[:1].tobytes() == getattr(one, field).tobytes(), field
            assert getattr(many, field)[:7].tobytes() == getattr(seven, field).tobytes(), field
        ends |= seven.terminated
    assert ends.all()  # the matches that follow from the stream of each game are compared too


@every_game
def test_batches_in_several_threads_hold_what_they_hold_one_after_the_other(name):
    sizes = (1, 7, 64, 300, 300, 64, 7, 1)

    def fill(number: int) -> tuple[bytes, ...]:
        batch = BatchEnv(name, sizes[number], num_deals=1)
        batch.reset(seed=100 * (number % 4))
        return first_legal(batch, 150)

    serial = [fill(number) for number in range(len(sizes))]
    with ThreadPoolExecutor(len(sizes)) as pool:
        threaded = list(pool.map(fill, range(len(sizes))))
    assert threaded == serial
    assert len(set(serial)) == len(sizes)


# --- many matches -------------------------------------------------------------------------------------------------


@of_tables(TABLES, lambda *_: ())
def test_random_matches_by_the_rules_without_an_error_or_a_lost_card(name, players, monkeypatch):
    """Every mask, score, dealer and winner as brute force has it; every card always in one place."""
    between = bool(marks_of(name, players))
    if between:  # everything else of these tables is slow: their rules, without compiling them
        monkeypatch.setenv("TRICK_ENVS_COMPILE", "never")
    matches = int(os.environ.get("TRICK_ENVS_MATCHES", "5" if between else "20"))
    assert matches > 0
    for seed in range(matches):
        check_random_match(name, players, seed)


def check_random_match(name: str, players: int, seed: int) -> None:
    options = {option: bool(seed % 2) for option in game_type(name).options}
    game = load_game(name, players, None if seed % 4 else 2, **options)
    env, rng = make(name, players, num_deals=game.num_deals, **options), np.random.default_rng(seed)
    env.reset(seed=seed)
    names, allowed = game.deck.names, []
    whole_deck = [sum(1 << card % WORD for card in game.deck.cards if card // WORD == word) for word in (0, 1)]
    while env.phase != "over":
        lying = np.concatenate([env.states[place].reshape(-1, 2) for place in game.type.places])
        assert np.bitwise_or.reduce(lying).tolist() == whole_deck, "a card is lost"
        assert lying.sum(axis=0).tolist() == whole_deck, "a card is in two places"
        legal = legal_of(game, env.states)
        allowed.append({names[action] for action in legal})
        env.step(legal[int(rng.integers(len(legal)))])
    record = env.record()
    if name in brute_force.GAMES:
        brute_force.check_match(record, allowed)
    assert [sum(deal["score"][seat] for deal in record["deals"]) for seat in range(players)] == record["score"]
