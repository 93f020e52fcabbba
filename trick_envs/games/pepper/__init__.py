"""Pepper: avoid the peppers (Wolfgang Kramer and Michael Kiesling, F.X. Schmid 1998)."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD
from trick_envs.games.pepper import features, heuristic, rules, view

GAME = GameType(
    name="pepper",
    title="Pepper",
    players=range(3, 10),
    default_players=5,
    deck=rules.deck,
    hand_size=lambda num_players: 12,
    deals=lambda num_players: 5,
    phases=(LEAD, FOLLOW),
    modules=(rules, features, heuristic),
    state=rules.PepperState,
    blocks=features.blocks,
    legality_rules={
        LEAD: "the lead comes from the hand, not from the peppers in front",
        FOLLOW: "whoever has the led colour, in hand or as a pepper in front, must play it",
    },
    hand_places=("hand", "front"),
    view=view,
)
