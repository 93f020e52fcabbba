"""What a policy and a search think of a decision, from what the seat to act knows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from trick_envs.agents import make_agent
from trick_envs.agents.chance import softmax
from trick_envs.agents.judge import two_actions
from trick_envs.agents.policy import PolicyAgent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_file
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.agents.search import SearchAgent
from trick_envs.agents.spec import ROLLOUT
from trick_envs.engine.game import Game, checked_states
from trick_envs.engine.positions import observe
from trick_envs.engine.registry import load_game
from trick_envs.engine.state import States
from trick_envs.evaluation.intervals import standard_errors_95

WORLDS = 128  # of roll-outs
PIMC, PIMC_WORLDS = "pimc", 200  # where there is no policy
LEAST = 0.05  # points: a smaller difference is written 0.0, and is none


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
        disagree: whether ``search`` is another card than the baseline, and better by more than the error and ``LEAST``.
        value: by how many points the policy expects to beat the mean of the others in this deal; ``None`` without one.
        sources: the specs of policy and search, or of the search alone.
    """

    cards: list[CardHint]
    baseline: int
    search: int
    disagree: bool
    value: float | None
    sources: list[str]

    def of(self, kind: int) -> CardHint | None:
        """What is thought of a card, if it is legal."""
        return next((card for card in self.cards if card.kind == kind), None)


@dataclass(frozen=True)
class Judgement:
    """What is thought of cards, a row for each decision.

    Attributes:
        played: ``(B,)``: the cards with which others are compared.
        masks: ``(B, A)``: what was legal.
        likely: ``(B, A)``: the policy's probabilities; ``None`` without a policy.
        values: ``(B,)``: what the policy expects of the deal, in points over the mean of the others.
        advantages: ``(B, A)``: points by which a card is better than the played one, the mean over worlds.
        errors: ``(B, A)``: half the widths of their 95 % intervals.
        counts: ``(B, A)``: in how many worlds a card was tried.
    """

    played: npt.NDArray[np.int64]
    masks: npt.NDArray[np.int8]
    likely: npt.NDArray[np.float32] | None
    values: npt.NDArray[np.float32] | None
    advantages: npt.NDArray[np.float32]
    errors: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int32]

    def cards(self, row: int) -> list[CardHint]:
        """The legal cards of a decision, in the order of the deck."""
        return [self._card(row, kind) for kind in map(int, np.flatnonzero(self.masks[row]))]

    def _card(self, row: int, kind: int) -> CardHint:
        probability = None if self.likely is None else round(float(self.likely[row, kind]), 4)
        count = int(self.counts[row, kind])
        if kind == self.played[row]:  # it is not compared with itself
            return CardHint(kind, probability, 0.0, 0.0, count)
        if count <= 1:
            return CardHint(kind, probability, None, None, count)
        advantage, error = (round(float(each[row, kind]), 2) for each in (self.advantages, self.errors))
        return CardHint(kind, probability, advantage, error, count)

    def expected(self, row: int) -> float | None:
        """What the policy expects of the deal of a decision, in points; ``None`` without one."""
        return None if self.values is None else round(float(self.values[row]), 2)


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
        self._rollout = RolloutAgent(self._policy, WORLDS, game) if self._policy else None
        self._lock = threading.Lock()  # beside each other, searches would only be slower
        self.sources = self.sources_of(WORLDS if self._policy else PIMC_WORLDS)

    def judge(
        self,
        states: States,
        played: npt.NDArray[np.int64] | None = None,
        worlds: int | None = None,
        seed: int = 0,
        only: npt.NDArray[np.int64] | None = None,
    ) -> Judgement:
        """Compares cards with others, from what the seats to act know: all in the same sampled worlds.

        Args:
            states: ``(B,)`` records, each before a play.
            played: ``(B,)``: the cards that were played; by default the policy's, or the heuristic's without one.
            worlds: how many to sample for a decision, at most; by default as many as for a hint.
            seed: other seeds sample other worlds.
            only: ``(B,)``: the one card with which each is compared; ``None``: all that the policy finds likely.
        """
        states = checked_states(self.game, states, least=1).copy()
        states["seed"] = 0  # searches draw their random numbers from it, and no seat knows it
        seen = [observe(self.game, states[row : row + 1], int(seat)) for row, seat in enumerate(states["seat"])]
        observations, masks = (np.stack(each) for each in zip(*seen, strict=True))
        with self._lock:
            logits = likely = values = None
            if self._policy is not None and self._rollout is not None and only is None:
                logits, raw = self._policy.evaluate(observations, masks)
                likely, values = softmax(logits), self._rollout.in_points(raw)
            if only is not None:
                assert played is not None
                masks = two_actions(masks, played, only)
            if self._rollout is not None:
                search = self._rollout.again(worlds or WORLDS, seed)
                found = search.compare(observations, masks, states, played, logits)
            else:
                pimc = cast(SearchAgent, make_agent(f"{PIMC}:{worlds or PIMC_WORLDS}", self.game, seed))
                found = pimc.compare(observations, masks, states, played)
        widths = np.array([standard_errors_95(n) if n > 1 else 0.0 for n in range(int(found.counts.max()) + 1)])
        errors = widths[found.counts] * np.sqrt(found.variances / np.maximum(found.counts, 1))
        return Judgement(found.baselines, masks, likely, values, found.advantages, errors, found.counts)

    def sources_of(self, worlds: int) -> list[str]:
        """The specs of policy and search, or of the search alone, for ``judge`` with so many worlds."""
        return [PRETRAINED, f"{PRETRAINED}+{ROLLOUT}:{worlds}"] if self._policy else [f"{PIMC}:{worlds}"]

    @property
    def spread(self) -> float | None:
        """The standard deviation of a deal's margin among policies, in points; ``None`` without a policy."""
        if self._rollout is None:
            return None
        with self._lock:
            return self._rollout.spread

    def advise(self, states: States) -> Hint:
        """What is thought of the decision in ``states[0]``: the same in all worlds that look alike to the seat."""
        found = self.judge(checked_states(self.game, states, least=1)[:1])
        baseline, cards = int(found.played[0]), found.cards(0)
        better = [
            card for card in cards if card.advantage is not None and card.advantage > max(card.error or 0.0, LEAST)
        ]
        best = max(better, key=lambda card: card.advantage or 0.0).kind if better else baseline
        return Hint(cards, baseline, best, best != baseline, found.expected(0), self.sources)


def advisor_of(game: Game) -> Advisor:
    """The advisor of a game, made once; the length of the match is all the same to it."""
    return _advisor(load_game(game.name, game.num_players, **game.options))


@lru_cache(maxsize=16)
def _advisor(game: Game) -> Advisor:
    return Advisor(game)
