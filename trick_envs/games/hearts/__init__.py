"""Hearts, the game that the field knows: with passing, broken hearts, the queen of spades and the moon."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD, PASS
from trick_envs.games.hearts import determinization, features, heuristic, rules, view

GAME = GameType(
    name="hearts",
    title="Hearts",
    players=(4,),
    default_players=4,
    deck=rules.deck,
    hand_size=lambda num_players: rules.TRICKS,
    deals=lambda num_players: rules.LONGEST_MATCH,
    until=f"{rules.MATCH_POINTS} points",
    phases=(LEAD, FOLLOW, PASS),
    modules=(rules, features, heuristic, determinization),
    state=rules.HeartsState,
    blocks=features.blocks,
    hidden_blocks=features.hidden_blocks,
    legality_rules={
        LEAD: "the two of clubs is led first, and hearts only when they are broken or nothing else is left",
        FOLLOW: "whoever has the led suit must play it, and no points go into the first trick",
    },
    hands_seen=True,
    suit_symmetric=False,
    view=view,
)
