"""Best responses: whose decisions are learned from, what they are paid, and what a run says in the end."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

pytest.importorskip("sb3_contrib")
from helpers import SMALL_RUN, every_game, every_table
from rich.console import Console
from sb3_contrib import MaskablePPO
from test_selfplay import check_advantages
from typer.testing import CliRunner

from training import callbacks, run
from training.config import RunConfig, load_config
from training.run import verdict
from training.self_play import BestResponseVecEnv, self_play_env
from trick_envs import BatchEnv, make_agent
from trick_envs.cli import app
from trick_envs.engine.registry import load_game
from trick_envs.errors import TrickEnvsError
from trick_envs.evaluation.deviators import best_deviation, in_words, search_deviators
from trick_envs.evaluation.duplicate import Result, evaluate
from trick_envs.evaluation.seeds import Purpose, match_seeds
from trick_envs.files import read_signed_json
from trick_envs.matches.seating import seatings

pytestmark = pytest.mark.usefixtures("quick_export")
QUIET = Console(quiet=True)
SMALL = {
    **SMALL_RUN,
    "opponent": "random",
    "deals": 5,
    "final_deals": 10,
    "opponents": ["greedy"],
}


class LastCard:
    """Names the last legal card: an agent whose choice shows whether it was asked about the right row."""

    name = "last"

    def seed(self, seed: int) -> None:
        """It has no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        assert len(observations) == len(action_masks) == len(states)
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


