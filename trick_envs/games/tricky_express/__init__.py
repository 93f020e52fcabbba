"""Tricky Express (トリッキーエクスプレス, 2016): four express trains on one line."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD, PASS
from trick_envs.games.tricky_express import determinization, features, heuristic, rules, view

GAME = GameType(
    name="tricky_express",
    title="Tricky Express",
    players=(4,),
    default_players=4,
    deck=rules.deck,
    hand_size=lambda num_players: 13,
    deals=lambda num_players: rules.DEALS,
    phases=(PASS, LEAD, FOLLOW),
    modules=(rules, features, heuristic, determinization),
    state=rules.TrickyExpressState,
    blocks=features.blocks,
    hidden_blocks=features.hidden_blocks,
    legality_rules={
        PASS: "in the first exchange a card of the highest rank goes to the right, then one of the highest rank among "
        "the rest to the left",
        FOLLOW: "whoever has the led suit must play it",
    },
    hands_seen=True,
    view=view,
)
