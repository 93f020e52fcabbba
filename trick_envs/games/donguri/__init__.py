"""Donguri to Yamaneko, "The Acorns and the Wildcat" (Kuromiya Kimihiko 2017)."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD
from trick_envs.games.donguri import features, heuristic, rules, view

GAME = GameType(
    name="donguri",
    title="Donguri to Yamaneko",
    players=(3, 4, 5),
    default_players=4,
    deck=rules.deck,
    hand_size=lambda num_players: 16 if num_players == 5 else 12,
    deals=rules.DEALS.__getitem__,
    phases=(LEAD, FOLLOW),
    modules=(rules, features, heuristic),
    state=rules.DonguriState,
    blocks=features.blocks,
    legality_rules={FOLLOW: "whoever has the led suit must play it"},
    view=view,
)
