"""What every game promises, at every number of players. The games are found, not listed."""

from __future__ import annotations

import copy
import json
import pickle
import re

import numpy as np
import pytest
from helpers import TABLES, actions_of, every_game, every_table, finish, legal_actions, make, play, play_randomly
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

import trick_envs
from trick_envs import BatchEnv, IllegalAction
from trick_envs.engine.positions import places
from trick_envs.engine.registry import game_type
from trick_envs.interfaces.rendering import Rendering


def test_games_are_found():
    assert {"pepper", "donguri", "zaraba22"} <= {name for name, _ in TABLES}


# --- PettingZoo's own tests ---------------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("raw", [False, True], ids=["env", "raw_env"])
@pytest.mark.filterwarnings("ignore:.*reset. option 'options' means nothing here")
def test_api(name, players, raw, capsys):
    api_test(make(name, players, raw), num_cycles=300)


@every_table
def test_seed(name, players):
    seed_test(lambda: make(name, players, raw=False), num_cycles=100)


@every_game
def test_render(name, capsys):
    render_test(lambda render_mode: make(name, raw=False, render_mode=render_mode))
    printed = capsys.readouterr().out
    assert game_type(name).title in printed


@every_game
def test_made_by_name(name):
    pettingzoo = pytest.importorskip("pettingzoo")
    if not hasattr(pettingzoo, "make"):
        pytest.skip("PettingZoo before 1.27 has no make")
    env = pettingzoo.make("aec", f"trick_envs/{name}-v0", num_deals=1)
    env.reset(seed=1)
    assert env.unwrapped.game.name == name
    assert env.unwrapped.game.num_deals == 1


# --- cards, observations, masks -----------------------------------------------------------------------------------


@every_table
def test_every_card_lies_in_one_place(name, players):
    for seed in range(3):
        env, rng = make(name, players, num_deals=2), np.random.default_rng(seed)
        env.reset(seed=seed)
        while env.phase != "over":
            lying = sorted(card for found in places(env.game, env.states).values() for card in found)
            assert lying == sorted(env.game.deck.cards)
            play_randomly(env, rng, 1)


@every_table
def test_observations_fit_their_layout_for_every_seat_at_every_moment(name, players):
    env, rng = make(name, players, num_deals=3), np.random.default_rng(0)
    layout = env.layout
    assert layout.size == sum(block.length for block in layout)
    assert [where.stop - where.start for where in layout.slices().values()] == [block.length for block in layout]
    assert len({block.name for block in layout}) == len(layout)
    env.reset(seed=1)
    while True:
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen), out_of_bounds(env, agent)
            assert bool(seen["action_mask"].any()) == (env.phase != "over" and agent == env.agent_selection)
        assert env.state_space.contains(env.state())
        if env.phase == "over":
            break
        play_randomly(env, rng, 1)
    finish(env)
    for agent in env.possible_agents:
        assert env.observation_space(agent).contains(env.observe(agent))


def out_of_bounds(env, agent):
    vector, space = env.observe(agent)["observation"], env.observation_space(agent)["observation"]
    return {
        block: vector[where]
        for block, where in env.layout.slices().items()
        if (vector[where] < space.low[where]).any() or (vector[where] > space.high[where]).any()
    }


@every_table
def test_scores_of_a_long_match_stay_within_the_observation(name, players):
    """Hundreds and rest hold any score: the numbers of a match of 60 deals, played to the end."""
    env, rng = make(name, players, num_deals=60), np.random.default_rng(3)
    env.reset(seed=2)
    where, checked = env.layout.slices(), 0
    while env.phase != "over":
        env.step(int(rng.choice(legal_actions(env))))
        if int(env.states["deal_number"][0]) > checked and env.phase != "over":
            checked = int(env.states["deal_number"][0])
            numbers = env.observe("player_0")["observation"][where["score"]].reshape(-1, 2)
            assert (numbers @ [100, 1]).tolist() == env.record()["score"]
            left = env.observe("player_0")["observation"][where["deals_left"]] @ [100, 1]
            assert left == 59 - checked
    assert checked == 59


