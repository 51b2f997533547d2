"""A text's way through a model: its stages, the numbers of every token in each, and their details."""
