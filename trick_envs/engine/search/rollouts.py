"""Roll-outs: many sampled worlds of many games, in which a policy plays on in lock step."""

from __future__ import annotations

from trick_envs.engine.build import kernel
from trick_envs.engine.cards import first, is_empty, rest
from trick_envs.engine.hooks import legal, play, score_deal
from trick_envs.engine.intrinsics import copy_state
from trick_envs.engine.kernels.observing import scratch_row, write_mask, write_row
from trick_envs.engine.kernels.playing import kinds_of, resolve_card
from trick_envs.engine.search.playouts import margin
from trick_envs.engine.search.worlds import resample
from trick_envs.engine.state import OVER, ByteRows, FixedStates, NumberRows, Numbers, Reals, States, Streams


@kernel(called=True)
def draw_branches(
    states: FixedStates, candidates: NumberRows, worlds: int, streams: Streams, drawn: States, work: NumberRows,
    branches: States, actions: Numbers, places: Numbers, seats: Numbers,
) -> None:  # fmt: skip
    """Samples worlds for every record, and copies each world once for every candidate action.

    Args:
        states: ``(B,)`` records.
        candidates: ``(B, S)`` actions; -1 stands for none.
        worlds: W, how many to sample for every record with candidates.
        streams: ``(B,)`` generators.
        drawn: ``(1,)`` record, scratch.
        work: scratch of ``resample``.
        branches: ``(R,)`` records: gets the copies, R in all.
        actions: ``(R,)``: gets the candidate that each copy is for.
        places: ``(R,)``: gets its place in an array of shape ``(B, S, W)``.
        seats: ``(R,)``: gets the seat to act.
    """
    count, most = 0, candidates.shape[1]
    for i in range(states.shape[0]):
        if candidates[i].max() < 0:
            continue
        for world in range(worlds):
            copy_state(states[i], drawn[0])
            resample(drawn[0], states[i].seat, streams, i, work)
            for k in range(most):
                if candidates[i, k] >= 0:
                    copy_state(drawn[0], branches[count])
                    actions[count] = candidates[i, k]
                    places[count] = (i * most + k) * worlds + world
                    seats[count] = states[i].seat
                    count += 1


@kernel(called=True)
def play_to_choice(
    states: States, rows: Numbers, actions: Numbers, seats: Numbers, margins: Reals, running: Numbers,
    observations: ByteRows, masks: ByteRows,
) -> int:  # fmt: skip
    """Plays an action in some deals, then on for as long as there is no choice; returns how many deals go on.

    Args:
        states: ``(R,)`` records.
        rows: ``(K,)``: which to play.
        actions: ``(K,)``: the legal action to play in each of those.
        seats: ``(R,)``: the seat whose margin counts.
        margins: ``(R,)``: gets the margins in the deals that end.
        running: ``(K,)``: gets the rows of the deals that go on.
        observations: ``(K, D) int8``: gets what the seat to act sees in each of these.
        masks: ``(K, A) int8``: gets its legal actions.
    """
    scratch, count = scratch_row(observations), 0
    for k in range(rows.shape[0]):
        row = rows[k]
        state = states[row]
        play(state, resolve_card(state, actions[k]))
        while state.phase != OVER:
            named = kinds_of(state, legal(state))
            if not is_empty(rest(named)):
                break
            play(state, resolve_card(state, first(named)))
        if state.phase == OVER:
            score_deal(state)
            margins[row] = margin(state, seats[row])
        else:
            running[count] = row
            write_mask(state, masks[count])
            write_row(state, state.seat, scratch, observations, count)
            count += 1
    return count
