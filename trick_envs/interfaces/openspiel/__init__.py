"""OpenSpiel: the games at full size, and variants that are small enough to search their whole tree. ::

    from trick_envs.interfaces.openspiel import exploitabilities, full, small
    full("pepper", num_players=5)  # a pyspiel.Game
    exploitabilities(small("pepper", num_players=2, suits=2, ranks=4, hand_size=3))

A game is one deal, dealt by seat 0: every card is a chance node, hand after hand, each in ascending order, with the
exact probability that the card is the next one of such a hand; then the stock, in its own order. A terminal state pays
what the environments pay for ``reward="zero_sum"``: the points of the seat less the mean of all seats' points. Games at
full size are made for algorithms that sample.

A variant is the same with another deck: fewer suits, fewer ranks (the lowest ones), smaller hands, two seats if you
like; cards that no hand gets have no order. Rules, records and kernels are the game's own.

Once this module is imported, ``pyspiel.load_game`` finds the games, too: ``"trick_envs_full_pepper(num_players=5)"``,
``"trick_envs_pepper(suits=2,ranks=4)"``.

Double-Deck German Whist and Tricky Express have no variants: their rules depend on 26 and 13 tricks, and information
states contain every play, so no play may be hidden. In Donguri for two, every card is worth 1. In Zaraba 22, the cards
that no hand gets lie open, so two seats have perfect information: choose three. There, information states also contain
the order in which the two lead cards were named.
"""

from trick_envs.errors import MissingExtraError

try:
    import pyspiel  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError("games for OpenSpiel need OpenSpiel: pip install 'trick_envs[openspiel]'") from error

from trick_envs.interfaces.openspiel.game import DealGame, DealObserver, DealState, full, small
from trick_envs.interfaces.openspiel.position import Position
from trick_envs.interfaces.openspiel.solving import exploitabilities, greedy_policy
from trick_envs.interfaces.openspiel.variant import NAMES, Variant, load_variant

__all__ = [
    "NAMES",
    "DealGame",
    "DealObserver",
    "DealState",
    "Position",
    "Variant",
    "exploitabilities",
    "full",
    "greedy_policy",
    "load_variant",
    "small",
]
