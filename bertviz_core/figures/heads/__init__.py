"""Figures of heads and their projections."""
