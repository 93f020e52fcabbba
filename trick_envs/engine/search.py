"""Search: hidden worlds drawn anew, and players that look ahead in them.

Kernels like those in ``kernels.py``, bound to each game together with them. Sources: perfect-information Monte Carlo
as in Long, Sturtevant, Buro, Furtak (2010); information-set Monte Carlo tree search (single observer) as in Cowling,
Powley, Whitehouse (2012), with the values of all seats backed up, so that every seat maximises its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trick_envs.engine.cards import (
    EMPTY,
    CardSet,
    cards,
    first,
    has,
    is_empty,
    just,
    nth,
    put,
    rest,
    size,
    union,
    without,
)
from trick_envs.engine.kernels import apart, find, kernel, kinds_of, likeliest
from trick_envs.engine.lowlevel import splitmix
from trick_envs.engine.rng import draw, draw_from
from trick_envs.engine.table import OVER

# The game's functions, as in ``kernels.py``.
legal: Any
play: Any
score_deal: Any
greedy: Any
hide_own: Any
fill_own: Any
settle: Any
plausible: Any

OLD, WHERE, NEW, SEEN = range(4)  # rows of the scratch table of ``resample``
ROWS, WIDTH = 4, 128

TRIES = 200  # to draw a world that respects the voids; see ``resample``
WORLDS = 20  # until one is plausible
# Half and twice the exploration, a widening of 1 and of 16: over 100 deals with 500 iterations none was better in any
# game, and a widening of 1 worse in Whist (-0.73 ± 0.59 points a deal).
WIDENING = 4  # a node has about half as many children as the root of its visits
EXPLORATION = 0.7
ONE_IN = 4  # plays of a play-out is a slip, where there are slips
DOUBT = 1.0  # how many standard errors better than the rule of thumb's an action must look

LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(WIDTH)])


# --- hidden worlds ------------------------------------------------------------------------------------------------


@kernel
def log_ways(some: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose."""
    return LOG_FACTORIAL[some] - LOG_FACTORIAL[chosen] - LOG_FACTORIAL[some - chosen]


@kernel
def without_voids(state: Any, seat: int, some: CardSet) -> CardSet:
    """Those of the cards that the seat may hold, as far as play has shown."""
    for its in range(state.num_suits):
        if state.void[seat * state.num_suits + its]:
            some = without(some, cards(state.of_suit[its]))
    return some


