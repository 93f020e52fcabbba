"""Expert iteration: a search labels decisions, and the policy learns from the labels."""
