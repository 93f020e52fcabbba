"""Calls that ask for what cannot be are errors that say what was expected; nothing has changed then."""

from __future__ import annotations

import copy
import inspect
import json
import os
import pickle
import re
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import make, play_randomly, through_a_store

from trick_envs import BatchEnv, IllegalAction, make_agent
from trick_envs.agents import GreedyAgent, RandomAgent
from trick_envs.agents.policy import PolicyAgent
from trick_envs.agents.pretrained import pretrained_policy
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.agents.search import SearchAgent
from trick_envs.engine import hooks
from trick_envs.engine.arguments import UnknownRenderMode
from trick_envs.engine.cards import members
from trick_envs.engine.deal import Deal
from trick_envs.engine.declaration import TAKEN
from trick_envs.engine.kernels.seats import ILLEGAL_MODES
from trick_envs.engine.registry import game_type, load_game
from trick_envs.errors import InputError, InputTypeError, InvalidAction, TrickEnvsError
from trick_envs.evaluation.arena import RESULTS, make_plan
from trick_envs.evaluation.duplicate import evaluate, lineups
from trick_envs.evaluation.seeds import Purpose, match_seeds, player_seeds
from trick_envs.files import KEPT
from trick_envs.interfaces.gymnasium import SeatEnv
from trick_envs.interfaces.illegal_penalty import worst_total
from trick_envs.interfaces.text import TextEnv
from trick_envs.interfaces.vector import VectorSeatEnv
from trick_envs.matches import match as matches
from trick_envs.matches.loop import play_match
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.play.hints import advisor_of
from trick_envs.play.review import belief
from trick_envs.view import ansi, avatar_svg, card_svg, icon_svg, rgb_array, svg, table_view
from trick_envs.view.answer import parse_answer
from trick_envs.view.reader import estimated_tokens, position_text

# --- batches and vectors ------------------------------------------------------------------------------------------


def test_a_batch_wants_a_reset_first_and_one_whole_number_per_game() -> None:
    games = BatchEnv("donguri", 3, 3)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step\(\)"):
        games.step([0, 0, 0])
    with pytest.raises(ValueError, match="seed: expected 3 seeds, one per game, not 2"):
        games.reset([1, 2])
    games.reset(1)
    before = games.states.copy()
    for actions, found in (([0, 0], r"\(2,\) of int64"), ([0.0] * 3, r"\(3,\) of float64"), (0, r"\(\) of int64")):
        with pytest.raises(InputError, match=rf"actions: expected 3 whole numbers, shape \(3,\), not shape {found}"):
            games.step(actions)
    assert (games.states == before).all()


def vector(**options: Any) -> Any:
    return gymnasium.make_vec("trick_envs/Donguri-v0", 3, "vector_entry_point", num_players=3, **options)


def test_a_vector_environment_says_what_it_wants_of_actions_seeds_and_masks() -> None:
    env = vector()
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"the first reset.. has to start every game"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(gymnasium.error.ResetNeeded, match="game 0: no match is going on: call reset"):
        env.step(np.zeros(3, np.int64))
    with pytest.raises(InputError, match="seed: expected 3 seeds, one per game, not 2"):
        env.reset(seed=[1, 2])
    env.reset(seed=1)
    before = env.unwrapped.states.copy()
    for actions in (np.zeros(2, np.int64), np.zeros(3), np.zeros((3, 1), np.int64)):
        with pytest.raises(InputError, match="actions: expected 3 whole numbers"):
            env.step(actions)
    with pytest.raises(InputTypeError, match=r"options\['reset_mask'\]: expected a NumPy array of bool, not \[True"):
        env.reset(options={"reset_mask": [True, True, True]})
    for mask in (np.zeros(3, np.bool_), np.ones(2, np.bool_)):
        with pytest.raises(InputError, match=r"reset_mask'\]: expected shape \(3,\) with at least one True"):
            env.reset(options={"reset_mask": mask})
    with pytest.raises(InputError, match="autoreset_mode: expected one of 'NEXT_STEP', 'SAME_STEP', 'DISABLED', or a"):
        vector(autoreset_mode="sometimes")
    assert (env.unwrapped.states == before).all()


def starts(seed: int) -> bool:
    """Whether the learner leads to the first trick: nobody else is asked before."""
    env = gymnasium.make("trick_envs/Donguri-v0", num_players=3, opponents=["greedy", "greedy"])
    env.reset(seed=seed)
    return not env.unwrapped.record()["deals"][0]["actions"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("named", [[0.0, 1.0], 0, [[0], [1]]], ids=["halves", "one", "a table"])
def test_an_opponent_that_names_no_action_per_row_is_told_so(named: Any) -> None:
    env = gymnasium.make("trick_envs/Donguri-v0", num_players=3, opponents=lambda observations, masks: np.array(named))
    seed = next(seed for seed in range(99) if not starts(seed))
    with pytest.raises(InputError, match=r"player .*: expected 1 whole numbers, shape \(1,\), not shape"):
        env.reset(seed=seed)


class Named:
    """A player that names whatever it was made with, for as many rows as it is asked."""

    name = "odd"

    def __init__(self, named: Callable[[Any], Any]) -> None:
        self.named = named

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        return self.named(action_masks)

    def seed(self, seed: int) -> None:
        """It has no random choices."""


ODD: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda masks: None,
    "texts": lambda masks: ["3"] * len(masks),
    "halves": lambda masks: masks.argmax(1) + 0.5,
    "spans of time": lambda masks: masks.argmax(1).astype("m8[s]"),
    "no number": lambda masks: np.full(len(masks), np.nan),
    "one for all": lambda masks: 2**70,
    "a table": lambda masks: masks.argmax(1)[:, None],
    "too few": lambda masks: [],
}


@pytest.mark.parametrize("named", ODD.values(), ids=ODD)
def test_whoever_asks_a_player_what_it_names_is_checked(named: Callable[[Any], Any]) -> None:
    game, player, told = load_game("pepper", 3), Named(named), r"player odd: expected \d+ whole number"
    with pytest.raises(InputError, match=told):
        evaluate(game, player, make_agent("greedy", game), 2)
    with pytest.raises(InputError, match=told):
        play_match("pepper", dict.fromkeys(range(3), player), 1, 3)


@pytest.mark.parametrize(
    "named", [lambda masks: masks.argmin(1), lambda masks: [-1] * len(masks), lambda masks: [999] * len(masks)]
)
def test_who_names_an_illegal_card_in_an_evaluation_is_told_by_name(named: Callable[[Any], Any]) -> None:
    game = load_game("pepper", 3)
    with pytest.raises(IllegalAction, match=r"^player odd: .*(legal now|is no card)"):
        evaluate(game, Named(named), make_agent("greedy", game), 2)
    with pytest.raises(IllegalAction, match=r"^player odd: .*(legal now|is no card)"):
        play_match("pepper", dict.fromkeys(range(3), Named(named)), 1, 3)


def test_what_is_no_player_is_told_so_before_it_is_asked() -> None:
    game, greedy, told = (
        load_game("pepper", 3),
        make_agent("greedy", load_game("pepper", 3)),
        "expected an agent with act",
    )
    for nobody in (None, "greedy", Named, lambda observations, masks: masks.argmax(1)):
        with pytest.raises(InputTypeError, match=told):
            evaluate(game, greedy, nobody, 2)  # type: ignore[arg-type]
        with pytest.raises(InputTypeError, match=f"player of seat 2: {told}"):
            play_match("pepper", {0: greedy, 1: greedy, 2: nobody}, 1, 3)  # type: ignore[dict-item]
    with pytest.raises(InputTypeError, match=r"not 'greedy', of which make_agent\(…, game\) makes one"):
        evaluate(game, greedy, "greedy", 2)  # type: ignore[arg-type]


