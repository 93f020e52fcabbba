"""A game at the limits of the engine: the largest decks in every shape, the most players, the highest cards."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD
from widest_game import rules

GAME = GameType(
    name="widest",
    title="Widest",
    players=tuple(rules.DECKS),
    default_players=16,
    deck=rules.DECKS.__getitem__,
    hand_size=lambda num_players: rules.DECKS[num_players].size // num_players,
    deals=lambda num_players: 1,
    phases=(LEAD, FOLLOW),
    modules=(rules,),
    state=rules.WidestState,
    blocks=rules.blocks,
    hands_seen=True,
)
