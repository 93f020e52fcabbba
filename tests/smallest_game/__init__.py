"""A game as small as can be, with what no game of the package has: it begins with a pick, and names no rules."""

from smallest_game import rules
from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD, PICK

GAME = GameType(
    name="smallest",
    title="Smallest",
    players=(2,),
    default_players=2,
    deck=lambda num_players: rules.DECK,
    hand_size=lambda num_players: 1,
    deals=lambda num_players: 1,
    phases=(LEAD, FOLLOW, PICK),
    modules=(rules,),
    state=rules.SmallestState,
)
