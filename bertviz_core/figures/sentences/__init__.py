"""Figures of sentence vectors and their similarity."""
