"""The arena: every player against every other on duplicate deals, with confidence intervals.

``trick_envs/evaluation/duplicate.py`` says how a deal is played and what a margin is. Here are the tournament's parts:

- ``schedule.py``: who meets whom, on how many deals, and a digest of the code that the results depend on,
- ``pair.py``: two players, their deals in chunks, and when they have played enough,
- ``log.py``: finished chunks in a file, from which an interrupted arena continues,
- ``play.py``: the loop over all of these, on an executor (``trick_envs/parallel/executor.py``),
- ``standings.py``: the table, as files and in the terminal.

Deals are played in chunks, those of searching players one by one. Random choices of players depend only on the arena's
seed, the deal and the position, and a pair decides whether it has played enough after fixed numbers of deals, in their
order. So the table is the same whatever the number of processes, interruptions, or the order of the players.
"""

from trick_envs.evaluation.arena.log import LOG
from trick_envs.evaluation.arena.pair import CHUNK, MIN_DEALS, Chunk, Pair, Task
from trick_envs.evaluation.arena.play import play_arena
from trick_envs.evaluation.arena.schedule import LADDER, Plan, Player, code_digest, make_plan
from trick_envs.evaluation.arena.standings import RESULTS, Standings

__all__ = [
    "CHUNK", "LADDER", "LOG", "MIN_DEALS", "RESULTS", "Chunk", "Pair", "Plan", "Player", "Standings", "Task",
    "code_digest", "make_plan", "play_arena",
]  # fmt: skip
