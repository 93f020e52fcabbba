"""Matches of every game through every adapter of a framework: python tests/frameworks/adapters.py FRAMEWORK [MATCHES]

Random play by the masks that the framework passes on. Two things must hold: no action is illegal (the environments
raise), and what the framework adds up as rewards is the score in the match record. Runs in the framework's own
environment; ``run.py`` builds these. Prints a line of JSON for each adapter.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np

import trick_envs
from trick_envs.engine.registry import game_type
from trick_envs.engine.state import OVER

NUM_DEALS = 2  # so that a match goes on after rewards were paid
ENVS = 16
SINGLE = {"illegal": "raise", "num_deals": NUM_DEALS}
NATIVE = {**SINGLE, "vectorization_mode": "vector_entry_point"}

Adapter = Callable[[str, int], Iterator[tuple[Any, Any]]]
ADAPTERS: dict[str, dict[str, tuple[str, Adapter]]] = {}
rng = np.random.default_rng(0)


def adapter(framework: str, name: str, mode: str = "-") -> Callable[[Adapter], Adapter]:
    """Registers a check: a generator ``(game, matches)`` of what the framework saw, and what the records say."""

    def register(check: Adapter) -> Adapter:
        ADAPTERS.setdefault(framework, {})[name] = mode, check
        return check

    return register


def game_id(game: str) -> str:
    """Its name for Gymnasium."""
    return next(name for name, spec in gymnasium.registry.items() if spec.kwargs.get("game") == game)


def aec(game: str, num_deals: int = NUM_DEALS, **options: Any) -> Any:
    """Its AEC environment, as a user makes it."""
    module = __import__(f"{game_type(game).package}.{game_type(game).versioned_name}", fromlist=["raw_env"])
    return module.raw_env(num_deals=num_deals, **options)


def legal(masks: Any) -> Any:
    """Random legal actions, ``(B,)``; any where there is none."""
    masks = np.asarray(masks)
    return ((rng.random(masks.shape) + 1) * (masks != 0)).argmax(axis=-1)


# --- what the records say -----------------------------------------------------------------------------------------


def record_single(env: Any, scores: list[float]) -> Any:
    """Notes the learner's score in the record of every match that ends in a single environment."""
    inner = env.unwrapped
    play = inner.step

    def step(action: Any) -> Any:
        found = play(action)
        if found[2]:
            scores.append(inner.record()["score"][inner.seat])
        return found

    inner.step = step
    return env


def record_aec(env: Any, scores: list[list[float]]) -> Any:
    """Notes the scores in the record of every match that ends in an AEC environment."""
    play = env.step

    def step(action: Any) -> None:
        play(action)
        if action is not None and env.unwrapped.phase == "over":
            scores.append(env.unwrapped.record()["score"])

    env.step = step
    return env


def record_native(envs: Any, scores: list[float]) -> Any:
    """Plays every match of native games again in a single environment, and notes the score of its record."""
    inner = envs.unwrapped
    single = gymnasium.make(game_id(inner.game.name), **SINGLE)
    reset, play = inner.reset, inner.step
    running: list[tuple[int, int] | None] = [None] * inner.num_envs
    played: list[list[int]] = [[] for _ in running]

    def begin() -> None:
        for i, match in enumerate(running):
            if match is None and inner.states["phase"][i] != OVER:
                running[i], played[i] = (int(inner.states["seed"][i]), int(inner.seats[i])), []

    def first(**named: Any) -> Any:
        found = reset(**named)
        for i in np.flatnonzero((named.get("options") or {}).get("reset_mask", np.ones(inner.num_envs, bool))):
            running[i] = None
        begin()
        return found

    def step(actions: Any) -> Any:
        acting = [i for i, match in enumerate(running) if match is not None]
        found = play(actions)
        for i in acting:
            played[i].append(int(actions[i]))
            match = running[i]
            if found[2][i] and match is not None:
                single.reset(seed=match[0], options={"seat": match[1]})
                for action in played[i]:
                    single.step(action)
                scores.append(single.unwrapped.record()["score"][match[1]])
                running[i] = None
        begin()
        return found

    inner.reset, inner.step = first, step
    return envs


