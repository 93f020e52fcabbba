"""Self-play training for the games of ``trick_envs``, as Stable-Baselines3 has it. ::

from training import DuplicateEval, SelfPlayPPO, self_play_env
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trick_envs.parallel.threads import wait_passively

if TYPE_CHECKING:
    from training.callbacks import DuplicateEval, ExactCheckpoint, Snapshots
    from training.network import SuitPolicy, suit_network
    from training.self_play import SelfPlayPPO, self_play_env

wait_passively()  # before torch is imported

_WHERE = {
    "DuplicateEval": "callbacks",
    "ExactCheckpoint": "callbacks",
    "Snapshots": "callbacks",
    "SelfPlayPPO": "self_play",
    "SuitPolicy": "network",
    "self_play_env": "self_play",
    "suit_network": "network",
}
__all__ = [
    "DuplicateEval",
    "ExactCheckpoint",
    "SelfPlayPPO",
    "Snapshots",
    "SuitPolicy",
    "self_play_env",
    "suit_network",
]


def __getattr__(name: str) -> Any:
    """Each is imported when it is asked for: ``trick games`` needs no torch."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"training.{_WHERE[name]}"), name)
