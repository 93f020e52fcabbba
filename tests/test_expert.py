"""Expert iteration: what is labelled and how, runs that do not depend on their workers, interruptions, and learning."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch

pytest.importorskip("sb3_contrib")
from rich.console import Console
from sb3_contrib import MaskablePPO

from training import run
from training.config import ExpertIteration, RunConfig, dump_config
from training.expert import labels
from training.expert import learner as expert
from training.expert.labels import Labels, LabelTask, label
from training.expert.learner import ExpertTrainer, ReplayBuffer, standard_scores
from training.networks.policy import NetworkAgent, SelfPlayPolicy, Weights, save_model, weights_of
from training.ppo.algorithm import new_ppo
from training.report import tracker as monitor
from training.report.tracker import load_progress
from training.stages import ONE_ENV
from trick_envs import BatchEnv

pytestmark = pytest.mark.usefixtures("quick_export")
QUIET = Console(quiet=True)
LABELS: dict[str, Any] = {
    "method": "expert_iteration", "total_labels": 200, "labels_per_round": 40, "replay_capacity": 80,
    "search": "pimc:4", "label_fraction": 0.5, "games": 2, "n_epochs": 2, "batch_size": 32,
}  # fmt: skip
PLAY: dict[str, Any] = {
    "method": "ppo", "total_samples": 2000, "evaluate_every_samples": 1000, "n_envs": 16, "n_steps": 32,
    "batch_size": 128, "learning_rate": 0.005, "final_learning_rate": 0.005,
}  # fmt: skip


def make_config(*stages: dict[str, Any], **values: Any) -> RunConfig:
    small = {
        "game": "donguri", "num_players": 3, "workers": 1, "precision": "float32", "network": {"width": 16, "depth": 2},
        "stages": list(stages), "evaluation": {"deals": 2, "final_deals": 2},
    }  # fmt: skip
    return RunConfig.model_validate({**small, **values})


def expert_stage(config: RunConfig) -> ExpertIteration:
    stage = config.stages[0]
    assert isinstance(stage, ExpertIteration)
    return stage


def make_policy(config: RunConfig, seed: int = 0) -> SelfPlayPolicy:
    """A policy that prefers some cards clearly."""
    policy = SelfPlayPolicy.for_game(config.make_game(), config.network)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in policy.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator) * (0.4 if weights.ndim > 1 else 0.1))
    return policy


def labelled(number: int = 0, student: Weights | None = None, earlier: Weights | None = None, **values: Any) -> Labels:
    """What a task brings."""
    config = make_config({**LABELS, **values}, init_from=None if student is None else "policy.zip")
    return label(LabelTask(config, expert_stage(config), number), student, earlier, {})


def same(one: Weights, other: Weights) -> bool:
    assert one.keys() == other.keys()
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture
def _no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end when they are trained: writing the policy and measuring it takes longer than training here."""

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_finish", interrupted)


def trained(config: RunConfig, folder: Path) -> Weights:
    """The weights at the end of a run, with ``_no_files``."""
    with pytest.raises(run.Interrupted):
        run.train(config, folder, QUIET)
    model: Any = MaskablePPO.load(folder / "checkpoint.zip")
    return weights_of(model.policy)


def progress(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "progress.json").read_text())


