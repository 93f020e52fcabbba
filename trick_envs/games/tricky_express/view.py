"""What only this game has on its table."""
