"""Answers of two models to many texts: the texts, the scores and the slices."""
