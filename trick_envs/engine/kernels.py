"""The compiled kernels: what every interface, agent and search does with a game, whatever its rules.

They are written once, as plain functions over a record (``state``) or an array of records (``states``), and bound to
each game by ``bind_kernels``: the names under "the game" below then mean that game's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trick_envs.engine import usual
from trick_envs.engine.cards import WORD, CardSet, cards, common, first, has, is_empty, nth, rest, size
from trick_envs.engine.compile import bind
from trick_envs.engine.lowlevel import clear_bytes, clear_deal, popcount, splitmix, write_bits
from trick_envs.engine.observation import write_by_seat, write_cards, write_number
from trick_envs.engine.rng import draw, draw_from, draw_seed, seed_rng
from trick_envs.engine.table import OVER, deal_hands, hand_size, kind, left, rank, relative, shuffle, sort_deck, suit

if TYPE_CHECKING:
    from trick_envs.engine.game import Game

F = TypeVar("F", bound=Callable[..., Any])

REWARDS = ("score", "zero_sum", "win")
SCORE, ZERO_SUM, WIN = range(len(REWARDS))

# --- the game: what these names mean in the copy for a game (``game.py`` says what each does) ---------------------

PHASES_OF_GAME: tuple[int, ...] = ()
HANDS_SEEN = False
begin: Any
legal: Any
play: Any
score_deal: Any
features: Any
worth: Any
secrets: Any
next_dealer: Any
match_over: Any
standing: Any
hide_own: Any
fill_own: Any
settle: Any
plausible: Any

OF_THE_GAME = (
    "begin", "legal", "play", "score_deal", "features", "worth", "secrets", "next_dealer", "match_over", "standing",
    "hide_own", "fill_own", "settle", "plausible",
)  # fmt: skip


_KERNELS: list[Callable[..., Any]] = []


def kernel(function: F) -> F:
    """Marks a function that ``bind_kernels`` copies and compiles for each game, in the order of this file."""
    _KERNELS.append(function)
    return function


def apart(function: F) -> F:
    """Marks a long kernel that is not to be compiled into those that call it, which would take minutes."""
    function.apart = True  # type: ignore[attr-defined]
    return function


# --- playing ------------------------------------------------------------------------------------------------------


@kernel
def lay_out(state: Any) -> None:
    """Deals the cards as they lie in ``order`` and begins the deal."""
    clear_deal(state)
    deal_hands(state)
    begin(state)


@kernel
def shuffle_and_deal(state: Any) -> None:
    sort_deck(state)
    shuffle(state)
    lay_out(state)


@kernel
def start_match(states: Any, i: int, template: Any, seed: Any) -> None:
    """Makes ``states[i]`` the start of the match with this seed (``uint64``)."""
    states[i] = template[0]
    state = states[i]
    seed_rng(state, seed)
    state.dealer = draw(state, state.num_players)
    shuffle_and_deal(state)


@kernel
def advance(state: Any, card: int) -> bool:
    """The seat to act names a legal card. Returns whether that ended the deal; the next one is then dealt already."""
    play(state, card)
    if state.phase != OVER:
        return False
    score_deal(state)
    for seat in range(state.num_players):
        state.score[seat] += state.deal_score[seat]
    state.deal_number += 1
    if not match_over(state):
        state.dealer = next_dealer(state)
        shuffle_and_deal(state)
    return True


@kernel
def winners(state: Any) -> int:
    """The seats with the best standing, as a set of bits."""
    best, found = standing(state, 0), 1
    for seat in range(1, state.num_players):
        its = standing(state, seat)
        if its > best:
            best, found = its, 1 << seat
        elif its == best:
            found |= 1 << seat
    return found


@kernel
def pay(state: Any, mode: int, rewards: Any) -> None:
    """Writes what each seat gets for the deal that has just ended to ``rewards``."""
    n = state.num_players
    if mode == WIN:
        won = winners(state) if state.phase == OVER else 0
        count = popcount(won)
        for seat in range(n):
            if count == 0 or count == n:
                rewards[seat] = 0.0
            else:
                rewards[seat] = 1.0 / count if (won >> seat) & 1 else -1.0 / (n - count)
        return
    total = 0
    for seat in range(n):
        total += state.deal_score[seat]
    for seat in range(n):
        own = state.deal_score[seat]
        if mode == SCORE:
            rewards[seat] = own
        elif state.teams:
            rewards[seat] = own - (total - 2 * own) / 2
        else:
            rewards[seat] = own - total / n


@kernel
def kinds_of(state: Any, some: CardSet) -> CardSet:
    """The kinds of some cards: what a player may name to play one of them."""
    return some if state.copies == 1 else (some[0] | some[1], 0)


@kernel
def copy_named(state: Any, allowed: CardSet, action: int) -> int:
    """The card among those allowed that an action names, or -1.

    Of two copies it is the one that more seats know of: what they see being played need not be the other one.
    """
    one = has(allowed, action)
    if state.copies == 1:
        return action if one else -1
    other = has(allowed, action + WORD)
    if one and other:
        known_one, known_other = 0, 0
        for seat in range(state.num_players):
            known_one += has(cards(state.seen[seat]), action)
            known_other += has(cards(state.seen[seat]), action + WORD)
        one = known_one >= known_other
    return action if one else action + WORD if other else -1


@kernel
def find(state: Any, action: int) -> int:
    """The card that an action names now, or -1 if it names none that is legal."""
    return copy_named(state, legal(state), action)


# --- observing ----------------------------------------------------------------------------------------------------


@kernel
def write_known(state: Any, observer: int, out: Any, at: int) -> int:
    """What the observer knows of the other hands, its left neighbour's first; returns where it ends."""
    seat = observer
    for _ in range(state.num_players - 1):
        seat = left(state, seat)
        at = write_cards(state, common(cards(state.hand[seat]), cards(state.seen[observer])), out, at)
    return at


