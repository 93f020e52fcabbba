"""Hidden worlds: the cards that a seat has not seen are redealt."""

from __future__ import annotations

import math

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import CardSet, cards, first, has, is_empty, just, nth, put, rest, size, union, without
from trick_envs.engine.hooks import complete_world, is_consistent, notes_of, place_hidden, remove_hidden
from trick_envs.engine.intrinsics import splitmix
from trick_envs.engine.rng import draw_from
from trick_envs.engine.state import NumberRows, Numbers, State, States, Streams
from trick_envs.engine.table import suit_cards

OLD, WHERE, NEW = range(3)  # rows of the scratch table of ``resample``: card before, slot, card after
ROWS, WIDTH = 3, 128

TRIES = 200  # attempts to draw a world that respects the voids; see ``resample``
WORLDS = 200  # worlds drawn until one is consistent

LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(WIDTH)])


@kernel
def log_ways(some: int, chosen: int) -> float:
    """The logarithm of a binomial coefficient."""
    return LOG_FACTORIAL[some] - LOG_FACTORIAL[chosen] - LOG_FACTORIAL[some - chosen]


@kernel
def without_voids(state: State, seat: int, some: CardSet) -> CardSet:
    """The cards in ``some`` that the seat may hold: none of a suit of which play has shown it void."""
    for suit in range(state.num_suits):
        if state.void[seat * state.num_suits + suit]:
            some = without(some, suit_cards(state, suit))
    return some


@kernel
def draw_hands(state: State, slots: int, unseen: CardSet, exact: bool, streams: Streams, i: int, work: Numbers) -> bool:
    """Draws a card for every slot; returns whether the world is accepted.

    The seats draw one after the other, those that may hold the fewest of the cards first, each uniformly from what it
    may hold. A world with fewer choices on the way is then more probable, so worlds are accepted with a probability
    that corrects for it (``exact``).

    The probability: let seat ``s``, when its turn comes, want ``w_s`` cards, and let ``c_s`` of those that are left be
    allowed to it. It draws one of ``C(c_s, w_s)`` equally likely hands (``C``: binomial coefficient), and the other
    slots get the rest in an order that is uniform in every world alike. So a world is proposed with a probability
    proportional to ``1 / prod C(c_s, w_s)``, and accepting it with a probability proportional to ``prod C(c_s, w_s)``
    makes all worlds equally likely. To be a probability, the product is divided by one that is never smaller:
    ``c_s`` is at most the number of unseen cards that the seat may hold at all (``fewest``), and at most the number
    of cards not drawn before (``total - drawn``), both of which are the same in every world. The order of the seats is
    the same, too, for it hangs on ``fewest`` alone. Without voids the two products are equal, and every world is
    accepted; seats with the fewest choices draw first, because then ``c_s`` is close to its bound. ``log_kept`` is the
    logarithm of the quotient.
    """
    n, left_over, log_kept = state.num_players, unseen, 0.0
    total, drawn, done = size(unseen), 0, 0
    for _ in range(n):
        best, fewest = -1, WIDTH
        for seat in range(n):
            if (done >> seat) & 1 == 0:
                may_hold = size(without_voids(state, seat, unseen))
                if may_hold < fewest:
                    best, fewest = seat, may_hold
        done |= 1 << best
        wanted = 0
        for slot in range(slots):
            wanted += work[WHERE, slot] == best
        allowed = without_voids(state, best, left_over)
        count = size(allowed)
        if count < wanted:
            return False
        log_kept += log_ways(count, wanted) - log_ways(min(fewest, total - drawn), wanted)
        drawn += wanted
        for slot in range(slots):
            if work[WHERE, slot] == best:
                card = nth(allowed, draw_from(streams, i, count))
                work[NEW, slot] = card
                allowed, left_over = without(allowed, just(card)), without(left_over, just(card))
                count -= 1
    for slot in range(slots):
        if work[WHERE, slot] >= n:
            card = nth(left_over, draw_from(streams, i, size(left_over)))
            work[NEW, slot] = card
            left_over = without(left_over, just(card))
    if not exact or log_kept >= 0.0:
        return True
    return draw_from(streams, i, 1 << 30) < math.exp(log_kept) * (1 << 30)


