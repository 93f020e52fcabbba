"""What a policy and a search think of the person's decision, and what the policy expects."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache

from training.hints import Advisor, CardHint, Hint
from trick_envs.agents.policy import PolicyAgent
from trick_envs.agents.pretrained import PRETRAINED, pretrained_file
from trick_envs.agents.rollout import RolloutAgent
from trick_envs.engine.game import Game
from trick_envs.engine.state import States
from trick_envs.matches.reading import observe
from trick_envs.view import TableView


@dataclass(frozen=True)
class Advice:
    """A hint for the decision with this number.

    Attributes:
        number: how many plays there were before it.
        hint: what policy and search think of every legal card.
        value: by how many points the policy expects to beat the mean of the others in this deal; ``None`` without one.
    """

    number: int
    hint: Hint
    value: float | None

    def of(self, kind: int) -> CardHint | None:
        """The hint for a card, if it is legal."""
        return next((card for card in self.hint.cards if card.kind == kind), None)


class Adviser:
    """Advice for the decisions of a game, one at a time.

    Args:
        game: the game.
    """

    def __init__(self, game: Game) -> None:
        self._game, self._advisor = game, Advisor(game)
        file = pretrained_file(game.type, game.num_players)
        self._policy = PolicyAgent(file, game, name=PRETRAINED) if file.is_file() else None
        self._scale = RolloutAgent(self._policy, 1, game) if self._policy else None
        self._lock = threading.Lock()

    def advise(self, states: States, number: int) -> Advice:
        """Advice for the decision in ``states[0]``, from what the seat to act knows."""
        with self._lock:
            return Advice(number, self._advisor.advise(states), self._value(states))

    def _value(self, states: States) -> float | None:
        if self._policy is None or self._scale is None:
            return None
        observation, mask = observe(self._game, states, int(states["seat"][0]))
        _, values = self._policy.evaluate(observation[None], mask[None])
        return float(self._scale.in_points(values)[0])


@cache
def adviser(game: Game) -> Adviser:
    """The adviser of a game; the first one may take seconds."""
    return Adviser(game)


def summary(view: TableView, advice: Advice) -> str:
    """The advice in a sentence or two."""
    hint, told = advice.hint, []
    if advice.value is not None:
        likeliest = max(hint.cards, key=lambda card: card.probability or 0.0)
        told.append(
            f"{hint.sources[0]} plays {view.card(likeliest.kind)} ({likeliest.probability:.0%}) "
            f"and expects {advice.value:+.1f} points over the mean of the others."
        )
    if len(hint.cards) == 1:
        return " ".join([*told, f"{view.card(hint.cards[0].kind)} is the only legal card."])
    best, search = advice.of(hint.search), hint.sources[-1]
    if hint.disagree and best is not None:
        gain = f"{best.advantage:+.1f} ± {best.error:.1f} points over {view.card(hint.baseline)}"
        told.append(f"{search} prefers {view.card(best.kind)}: {gain}.")
    else:
        told.append(f"{search} finds nothing better than {view.card(hint.baseline)}.")
    return " ".join(told)


def table(view: TableView, advice: Advice) -> list[str]:
    """The advice, a line for every legal card."""
    lines = []
    for card in advice.hint.cards:
        likely = "" if card.probability is None else f"{card.probability:>5.0%}"
        gain = "" if card.advantage is None else f"{round(card.advantage, 1) + 0.0:>+6.1f}"
        error = f" ± {card.error:.1f}" if card.error else ""
        lines.append(f"{view.card(card.kind):>4}  {likely}  {gain}{error}".rstrip())
    return lines