@kernel
def write_mask(state: Any, out: Any) -> None:
    """Which actions are legal for the seat to act; none when the match is over."""
    if state.phase == OVER:
        clear_bytes(out, 0, state.kinds)
        return
    named = kinds_of(state, legal(state))
    write_bits(named[0], named[1], WORD, out, 0, state.kinds)


@kernel
def write_observation(state: Any, observer: int, out: Any, at: int) -> int:
    """What ``trick_envs/engine/observation.py`` lists, from ``out[at]`` on; returns where it ends."""
    n, suits, ranks = state.num_players, state.num_suits, state.num_ranks
    at = write_cards(state, cards(state.hand[observer]), out, at)
    if HANDS_SEEN:
        at = write_known(state, observer, out, at)
    at = write_by_seat(state, state.gone, state.kinds, observer, out, at)

    clear_bytes(out, at, n * (suits + ranks))
    for i in range(state.trick_size):
        card = state.trick[i]
        slot = at + relative(state, state.trick_seat[i], observer) * (suits + ranks)
        out[slot + suit(state, card)] = 1
        out[slot + suits + rank(state, card)] = 1
    at += n * (suits + ranks)

    at = write_by_seat(state, state.void, suits, observer, out, at)
    seat = observer
    for i in range(n):
        out[at + i] = hand_size(state, seat)
        seat = seat + 1 if seat + 1 < n else 0
    at += n

    for i in range(len(PHASES_OF_GAME)):
        out[at + i] = state.phase == PHASES_OF_GAME[i]
    at += len(PHASES_OF_GAME)
    clear_bytes(out, at, 2 * n)
    if state.phase != OVER:
        out[at + relative(state, state.seat, observer)] = 1
    out[at + n + relative(state, state.dealer, observer)] = 1
    at += 2 * n

    at = write_number(state.deal_number, out, at)
    at = write_number(max(state.num_deals - state.deal_number - 1, 0), out, at)
    seat = observer
    for _ in range(n):
        at = write_number(state.score[seat], out, at)
        seat = seat + 1 if seat + 1 < n else 0
    return features(state, observer, out, at)


