"""How strong players are: duplicate deals, the arena, benchmarks."""