# --- labels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "begun"),
    [("pimc:8", False), ("pimc:8", True), ("ismcts:40", False), ("ismcts:40", True), ("rollout:8", True)],
)
def test_a_label_tells_how_every_action_compares_with_the_students_best_one(search: str, begun: bool) -> None:
    config = make_config(LABELS)
    student = weights_of(make_policy(config)) if begun else None
    found = labelled(3, student, search=search, games=8, label_fraction=1.0)
    count, game, rows = len(found), config.make_game(), np.arange(len(found))
    assert count > 100
    wanted = {
        "observations": ((count, game.layout.size), np.int8), "masks": ((count, game.num_actions), np.int8),
        "logits": ((count, game.num_actions), np.float16), "picks": ((count,), np.int16),
        "advantages": ((count, game.num_actions), np.float16), "variances": ((count, game.num_actions), np.float16),
        "counts": ((count, game.num_actions), np.uint16), "returns": ((count,), np.float32),
    }  # fmt: skip
    assert {name: (array.shape, array.dtype) for name, array in found.arrays().items()} == wanted
    legal = found.masks == 1
    assert (legal.sum(1) > 1).all()  # only decisions with a choice
    assert legal[rows, found.picks].all()
    tried = found.counts > 0
    assert not tried[~legal].any()
    assert (tried.sum(1) > 1).all() or search == "rollout:8"  # it tries only likely actions
    for figures in (found.advantages, found.variances):
        assert np.isfinite(figures).all()
        assert not figures[~tried].any()
        assert figures[tried].any()
    if search.startswith("pimc"):
        assert (found.counts[legal] == 8).all()
    assert (found.variances >= 0).all()
    if student is None:  # the heuristic had no logits
        assert not found.logits.any()
    else:
        logits, _ = NetworkAgent.with_weights(game, config.network, student).evaluate(found.observations, found.masks)
        baselines = logits.argmax(1)
        np.testing.assert_allclose(found.logits[legal], logits[legal], atol=0.01)
        assert not found.advantages[rows, baselines].any()
        assert not found.variances[rows, baselines].any()
        assert (found.counts[rows, baselines] == found.counts.max(1)).all()
        moved = found.picks != baselines
        assert 0.05 < moved.mean() < 0.95
        assert (found.advantages[rows, found.picks][moved] > 0).all()


def test_a_task_says_the_same_whenever_it_is_asked() -> None:
    student, earlier = (weights_of(make_policy(make_config(LABELS), seed)) for seed in (0, 1))
    given = {"opponent_pool": ["greedy", "earlier", "pimc:2"], "opponent_fraction": 0.4}
    one = labelled(5, student, earlier, **given)
    torch.manual_seed(99)
    np.random.default_rng().random()
    again = labelled(5, student, earlier, **given)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name], err_msg=name)
    for other in (labelled(6, student, earlier, **given), labelled(5, earlier, student, **given)):
        assert len(other) != len(one) or (other.observations != one.observations).any()


class Journal(BatchEnv):
    """Notes every decision: what was seen, by whom, where, and what everybody was paid for it."""

    notes: list[tuple[Any, ...]]

    def step(self, actions: Any, rows: Any = None) -> Any:
        before = self.observations[rows].copy(), self.seats[rows].copy(), np.array(rows)
        rewards, terminated = super().step(actions, rows)
        Journal.notes.append((*before, rewards.copy(), terminated.copy()))
        return rewards, terminated


def test_the_value_of_a_label_is_what_the_seat_was_paid_from_then_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    Journal.notes = []
    monkeypatch.setattr(labels, "BatchEnv", Journal)
    config = make_config({**LABELS, "games": 4, "label_fraction": 0.7}, num_deals=2)
    found = label(LabelTask(config, expert_stage(config), 0), weights_of(make_policy(config)), None, {})
    returns: dict[bytes, set[float]] = {}
    for step, (observations, seats, rows, _, _) in enumerate(Journal.notes):
        for seen, seat, row in zip(observations, seats, rows, strict=True):
            paid = 0.0
            for _, _, _, rewards, ends in Journal.notes[step:]:
                paid += float(rewards[row, seat])
                if ends[row]:
                    break
            returns.setdefault(seen.tobytes(), set()).add(round(paid, 3))
    assert len(found) > 40
    values = [round(float(paid), 3) for paid in found.returns]
    assert all(value in returns[seen.tobytes()] for seen, value in zip(found.observations, values, strict=True))
    assert len(set(values)) > 5
    assert np.mean([len(each) for each in returns.values()]) < 1.1  # a decision has one return