@kernel
def look(states: Any, i: int, observer: int, observation: Any, mask: Any) -> int:
    """Writes the observation and mask of one seat of ``states[i]``, both ``int8``; returns the observation's length."""
    state = states[i]
    if observer == state.seat:
        write_mask(state, mask)
    else:
        clear_bytes(mask, 0, state.kinds)
    return write_observation(state, observer, observation, 0)


@kernel
def look_at_all(states: Any, i: int, out: Any) -> int:
    """Writes the vector of ``state()``; returns its length."""
    state = states[i]
    at = 0
    for seat in range(state.num_players):
        at = write_cards(state, cards(state.hand[seat]), out, at)
    if HANDS_SEEN:
        for seat in range(state.num_players):
            at = write_known(state, seat, out, at)
    return write_observation(state, 0, out, secrets(state, out, at))


# --- one game at a time -------------------------------------------------------------------------------------------


ILLEGAL, DEAL_ENDED, MATCH_ENDED = -1, 16, 32  # what ``step_one`` returns, beside the next seat to act


@kernel
def step_one(states: Any, action: int, mode: int, rewards: Any) -> int:
    """Plays an action in ``states[0]`` and pays, if that ends a deal.

    Returns the seat to act next, plus ``DEAL_ENDED`` and ``MATCH_ENDED`` where so; ``ILLEGAL``, and changes nothing,
    if the action is not legal.
    """
    state = states[0]
    if action < 0 or action >= state.kinds or state.phase == OVER:
        return ILLEGAL
    card = find(state, action)
    if card < 0:
        return ILLEGAL
    if not advance(state, card):
        return state.seat
    pay(state, mode, rewards)
    return state.seat + DEAL_ENDED + (MATCH_ENDED if state.phase == OVER else 0)


@kernel
def next_seed(states: Any) -> Any:
    """The seed of the match that follows the one in ``states[0]``."""
    return draw_seed(states[0])


@kernel
def winners_of(states: Any) -> int:
    """The seats with the best standing in ``states[0]``, as a set of bits."""
    return winners(states[0])


@kernel
def legal_of(states: Any) -> CardSet:
    """The cards that the seat to act may name in ``states[0]``."""
    return legal(states[0])


@kernel
def set_order(states: Any, order: Any, dealer: int) -> None:
    """Deals given cards (``order``: hand after hand, then the stock) instead of those of the current deal."""
    state = states[0]
    for i in range(state.num_cards):
        state.order[i] = order[i]
    state.dealer = dealer
    lay_out(state)


# --- many games at once -------------------------------------------------------------------------------------------


@kernel
def reset_all(states: Any, template: Any, seeds: Any) -> None:
    """Starts a match with its seed in every record."""
    for i in range(states.shape[0]):
        start_match(states, i, template, seeds[i])


@kernel
def look_all(states: Any, observations: Any, masks: Any, seats: Any) -> None:
    """Observation and mask of the seat to act, for every record."""
    for i in range(states.shape[0]):
        state = states[i]
        seats[i] = state.seat
        write_mask(state, masks[i])
        write_observation(state, state.seat, observations[i], 0)


@kernel
def step_rows(
    states: Any,
    template: Any,
    rows: Any,
    actions: Any,
    mode: int,
    observations: Any,
    masks: Any,
    seats: Any,
    rewards: Any,
    ends: Any,
) -> None:
    """Plays a legal action in each of these records, starts the next match where one ended, and looks."""
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        ends[i] = 0
        if advance(state, find(state, actions[k])):
            pay(state, mode, rewards[i])
            if state.phase == OVER:
                ends[i] = 1
                start_match(states, i, template, draw_seed(state))
        else:
            for seat in range(state.num_players):
                rewards[i, seat] = 0.0
        seats[i] = state.seat
        write_mask(state, masks[i])
        write_observation(state, state.seat, observations[i], 0)


