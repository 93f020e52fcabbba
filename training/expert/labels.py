"""Search as a teacher: games in which a policy plays, and what a search says about its decisions.

A worker plays whole matches. The student, which is the policy that is being trained, draws its actions from its
distribution; in some matches other players have some of the seats. A random fraction of the student's real decisions
(those with a choice) is labelled: a search compares every action with the student's best one in sampled worlds
(``trick_envs.agents.search.SearchResult``).

A task is work for an executor (``trick_envs/parallel/executor.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from training.config import EARLIER, ExpertIteration, RunConfig
from training.networks.policy import NetworkAgent, Weights
from trick_envs.agents import Agent, make_agent
from trick_envs.agents.policy_files import PolicyFiles, make_agent_from
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.agents.search import SearchAgent
from trick_envs.agents.spec import ROLLOUT, parse_spec
from trick_envs.engine.batch import BatchEnv
from trick_envs.engine.game import Game
from trick_envs.evaluation.seeds import SEEDS_PER_RUN, Purpose, match_seeds, player_seeds

HEURISTIC_RANDOM_SHARE = 0.15  # share of random moves while there is no student: the heuristic has no variety


@dataclass(frozen=True)
class LabelTask:
    """Some matches to play and to label.

    Attributes:
        config: of the run.
        stage: the stage.
        number: of the task, counted through the whole run: determines matches and random choices.
    """

    config: RunConfig
    stage: ExpertIteration
    number: int


@dataclass
class Labels:
    """Labelled decisions.

    Attributes:
        observations: ``(N, D) int8``.
        masks: ``(N, A) int8``.
        logits: ``(N, A) float16``: the student's, 0 where there was none.
        picks: ``(N,) int16``: the search's choice.
        advantages: ``(N, A) float16``: points over the student's best action, the mean over worlds.
        variances: ``(N, A) float16``: of that difference over worlds.
        counts: ``(N, A) uint16``: worlds in which the action was tried.
        returns: ``(N,) float32``: what the seat was paid from then to the end of the match.
    """

    observations: npt.NDArray[np.int8]
    masks: npt.NDArray[np.int8]
    logits: npt.NDArray[np.float16]
    picks: npt.NDArray[np.int16]
    advantages: npt.NDArray[np.float16]
    variances: npt.NDArray[np.float16]
    counts: npt.NDArray[np.uint16]
    returns: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.picks)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def none(cls, game: Game) -> Labels:
        """No decision of a game."""
        actions = (0, game.num_actions)
        return cls(
            np.zeros((0, game.layout.size), np.int8),
            np.zeros(actions, np.int8),
            np.zeros(actions, np.float16),
            np.zeros(0, np.int16),
            np.zeros(actions, np.float16),
            np.zeros(actions, np.float16),
            np.zeros(actions, np.uint16),
            np.zeros(0, np.float32),
        )

    @classmethod
    def joined(cls, parts: list[Labels]) -> Labels:
        """All decisions of the parts, in their order."""
        return cls(**{name: np.concatenate([part.arrays()[name] for part in parts]) for name in parts[0].arrays()})


class _Decided:
    """The baseline of a search: actions that were chosen before."""

    name = "student"

    def __init__(self) -> None:
        self.actions = np.zeros(0, np.int64)

    def seed(self, seed: int) -> None:
        """It makes no random choices."""

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        return self.actions


def label(task: LabelTask, student: Weights | None, earlier: Weights | None, files: PolicyFiles) -> Labels:
    """Plays and labels.

    Args:
        task: which matches.
        student: weights of the policy that plays and is labelled; ``None``: the heuristic in its place.
        earlier: weights of an earlier policy, the opponent called ``earlier``; ``None`` if there is none.
        files: the opponents' policies.
    """
    torch.set_num_threads(1)
    game, network = task.config.make_game(), task.config.network
    _, search_seed = player_seeds(Purpose.TRAINING, task.config.seed)
    opponents: list[Agent] = []
    for spec in task.stage.opponent_pool:
        if spec != EARLIER:
            opponents.append(make_agent_from(files, spec, game, search_seed))
        elif earlier is not None:
            opponents.append(NetworkAgent.with_weights(game, network, earlier))
    decided = _Decided()
    playing = None if student is None else NetworkAgent.with_weights(game, network, student)
    search = _teacher(task.stage.search, game, search_seed, decided, playing)
    return _play(task, game, playing, opponents, search, decided)


def _play(
    task: LabelTask, game: Game, student: NetworkAgent | None, opponents: list[Agent],
    search: SearchAgent | RolloutAgent, decided: _Decided,
) -> Labels:  # fmt: skip
    config, stage = task.config, task.stage
    rng = np.random.default_rng((config.seed, int(Purpose.TRAINING), task.number))
    games = BatchEnv(
        config.game, stage.games, config.num_players, config.num_deals, config.reward, **dict[str, Any](config.options)
    )
    first = SEEDS_PER_RUN // 2 + task.number * stage.games % (SEEDS_PER_RUN // 2 - stage.games)
    games.reset(match_seeds(Purpose.TRAINING, config.seed, first, stage.games))
    opponent_of = np.where(
        rng.random((stage.games, game.num_players)) < (stage.opponent_fraction if opponents else 0.0),
        rng.integers(max(len(opponents), 1), size=(stage.games, 1)),
        -1,
    )
    running, parts, places = np.arange(stage.games), [Labels.none(game)], [(np.zeros(0, int), np.zeros(0, int))]
    paid = np.zeros((stage.games, game.num_players), np.float32)
    while len(running):
        observations, masks, seats = games.observations[running], games.action_masks[running], games.seats[running]
        states = games.states[running]
        actions = np.zeros(len(running), np.int64)
        who = opponent_of[running, seats]
        for i, opponent in enumerate(opponents):
            rows = np.flatnonzero(who == i)
            if len(rows):
                actions[rows] = opponent.act(observations[rows], masks[rows], states[rows])
        own = np.flatnonzero(who < 0)
        if len(own):
            best, chosen, logits = _decide(student, game, observations[own], masks[own], states[own], rng)
            actions[own] = chosen
            wanted = np.flatnonzero((masks[own].sum(1) > 1) & (rng.random(len(own)) < stage.label_fraction))
            if len(wanted):
                rows, decided.actions = own[wanted], best[wanted]
                found = search.compare(observations[rows], masks[rows], states[rows])
                counts = np.minimum(found.counts, 65_535).astype(np.uint16)
                most = counts.max(axis=1, keepdims=True)
                np.put_along_axis(counts, found.baselines[:, None], most, axis=1)  # pimc compares others with it
                parts.append(
                    Labels(
                        observations[rows].copy(),
                        masks[rows].copy(),
                        np.maximum(logits[wanted], -60_000.0).astype(np.float16),
                        found.actions.astype(np.int16),
                        found.advantages.astype(np.float16),
                        np.minimum(found.variances, 60_000.0).astype(np.float16),
                        counts,
                        -paid[running[rows], seats[rows]],
                    )
                )
                places.append((running[rows], seats[rows]))
        rewards, terminated = games.step(actions, running)
        paid[running] += rewards[running]
        running = running[~terminated[running]]
    labels = Labels.joined(parts)
    rows, seats = (np.concatenate(each) for each in zip(*places, strict=True))
    labels.returns += paid[rows, seats]
    return labels


def _teacher(
    spec: str, game: Game, seed: int, decided: _Decided, student: NetworkAgent | None
) -> SearchAgent | RolloutAgent:
    """The search that labels; its baseline is the student's best action."""
    parsed = parse_spec(f"student.onnx+{spec}")
    assert parsed.method is not None
    if parsed.method == ROLLOUT:
        assert student is not None
        return RolloutAgent(student, parsed.effort, game, seed)
    return SearchAgent(parsed.method, parsed.effort, game, seed, decided)


def _decide(
    student: NetworkAgent | None, game: Game, observations: Any, masks: Any, states: Any, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The student's best actions, those that it plays, and its logits."""
    if student is None:
        best = np.asarray(make_agent("greedy", game).act(observations, masks, states))
        random_moves = rng.random(len(best)) < HEURISTIC_RANDOM_SHARE
        any_legal = (masks * rng.random(masks.shape)).argmax(1)
        return best, np.where(random_moves, any_legal, best), np.zeros(masks.shape, np.float32)
    logits, _ = student.evaluate(observations, masks)
    noise = -np.log(rng.exponential(size=logits.shape))  # Gumbel: the argmax is drawn from the softmax
    return logits.argmax(1), (logits + noise).argmax(1), logits
