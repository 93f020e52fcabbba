"""What a policy and a search think of a decision, from what the seat to act knows."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trick_envs.agents import make_agent
from trick_envs.agents.chance import softmax
from trick_envs.agents.policy import PolicyAgent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_file
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.engine.game import Game
from trick_envs.engine.positions import observe
from trick_envs.engine.registry import load_game
from trick_envs.engine.state import States
from trick_envs.evaluation.intervals import standard_errors_95

WORLDS = 128  # of roll-outs
PIMC = "pimc:200"  # where there is no policy


@dataclass(frozen=True)
class CardHint:
    """What is thought of one legal card.

    Attributes:
        kind: the card.
        probability: with which the policy plays it; ``None`` without a policy.
        advantage: points by which the search found it better than the baseline; ``None`` if not tried.
        error: half the width of the 95 % interval of ``advantage``.
        worlds: in how many sampled worlds the search tried it.
    """

    kind: int
    probability: float | None
    advantage: float | None
    error: float | None
    worlds: int


@dataclass(frozen=True)
class Hint:
    """What is thought of a decision.

    Attributes:
        cards: the legal cards, in the order of the deck.
        baseline: the card with which the search compares the others: the policy's, or the heuristic's.
        search: the card that is best according to the search.
        disagree: whether ``search`` is another card than the baseline, and better by more than the error.
        value: by how many points the policy expects to beat the mean of the others in this deal; ``None`` without one.
        sources: the specs of policy and search, or of the search alone.
    """

    cards: list[CardHint]
    baseline: int
    search: int
    disagree: bool
    value: float | None
    sources: list[str]

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return asdict(self)


@dataclass(frozen=True)
class Judgement:
    """What is thought of played cards, a row for each.

    Attributes:
        masks: ``(B, A)``: what was legal.
        likely: ``(B, A)``: the policy's probabilities; ``None`` without a policy.
        values: ``(B,)``: what the policy expects of the deal, in points over the mean of the others.
        advantages: ``(B, A)``: points by which a card is better than the played one, the mean over worlds.
        errors: ``(B, A)``: half the widths of their 95 % intervals.
        counts: ``(B, A)``: in how many worlds a card was tried.
    """

    masks: npt.NDArray[np.int8]
    likely: npt.NDArray[np.float32] | None
    values: npt.NDArray[np.float32] | None
    advantages: npt.NDArray[np.float32]
    errors: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int32]


class _Once:
    """A policy that judges the same decision once: a search asks for its judgement, its action, and we ask again."""

    def __init__(self, policy: PolicyAgent) -> None:
        self.name, self._policy = policy.name, policy
        self._asked: Any = None
        self._found: tuple[Any, Any] = None, None

    def seed(self, seed: int) -> None:
        """Reseeds the policy."""
        self._policy.seed(seed)

    def hold(self, observations: Any, action_masks: Any) -> tuple[Any, Any]:
        """Judges a decision: logits and values, which ``evaluate`` then returns for the same array."""
        self._asked, self._found = observations, self._policy.evaluate(observations, action_masks)
        return self._found

    def evaluate(self, observations: Any, action_masks: Any) -> tuple[Any, Any]:
        """Masked logits ``(B, A)`` and values ``(B,)``."""
        return self._found if self._asked is observations else self._policy.evaluate(observations, action_masks)

    def act(self, observations: Any, action_masks: Any, states: States | None = None) -> npt.NDArray[np.int64]:
        """The best action for every row, ``(B,)``."""
        return np.asarray(self.evaluate(observations, action_masks)[0].argmax(axis=1), np.int64)


class Advisor:
    """The policy that comes with a game, and a search that starts from it; a search alone if there is none.

    The search is made of roll-outs of the policy. The first hint takes a second or more, as the policy's values are
    calibrated.

    Args:
        game: the game.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        file = pretrained_file(game.type, game.num_players)
        self._policy = PolicyAgent(file, game, name=PRETRAINED) if file.is_file() else None
        judged = _Once(self._policy) if self._policy else None
        self._judged, self._rollout = judged, RolloutAgent(judged, WORLDS, game) if judged else None
        self._search: Any = self._rollout or make_agent(PIMC, game)
        self._lock = threading.Lock()  # searches have room for one decision at a time
        self.sources = [*([PRETRAINED] if self._policy else []), self._search.name]

    def judge(
        self, states: States, played: npt.NDArray[np.int64], worlds: int, seed: int, only: npt.NDArray[np.int64] | None
    ) -> Judgement:
        """Compares played cards with others, from what the seats to act know: all in the same sampled worlds.

        Args:
            states: ``(B,)`` records, each before a play.
            played: ``(B,)``: the cards that were played.
            worlds: how many to sample for a decision, at most.
            seed: other seeds sample other worlds.
            only: ``(B,)``: the one card with which each is compared; ``None``: all that the policy finds likely.
        """
        states = states.copy()
        states["seed"] = 0  # as in ``advise``
        seen = [observe(self.game, states[row : row + 1], int(seat)) for row, seat in enumerate(states["seat"])]
        observations, masks = (np.stack(each) for each in zip(*seen, strict=True))
        with self._lock:
            likely = values = None
            if self._policy is not None and self._rollout is not None and only is None:
                logits, raw = self._policy.evaluate(observations, masks)
                likely, values = softmax(logits), self._rollout.in_points(raw)
            if only is not None:
                masks = np.zeros_like(masks)
                masks[np.arange(len(masks)), played] = masks[np.arange(len(masks)), only] = 1
            search = (
                self._rollout.again(worlds, seed) if self._rollout else make_agent(f"pimc:{worlds}", self.game, seed)
            )
            compared = cast(Any, search).compare(observations, masks, states, played)
        widths = np.array([standard_errors_95(count) if count > 1 else 0.0 for count in range(worlds + 1)])
        errors = widths[compared.counts] * np.sqrt(compared.variances / np.maximum(compared.counts, 1))
        return Judgement(masks, likely, values, compared.advantages, errors, compared.counts)

    def sources_of(self, worlds: int) -> list[str]:
        """The specs of policy and search, as in ``sources``, for ``judge`` with so many worlds."""
        return [*self.sources[:-1], f"{self.sources[-1].rpartition(':')[0]}:{worlds}"]

    @property
    def spread(self) -> float | None:
        """The standard deviation of a deal's margin among policies, in points; ``None`` without a policy."""
        if self._rollout is None:
            return None
        with self._lock:
            return self._rollout.spread

    def advise(self, states: States) -> Hint:
        """What is thought of the decision in ``states[0]``: the same in all worlds that look alike to the seat."""
        states = states.copy()
        states["seed"] = 0  # searches draw their random numbers from it, and no seat knows it
        observation, mask = observe(self.game, states, int(states["seat"][0]))
        rows = observation[None], mask[None]
        with self._lock:
            likely, value = self._opinion(*rows)
            compared = self._search.compare(*rows, states)
        baseline, counts = int(compared.baselines[0]), compared.counts[0]
        widths = np.array([standard_errors_95(count) if count > 1 else 0.0 for count in counts.tolist()])
        errors = widths * np.sqrt(compared.variances[0] / np.maximum(counts, 1))
        cards = []
        for kind in map(int, np.flatnonzero(mask)):
            tried = kind == baseline or counts[kind] > 1
            own = kind == baseline  # it is not compared with itself
            cards.append(
                CardHint(
                    kind,
                    None if likely is None else round(float(likely[kind]), 4),
                    (0.0 if own else round(float(compared.advantages[0, kind]), 2)) if tried else None,
                    (0.0 if own else round(float(errors[kind]), 2)) if tried else None,
                    int(counts[kind]),
                )
            )
        better = [card for card in cards if card.advantage is not None and card.advantage > (card.error or 0.0)]
        best = max(better, key=lambda card: card.advantage or 0.0).kind if better else baseline
        return Hint(cards, baseline, best, best != baseline, value, self.sources)

    def _opinion(
        self, observations: npt.NDArray[np.float32], action_masks: npt.NDArray[np.int8]
    ) -> tuple[npt.NDArray[np.float32] | None, float | None]:
        """The policy's probabilities ``(A,)`` and its value in points."""
        if self._judged is None or self._rollout is None:
            return None, None
        logits, values = self._judged.hold(observations, action_masks)
        return softmax(logits[0]), round(float(self._rollout.in_points(values)[0]), 2)


def advisor_of(game: Game) -> Advisor:
    """The advisor of a game, made once; the length of the match is all the same to it."""
    return _advisor(load_game(game.name, game.num_players, **game.options))


@lru_cache(maxsize=16)
def _advisor(game: Game) -> Advisor:
    return Advisor(game)