@every_game
def test_spaces_are_the_same_object_at_each_call_and_arrays_are_fresh(name):
    env = make(name)
    assert env.observation_space("player_0") is env.observation_space("player_0")
    assert env.action_space("player_1") is env.action_space("player_1")
    assert env.possible_agents == [f"player_{seat}" for seat in range(env.num_players)]
    env.reset(seed=0)
    one, other = env.observe("player_0"), env.observe("player_0")
    assert one["observation"] is not other["observation"]
    before = one["observation"].copy()
    play_randomly(env, np.random.default_rng(0), 10)
    env.observe("player_0")
    assert (one["observation"] == before).all()


# --- the same game everywhere -------------------------------------------------------------------------------------


def scripted(game, mask, seed, count):
    """A legal action that depends on the match and on how far it is."""
    allowed = np.flatnonzero(mask)
    return int(allowed[(seed * 31 + count * 17 + count // 5) % len(allowed)])


@every_table
def test_a_seed_gives_the_same_match_in_any_batch_and_in_the_aec_environment(name, players):
    steps, first = 150, 1000
    batches = []
    for size in (1, 7, 64):
        batch = BatchEnv(name, size, num_players=players, num_deals=1)
        batch.reset(seed=first)
        batches.append(batch)
    aec = [make(name, players, num_deals=1) for _ in range(3)]
    for i, env in enumerate(aec):
        env.reset(seed=first + i)
    ended = 0
    for count in range(steps):
        for batch in batches[:2]:
            assert batch.states.tobytes() == batches[2].states[: batch.num_envs].tobytes()
        for i, env in enumerate(aec):
            seat, seen = int(batches[2].seats[i]), env.observe(env.agent_selection)
            assert env.agent_selection == f"player_{seat}"
            assert (seen["observation"] == batches[2].observations[i]).all()
            assert (seen["action_mask"] == batches[2].action_masks[i]).all()
            assert env.states.tobytes() == batches[2].states[i : i + 1].tobytes()
        for batch in batches:
            batch.step([scripted(batch, mask, first + i, count) for i, mask in enumerate(batch.action_masks)])
        for i, env in enumerate(aec):
            env.step(scripted(env, env.observe(env.agent_selection)["action_mask"], first + i, count))
            assert list(env.rewards.values()) == pytest.approx(batches[2].rewards[i].tolist())
            assert (env.phase == "over") == batches[2].terminated[i]
            if env.phase == "over":
                ended += 1
                env.reset()  # goes on in its stream, as the batch does
    assert ended >= 1


@every_game
def test_reset_without_a_seed_goes_on_in_the_stream(name):
    one, other = make(name), make(name)
    one.reset(seed=4)
    other.reset(seed=4)
    first = one.record()
    matches = []
    for _ in range(3):
        one.reset()
        other.reset()
        assert one.record() == other.record()
        matches.append(one.record()["deals"][0]["hands"])
    assert first["deals"][0]["hands"] not in matches
    again = make(name)
    again.reset(seed=one.record()["seed"])
    assert again.record() == one.record()
    batch = BatchEnv(name, 3)
    batch.reset(seed=4)
    batch.reset()
    two = make(name)
    two.reset(seed=4)
    two.reset()
    assert batch.states["seed"][0] == two.record()["seed"]


# --- records ------------------------------------------------------------------------------------------------------


@every_table
def test_a_record_tells_the_match_and_replays_to_itself(name, players):
    env, rng = make(name, players, num_deals=3), np.random.default_rng(8)
    env.reset(seed=11)
    play_randomly(env, rng)
    record = env.record()
    assert json.loads(json.dumps(record)) == record
    deck, game = env.game.deck, game_type(name)
    assert list(record)[:4] == ["game", "version", "num_players", "num_deals"]
    assert (record["game"], record["version"], record["num_players"]) == (name, 0, players)
    assert (record["num_deals"], record["seed"], len(record["deals"])) == (3, 11, 3)
    for deal in record["deals"]:
        assert list(deal) == ["dealer", "hands", "stock", "actions", "score"]
        assert [len(hand) for hand in deal["hands"]] == [game.hand_size(players)] * players
        dealt = [card for hand in deal["hands"] for card in hand] + deal["stock"]
        assert sorted(dealt) == sorted(deck.format(card) for card in deck.cards)
        assert {seat for seat, _ in deal["actions"]} == set(range(players))
    assert record["score"] == np.sum([deal["score"] for deal in record["deals"]], axis=0).tolist()
    assert record["winners"]

    again = make(name, players, num_deals=3)
    again.reset(seed=99, options={"deals": record["deals"]})
    play(again, actions_of(record))
    assert {**again.record(), "seed": 11} == record
    again.reset(seed=11, options={"deals": json.loads(json.dumps(record["deals"]))})
    play(again, actions_of(record))
    assert again.record() == record


@every_game
def test_a_record_never_changes_once_returned(name):
    env, rng = make(name, num_deals=2), np.random.default_rng(0)
    env.reset(seed=5)
    play_randomly(env, rng, 9)
    record = env.record()
    kept = copy.deepcopy(record)
    assert record["deals"][-1]["score"] is None
    assert record["winners"] is None
    play_randomly(env, rng)
    assert record == kept
    record["deals"][0]["actions"].clear()
    record["deals"][0]["hands"][0].clear()
    assert env.record()["deals"][0]["actions"][:9] == kept["deals"][0]["actions"]


@every_game
def test_fewer_given_deals_than_the_match_needs_are_followed_by_random_ones(name):
    env, rng = make(name, num_deals=2), np.random.default_rng(1)
    env.reset(seed=3)
    play_randomly(env, rng)
    given = env.record()["deals"]
    env.reset(seed=77, options={"deals": given[:1]})
    assert env.record()["deals"][0]["hands"] == given[0]["hands"]
    assert env.record()["deals"][0]["dealer"] == given[0]["dealer"]
    play_randomly(env, rng)
    assert env.record()["deals"][1]["hands"] != given[1]["hands"]


@every_table
def test_the_dealer_is_drawn_from_the_seed_or_given(name, players):
    env = make(name, players)
    drawn = set()
    for seed in range(60):
        env.reset(seed=seed)
        drawn.add(env.record()["deals"][0]["dealer"])
    assert drawn == set(range(players))
    hands = env.record()["deals"][0]["hands"]
    for dealer in range(players):
        env.reset(seed=59, options={"dealer": dealer})
        assert env.record()["deals"][0]["dealer"] == dealer
        assert env.record()["deals"][0]["hands"] == hands


@every_game
@pytest.mark.parametrize("deals", [1, 2, 6])
def test_num_deals_plays_exactly_so_many(name, deals):
    env = make(name, num_deals=deals)
    env.reset(seed=deals)
    play_randomly(env, np.random.default_rng(deals))
    assert [deal["score"] is None for deal in env.record()["deals"]] == [False] * deals


# --- deals that are none ------------------------------------------------------------------------------------------


def spoil_missing(deal, deck):
    return [deal["hands"][1].pop(0)]


def spoil_too_often(deal, deck):
    card = deal["hands"][1][0]
    for hand in deal["hands"]:
        for i, other in enumerate(hand):
            if other != card:
                hand[i] = card
                return [card]


def spoil_unknown(deal, deck):
    deal["hands"][0][3] = "99Z"
    return ["99Z"]


def spoil_no_text(deal, deck):
    deal["hands"][0][3] = 17
    return ["17"]


def spoil_sizes(deal, deck):
    deal["hands"][0].append(deal["hands"][1].pop())
    return ["player_0"]


def spoil_number_of_hands(deal, deck):
    deal["hands"].pop()
    return ["hands"]


def spoil_dealer(deal, deck):
    deal["dealer"] = len(deal["hands"])
    return ["dealer", str(len(deal["hands"]))]


def spoil_hands(deal, deck):
    del deal["hands"]
    return ["hands"]


@every_game
@pytest.mark.parametrize(
    "spoil",
    [
        spoil_missing, spoil_too_often, spoil_unknown, spoil_no_text, spoil_sizes, spoil_number_of_hands, spoil_dealer,
        spoil_hands,
    ],
)  # fmt: skip
def test_a_malformed_deal_is_an_error_that_says_what_is_wrong(name, spoil):
    env = make(name)
    env.reset(seed=1)
    before, deal = env.get_state(), copy.deepcopy(env.record()["deals"][0])
    named = spoil(deal, env.game.deck)
    with pytest.raises(ValueError, match=re.escape(named[0])) as caught:
        env.reset(seed=2, options={"deals": [deal]})
    for word in (*named, "deals'][0]"):
        assert word in str(caught.value)
    assert env.get_state() == before


@every_game
@pytest.mark.parametrize("dealer", [-1, 99, 1.5, "0", True])
def test_a_bad_dealer_is_an_error(name, dealer):
    env = make(name)
    with pytest.raises(ValueError, match="dealer"):
        env.reset(seed=1, options={"dealer": dealer})


@every_game
@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True])
def test_a_bad_seed_is_an_error(name, seed):
    env = make(name)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    with pytest.raises(ValueError, match="seed"):
        BatchEnv(name, 2).reset(seed=[0, seed])


# --- rewards ------------------------------------------------------------------------------------------------------


def rewards_of(name, players, reward, deals=2, seed=6):
    """The cumulative rewards of a match by seat, the rewards of every step, and the record."""
    env, rng = make(name, players, reward=reward, num_deals=deals), np.random.default_rng(seed)
    env.reset(seed=seed)
    steps = []
    while env.phase != "over":
        play_randomly(env, rng, 1)
        steps.append(list(env.rewards.values()))
    record = env.record()
    return [total for _, total in sorted(finish(env).items())], steps, record


@every_table
def test_rewards(name, players):
    for seed in range(3):
        _, steps, record = rewards_of(name, players, "score", seed=seed)
        assert np.sum(steps, axis=0).tolist() == record["score"]
        paid = [step for step in steps if any(step)]
        assert paid == [deal["score"] for deal in record["deals"] if any(deal["score"])]

        _, relative, _ = rewards_of(name, players, "zero_sum", seed=seed)
        assert np.allclose(np.sum(relative, axis=1), 0)
        own = np.array(steps)
        others = own[:, [1, 0, 1, 0]] if game_type(name).teams else own.mean(axis=1, keepdims=True)
        assert np.allclose(relative, own - others)

        _, won, record = rewards_of(name, players, "win", seed=seed)
        assert not np.any(won[:-1])
        winners = record["winners"]
        others = players - len(winners)
        shares = [1 / len(winners) if seat in winners else -1 / max(others, 1) for seat in range(players)]
        assert won[-1] == pytest.approx(shares if others else [0] * players)


@every_table
def test_dead_steps_hand_out_what_the_last_step_paid(name, players):
    total, _, record = rewards_of(name, players, "score", deals=1)
    assert total == record["score"]


# --- copies -------------------------------------------------------------------------------------------------------


def by_bytes(env):
    twin = type(env)(env.game, env.reward, env.render_mode)
    twin.set_state(env.get_state())
    return twin


COPIES = {"pickle": lambda env: pickle.loads(pickle.dumps(env)), "deepcopy": copy.deepcopy, "bytes": by_bytes}


def go_on(env):
    """Plays on to the end and into the next match; everything that can be seen on the way."""
    rng, seen = np.random.default_rng(5), []
    while env.agents:
        agent = env.agent_selection
        observation, reward, over, cut, _ = env.last()
        seen.append((agent, observation["observation"].tobytes(), float(reward), over, cut))
        env.step(None if over else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    seen.append(env.record())
    env.reset()
    play_randomly(env, rng, 30)
    seen.append(env.record())
    return seen


@every_table
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_goes_on_identically(name, players, how):
    for raw in (True, False):
        for moment in ("reset", "trick", "deal", "over", "dead", "gone", "illegal"):
            env, rng = make(name, players, raw, num_deals=2), np.random.default_rng(2)
            env.reset(seed=9)
            if moment == "illegal" and raw:
                continue
            bring_to(env, moment, rng)
            twin = COPIES[how](env)
            assert twin.record() == env.record()
            assert go_on(twin) == go_on(env)


def bring_to(env, moment, rng):
    if moment == "trick":
        play_randomly(env, rng, 1)
    elif moment == "deal":
        while len(env.record()["deals"]) < 2:
            play_randomly(env, rng, 1)
        play_randomly(env, rng, 5)
    elif moment in ("over", "dead", "gone"):
        play_randomly(env, rng)
        if moment == "dead":
            env.step(None)
        elif moment == "gone":
            finish(env)
            env.close()
    elif moment == "illegal":
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(int(np.flatnonzero(mask == 0)[0]))


@every_game
@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("raw", [True, False])
def test_an_environment_can_be_copied_before_its_first_reset(name, how, raw):
    env = make(name, raw=raw, num_deals=1)
    twin = COPIES[how](env)
    with pytest.raises(AttributeError, match="before reset"):
        _ = twin.agent_selection
    env.reset(seed=3)
    twin.reset(seed=3)
    assert go_on(env) == go_on(twin)


@every_game
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_still_plays_the_given_deals(name, how):
    env, rng = make(name, num_deals=2), np.random.default_rng(1)
    env.reset(seed=3)
    play_randomly(env, rng)
    record = env.record()
    env.reset(seed=70, options={"deals": record["deals"]})
    twin = COPIES[how](env)
    play(twin, actions_of(record))
    assert twin.record()["deals"] == record["deals"]


@every_game
def test_bytes_of_another_environment_are_refused(name):
    env = make(name, num_deals=1)
    for call in (env.get_state, env.record):
        with pytest.raises(RuntimeError, match="reset"):
            call()
    env.reset(seed=1)
    state = env.get_state()
    other = make(name, num_deals=2)
    other.reset(seed=1)
    before = other.get_state()
    for wrong in (state, b"", b"nonsense", state[:-1], b"[]\n"):
        with pytest.raises(ValueError, match="set_state"):
            other.set_state(wrong)
    assert other.get_state() == before


@every_game
def test_a_copy_shares_nothing(name):
    env = make(name, num_deals=1)
    env.reset(seed=1)
    twin, before = copy.deepcopy(env), env.get_state()
    play_randomly(twin, np.random.default_rng(0))
    assert env.get_state() == before


@pytest.mark.parametrize("raw", [True, False])
def test_an_environment_says_what_it_is_and_where_its_match_is(raw):
    env, maker = make("pepper", 5, raw=raw, num_deals=1), "raw_env" if raw else "env"
    assert repr(env) == f"<pepper_v0.{maker}() for 5 players: not reset>"
    env.reset(seed=7)
    seat = env.agent_selection
    assert repr(env) == f"<pepper_v0.{maker}() for 5 players: seed 7, deal 1, {seat} to lead>"
    play_randomly(env, np.random.default_rng(0), 1)
    assert repr(env) == f"<pepper_v0.{maker}() for 5 players: seed 7, deal 1, {env.agent_selection} to follow>"
    if not raw:
        spoilt = copy.deepcopy(env)
        spoilt.step(int(np.flatnonzero(spoilt.observe(spoilt.agent_selection)["action_mask"] == 0)[0]))
        assert repr(spoilt).endswith(", ended by an illegal action>")
    play_randomly(env, np.random.default_rng(0))
    assert repr(env) == f"<pepper_v0.{maker}() for 5 players: seed 7, over>"


# --- illegal actions ----------------------------------------------------------------------------------------------


@every_table
def test_an_illegal_card_is_refused_by_name_and_changes_nothing(name, players):
    env, rng = make(name, players, num_deals=1), np.random.default_rng(4)
    env.reset(seed=2)
    count = 0
    while env.phase != "over":
        if count % 9 == 0:
            before, seat = env.get_state(), env.agent_selection
            allowed = legal_actions(env)
            for action in set(range(env.game.num_actions)) - set(allowed):
                with pytest.raises(IllegalAction, match=env.game.deck.names[action]) as caught:
                    env.step(action)
                assert seat in str(caught.value)
                assert "does not have" in str(caught.value) or any(
                    demand in str(caught.value) for demand in game_type(name).legality_rules.values()
                )
                assert " ".join(env.game.deck.names[action] for action in allowed) in str(caught.value)
            for action in (-1, env.game.num_actions, 10**9, None):
                with pytest.raises(IllegalAction, match=r"no card|name a card"):
                    env.step(action)
            assert env.get_state() == before
        play_randomly(env, rng, 1)
        count += 1


def wrapped(name, players, **options):
    env = TerminateIllegalWrapper(make(name, players, **options), illegal_reward=-1)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(env))


def outcome(call):
    """What a call returns or raises."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    if isinstance(result, dict) and "observation" in result:
        return result["observation"].tobytes()
    return result.tobytes() if isinstance(result, np.ndarray) else result


LOOKS = ("rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents", "agents", "max_num_agents",
         "_cumulative_rewards", "possible_agents")  # fmt: skip


def same(ours, theirs):
    for attribute in LOOKS:
        left, right = outcome(lambda a=attribute: getattr(ours, a)), outcome(lambda a=attribute: getattr(theirs, a))
        if attribute == "_cumulative_rewards" and isinstance(left, tuple):
            assert isinstance(right, tuple)  # before the first reset: an error, worded differently
        else:
            assert left == right, attribute
    for attribute in ("terminations", "truncations"):
        flags = outcome(lambda a=attribute: getattr(ours, a))
        assert isinstance(flags, tuple) or all(type(flag) is bool for flag in flags.values())


@every_table
@pytest.mark.parametrize("seed", range(4))
def test_env_behaves_as_raw_env_under_the_standard_wrappers(name, players, seed):
    ours, theirs = make(name, players, raw=False, num_deals=1), wrapped(name, players, num_deals=1)
    rng, count = np.random.default_rng(seed), ours.game.num_actions
    for call in (
        lambda env: env.step(0), lambda env: env.observe("player_0"), lambda env: env.state(),
        lambda env: env.render(), lambda env: env.agent_iter(), lambda env: env.last(),
    ):  # fmt: skip
        assert outcome(lambda call=call: call(ours)) == outcome(lambda call=call: call(theirs))
        same(ours, theirs)
    for match in range(3):
        ours.reset(seed=10 * seed + match)
        theirs.reset(seed=10 * seed + match)
        same(ours, theirs)
        for _ in range(200):
            kind = rng.choice(
                ["legal", "odd", "illegal", "look"], p=[0.85, 0.06, 0.01 * (match + 1), 0.08 - 0.01 * match]
            )
            if not ours.agents and rng.random() < 0.5:
                break
            mask = ours.observe(ours.agent_selection)["action_mask"] if ours.agents else np.ones(count)
            if kind == "look":
                agent = str(rng.choice(ours.possible_agents))
                assert outcome(lambda agent=agent: ours.observe(agent)) == outcome(
                    lambda agent=agent: theirs.observe(agent)
                )
                assert outcome(ours.state) == outcome(theirs.state)
                continue
            if kind == "legal":
                over = not ours.agents or ours.terminations[ours.agent_selection]
                action = None if over else int(rng.choice(np.flatnonzero(mask)))
            elif kind == "illegal":
                action = int(rng.choice(np.flatnonzero(mask == 0))) if (mask == 0).any() else 0
            else:
                odd = [-1, count, 3.5, "x", None, np.int64(count + 5), np.array([1, 2])]
                action = odd[int(rng.integers(len(odd)))]
            one = outcome(lambda action=action: ours.step(action))
            other = outcome(lambda action=action: theirs.step(action))
            if isinstance(other, tuple) and other[0] is AssertionError:  # the wrapper's; ours says more
                assert isinstance(one, tuple)
                assert issubclass(one[0], AssertionError), (kind, action)
            else:
                assert one == other, (kind, action)
            same(ours, theirs)
            assert ours.record() == theirs.unwrapped.record()


def drawing_fails(self, view):
    raise ValueError("this cannot be drawn")


@pytest.mark.parametrize("raw", [True, False])
def test_an_error_of_the_drawing_is_no_illegal_action(raw, monkeypatch):
    env = make("pepper", raw=raw, render_mode="human")
    env.reset(seed=1)
    seat, action = env.agent_selection, legal_actions(env)[0]
    monkeypatch.setattr(Rendering, "show", drawing_fails)
    with pytest.raises(ValueError, match="this cannot be drawn") as caught:
        env.step(action)
    assert not isinstance(caught.value, IllegalAction)
    monkeypatch.undo()
    assert not any(env.terminations.values())
    assert not any(env.rewards.values())
    assert env.record()["deals"][0]["actions"] == [[int(seat[-1]), env.game.deck.names[action]]]
    assert env.agent_selection != seat


@every_game
def test_an_illegal_action_costs_one_and_ends_the_match_for_all(name):
    env = make(name, raw=False)
    env.reset(seed=1)
    play_randomly(env, np.random.default_rng(0), 3)
    agent = env.agent_selection
    env.step(int(np.flatnonzero(env.observe(agent)["action_mask"] == 0)[0]))
    assert env.rewards == {other: -1.0 if other == agent else 0.0 for other in env.possible_agents}
    assert all(env.terminations.values())
    assert env.agents == env.possible_agents
    assert not any(env.observe(other)["action_mask"].any() for other in env.possible_agents)
    assert finish(env) == env._cumulative_rewards | {
        other: -1.0 if other == agent else 0.0 for other in env.possible_agents
    }
    env.reset(seed=1)
    assert not any(env.terminations.values())


@every_game
def test_agent_iter_wants_a_step_between_two_agents(name):
    for env in (make(name, raw=False), wrapped(name, None)):
        env.reset(seed=1)
        turns = iter(env.agent_iter())
        next(turns)
        with pytest.raises(AssertionError, match="need to call step"):
            next(turns)


# --- the batch ----------------------------------------------------------------------------------------------------


@every_game
def test_an_illegal_action_in_a_batch_moves_no_game(name):
    batch = BatchEnv(name, 5)
    with pytest.raises(RuntimeError, match="reset"):
        batch.step([0] * 5)
    batch.reset(seed=1)
    before = batch.states.tobytes(), batch.observations.tobytes(), batch.rewards.tobytes()
    actions = batch.action_masks.argmax(axis=1)
    actions[3] = int(np.flatnonzero(batch.action_masks[3] == 0)[0])
    card, seat = batch.game.deck.names[actions[3]], batch.seats[3]
    with pytest.raises(IllegalAction, match=f"game 3: player_{seat} .*{card}"):
        batch.step(actions)
    for wrong in ([0] * 4, np.zeros(5), np.zeros((5, 1), int), [-1] * 5, [10**9] * 5):
        with pytest.raises(ValueError, match=r"actions|action"):
            batch.step(wrong)
    assert (batch.states.tobytes(), batch.observations.tobytes(), batch.rewards.tobytes()) == before
    for seed in ([1, 2], [1] * 6):
        with pytest.raises(ValueError, match="expected 5 seeds"):
            batch.reset(seed=seed)


@every_game
def test_a_batch_that_plays_in_some_games_leaves_the_others_as_they_are(name):
    whole, parts = BatchEnv(name, 6, num_deals=1), BatchEnv(name, 6, num_deals=1)
    whole.reset(seed=2)
    parts.reset(seed=2)
    ends = 0
    for _ in range(200):
        actions = whole.action_masks.argmax(axis=1)
        rewards, ended = whole.step(actions)
        for rows in (np.array([0, 3, 4]), np.array([1, 2, 5])):
            others = np.setdiff1d(np.arange(6), rows)
            before = [(parts.states[i : i + 1].tobytes(), parts.observations[i].tobytes()) for i in others]
            paid, over = parts.step(actions[rows], rows)
            assert [(parts.states[i : i + 1].tobytes(), parts.observations[i].tobytes()) for i in others] == before
            np.testing.assert_array_equal(paid[rows], rewards[rows])
            np.testing.assert_array_equal(over[rows], ended[rows])
            assert not paid[others].any()
            assert not over[others].any()
        ends += int(ended.sum())
    assert ends >= 6
    for field in ("states", "observations", "action_masks", "seats"):
        assert getattr(parts, field).tobytes() == getattr(whole, field).tobytes()


@pytest.mark.parametrize("rows", [[0, 5], [-1, 0], [1, 0], [2, 2], [0.0, 1.0], [[0, 1]]])
def test_rows_that_are_not_games_of_the_batch_are_an_error(rows):
    batch = BatchEnv("pepper", 5)
    batch.reset(seed=1)
    with pytest.raises(ValueError, match="env_ids: expected ascending whole numbers of 0 to 4"):
        batch.step([0, 0], rows)
    wrong = int(np.flatnonzero(batch.action_masks[4] == 0)[0])
    with pytest.raises(ValueError, match="game 4: player_"):
        batch.step([int(batch.action_masks[1].argmax()), wrong], [1, 4])


@every_game
def test_a_batch_pays_and_ends_as_its_records_say(name):
    batch, rng = BatchEnv(name, 8, num_deals=2), np.random.default_rng(0)
    batch.reset(seed=3)
    total, ends = np.zeros_like(batch.rewards), 0
    for _ in range(2000):
        score = batch.states["score"][:, : batch.num_players].copy()
        draws = rng.random(batch.action_masks.shape) + batch.action_masks
        rewards, ended = batch.step(draws.argmax(axis=1))
        total += rewards
        for i in np.flatnonzero(ended):
            assert batch.states["deal_number"][i] == 0
            assert (total[i] - rewards[i] == score[i]).all()
            total[i], ends = 0, ends + 1
        going = ~ended
        assert (total[going] == batch.states["score"][going, : batch.num_players]).all()
        if ends >= 8:
            break
    assert ends >= 8


@every_game
def test_greedy_beats_random(name):
    """One greedy seat among random ones, over deals enough that luck cannot do it."""
    batch = BatchEnv(name, 600, num_deals=1, reward="zero_sum")
    batch.reset(seed=1)
    greedy, random = (trick_envs.make_agent(spec, batch.game, seed=1) for spec in ("greedy", "random"))
    hero = np.arange(batch.num_envs) % batch.num_players
    together = 2 if batch.game.type.teams else batch.num_players  # partners are both greedy
    gain, open_games = np.zeros(batch.num_envs), np.ones(batch.num_envs, bool)
    while open_games.any():
        clever = (batch.seats - hero) % together == 0
        actions = np.where(
            clever,
            greedy.act(batch.observations, batch.action_masks, batch.states),
            random.act(batch.observations, batch.action_masks),
        )
        rewards, ends = batch.step(actions)
        ended = ends & open_games
        gain[ended] = rewards[ended, hero[ended]]
        open_games &= ~ends
    error = gain.std() / np.sqrt(len(gain))
    assert gain.mean() > 3 * error
