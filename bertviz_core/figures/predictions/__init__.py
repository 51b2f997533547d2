"""Figures of the predictions of task heads."""
