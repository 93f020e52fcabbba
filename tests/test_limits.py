"""A game at the limits of the engine: it is played as its rules say, and what is beyond them is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers import first, installed
from widest_game import GAME
from widest_game.rules import DECKS, SUITS

from trick_envs import BatchEnv
from trick_envs.engine import table
from trick_envs.engine.build import twin
from trick_envs.engine.cards import WORD, Deck, members
from trick_envs.engine.declaration import MAX_SUITS_AND_RANKS
from trick_envs.engine.game import GAMES_BY_NAME
from trick_envs.engine.kernels.batch import Games
from trick_envs.errors import InputError

MANY = 4096
every_deck = pytest.mark.parametrize("players", first(2, sorted(DECKS, key=lambda players: players not in (4, 16))))


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path, f"[trick_envs.games]\n{GAME.name} = widest_game:GAME\n"):
        yield
    GAMES_BY_NAME.pop(GAME.name, None)


class Oracle:
    """The rules again, on sets of ``(kind, copy)`` of one game."""

    def __init__(self, deck: Deck, hands: list[set[int]], leader: int) -> None:
        self.deck, self.hands, self.seat = deck, hands, leader
        self.trick: list[tuple[int, int]] = []  # seats and kinds
        self.won = [0] * len(hands)

    def suit(self, card: int) -> int:
        return self.deck.kind(card) // len(self.deck.ranks)

    def legal(self) -> set[int]:
        hand = self.hands[self.seat]
        following = {card for card in hand if self.trick and self.suit(card) == self.suit(self.trick[0][1])}
        return {self.deck.kind(card) for card in following or hand}

    def play(self, kind: int) -> None:
        hand = self.hands[self.seat]
        hand.remove(kind if kind in hand else WORD + kind)
        self.trick.append((self.seat, kind))
        self.seat = (self.seat + 1) % len(self.hands)
        if len(self.trick) == len(self.hands):
            led = self.suit(self.trick[0][1])
            best = max(kind for _, kind in self.trick if self.suit(kind) == led)
            self.seat = next(seat for seat, kind in self.trick if kind == best)
            self.won[self.seat] += 1
            self.trick = []


def everywhere(states: Any, deck: Deck) -> None:
    """Every card of the deck lies in exactly one place, in all games."""
    places = [states["table"][:, None], states["hand"], states["pile"]]
    words = np.concatenate(places, axis=1)
    for word in (0, 1):
        whole = sum(1 << card - WORD * word for card in deck.cards if card // WORD == word)
        assert (np.bitwise_or.reduce(words[:, :, word], axis=1) == whole).all()
    assert (np.bitwise_count(words).sum((1, 2)) == deck.size).all()


def chosen(masks: npt.NDArray[np.int8], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    return (masks * rng.random(masks.shape)).argmax(1)


@every_deck
def test_the_largest_decks_and_the_most_players_are_played_as_the_rules_say(players: int) -> None:
    deck, rng = DECKS[players], np.random.default_rng(players)
    games = BatchEnv("widest", MANY if players == 16 else 64, players)
    games.reset(1)
    oracles = [
        Oracle(deck, [set(members(hand)) for hand in state["hand"][:players]], int(seat))
        for state, seat in zip(games.states[:20], games.seats, strict=False)
    ]
    kept = games.layout.slices()
    for left in range(deck.size, 0, -1):
        for oracle, seat, mask in zip(oracles, games.seats, games.action_masks, strict=False):
            assert (oracle.seat, oracle.legal()) == (seat, set(np.flatnonzero(mask).tolist()))
            seen = games.observations[oracles.index(oracle), kept["hand"]]
            assert np.flatnonzero(seen).tolist() == sorted({deck.kind(card) for card in oracle.hands[seat]})
            assert seen.sum() == len(oracle.hands[seat])
        if left % 10 == 1:
            everywhere(games.states, deck)
        actions = chosen(games.action_masks, rng)
        for oracle, action in zip(oracles, actions, strict=False):
            oracle.play(int(action))
        rewards, terminated = games.step(actions)
        assert (terminated == (left == 1)).all()
    assert (rewards.sum(1) == deck.size // players).all()
    assert [row.astype(int).tolist() for row in rewards[:20]] == [oracle.won for oracle in oracles]
    everywhere(games.states, deck)  # of the matches that follow


@every_deck
def test_plain_python_gives_the_same_bits_at_the_limits(players: int) -> None:
    games, rng = BatchEnv("widest", 2, players), np.random.default_rng(0)
    games.reset(5)
    game, plain, every = games.game, games.game.kernels.plain, np.arange(2)
    states, seats, named = np.zeros(2, game.dtype), np.zeros(2, np.int64), np.zeros((2, 2), np.int64)
    seen, masks = np.zeros_like(games.observations), np.zeros_like(games.action_masks)
    rewards, terminated = np.zeros_like(games.rewards), np.zeros_like(games.terminated)
    twin.call(plain["reset_batch"], (states, game.template, np.array([5, 6], np.uint64)))
    twin.call(plain["observe_batch"], (states, seen, masks, seats))
    for _ in range(DECKS[players].size):
        assert states.tobytes() == games.states.tobytes()
        assert (seen == games.observations).all()
        assert (masks == games.action_masks).all()
        actions = chosen(masks, rng)
        batch = Games(states, game.template, seen, masks, seats, rewards, terminated, named)
        twin.call(plain["step_rows"], (batch, every, actions, 0, True))
        games.step(actions)
    assert terminated.all()
    assert (rewards == games.rewards).all()
    assert (rewards.sum(1) == DECKS[players].size // players).all()


@every_deck
def test_hidden_worlds_at_the_limits_look_the_same_to_who_looks(players: int) -> None:
    games, rng = BatchEnv("widest", 64, players), np.random.default_rng(1)
    games.reset(3)
    for _ in range(DECKS[players].size // 3):
        games.step(chosen(games.action_masks, rng))
    worlds = games.game.resample(games.states, games.seats, rng)
    everywhere(worlds, DECKS[players])
    assert players == 2 or (worlds["hand"] != games.states["hand"]).any((1, 2)).all()
    seen = games.observations.copy(), games.action_masks.copy()
    games.states[:] = worlds
    games.observe()
    assert (games.observations == seen[0]).all()
    assert (games.action_masks == seen[1]).all()


# --- cards of every deck --------------------------------------------------------------------------------------------


def shapes() -> Iterator[tuple[int, int, int]]:
    """Suits, ranks and copies of the largest decks: another rank, or another suit, would be too many."""
    for copies, most in ((1, 2 * WORD), (2, WORD)):
        for suits in range(1, len(SUITS) + 1):
            yield suits, min(most // suits, MAX_SUITS_AND_RANKS - suits), copies


@pytest.mark.parametrize("copies", [1, 2])
def test_suits_and_ranks_are_told_from_the_number_of_a_card_in_every_deck(copies: int) -> None:
    for suits, ranks, _ in (shape for shape in shapes() if shape[2] == copies):
        deck = Deck(SUITS[:suits], tuple(map(str, range(ranks))), copies)
        state: Any = SimpleNamespace(
            copies=copies, kinds=deck.kinds, num_ranks=ranks, num_suits=suits, inverse=-(-(2**16) // ranks)
        )
        suit, rank, suit_cards, higher = table.suit, table.rank, table.suit_cards, table.higher
        by_suit = [{card for card in deck.cards if deck.kind(card) // ranks == each} for each in range(suits)]
        whole = [sum(1 << card - WORD * word for card in deck.cards if card // WORD == word) for word in (0, 1)]
        for each, same in enumerate(by_suit):
            found = [int(np.int64(word % 2**64 - 2**64 * (word % 2**64 >> 63))) for word in suit_cards(state, each)]
            assert set(members(found)) == same
        for card in deck.cards:
            kind = deck.kind(card)
            assert (suit(state, card), rank(state, card)) == divmod(kind, ranks)
            above = set(members(higher(state, (whole[0], whole[1]), card)))
            assert above == {other for other in by_suit[kind // ranks] if deck.kind(other) > kind}


# --- beyond ---------------------------------------------------------------------------------------------------------


def test_a_deck_of_128_kinds_is_refused() -> None:
    with pytest.raises(InputError, match="a deck holds up to 108 kinds once or 54 kinds twice, not Deck"):
        dataclasses.replace(GAME, deck=lambda n: Deck("CDHS", tuple(map(str, range(32)))), hand_size=lambda n: 6)


BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "62 ranks of a suit": ({"deck": lambda n: Deck("C", tuple(map(str, range(62))))}, "together 62 at most"),
    "7 cards for each of 16": ({"hand_size": lambda n: 7}, r"hand_size\(16\): expected 1 to 6: the deck has 96 cards"),
    "17 players": ({"players": (16, 17)}, "players: expected numbers of players of 2 to 16"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_one_more_is_refused_in_words(case: str) -> None:
    changes, message = BEYOND[case]
    with pytest.raises(InputError, match=f"^the game 'widest': .*{message}"):
        dataclasses.replace(GAME, **{"players": (16,), "hand_size": lambda n: 1, **changes})
