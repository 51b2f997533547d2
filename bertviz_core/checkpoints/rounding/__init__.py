"""Weights rounded to fewer bits: the formats, the copies of a checkpoint and of a model, and what they keep."""