def seeded() -> dict[str, Callable[[Any], Any]]:
    """Whoever takes a seed."""
    game = load_game("pepper", 3, 1)
    greedy = make_agent("greedy", game)
    return {
        "env": lambda seed: make("pepper", 3).reset(seed=seed),
        "single": lambda seed: gymnasium.make("trick_envs/Pepper-v0").unwrapped.reset(seed=seed),
        "vector": lambda seed: gymnasium.make_vec("trick_envs/Pepper-v0", 2, "vector_entry_point").reset(seed=seed),
        "batch": lambda seed: BatchEnv("pepper", 2).reset(seed),
        "match": lambda seed: matches.Match(game, seed),
        "play_match": lambda seed: play_match("pepper", dict.fromkeys(range(3), greedy), seed, 3, 1),
        "player": lambda seed: make_agent("pretrained:sample", game).seed(seed),
        "search": lambda seed: make_agent("pimc:2", game).seed(seed),
        "evaluate": lambda seed: evaluate(game, greedy, greedy, 2, seed),
        "arena": lambda seed: make_plan(game, ["greedy", "random"], 2, None, seed),
        "sb3": lambda seed: pytest.importorskip("trick_envs.interfaces.sb3").make_vec_env(PEPPER, 2).seed(seed),
    }


@pytest.mark.parametrize(
    "seed", [-1, 2**64, True, 1.5, "1", np.bool_(True), np.int64(-3), np.timedelta64(3, "s"), {}], ids=repr
)
def test_whoever_takes_a_seed_refuses_what_is_none(seed: Any) -> None:
    """Some cut 1.5 to 1 and took -3 for 2**64 - 3; others raised what NumPy raises."""
    for name, use in seeded().items():
        with pytest.raises(InputError, match=r"seed: expected (a whole number|2 seeds|seeds)"):
            raise AssertionError(f"{name} takes it: {use(seed)!r}")


def test_who_changes_the_options_of_a_game_changes_a_dict_of_its_own() -> None:
    """Equal games are one object: all records said then that they were played with these options."""
    game = load_game("pepper", 3, 1)
    for options in (game.options, game.type.options):
        options["lead_peppers"] = True
    assert game.options == game.type.options == {"lead_peppers": False}
    assert "options" not in matches.Match(load_game("pepper", 3, 1), 1).record()


def test_worlds_are_drawn_by_a_generator_of_numpy() -> None:
    games = BatchEnv("pepper", 2)
    games.reset(1)
    for other in (None, 5, np.random.RandomState(1)):
        with pytest.raises(InputTypeError, match="rng: expected a NumPy Generator"):
            games.game.resample(games.states, 0, other)  # type: ignore[arg-type]


def test_what_is_no_number_of_deals_no_spec_no_state_and_no_options_is_told() -> None:
    game = load_game("pepper", 3, 1)
    greedy = make_agent("greedy", game)
    for deals in (0, -1, 1.5, None, "2", True):
        with pytest.raises(InputError, match="deals: expected a whole number of 1 to"):
            evaluate(game, greedy, greedy, deals)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="deals: expected a whole number of 2 to"):
            make_plan(game, ["greedy", "random"], deals)  # type: ignore[arg-type]
    for other in (None, 7, ["greedy"]):
        with pytest.raises(InputTypeError, match="expected a player's spec"):
            make_agent(other, game)  # type: ignore[arg-type]
        with pytest.raises(InputTypeError, match="expected the bytes of a saved match"):
            make("pepper", 3).unwrapped.set_state(other)
    for env in (make("pepper", 3), gymnasium.make("trick_envs/Pepper-v0")):
        with pytest.raises(InputTypeError, match="options: expected None or a dict"):
            env.unwrapped.reset(options=["seat"])  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["pepper", make("pepper"), None, 5], ids=["name", "env", "none", "number"])
def test_what_is_no_game_is_told(wrong: Any) -> None:
    """Names and environments are games in some places only."""
    for take in (
        lambda: make_agent("random", wrong),
        lambda: GreedyAgent(wrong),
        lambda: SearchAgent("pimc", 1, wrong),
        lambda: Match(wrong, 1),
        lambda: position_text(wrong, np.zeros(1), 0),
        lambda: table_view(wrong, np.zeros(1)),
        lambda: evaluate(wrong, RandomAgent(0), RandomAgent(0), 1),
    ):
        with pytest.raises(InputTypeError, match=r"game: expected what load_game\(\) returns"):
            take()


NO_NAMES = [np.array([1]), [3], {}, None, 3, b"pepper", np.array("pepper"), slice(1)]


@pytest.mark.parametrize("given", NO_NAMES, ids=repr)
def test_what_is_no_name_of_a_game_is_told_like_an_unknown_one(given: Any) -> None:
    """What has no hash was told as "unhashable type"."""
    for take in (load_game, game_type, lambda name: BatchEnv(name, 2)):
        with pytest.raises(InputError, match=re.escape(f"there is no game {given!r}: choose one of ")):
            take(given)


def of_no_game() -> dict[str, Any]:
    """What is no position of Pepper for five."""
    game = load_game("pepper", 5)
    match = Match(game, 1)
    return {
        "another game": Match(load_game("donguri", 4), 1).states,
        "another table": Match(load_game("pepper", 4), 1).states,
        "no position": np.zeros(1, game.dtype),
        "a record": match.states[0],
        "rows": match.states[None],
        "numbers": np.zeros(1),
        "list": [1],
        "none": None,
        "match": match,
        "environment": make("pepper", 5),
    }


@pytest.mark.parametrize("case", of_no_game())
def test_whoever_takes_a_position_refuses_one_of_another_game(case: str) -> None:
    """They were told as "list index out of range", or a player's message was full of numbers."""
    game, wrong = load_game("pepper", 5), of_no_game()[case]
    greedy, seen, mask = make_agent("greedy", game), np.zeros((1, game.layout.size)), np.ones((1, 60), np.int8)
    for take in (
        lambda: table_view(game, wrong, 0),
        lambda: position_text(game, wrong),
        lambda: position_text(game, wrong, 0),
        lambda: game.resample(wrong, 0, np.random.default_rng(0)),
        lambda: belief(game, wrong, 0),
        lambda: advisor_of(game).advise(wrong),
        *([lambda: greedy.act(seen, mask, wrong)] if wrong is not None else []),
    ):
        told = r": expected records of <pepper for 5>, shape \(B,\), such as env.unwrapped.states, not .{3,100}$"
        with pytest.raises(InputError, match=told):
            take()


@pytest.mark.parametrize("wrong", [[1], np.zeros(1), np.zeros((1, 1)), "x", make("pepper", 3)], ids=repr)
def test_random_choices_are_drawn_from_records_or_from_nothing(wrong: Any) -> None:
    with pytest.raises(
        InputError, match=r"states: expected 1 records, shape \(1,\), such as env.unwrapped.states, not"
    ):
        RandomAgent(0).act(np.zeros((1, 5)), np.ones((1, 5), np.int8), wrong)


@pytest.mark.parametrize("wrong", [None, 3, Match(load_game("pepper", 5), 1), make("pepper", 5)], ids=repr)
def test_only_views_are_drawn_and_only_matches_are_viewed(wrong: Any) -> None:
    for draw in (svg, rgb_array, ansi):
        with pytest.raises(InputTypeError, match=r"view: expected what table_view\(\) or match_view\(\) returns, not"):
            draw(wrong)
    if not isinstance(wrong, Match):
        with pytest.raises(InputTypeError, match="match: expected a Match, not"):
            match_view(wrong)


@pytest.mark.parametrize("size", [None, "8", 7, 10_001, -3, True, 62.5, float("nan"), [9], np.array([9, 9])], ids=repr)
def test_a_picture_has_a_size_in_whole_pixels(size: Any) -> None:
    """Some drew with negative widths, others said what Python or Pillow says."""
    view, deck = match_view(Match(load_game("pepper", 3), 1)), load_game("pepper", 3).deck
    for name, draw in (
        ("width", lambda: svg(view, size)),
        ("height", lambda: svg(view, height=size)),
        ("width", lambda: rgb_array(view, size)),
        ("width", lambda: card_svg(deck, 3, width=size)),
        ("size", lambda: avatar_svg(1, size=size)),
        ("size", lambda: icon_svg("pepper", "pepper", size)),
    ):
        with pytest.raises(InputError, match=f"^{name}: expected a whole number of 8 to 10,000, not "):
            draw()