def test_a_share_of_the_decisions_is_labelled_and_none_of_an_opponents(monkeypatch: pytest.MonkeyPatch) -> None:
    student = weights_of(make_policy(make_config(LABELS)))
    every, half = (labelled(0, student, games=32, label_fraction=share) for share in (1.0, 0.5))
    assert 0.4 < len(half) / len(every) < 0.6
    asked: list[Any] = []

    class Opponent:
        name = "opponent"

        def seed(self, seed: int) -> None:
            """It makes no random choices."""

        def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
            asked.extend(observations.copy())
            return action_masks.argmax(1)

    original = labels.make_agent
    monkeypatch.setattr(
        labels, "make_agent", lambda spec, *given: Opponent() if spec == "random" else original(spec, *given)
    )
    found = labelled(0, student, games=32, label_fraction=1.0, opponent_pool=["random"], opponent_fraction=0.5)
    assert 0.3 < len(found) / len(every) < 0.7
    assert not {seen.tobytes() for seen in asked} & {seen.tobytes() for seen in found.observations}
    nothing = labelled(0, student, opponent_pool=["random"], opponent_fraction=1.0)
    assert len(nothing) == 0
    assert {name: array.shape[1:] for name, array in nothing.arrays().items()} == {
        name: array.shape[1:] for name, array in found.arrays().items()
    }
    assert {name: array.dtype for name, array in nothing.arrays().items()} == {
        name: array.dtype for name, array in found.arrays().items()
    }
    assert len(Labels.joined([nothing, found])) == len(found)


def test_an_earlier_policy_is_an_opponent_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    config = make_config(LABELS)
    weak, strong = (weights_of(make_policy(config, seed)) for seed in (0, 1))
    alone = labelled(0, weak, opponent_pool=["earlier"], opponent_fraction=1.0)
    assert len(alone) > 0  # there is none yet
    assert len(labelled(0, weak, strong, opponent_pool=["earlier"], opponent_fraction=1.0)) == 0


# --- runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_no_files")
def test_the_weights_depend_on_the_seed_and_not_on_the_workers(tmp_path: Path) -> None:
    config = make_config({**LABELS, "opponent_pool": ["earlier", "greedy"]})
    alone = trained(config, tmp_path / "alone")
    assert same(alone, trained(config, tmp_path / "again"))
    assert same(alone, trained(config.model_copy(update={"workers": 2}), tmp_path / "two"))
    assert not same(alone, trained(config.model_copy(update={"seed": 1}), tmp_path / "other"))
    done = progress(tmp_path / "alone")
    assert 200 <= done["done"] == done["samples"] < 260
    assert [entry["done"] for entry in done["history"]] == sorted({entry["done"] for entry in done["history"]})
    assert 3 <= len(done["history"]) <= 5
    assert all(len(entry["results"]) == 2 for entry in done["history"])
    assert all(0 <= entry["figures"]["expert/agreement"] <= 1 for entry in done["history"])
    assert not (tmp_path / "alone" / "labels").exists()


class Given(NamedTuple):
    """A task, and the weights with which it was played."""

    number: int
    student: Weights | None
    earlier: Weights | None


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[Given]:
    """All tasks that are worked on from now on, in this process."""
    found: list[Given] = []

    def noted(task: LabelTask, student: Weights | None, earlier: Weights | None, files: Any) -> Labels:
        found.append(Given(task.number, student, earlier))
        return label(task, student, earlier, files)

    monkeypatch.setattr(expert, "label", noted)
    return found


