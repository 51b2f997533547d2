"""Figures of a text in its tokens and of the rows of the embedding table."""
