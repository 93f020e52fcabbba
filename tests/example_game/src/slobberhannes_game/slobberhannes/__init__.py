"""Slobberhannes, a game of three bad tricks."""

from slobberhannes_game.slobberhannes import features, heuristic, rules
from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD

GAME = GameType(
    name="slobberhannes",
    title="Slobberhannes",
    players=(3, 4),
    default_players=4,
    deck=rules.deck,
    hand_size=lambda num_players: rules.TRICKS,
    deals=lambda num_players: num_players,
    phases=(LEAD, FOLLOW),
    modules=(rules, features, heuristic),
    state=rules.SlobberhannesState,
    blocks=features.blocks,
    legality_rules={FOLLOW: "whoever has the led suit must play it"},
    suit_symmetric=False,
)
