"""Saved states: equal positions give equal bytes, and bytes from outside are a reachable position or an error."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from typing import Any

import numpy as np
import pytest
from helpers import every_game, legal_actions, make, play_randomly

from trick_envs.engine.registry import load_game
from trick_envs.engine.state import copy_states

DAMAGED = 10_000


def moments(name: str, seed: int = 5, every: int = 9) -> list[Any]:
    """Copies of an environment at several moments of a match, with its end and some dead steps."""
    env, rng, found = make(name, raw=False, num_deals=2), np.random.default_rng(seed), []
    env.reset(seed=seed)
    while env.phase != "over":
        found.append(copy.deepcopy(env))
        play_randomly(env, rng, every)
    found.append(copy.deepcopy(env))
    env.step(None)
    return [*found, env]


@every_game
def test_equal_positions_have_equal_bytes(name: str) -> None:
    for env in moments(name):
        saved = env.get_state()
        other = make(name, raw=False, num_deals=2)
        other.set_state(saved)
        for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other):
            assert twin.get_state() == saved
            assert twin.states.tobytes() == env.states.tobytes()
            assert pickle.dumps(twin.get_state()) == pickle.dumps(saved)


@every_game
def test_a_record_has_no_padding(name: str) -> None:
    """Every byte belongs to a field, so that nothing that lay in memory can get into a copy or a file."""
    dtype = load_game(name).dtype
    covered = np.zeros(dtype.itemsize, bool)
    for field, offset in dtype.fields.values():  # type: ignore[union-attr]
        covered[offset : offset + field.itemsize] = True
    assert covered.all()
    env = make(name)
    env.reset(seed=1)
    assert copy_states(env.states).tobytes() == env.states.copy().tobytes() == env.states.tobytes()


def unchanged(env: Any, before: bytes) -> bool:
    return env.get_state() == before


@every_game
def test_damaged_states_are_errors_and_change_nothing(name: str) -> None:
    """Eight bytes are changed somewhere, as in a file on a bad disk; a fifth of 10,000 for each of the five games."""
    rng, env = np.random.default_rng(0), make(name, raw=False, num_deals=2)
    env.reset(seed=1)
    before = env.get_state()
    saved = [moment.get_state() for moment in moments(name)]
    for trial in range(DAMAGED // 5):
        state = bytearray(saved[trial % len(saved)])
        for at in rng.integers(len(state), size=8):
            state[at] = rng.integers(256)
        if bytes(state) in saved:
            continue
        with pytest.raises(ValueError, match="set_state"):
            env.set_state(bytes(state))
        assert trial % 100 or unchanged(env, before)
    assert unchanged(env, before)


def forged(content: Any) -> bytes:
    """Bytes as ``get_state`` writes them, whatever their content."""
    payload = json.dumps(content, separators=(",", ":")).encode()
    return b"trick_envs match 1 " + hashlib.sha256(payload).hexdigest()[:32].encode() + b"\n" + payload


def mutations(content: dict[str, Any], rng: np.random.Generator) -> Any:
    """The content of a saved state with one thing in it that is wrong, or at least another."""
    wrong = [None, True, -1, 3, 10**30, 1.5, "x", [], {}, [[]], [None], [0, 1], [[0]], [[10**30]], [["7R"]], [[1.5]]]
    changed = copy.deepcopy(content)
    place: Any = changed
    key: Any = rng.choice(list(changed))
    for _ in range(3):
        inner = place[key]
        if isinstance(inner, list) and inner and rng.random() < 0.8:
            place, key = inner, int(rng.integers(len(inner)))
        elif isinstance(inner, dict) and inner and rng.random() < 0.8:
            place, key = inner, str(rng.choice(list(inner)))
    if rng.random() < 0.2 and isinstance(place, list):
        del place[key]
    elif isinstance(place[key], int) and rng.random() < 0.5:
        place[key] += int(rng.integers(-3, 4))
    else:
        place[key] = wrong[int(rng.integers(len(wrong)))]
    return changed


def accepts(env: Any, state: bytes) -> bool:
    try:
        env.set_state(state)
    except ValueError:
        return False
    return True


@every_game
def test_forged_states_are_positions_that_play_can_reach_or_errors(name: str) -> None:
    """With a right checksum: whatever is accepted is the match that its own seed, deals and actions give."""
    rng, env = np.random.default_rng(3), make(name, raw=False, num_deals=2)
    env.reset(seed=1)
    before, accepted = env.get_state(), 0
    saved = [json.loads(moment.get_state().partition(b"\n")[2]) for moment in moments(name)]
    for trial in range(600):
        state = forged(mutations(saved[trial % len(saved)], rng))
        if not accepts(env, state):
            assert unchanged(env, before)
            continue
        accepted += 1
        record = env.record()
        played = make(name, raw=False, num_deals=2)
        played.reset(seed=record["seed"], options={"deals": record["deals"]})
        for deal in record["deals"]:
            for seat, card in deal["actions"]:
                assert played.agent_selection == f"player_{seat}"
                action = played.game.deck.parse(card)
                assert action in legal_actions(played)
                played.step(action)
        assert played.record()["deals"] == record["deals"]
        np.testing.assert_array_equal(played.state(), env.state())
        env.set_state(before)
    assert 20 < accepted < 580


@every_game
def test_a_damaged_pickle_is_an_error(name: str) -> None:
    env = make(name, num_deals=1)
    env.reset(seed=2)
    play_randomly(env, np.random.default_rng(0), 5)
    saved = pickle.dumps(env)
    actions = json.dumps([[action for _, action in env._match.deals[0].actions]], separators=(",", ":")).encode()
    assert actions in saved
    with pytest.raises(ValueError, match="damaged"):
        pickle.loads(saved.replace(actions, actions[::-1].replace(b"]", b"(").replace(b"[", b"]").replace(b"(", b"[")))


def test_a_match_ended_by_an_illegal_action_is_saved_as_such() -> None:
    env = make("pepper", raw=False, num_deals=1)
    env.reset(seed=1)
    env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[0]))
    twin = make("pepper", raw=False, num_deals=1)
    twin.set_state(env.get_state())
    assert twin.get_state() == env.get_state()
    for name in ("rewards", "terminations", "truncations", "_cumulative_rewards", "agent_selection"):
        assert getattr(twin, name) == getattr(env, name)
    raw = make("pepper", raw=True, num_deals=1)
    with pytest.raises(ValueError, match="illegal action"):
        raw.set_state(env.get_state())
