"""OpenSpiel: small variants of the games, whose trees can be searched to the last leaf.

    from trick_envs.interfaces.openspiel import exploitabilities, small
    exploitabilities(small("pepper", num_players=2, suits=2, ranks=4, hand_size=3))

A variant is a game at a smaller table: fewer suits, fewer ranks (the lowest ones), smaller hands, one deal, two seats
if you like. Rules, records and kernels are the game's own. Seat 0 deals: each seat's hand is a chance node, with an
outcome for every hand that the seat may get; cards that no hand gets have no order. A terminal state pays what the
environments pay for ``reward="zero_sum"``: the points of the seat less the mean of all seats' points.

``pyspiel.load_game("trick_envs_pepper(suits=2,ranks=4)")`` knows the games, too, once this module is imported.

Double-Deck German Whist and Tricky Express have no variants: their rules count on 26 and 13 tricks, and information
states tell every play, which must not be hidden from anybody. Donguri for two counts every card as 1. In Zaraba 22 the
cards that no hand gets lie open, so that two seats see everything: take three; there information states tell, too, in
which order the two lead cards were named.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trick_envs.engine.cards import Deck, members
from trick_envs.engine.game import Game, Rules, Setup, game_names, load_rules, setup
from trick_envs.engine.kernels import ZERO_SUM
from trick_envs.engine.table import OVER
from trick_envs.interfaces.reading import places

try:
    import pyspiel
except ImportError as error:
    raise ImportError("games for OpenSpiel need OpenSpiel: pip install 'trick_envs[openspiel]'") from error

Hand = tuple[int, ...]

SIZES = {"num_players": 2, "suits": 2, "ranks": 4, "hand_size": 3}  # the parameters of a variant, and their defaults
MOST_HANDS = 10_000  # outcomes of a chance node


# --- the variant --------------------------------------------------------------------------------------------------


def all_open(game: Game) -> bool:
    """Whether everybody sees every play, and what is hidden are the cards of hands, and those that no hand got."""
    return not game.hands_seen and all(place.open or place.name == "hand" for place in game.places)


NAMES = tuple(name for name in game_names() if all_open(load_rules(name).game))  # of the games that have variants


def copied(record: Any) -> Any:
    """A copy of an array of records, byte by byte: NumPy's own goes field by field and takes six times as long."""
    return record.view(np.uint8).copy().view(record.dtype)


class SmallSetup(Setup):
    """A game set up for one deal at a small table.

    It has no layout, as rules files describe their blocks for whole decks. The kernels write the observation all the
    same.

    Attributes:
        view_size: how many numbers a seat observes.
    """

    def __init__(self, rules: Rules, num_players: int, options: dict[str, Any], deck: Deck, hand_size: int) -> None:
        self.rules, self.num_players, self.num_deals, self.options = rules, num_players, 1, options
        self.deck, self.hand_size, self.num_actions = deck, hand_size, deck.kinds
        self.template = self._template()
        self.view_size = max(setup(rules.name, players).layout.size for players in rules.game.players)  # no more
        self.view_size = len(self.view(self.template, 0))

    def view(self, record: Any, observer: int) -> npt.NDArray[np.int8]:
        """What a seat observes, ``(view_size,) int8``."""
        out, mask = np.zeros(self.view_size, np.int8), np.zeros(self.num_actions, np.int8)
        return out[: self.kernels.look(record, 0, observer, out, mask)]

    def legal(self, record: Any) -> list[int]:
        """The legal actions, ascending."""
        return sorted({self.deck.kind(card) for card in members(self.kernels.legal_of(record))})

    def hands(self, dealt: tuple[Hand, ...]) -> Iterator[Hand]:
        """Every hand that the next seat may get, after these were dealt."""
        left_over = [card for card in self.deck.cards if not any(card in hand for hand in dealt)]
        return itertools.combinations(left_over, self.hand_size)

    def deal(self, hands: tuple[Hand, ...]) -> Any:
        """The record, ``(1,)``, when every seat has its hand."""
        order = list(itertools.chain(*hands))
        order += [card for card in self.deck.cards if card not in order]
        record = copied(self.template)
        self.kernels.set_order(record, np.array(order), 0)
        return record

    def __reduce__(self) -> tuple[Any, ...]:
        sizes = (self.num_players, len(self.deck.suits), len(self.deck.ranks), self.hand_size)
        return small_setup, (self.rules.name, *sizes, tuple(self.options.items()))


