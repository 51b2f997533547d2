"""Figures of a text as tokens, and of the rows of the embedding table."""
