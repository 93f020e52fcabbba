"""Information-set Monte Carlo tree search (single observer; Cowling, Powley, Whitehouse 2012).

The values of all seats are backed up, so that every seat maximises its own.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from trick_envs.engine.build import kernel
from trick_envs.engine.build.rule import ArrayOf
from trick_envs.engine.cards import CardSet, first, has, is_empty, just, rest, size, union, without
from trick_envs.engine.hooks import legal, play, score_deal
from trick_envs.engine.intrinsics import copy_state
from trick_envs.engine.kernels.players import best_by_heuristic
from trick_envs.engine.kernels.playing import kinds_of, resolve_card
from trick_envs.engine.search.playouts import (
    COMPARISON,
    EPSILON,
    begin_decision,
    best_by_confidence,
    margin,
    play_out,
    record_comparison,
)
from trick_envs.engine.search.worlds import draw_bits, resample
from trick_envs.engine.state import (
    OVER,
    FixedStates,
    NumberRows,
    Numbers,
    Reals,
    Records,
    State,
    States,
    Streams,
    record_of,
)

# Half and twice the exploration, a widening of 1 and of 16: over 100 deals with 500 iterations none was better in any
# game, and a widening of 1 worse in Whist (-0.73 ± 0.59 points per deal).
WIDENING = 4  # a node has about sqrt(visits) / 2 children
EXPLORATION = 0.7


# A node of the tree. The tree is an array of them; node 0 is the root, and so nobody's child: 0 stands for none.
NODE = record_of(
    child=np.int64,  # the node's first child; the newest child comes first
    sibling=np.int64,  # the next child of the same parent
    action=np.int64,  # leads from the parent to the node
    visits=np.int64,  # iterations that went through the node
    availability=np.int64,  # iterations since it was added in which its parent was reached and the action was legal
    gain=np.float64,  # the sum, over its visits, of the margins of the seat that chose it
)
# A step on the way of one iteration down the tree.
STEP = record_of(
    node=np.int64,  # the node that it leads to
    seat=np.int64,  # the seat that chose it
)
MOST_STEPS = 4096  # more than a deal has decisions


@kernel
def add_child(tree: Records, parent: int, child: int, action: int) -> None:
    """Adds a node without visits below ``parent``, as number ``child``."""
    node = tree[child]
    node.child, node.sibling = 0, tree[parent].child
    node.action, node.visits, node.availability, node.gain = action, 0, 1, 0.0
    tree[parent].child = child


@kernel
def descend(state: State, parent: int, tree: Records, low: float, high: float) -> tuple[int, CardSet]:
    """The child of a node to follow in this world, or -1 and the actions of which one is to become a child.

    Children are added as visits grow (progressive widening), the heuristic's choice first, and followed by upper
    confidence bounds that count how often a child could have been followed.
    """
    untried, tried = kinds_of(state, legal(state)), 0
    best, most, spread = -1, -1e30, max(high - low, 1e-9)
    child = tree[parent].child
    while child > 0:
        node = tree[child]
        if has(untried, node.action):
            untried, tried = without(untried, just(node.action)), tried + 1
            node.availability += 1
            bonus = EXPLORATION * math.sqrt(math.log(node.availability) / node.visits)
            bound = (node.gain / node.visits - low) / spread + bonus
            if bound > most:
                best, most = child, bound
        child = node.sibling
    if tried == 0 or tried * tried * WIDENING < tree[parent].visits:
        return (best, untried) if is_empty(untried) else (-1, untried)
    return best, untried


@kernel(inline=False)
def grow(
    world: State, epsilon: float, node: int, nodes: int, tree: Records, bounds: Reals, path: Records
) -> int:  # fmt: skip
    """One iteration below a node, in a world that has just come there; returns the new number of nodes."""
    depth = 0
    while world.phase != OVER:
        path[depth].seat = world.seat
        child, untried = descend(world, node, tree, bounds[0], bounds[1])
        grows = child < 0
        if grows:
            child, nodes = nodes, nodes + 1
            add_child(tree, node, child, best_by_heuristic(world, untried))
        path[depth].node = child
        depth, node = depth + 1, child
        play(world, resolve_card(world, tree[child].action))
        if grows:
            break
    if world.phase != OVER:
        play_out(world, epsilon)
    else:
        score_deal(world)
    for i in range(depth):
        step = path[i]
        gain = margin(world, step.seat)
        bounds[0], bounds[1] = min(bounds[0], gain), max(bounds[1], gain)
        passed = tree[step.node]
        passed.visits += 1
        passed.gain += gain
    return nodes


@kernel
def better_half(running: CardSet, baseline: int, sums: Records) -> CardSet:
    """The better half of the actions by mean advantage; the baseline stays among them."""
    kept, wanted = just(baseline), (size(running) + 1) // 2
    while size(kept) < wanted:
        left_over = without(running, kept)
        best = first(left_over)
        while not is_empty(left_over):
            action = first(left_over)
            left_over = rest(left_over)
            if sums[action].advantage > sums[best].advantage:
                best = action
        kept = union(kept, just(best))
    return kept


@kernel
def plant(tree: Records, actions: CardSet, sums: Records) -> int:
    """Makes actions the children of the root of an empty tree; returns the number of nodes."""
    tree[0].child, tree[0].visits = 0, 0
    nodes = 1
    while not is_empty(actions):
        add_child(tree, 0, nodes, first(actions))
        sums[first(actions)].node = nodes
        nodes, actions = nodes + 1, rest(actions)
    return nodes


@kernel
def try_all(
    scratch: States, running: CardSet, baseline: int, epsilon: float, nodes: int, tree: Records, bounds: Reals,
    path: Records, sums: Records,
) -> int:  # fmt: skip
    """An iteration below each of these actions, in the world ``scratch[0]``, the baseline first, and compares them.

    Returns the new number of nodes.
    """
    seat, standard, left_over, action = scratch[0].seat, 0.0, running, baseline
    while True:
        copy_state(scratch[0], scratch[1])
        world, node = scratch[1], sums[action].node
        play(world, resolve_card(world, action))
        if nodes < tree.shape[0]:
            tree[node].visits += 1
            nodes = grow(world, epsilon, node, nodes, tree, bounds, path)
        else:
            play_out(world, epsilon)
        gain = margin(world, seat)
        if action == baseline:
            standard = gain
        record_comparison(sums, action, gain - standard)
        left_over = without(left_over, just(action))
        if is_empty(left_over):
            return nodes
        action = first(left_over)


@kernel(called=True)
def ismcts(
    states: FixedStates, iterations: int, cheat: bool, seed: np.uint64, actions: Numbers, streams: Streams,
    scratch: States, work: NumberRows, all_sums: Annotated[Records, ArrayOf(COMPARISON, 2)],
    tree: Annotated[Records, ArrayOf(NODE, 1)], bounds: Reals, path: Annotated[Records, ArrayOf(STEP, 1)],
) -> None:  # fmt: skip
    """The best action by information-set Monte Carlo tree search, the values of all seats backed up.

    An iteration plays one action in a drawn world, follows the tree below it through what is legal in that world,
    adds a node, plays the deal out by the heuristic, and gives every seat on the path its own margin. At the root
    all actions still in the running are tried in the same worlds, and the worse half drops out again and again
    (sequential halving). The baseline action, which comes in ``actions`` as for ``pimc``, stays to the end.
    ``all_sums`` is as for ``pimc``.

    ``tree`` has room for the nodes (``NODE``); once it is full, it grows no more. ``bounds`` are the lowest and the
    highest margin so far, which scale the confidence bounds. ``path`` notes the way of one iteration (``STEP``).
    ``scratch`` holds two records: the drawn world, and the copy of it that is played.

    ``cheat`` keeps the true world. Without chance the same line would then follow an action every time, so its
    play-outs make random plays (``EPSILON``).
    """
    epsilon = EPSILON if cheat else 0.0
    for i in range(states.shape[0]):
        sums = all_sums[i]
        seat, baseline, running = states[i].seat, actions[i], begin_decision(states, i, seed, streams, sums)
        if size(running) < 2:
            continue
        bounds[0], bounds[1] = 1e30, -1e30
        nodes = plant(tree, running, sums)
        rounds = math.ceil(math.log2(size(running)))
        for this_round in range(rounds):
            for _ in range(max(1, iterations // (rounds * size(running)))):
                copy_state(states[i], scratch[0])
                if cheat:
                    scratch[0].rng = draw_bits(streams, i)
                else:
                    resample(scratch[0], seat, streams, i, work)
                nodes = try_all(scratch, running, baseline, epsilon, nodes, tree, bounds, path, sums)
            if this_round < rounds - 1:
                running = better_half(running, baseline, sums)
        actions[i] = best_by_confidence(baseline, running, sums)
