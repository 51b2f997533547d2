"""Predictions of two models for one text, matched by labels, characters and words."""