def play_vector(envs: Any, matches: int, masks_of: Callable[[Any, Any], Any]) -> list[float]:
    """Total rewards of matches in a vector environment of Gymnasium, in any mode of autoreset."""
    mode = envs.metadata["autoreset_mode"]
    observations, infos = envs.reset(seed=1)
    totals, seen = np.zeros(envs.num_envs), []
    while len(seen) < matches:
        observations, rewards, ends, _, infos = envs.step(legal(masks_of(observations, infos)))
        totals += rewards
        seen += totals[ends].tolist()
        totals[ends] = 0
        if mode is gymnasium.vector.AutoresetMode.DISABLED and ends.any():
            observations, infos = envs.reset(options={"reset_mask": ends})
    return seen


# --- Gymnasium and PettingZoo -------------------------------------------------------------------------------------


@adapter("farama", "gymnasium.make")
def _(game: str, matches: int) -> Any:
    scores: list[float] = []
    seen = []
    env = record_single(gymnasium.make(game_id(game), **SINGLE), scores)
    for match in range(matches):
        _, info = env.reset(seed=match)
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(legal(info["action_mask"]))
            total += reward
        seen.append(total)
    yield seen, scores


def _native(mode: str) -> Adapter:
    def check(game: str, matches: int) -> Any:
        scores: list[float] = []
        envs = record_native(gymnasium.make_vec(game_id(game), ENVS, autoreset_mode=mode, **NATIVE), scores)
        yield play_vector(envs, matches, lambda _, infos: infos["action_mask"]), scores

    return check


for _mode in ("NEXT_STEP", "SAME_STEP", "DISABLED"):
    adapter("farama", f"gymnasium.make_vec, native, {_mode}", _mode)(_native(_mode))


@adapter("farama", "gymnasium.make_vec, sync", "NEXT_STEP")
def _(game: str, matches: int) -> Any:
    scores: list[float] = []
    envs = gymnasium.make_vec(game_id(game), ENVS, "sync", **SINGLE)
    for env in envs.unwrapped.envs:
        record_single(env, scores)
    yield play_vector(envs, matches, lambda _, infos: infos["action_mask"]), scores


def play_aec(env: Any, matches: int) -> list[list[float]]:
    """Total rewards by seat of matches in an AEC environment."""
    seen = []
    for match in range(matches):
        env.reset(seed=match)
        totals = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            observation, reward, over, _, _ = env.last()
            totals[agent] += reward
            env.step(None if over else int(legal(observation["action_mask"])))
        seen.append(list(totals.values()))
    return seen


@adapter("farama", "PettingZoo AEC")
def _(game: str, matches: int) -> Any:
    scores: list[list[float]] = []
    yield play_aec(record_aec(aec(game), scores), matches), scores


@adapter("supersuit", "AEC wrappers of actions and rewards")
def _(game: str, matches: int) -> Any:
    import supersuit

    scores: list[list[float]] = []
    env = record_aec(aec(game), scores)
    env = supersuit.reward_lambda_v0(supersuit.nan_random_v0(env), lambda reward: 2 * reward)
    yield [[total / 2 for total in totals] for totals in play_aec(env, matches)], scores


@adapter("supersuit", "Gymnasium wrappers of observations")
def _(game: str, matches: int) -> Any:
    import supersuit

    scores: list[float] = []
    seen = []
    env = supersuit.frame_stack_v1(record_single(gymnasium.make(game_id(game), **SINGLE), scores), 2)
    for match in range(matches):
        _, info = env.reset(seed=match)
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(int(legal(info["action_mask"])))
            total += reward
        seen.append(total)
    yield seen, scores


@adapter("supersuit", "turn_based_aec_to_parallel")
def _(game: str, matches: int) -> Any:
    from pettingzoo.utils.conversions import turn_based_aec_to_parallel

    scores: list[list[float]] = []
    seen = []
    env = turn_based_aec_to_parallel(record_aec(aec(game), scores))
    for match in range(matches):
        observations, _ = env.reset(seed=match)
        totals = dict.fromkeys(env.possible_agents, 0.0)
        while env.agents:
            actions = {agent: int(legal(observations[agent]["action_mask"])) for agent in env.agents}
            observations, rewards, _, _, _ = env.step(actions)
            for agent, reward in rewards.items():
                totals[agent] += reward
        seen.append(list(totals.values()))
    yield seen, scores


# --- Stable-Baselines3 --------------------------------------------------------------------------------------------


def play_vec_env(env: Any, matches: int) -> list[float]:
    """Total rewards of matches in a ``VecEnv``, as its ``VecMonitor`` tells them."""
    from sb3_contrib.common.maskable.utils import get_action_masks

    env.reset()
    seen: list[float] = []
    while len(seen) < matches:
        *_, infos = env.step(legal(get_action_masks(env)))
        seen += [info["episode"]["r"] for info in infos if "episode" in info]
    return seen


