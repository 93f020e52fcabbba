"""A game in words: rules, positions that show all that a seat knows and nothing else, and answers."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from helpers import (
    CLUBS,
    DIAMONDS,
    HEARTS,
    SPADES,
    every_table,
    given,
    legal_of,
    make,
    play,
    play_randomly,
    step,
    twin_setup,
)
from test_interrupts import Stop, lines_in, lowest
from test_twin_worlds import (
    WORLDS,
    hidden_swaps,
    never_seen,
    pasts,
    positions,
    seats_at,
    twins,
)

from trick_envs.discovery import gymnasium_id
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.playing import DEAL_ENDED
from trick_envs.engine.registry import game_type, load_game
from trick_envs.engine.state import PASS, State, fields
from trick_envs.errors import InputError, InputTypeError
from trick_envs.interfaces.text import estimated_tokens, parse_answer, position_text, rules_text

# --- rules ----------------------------------------------------------------------------------------------------------


@every_table
def test_rules_are_short_and_say_the_table_the_scoring_and_how_to_answer(name, players):
    game = load_game(name, players)
    told = rules_text(game)
    assert told.isascii()
    assert len(told.split()) <= 800
    assert f"{players} players" in told
    assert f"{game.deck.size} cards" in told
    assert f"{game.hand_size} cards to each hand" in told
    assert "<play>" in told
    if name in ("pepper", "hearts"):
        assert "Example:" in told
        assert "together: -" in told


def test_rules_of_a_game_by_name_are_those_of_its_usual_table():
    assert rules_text("pepper") == rules_text(load_game("pepper"))
    assert "told for 5 players" in rules_text(load_game("pepper", 7))
    assert "options: pass_cards=False" in rules_text(load_game("hearts", pass_cards=False))


# --- positions ------------------------------------------------------------------------------------------------------


@every_table
def test_a_text_has_at_most_600_tokens_and_names_cards_as_decks_read_them(name, players):
    env, rng = make(name, players, num_deals=2), np.random.default_rng(0)
    env.reset(seed=3)
    while env.phase != "over":
        seat = int(env.states["seat"][0])
        told = position_text(env.game, env.states, seat, env.history(seat))
        assert told.isascii()
        assert estimated_tokens(told) <= 600
        legal = next(line for line in told.splitlines() if line.startswith("Legal: ")).split()[1:]
        assert sorted(map(env.game.deck.parse, legal)) == legal_of(env.game, env.states)
        play_randomly(env, rng, 7)


def texts_of_twins(game: Game, *how: Any) -> Iterator[tuple[str, str]]:
    """Texts of positions, for who looks on, and of worlds beside them."""
    last, text = None, ""
    for states, observer, twin in twins(game, *how):
        if last != (id(states), observer):
            last, text = (id(states), observer), position_text(game, states, observer)
        yield text, position_text(game, twin, observer)


@every_table
def test_hidden_cards_change_nothing_in_a_text(name, players):
    found = list(texts_of_twins(twin_setup(name, players), hidden_swaps, 1))
    assert all(text == other for text, other in found)
    assert len(found) > 50


@pytest.mark.parametrize("worlds", WORLDS, ids=lambda worlds: worlds.__name__)
@every_table
def test_what_a_seat_can_tell_is_in_the_text(name, players, worlds):
    found = list(texts_of_twins(twin_setup(name, players), worlds, 5, 2, 2))
    assert all(text != other for text, other in found)
    assert len(found) > 4


FOLLOWS = {  # fields that say what other parts of a text say
    "donguri": {"strongest", "weakest"},
    "double_deck_whist": set[str](),
    "hearts": {"taken", "jack", "only_points"},
    "pepper": {"peppers"},
    "tricky_express": {"stops"},
    "zaraba22": set[str](),
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_every_field_of_a_game_is_in_somebodys_text(name):
    """Also what counts on from the deals before: won deals, the passes of earlier deals."""
    declared = game_type(name)
    game = load_game(name, declared.default_players, num_deals=4)
    own = {field: each for field, each in fields(declared.state).items() if field not in fields(State)}
    unseen = {field for field, each in own.items() if not (each.cards or each.derived or each.lasts == "setup")}
    unseen -= FOLLOWS[name]
    for states in positions(game):
        for field in sorted(unseen):
            twin = states.copy()
            row = twin[field][0]
            twin[field][0] = (row + 1) % (len(game.deck.suits) if np.ndim(row) == 0 else 2)
            seats = range(game.num_players)
            if any(position_text(game, twin, seat) != position_text(game, states, seat) for seat in seats):
                unseen.discard(field)
        if not unseen:
            break
    assert not unseen


@lru_cache(100)
def text_of(past: Any, seat: int) -> str:
    return position_text(past.game, past.states, seat, past.events(seat))


@every_table
def test_texts_are_equal_in_worlds_that_have_looked_alike(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(9), 0
    for past in pasts(game):
        for observer in seats_at(game, rng):
            hidden = never_seen(past, observer)
            for _ in range(4 if len(hidden) > 1 else 0):
                one, other = (int(card) for card in rng.choice(hidden, 2, replace=False))
                twin = past.twin(observer, one, other)
                if twin is not None:
                    assert text_of(twin, observer) == text_of(past, observer)
                    tried += 1
    assert tried > 15


@every_table
def test_another_card_that_a_seat_has_seen_is_another_text(name, players):
    game, rng, tried = twin_setup(name, players), np.random.default_rng(10), 0
    for past in pasts(game):
        for observer in seats_at(game, rng):
            hidden, dealt = never_seen(past, observer), game.hand_size
            own = past.order[observer * dealt : (observer + 1) * dealt].tolist()
            for one in rng.choice(own, 3, replace=False):
                twin = past.twin(observer, int(one), int(rng.choice(hidden))) if hidden else None
                if twin is not None:
                    assert text_of(twin, observer) != text_of(past, observer)
                    tried += 1
    assert tried > 3


@every_table
def test_another_play_is_another_text_for_everybody_who_sees_it(name, players):
    """Also in the order of play, where the positions after it are the same."""
    game, rng = twin_setup(name, players), np.random.default_rng(11)
    for past in pasts(game):
        acting, secret = int(past.states["seat"][0]), int(past.states["phase"][0]) == PASS
        going_on = [a for a in legal_of(game, past.states)[:3] if step(game, past.states.copy(), a) < DEAL_ENDED]
        after = [type(past)(game, past.order, past.dealer, [*past.actions, action]) for action in going_on]
        for observer in seats_at(game, rng) if len(after) > 1 else ():
            if not secret or observer == acting:
                assert len({text_of(each, observer) for each in after}) == len(after)


@every_table
def test_a_text_tells_all_that_a_history_tells(name, players):
    """Whatever two random beginnings of the same deal a seat can tell apart, its texts tell apart."""
    game, rng = twin_setup(name, players), np.random.default_rng(12)
    for past in pasts(game)[:4]:
        others = [past]
        for _ in range(6):
            cut = int(rng.integers(len(past.actions)))
            shorter = type(past)(game, past.order, past.dealer, past.actions[:cut])
            for _ in range(len(past.actions) - cut):
                legal = legal_of(game, shorter.states)
                if step(game, shorter.states.copy(), legal[0]) >= DEAL_ENDED:
                    break
                shorter = type(past)(game, past.order, past.dealer, [*shorter.actions, int(rng.choice(legal))])
            others.append(shorter)
        for seat in range(game.num_players):
            told = {each.history(seat): text_of(each, seat) for each in others}
            assert len(set(told.values())) == len(told)


def test_a_card_that_was_drawn_shows_also_where_the_partner_of_the_winner_got_its_like():
    """Seat 0 is dealt 5D and draws 3D and 4D, or is dealt 3D and draws 4D and 5D; 3D and 5D lay open meanwhile."""
    texts = []
    for dealt, drawn in (("5D", ["3D", "4D"]), ("3D", ["4D", "5D"])):
        hands = [f"{CLUBS[3:]} {dealt}", SPADES, HEARTS, f"2D 4D {DIAMONDS[12:]} 2H 3H"]
        groups = [["2S", "3D", "4H", drawn[0]], ["3S", "5D", "5H", drawn[1]]]
        first = [card for group in groups for card in group]
        left = Counter(" ".join([CLUBS, DIAMONDS, HEARTS, SPADES] * 2).split()) - Counter(
            [*" ".join(hands).split(), *first]
        )
        env = given("double_deck_whist", hands, 0, " ".join([*first, *left.elements()]))
        play(env, "2S 2H 2D 3C 2S 2S 3H 6D 4C 3S")
        texts.append(position_text(env.game, env.states, 0, env.history(0)))
    assert texts[0] != texts[1]
    assert "You then got 3D 4D" in texts[0]
    assert "You then got 4D 5D" in texts[1]


# --- answers --------------------------------------------------------------------------------------------------------

COLOURS, SUITS = ["10B", "4Y", "12N", "1R"], ["10S", "QH", "AS", "AC", "2D"]


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("<play>10 blue</play>", "10B"),
        ("First <play>4y</play>, no: <PLAY>Blue Ten</PLAY> it is.", "10B"),
        ("<play>10B, not 4Y, but 12 brown</play>", "12N"),
        ("<play>brown 12", "12N"),
        ('{"play": "b10"}', "10B"),
        ('```json\n{"why": "{4Y}", "card": {"rank": 10, "suit": "blue"}}\n```', "10B"),
        ('{"play": "4Y"} and then {"play": "10B"}', "10B"),
        ("I have 4Y and 10B.\n\n**10 blue**.\n", "10B"),
        ("I play the 10 of blue.", "10B"),
        ("<think><play>4Y</play></think>\n10B", "10B"),
        ("it was <play>4Y</play></think><play>10B</play>", "10B"),
        ("<play>red 1</play>", "1R"),
    ],
)
def test_the_last_card_in_a_marked_place_is_played(text, card):
    assert parse_answer(text, COLOURS) == (card, "")
    assert parse_answer(text, COLOURS, load_game("pepper").deck) == (card, "")


@pytest.mark.parametrize(
    ("text", "card"),
    [
        ("<play>Q♥</play>", "QH"),
        ("<play>♠ A</play>", "AS"),
        ("<play>as</play>", "AS"),
        ("<play>ACE OF SPADES</play>", "AS"),
        ("<play>the two of diamonds</play>", "2D"),
        ("<play>ten-of-spades</play>", "10S"),
        ("<play>Ts</play>", "10S"),
        ("<play>Spades: 10</play>", "10S"),
        ("<play>A clubs</play>", "AC"),
        ("<play>queen hearts</play>", "QH"),
    ],
)
def test_words_letters_and_signs_name_the_same_card(text, card):
    assert parse_answer(text, SUITS, load_game("hearts").deck).card == card


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("<play>7 red</play>", "7R (7 red) was understood, which is not legal now"),
        ("I can't decide between 4Y and 10B", "No card was understood"),
        ("My hand is 4Y", "No card was understood"),
        ("", "No card was understood: the answer is empty"),
        ("<play></play>", "No card was understood: its place is empty"),
        ("<think><play>4Y</play>", "No card was understood: the answer is empty"),
        ("<play>110B</play>", "No card was understood in '110B'"),
        ('{"play": 3}', "No card was understood in '3'"),
        ("<play>10\u017f 4 d\u0131amonds</play>", "No card was understood in "),  # a pattern takes them for s and i
        ("<play>10B</play> no <play>the best card</play>", "No card was understood in 'the best card'"),
        ("\ud800\x00", "No card was understood"),
    ],
)
def test_what_is_no_legal_card_is_a_sentence_that_says_what_is(text, understood):
    card, problem = parse_answer(text, COLOURS)
    assert card is None
    assert understood in problem
    assert "Legal: 10B 4Y 12N 1R." in problem


@pytest.mark.parametrize(
    "text", ["{" * 200_000, "<play>" * 200_000, '{"play":' * 50_000, "<think>" * 50_000, "B" * 10**6]
)
def test_a_flood_is_read_at_once(text):
    assert parse_answer(text, COLOURS).card is None


@every_table
def test_every_card_of_every_deck_is_read_in_every_form(name, players):
    from trick_envs.view.words import card_words, suit_name

    deck = load_game(name, players).deck
    for kind, card in enumerate(deck.names):
        rank, suit = card[:-1], suit_name(card[-1])
        forms = [card, card.lower(), card_words(deck.suits, deck.ranks, kind), f"{suit} {rank}", f"{rank} of {suit}"]
        for form in (*forms, f"{card[-1]}{rank}", f"{suit.upper()}-{rank}"):
            assert parse_answer(f"<play>{form}</play>", deck.names, deck).card == card, form


# --- the environment ------------------------------------------------------------------------------------------------


def text_env(name: str = "pepper", **options: Any) -> Any:
    return gymnasium.make(gymnasium_id(name, "text"), **options)


@every_table
def test_checkers_accept_the_environment_and_equal_seeds_give_equal_texts(name, players):
    choice = {"num_players": players} if len(game_type(name).players) > 1 else {}
    env = text_env(name, num_deals=1, **choice)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_render_check=True)
    one, other = (play_texts(text_env(name, num_deals=1, **choice), 5) for _ in range(2))
    assert one == other


def play_texts(env: Any, seed: int) -> list[str]:
    """A match of the first legal card, in texts."""
    told, info = env.reset(seed=seed)
    texts, over = [told], False
    assert info["rules"] == env.unwrapped.rules
    while not over:
        legal = np.flatnonzero(env.unwrapped.action_masks())
        assert (info["action_mask"] == env.unwrapped.action_masks()).all()
        card = env.unwrapped.game.deck.names[legal[0]]
        told, _, over, _, info = env.step(f"<play>{card}</play>")
        assert info["played"] == card
        assert told in env.observation_space
        texts.append(told)
    assert info["bad_answers"] == info["substituted"] == 0
    assert info["decisions"] == len(texts) - 1
    return texts


def test_environments_in_other_processes_show_their_texts_without_shared_memory():
    """Gymnasium reads texts in shared memory once, before there are any."""
    apart = gymnasium.make_vec(
        "trick_envs/Pepper-text-v0", 1, "async", num_deals=1, vector_kwargs={"shared_memory": False}
    )
    alone = text_env(num_deals=1)
    text, _ = alone.reset(seed=7)
    try:
        assert apart.reset(seed=7)[0] == (text,)
        assert apart.step(("nonsense",))[0] == (alone.step("nonsense")[0],)
    finally:
        apart.close()


def test_a_text_match_is_the_match_of_the_same_actions():
    env, plain_env = text_env(seat=2), gymnasium.make("trick_envs/Pepper-v0", seat=2)
    env.reset(seed=4)
    plain_env.reset(seed=4)
    over = False
    while not over:
        card = int(np.flatnonzero(env.unwrapped.action_masks())[-1])
        _, reward, over, _, _ = env.step(env.unwrapped.game.deck.names[card])
        assert reward == plain_env.step(card)[1]
    assert env.unwrapped.record() == plain_env.unwrapped.record()


def test_a_bad_answer_is_asked_again_and_then_substituted():
    env = text_env(retries=2)
    first, _ = env.reset(seed=1)
    for attempt in (1, 2):
        told, reward, over, _, info = env.step("hm")
        assert told.startswith(first)
        assert "No card was understood" in told
        assert told.count("No card was understood") == 1
        assert (reward, over, info["bad_answers"], info["decisions"]) == (0.0, False, attempt, 0)
    told, _, _, _, info = env.step("<play>13 purple</play>")
    assert not told.startswith(first)
    assert (info["bad_answers"], info["substituted"], info["decisions"]) == (3, 1, 1)
    assert info["played"] in env.unwrapped.game.deck.names
    told, _, _, _, info = env.step("hm")  # counts anew for every decision
    assert "No card was understood" in told
    assert info["substituted"] == 1
    _, info = env.reset(seed=1)
    assert info["bad_answers"] == 0


@pytest.mark.filterwarnings("ignore:.*an illegal action ended the match")
def test_a_bad_answer_is_substituted_at_once_or_ends_the_match_below_every_honest_one():
    env = text_env(bad_answers="substitute")
    env.reset(seed=1)
    _, _, over, _, info = env.step("")
    assert (over, info["substituted"], info["bad_answers"]) == (False, 1, 1)
    env = text_env(bad_answers="terminate", num_deals=1)
    env.reset(seed=1)
    _, reward, over, _, info = env.step("pass")
    assert over
    assert info["played"] == ""
    assert reward < -20


def test_the_loss_of_a_decision_is_that_of_the_search_with_its_noise():
    env = text_env("hearts", loss="pimc:20", num_deals=1, pass_cards=False, seat=0)
    losses = []
    for seed in range(3):
        env.reset(seed=seed)
        over, points = False, 0.0
        while not over:
            legal = np.flatnonzero(env.unwrapped.action_masks())
            _, reward, over, _, info = env.step(env.unwrapped.game.deck.names[legal[-1]])
            losses.append(info["loss"])
            points += info["points"]
            assert reward == -info["loss"]
            assert info["loss_error"] >= 0
            assert info["loss"] == 0 or len(legal) > 1
        assert points == env.unwrapped.record()["score"][0]
    assert np.mean(losses) > 0.1  # the highest card is a bad one
    with pytest.raises(InputError, match="expected a search"):
        text_env(loss="greedy")


def test_a_question_has_an_answer_only_while_a_match_goes_on():
    """Before and after one, a text without a card was an AttributeError, and then an answer like any other."""
    env = text_env(bad_answers="retry", num_deals=1).unwrapped
    for _ in range(2):
        with pytest.raises(gymnasium.error.ResetNeeded, match="no match is going on"):
            env.step("nonsense")
    _, info, over = *env.reset(seed=1), False
    while not over:
        *_, over, _, info = env.step(env.game.deck.names[int(info["action_mask"].argmax())])
    for text in ("nonsense", env.game.deck.names[0]):
        with pytest.raises(gymnasium.error.ResetNeeded, match="no match is going on"):
            env.step(text)


def test_an_answer_that_is_interrupted_anywhere_counts_whole_or_not_at_all():
    env = text_env(bad_answers="retry", opponents=lowest, num_deals=1).unwrapped

    def begin():
        _, info = env.reset(seed=5)
        return env.game.deck.names[int(info["action_mask"].argmax())]

    for call in (lambda: env.step(begin.card), lambda: env.reset(seed=6)):
        begin.card = begin()
        for at in range(0, lines_in(call), 53):
            begin.card = begin()
            Stop(at).during(call)
            try:
                text, *_, info = env.step("nonsense")
            except gymnasium.error.ResetNeeded:
                continue
            assert text.startswith(position_text(env.game, env.states, env.seat, env.history()))
            assert info["decisions"] == len(env._own_cards())
            assert info["bad_answers"] == 1


def test_arguments_that_are_not_allowed_are_told():
    with pytest.raises(InputError, match="bad_answers: expected one of 'retry', 'substitute', 'terminate'"):
        text_env(bad_answers="raise")
    with pytest.raises(InputError, match="retries: expected a whole number"):
        text_env(retries=-1)
    env = text_env()
    env.reset(seed=0)
    with pytest.raises(InputTypeError, match="an answer is a text, not 3"):
        env.unwrapped.step(3)
    with pytest.raises(TypeError, match="pepers"):
        text_env(pepers=True)


@pytest.mark.parametrize(
    "given",
    [
        {"mask_key": "mask", "loss": "pimc:4"},
        {"observation_key": "seen"},
        {"observation": "history", "loss": "pretrained+rollout:4"},
        {"end_mask": "ones"},
        {"illegal": "raise"},
    ],
)
def test_arguments_of_the_other_environment_that_do_not_fit_a_text_are_refused_at_once(given):
    with pytest.raises(TypeError) as told:
        text_env(num_players=3, **given)
    known = "bad_answers, retries, loss, seat, opponents, reward, num_players, num_deals, render_mode, render_view"
    argument = next(iter(given))
    assert str(told.value).startswith(f"TextEnv() got an unexpected keyword argument '{argument}' (")
    assert f"known: {known}" in str(told.value)
    assert not {"mask_key", "observation", "illegal"} & set(str(told.value).partition("known: ")[2].split(", "))
