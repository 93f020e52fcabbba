"""The page about a finished run, and what it needs."""
