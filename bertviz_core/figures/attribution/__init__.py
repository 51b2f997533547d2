"""Figures of attributions: words, classes and pairs of tokens."""