@pytest.mark.parametrize("wrong", [None, 2.5, -1, [1], {}, np.array([1, 2]), ...], ids=repr)
def test_what_is_no_name_deck_or_seat_is_not_drawn(wrong: Any) -> None:
    deck = load_game("pepper", 3).deck
    for told, draw in (
        ("deck: expected the deck of a game, such as game.deck", lambda: card_svg(wrong, 3)),
        ("there is no game .*: choose one of", lambda: card_svg(deck, 3, wrong)),
        ("there is no game .*: choose one of", lambda: icon_svg(wrong, "pepper")),
        ("name: expected the name of a mark", lambda: icon_svg("pepper", wrong)),
        ("seat: expected a seat of 0 or more", lambda: avatar_svg(wrong)),
    ):
        with pytest.raises(TrickEnvsError, match=f"^{told}"):
            draw()


@pytest.mark.parametrize("wrong", [3, "abc", b"abc", ["a", "b"], [1, 2, 3], np.array("abc"), {1, 2, 3}], ids=repr)
def test_every_seat_of_a_view_has_a_name_or_none_has(wrong: Any) -> None:
    """A text was read as names of one letter."""
    game = load_game("pepper", 3)
    states = Match(game, 1).states
    with pytest.raises((InputError, InputTypeError), match=r"^names: expected 3 texts, or none, not "):
        table_view(game, states, names=wrong)
    for names in (("a", "b", "c"), np.array(["a", "b", "c"])):
        assert [seat.name for seat in table_view(game, states, names=names).seats] == ["a", "b", "c"]
    for name, kind in (("previous", "Trick"), ("ended", "Ended")):
        with pytest.raises(InputTypeError, match=rf"^{name}: expected None or {kind}\(…\), not "):
            table_view(game, states, **{name: wrong})


@pytest.mark.parametrize("wrong", [None, 3, 2.5, "abc", np.array(3), ...], ids=repr)
def test_what_cannot_be_gone_through_is_no_list(wrong: Any) -> None:
    game = load_game("pepper", 3, 1)
    for told, take in (
        ("some: expected cards, not ", lambda: game.deck.format_all(wrong)),
        ("hands: expected a list of cards for each seat, not ", lambda: game.deck.parse_deal(wrong, [], 12)),
        ("given: expected a list of deals, not ", lambda: Match(game, 1, wrong)),
        ("given: expected a list of deals, not ", lambda: Match(game, 1, [wrong])),
        ("legal: expected the legal cards as written", lambda: parse_answer("<play>1R</play>", wrong)),
    ):
        with pytest.raises(InputTypeError, match=f"^{told}"):
            take()


@pytest.mark.parametrize("wrong", [3, 2.5, b"abc", ["abc"], np.array(["a", "b"]), ...], ids=repr)
def test_what_is_no_text_no_deck_no_attribute_and_no_player_is_told(wrong: Any) -> None:
    game = load_game("pepper", 3)
    games = pytest.importorskip("trick_envs.interfaces.sb3").make_vec_env(PEPPER, 2)
    for told, take in (
        ("text: expected a text, not ", lambda: parse_answer(wrong, ["1R"])),
        ("text: expected a text, not ", lambda: estimated_tokens(wrong)),
        ("deck: expected the deck of a game", lambda: parse_answer("<play>1R</play>", ["1R"], wrong)),
        ("attr_name: expected the name of an attribute, not ", lambda: games.get_attr(wrong)),
        ("baseline: expected an agent with act", lambda: SearchAgent("pimc", 2, game, baseline=wrong)),
    ):
        with pytest.raises(InputTypeError, match=f"^{told}"):
            take()


@pytest.mark.parametrize("wrong", [None, 3, "cats", [], {}, ...], ids=repr)
def test_who_names_its_game_is_told_which_there_are(wrong: Any) -> None:
    """Gymnasium said: Environment `Cats` doesn't exist in namespace trick_envs."""
    for make_one in (TextEnv, load_game, SeatEnv):
        with pytest.raises(InputError, match=r"^there is no game .*: choose one of "):
            make_one(wrong)


@pytest.mark.parametrize("wrong", [3, "pixels", [1], b"ansi"], ids=repr)
def test_a_game_in_words_has_the_render_modes_of_the_others(wrong: Any) -> None:
    with pytest.raises(UnknownRenderMode, match=r"^render_mode: expected None, "):
        TextEnv("pepper", render_mode=wrong)


@pytest.mark.parametrize("dealer", [3, -2, 1.0, "1", None, True, [1], np.array([1, 2])], ids=repr)
def test_a_given_deal_has_a_dealer_that_there_is(dealer: Any) -> None:
    """A text was Numba's "Failed in nopython mode pipeline", and 1.5 was 1."""
    with pytest.raises(InputError, match=r"^given\[1\].dealer: expected a seat, or -1, of -1 to 2, not "):
        Match(load_game("pepper", 3), 1, [Deal(), Deal(dealer)])


@pytest.mark.parametrize("order", [(1, 2, 3), range(35), [0] * 36, None, "1R", [0.5] * 36, 7], ids=repr)
def test_a_given_deal_has_every_card_once(order: Any) -> None:
    game = load_game("pepper", 3)
    with pytest.raises(
        TrickEnvsError, match=r"^given\[0\].order: expected (every card of the deck once|cards by number), "
    ):
        Match(game, 1, [Deal(0, order)])
    assert Match(game, 1, [Deal(0, np.arange(36))]).deals[0].order == tuple(range(36))  # type: ignore[arg-type]


def test_before_the_first_play_and_the_first_deal_there_is_none() -> None:
    match = Match(load_game("pepper", 3), 1)
    for name, told in (("before", "nothing has been played yet"), ("ended", "no deal has ended yet")):
        with pytest.raises(InputError, match=f"^{name}: {told}$"):
            getattr(match, name)
    with pytest.raises(IllegalAction, match="player_1 does not have"):
        match.step([0])  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 3, "plays", [], np.zeros(4), np.zeros((2, 3))], ids=repr)
def test_the_order_of_play_is_plays(wrong: Any) -> None:
    game = load_game("pepper", 3)
    states = Match(game, 1).states
    if wrong is None:
        assert position_text(game, states, events=wrong)
        return
    with pytest.raises(InputError, match=r"^events: expected plays, shape \(T, 4\), "):
        position_text(game, states, events=wrong)


@pytest.mark.parametrize("wrong", [None, 3, b"ab", ["greedy", 3], "greedy"], ids=repr)
def test_an_arena_has_a_game_specs_and_a_width(wrong: Any) -> None:
    game = load_game("pepper", 3)
    with pytest.raises(InputTypeError, match=r"^specs: expected a list of players' specs, not "):
        make_plan(game, wrong, 2)
    for take in (lambda: lineups(wrong), lambda: make_plan(wrong, ["greedy", "random"], 2)):
        with pytest.raises(InputTypeError, match=r"game: expected what load_game\(\) returns"):
            take()
    if wrong is not None and wrong != 3:
        with pytest.raises(InputError, match=r"^half width: expected a number of points above 0, not "):
            make_plan(game, ["greedy", "random"], 2, wrong)


@pytest.mark.parametrize("wrong", [None, 3, [], ...], ids=repr)
def test_a_policy_has_a_path_and_a_game_and_rolls_out_what_evaluates(wrong: Any) -> None:
    game = load_game("pepper", 3)
    path = pretrained_policy(game)
    with pytest.raises(InputTypeError, match=r"^path: expected the path of a policy file, not "):
        PolicyAgent(wrong, game)
    with pytest.raises(InputTypeError, match=r"^policy: expected an agent"):
        RolloutAgent(wrong, 2, game)
    with pytest.raises(InputTypeError, match=r"^policy: expected a policy, which has evaluate"):
        RolloutAgent(GreedyAgent(game), 2, game)  # type: ignore[arg-type]
    pytest.importorskip("onnxruntime")
    with pytest.raises(InputTypeError, match=r"game: expected what load_game\(\) returns"):
        PolicyAgent(path, wrong)
    assert PolicyAgent(str(path), game).name == str(path)