@adapter("sb3", "its own make_vec_env", "SAME_STEP")
def _(game: str, matches: int) -> Any:
    from stable_baselines3.common.env_util import make_vec_env

    scores: list[float] = []
    env = make_vec_env(game_id(game), ENVS, seed=1, env_kwargs=SINGLE)
    for one in env.envs:
        record_single(one, scores)
    yield play_vec_env(env, matches), scores


@adapter("sb3", "trick_envs.interfaces.sb3.make_vec_env, native", "SAME_STEP")
def _(game: str, matches: int) -> Any:
    from trick_envs.interfaces.sb3 import make_vec_env

    scores: list[float] = []
    env = make_vec_env(game_id(game), ENVS, seed=1, env_kwargs=SINGLE)
    record_native(env.unwrapped.games, scores)
    yield play_vec_env(env, matches), scores


# --- TorchRL ------------------------------------------------------------------------------------------------------


@adapter("torchrl", "GymEnv with ActionMask")
def _(game: str, matches: int) -> Any:
    from torchrl.envs import ActionMask, GymEnv, TransformedEnv

    scores: list[float] = []
    env = GymEnv(game_id(game), categorical_action_encoding=True, mask_key="action_mask", **SINGLE)
    record_single(env._env, scores)
    env = TransformedEnv(env, ActionMask())
    yield [float(env.rollout(10_000)["next", "reward"].sum()) for _ in range(matches)], scores


@adapter("torchrl", "GymWrapper, native games", "DISABLED")
def _(game: str, matches: int) -> Any:
    import torch
    from torchrl.envs import GymWrapper, step_mdp

    scores: list[float] = []
    games = gymnasium.make_vec(game_id(game), ENVS, autoreset_mode="DISABLED", mask_key="action_mask", **NATIVE)
    env = GymWrapper(record_native(games, scores), categorical_action_encoding=True)
    now, totals, seen = env.reset(), torch.zeros(ENVS), []
    while len(seen) < matches:
        now["action"] = torch.from_numpy(legal(now["action_mask"]))
        now = env.step(now)
        totals += now["next", "reward"].squeeze(-1)
        ends = now["next", "done"].squeeze(-1)
        seen += totals[ends].tolist()
        totals[ends] = 0
        now = env.maybe_reset(step_mdp(now))
    yield seen, scores


@adapter("torchrl", "PettingZooWrapper, AEC with masks")
def _(game: str, matches: int) -> Any:
    import torch
    from torchrl.envs import MarlGroupMapType, PettingZooWrapper, step_mdp

    scores: list[list[float]] = []
    env = PettingZooWrapper(
        record_aec(aec(game), scores), use_mask=True, categorical_actions=True, done_on_any=True,
        group_map=MarlGroupMapType.ALL_IN_ONE_GROUP,
    )  # fmt: skip

    seen = []
    for _match in range(matches):
        now, total, over = env.reset(), torch.zeros(len(env.agents)), False
        while not over:
            now["agents", "action"] = torch.from_numpy(legal(now["agents", "action_mask"]))
            now, over = env.step(now), bool(now["next", "done"])
            total += now["next", "agents", "reward"].squeeze(-1)
            now = step_mdp(now)
        seen.append(total.tolist())
    yield seen, scores


# --- Tianshou -----------------------------------------------------------------------------------------------------


@adapter("tianshou", "Collector on DummyVectorEnv")
def _(game: str, matches: int) -> Any:
    from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net

    scores: list[float] = []
    keys = {"mask_key": "mask", "observation_key": "obs"}
    games = [lambda: record_single(gymnasium.make(game_id(game), **SINGLE, **keys), scores) for _ in range(ENVS)]
    envs, space = DummyVectorEnv(games), gymnasium.make(game_id(game), **SINGLE, **keys).action_space
    network = Net(state_shape=trick_envs.load_game(game).layout.size, action_shape=space.n)
    player = DQN(
        policy=DiscreteQLearningPolicy(model=network, action_space=space, eps_inference=0.5),
        optim=AdamOptimizerFactory(),
    )
    collector = Collector(player, envs, VectorReplayBuffer(20_000, ENVS), exploration_noise=True)
    yield list(collector.collect(n_episode=matches, reset_before_collect=True).returns), scores


