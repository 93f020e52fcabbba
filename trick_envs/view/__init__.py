"""What one observer sees of a table, as plain data, and drawings of it."""