def middle_card(mask: Any) -> int:
    """What the learner plays in these tests."""
    legal = np.flatnonzero(mask)
    return int(legal[len(legal) // 2])


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["best-response", "--search-deals", "0", *map(str, arguments)])


# --- rewards ------------------------------------------------------------------------------------------------------


@every_table
def test_a_step_is_all_that_happens_up_to_the_learners_next_decision(name: str, players: int) -> None:
    """Against the same games played one by one, card after card."""
    num_envs, steps = 2 * players + 1, 70
    env = BestResponseVecEnv(BatchEnv(name, num_envs, players, num_deals=1), 40, 1.0, LastCard())
    seen = [env.reset()]
    acted, rewards, ends = [], [], []
    for _ in range(steps):
        actions = np.array([middle_card(mask) for mask in env.games.action_masks])
        with env.stepped_by_self_play():
            seen.append(env.step(actions)[0].copy())
        acted.append(env.acted.copy())
        rewards.append(env.rewards.copy())
        ends.append(env.terminated.copy())
    assert sum(map(np.sum, ends)) >= num_envs

    places = seatings(env.games.game)
    for i in range(num_envs):
        single, learners = BatchEnv(name, 1, players, num_deals=1), places[i % len(places)]
        single.reset(match_seeds(Purpose.TRAINING, 40, i, 1))
        step, paid, over = -1, np.zeros(players, np.float32), 0
        while True:
            seat, mask = int(single.seats[0]), single.action_masks[0]
            if seat in learners:
                assert seen[step + 1][i].tobytes() == single.observations[0].tobytes()
                if step >= 0:
                    np.testing.assert_array_equal(rewards[step][i], paid)
                    assert ends[step][i] == over <= 1
                step, paid, over = step + 1, np.zeros(players, np.float32), 0
                if step == steps:
                    break
                assert acted[step][i] == seat
            single.step([middle_card(mask) if seat in learners else int(np.flatnonzero(mask)[-1])])
            paid += single.rewards[0]
            over += int(single.terminated[0])


@every_game
def test_advantages_are_those_of_the_learners_own_decisions(name: str) -> None:
    games = BatchEnv(name, 6, num_deals=2, reward="zero_sum")
    env = BestResponseVecEnv(games, 5, 1.0, make_agent("greedy", games.game))
    journal = check_advantages(env, steps=15, rollouts=5)
    places = seatings(games.game)
    for game in range(6):  # the seats go round, and nobody else's decision is a sample
        assert {int(entry[2][game]) for entry in journal} == set(places[game % len(places)])
    if games.game.type.teams:
        assert places == [(0, 2), (1, 3)]


def test_an_agents_illegal_card_is_an_error_that_names_the_rule() -> None:
    class Cheat(LastCard):
        def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
            return action_masks.argmin(axis=1)

    env = BestResponseVecEnv(BatchEnv("pepper", 5), 0, 1.0, Cheat())
    with pytest.raises(ValueError, match="player last: player_3 does not have"):
        env.reset()


# --- the run ------------------------------------------------------------------------------------------------------


def first_model(values: dict[str, Any]) -> Any:
    config = RunConfig.model_validate(values)
    return run.new_model(config, run.games_of(config))


def weights(folder: Path) -> dict[str, Any]:
    model: Any = MaskablePPO.load(folder / "policy.zip")
    return {key: value.numpy() for key, value in model.policy.state_dict().items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "small"
    run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    return folder


def test_the_same_seed_trains_the_same_weights(finished: Path, tmp_path: Path) -> None:
    run.train(RunConfig.model_validate(SMALL), tmp_path / "again", QUIET)
    again = weights(tmp_path / "again")
    for key, value in weights(finished).items():
        np.testing.assert_array_equal(value, again[key], err_msg=key)


def test_weights_begin_the_same_whatever_torch_was_told_before() -> None:
    begun = []
    for threads in 2, 1:
        torch.set_num_threads(threads)
        begun.append(first_model(SMALL).policy.state_dict())
    for key, value in begun[0].items():
        np.testing.assert_array_equal(value.numpy(), begun[1][key].numpy(), err_msg=key)


def test_a_best_response_is_measured_first_against_whom_it_learned(finished: Path) -> None:
    report = json.loads((finished / "evaluation.json").read_text())
    assert report["opponent"] == "random"
    assert [result["opponent"] for result in report["results"]] == ["random", "greedy"]
    assert report["samples"] >= 3000


def test_an_interrupted_run_resumes_and_finishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "stopped"

    evaluate_, calls = callbacks.evaluate, []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 3:  # against the second time's first opponent
            raise KeyboardInterrupt
        return evaluate_(*given)

    with monkeypatch.context() as patch:
        patch.setattr(callbacks, "evaluate", interrupted)
        with pytest.raises(run.Interrupted, match="--resume --folder"):
            run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    again = "random", "--game", "donguri", "--num-players", 3, "--folder", folder
    assert "holds a run already" in str(invoke(*again).exception)
    assert "a run continues with its own config" in str(invoke(*again, "--resume", "--seed", 3).exception)
    result = invoke(*again, "--resume", "--json", tmp_path / "found.json")
    assert result.exit_code == 0, result.output
    assert "margin of the best response over random: " in result.output
    report = json.loads((folder / "evaluation.json").read_text())
    assert report["samples"] >= 3000
    assert json.loads((tmp_path / "found.json").read_text()) == {k: v for k, v in report.items() if k != "digest"}
    run.train(RunConfig.model_validate(SMALL), tmp_path / "whole", QUIET)
    for key, value in weights(folder).items():  # also what the other player chose is the same
        np.testing.assert_array_equal(value, weights(tmp_path / "whole")[key], err_msg=key)


def test_a_run_stopped_in_its_last_evaluation_has_only_that_to_do_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stopped"

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "play_points", interrupted)
        with pytest.raises(run.Interrupted, match="--resume --folder"):
            run.train(RunConfig.model_validate(SMALL), folder, QUIET)
    trained = weights(folder)
    assert not (folder / "evaluation.json").exists()
    run.resume(folder, QUIET)
    assert json.loads((folder / "evaluation.json").read_text())["samples"] >= 3000
    for key, value in trained.items():
        np.testing.assert_array_equal(value, weights(folder)[key], err_msg=key)


def test_a_run_against_another_player_is_not_resumed(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "held"
    folder.mkdir()
    (folder / "config.yaml").write_text((finished / "config.yaml").read_text())
    for player, game in (("greedy", "donguri"), ("random", "pepper")):
        found = invoke(player, "--game", game, "--num-players", 3, "--folder", folder, "--resume").exception
        assert "holds a run of <donguri for 3> against random, not this one" in str(found)
    nothing = invoke("greedy", "--game", "donguri", "--init-from", tmp_path / "none.zip", "--folder", tmp_path / "x")
    assert "none.zip: there is no such file" in str(nothing.exception)


@pytest.mark.parametrize("name", ["n" * 230 + ".onnx", "\udcff.onnx"])
def test_a_policy_with_a_long_or_odd_name_is_responded_to(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        Path(name).write_bytes((finished / "policy.onnx").read_bytes())
    except OSError:
        pytest.skip("a name that this file system does not have")
    again = name, "--game", "donguri", "--num-players", 3, "--samples", 1, "--deals", 2
    result = invoke(*again)
    assert result.exit_code == 0, result.output
    (folder,) = Path("runs").iterdir()
    assert (folder / "policy.onnx").is_file()
    assert "holds a run already" in str(invoke(*again).exception)


def test_only_a_player_that_the_user_has_named_may_run_code_when_a_run_goes_on(tmp_path: Path) -> None:
    """A folder may come from a stranger: what its config names besides is none of the user's."""
    lowest = f"program:{Path(__file__).with_name('lowest_player.py')}"
    for player, others, told in (
        ("greedy", ["os:system"], "'os:system' runs a program"),
        (lowest, [lowest], "checkpoint.zip: expected a checkpoint"),  # its player is asked for nothing more
    ):
        config = {"game": "donguri", "opponent": player, "opponents": others}
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        (tmp_path / "checkpoint.zip").write_text("junk")
        found = invoke(player, "--game", "donguri", "--folder", tmp_path, "--resume")
        assert told in str(found.exception)


@pytest.mark.parametrize(
    ("name", "other_network", "other_game", "junk"),
    [
        ("policy.zip", *3 * ["is not a policy.zip of this game and this network"]),
        (
            "policy.onnx",
            r"is a policy of another network: its .* is \(\d+, \d+\), but that of the config is \(8, \d+\)",
            "a policy for game 'donguri', but this is 'pepper'",
            "not a policy of trick_envs",
        ),
    ],
)
def test_a_run_can_start_with_the_weights_of_another(
    finished: Path, tmp_path: Path, name: str, other_network: str, other_game: str, junk: str
) -> None:
    begun = first_model({**SMALL, "init_from": str(finished / name)})
    for key, value in weights(finished).items():
        np.testing.assert_array_equal(value, begun.policy.state_dict()[key].numpy(), err_msg=key)
    (tmp_path / f"junk-{name}").write_bytes(b"not a policy")
    for change, expected in (
        ({"init_from": str(finished / name), "width": 8}, other_network),
        ({"init_from": str(finished / name), "game": "pepper", "num_players": 4}, other_game),
        ({"init_from": str(tmp_path / f"junk-{name}")}, junk),
        ({"init_from": str(tmp_path / f"none-{name}")}, f"init_from: .*none-{name}: there is no such file"),
        ({"init_from": str(tmp_path)}, f"init_from: {tmp_path}: a folder: expected a policy.onnx or policy.zip in it"),
        ({"init_from": "pretrained", "width": 8}, "init_from: pretrained is a policy of another network"),
    ):
        with pytest.raises(run.RunError, match=expected):
            run.train(RunConfig.model_validate({**SMALL, **change}), tmp_path / "never", QUIET)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("weight", [np.nan, np.inf, 3e38, -1e5])
@pytest.mark.parametrize("name", ["policy.zip", "policy.onnx"])
def test_no_run_starts_with_weights_that_nothing_can_be_learned_from(
    finished: Path, tmp_path: Path, name: str, weight: float
) -> None:
    """A file may play with other numbers than those that have the names of the network's weights."""
    path = tmp_path / name
    if name == "policy.zip":
        begun = first_model({**SMALL, "init_from": str(finished / name)})
        with torch.no_grad():
            next(begun.policy.parameters()).fill_(weight)
        begun.save(path)
    else:
        held = onnx.load(str(finished / name))
        for k, one in enumerate([each for each in held.graph.initializer if each.name.endswith(".weight")]):
            array = onnx.numpy_helper.to_array(one)
            held.graph.initializer.append(onnx.numpy_helper.from_array(array, f"own{k}"))
            for node in held.graph.node:
                node.input[:] = [f"own{k}" if each == one.name else each for each in node.input]
            one.CopyFrom(onnx.numpy_helper.from_array(np.full_like(array, weight), one.name))
        onnx.save(held, str(path))
        make_agent(str(path), load_game("donguri", num_players=3))  # it plays
    with pytest.raises(run.RunError, match=f"init_from: .*{name}: expected weights from -10,000 to 10,000 in its "):
        run.train(RunConfig.model_validate({**SMALL, "init_from": str(path)}), tmp_path / "never", QUIET)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("name", ["donguri", "hearts"])
def test_a_run_goes_on_with_a_released_policy_as_it_is(name: str) -> None:
    """Also with one that knew less of the cards in its hand: what came later has weights of 0."""
    begun = first_model({"game": name, "init_from": "pretrained", "width": 128 if name == "hearts" else 96})
    begun.policy._precision = "float32"  # as a policy file computes; where a CPU knows bfloat16, it learns in that
    games = BatchEnv(name, 64)
    games.reset(1)
    for _ in range(10):
        games.step(games.action_masks.argmax(1))
    logits, values = make_agent("pretrained", games.game).evaluate(games.observations, games.action_masks)
    with torch.no_grad():
        found, found_values = begun.policy.logits_and_values(torch.from_numpy(games.observations), games.action_masks)
    legal = games.action_masks != 0
    np.testing.assert_allclose(found.numpy()[legal], logits[legal], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found_values.numpy()[:, 0], values, rtol=0, atol=1e-3)


# --- the command --------------------------------------------------------------------------------------------------


def test_the_best_response_command_finds_out_that_random_can_be_exploited(tmp_path: Path) -> None:
    folder, found = tmp_path / "run", tmp_path / "found.json"
    result = invoke(
        "random", "--game", "pepper", "--samples", 60_000, "--deals", 300, "--folder", folder, "--json", found
    )
    assert result.exit_code == 0, result.output
    (measured,) = json.loads(found.read_text())["results"]
    assert (measured["opponent"], measured["deals"]) == ("random", 300)
    margin, half_width = measured["margin_as_one"], measured["half_width_as_one"]
    assert margin > half_width + 0.3
    assert measured["margin"] > measured["half_width"] + 0.3
    assert f"over random: {margin:+.2f} ± {half_width:.2f} points per deal (300 deals)" in result.output
    assert "random is exploitable by at least that margin" in result.output
    make_agent(str(folder / "policy.onnx"), load_game("pepper"))


@pytest.mark.parametrize("name", ["policy.zip", "policy.onnx"])
def test_a_best_response_starts_with_a_policy_of_any_network(finished: Path, tmp_path: Path, name: str) -> None:
    result = invoke(
        finished / "policy.onnx", "--game", "donguri", "--num-players", 3, "--samples", 1, "--deals", 5,
        "--folder", tmp_path / "run", "--init-from", finished / name,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert weights(tmp_path / "run").keys() == weights(finished).keys()


def test_a_best_response_starts_with_the_policy_that_comes_with_the_game(tmp_path: Path) -> None:
    result = invoke(
        "pretrained", "--game", "donguri", "--num-players", 3, "--samples", 1, "--deals", 5,
        "--folder", tmp_path / "run", "--init-from", "pretrained",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert load_config(tmp_path / "run" / "config.yaml").init_from == "pretrained"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("genius", "--game", "pepper"), "'genius' is no player: expected 'random', 'greedy'"),
        (("nowhere.onnx", "--game", "pepper"), "no such policy file"),
        (("greedy", "--game", "poker"), "game: expected one of"),
        (("greedy", "--game", "zaraba22", "--num-players", "5"), "zaraba22 is for 3 players, not 5"),
        (("greedy", "--game", "pepper", "--resume"), "holds no run to resume"),
        (
            ("greedy", "--game", "pepper", "--init-from", "nowhere/policy.zip"),
            "nowhere/policy.zip: there is no such file",
        ),
    ],
)
def test_what_cannot_be_exploited_is_an_error_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    result = invoke(*arguments, "--folder", tmp_path / "run")
    assert isinstance(result.exception, TrickEnvsError)  # which ``main`` shows as one message
    assert expected in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_the_runs_folder_is_named_after_game_players_and_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[Path] = []
    monkeypatch.setattr(run, "train", lambda config, folder, *_: folders.append(folder))
    invoke("greedy", "--game", "pepper")
    invoke("pimc:10", "--game", "donguri", "--num-players", 3)
    assert folders == [Path("runs/best-response-pepper-5-greedy"), Path("runs/best-response-donguri-3-pimc-10")]


def test_a_policy_of_another_game_cannot_be_exploited(finished: Path, tmp_path: Path) -> None:
    result = invoke(finished / "policy.onnx", "--game", "pepper", "--folder", tmp_path / "run")
    assert "a policy for game 'donguri', but this is 'pepper'" in str(result.exception)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (0.51, "over greedy: +0.51 ± 0.50 points per deal (80 deals): greedy is exploitable by at least that margin"),
        (0.49, "+0.49 ± 0.50 points per deal (80 deals): no way to exploit greedy was found, which does not prove"),
        (-0.9, "-0.90 ± 0.50 points per deal (80 deals): no way to exploit greedy was found, which does not prove"),
    ],
)
def test_the_verdict_says_no_more_than_what_the_interval_allows(margin: float, expected: str) -> None:
    assert expected in verdict(Result("best", "greedy", 80, 9.0, 0.1, margin, 0.5))


