"""A person's game: sessions and hints, and their presenters in the terminal and the browser."""
