"""Figures of a corpus: hits of a search, density of its map, groups and clusters, and heads over its sentences."""
