"""The compiled kernels: what every interface, agent and search does with a game, whatever its rules.

They are plain functions of a record (``state``) or an array of records (``states``). Each game gets its own compiled
copy, in which the names of ``engine/hooks.py`` refer to that game's functions (``build/kernels.py``).

| file | what |
| --- | --- |
| ``playing.py`` | deals, plays, rewards, legal actions |
| ``observing.py`` | observations and action masks |
| ``batch.py`` | many games in lock step |
| ``players.py`` | random and greedy players |
| ``seats.py`` | one learner per game, the other seats played here |

The kernels of search are in ``engine/search``.
"""
