"""Figures of a model's architecture."""