def test_the_row_of_one_position_is_told_to_a_player_as_one() -> None:
    """A policy said that it sees 347 numbers, not 347."""
    pytest.importorskip("onnxruntime")
    env = make("pepper", 3)
    env.reset(seed=1)
    seen, mask = env.observe(env.agent_selection).values()
    for player, name in (
        (RandomAgent(0), "action_masks"),
        (make_agent("pretrained", env.unwrapped.game), "observations"),
    ):
        with pytest.raises(
            InputError, match=rf"^{name}: expected a row for each position, not shape \(\d+,\); for one"
        ):
            player.act(seen, mask)
        assert mask[player.act(seen[None], mask[None])[0]]


def test_single_games_of_gymnasium_are_no_native_ones() -> None:
    games: Any = pytest.importorskip("trick_envs.interfaces.sb3")
    for wrong in (None, gymnasium.make(PEPPER), gymnasium.make_vec(PEPPER, 2, "sync")):
        with pytest.raises(InputTypeError, match=r"^games: expected what gymnasium.make_vec\(\) makes of a game of"):
            games.SeatVecEnv(wrong)


def test_a_bad_answer_is_told_what_is_legal_from_an_array_too() -> None:
    """The sentence about the answer was "The truth value of an array …"."""
    names = np.array(load_game("pepper", 3).deck.names)
    assert parse_answer("<play>red one</play>", names[:2]).card == "1R"
    assert parse_answer("nothing", names[:2]).problem.endswith(
        "Legal: 1R 2R. Answer with one of them, such as <play>1R</play>."
    )


@pytest.mark.parametrize("card", [-1, 53, 999, True, 2.5, "4R", None, [1], np.array([1, 2])], ids=repr)
def test_no_number_names_a_card_from_the_end_of_the_deck(card: Any) -> None:
    """-1 was the last card."""
    one, two = load_game("donguri", 4).deck, load_game("double_deck_whist").deck
    for write in (one.format, one.kind, two.format, lambda card: two.format_all([card])):
        with pytest.raises(
            InputError, match=r"card: expected a whole number of 0 to (47|51, or 54 to 105 of the sec.*), not"
        ):
            write(card)
    if card is not None:
        with pytest.raises(InputError, match="kind: expected a whole number of 0 to 47, not"):
            card_svg(one, card)


@pytest.mark.parametrize("wrong", [3, True, "seat", [{}], [1, 2], np.array("x"), (), slice(1)], ids=repr)
def test_the_options_of_a_vec_env_are_dicts(wrong: Any) -> None:
    games = pytest.importorskip("trick_envs.interfaces.sb3").make_vec_env(PEPPER, 2)
    with pytest.raises(InputTypeError, match="set_options: expected None, a dict, or 2 dicts, not"):
        games.set_options(wrong)
    games.reset()


def test_the_worst_total_is_of_a_game_and_a_reward() -> None:
    game = load_game("pepper", 3, 1)
    for reward in ([], "best", None):
        with pytest.raises(InputError, match="reward: expected one of 'score', "):
            worst_total(game, reward)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"game: expected what load_game\(\) returns"):
        worst_total([], "score")  # type: ignore[arg-type]


@pytest.mark.parametrize("purpose", [5, -1, 2.0, True, "test", None, Purpose], ids=repr)
def test_what_is_no_purpose_of_seeds_is_told(purpose: Any) -> None:
    """5 had seeds of its own, and 16 those of another purpose."""
    game = load_game("pepper", 3, 1)
    greedy = make_agent("greedy", game)
    for take in (
        lambda: match_seeds(purpose, 0, 0, 1),
        lambda: player_seeds(purpose, 0),
        lambda: evaluate(game, greedy, greedy, 1, 0, purpose),
        lambda: make_plan(game, ["greedy", "random"], 2, None, 0, purpose),
    ):
        with pytest.raises(InputError, match=r"purpose: expected one of Purpose.TRAINING, .*, Purpose.TEST, not"):
            take()
    assert make_plan(game, ["greedy", "random"], 2, None, 0, 4).purpose is Purpose.TEST  # type: ignore[arg-type]


def test_the_makers_of_environments_have_their_own_names() -> None:
    """They could not be pickled, and errors called them "environment_module.<locals>.env"."""
    from trick_envs import pepper_v0

    for make_one in (pepper_v0.env, pepper_v0.raw_env):
        assert pickle.loads(pickle.dumps(make_one)) is make_one
    with pytest.raises(TypeError, match=r"^env\(\) takes 0 positional arguments"):
        pepper_v0.env(5)


@pytest.mark.parametrize("spec", ["pimc:2", "ismcts:8", "pretrained+rollout:2"])
@pytest.mark.parametrize("wrong", ["illegal", "far", "negative", "table"])
def test_a_search_compares_with_legal_cards_only(spec: str, wrong: str) -> None:
    """Compiled code checks no bounds: another number was a crash, or a figure that means nothing."""
    games = BatchEnv("pepper", 2)
    games.reset(seed=1)
    masks, agent = games.action_masks, make_agent(spec, games.game)
    baselines = {"illegal": masks.argmin(1), "far": [9999] * 2, "negative": [-1] * 2, "table": masks.argmax(1)[:, None]}
    with pytest.raises(InputError, match=r"baselines: (player_\d does not have|action .* is no card|expected 2 whole)"):
        agent.compare(games.observations, masks, games.states, baselines[wrong])  # type: ignore[attr-defined]


def test_a_search_of_another_kind_or_size_is_told() -> None:
    game = load_game("pepper")
    with pytest.raises(InputError, match="method: expected one of 'pimc', 'ismcts', 'cheat', not 'mcts'"):
        SearchAgent("mcts", 10, game)
    for effort in (0, -1, 2.5, "3", 10**9):
        with pytest.raises(InputError, match="effort: expected a whole number of 1 to 1,000,000"):
            SearchAgent("pimc", effort, game)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="worlds: expected a whole number of 1 to 1,000,000"):
            RolloutAgent(make_agent("pretrained", game), effort, game)  # type: ignore[arg-type]


def test_a_single_environment_wants_a_reset_first() -> None:
    env = gymnasium.make("trick_envs/Donguri-v0", num_players=3).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded, match="no match is going on: call reset"):
        env.step(0)


@pytest.mark.parametrize("raw", [False, True])
def test_nothing_is_to_be_seen_before_a_reset(raw: bool) -> None:
    env = make("pepper", 5, raw=raw, render_mode="ansi").unwrapped
    for look in (env.state, env.render, lambda: env.observe("player_0")):
        with pytest.raises(AssertionError, match="needs to be called before"):
            look()
    for name in ("phase", "states", "agents", "agent_selection"):
        with pytest.raises(AttributeError, match="cannot be accessed before reset"):
            getattr(env, name)
    batch = BatchEnv("pepper", 2, observation="history")
    vector = gymnasium.make_vec(PEPPER, 2, "vector_entry_point", observation="history")
    for history in (batch.observe, lambda: batch.history(0, 0), lambda: vector.unwrapped.history(0)):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
            history()


class Stops:
    """Ctrl-C in the step that clears these rewards."""

    def fill(self, number: float) -> None:
        raise KeyboardInterrupt


def test_a_batch_that_was_stopped_in_mid_step_is_not_whole_because_somebody_looks() -> None:
    games = BatchEnv("pepper", 2)
    games.reset(seed=1)
    rewards, vars(games)["rewards"] = games.rewards, Stops()
    with pytest.raises(KeyboardInterrupt):
        games.step(games.action_masks.argmax(axis=1))
    vars(games)["rewards"] = rewards
    for call in (games.observe, lambda: games.step([0, 0])):
        with pytest.raises(gymnasium.error.ResetNeeded, match="has stopped half-way"):
            call()
    games.reset(seed=1)
    games.observe()
    games.step(games.action_masks.argmax(axis=1))