# --- deviators that search ----------------------------------------------------------------------------------------


def test_the_best_deviator_is_chosen_on_other_deals_than_it_is_measured_on():
    game = load_game("donguri", 3, 1)
    found = best_deviation(game, "random", ["random", "greedy", "pimc:2"], 30, seed=3)
    assert [result.player for result in found.tried] == ["random", "greedy", "pimc:2"]
    best = max(found.tried, key=lambda result: result.margin_as_one)
    assert found.best.player == best.player != "random"
    assert found.best.margin_as_one != best.margin_as_one
    expected = evaluate(game, make_agent(best.player, game), make_agent("random", game), 30, 3, Purpose.TEST)
    assert found.best == expected
    assert found.best.margin_as_one > found.best.half_width_as_one


def test_a_null_stands_beside_a_control_and_a_control_that_fails_is_said():
    game = load_game("donguri", 3, 1)
    null, control = best_deviation(game, "greedy", ["greedy"], 20), best_deviation(game, "random", ["greedy"], 20)
    assert null.best.margin_as_one == 0.0
    words = in_words(null, control)
    assert "exploitable" not in words
    assert "control: one greedy among random wins +" in words
    assert "finding nothing says nothing" not in words
    assert "finding nothing says nothing" in in_words(null, null)
    assert "exploitable by at least that margin" in in_words(control, control)