@pytest.mark.usefixtures("_no_files")
def test_the_first_student_is_the_heuristic_and_later_ones_are_a_round_old(
    tmp_path: Path, tasks: list[Given], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[tuple[int, Weights]] = []  # with how many tasks before
    original = ExpertTrainer.learn

    def learn(self: ExpertTrainer, *given: Any) -> Any:
        figures = original(self, *given)
        learned.append((len(tasks), weights_of(self._policy)))
        return figures

    monkeypatch.setattr(ExpertTrainer, "learn", learn)
    trained(make_config({**LABELS, "opponent_pool": ["earlier"]}), tmp_path / "run")
    assert [task.number for task in tasks] == list(range(len(tasks)))
    assert len(learned) >= 4
    after = [weights for _, weights in learned]
    starts = [0, *(count for count, _ in learned)]
    rounds = [tasks[start:end] for start, end in pairwise(starts)]
    for number, (students, earlier) in enumerate(
        [(None, None), (after[0], None), (after[0], after[0]), (after[1], after[0])]
    ):
        assert rounds[number]
        for task in rounds[number]:
            for given, wanted in ((task.student, students), (task.earlier, earlier)):
                assert (given is None) == (wanted is None), number
                assert given is None or same(given, wanted), number


@pytest.mark.usefixtures("_no_files")
def test_a_stage_goes_on_from_the_policy_before_it(tmp_path: Path, tasks: list[Given]) -> None:
    config = make_config(LABELS)
    model = run.first_model(config)
    model.policy.load_state_dict(make_policy(config, 7).state_dict())
    save_model(model, tmp_path / "policy.zip")
    begun = weights_of(model.policy)
    trained(make_config(LABELS, init_from=str(tmp_path / "policy.zip")), tmp_path / "started")
    assert tasks[0].student is not None
    assert same(tasks[0].student, begun)
    tasks.clear()

    trained(make_config(PLAY, LABELS), tmp_path / "stages")
    ends = {entry["stage"]: entry for entry in progress(tmp_path / "stages")["history"]}
    assert ends[0]["done"] >= 2000
    assert ends[1]["samples"] == ends[0]["done"] + ends[1]["done"]
    assert tasks[0].student is not None
    assert not same(tasks[0].student, begun)
    played = trained(make_config(PLAY), tmp_path / "played")
    assert same(tasks[0].student, played)


# --- interruptions ------------------------------------------------------------------------------------------------


def interrupt(monkeypatch: Any, owner: Any, name: str, after: int) -> None:
    """Ctrl-C at a later call of a function."""
    original, calls = getattr(owner, name), iter(range(10**6))

    def stopped(*given: Any, **named: Any) -> Any:
        if next(calls) == after:
            raise KeyboardInterrupt
        return original(*given, **named)

    monkeypatch.setattr(owner, name, stopped)


@pytest.mark.usefixtures("_no_files")
@pytest.mark.parametrize(
    ("owner", "name", "after", "done"),
    [
        (expert, "label", 0, 0), (ExpertTrainer, "learn", 0, 0), (ExpertTrainer, "learn", 2, 2),
        (monitor, "save_model", 2, 2), (monitor.Monitor, "evaluate", 1, 1),
    ],
)  # fmt: skip
def test_ctrl_c_loses_at_most_a_round(
    tmp_path: Path, owner: Any, name: str, after: int, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, config = tmp_path / "run", make_config(LABELS)
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, after)
        with pytest.raises(run.Interrupted, match="--resume --folder"):
            run.train(config, folder, QUIET)
    before = progress(folder) if (folder / "progress.json").exists() else {"done": 0, "history": []}
    assert len(before["history"]) == done
    assert 40 * done <= before["done"] < 40 * done + 60
    with pytest.raises(run.Interrupted):
        run.resume(folder, QUIET)
    found = progress(folder)
    assert found["history"][:done] == before["history"]
    assert 200 <= found["done"] == found["samples"] < 260
    assert found["history"][-1]["done"] == found["done"]
    assert not (folder / "labels").exists()


@pytest.mark.usefixtures("_no_files")
def test_labels_of_an_interrupted_run_are_learned_from_and_their_games_are_not_played_again(
    tmp_path: Path, tasks: list[Given], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, config = tmp_path / "run", make_config({**LABELS, "replay_capacity": 10_000})
    sizes: list[int] = []
    original = ExpertTrainer.learn

    def learn(self: ExpertTrainer, labels: Labels, *given: Any) -> Any:
        sizes.append(len(labels))
        return original(self, labels, *given)

    monkeypatch.setattr(ExpertTrainer, "learn", learn)
    with monkeypatch.context() as patch:
        interrupt(patch, monitor.Monitor, "evaluate", 1)
        with pytest.raises(run.Interrupted):
            run.train(config, folder, QUIET)
    assert len(list((folder / "labels").glob("*.npz"))) == 2
    (folder / "labels" / "00000099.npz.tmp").write_bytes(b"half of a rou")  # as kill -9 may leave it
    with pytest.raises(run.Interrupted):
        run.resume(folder, QUIET)
    assert sizes[2] > sizes[1] > sizes[0]
    numbers = [task.number for task in tasks]
    assert numbers == list(range(len(numbers)))
    assert not (folder / "labels").exists()


@pytest.mark.usefixtures("_no_files")
def test_ctrl_c_in_a_later_stage_loses_nothing_of_the_stages_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, config = tmp_path / "run", make_config({**PLAY, "checkpoint_every_samples": 10**6}, LABELS, PLAY)
    with monkeypatch.context() as patch:
        interrupt(patch, expert, "label", 0)
        with pytest.raises(run.Interrupted):
            run.train(config, folder, QUIET)
    before = progress(folder)
    assert before["stage"] == 0
    assert before["done"] == before["samples"] >= 2000
    for stage in (1, 2):  # when its model has just been made
        with monkeypatch.context() as patch:
            interrupt(patch, monitor.Monitor, "begin_stage", stage)
            with pytest.raises(run.Interrupted):
                run.resume(folder, QUIET)
        found = progress(folder)
        assert found["history"][: len(before["history"])] == before["history"]
        assert {entry["stage"] for entry in found["history"][len(before["history"]) :]} <= {stage - 1} - {0}
        before = found
    with pytest.raises(run.Interrupted):
        run.resume(folder, QUIET)
    stages = [entry["stage"] for entry in progress(folder)["history"]]
    assert stages == sorted(stages)
    last = {entry["stage"]: entry["done"] for entry in progress(folder)["history"]}
    assert 2000 <= last[0] < 2600
    assert 200 <= last[1] < 260
    assert 2000 <= last[2] < 2600
    assert progress(folder)["samples"] == sum(last.values())


@pytest.mark.usefixtures("no_report")
def test_a_killed_run_goes_on_from_its_last_round(tmp_path: Path) -> None:
    folder, config = tmp_path / "run", make_config({**LABELS, "total_labels": 600})
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    command = [sys.executable, "-m", "trick_envs.cli", "train", str(tmp_path / "config.yaml"), "--folder", str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=Path(__file__).parents[1]
    )
    try:
        while not ((folder / "progress.json").exists() and progress(folder)["done"] >= 80):
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert not (folder / "evaluation.json").exists()
    before = progress(folder)
    run.resume(folder, QUIET)
    assert progress(folder)["history"][: len(before["history"])] == before["history"]
    found = json.loads((folder / "evaluation.json").read_text())
    assert found["samples"] == progress(folder)["done"] >= 600
    assert (folder / "policy.onnx").is_file()
    assert not (folder / "labels").exists()


@pytest.mark.usefixtures("_no_files")
def test_a_run_killed_between_any_two_writes_goes_on_as_from_its_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = {**PLAY, "total_samples": 1000, "checkpoint_every_samples": 500, "evaluate_every_samples": 500}
    config, folder = make_config(play, {**LABELS, "total_labels": 80}), tmp_path / "run"
    written: list[str] = []
    replace = os.replace

    def noted(source: Any, target: Any) -> None:
        """What kill -9 would leave now is copied, before every write."""
        if folder in Path(target).parents:
            shutil.copytree(folder, tmp_path / f"killed-{len(written)}")
            written.append(Path(target).name)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", noted)
        uninterrupted = trained(config, folder)
    assert {"config.yaml", "checkpoint.zip", "progress.json", "25.npz"} < set(written)
    assert any(re.fullmatch(r"\d{8}\.npz", name) for name in written)
    begun: dict[str, tuple[Weights, Any]] = {}
    for number in range(1, len(written)):
        left = tmp_path / f"killed-{number}"
        held = {**load_progress(left), "seconds": 0}
        held["history"] = [{**entry, "seconds": 0} for entry in held.get("history", [])]
        state = json.dumps([held, sorted(path.name for path in left.glob("labels/*.npz"))])
        with pytest.raises(run.Interrupted):
            run.resume(left, QUIET)
        model: Any = MaskablePPO.load(left / "checkpoint.zip")
        weights = weights_of(model.policy)
        margins = [(entry["samples"], entry["results"]) for entry in progress(left)["history"]]
        assert [samples for samples, _ in margins] == sorted({samples for samples, _ in margins})
        if "checkpoint.zip" not in written[:number]:
            assert same(weights, uninterrupted)  # from the beginning
        before, found = begun.setdefault(state, (weights, margins))
        assert same(weights, before), (number, written[number])
        assert margins == found, (number, written[number])
    assert len(begun) < len(written) - 3  # several kills leave the same state


def test_a_replay_buffer_holds_the_latest_rounds_also_when_it_is_opened_again(tmp_path: Path) -> None:
    rounds = [labelled(number) for number in range(4)]
    window = len(rounds[2]) + len(rounds[3])
    buffer = ReplayBuffer(tmp_path / "labels", window)
    for number, found in enumerate(rounds):
        buffer.add(found, number + 1)
    for one in (buffer, ReplayBuffer(tmp_path / "labels", window)):
        assert one.tasks == 4
        np.testing.assert_array_equal(one.labels().observations, Labels.joined(rounds[2:]).observations)
    assert ReplayBuffer(tmp_path / "labels", window, 9).tasks == 9
    buffer.clear()
    assert not (tmp_path / "labels").exists()
    assert ReplayBuffer(tmp_path / "labels", window, 9).tasks == 9


# --- learning -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lessons() -> tuple[Labels, Labels]:
    """Labels to learn from, and of other games."""
    found = [labelled(number, games=32, search="pimc:40") for number in range(9)]
    return Labels.joined(found[:7]), Labels.joined(found[7:])


def agreement(policy: Any, found: Labels) -> float:
    """How often the policy's best action is the search's."""
    return float((NetworkAgent(policy).act(found.observations, found.masks) == found.picks).mean())


def learner_of(**values: Any) -> tuple[ExpertTrainer, MaskablePPO]:
    config = make_config({**LABELS, "batch_size": 128, **values}, network={"width": 32, "depth": 2})
    model = new_ppo(config, ONE_ENV)
    return ExpertTrainer(expert_stage(config), config.reward_scale, model, np.random.default_rng(0)), model


@pytest.mark.parametrize("target", ["argmax", "softmax"])
def test_a_policy_learns_what_the_search_says_also_of_other_games(lessons: tuple[Labels, Labels], target: str) -> None:
    learned, others = lessons
    assert 1000 < len(learned) < 4000
    learner, model = learner_of(target=target, inverse_temperature=3.0)
    before = agreement(model.policy, others)
    first = learner.learn(learned, len(learned), (0.0, 0.1))
    last = learner.learn(learned, 12 * len(learned), (0.1, 1.0))
    assert agreement(model.policy, others) > before + (0.15 if target == "argmax" else 0.08)
    assert last["agreement"] > first["agreement"] + 0.05
    assert last["loss_policy"] < first["loss_policy"]
    assert last["loss_value"] < first["loss_value"]
    assert last["learning_rate"] == pytest.approx(1e-4, rel=0.2)


def test_from_picks_without_sense_nothing_is_learned(lessons: tuple[Labels, Labels]) -> None:
    """The test above could fail: what it measures does not rise by itself."""
    learned, others = lessons
    rng = np.random.default_rng(0)
    picks = (learned.masks * rng.random(learned.masks.shape)).argmax(1).astype(np.int16)
    learner, model = learner_of()
    before = agreement(model.policy, others)
    learner.learn(Labels(**{**learned.arrays(), "picks": picks}), 6 * len(learned), (0.0, 1.0))
    assert agreement(model.policy, others) < before + 0.1


def targets(found: Labels, **values: Any) -> npt.NDArray[np.float32]:
    learner, _ = learner_of(**values)
    return learner._target(found, np.arange(len(found)))[0].numpy()


def test_targets_are_distributions_over_legal_actions_that_follow_the_advantages(
    lessons: tuple[Labels, Labels],
) -> None:
    config = make_config(LABELS)
    policy = make_policy(config)
    found = labelled(0, weights_of(policy), games=32, search="pimc:16")
    rows = np.arange(len(found))
    own = torch.softmax(torch.from_numpy(NetworkAgent(policy).evaluate(found.observations, found.masks)[0]), 1).numpy()
    gain: dict[str, float] = {}
    for name, values in {
        "pick": {"target": "argmax"}, "soft": {"target": "softmax"},
        "sharp": {"target": "softmax", "inverse_temperature": 4.0},
        "prior": {"target": "kl_prior"}, "loose": {"target": "kl_prior", "inverse_temperature": 4.0},
    }.items():  # fmt: skip
        chances = targets(found, **values)
        np.testing.assert_allclose(chances.sum(1), 1, rtol=1e-5)
        assert not chances[found.masks == 0].any()
        assert (
            name not in ("soft", "prior") or (chances[rows, own.argmax(1)] > 0).all()
        )  # what the others are compared with
        gain[name] = float((chances * found.advantages.astype(np.float32)).sum(1).mean())
    np.testing.assert_array_equal(targets(found, target="argmax").argmax(1), found.picks)
    by_itself = float((own * found.advantages.astype(np.float32)).sum(1).mean())
    assert by_itself < gain["prior"] < gain["loose"]
    assert gain["soft"] < gain["sharp"]
    still = Labels(**{**found.arrays(), "advantages": np.zeros_like(found.advantages)})
    np.testing.assert_allclose(targets(still, target="kl_prior"), own, atol=2e-3)
    np.testing.assert_allclose(targets(still, target="softmax")[rows, found.picks], 1 / found.masks.sum(1), rtol=1e-5)


@pytest.mark.parametrize("target", ["argmax", "softmax", "kl_prior"])
def test_targets_are_computed_where_the_network_is(lessons: tuple[Labels, Labels], target: str) -> None:
    """The device ``meta`` has no numbers, but torch refuses to mix its tensors with others, as those of a GPU."""
    learned, _ = lessons
    learner, _ = learner_of(target=target)
    learner._device = torch.device("meta")
    distributions, picks = learner._target(learned, np.arange(50))
    assert (distributions.device.type, picks.device.type) == ("meta", "meta")
    assert (distributions.shape, picks.shape) == (learned.masks[:50].shape, (50,))


def test_what_few_worlds_say_counts_less() -> None:
    advantages, variances = torch.tensor([[0.0, 2.0, 2.0, 2.0]]), torch.tensor([[0.0, 4.0, 4.0, 16.0]])
    (base, few, many, noisy) = standard_scores(advantages, variances, torch.tensor([[100.0, 4, 100, 100]]))[0].tolist()
    assert base == 0
    assert 0 < few < noisy < many
    alone = standard_scores(advantages[:, 1:2], variances[:, 1:2], torch.tensor([[10.0**8]]))
    assert alone.item() == pytest.approx(2.0 / expert.SPREAD, rel=1e-3)


# --- divergence from a reference policy -----------------------------------------------------------------------------


def divergence(config: RunConfig, one: Weights, other: Weights) -> float:
    """The mean Kullback-Leibler divergence of two policies in positions of random play."""
    games = BatchEnv("donguri", 64, 3, 1)
    games.reset(1)
    agents = [NetworkAgent.with_weights(games.game, config.network, weights) for weights in (one, other)]
    rng, sums = np.random.default_rng(0), []
    for _ in range(20):
        logs = [
            torch.log_softmax(torch.from_numpy(agent.evaluate(games.observations, games.action_masks)[0]), 1)
            for agent in agents
        ]
        sums.append(float((logs[0].exp() * (logs[0] - logs[1])).sum(1).mean()))
        games.step((games.action_masks * rng.random(games.action_masks.shape)).argmax(1))
    return float(np.mean(sums))


@pytest.mark.usefixtures("_no_files")
def test_a_kl_coef_keeps_the_policy_near_the_one_with_which_the_stage_began(tmp_path: Path) -> None:
    found: dict[float, float] = {}
    for tightness in (0.0, 1.0):
        config = make_config({**LABELS, "n_epochs": 20}, {**PLAY, "total_samples": 4000, "kl_coef": tightness})
        folder = tmp_path / str(tightness)
        last = trained(config, folder)
        if tightness:
            begun = weights_of(MaskablePPO.load(folder / "stage-2-start.zip").policy)
        else:
            begun = trained(make_config({**LABELS, "n_epochs": 20}), tmp_path / "labels only")
        found[tightness] = divergence(config, last, begun)
    assert same(begun, trained(make_config({**LABELS, "n_epochs": 20}), tmp_path / "again"))
    assert found[0.0] > 0.01
    assert found[1.0] < 0.5 * found[0.0]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """A task in this process leaves torch with one thread."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