class Spoiling:
    """A greedy player that keeps the positions that it is asked about, or writes over whatever it is given."""

    name = "spoiling"

    def __init__(self, game: Any, spoils: bool) -> None:
        self.player, self.spoils, self.kept = make_agent("greedy", game), spoils, []

    def seed(self, seed: int) -> None:
        """It has no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        actions = self.player.act(observations, action_masks, states)
        self.kept.append(states)
        if self.spoils:
            for given in (observations, action_masks, states.view(np.uint8)):
                given[:] = 7
        return actions


def test_what_a_player_is_asked_about_is_its_own_to_keep_or_to_change() -> None:
    game, found = load_game("pepper", 3, 1), []
    for spoils in (False, True):
        player = Spoiling(game, spoils)
        record = play_match("pepper", dict.fromkeys(range(3), player), 5, 3, 1)
        positions = {kept.tobytes() for kept in player.kept}
        assert len(positions) == (1 if spoils else sum(len(deal["actions"]) for deal in record["deals"]))
        shown = [record, evaluate(game, player, make_agent("random", game), 20, 1).margin]
        env = gymnasium.make(PEPPER, num_players=3, num_deals=1, opponents=player, seat=0)
        vector = gymnasium.make_vec(
            PEPPER, 2, "vector_entry_point", num_players=3, num_deals=1, opponents=player, seat=0
        )
        shown.append([each.reset(seed=5)[0].tolist() for each in (env, vector)])
        shown.append([env.step(env.unwrapped.action_masks().argmax())[0].tolist() for _ in range(5)])  # type: ignore[attr-defined]
        shown.append([vector.step(vector.unwrapped.action_masks().argmax(axis=1))[0].tolist() for _ in range(5)])  # type: ignore[attr-defined]
        found.append(shown)
    assert found[0] == found[1]


@pytest.mark.parametrize("spec", ["greedy", "pimc:2", "ismcts:4", "pretrained+rollout:2", "pretrained+ismcts:4"])
def test_a_player_that_computes_on_the_game_wants_the_positions_of_its_game(spec: str) -> None:
    games, others = BatchEnv("pepper", 2, 5), BatchEnv("pepper", 2, 3)
    for each in (games, others):
        each.reset(seed=1)
    player = make_agent(spec, games.game)
    for states in (None, others.states, games.states[0], games.states.tolist(), np.zeros(2)):
        with pytest.raises(
            InputError, match=r"computes on the game itself|: expected records of <pepper for 5>, shape \(B,\), such as"
        ):
            player.act(games.observations, games.action_masks, states)


# --- actions --------------------------------------------------------------------------------------------------------

NO_ACTIONS = [5.7, 5.0, "4", True, None, float("nan"), np.nan, np.array(4.0), np.array([1, 2]), [], {}]
NO_ACTIONS += [bytearray(b"4"), np.timedelta64(4), np.ma.array(4, mask=True), [True]]
PEPPER = "trick_envs/Pepper-v0"


class Single:
    """One way to step one game; ``takes`` plays an action there."""

    def __init__(self, kind: str, **more: Any) -> None:
        self.kind, options = kind, {"num_players": 5, **more}
        if kind in ("env", "raw_env"):
            self.env = make("pepper", 5, raw=kind == "raw_env", **more)
            self.env.reset(seed=3)
        elif kind == "match":
            self.env = matches.Match(load_game("pepper", 5), 3)
        elif kind == "batch":
            self.env = BatchEnv("pepper", 1, **options)
            self.env.reset(seed=3)
        elif kind == "vector":
            self.env = gymnasium.make_vec(PEPPER, 1, "vector_entry_point", seat=0, **options)
            self.env.reset(seed=3, options={"dealer": 0})
        elif kind == "sb3":
            sb3 = pytest.importorskip("trick_envs.interfaces.sb3")
            self.env = sb3.make_vec_env(PEPPER, 1, env_kwargs={"seat": 0, **options})
            self.env.seed(3)
            self.env.reset()
        else:
            self.env = gymnasium.make(PEPPER, seat=0, illegal=kind.partition(" ")[2], **options).unwrapped
            self.env.reset(seed=3, options={"dealer": 0})

    def position(self) -> bytes:
        games = self.env.games if self.kind == "sb3" else self.env
        return games.states.tobytes()

    def legal(self) -> int:
        games = self.env.games if self.kind == "sb3" else self.env
        kernels, cards = load_game("pepper", 5).kernels, load_game("pepper", 5).deck.kind
        return min(map(cards, members(kernels.legal_cards(games.states))))

    def takes(self, action: Any) -> None:
        if self.kind == "match":
            assert self.env.play(action) >= 0
        else:
            self.env.step([action] if self.kind in ("batch", "vector", "sb3") else action)


INTERFACES = ["env", "raw_env", "match", "batch", "vector", "sb3", *(f"single {how}" for how in ILLEGAL_MODES)]


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("action", NO_ACTIONS, ids=repr)
def test_what_is_no_whole_number_is_the_same_error_everywhere_and_plays_nothing(interface: str, action: Any) -> None:
    game = Single(interface)
    before = game.position()
    with pytest.raises(InvalidAction):
        game.takes(action)
    assert game.position() == before
    game.takes(game.legal())
    assert game.position() != before


@pytest.mark.parametrize("interface", INTERFACES)
def test_whole_numbers_of_all_types_play_the_same_everywhere(interface: str) -> None:
    found = set()
    kinds: list[Callable[[int], Any]] = [int, np.int8, np.uint64, np.array]
    if interface not in ("batch", "vector", "sb3"):
        kinds.append(lambda action: np.array([action], np.int16))
    for kind in kinds:
        game = Single(interface)
        game.takes(kind(game.legal()))
        found.add(game.position())
    assert len(found) == 1


@pytest.mark.parametrize("action", [-1, 60, 10**30, -(10**30), np.uint64(2**64 - 1)])
def test_a_number_of_no_card_is_told_so(action: Any) -> None:
    for interface in ("env", "raw_env", "single raise"):
        game = Single(interface)
        before = game.position()
        with pytest.raises(IllegalAction, match=r"is no card|not in action space: 0 to 59, not"):
            game.takes(action)
        assert game.position() == before
    for interface in ("batch", "match"):
        game = Single(interface)
        before = game.position()
        with pytest.raises((IllegalAction, AssertionError)):
            game.takes(action)
        assert game.position() == before


@pytest.mark.parametrize("interface", ["batch", "vector"])
def test_a_number_beyond_all_others_is_told_as_it_was_given(interface: str) -> None:
    """It had become a negative one."""
    game = Single(interface)
    before = game.position()
    with pytest.raises(IllegalAction, match=f"{2**63 + 1} is no card"):
        game.env.step(np.array([2**63 + 1], np.uint64))
    assert game.position() == before


@pytest.mark.parametrize("interface", ["batch", "vector", "sb3"])
@pytest.mark.parametrize("one", [np.array(True), np.zeros(1, np.bool_)[0]], ids=["array", "scalar"])
def test_truth_values_in_a_list_are_no_actions(interface: str, one: Any) -> None:
    game = Single(interface)
    with pytest.raises(InvalidAction):
        game.env.step([one])


@pytest.mark.parametrize(
    "games",
    [
        [0, True], [False, 1], np.array([False, True]), [0.0, 1.0], np.ma.array([0, 1], mask=[True, False]),
        bytearray(b"\0\1"), memoryview(b"\0\1"), [[0], [1]], [1, 0], [0, 0], [0, 2], "01", None,
    ],
    ids=lambda given: given.obj if isinstance(given, memoryview) else repr(given),  # which has no address
)  # fmt: skip
def test_games_are_named_by_whole_numbers_like_actions(games: Any) -> None:
    batch = BatchEnv("pepper", 2, 3)
    batch.reset(seed=1)
    before, actions = batch.states.tobytes(), batch.action_masks.argmax(axis=1)
    if games is not None:  # all of them
        with pytest.raises(ValueError, match="env_ids: expected ascending whole numbers of 0 to 1, not "):
            batch.step(actions, games)
        assert batch.states.tobytes() == before
    batch.step(actions, [0, np.int64(1)])
    assert batch.states.tobytes() != before


# --- seats and games that are not there -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, 5, 99, True, 1.0, "1", None, [3], {}])
def test_no_index_leads_to_another_seat_or_game(wrong: Any) -> None:
    games = BatchEnv("pepper", 5, 5, observation="history")
    games.reset(seed=1)
    env = gymnasium.make_vec(PEPPER, 5, "vector_entry_point", observation="history").unwrapped
    env.reset(seed=1)
    single, aec = gymnasium.make(PEPPER).unwrapped, make("pepper", 5)
    single.reset(seed=1)
    aec.reset(seed=1)
    calls: list[Callable[[], Any]] = [
        lambda: games.history(wrong, 0),
        lambda: games.history(0, wrong),
        lambda: env.history(wrong, 0),
        lambda: games.game.resample(games.states, wrong, np.random.default_rng(0)),
        lambda: aec.history(wrong),
        lambda: aec.observe(wrong),
        lambda: aec.observation_space(wrong),
        lambda: aec.action_space(wrong),
        lambda: make("pepper", 5, render_view=-2 if wrong is None else wrong),
    ]
    if wrong is not None:
        calls += [
            lambda: games.plays(wrong),
            lambda: env.history(0, wrong),
            lambda: single.history(wrong),
            lambda: table_view(games.game, games.states, wrong),
            lambda: single.reset(options={"seat": wrong}),
            lambda: env.reset(options={"dealer": wrong}),
        ]
    for call in calls:
        with pytest.raises(InputError, match=f"expected .*, not {re.escape(repr(wrong))}|render_view: .* not -2"):
            call()


@pytest.mark.parametrize("wrong", [-1, 2, [0, 5], np.int64(-1), 2.5, np.array("x")])
def test_the_games_of_a_vec_env_are_named_by_their_numbers(wrong: Any) -> None:
    sb3 = pytest.importorskip("trick_envs.interfaces.sb3")
    games = sb3.make_vec_env(PEPPER, 2)
    games.reset()
    for call in (lambda: games.env_method("action_masks", indices=wrong), lambda: games.get_attr("seat", wrong)):
        with pytest.raises(InputError, match="indices: expected a whole number of 0 to 1, not"):
            call()
    assert len(games.env_method("action_masks", indices=np.int64(1))) == 1


def test_no_option_of_a_game_is_called_as_an_argument_of_an_environment() -> None:
    from trick_envs.interfaces.aec import RawEnv
    from trick_envs.interfaces.options import SEAT_OPTIONS
    from trick_envs.interfaces.text import TextEnv
    from trick_envs.interfaces.vector import VectorSeatEnv

    found = {"self", "seed", "observations", *SEAT_OPTIONS}
    for made in (BatchEnv, RawEnv, VectorSeatEnv, TextEnv, load_game):
        found |= {*inspect.signature(made).parameters}
    assert found == TAKEN


NO_WORDS = [np.array(["score", "win"]), np.zeros(0), np.ma.array([1, 2], mask=[True, False]), "x" * 10_000, ["score"]]


@pytest.mark.parametrize("given", NO_WORDS, ids=["two", "none", "masked", "long", "list"])
def test_what_is_no_word_or_list_is_told_in_a_line(given: Any) -> None:
    """Arrays were told as "The truth value of an array … is ambiguous", and long ones in as many lines as they have."""
    env, single = make("pepper", 3), gymnasium.make(PEPPER, num_players=3).unwrapped
    env.reset(seed=1)
    deal = env.record()["deals"][0]
    calls: dict[str, Callable[[], Any]] = {
        **{name: partial(make, "pepper", 3, **{name: given}) for name in ("reward", "observation", "render_mode")},
        **{
            name: partial(gymnasium.make, PEPPER, **{name: given})
            for name in ("illegal", "end_mask", "observation_key", "mask_key", "opponents")
        },
        "autoreset_mode": lambda: vector(autoreset_mode=given),
        "options": lambda: env.reset(options=given),
        "options.deals": lambda: single.reset(options={"deals": given}),
        "stock": lambda: env.reset(options={"deals": [{**deal, "stock": given}]}),
        "agents": lambda: play_match("pepper", given, 1, 3),
        "saved": lambda: env.set_state(given),
        "seatings": lambda: lineups(env.game, given),
    }
    for name, call in calls.items():
        if (name, str(given)[:1]) in {("mask_key", "x"), ("opponents", "[")}:
            continue  # any text is a key, and a list may name players
        with pytest.raises(TrickEnvsError) as told:
            raise AssertionError(f"{name} takes it: {call()!r}")
        assert "\n" not in str(told.value), name
        assert len(str(told.value)) < 700, name


# --- copies that cannot be written ----------------------------------------------------------------------------------


def that_can_be_copied(kind: str, observation: str = "position") -> Single:
    game = Single(kind, **({} if kind == "match" else {"observation": observation}))
    if kind == "sb3":
        game.env = game.env.venv  # its monitor cannot be
    return game


@pytest.mark.parametrize("observation", ["position", "history"])
@pytest.mark.parametrize("kind", INTERFACES)
def test_a_copy_with_read_only_arrays_plays_on_like_its_original(kind: str, observation: str) -> None:
    if observation == "history" and kind == "match":
        return
    game = that_can_be_copied(kind, observation)
    twin = copy.copy(game)
    twin.env = through_a_store(game.env)
    for _ in range(7):
        game.takes(game.legal())
        twin.takes(twin.legal())
        assert twin.position() == game.position()


@pytest.mark.parametrize("observation", ["position", "history"])
@pytest.mark.parametrize("kind", INTERFACES)
def test_copies_of_a_pickle_share_no_memory_that_could_be_written(kind: str, observation: str) -> None:
    """They wrote into its buffers, which were their original's, or one another's."""
    if observation == "history" and kind == "match":
        return
    game = that_can_be_copied(kind, observation)
    buffers: list[Any] = []
    data = pickle.dumps(game.env, protocol=5, buffer_callback=buffers.append)
    store, games = [bytearray(each.raw()) for each in buffers], [game, *(copy.copy(game) for _ in range(3))]
    for each, memory in zip(games[1:], (buffers, store, store), strict=True):
        each.env = pickle.loads(data, buffers=memory)
    for moved in (0, 2, 1):
        before = [each.position() for each in games]
        games[moved].takes(games[moved].legal())
        after = [each.position() for each in games]
        assert [one == other for one, other in zip(before, after, strict=True)] == [k != moved for k in range(4)]


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", INTERFACES)
def test_a_copy_is_played_without_its_original(kind: str, how: Callable[[Any], Any]) -> None:
    game = that_can_be_copied(kind)
    game.takes(game.legal())
    twin, before = copy.copy(game), game.position()
    twin.env = how(game.env)
    twin.takes(twin.legal())
    assert game.position() == before != twin.position()
    game.takes(game.legal())
    assert game.position() == twin.position()


@pytest.mark.parametrize("spec", ["random", "pretrained:sample"])
def test_a_copy_of_a_player_draws_by_itself(spec: str) -> None:
    games = BatchEnv("pepper", 8, 3)
    games.reset(seed=1)
    player = make_agent(spec, games.game, 5)
    drawn = [each.act(games.observations, games.action_masks).tolist() for each in (copy.copy(player), player)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("kind", ["search", "rollout"])
def test_what_is_made_of_a_search_leaves_the_player_that_it_starts_from_alone(kind: str) -> None:
    """To reseed a copy, or to search again with other worlds, reseeded the original's policy."""
    games = BatchEnv("pepper", 64, 3)
    games.reset(seed=1)
    policy = make_agent("pretrained:sample", games.game, 5)
    player: Any = SearchAgent("pimc", 1, games.game, 5, policy)
    if kind == "rollout":
        player = RolloutAgent(policy, 1, games.game, 5)  # type: ignore[arg-type]

    def draws() -> Any:
        return policy.act(games.observations, games.action_masks, games.states).tolist()

    before = draws()
    copy.copy(player).seed(9)
    if kind == "rollout":
        player.again(2, 9)
    assert draws() == before
    player.seed(9)
    assert draws() != before  # it is its own


