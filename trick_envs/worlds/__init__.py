"""Hidden worlds, for search: what ``resample`` must know of a game beyond its hands.

Only a game with hidden places of its own needs a file here, named as its rules file; ``trick_envs/engine/usual.py``
has what the others use (``hide_own``, ``fill_own``, ``settle``, ``plausible``).
"""
