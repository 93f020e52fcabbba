"""``observation="history"`` and ``history()``: when every card was played, through all interfaces."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import CLUBS, DIAMONDS, HEARTS, every_game, given, legal_actions, make, play, play_randomly

from trick_envs import BatchEnv
from trick_envs.engine.history import DEAL, SEE
from trick_envs.engine.state import FOLLOW, LEAD, OVER, PASS

HANDS = [CLUBS.replace("2C ", ""), DIAMONDS.replace("2D ", ""), HEARTS.replace("2H ", "")]


def donguri(**options: Any) -> Any:
    """Seat 1 leads; everybody holds one suit."""
    return given("donguri", HANDS, dealer=0, observation="history", **options)


def shown(env: Any, seat: int, name: str) -> dict[tuple[int, str], int]:
    """A block of history: by relative seat and card, what is not 0."""
    numbers = env.observe(f"player_{seat}")["observation"][env.layout.slices()[name]].astype(int)
    table = numbers.reshape(env.num_players, env.game.num_actions)
    return {(int(s), env.game.deck.names[a]): int(table[s, a]) for s, a in zip(*table.nonzero(), strict=True)}


def test_the_blocks_say_in_which_trick_a_card_was_played_and_whether_it_led():
    env = donguri()
    assert shown(env, 0, "played_in") == {}
    play(env, "5D 5H 5C")  # three acorns: the strongest takes the trick; of equals the first
    assert env.agent_selection == "player_1"
    play(env, "KD 4H")
    assert shown(env, 1, "played_in") == {(0, "5D"): 1, (1, "5H"): 1, (2, "5C"): 1, (0, "KD"): 2, (1, "4H"): 2}
    assert shown(env, 1, "played_as_lead") == {(0, "5D"): 1, (0, "KD"): 1}
    assert shown(env, 0, "played_in") == {(1, "5D"): 1, (2, "5H"): 1, (0, "5C"): 1, (1, "KD"): 2, (2, "4H"): 2}


def test_a_history_tells_everything_in_order():
    env = donguri()
    play(env, "5D 5H 5C KD")
    parse = env.game.deck.parse
    dealt = [[0, 2, SEE, action] for action in sorted(map(parse, HANDS[2].split()))]
    plays = [[0, 1, LEAD, parse("5D")], [0, 2, FOLLOW, parse("5H")], [0, 0, FOLLOW, parse("5C")]]
    found = env.history(2)
    assert found.dtype == np.int16
    assert found.tolist() == [[0, 0, DEAL, -1], *dealt, *plays, [0, 1, LEAD, parse("KD")]]
    assert env.history("player_2").tolist() == found.tolist()


def test_a_deal_that_is_over_tells_its_points():
    env = make("donguri", 3, num_deals=2)
    env.reset(seed=1)
    while len(env.record()["deals"]) == 1:
        env.step(legal_actions(env)[0])
    score = env.record()["deals"][0]["score"]
    assert [row[3] for row in env.history(0).tolist() if row[2] == OVER] == score
    assert env.history(0)[-1].tolist()[0] == 1


def test_passed_cards_are_hidden_and_seen_by_who_takes_them_up():
    env = make("hearts", num_deals=1)
    env.reset(seed=0, options={"dealer": 0})  # to the left; seat 1 begins
    passed = {}
    for _ in range(12):
        action = legal_actions(env)[0]
        passed.setdefault(int(env.states["seat"][0]), []).append(action)
        env.step(action)
    plays = [row for row in env.history(2).tolist() if row[2] == PASS]
    assert [row[3] for row in plays if row[1] != 2] == [-1] * 9
    assert [row[3] for row in plays if row[1] == 2] == passed[2]
    seen = [row[3] for row in env.history(2).tolist() if row[1:3] == [2, SEE]]
    assert seen[13:] == sorted(passed[1])


def test_what_is_drawn_in_whist_is_seen_by_its_taker_and_the_left_neighbour():
    env = make("double_deck_whist", num_deals=1)
    env.reset(seed=2)
    while int(env.states["tricks"][0]) == 0:
        env.step(legal_actions(env)[0])
    winner = int(env.states["seat"][0])
    order, names = env.states["order"][0].tolist(), env.game.deck
    drawn = names.kind(order[4 * 13 + 2])  # the first of the face-down cards goes to the winner's left neighbour
    taker = (winner + 1) % 4
    last = [[row for row in env.history(seat).tolist() if row[1:] == [taker, SEE, drawn]] for seat in range(4)]
    before = make("double_deck_whist", num_deals=1)
    before.reset(seed=2)
    first = [[row for row in before.history(seat).tolist() if row[1:] == [taker, SEE, drawn]] for seat in range(4)]
    came = [len(now) - len(then) for now, then in zip(last, first, strict=True)]
    assert came == [1 if seat in (taker, (taker + 1) % 4) else 0 for seat in range(4)]


@every_game
def test_all_interfaces_show_the_same_history(name):
    rng = np.random.default_rng(3)
    env, plain = (make(name, num_deals=2, observation=kind) for kind in ("history", "position"))
    batch = BatchEnv(name, 3, num_deals=2, observation="history")
    for each in (env, plain):
        each.reset(seed=5)
    batch.reset(seed=5)
    size, steps = plain.layout.size, 0
    while env.phase != "over":
        seat = int(env.states["seat"][0])
        seen, old = (each.observe(each.agent_selection) for each in (env, plain))
        assert env.observation_space(env.agent_selection).contains(seen)
        assert (seen["observation"] == batch.observations[0]).all()
        assert (seen["observation"][:size] == old["observation"]).all()
        if steps % 17 == 0:
            looking = int(rng.integers(env.num_players))
            assert (env.history(looking) == batch.history(0, looking)).all()
            assert (plain.history(looking) == env.history(looking)).all()
            plays = env.history(seat)
            plays = plays[plays[:, 2] < OVER]
            assert (batch.plays()[0, : len(plays)] == plays).all()
            assert (batch.plays()[0, len(plays) :] == -1).all()
        chosen = [int(rng.choice(np.flatnonzero(mask))) for mask in batch.action_masks]
        env.step(chosen[0])
        plain.step(chosen[0])
        batch.step(chosen)
        steps += 1


@pytest.mark.parametrize("opponents", ["random", "greedy", ["greedy", "random", "pimc:1"]])
@pytest.mark.parametrize("illegal", ["terminate", "substitute"])
def test_vector_environments_play_the_same_matches_with_and_without_history(opponents, illegal):
    """Also where the learner names cards at random, legal or not."""
    reward = "win" if illegal == "terminate" else "score"  # what an illegal end costs is known at once then
    chosen: dict[str, Any] = {"num_deals": 2, "opponents": opponents, "illegal": illegal, "reward": reward}
    chosen["autoreset_mode"] = "SAME_STEP"
    both = [
        gymnasium.make_vec("trick_envs/Donguri-v0", 3, "vector_entry_point", observation=kind, **chosen).unwrapped
        for kind in ("history", "position")
    ]
    chosen.pop("autoreset_mode")
    single = gymnasium.make("trick_envs/Donguri-v0", observation="history", **chosen).unwrapped
    rng, size = np.random.default_rng(6), both[1].layout.size
    starts = [each.reset(seed=4)[0] for each in both]
    alone, _ = single.reset(seed=4)
    assert (starts[0][:, :size] == starts[1]).all()
    playing = True
    for _ in range(50):
        masks = both[0].action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        wrong = rng.random(3) < 0.1
        actions[wrong] = rng.integers(48, size=int(wrong.sum()))
        (seen, *told, _), (old, *expected, _) = (each.step(actions) for each in both)
        assert (seen[:, :size] == old).all()
        for one, other in zip(told, expected, strict=True):
            assert (one == other).all()
        if playing:
            alone, reward, over, _, _ = single.step(actions[0])
            assert reward == told[0][0]
            playing = not over
            if playing:
                assert (alone == seen[0]).all()
                assert (single.history() == both[0].history(0)).all()


def test_a_vec_env_of_stable_baselines3_has_it():
    pytest.importorskip("stable_baselines3")
    from trick_envs.interfaces.sb3 import make_vec_env

    games = make_vec_env("trick_envs/Donguri-v0", 2, seed=1, env_kwargs={"observation": "history", "num_deals": 1})
    seen = games.reset()
    assert seen.shape == (2, games.get_attr("layout")[0].size)
    assert games.env_method("history")[1].shape[1] == 4


@pytest.mark.parametrize("name", ["pepper", "hearts"])
def test_saved_copied_and_pickled_environments_remember(name):
    env = make(name, num_deals=2, observation="history")
    env.reset(seed=9)
    play_randomly(env, np.random.default_rng(0), 75)  # in the second deal
    again = make(name, num_deals=2, observation="history")
    again.set_state(env.get_state())
    for other in (again, copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        for seat, agent in enumerate(env.possible_agents):
            assert (other.observe(agent)["observation"] == env.observe(agent)["observation"]).all()
            assert (other.history(seat) == env.history(seat)).all()


def test_a_pepper_that_is_played_again_shows_its_last_trick():
    """The taker of a pepper can play it again: the block has the last time, the history both."""
    for seed in range(40):
        env = make("pepper", 5, num_deals=1, observation="history")
        env.reset(seed=seed)
        play_randomly(env, np.random.default_rng(seed))
        actions = [tuple(each) for each in env.record()["deals"][0]["actions"]]
        twice = {each for each in actions if actions.count(each) > 1}
        if twice:
            break
    (seat, card), parse = min(twice), env.game.deck.parse
    last = max(k for k, each in enumerate(actions) if each == (seat, card)) // 5 + 1
    assert shown(env, seat, "played_in")[0, card] == last
    told = env.history(0).tolist()
    assert sum(row[1] == seat and row[2] in (LEAD, FOLLOW) and row[3] == parse(card) for row in told) > 1


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match="observation: expected 'position' or 'history', not 'full'"):
        make("pepper", observation="full")
    games = BatchEnv("pepper", 2)
    games.reset(seed=1)
    for ask in (games.plays, lambda: games.history(0, 0)):
        with pytest.raises(ValueError, match="make the games with observation='history'"):
            ask()
    env = make("pepper")
    with pytest.raises(RuntimeError, match="call reset"):
        env.history(0)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="seat of 0 to 4 or an agent, not 'player_9'"):
        env.history("player_9")