@adapter("tianshou", "PettingZooEnv")
def _(game: str, matches: int) -> Any:
    from tianshou.env import PettingZooEnv

    scores: list[list[float]] = []
    seen = []
    env = PettingZooEnv(record_aec(aec(game), scores))
    for match in range(matches):
        observation, _ = env.reset(seed=match)
        totals, over = np.zeros(len(env.agents)), False
        while not over:
            observation, rewards, over, _, _ = env.step(int(legal(observation["mask"])))
            totals += rewards
        seen.append(totals.tolist())
    yield seen, scores


# --- RLlib --------------------------------------------------------------------------------------------------------


def _rllib_callbacks(seen: list[Any], agents: bool) -> Any:
    from ray.rllib.callbacks.callbacks import RLlibCallback

    class Callbacks(RLlibCallback):
        def on_episode_end(self, *, episode: Any, **_: Any) -> None:
            if agents:
                returns = {agent: one.get_return() for agent, one in episode.agent_episodes.items()}
                seen.append([returns[agent] for agent in sorted(returns)])
            else:
                seen.append(float(episode.get_return()))

    return Callbacks


def _rllib_config(env: Any, **settings: Any) -> Any:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

    config = PPOConfig().environment(env, disable_env_checking=True, env_config=settings)
    return config.rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))


def _rllib_single(vectorize: str) -> Adapter:
    def check(game: str, matches: int) -> Any:
        from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

        seen: list[float] = []
        scores: list[float] = []
        keys = {"mask_key": "action_mask", "observation_key": "observations", "end_mask": "ones"}
        config = _rllib_config(game_id(game), **SINGLE, **keys).callbacks(_rllib_callbacks(seen, False))
        config.env_runners(num_env_runners=0, num_envs_per_env_runner=ENVS, gym_env_vectorize_mode=vectorize)
        runner = SingleAgentEnvRunner(config=config, worker_index=0)
        if vectorize == "sync":
            for env in runner.env.unwrapped.envs:
                record_single(env, scores)
        else:
            record_native(runner.env, scores)
        runner.sample(num_episodes=matches, random_actions=False)
        yield seen, scores[: len(seen)]  # it stops at the last match, though others may end with the same step

    return check


adapter("rllib", "SingleAgentEnvRunner, sync", "NEXT_STEP")(_rllib_single("sync"))
adapter("rllib", "SingleAgentEnvRunner, native games", "NEXT_STEP")(_rllib_single("vector_entry_point"))


@adapter("rllib", "MultiAgentEnvRunner on PettingZooEnv")
def _(game: str, matches: int) -> Any:
    from gymnasium import spaces
    from pettingzoo.utils import BaseWrapper
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env

    class Renamed(BaseWrapper):
        def observation_space(self, agent: Any) -> Any:
            found = super().observation_space(agent)
            return spaces.Dict({"observations": found["observation"], "action_mask": found["action_mask"]})

        def observe(self, agent: Any) -> Any:
            found = super().observe(agent)
            return {"observations": found["observation"], "action_mask": found["action_mask"]}

    seen: list[list[float]] = []
    scores: list[list[float]] = []
    register_env(game, lambda config: PettingZooEnv(Renamed(aec(game))))
    config = _rllib_config(game).callbacks(_rllib_callbacks(seen, True))
    config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode: "shared")
    runner = MultiAgentEnvRunner(config=config.env_runners(num_env_runners=0), worker_index=0)
    record_aec(runner.env.envs[0].unwrapped.env, scores)
    runner.sample(num_episodes=matches, random_actions=False)
    yield seen, scores


# --- AgileRL ------------------------------------------------------------------------------------------------------


@adapter("agilerl", "DQN.get_action, native games", "SAME_STEP")
def _(game: str, matches: int) -> Any:
    from agilerl.algorithms import DQN

    scores: list[float] = []
    games = record_native(gymnasium.make_vec(game_id(game), ENVS, autoreset_mode="SAME_STEP", **NATIVE), scores)
    agent = DQN(games.single_observation_space, games.single_action_space)
    observations, infos = games.reset(seed=1)
    totals, seen = np.zeros(ENVS), []
    while len(seen) < matches:
        actions = agent.get_action(observations, 1.0, action_mask=infos["action_mask"])
        observations, rewards, ends, _, infos = games.step(actions)
        totals += rewards
        seen += totals[ends].tolist()
        totals[ends] = 0
    yield seen, scores


# --- OpenSpiel ----------------------------------------------------------------------------------------------------