def test_a_players_own_policy_searches_against_it():
    assert search_deviators("greedy") == ["ismcts:1000"]
    assert search_deviators("pretrained:sample") == ["ismcts:1000", "pretrained+rollout:64"]
    assert search_deviators("runs/a/policy.onnx") == ["ismcts:1000", "runs/a/policy.onnx+rollout:64"]


def test_the_command_tries_deviators_that_search(tmp_path, monkeypatch):
    monkeypatch.setattr("trick_envs.evaluation.deviators.SEARCH", "pimc:2")
    result = CliRunner().invoke(
        app, ["best-response", "random", "--game", "donguri", "--num-players", "3", "--samples", "1", "--deals", "4",
              "--search-deals", "4", "--folder", str(tmp_path / "run"), "--json", str(tmp_path / "found.json")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "the best of 2 deviators" in result.output
    assert "control: one pimc:2 among greedy" in result.output
    report = json.loads((tmp_path / "found.json").read_text())
    assert report == read_signed_json(tmp_path / "run" / "evaluation.json")
    assert [tried["opponent"] for tried in report["deviators"]["found"]["tried"]] == ["random", "random"]


def test_a_search_that_was_not_made_or_not_finished_is_made_by_resume(tmp_path, monkeypatch):
    monkeypatch.setattr("trick_envs.evaluation.deviators.SEARCH", "pimc:2")
    folder = tmp_path / "run"
    common = ["best-response", "random", "--game", "donguri", "--num-players", "3", "--folder", str(folder)]
    begun = CliRunner().invoke(app, [*common, "--samples", "1", "--deals", "4", "--search-deals", "0"])
    assert begun.exit_code == 0, begun.output
    trained = weights(folder)

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("trick_envs.evaluation.deviators.best_deviation", interrupted)
        stopped = CliRunner().invoke(app, [*common, "--resume", "--search-deals", "4"])
    assert stopped.exit_code == 130
    told, command = stopped.output.splitlines()[-2:]
    assert told == "stopped; the best response is saved; resume with:"
    for deals, given in ((4, shlex.split(command)[1:]), (6, [*common, "--resume", "--search-deals", "6"])):
        found = CliRunner().invoke(app, given)
        assert found.exit_code == 0, found.output
        deviators = json.loads((folder / "evaluation.json").read_text())["deviators"]
        assert deviators["deals"] == deviators["control"]["best"]["deals"] == deals
    again = CliRunner().invoke(app, [*common, "--resume", "--search-deals", "6"])
    assert "is finished" in str(again.exception)
    for key, value in trained.items():
        np.testing.assert_array_equal(value, weights(folder)[key], err_msg=key)


def test_the_episodes_of_a_best_response_are_those_of_its_own_seats():
    env = self_play_env("donguri", 6, 3, seed=1, opponent="greedy", reward="score")
    env.reset()
    paid = np.zeros((6, 3))
    for _ in range(60):
        with env.stepped_by_self_play():
            *_, dones, infos = env.step(env.games.action_masks.argmax(1))
        paid += env.rewards
        for i in np.flatnonzero(dones):
            assert infos[i]["episode"]["r"] == pytest.approx(paid[i, i % 3])
            paid[i] = 0