def test_a_copy_of_an_environment_draws_from_spaces_of_its_own() -> None:
    env = make("pepper", 5, raw=True)
    env.action_space("player_0").seed(3)
    twin = copy.copy(env)
    drawn = [[each.action_space("player_0").sample() for _ in range(9)] for each in (twin, env)]
    assert drawn[0] == drawn[1]


# --- what machine code takes ----------------------------------------------------------------------------------------


def test_arrays_of_any_kind_are_played_without_compiling_anything_for_them() -> None:
    """A step with actions that cannot be written, as Ray and JAX give them, took half a minute."""
    games = BatchEnv("pepper", 4, 3)
    games.reset(seed=1)
    kernels = games.game.kernels
    player = GreedyAgent(games.game)
    expected = player.act(games.observations, games.action_masks, games.states)
    games.step(expected)
    names = ("first_illegal", "step_rows", "greedy_actions")
    compiled = [getattr(kernels, name).signatures for name in names if hasattr(getattr(kernels, name), "signatures")]
    before = [list(each) for each in compiled]
    for locked in (True, False):
        actions = player.act(games.observations, games.action_masks, games.states)
        rows = np.arange(4)
        actions.flags.writeable = rows.flags.writeable = not locked
        games.step(actions, rows)
        strided = np.repeat(games.states, 2)[::2]
        unaligned = np.frombuffer(b" " + games.states.tobytes(), games.game.dtype, offset=1)
        for states in (strided, unaligned, games.states[::2]):
            chosen = player.act(games.observations[: len(states)], games.action_masks[: len(states)], states)
            assert len(chosen) == len(states)
    assert [list(each) for each in compiled] == before


