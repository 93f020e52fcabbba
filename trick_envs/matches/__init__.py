"""Matches: one match with its record (``match.py``), seating, the loops that play, replaying and narrating records."""
