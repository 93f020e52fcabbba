"""Zaraba 22 (Suge, winner of the Trick Taking Party game awards 2020)."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, KEEP, LEAD
from trick_envs.games.zaraba22 import features, heuristic, rules, view

GAME = GameType(
    name="zaraba22",
    title="Zaraba 22",
    players=(3,),
    default_players=3,
    deck=lambda num_players: rules.DECK,
    hand_size=lambda num_players: 14,
    deals=lambda num_players: 3,
    phases=(LEAD, FOLLOW, KEEP),
    modules=(rules, features, heuristic),
    state=rules.Zaraba22State,
    blocks=features.blocks,
    legality_rules={
        FOLLOW: "whoever has a card of the suit of a lead card that is still there must play such a card",
        KEEP: "one of the two lead cards stays",
    },
    view=view,
)