def test_actions_are_what_they_were_when_the_step_began() -> None:
    """Those in an array of the batch itself changed while they were played, behind the check."""
    games, others = (BatchEnv("pepper", 3, 3) for _ in range(2))
    for each in (games, others):
        each.reset(seed=1)
    actions = games.action_masks[1:].argmax(axis=1)
    games.seats[:2] = actions
    games.step(games.seats[:2], [1, 2])
    others.step(actions, [1, 2])
    assert games.states.tobytes() == others.states.tobytes()


def test_seats_that_are_shown_lead_compiled_code_nowhere_else() -> None:
    """It checks no bounds: a learner's seat cannot be written, and whose seat is to act is looked at."""
    vector = VectorSeatEnv("pepper", 2, num_players=3)
    vector.reset(seed=1)
    with pytest.raises(ValueError, match="read-only"):
        vector.seats[0] = 99
    games = BatchEnv("pepper", 2, 3, observation="history")
    games.reset(seed=1)
    games.seats[0] = 99
    with pytest.raises(ValueError, match="seats: expected seats of 0 to 2"):
        games.plays()


# --- the AEC environment and saved matches --------------------------------------------------------------------------


def test_who_is_not_done_has_to_name_a_card() -> None:
    env = make("donguri", 3)
    env.reset(seed=1)
    before = env.states.copy()
    with pytest.raises(IllegalAction, match=r"player_[0-2] has to name a card, not None: it is not done yet"):
        env.step(None)
    assert (env.states == before).all()


def test_a_dealer_and_a_given_deal_do_not_contradict_each_other() -> None:
    env = make("donguri", 3, num_deals=1)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(0))
    dealt = env.record()["deals"][0]
    other = (dealt["dealer"] + 1) % 3
    with pytest.raises(InputError, match=rf"options\['dealer'\] is {other}, but options\['deals'\]\[0\] is dealt by"):
        env.reset(seed=1, options={"dealer": other, "deals": [dealt]})
    env.reset(seed=1, options={"dealer": dealt["dealer"], "deals": [dealt]})
    assert env.record()["deals"][0]["dealer"] == dealt["dealer"]


def without_last_deal(content: dict[str, Any]) -> None:
    content["actions"] = content["actions"][:1]


def with_a_long_last_deal(content: dict[str, Any]) -> None:
    content["actions"][-1] = [*content["actions"][-1], 0, 0]


CONTENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no list": (lambda content: content.update(actions=5), "not a saved match .TypeError"),
    "no actions": (lambda content: content.pop("actions"), "not a saved match .KeyError"),
    "no given deal": (lambda content: content.update(given=[[]]), "not a saved match .ValueError"),
    "lists in a deal": (lambda content: content["actions"].__setitem__(0, [0, []]), "deal 1 of the saved match cannot"),
    "no deal": (lambda content: content.update(actions=[0]), "deal 1 of the saved match cannot be played"),
    "nothing as a deal": (lambda content: content.update(actions=[None]), "deal 1 of the saved match cannot be played"),
    "halves": (lambda content: content["actions"].__setitem__(0, [0.5]), "deal 1 of the saved match cannot be played"),
    "an illegal play": (lambda content: content["actions"].__setitem__(0, [99]), "deal 1 .*: play 1 is not legal"),
    "a deal too few": (without_last_deal, "a saved match of 1 deals, of which 2 can be played"),
    "plays behind the end": (with_a_long_last_deal, "deal 2 of the saved match: play [0-9]+ is not legal"),
    "another dealer": (lambda content: content["given"].append(["x" * 5000, None]), "with the dealer 'x{199}…$"),
    "another game": (lambda content: content["played"].__setitem__(0, "pepper"), "this is a match of .'pepper'"),
    "a long game": (lambda content: content["played"].__setitem__(0, "x" * 5000), "this is a match of .'x{198}…, and"),
    "nothing besides": (lambda content: content.update(extra=None), "a saved match with None"),
    "much besides": (lambda content: content.update(extra="x" * 5000), "a saved match with 'x{199}…$"),
    "one dead step": (lambda content: content["extra"].update(dead_steps=1), "a saved match with 1 dead steps"),
    "an illegal end": (lambda content: content["extra"].update(illegal=True), "ended by an illegal action, which can"),
}


@pytest.mark.parametrize("case", CONTENTS)
def test_a_saved_match_that_was_written_wrongly_is_refused_in_words(case: str) -> None:
    env, rng = make("donguri", 3, num_deals=2), np.random.default_rng(2)
    env.reset(seed=4)
    while len(env.record()["deals"]) < 2 or len(env.record()["deals"][1]["actions"]) < 3:
        play_randomly(env, rng, 1)
    saved, before = env.get_state(), env.states.copy()
    content = json.loads(saved.partition(b"\n")[2])
    change, message = CONTENTS[case]
    change(content)
    payload = json.dumps(content, separators=(",", ":")).encode()
    with pytest.raises(InputError, match=f"^set_state: .*{message}"):
        env.set_state(matches._MAGIC + matches._digest(payload) + b"\n" + payload)
    assert (env.states == before).all()
    env.set_state(saved)
    assert env.get_state() == saved


# --- games ----------------------------------------------------------------------------------------------------------


def hook(name: str, module: types.ModuleType) -> None:
    setattr(module, name, types.FunctionType((lambda state: 0).__code__, {"__name__": module.__name__}))


def test_a_game_that_lacks_a_hook_or_defines_one_twice_is_told_which() -> None:
    rules, more = types.ModuleType("rules"), types.ModuleType("more")

    def bind(*modules: types.ModuleType) -> Any:
        return hooks.hooks_of("made_up", modules)

    for name in hooks.REQUIRED[:-1]:
        hook(name, rules)
    with pytest.raises(InputTypeError, match=r"made_up: no module of it defines evaluate_card\(\)"):
        bind(rules)
    hook("evaluate_card", more)
    assert bind(rules, more)["evaluate_card"] is more.evaluate_card
    hook("legal", more)
    with pytest.raises(InputTypeError, match=r"made_up: legal\(\) is defined in more than one of its modules"):
        bind(rules, more)
    with pytest.raises(AttributeError, match="there is no kernel 'play_backwards'"):
        _ = load_game("pepper").kernels.play_backwards