@kernel
def random_card(state: Any, streams: Any, i: int) -> int:
    """A legal card, every action as likely."""
    allowed = legal(state)
    named = kinds_of(state, allowed)
    action = nth(named, draw_from(streams, i, size(named)))
    return action if state.copies == 1 else copy_named(state, allowed, action)


@kernel
def random_playouts(states: Any, template: Any, streams: Any, plays: int) -> int:
    """Plays ``plays`` random cards in every record, match after match; returns how many deals ended."""
    deals = 0
    for i in range(states.shape[0]):
        state = states[i]
        for _ in range(plays):
            if advance(state, random_card(state, streams, i)):
                deals += 1
                if state.phase == OVER:
                    start_match(states, i, template, draw_seed(state))
    return deals


@kernel
def random_actions(masks: Any, streams: Any, actions: Any) -> None:
    """A random legal action for every row of ``masks``."""
    for i in range(masks.shape[0]):
        count = 0
        for action in range(masks.shape[1]):
            count += masks[i, action] != 0
        if count == 0:
            continue
        chosen = draw_from(streams, i, count)
        for action in range(masks.shape[1]):
            if masks[i, action] != 0:
                if chosen == 0:
                    actions[i] = action
                    break
                chosen -= 1


@kernel
def likeliest(state: Any, actions: CardSet) -> int:
    """Of some actions the one that the rule of thumb likes best; an action is itself a card, the first of its kind."""
    best = first(actions)
    most = worth(state, best)
    actions = rest(actions)
    while not is_empty(actions):
        action = first(actions)
        actions = rest(actions)
        its = worth(state, action)
        if its > most:
            best, most = action, its
    return best


@kernel
def greedy(state: Any) -> int:
    """The action that the game's rule of thumb names."""
    return likeliest(state, kinds_of(state, legal(state)))


@kernel
def greedy_actions(states: Any, actions: Any) -> None:
    """What the game's rule-of-thumb player names, for every record whose match goes on."""
    for i in range(states.shape[0]):
        state = states[i]
        if state.phase != OVER:
            actions[i] = greedy(state)


# --- one learner a game, the other seats played by agents --------------------------------------------------------

NOBODY, NAMED, RANDOM_PLAYER, GREEDY_PLAYER = -4, -3, -2, -1  # who plays in here; other numbers are agents outside
ILLEGAL_MODES = ("terminate", "raise", "random")
END_MATCH, RAISE, PLAY_RANDOM = range(len(ILLEGAL_MODES))


@kernel
def next_seeds(states: Any, rows: Any, seeds: Any) -> None:
    """The seed of the match that follows the one in each of these rows."""
    for k in range(rows.shape[0]):
        seeds[k] = draw_seed(states[rows[k]])


@kernel
def draw_seat(states: Any, i: int, streams: Any) -> int:
    """Starts ``streams[i]`` afresh for the match in ``states[i]``, apart from its deals; returns a random seat."""
    state = states[i]
    _, bits = splitmix(state.seed)
    _, bits = splitmix(bits)
    _, streams[i] = splitmix(bits)
    return draw_from(streams, i, state.num_players)


@kernel
def sit_down(
    states: Any, template: Any, rows: Any, seeds: Any, dealer: int, seat: int, streams: Any, seats: Any
) -> None:
    """Starts a match in each of these rows; ``dealer`` and the learner's ``seat`` are drawn from its seed if -1."""
    for k in range(rows.shape[0]):
        i = rows[k]
        start_match(states, i, template, seeds[k])
        drawn = draw_seat(states, i, streams)
        seats[i] = drawn if seat < 0 else seat
        if dealer >= 0:
            state = states[i]
            state.dealer = dealer
            lay_out(state)


