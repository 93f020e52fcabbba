"""Datasets of decisions: what Minari loads is what was played."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import every_game, largest_file
from typer.testing import CliRunner

from trick_envs.engine.registry import load_game
from trick_envs.errors import FolderInUseError, InputError
from trick_envs.evaluation import dataset as datasets
from trick_envs.evaluation.dataset import play_decisions, write_dataset
from trick_envs.evaluation.seeds import Purpose
from trick_envs.interfaces.aec import RawEnv

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


@every_game
def test_a_dataset_is_what_the_environment_shows_for_the_same_seeds_and_actions(name):
    game = load_game(name, num_deals=1)
    write_dataset(game, ["greedy", "random"], 3, f"{name}/both-v0", seed=5)
    loaded = minari.load_dataset(f"{name}/both-v0")
    about = list(loaded.storage.get_episode_metadata(range(loaded.total_episodes)))
    assert loaded.total_episodes == 3 * game.num_players
    assert sum(episode["total_steps"] for episode in about) == loaded.total_steps
    episodes = list(loaded.iterate_episodes())
    for deal in range(3):
        own = {int(one["seat"]): (one, e) for one, e in zip(about, episodes, strict=True) if one["deal"] == deal}
        env, taken = RawEnv(game), dict.fromkeys(own, 0)
        env.reset(seed=own[0][0]["seed"])
        assert (own[0][0]["seed"] >> 60) == Purpose.TRAINING
        while env.phase != "over":
            seat = int(env.states["seat"][0])
            seen, episode = env.observe(env.agent_selection), own[seat][1]
            assert own[seat][0]["player"] == (seat + deal) % 2
            assert (episode.observations["observation"][taken[seat]] == seen["observation"]).all()
            assert (episode.observations["action_mask"][taken[seat]] == seen["action_mask"]).all()
            env.step(int(episode.actions[taken[seat]]))
            taken[seat] += 1
        for seat, (_, episode) in own.items():
            count = len(episode.actions)
            assert taken[seat] == count
            assert episode.rewards.tolist() == [0.0] * (count - 1) + [env.record()["deals"][0]["score"][seat]]
            assert episode.terminations.tolist() == [False] * (count - 1) + [True]
            assert not episode.truncations.any()
            assert len(episode.observations["observation"]) == count + 1
            assert not episode.observations["action_mask"][-1].any()


def test_episodes_are_in_the_spaces_and_can_be_sampled_and_filtered():
    write_dataset(load_game("donguri", num_deals=1), ["greedy"], np.int64(4), "donguri/greedy-v0", np.uint32(0))
    loaded = minari.load_dataset("donguri/greedy-v0")
    episode = loaded.sample_episodes(1)[0]
    for i in range(len(episode.actions)):
        row = {name: rows[i] for name, rows in episode.observations.items()}
        assert row in loaded.observation_space
        assert episode.actions[i] in loaded.action_space
    assert "total_steps=" in repr(loaded[0])
    assert loaded.filter_episodes(lambda each: each.rewards.sum() == 0).total_episodes >= 4
    metadata = loaded.storage.metadata
    assert (metadata["players"], metadata["game"], metadata["num_deals"]) == (["greedy"], "donguri", 4)
    assert "donguri/greedy-v0" in minari.list_local_datasets()


class Last:
    """Counts how often it is made; plays the highest action, and wants to know the order of play."""

    name, observation, made = "last", "history", 0

    def __init__(self, game, seed):
        Last.made += 1

    def act(self, observations, action_masks, states=None, plays=None):
        assert plays.shape[0] == len(observations)
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)

    def seed(self, seed):
        pass


def test_a_player_that_wants_the_order_of_play_is_made_once_and_the_metadata_says_that_it_is_there():
    game = load_game("donguri", num_deals=1)
    for players, kind, made in [(["greedy", f"{__name__}:Last"], "history", 1), (["greedy"], "position", 0)]:
        Last.made = 0
        write_dataset(game, players, 2, f"donguri/{kind}-v0", seed=3)
        loaded, env = minari.load_dataset(f"donguri/{kind}-v0"), RawEnv(game, observation=kind)
        assert (loaded.storage.metadata["observation"], Last.made) == (kind, made)
        about, taken = list(loaded.storage.get_episode_metadata(range(4))), [0] * 4
        env.reset(seed=about[0]["seed"])
        while env.phase != "over":
            seat = int(env.states["seat"][0])
            episode, seen = loaded[seat], env.observe(f"player_{seat}")
            assert (episode.observations["observation"][taken[seat]] == seen["observation"]).all()
            env.step(int(episode.actions[taken[seat]]))
            taken[seat] += 1
        assert sum(taken) == 48


def test_batches_do_not_change_what_is_played(monkeypatch):
    game = load_game("zaraba22", num_deals=1)
    (whole,) = play_decisions(game, ["greedy", "random"], 5)
    monkeypatch.setattr(datasets, "AT_ONCE", 2)
    parts = list(play_decisions(game, ["greedy", "random"], 5))
    for name in ("observations", "actions", "rewards", "seats", "players", "deals", "seeds"):
        assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))


def test_the_command_writes_one_and_does_not_write_over_it(tmp_path):
    from trick_envs.cli import app

    arguments = ["dataset", "--game", "zaraba22", "--players", "greedy,random", "--deals", "3"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    assert "minari.load_dataset('zaraba22/greedy-random-v0')" in ran.output
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, InputError)
    assert "there is a dataset" in str(again.exception)
    file = tmp_path / "datasets" / "zaraba22" / "greedy-random-v0" / "data" / "metadata.json"
    assert json.loads(file.read_text())["total_episodes"] == 9


def test_what_is_wrong_is_told_before_anything_is_written(tmp_path):
    game = load_game("zaraba22", num_deals=1)
    for players, deals, name, told in [
        (["greedi"], 2, "pepper/some-v0", "is no player"),
        ([], 2, "pepper/some-v0", "players"),
        ("greedy", 2, "pepper/some-v0", "players: expected a list"),
        (3, 2, "pepper/some-v0", "players: expected a list"),
        *((["greedy"], wrong, "pepper/some-v0", "deals") for wrong in (0, 1.5, "3", None, 2**70)),
        *(
            (["greedy"], 2, wrong, "is no name of a dataset")
            for wrong in (
                "no name at all",
                "../../up-v0",
                "pepper",
                "-v0",
                "x-v-1",
                "x-v00",
                "a/" * 1200 + "b-v0",
                "",
                None,
                3,
                b"x-v0",
            )
        ),
    ]:
        with pytest.raises(InputError, match=told):
            write_dataset(game, players, deals, name)
    assert not list((tmp_path).rglob("metadata.json"))


def test_what_stops_the_writing_leaves_nothing_and_another_writer_is_refused(tmp_path):
    game, folder = load_game("zaraba22", num_deals=1), tmp_path / "datasets" / "some-v0"

    def stop(_):
        with pytest.raises(FolderInUseError):
            write_dataset(game, ["greedy"], 1, "some-v0")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=f"No space.*{folder}"):
        write_dataset(game, ["greedy"], 2, "some-v0", on_progress=stop)
    assert [path.name for path in folder.iterdir()] == [".lock"]
    write_dataset(game, ["greedy"], 2, "some-v0")
    assert minari.load_dataset("some-v0").total_episodes == 6


def test_a_full_disk_is_told_as_one_and_leaves_nothing(tmp_path):
    game = load_game("zaraba22", num_deals=1)
    next(play_decisions(game, ["greedy"], 1))  # what is compiled for it is written before
    # HDF5 says the same as on a full disk, with other numbers
    with largest_file(50_000), pytest.raises(OSError, match=r"too large.*some-v0"):
        write_dataset(game, ["greedy"], 100, "some-v0")
    assert [path.name for path in (tmp_path / "datasets" / "some-v0").iterdir()] == [".lock"]
