"""Specs of players: what is written is what is parsed, and whatever else is written is an error of the user."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trick_envs.agents.spec import BEST_METHOD, MAX_EFFORT, METHODS, ROLLOUT, Spec, parse_spec
from trick_envs.errors import InputError

policies = st.one_of(
    st.just("pretrained"),
    st.text(st.characters(exclude_characters="+", exclude_categories=["Cs"]), max_size=20).map(
        lambda path: f"{path}.onnx"
    ),
)
efforts = st.integers(1, MAX_EFFORT)
# Text made of the pieces of specs finds more than text of any letters.
pieces = st.sampled_from(
    [
        "pretrained",
        ".onnx",
        ":sample",
        "+",
        ":",
        "pimc",
        "ismcts",
        "search",
        "rollout",
        "cheat",
        "greedy",
        "10",
        "0",
        "a",
        "/",
    ]
)
texts = st.one_of(st.text(max_size=30), st.lists(pieces, max_size=8).map("".join))


@given(policies, st.booleans())
@example("pimc:.onnx", False)
def test_a_policy_and_whether_it_samples(policy: str, sample: bool) -> None:
    text = policy + ":sample" * sample
    assert parse_spec(text) == Spec(text, policy, sample)


@given(policies, st.sampled_from([*METHODS, "search", ROLLOUT]), efforts)
def test_a_search_behind_a_policy(policy: str, method: str, effort: int) -> None:
    text = f"{policy}+{method}:{effort}"
    assert parse_spec(text) == Spec(text, policy, False, BEST_METHOD if method == "search" else method, effort)


@given(st.sampled_from([*METHODS, "search"]), efforts)
def test_a_search_alone(method: str, effort: int) -> None:
    text = f"{method}:{effort}"
    assert parse_spec(text) == Spec(text, None, False, BEST_METHOD if method == "search" else method, effort)
    with pytest.raises(InputError, match="is no search: expected"):
        parse_spec(f"{method}:{MAX_EFFORT + effort}")


@given(texts)
@example("pimc:" + "1" * 5000)  # more digits than Python turns into a number
@example("pimc:١٠")  # digits, but not ours: the same player would have two names
@example("a.onnx+b+ismcts:3")
@example("pretrained+")
@example("a.onnx+")
@example("a.onnx+pimc:3+ismcts:3")
def test_any_text_is_parsed_as_it_stands_or_an_error_of_the_user(text: str) -> None:
    try:
        found = parse_spec(text)
    except InputError:
        return
    assert found.text == text
    if found.method is None:
        assert found.effort == 0
        assert found.policy is None or text in (found.policy, f"{found.policy}:sample")
    else:  # nothing that was written is ignored
        begin = "" if found.policy is None else f"{found.policy}+"
        written = [f"{found.method}:"] + ["search:"] * (found.method == BEST_METHOD)
        assert text.startswith(tuple(begin + each for each in written))
        assert text.rpartition(":")[2].lstrip("0") == str(found.effort)