@kernel
def draw_hands(state: Any, slots: int, unseen: CardSet, exact: bool, streams: Any, i: int, work: Any) -> bool:
    """Draws a card for every slot; whether the world is one to keep.

    The seats draw one after the other, those that may hold the fewest of the cards first, each uniformly from what it
    may hold. A world is then the more likely the less there was to choose from, so it is kept with a probability that
    makes up for that (``exact``).
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
def move_knowledge(state: Any, seat: int, slots: int, work: Any) -> None:
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


@apart
@kernel
def deal_unseen(state: Any, seat: int, streams: Any, i: int, work: Any) -> None:
    """Deals the cards that ``seat`` has not seen anew; see ``resample``."""
    n, slots, unseen = state.num_players, 0, (0, 0)
    for other in range(n):
        if other == seat:
            continue
        hidden = without(cards(state.hand[other]), cards(state.seen[seat]))
        state.hand[other, 0] &= ~hidden[0]
        state.hand[other, 1] &= ~hidden[1]
        while not is_empty(hidden):
            work[OLD, slots], work[WHERE, slots] = first(hidden), other
            slots += 1
            hidden = rest(hidden)
    slots = hide_own(state, seat, work[OLD], work[WHERE], slots)
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
            fill_own(state, work[WHERE, slot], work[NEW, slot])
    move_knowledge(state, seat, slots, work)
    settle(state, seat, streams, i)


@kernel
def draw_bits(streams: Any, i: int) -> Any:
    """64 random bits from ``streams[i]``."""
    streams[i], bits = splitmix(streams[i])
    return bits


@apart
@kernel
def resample(state: Any, seat: int, streams: Any, i: int, work: Any) -> None:
    """Replaces what ``seat`` has not seen by a world drawn at random; its observation stays the same to the bit.

    The cards that it has not seen are dealt anew over the slots where they lie; whoever knew the card in a slot knows
    the new one. The draw is uniform over all worlds with the same hand sizes that respect what play has publicly
    shown (voids) and what the game calls ``plausible``, by rejection; so many draws are rejected at most (``TRIES``,
    ``WORLDS``), and then a world is taken that is only nearly uniform, or less than plausible. What opponents *chose*
    is not taken into account. The stream of the record is fresh: no search can see later deals.
    """
    for _ in range(WORLDS):
        deal_unseen(state, seat, streams, i, work)
        if plausible(state, seat):
            break
    state.rng = draw_bits(streams, i)


# --- playing on ---------------------------------------------------------------------------------------------------


@apart
@kernel
def play_out(state: Any, slips: bool) -> None:
    """Plays the deal to its end by the rule of thumb, and scores it; with slips, now and then by any legal card."""
    while state.phase != OVER:
        if slips and draw(state, ONE_IN) == 0:
            allowed = kinds_of(state, legal(state))
            action = nth(allowed, draw(state, size(allowed)))
        else:
            action = greedy(state)
        play(state, find(state, action))
    score_deal(state)


@kernel
def margin(state: Any, seat: int) -> float:
    """The seat's points of the deal minus the mean of the others' (the other team's)."""
    n, total = state.num_players, 0
    for other in range(n):
        total += state.deal_score[other]
    own = state.deal_score[seat]
    if state.teams:
        return own - (total - 2 * own) / 2
    return own - (total - own) / (n - 1)


@apart
@kernel
def value_of(scratch: Any, action: int, seat: int) -> float:
    """The margin of a seat when an action is played in the world ``scratch[0]``, and the rest by the rule of thumb."""
    scratch[1] = scratch[0]
    world = scratch[1]
    play(world, find(world, action))
    play_out(world, False)
    return margin(world, seat)


@kernel
def begin_decision(states: Any, i: int, seed: Any, streams: Any, sums: Any) -> CardSet:
    """The actions to choose from, none if the match is over. Starts the decision's random numbers and its books.

    The numbers come from the player's seed and from what everybody knows of the position, so that they are the same
    however games are batched.
    """
    state = states[i]
    played = state.deal_number * 4096 + state.tricks * 16 + state.trick_size
    _, bits = splitmix(seed ^ (state.seed * np.uint64(0x9E3779B97F4A7C15)))
    _, streams[i] = splitmix(bits ^ np.uint64(played))
    sums[:] = 0.0
    return EMPTY if state.phase == OVER else kinds_of(state, legal(state))


@kernel
def book(sums: Any, action: int, advantage: float) -> None:
    """One more world in which an action was compared with the usual one."""
    sums[0, action] += advantage
    sums[1, action] += advantage * advantage
    sums[2, action] += 1.0


@kernel
def surely_best(usual: int, actions: CardSet, sums: Any) -> int:
    """The best of some actions, as far as can be told.

    The usual one stands, unless another is better in the same worlds by more than chance makes likely: what counts is
    its mean advantage less ``DOUBT`` standard errors.
    """
    best, most, actions = usual, 0.0, without(actions, just(usual))
    while not is_empty(actions):
        action = first(actions)
        actions = rest(actions)
        mean = sums[0, action] / sums[2, action]
        variance = max(sums[1, action] / sums[2, action] - mean * mean, 0.0)
        its = mean - DOUBT * math.sqrt(variance / sums[2, action])
        if its > most:
            best, most = action, its
    return best


@kernel
def pimc(
    states: Any, worlds: int, seed: Any, actions: Any, streams: Any, scratch: Any, work: Any, sums: Any
) -> None:  # fmt: skip
    """The best action over sampled worlds, each played out by the rule of thumb; for every record that goes on.

    ``actions`` come as the usual ones (the rule of thumb's, or a policy's), which the others have to beat.
    """
    for i in range(states.shape[0]):
        seat, usual, allowed = states[i].seat, actions[i], begin_decision(states, i, seed, streams, sums)
        if size(allowed) < 2:
            continue
        for _ in range(worlds):
            scratch[0] = states[i]
            resample(scratch[0], seat, streams, i, work)
            standard = value_of(scratch, usual, seat)
            left_over = without(allowed, just(usual))
            while not is_empty(left_over):
                action = first(left_over)
                left_over = rest(left_over)
                book(sums, action, value_of(scratch, action, seat) - standard)
        actions[i] = surely_best(usual, allowed, sums)


# --- the tree -----------------------------------------------------------------------------------------------------

CHILD, SIBLING, ACTION, VISITS, CHANCES = range(5)  # rows of the tree; a node a column, the root is column 0


@kernel
def add_child(tree: Any, gains: Any, parent: int, child: int, action: int) -> None:
    tree[CHILD, child], tree[SIBLING, child], tree[CHILD, parent] = 0, tree[CHILD, parent], child
    tree[ACTION, child], tree[VISITS, child], tree[CHANCES, child] = action, 0, 1
    gains[child] = 0.0


@kernel
def descend(state: Any, node: int, tree: Any, gains: Any, low: float, high: float) -> tuple[int, CardSet]:
    """The child of a node to follow in this world, or -1 and the actions of which one is to become a child.

    Children are added as visits grow (progressive widening), the rule of thumb's choice first, and followed by upper
    confidence bounds that count how often a child could have been followed.
    """
    untried, tried = kinds_of(state, legal(state)), 0
    best, most, spread = -1, -1e30, max(high - low, 1e-9)
    child = tree[CHILD, node]
    while child > 0:
        if has(untried, tree[ACTION, child]):
            untried, tried = without(untried, just(tree[ACTION, child])), tried + 1
            tree[CHANCES, child] += 1
            visits = tree[VISITS, child]
            its = (gains[child] / visits - low) / spread + EXPLORATION * math.sqrt(
                math.log(tree[CHANCES, child]) / visits
            )
            if its > most:
                best, most = child, its
        child = tree[SIBLING, child]
    if tried == 0 or tried * tried * WIDENING < tree[VISITS, node]:
        return (best, untried) if is_empty(untried) else (-1, untried)
    return best, untried


@apart
@kernel
def grow(
    world: Any, slips: bool, node: int, nodes: int, tree: Any, gains: Any, bounds: Any, path: Any
) -> int:  # fmt: skip
    """One iteration below a node, in a world that has just come there; returns the new number of nodes."""
    depth = 0
    while world.phase != OVER:
        path[1, depth] = world.seat
        child, untried = descend(world, node, tree, gains, bounds[0], bounds[1])
        grows = child < 0
        if grows:
            child, nodes = nodes, nodes + 1
            add_child(tree, gains, node, child, likeliest(world, untried))
        path[0, depth] = child
        depth, node = depth + 1, child
        play(world, find(world, tree[ACTION, child]))
        if grows:
            break
    if world.phase != OVER:
        play_out(world, slips)
    else:
        score_deal(world)
    for step in range(depth):
        its = margin(world, path[1, step])
        bounds[0], bounds[1] = min(bounds[0], its), max(bounds[1], its)
        tree[VISITS, path[0, step]] += 1
        gains[path[0, step]] += its
    return nodes


@kernel
def better_half(running: CardSet, usual: int, sums: Any) -> CardSet:
    """The actions with the better mean advantage, and the usual one."""
    kept, wanted = just(usual), (size(running) + 1) // 2
    while size(kept) < wanted:
        left_over = without(running, kept)
        best = first(left_over)
        while not is_empty(left_over):
            action = first(left_over)
            left_over = rest(left_over)
            if sums[0, action] > sums[0, best]:
                best = action
        kept = union(kept, just(best))
    return kept


@kernel
def ismcts(
    states: Any, iterations: int, cheat: bool, seed: Any, actions: Any, streams: Any, scratch: Any, work: Any,
    sums: Any, tree: Any, gains: Any, path: Any,
) -> None:  # fmt: skip
    """The best action by information-set Monte Carlo tree search, the values of all seats backed up.

    An iteration plays one action in a drawn world, follows the tree below it through what is legal in that world,
    adds a node, plays the deal out by the rule of thumb, and gives every seat on the path its own margin. At the root
    all actions still in the running are tried in the same worlds, and the worse half drops out again and again
    (sequential halving). The usual action, which comes in ``actions`` as for ``pimc``, stays to the end.

    ``cheat`` keeps the true world. Always the same line would then follow an action, with players that know it all;
    so its play-outs have slips.
    """
    for i in range(states.shape[0]):
        seat, usual, running = states[i].seat, actions[i], begin_decision(states, i, seed, streams, sums)
        if size(running) < 2:
            continue
        bounds = gains[-2:]
        bounds[0], bounds[1] = 1e30, -1e30
        tree[:, 0] = 0
        nodes, left_over = 1, running
        while not is_empty(left_over):  # the root's children: column 1 + how many actions are before
            add_child(tree, gains, 0, nodes, first(left_over))
            sums[3, first(left_over)] = nodes
            nodes, left_over = nodes + 1, rest(left_over)
        rounds = math.ceil(math.log2(size(running)))
        for this_round in range(rounds):
            for _ in range(max(1, iterations // (rounds * size(running)))):
                scratch[0] = states[i]
                if cheat:
                    scratch[0].rng = draw_bits(streams, i)
                else:
                    resample(scratch[0], seat, streams, i, work)
                standard, left_over, action = 0.0, running, usual
                while True:
                    scratch[1] = scratch[0]
                    world, node = scratch[1], int(sums[3, action])
                    play(world, find(world, action))
                    if nodes < gains.shape[0] - 2:
                        tree[VISITS, node] += 1
                        nodes = grow(world, cheat, node, nodes, tree, gains, bounds, path)
                    else:
                        play_out(world, cheat)
                    its = margin(world, seat)
                    if action == usual:
                        standard = its
                    book(sums, action, its - standard)
                    left_over = without(left_over, just(action))
                    if is_empty(left_over):
                        break
                    action = first(left_over)
            if this_round < rounds - 1:
                running = better_half(running, usual, sums)
        actions[i] = surely_best(usual, running, sums)


@kernel
def resample_all(states: Any, seats: Any, streams: Any, work: Any) -> None:
    """``resample`` in every record, for the seat given for it, with the stream given for it."""
    for i in range(states.shape[0]):
        resample(states[i], seats[i], streams, i, work)