@kernel
def take_hand(state: State, seat: int, other: int, slots: int, work: Numbers) -> int:
    """Makes slots of the cards in a hand that ``seat`` has not seen; returns the new number of slots.

    Their order hangs on who else knows a card, and on notes of it, but not on the card itself. Whoever else has seen
    some of them knows cards in the same slots then, in all worlds that look alike to ``seat``.
    """
    hidden, known = without(cards(state.hand[other]), cards(state.seen[seat])), (0, 0)
    for third in range(state.num_players):
        if third != seat and third != other:
            known = union(known, cards(state.seen[third]))
    state.hand[other, 0] &= ~hidden[0]
    state.hand[other, 1] &= ~hidden[1]
    begin = slots
    while not is_empty(hidden):
        card = first(hidden)
        hidden = rest(hidden)
        sign, at = notes_of(state, seat, card), slots
        if has(known, card):
            for third in range(state.num_players):
                sign *= 2
                if third != seat and third != other and has(cards(state.seen[third]), card):
                    sign += 1
        else:  # the same, sooner
            sign <<= state.num_players
        while at > begin and work[NEW, at - 1] > sign:
            work[OLD, at], work[NEW, at] = work[OLD, at - 1], work[NEW, at - 1]
            at -= 1
        work[OLD, at], work[NEW, at], work[WHERE, slots] = card, sign, other
        slots += 1
    return slots


@kernel
def move_knowledge(state: State, seat: int, slots: int, work: Numbers) -> None:
    """Whoever knew the old card in a slot knows the new one."""
    for other in range(state.num_players):
        if other == seat:
            continue
        before = cards(state.seen[other])
        for slot in range(slots):
            state.seen[other, 0] &= ~just(work[OLD, slot])[0]
            state.seen[other, 1] &= ~just(work[OLD, slot])[1]
        for slot in range(slots):
            if has(before, work[OLD, slot]):
                put(state.seen[other], work[NEW, slot])


@kernel(inline=False)
def deal_unseen(state: State, seat: int, streams: Streams, i: int, work: Numbers) -> None:
    """Redeals the cards that ``seat`` has not seen; see ``resample``."""
    n, slots, unseen = state.num_players, 0, (0, 0)
    for other in range(n):
        if other != seat:
            slots = take_hand(state, seat, other, slots, work)
    slots = remove_hidden(state, seat, work[OLD], work[WHERE], slots)
    for slot in range(slots):
        unseen = union(unseen, just(work[OLD, slot]))
    kept = False
    for attempt in range(TRIES):
        kept = draw_hands(state, slots, unseen, attempt < TRIES // 2, streams, i, work)
        if kept:
            break
    if not kept:
        for slot in range(slots):
            card = nth(unseen, draw_from(streams, i, slots - slot))
            work[NEW, slot] = card
            unseen = without(unseen, just(card))
    for slot in range(slots):
        if work[WHERE, slot] < n:
            put(state.hand[work[WHERE, slot]], work[NEW, slot])
        else:
            place_hidden(state, work[WHERE, slot], work[NEW, slot])
    move_knowledge(state, seat, slots, work)
    complete_world(state, seat, work[OLD], work[NEW], slots, streams, i)


@kernel
def draw_bits(streams: Streams, i: int) -> np.uint64:
    """64 random bits from ``streams[i]``."""
    streams[i], bits = splitmix(streams[i])
    return bits


@kernel(inline=False)
def resample(state: State, seat: int, streams: Streams, i: int, work: Numbers) -> None:
    """Replaces what ``seat`` has not seen by a random world; its observation does not change in any bit.

    The cards that it has not seen are redealt to the slots in which they lie; whoever knew the card in a slot knows the
    new one. By rejection sampling, the world is uniform over all worlds with the same hand sizes that respect what play
    has publicly shown (voids) and that are consistent for the game. After ``TRIES`` or ``WORLDS`` rejections it may be
    only nearly uniform, or not consistent. The choices of opponents are not used as evidence. The record's generator is
    reseeded: no search can see later deals.
    """
    for _ in range(WORLDS):
        deal_unseen(state, seat, streams, i, work)
        if is_consistent(state, seat):
            break
    state.rng = draw_bits(streams, i)


@kernel(called=True)
def resample_batch(states: States, seats: Numbers, streams: Streams, work: NumberRows) -> None:
    """``resample`` in every record, for the seat given for it, with the stream given for it."""
    for i in range(states.shape[0]):
        resample(states[i], seats[i], streams, i, work)