@kernel
def random_action(states: Any, i: int, streams: Any) -> int:
    """A random legal action for the seat to act, each as likely."""
    state = states[i]
    return kind(state, random_card(state, streams, i))


@kernel
def greedy_action(states: Any, i: int) -> int:
    """What the game's rule-of-thumb player names."""
    return greedy(states[i])


@kernel
def first_illegal_of(states: Any, rows: Any, actions: Any) -> int:
    """The first ``k`` for which ``actions[k]`` is not legal in the game ``rows[k]``, or -1."""
    for k in range(rows.shape[0]):
        action = actions[k]
        state = states[rows[k]]
        if action < 0 or action >= state.kinds or state.phase == OVER or find(state, action) < 0:
            return k
    return -1


@kernel
def play_rows(
    states: Any,
    rows: Any,
    actions: Any,
    seats: Any,
    opponents: Any,
    streams: Any,
    mode: int,
    illegal: int,
    rewards: Any,
    over: Any,
    waiting: Any,
) -> None:
    """Plays in each of these rows until its learner is to act, an agent outside is, or the match is over.

    Args:
        rows: indices into the other arrays, which have an entry a game.
        actions: one a row, for the seat to act; empty, if only opponents have to act.
        seats: where the learners sit.
        opponents: who plays the seats from the learner's left neighbour on.
        rewards: what the learners get is added here.
        over: set where the match has ended, as it should or by an illegal action.
        waiting: set to the number of the agent outside that has to act, else to -1.
    """
    pays = np.zeros(16, np.float64)
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        learner = seats[i]
        player = NAMED if actions.shape[0] > 0 else NOBODY
        waiting[i] = -1
        while True:
            if player == NOBODY:
                if state.phase == OVER:
                    over[i] = True
                    break
                if state.seat == learner:
                    break
                player = opponents[relative(state, state.seat, learner) - 1]
                if player >= 0:
                    waiting[i] = player
                    break

            if player == RANDOM_PLAYER:
                card = random_card(state, streams, i)
            else:
                action = actions[k] if player == NAMED else greedy(state)
                card = find(state, action) if 0 <= action < state.kinds else -1

            if card >= 0:
                player = NOBODY
                if advance(state, card):
                    pay(state, mode, pays)
                    rewards[i] += pays[learner]
            elif illegal == PLAY_RANDOM:
                player = RANDOM_PLAYER
            else:
                rewards[i] = -1.0
                over[i] = True
                break


@kernel
def look_at_rows(states: Any, rows: Any, seats: Any, over: Any, observations: Any, masks: Any) -> None:
    """Observations (``float32``) and masks of the seats ``seats[i]``, a row each for these games."""
    seen = np.zeros(observations.shape[1], np.int8)
    for k in range(rows.shape[0]):
        i = rows[k]
        state = states[i]
        seat = seats[i]
        if over[i] or seat != state.seat:
            clear_bytes(masks[k], 0, state.kinds)
        else:
            write_mask(state, masks[k])
        write_observation(state, seat, seen, 0)
        for j in range(seen.shape[0]):
            observations[k, j] = seen[j]


# --- binding ------------------------------------------------------------------------------------------------------


def bind_kernels(modules: Sequence[ModuleType], name: str, game: Game) -> SimpleNamespace:
    """All kernels, bound to the functions of a game's rules file, which comes first, and of its other files."""
    source = modules[0].__file__
    assert source is not None
    bound: dict[str, Any] = {"PHASES_OF_GAME": tuple(game.phases), "HANDS_SEEN": game.hands_seen}
    for needed in OF_THE_GAME:
        bound[needed] = next(getattr(module, needed) for module in (*modules, usual) if hasattr(module, needed))
    for function in _KERNELS:
        bound[function.__name__] = bind(function, bound, name, source)
    return SimpleNamespace(**bound)
