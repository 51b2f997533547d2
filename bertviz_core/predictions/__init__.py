"""Predictions of task heads: words at a mask, classes, tags, answers and terms; and the logit lens."""