@adapter("openspiel", "full(), one deal")
def _(game: str, matches: int) -> Any:
    from trick_envs.interfaces.openspiel import full

    seen, scores = [], []
    inside = full(game).game
    env = aec(game, 1, reward="zero_sum")
    for _match in range(matches):
        state = full(game).new_initial_state()
        plays = []
        while not state.is_terminal():
            if state.is_chance_node():
                actions, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(int(rng.choice(actions, p=chances)))
            else:
                plays.append(int(rng.choice(state.legal_actions())))
                state.apply_action(plays[-1])
        cards = [inside.deck.format(kind) for kind in state.position.dealt]
        held = inside.hand_size * inside.num_players
        hands = [cards[start : start + inside.hand_size] for start in range(0, held, inside.hand_size)]
        env.reset(options={"deals": [{"dealer": 0, "hands": hands, "stock": cards[held:]}]})
        for action in plays:
            env.step(action)
        seen.append(state.returns())
        scores.append([env.rewards[agent] for agent in env.possible_agents])  # of the whole match, which is one deal
    yield seen, scores


# --- OpenEnv, Minari ----------------------------------------------------------------------------------------------


@adapter("openenv", "its server and GenericEnvClient, WebSocket")
def openenv_client(game: str, matches: int) -> Iterator[tuple[Any, Any]]:
    import socket
    import threading

    import uvicorn
    from openenv.core.generic_client import GenericEnvClient

    from trick_envs.interfaces.openenv import make_openenv_app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = make_openenv_app(game, {}, 1, 60.0, num_deals=NUM_DEALS)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    env: Any = gymnasium.make(game_id(game), **SINGLE).unwrapped
    seen, scores = [], []
    with GenericEnvClient(base_url=f"http://127.0.0.1:{port}").sync() as client:
        for seed in range(matches):
            result, paid, played = client.reset(seed=seed), 0.0, []
            while not result.done:
                card = str(rng.choice(result.observation["legal"]))
                result = client.step({"answer": f"<play>{card}</play>"})
                assert result.observation["played"] == card
                paid, played = paid + result.reward, [*played, card]
            env.reset(seed=seed)
            for card in played:
                env.step(env.game.deck.names.index(card))
            seen.append(paid)
            scores.append(env.record()["score"][env.seat])
    server.should_exit = True
    thread.join()
    yield seen, scores


@adapter("minari", "minari.load_dataset of what trick dataset writes")
def minari_dataset(game: str, matches: int) -> Iterator[tuple[Any, Any]]:
    import os
    import tempfile

    import minari

    from trick_envs import load_game
    from trick_envs.evaluation.dataset import write_dataset

    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        write_dataset(load_game(game, num_deals=1), ["random"], matches, f"{game}/random-v0")
        deals: dict[int, dict[int, Any]] = {}
        dataset = minari.load_dataset(f"{game}/random-v0")
        about = list(dataset.storage.get_episode_metadata(dataset.episode_indices))
        for episode, each in zip(dataset.iterate_episodes(), about, strict=True):
            deals.setdefault(int(each["seed"]), {})[int(each["seat"])] = episode
        seen, scores = [], []
        env = aec(game, 1)
        for seed, seats in deals.items():
            env.reset(seed=seed)
            plays = {f"player_{seat}": iter(episode.actions.tolist()) for seat, episode in seats.items()}
            while env.phase != "over":
                env.step(next(plays[env.agent_selection]))
            seen.append([float(seats[seat].rewards.sum()) for seat in range(len(seats))])
            scores.append(env.record()["score"])
    yield seen, scores


# ------------------------------------------------------------------------------------------------------------------


def compare(check: Adapter, game: str, matches: int) -> int:
    """Runs a check; returns how many matches were played.

    Raises:
        AssertionError: if there were too few, or the framework saw other rewards than the records have.
        Exception: what the environment raises for an illegal action.
    """
    (found,) = check(game, matches)
    seen, scores = ([np.round(one, 2).tolist() for one in some] for some in found)
    assert len(seen) >= matches, f"{game}: {len(seen)} matches of {matches}"
    assert sorted(seen) == sorted(scores), f"{game}: rewards {seen[:9]}, records {scores[:9]}"
    return len(seen)


def main(framework: str, matches: int) -> None:
    """Runs the checks of a framework on every game."""
    warnings.simplefilter("ignore")
    for name, (mode, check) in ADAPTERS[framework].items():
        start, played, failure = time.perf_counter(), 0, ""
        try:
            for game in trick_envs.game_names():
                played += compare(check, game, matches)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - start
        found = {"adapter": name, "mode": mode, "matches": played, "seconds": round(seconds, 1), "failure": failure}
        print("RESULT", json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200)