def test_a_guide_that_contradicts_itself_is_told_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trick_envs.view import guide

    good = guide.guide_file(game_type("pepper")).read_text(encoding="utf-8")
    total, when = (next(line for line in good.splitlines() if line.startswith(key)) for key in ("total", "when"))
    file = tmp_path / "guide.toml"
    monkeypatch.setattr(guide, "guide_file", lambda kind: file)
    for text, message in (
        (good.replace(total, "total = 99"), "guide.toml: .*the example adds up to -?[0-9]+, not to 99"),
        (good.replace(when, 'when = ["sleep"]', 1), "when is one of start, lead, .*, not sleep"),
        ("players = 5\n", "guide.toml: KeyError: 'rules'"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            guide.guide_of.__wrapped__("pepper")


# --- training -------------------------------------------------------------------------------------------------------


def test_the_games_of_self_play_have_no_other_methods_and_attributes() -> None:
    pytest.importorskip("sb3_contrib")
    from training.self_play import SelfPlayVecEnv

    env = SelfPlayVecEnv(BatchEnv("donguri", 2, 3), 0)
    assert env.get_attr("render_mode") == [None, None]
    with pytest.raises(AttributeError, match="env_method: expected 'action_masks', not 'history'"):
        env.env_method("history")
    with pytest.raises(AttributeError, match="has no attribute 'wheels'"):
        env.get_attr("wheels")
    with pytest.raises(AttributeError, match="'seat' cannot be set"):
        env.set_attr("seat", 1)


# --- commands -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["play"], "name a game, such as pepper"),
        (["play", "pepper", "--resume"], "--resume goes on with the game of the record: leave out 'pepper'"),
        (["play", "--resume"], "--resume needs the --record of a match"),
        (["train"], "name a config, such as quickstart .or --resume with a --folder"),
        (["train", "--folder", "run"], "name a config, such as quickstart"),
        (["train", "--folder", "run", "--resume", "--set", "seed=1"], "--set and --resume exclude each other"),
        (["best-response", "greedy", "--game", "pepper", "--search-deals", "1"], "--search-deals: expected 0, or 2"),
    ],
)
def test_a_command_that_is_not_told_enough_says_what_it_needs(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sb3_contrib")
    from typer.testing import CliRunner

    from trick_envs.cli import app

    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, arguments)
    with pytest.raises(InputError, match=message):
        raise found.exception or AssertionError(found.output)
    assert not list(tmp_path.iterdir())


MEASURED = ["evaluate", "--game", "donguri", "--num-players", "3", "--deals", "2", "random"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["review", "r.json", "--json", "r.json"], "--json: r.json is in use by file r.json"),
        (["replay", "./r.json", "--html", "held/../r.json"], "--html: held/../r.json is in use by file r.json"),
        ([*MEASURED, "greedy", "--folder", "held", "--json", "held/chunks.jsonl"], "by --folder held"),
        ([*MEASURED, "greedy", "--folder", "held", "--json", "held/.lock"], "by --folder held"),
        ([*MEASURED, "greedy", "--folder", "new", "--json", "new/chunks.jsonl"], "by --folder new"),
        ([*MEASURED, "greedy", "--folder", "new", "--json", "held/chunks.jsonl"], "by the folder held"),
        ([*MEASURED, "greedy", "--folder", "new", "--json", "new"], "--json: new is in use by --folder new"),
        ([*MEASURED, "greedy", "--folder", "new/one", "--json", "new"], "--json: new is in use by --folder new/one"),
        ([*MEASURED, "greedy", "--json", "runs"], "in use by the folder runs/arena-donguri-3"),
        ([*MEASURED, "greedy", "--json", "runs/arena-donguri-3/chunks.jsonl"], "by the folder runs/arena-donguri-3"),
        ([*MEASURED, "p.onnx+pimc:1", "--folder", "new", "--json", "p.onnx"], "--json: p.onnx is in use by players"),
        (["simulate", "--game", "pepper", "--file", "held/policy.onnx"], "--file: held/policy.onnx is in use by the"),
        (["simulate", "--game", "pepper", "--file", "p.onnx", "--players", "greedy,p.onnx:sample"], "by --players"),
        (["language-benchmark", "greedy", "--folder", "new", "--json", "new/table.md"], "by --folder new"),
        (["best-response", "greedy", "--game", "pepper", "--folder", "new", "--json", "new/evaluation.json"], "by --f"),
        (["best-response", "greedy", "--game", "pepper", "--json", "runs"], "the folder runs/best-response-pepper-5-"),
        (["report", "held", "--file", "held/evaluation.json"], "--file: held/evaluation.json is in use by run held"),
    ],
)
def test_an_output_replaces_nothing_that_the_command_reads_or_keeps(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record was replaced by its review, finished deals by their result, and a folder in the way was told late."""
    pytest.importorskip("sb3_contrib")
    from typer.testing import CliRunner

    from trick_envs.cli import app

    monkeypatch.chdir(tmp_path)
    (tmp_path / "held").mkdir()
    names = {"r.json", "p.onnx", "held/.lock", "held/chunks.jsonl", "held/policy.onnx", "held/evaluation.json"}
    for name in names:
        (tmp_path / name).write_text(name)
    found = CliRunner().invoke(app, arguments)
    with pytest.raises(InputError, match=r"^--\w+: \S+ is in use by .*: choose another file$") as raised:
        raise found.exception or AssertionError(found.output)
    assert told in str(raised.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.read_text() for path in files} == {path.relative_to(tmp_path).as_posix() for path in files} == names


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        *((["arena", *MEASURED[1:], "greedy", "--folder", "new"], f"new/{name}") for name in RESULTS),
        (["arena", *MEASURED[1:], "greedy"], "runs/arena-donguri-3/speed.json"),
        (
            ["arena", "--game", "all", "--deals", "2", "random", "greedy", "--folder", "new"],
            "new/arena-zaraba22-3/results.md",
        ),
        (["language-benchmark", "greedy", "--folder", "new"], "new/table.md"),
        (["report", "new"], "new/report.html"),
    ],
)
def test_a_folder_in_the_place_of_a_file_that_a_command_writes_is_told_before_it_begins(
    arguments: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sb3_contrib", "matplotlib", "jinja2"):
        pytest.importorskip(module)
    from typer.testing import CliRunner

    from trick_envs.cli import app

    monkeypatch.chdir(tmp_path)
    Path(file).mkdir(parents=True)
    found = CliRunner().invoke(app, arguments)
    with pytest.raises(InputError, match=f"^{re.escape(file)} cannot be written: Is a directory$"):
        raise found.exception or AssertionError(found.output)
    assert not list(tmp_path.rglob("chunks.jsonl"))


def test_an_output_may_be_beside_what_a_command_keeps_and_on_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from trick_envs.cli import app

    monkeypatch.chdir(tmp_path)
    for file in ("new/results.json", "new/results.json", "evaluation.json", os.devnull):
        found = CliRunner().invoke(app, [*MEASURED, "greedy", "--folder", "new", "--json", file])
        assert found.exit_code == 0, found.output
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert written == {"new", "new/.lock", "new/chunks.jsonl", "new/results.json", "evaluation.json"}


def test_no_output_replaces_a_file_that_trick_reads_again() -> None:
    pytest.importorskip("sb3_contrib")
    from training import run
    from training.release import FILES
    from trick_envs.agents import llm
    from trick_envs.evaluation.arena import LOG

    assert {llm.FILE, LOG, *FILES, *(Path(file).name for file in run.FILES), "table.md"} == KEPT


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    pytest.importorskip("uvicorn")
    from trick_envs.play.web.server import _bind

    with _bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"cannot listen on 127.0.0.1:{port} \(.*\): try another --port, or 0 for"):
            _bind("127.0.0.1", port)
    for elsewhere in ("192.0.2.1", "no.such.host.invalid", "xn--ñ", "a" * 300):
        with pytest.raises(OSError, match=rf"cannot listen on {elsewhere}:0 \(.*\): try another --host, one of this"):
            _bind(elsewhere, 0)
