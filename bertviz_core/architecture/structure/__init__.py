"""Results of the facts: blocks, norms, positions, attention of a model, as a run of its modules tells them."""