@cache
def small_setup(
    name: str, num_players: int, suits: int, ranks: int, hand_size: int, options: tuple[tuple[str, bool], ...] = ()
) -> SmallSetup:
    """Sets up a variant; ``small`` says what the arguments are, and which errors there are."""
    rules = load_rules(name)
    if name not in NAMES:
        raise ValueError(f"{name} has no small variants, its rules need the whole deck: choose {' or '.join(NAMES)}")
    allowed = rules.game.players
    _check("num_players", num_players, 2, max(allowed))
    whole = setup(name, min(allowed, key=lambda players: abs(players - num_players)), 1, **dict(options))
    _check("suits", suits, 1, len(whole.deck.suits))
    _check("ranks", ranks, 1, len(whole.deck.ranks))
    deck = dataclasses.replace(whole.deck, suits=whole.deck.suits[:suits], ranks=whole.deck.ranks[:ranks])
    _check("hand_size", hand_size, 1, deck.size // num_players)
    if (hands := math.comb(deck.size, hand_size)) > MOST_HANDS:
        raise ValueError(f"hand_size: {deck.size} cards make {hands:,} hands, expected {MOST_HANDS:,} at most")
    variant = SmallSetup(rules, num_players, whole.options, deck, hand_size)
    _check_leads(variant)
    return variant


def _check(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name}: expected a whole number of {low} to {high}, not {value!r}")


def _check_leads(variant: SmallSetup) -> None:
    """Whoever leads has something to lead, whatever the hand (in Pepper a hand may be all peppers)."""
    n, size = variant.num_players, variant.hand_size
    for hand in variant.hands(()):
        rest = [card for card in variant.deck.cards if card not in hand]
        others = tuple(tuple(rest[i * size : (i + 1) * size]) for i in range(n - 1))
        for seat in range(n):
            if not variant.legal(variant.deal((*others[:seat], hand, *others[seat:]))):
                cards = " ".join(variant.deck.format_all(hand))
                raise ValueError(f"hand_size: {size} cards may be {cards}, with which nobody can lead: deal more")


@dataclass(frozen=True)
class Position:
    """A moment of a deal. It never changes, so that copies of a state share it.

    Attributes:
        variant: the game.
        record: ``(1,)``, the template as long as cards are dealt.
        hands: the hands dealt so far, by seat.
        plays: seat and action of every decision so far.
        returns: by seat; 0 until the deal is over.
    """

    variant: SmallSetup
    record: Any
    hands: tuple[Hand, ...]
    plays: tuple[tuple[int, int], ...]
    returns: tuple[float, ...]

    def __deepcopy__(self, memo: Any) -> Position:
        return self

    @property
    def dealing(self) -> bool:
        return len(self.hands) < self.variant.num_players

    @property
    def over(self) -> bool:
        return bool(self.record["phase"][0] == OVER)

    @property
    def seat(self) -> int:
        return int(self.record["seat"][0])

    def dealt(self, hand: Hand) -> Position:
        """The position after the next seat has got its hand."""
        hands = (*self.hands, hand)
        record = self.variant.deal(hands) if len(hands) == self.variant.num_players else self.record
        return dataclasses.replace(self, record=record, hands=hands)

    def played(self, action: int) -> Position:
        """The position after a legal action."""
        record, returns = copied(self.record), np.zeros(self.variant.num_players)
        self.variant.kernels.step_one(record, action, ZERO_SUM, returns)
        plays = (*self.plays, (self.seat, action))
        return dataclasses.replace(self, record=record, plays=plays, returns=tuple(returns.tolist()))

    def greedy(self) -> int:
        """What the game's rule of thumb names."""
        actions = np.zeros(1, np.int64)
        self.variant.kernels.greedy_actions(self.record, actions)
        return int(actions[0])

    def drawn_anew(self, observer: int, random: Callable[[], float]) -> tuple[Hand, ...]:
        """The hands as they may have been dealt: the cards that the observer has not seen, shuffled.

        Not all such hands allow what others have played. ``random`` draws from 0 … 1.
        """
        lies = places(self.variant, self.record)
        held = [lies[f"hand {seat}"] if seat != observer else [] for seat in range(self.variant.num_players)]
        unseen = list(itertools.chain(*held, set(self.variant.deck.cards).difference(*lies.values())))
        for i in range(len(unseen) - 1, 0, -1):
            j = int(random() * (i + 1))
            unseen[i], unseen[j] = unseen[j], unseen[i]
        cards = iter(unseen)
        return tuple(
            tuple(sorted({*hand}.difference(its) | {*itertools.islice(cards, len(its))}))
            for hand, its in zip(self.hands, held, strict=True)
        )


# --- as OpenSpiel sees it -----------------------------------------------------------------------------------------


class SmallGame(pyspiel.Game):
    """A variant as OpenSpiel wants it. ``GAMES`` has a class for every game that has variants."""

    name: str  # the game

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        options = {**SIZES, **load_rules(self.name).game.options, **(params or {})}
        sizes = {size: options.pop(size) for size in SIZES}
        self.variant = variant = small_setup(self.name, *sizes.values(), tuple(options.items()))
        most = float(variant.deck.size * (len(variant.deck.ranks) + 1))  # no card counts 2 more than its suit has cards
        info = pyspiel.GameInfo(
            num_distinct_actions=variant.num_actions,
            max_chance_outcomes=math.comb(variant.deck.size, variant.hand_size),
            num_players=variant.num_players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=self.most_plays,
        )
        super().__init__(_game_type(self.name), info, {**sizes, **options})

    @property
    def most_plays(self) -> int:
        """No deal has more decisions: every trick takes a card from a hand."""
        return self.variant.num_players**2 * self.variant.hand_size

    def max_chance_nodes_in_history(self) -> int:
        return self.variant.num_players

    def new_initial_state(self) -> SmallState:
        return SmallState(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return pyspiel.load_game, (str(self),)

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> Observer:
        return Observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class SmallState(pyspiel.State):
    """A ``position`` as OpenSpiel wants it."""

    def __init__(self, game: SmallGame) -> None:
        super().__init__(game)
        variant = game.variant
        self.position = Position(variant, variant.template, (), (), (0.0,) * variant.num_players)

    def current_player(self) -> int:
        if self.position.dealing:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.position.over else self.position.seat

    def is_terminal(self) -> bool:
        return self.position.over

    def returns(self) -> list[float]:
        return list(self.position.returns)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        variant = self.position.variant
        count = math.comb(variant.deck.size - variant.hand_size * len(self.position.hands), variant.hand_size)
        return [(outcome, 1.0 / count) for outcome in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        return self.position.variant.legal(self.position.record)

    def _hand(self, outcome: int) -> Hand:
        """The hand that an outcome of this chance node stands for."""
        return next(itertools.islice(self.position.variant.hands(self.position.hands), outcome, None))

    def _apply_action(self, action: int) -> None:
        position = self.position
        self.position = position.dealt(self._hand(action)) if position.dealing else position.played(action)

    def _action_to_string(self, player: int, action: int) -> str:
        deck = self.position.variant.deck
        if player != pyspiel.PlayerId.CHANCE:
            return deck.format(action)
        return f"player_{len(self.position.hands)} gets {' '.join(deck.format_all(self._hand(action)))}"

    def __str__(self) -> str:
        deck = self.position.variant.deck
        hands = [f"{seat} {' '.join(deck.format_all(hand))}" for seat, hand in enumerate(self.position.hands)]
        plays = [f"{seat} {deck.format(action)}" for seat, action in self.position.plays]
        return " | ".join([*hands, ", ".join(plays)])

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> SmallState:
        """A state that the player cannot tell from this one, with each of these deals as likely as the other."""
        wanted = self.information_state_string(player)
        while True:
            state = self.get_game().new_initial_state()
            for hand in self.position.drawn_anew(player, sampler):
                state.apply_action(list(state.position.variant.hands(state.position.hands)).index(hand))
            for _, action in self.position.plays:
                if action not in state.legal_actions():
                    break
                state.apply_action(action)
            else:
                if state.information_state_string(player) == wanted:
                    return state


class Observer:
    """What a player sees, as OpenSpiel wants it.

    The tensor is the seat, what the environments show it, and, for information states, every play so far: these tell
    again all that the seat has seen and done. The string says the same in words.

    Attributes:
        tensor: ``float32``, flat.
        dict: its parts: ``player`` (players,), ``observation`` (view_size,), ``plays`` (decision, action).
    """

    def __init__(self, game: SmallGame, iig_obs_type: Any, params: dict[str, Any] | None = None) -> None:
        if params or not iig_obs_type.public_info or iig_obs_type.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("observers show what is public and the player's own cards, and have no parameters")
        variant = game.variant
        shapes: dict[str, tuple[int, ...]] = {"player": (variant.num_players,), "observation": (variant.view_size,)}
        if iig_obs_type.perfect_recall:
            shapes["plays"] = (game.most_plays, variant.num_actions)
        ends = list(itertools.accumulate(map(math.prod, shapes.values())))
        self.tensor = np.zeros(ends[-1], np.float32)
        parts = np.split(self.tensor, ends[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def set_from(self, state: SmallState, player: int) -> None:
        position = state.position
        self.tensor[:] = 0.0
        self.dict["player"][player] = 1.0
        self.dict["observation"][:] = position.variant.view(position.record, player)
        if "plays" in self.dict:
            for row, (_, action) in zip(self.dict["plays"], position.plays, strict=False):
                row[action] = 1.0

    def string_from(self, state: SmallState, player: int) -> str:
        position = state.position
        variant, record, deck = position.variant, position.record[0], position.variant.deck
        lies = {
            place: cards
            for place, cards in places(variant, position.record).items()
            if cards and place != "table" and (place == f"hand {player}" or not place.startswith("hand"))
        }
        trick = zip(record.trick_seat, map(deck.kind, record.trick[: record.trick_size]), strict=False)
        plays = position.plays if "plays" in self.dict else trick
        pieces = [f"{place}: {' '.join(deck.format_all(cards))}" for place, cards in lies.items()]
        pieces.append("played: " + ", ".join(f"{seat} {deck.format(action)}" for seat, action in plays))
        return " | ".join([f"player_{player}", *pieces])


def _game_type(name: str) -> Any:
    game = load_rules(name).game
    return pyspiel.GameType(
        short_name=f"trick_envs_{name}",
        long_name=f"{game.title}, a small variant",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=max(game.players),
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={**SIZES, **game.options},
    )


GAMES: dict[str, type[SmallGame]] = {name: type(f"Small_{name}", (SmallGame,), {"name": name}) for name in NAMES}
for _name, _game in GAMES.items():
    pyspiel.register_game(_game_type(_name), _game)


def small(
    name: str, num_players: int = 2, suits: int = 2, ranks: int = 4, hand_size: int = 3, **options: bool
) -> SmallGame:
    """A small variant of a game.

    Args:
        name: the game, such as ``"pepper"``.
        num_players: seats, 2 or more.
        suits: how many of the game's suits.
        ranks: how many of its ranks, from the lowest on.
        hand_size: cards dealt to each seat.
        options: the game's own options.

    Raises:
        ValueError: for a game that has no variants, or a size that does not fit; says what does.
        TypeError: for an option that the game does not have.
    """
    sizes = {"num_players": num_players, "suits": suits, "ranks": ranks, "hand_size": hand_size}
    small_setup(name, *sizes.values(), tuple(options.items()))  # or an error
    return GAMES[name]({**sizes, **options})


# --- exact numbers ------------------------------------------------------------------------------------------------


def greedy_policy(game: SmallGame) -> Any:
    """The game's rule of thumb in every information state, as a ``pyspiel.TabularPolicy``."""
    chosen: dict[str, list[tuple[int, float]]] = {}

    def visit(state: SmallState) -> None:
        if not (state.is_chance_node() or state.is_terminal()):
            greedy = state.position.greedy()
            chosen[state.information_state_string()] = [(its, float(its == greedy)) for its in state.legal_actions()]
        for action in state.legal_actions():
            visit(state.child(action))

    visit(game.new_initial_state())
    return pyspiel.TabularPolicy(chosen)


def exploitabilities(game: SmallGame, iterations: int = 100) -> dict[str, float]:
    """How far from perfect ``random``, ``greedy`` and so many iterations of CFR+ play; 0 is an equilibrium.

    The number is what a seat gains, in points and as a mean over the seats, if it knows how the others play and plays
    its best against them: NashConv over the number of seats. For two seats that is OpenSpiel's exploitability; with
    more of them nothing promises that CFR+ comes near 0.
    """
    tree = pyspiel.convert_to_cached_tree(game)  # as fast as a game in C++, from the second visit on
    solver = pyspiel.CFRPlusSolver(tree)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    policies = {
        "random": pyspiel.UniformRandomPolicy(tree),
        "greedy": greedy_policy(game),
        f"cfr+:{iterations}": solver.average_policy(),
    }
    return {name: pyspiel.nash_conv(tree, policy) / game.num_players() for name, policy in policies.items()}
