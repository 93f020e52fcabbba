"""Double-Deck German Whist (ダブルデッキ・ジャーマンホイスト): German Whist with two packs for two against two."""

from trick_envs.engine.game import GameType
from trick_envs.engine.state import FOLLOW, LEAD, PICK
from trick_envs.games.double_deck_whist import determinization, features, heuristic, rules, view

GAME = GameType(
    name="double_deck_whist",
    title="Double-Deck German Whist",
    players=(4,),
    default_players=4,
    deck=rules.deck,
    hand_size=lambda num_players: 13,
    deals=lambda num_players: 2 * rules.DEALS_TO_WIN - 1,
    until=f"{rules.DEALS_TO_WIN} won deals",
    phases=(LEAD, FOLLOW, PICK),
    modules=(rules, features, heuristic, determinization),
    state=rules.DoubleDeckWhistState,
    blocks=features.blocks,
    hidden_blocks=features.hidden_blocks,
    legality_rules={
        FOLLOW: "whoever has the led suit must play it",
        PICK: "the winner of the trick takes one of the two cards that lie face up",
    },
    teams=True,
    hands_seen=True,
    view=view,
)
