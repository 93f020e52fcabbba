"""Playing: deals, plays, rewards, and which card an action names."""

from __future__ import annotations

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import WORD, CardSet, cards, has
from trick_envs.engine.hooks import TWO_PACKS, begin, legal, match_over, next_dealer, play, score_deal, standing
from trick_envs.engine.intrinsics import clear_deal, copy_state, popcount
from trick_envs.engine.rng import draw, seed_rng
from trick_envs.engine.state import MAX_PLAYERS, OVER, Bytes, FixedStates, Numbers, Reals, Rewards, State, States
from trick_envs.engine.table import deal_hands, shuffle, sort_deck

REWARDS = ("score", "zero_sum", "win")
SCORE, ZERO_SUM, WIN = range(len(REWARDS))


@kernel
def begin_deal(state: State) -> None:
    """Deals the cards as they lie in ``order`` and begins the deal."""
    clear_deal(state)
    deal_hands(state)
    begin(state)


@kernel
def shuffle_and_deal(state: State) -> None:
    """Shuffles the whole deck and begins a deal."""
    sort_deck(state)
    shuffle(state)
    begin_deal(state)


@kernel(called=True)
def start_match(states: States, i: int, template: FixedStates, seed: np.uint64) -> None:
    """Makes ``states[i]`` the start of the match with this seed (``uint64``)."""
    state = states[i]
    copy_state(template[0], state)
    seed_rng(state, seed)
    state.dealer = draw(state, state.num_players)
    shuffle_and_deal(state)


@kernel
def play_and_score(state: State, card: int) -> bool:
    """The seat to act names a legal card. Returns whether that ended the deal, which is then scored."""
    play(state, card)
    if state.phase != OVER:
        return False
    score_deal(state)
    for seat in range(state.num_players):
        state.score[seat] += state.deal_score[seat]
    state.deal_number += 1
    return True


@kernel
def advance(state: State, card: int) -> bool:
    """The seat to act names a legal card. Returns whether that ended the deal; the next one is then dealt already."""
    if not play_and_score(state, card):
        return False
    if not match_over(state):
        state.dealer = next_dealer(state)
        shuffle_and_deal(state)
    return True


@kernel
def winners(state: State) -> int:
    """The seats with the best standing, as a set of bits."""
    best, found = standing(state, 0), 1
    for seat in range(1, state.num_players):
        reached = standing(state, seat)
        if reached > best:
            best, found = reached, 1 << seat
        elif reached == best:
            found |= 1 << seat
    return found


@kernel
def pay(state: State, mode: int, rewards: Rewards) -> None:
    """Writes every seat's reward for the deal that has just ended to ``rewards``."""
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
def kinds_of(state: State, some: CardSet) -> CardSet:
    """The kinds of some cards: what a player may name to play one of them."""
    if not TWO_PACKS:
        return some
    return some[0] | some[1], 0


@kernel
def resolve_copy(state: State, allowed: CardSet, action: int) -> int:
    """The card among those allowed that an action names, or -1.

    Of two copies it is the one that more seats know of: to them, the card that they know of is the one played.
    """
    one = has(allowed, action)
    if not TWO_PACKS:
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
def resolve_card(state: State, action: int) -> int:
    """The card that an action names now, or -1 if it names none that is legal."""
    return resolve_copy(state, legal(state), action)


@kernel
def checked_card(state: State, action: int) -> int:
    """``resolve_card`` of any integer, also after the end of the match: -1 if it is not a legal action."""
    if action < 0 or action >= state.kinds or state.phase == OVER:
        return -1
    return resolve_card(state, action)


# --- one game at a time -------------------------------------------------------------------------------------------

ILLEGAL, DEAL_ENDED, MATCH_ENDED = (
    -1,
    MAX_PLAYERS,
    2 * MAX_PLAYERS,
)  # what ``step_one`` returns, besides the next seat to act


@kernel(called=True)
def step_one(states: States, action: int, mode: int, rewards: Reals) -> int:
    """Plays an action in ``states[0]``, and writes rewards if it ends a deal.

    Returns the seat to act next, plus ``DEAL_ENDED`` and ``MATCH_ENDED`` if they have. An illegal action changes
    nothing and returns ``ILLEGAL``.
    """
    state = states[0]
    card = checked_card(state, action)
    if card < 0:
        return ILLEGAL
    if not advance(state, card):
        return state.seat
    pay(state, mode, rewards)
    return state.seat + DEAL_ENDED + (MATCH_ENDED if state.phase == OVER else 0)


@kernel(called=True)
def play_without_dealing(states: States, action: int) -> bool:
    """Plays a legal action in ``states[0]``. Returns whether it ended the deal: its last position then stays."""
    return play_and_score(states[0], resolve_card(states[0], action))


@kernel(called=True)
def winners_bits(states: FixedStates) -> int:
    """The seats with the best standing in ``states[0]``, as a set of bits."""
    return winners(states[0])


@kernel(called=True)
def legal_cards(states: FixedStates) -> CardSet:
    """The cards that the seat to act may name in ``states[0]``."""
    return legal(states[0])


@kernel(called=True)
def deal_order(states: States, order: Bytes, dealer: int) -> None:
    """Deals given cards (``order``: hand after hand, then the stock) instead of those of the current deal."""
    state = states[0]
    for i in range(state.num_cards):
        state.order[i] = order[i]
    state.dealer = dealer
    begin_deal(state)


@kernel(called=True)
def first_illegal(states: FixedStates, rows: Numbers, actions: Numbers) -> int:
    """The first ``k`` for which ``actions[k]`` is not legal in the game ``rows[k]``, or -1."""
    for k in range(rows.shape[0]):
        if checked_card(states[rows[k]], actions[k]) < 0:
            return k
    return -1


@kernel(called=True)
def replay_actions(states: States, actions: Numbers, mode: int, rewards: Reals, seats: Numbers) -> tuple[int, int]:
    """Plays actions in ``states[0]`` until a deal ends, one of them is illegal, or there are no more.

    Writes the seat of each decision to ``seats``. Returns how many actions were played, and the last result of
    ``step_one``.
    """
    state, result = states[0], 0
    for k in range(actions.shape[0]):
        seats[k] = state.seat
        result = step_one(states, actions[k], mode, rewards)
        if result == ILLEGAL:
            return k, result
        if result >= DEAL_ENDED:
            return k + 1, result
    return actions.shape[0], result
