"""What a policy and a search think of the person's decision, in words."""

from __future__ import annotations

from dataclasses import dataclass

from trick_envs.play.hints import CardHint, Hint
from trick_envs.view import TableView


@dataclass(frozen=True)
class Advice:
    """A hint for the decision with this number.

    Attributes:
        number: how many plays there were before it.
        hint: what policy and search think of every legal card.
    """

    number: int
    hint: Hint

    def of(self, kind: int) -> CardHint | None:
        """The hint for a card, if it is legal."""
        return next((card for card in self.hint.cards if card.kind == kind), None)


def summary(view: TableView, advice: Advice) -> str:
    """The advice in a sentence or two."""
    hint, told = advice.hint, []
    if hint.value is not None:
        likeliest = max(hint.cards, key=lambda card: card.probability or 0.0)
        told.append(
            f"{hint.sources[0]} plays {view.card(likeliest.kind)} ({likeliest.probability:.0%}) "
            f"and expects {hint.value:+.1f} points over the mean of the others."
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
