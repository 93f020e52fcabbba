"""The benchmark for language models, and for everybody who is to be compared with them (docs/language_models.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trick_envs.agents import Actions, Agent, make_agent
from trick_envs.agents.agent import legal_actions, named_if_it_raises, observation_for
from trick_envs.agents.judge import Judge
from trick_envs.agents.llm import Usage, answers_in
from trick_envs.engine.game import Game
from trick_envs.engine.state import OVER, PHASES
from trick_envs.evaluation.arena import Plan
from trick_envs.evaluation.duplicate import Result, play_points
from trick_envs.evaluation.intervals import half_width_95

GAMES = ("donguri", "double_deck_whist", "pepper", "tricky_express", "zaraba22")
ANCHORS = ("random", "greedy", "pretrained")
JUDGE = "pretrained+rollout:64"


@dataclass(frozen=True)
class Loss:
    """Points that decisions of a kind have lost, in the eyes of the judge.

    Attributes:
        decisions: how many there were, with more than one legal card.
        mean: points lost per decision.
        half_width: the 95 % interval is ``mean`` ± this, over deals.
    """

    decisions: int
    mean: float
    half_width: float


@dataclass(frozen=True)
class Row:
    """A player in a game.

    Attributes:
        player: its spec.
        game: as in ``Game.__repr__``, without brackets.
        margins: over each of ``ANCHORS`` that is not the player itself.
        losses: by phase, and of all.
        usage: what a language model has cost; ``None`` for others.
    """

    player: str
    game: str
    margins: dict[str, Result]
    losses: dict[str, Loss] = field(default_factory=dict)
    usage: Usage | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "player": self.player,
            "game": self.game,
            "margins": {name: result.as_dict() for name, result in self.margins.items()},
            "losses": {phase: vars(loss) for phase, loss in self.losses.items()},
            "usage": None if self.usage is None else self.usage.as_dict(),
        }


class Judged:
    """A player whose decisions are judged."""

    def __init__(self, agent: Agent, game: Game, judge: str = JUDGE) -> None:
        self.name, self.observation = agent.name, observation_for(agent)
        self._agent, self._game = agent, game
        self._judge = Judge(judge, game, f"judge: expected a search, such as {JUDGE!r}")
        self.found: list[tuple[int, int, float]] = []  # seed of the match, phase, loss

    def seed(self, seed: int) -> None:
        """Reseeds the player."""
        self._agent.seed(seed)

    def act(self, observations: Any, action_masks: Any, states: Any = None, *plays: Any) -> Actions:
        """The player's cards, judged."""
        with named_if_it_raises(self._agent):
            named = self._agent.act(observations, action_masks, states, *plays)
        actions = legal_actions(self._game, states, named, f"player {self.name}")
        free = np.flatnonzero((np.count_nonzero(action_masks, axis=1) > 1) & (states["phase"] != OVER))
        if len(free):
            seen = observations[free, : self._game.layout.size]
            own, masks, played = states[free], np.asarray(action_masks)[free], actions[free]
            lost, _ = self._judge.lost(seen, masks, own, played)
            self.found += zip(own["seed"].tolist(), own["phase"].tolist(), lost.tolist(), strict=True)
        return actions


def judge_decisions(plan: Plan, spec: str, deals: int, folder: Path, judge: str = JUDGE) -> dict[str, Loss]:
    """What a player's decisions lose against ``pretrained``, by phase: in the first deals of a benchmark's plan.

    Answers of language models that the folder has are not asked for again.
    """
    with answers_in(folder):
        player = Judged(make_agent(spec, plan.game), plan.game, judge)
        pair: list[Agent] = [player, make_agent("pretrained", plan.game)]
        ranked = [each.spec for each in sorted(plan.players, key=lambda each: each.rank)]
        if ranked.index(spec) > ranked.index("pretrained"):  # as the arena seats and seeds them
            pair.reverse()
        play_points(plan.game, (pair[0], pair[1]), plan.purpose, plan.seed, 0, deals)
    seeds, phases, lost = (np.array(part) for part in zip(*player.found, strict=True))
    chosen = {PHASES[phase]: phases == phase for phase in np.unique(phases)} | {"all": np.ones(len(phases), np.bool_)}
    losses = {}
    for name, rows in chosen.items():
        by_deal = [float(lost[rows & (seeds == one)].mean()) for one in np.unique(seeds[rows])]
        losses[name] = Loss(int(rows.sum()), float(np.mean(by_deal)), half_width_95(by_deal))
    return losses


def benchmark_table(rows: Sequence[Row]) -> str:
    """The table, in Markdown."""
    head = ["game", "player", *(f"over `{anchor}`" for anchor in ANCHORS), "lost per decision", "of which by kind"]
    lines = [[*head, "bad answers", "tokens per decision"], ["---"] * (len(head) + 2)]
    for row in rows:
        margins = [
            _figure(row.margins[a].margin, row.margins[a].half_width, "+") if a in row.margins else "" for a in ANCHORS
        ]
        kinds = ", ".join(f"{name} {loss.mean:.2f}" for name, loss in row.losses.items() if name != "all")
        whole = row.losses.get("all")
        lost = _figure(whole.mean, whole.half_width) if whole else ""
        bad = tokens = ""
        if row.usage is not None and row.usage.answers:
            bad = f"{row.usage.bad_answers / row.usage.answers:.1%}"
            tokens = f"{row.usage.tokens / max(row.usage.decisions, 1):,.0f}"
        lines.append([row.game, f"`{row.player}`", *margins, lost, kinds, bad, tokens])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(mean: float, half: float, sign: str = "") -> str:
    return f"{mean:{sign}.2f} ± {half:.2f}"
